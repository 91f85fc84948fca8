package profile

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"keyspread/analyze/source"
)

// repeated returns the stream with each record up to ten times in a row, without times.
func repeated(s *stream) *stream {
	rng := rand.New(rand.NewPCG(7, 7))
	out := &stream{name: s.name, partitions: s.partitions}
	for _, r := range s.recs {
		r.Timestamp = -1
		for range 1 + rng.IntN(4)*rng.IntN(4) {
			out.recs = append(out.recs, r)
		}
	}
	return out
}

// byCount is a sink that hands on equal neighbours of a batch once, with their count.
type byCount struct{ sink source.Sink }

func (c byCount) Batch(b *source.Batch) error {
	counted := *b
	counted.Records, counted.Counts = nil, []int64{}
	for i, r := range b.Records {
		if n := len(counted.Records); n > 0 && bytes.Equal(counted.Records[n-1].Key, r.Key) &&
			counted.Records[n-1].ValueSize == r.ValueSize && counted.Records[n-1].HeaderSize == r.HeaderSize &&
			(b.Records[i-1].Key == nil) == (r.Key == nil) {
			counted.Counts[n-1]++
			continue
		}
		counted.Records, counted.Counts = append(counted.Records, r), append(counted.Counts, 1)
	}
	return c.sink.Batch(&counted)
}

// Records handed on with a count give the same bytes of profile as one by one, also where keys leave and in a second read.
func TestCounts(t *testing.T) {
	for i, s := range streams() {
		if i%3 != 0 {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s := repeated(s)
			for _, memory := range []int64{MinMemory, 1 << 30} {
				var got [2][]byte
				for j := range got {
					plan, cfg := s.plan(), config(memory)
					b, err := NewBuilder(plan, cfg)
					if err != nil {
						t.Fatal(err)
					}
					if memory == MinMemory {
						for _, part := range b.parts {
							part.table.budget = 150 << 10
						}
					}
					counted := func(sink source.Sink) source.Sink {
						if j == 1 {
							return byCount{sink}
						}
						return sink
					}
					s.feed(t, counted(b), 1)
					p, err := b.Profile(coverage(plan))
					if err != nil {
						t.Fatal(err)
					}
					var keys [][]byte
					for _, k := range p.Top(20, Records) {
						keys = append(keys, k.Key)
					}
					r, err := NewRefiner(p, keys)
					if err != nil {
						t.Fatal(err)
					}
					s.feed(t, counted(r), 1)
					if err := r.Apply(); err != nil {
						t.Fatal(err)
					}
					got[j] = save(t, p)
				}
				if !bytes.Equal(got[0], got[1]) {
					t.Errorf("memory %d: profiles differ: %s", memory, firstDifference(load(t, got[0]), load(t, got[1])))
				}
			}
		})
	}
}
