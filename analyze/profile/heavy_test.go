package profile

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"keyspread/analyze/source"
)

// timedKeys are records of a partition: n of the key at a time given in ms.
func (s *stream) timedKeys(partition int32, key string, n int, at int64) {
	for range n {
		s.recs = append(s.recs, rec{partition, source.Record{Timestamp: at, Key: []byte(key), ValueSize: 100}})
	}
}

// A burst is a share of the whole topic's bucket, at least the one asked for, of enough records, wherever they are.
func TestBurstRules(t *testing.T) {
	s := &stream{name: "bursts", partitions: 2}
	// 400 records in each of two seconds, 20 in a third; heavy keys come first in each, so that all of their records count
	s.timedKeys(0, "divided", 50, 1000)
	s.timedKeys(1, "divided", 50, 1000) // 25 % together, 12.5 % each
	s.timedKeys(0, "below", 99, 1000)   // 24.75 %
	s.timedKeys(0, "least", 100, 2000)  // 25 %
	s.timedKeys(1, "half", 50, 2000)    // 12.5 %
	s.timedKeys(1, "few", 9, 3000)      // 45 % of 20
	for i, n := range []int{201, 250, 11} {
		for j := range n {
			s.timedKeys(int32(j%2), fmt.Sprintf("light-%03d", j%100), 1, 1000*int64(i+1))
		}
	}
	p := s.build(t, config(1<<30), 1)
	for _, tt := range []struct {
		share float64
		least int64
		want  []string
	}{
		{0.25, 10, []string{"divided", "least"}},
		{0.25, 9, []string{"divided", "least", "few"}},
		{0.25, 101, nil},
		{0.2501, 10, nil},
		{0.2475, 10, []string{"divided", "least", "below"}},
		{0.125, 10, []string{"divided", "least", "below", "half"}},
	} {
		var got []string
		for _, k := range p.Bursts(Records, tt.share, tt.least) {
			got = append(got, string(k.Key))
		}
		slices.Sort(got)
		slices.Sort(tt.want)
		if !slices.Equal(got, tt.want) {
			t.Errorf("bursts of %v and %d records: %q, want %q", tt.share, tt.least, got, tt.want)
		}
	}
}

// What a table has forgotten of a key before a bucket began to count it may have been in that very bucket.
func TestSeriesOfAForgottenKey(t *testing.T) {
	s := &stream{name: "forgotten", partitions: 1}
	for i := range 6400 { // until a key needs 100 records to be counted for the bucket
		s.timedKeys(0, fmt.Sprintf("steady-%d", i%8), 1, 1000)
	}
	s.timedKeys(0, "returning", 80, 1000)
	for i := range 12_000 { // which let it go
		s.timedKeys(0, fmt.Sprintf("once-%05d", i), 1, 1000)
	}
	s.timedKeys(0, "returning", 400, 1000)
	p := s.build(t, config(MinMemory), 1)
	k, ok := p.Lookup([]byte("returning"))
	if !ok || k.Lo.Records != 400 {
		t.Fatalf("the key has %v to %v, want 400 certain: 80 are to be forgotten", k.Lo, k.Hi)
	}
	series := p.KeySeries(k, Records)
	if len(series) != 1 || series[0].Lo == 0 || series[0].Lo > 480 || series[0].Hi < 480 {
		t.Errorf("series %+v, want one bucket that counts the key and whose bounds hold 480", series)
	}
	checkSeries(t, p, s)
}

// The grids of all partitions together stay within the limit, and are no coarser than that needs.
func TestGridsAligned(t *testing.T) {
	for _, tt := range []struct {
		last  int64 // ms, of partition 1; partition 0 has a record at 0
		width int64
		cells int
	}{{3999, 1000, 4}, {4000, 2000, 3}, {7999, 2000, 4}, {8000, 4000, 3}} {
		s := &stream{name: "aligned", partitions: 2}
		s.timedKeys(0, "a", 1, 0)
		s.timedKeys(1, "b", 1, tt.last)
		cfg := config(1 << 30)
		cfg.Buckets = 4
		if g := s.build(t, cfg, 1).Grid(); g.Width != tt.width || len(g.Cells) != tt.cells {
			t.Errorf("times 0 and %d: %d cells of %d ms, want %d of %d", tt.last, len(g.Cells), g.Width, tt.cells, tt.width)
		}
	}
}

// A table of 196,608 keys, 3/4 of 2^18 slots, has the 100 heaviest keys of a Zipf stream exactly, from an exponent of 1.1
// on, though at least half as many keys again pass.
func TestTop100OfALargeTable(t *testing.T) {
	if everyNth > 1 {
		t.Skip("millions of records on one goroutine: run without the race detector")
	}
	const (
		records = 6_000_000
		keys    = 1 << 24
		keyLen  = 10
		entries = 1 << 18 * 3 / 4
	)
	for _, exponent := range []float64{1.1, 1.2} {
		plan := &source.Plan{
			Topic: "t", NumPartitions: 1, Partitions: []source.Partition{{ID: 0}}, Spans: []source.Span{{End: records}},
		}
		b, err := NewBuilder(plan, Config{Partitioner: testPartitioner, Memory: 1 << 30, Buckets: 1})
		if err != nil {
			t.Fatal(err)
		}
		b.parts[0].table.budget = 8<<18 + entries*(entryBytes+keyLen)
		next := rand.NewZipf(rand.New(rand.NewPCG(11, 1)), exponent, 1, keys-1)
		count := make([]int64, keys)
		distinct := 0
		batch := source.Batch{Records: make([]source.Record, 4000)}
		text := make([]byte, 0, len(batch.Records)*keyLen)
		for at := 0; at < records; at += len(batch.Records) {
			text = text[:0]
			for i := range batch.Records {
				n := next.Uint64()
				if count[n]++; count[n] == 1 {
					distinct++
				}
				text = fmt.Appendf(text, "k-%08d", n)
				batch.Records[i] = source.Record{Offset: int64(at + i), Timestamp: -1, Key: text[i*keyLen : (i+1)*keyLen], ValueSize: 100}
			}
			if err := b.Batch(&batch); err != nil {
				t.Fatal(err)
			}
		}
		p, err := b.Profile(coverage(plan))
		if err != nil {
			t.Fatal(err)
		}
		if n := p.Partitions[0].NumKeys(); p.Mode() != Bounded || n > entries || 2*distinct < 3*entries {
			t.Fatalf("zipf %v: %v, %d of %d keys in the table: this tests too little", exponent, p.Mode(), n, distinct)
		}
		ranked := slices.Clone(count)
		slices.SortFunc(ranked, func(a, b int64) int { return int(b - a) })
		for i, k := range p.Top(100, Records) {
			var n int
			if _, err := fmt.Sscanf(string(k.Key), "k-%d", &n); err != nil {
				t.Fatal(err)
			}
			want := Weight{count[n], count[n] * (keyLen + 100)}
			if k.Lo != want || k.Hi != want || want.Records != ranked[i] {
				t.Errorf("zipf %v: key %d is %q with %v to %v, want %d records", exponent, i, k.Key, k.Lo, k.Hi, ranked[i])
			}
		}
	}
}
