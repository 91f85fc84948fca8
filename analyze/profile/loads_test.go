package profile

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// list returns the weight in each partition.
func (l *Loads) list() []Weight {
	ws := make([]Weight, l.n)
	for to, w := range l.All() {
		ws[to] = w
	}
	return ws
}

// Loads add up as in an array, few or many, and few take little memory.
func TestLoads(t *testing.T) {
	for _, n := range []int32{1, fewPartitions, fewPartitions + 1, 3000} {
		for _, targets := range []int32{1, 5, n/denseShare + 1, n} {
			targets = min(targets, n)
			r := rand.New(rand.NewPCG(uint64(n), uint64(targets)))
			l, want := newLoads(n), make([]Weight, n)
			for range 20 * n {
				to, w := n-1-r.Int32N(targets), Weight{1, r.Int64N(100)}
				l.add(to, w)
				want[to] = want[to].Add(w)
			}
			if got := l.list(); !slices.Equal(got, want) {
				t.Errorf("%d of %d partitions: %v, want %v", targets, n, got, want)
			}
			last := int32(-1)
			for to, w := range l.All() {
				if to <= last || w.Records == 0 {
					t.Errorf("%d of %d partitions: %d with %v after %d", targets, n, to, w, last)
				}
				last = to
			}
			if all := l.to == nil; all != (n <= fewPartitions || targets > n/denseShare) {
				t.Errorf("%d of %d partitions: all kept: %v", targets, n, all)
			}
		}
	}
}

// Loads of a file whose sum overflows to the partition's records are refused.
func TestLoadsThatOverflow(t *testing.T) {
	p := smallProfile(t, false)
	doc := p.document()
	d := &doc.Partitions[0]
	last := len(doc.Candidates) - 1
	doc.Candidates[last].NumPartitions = 3
	d.Placed[last] = placedDoc{Loads: [][3]int64{
		{0, math.MaxInt64, math.MaxInt64}, {1, math.MaxInt64, math.MaxInt64}, {2, d.Total[0] + 2, d.Total[1] + 2},
	}}
	_, err := d.partition(doc)
	checkError(t, err, "its loads are more than the partition's records")
}

// A merge of profiles that a file can hold is one that a file can hold: many partitions times a large candidate are no
// reason to refuse either.
func TestMergeOfLargeCandidates(t *testing.T) {
	const n = 40_000_000 // times 16 bytes and 8 partitions more than MaxPlacedBytes
	cfg := config(1 << 30)
	cfg.Candidates = []CandidateSpec{{testPartitioner, n}}
	var parts []*Profile
	s := keyed("few", 8, 800, 1, uniform(100))
	for id := range int32(8) {
		parts = append(parts, load(t, save(t, shard(t, s, id, cfg))))
	}
	m, err := Merge(parts...)
	if err != nil {
		t.Fatal(err)
	}
	if got := load(t, save(t, m)); got.Total() != m.Total() || got.Candidates[1].NumPartitions != n {
		t.Errorf("loaded: %v, candidates %v", got.Total(), got.Candidates)
	}
}
