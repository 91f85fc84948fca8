package profile

import (
	"math/rand/v2"
	"testing"
)

// The memory that is named as enough for every key is, a quarter of it is not; for even partitions and uneven ones, many,
// and those of which the plan does not know how they differ. A saved profile names the same.
func TestMemoryForAll(t *testing.T) {
	const few = 1 << 20 // the little memory that the first read has; more with many partitions
	for _, tt := range []struct {
		name       string
		partitions int
		uneven     bool // nine of ten records are in partition 0
		blind      bool // as many are asked of each partition
	}{{"even", 6, false, false}, {"many", 300, false, false}, {"uneven", 6, true, false}, {"uneven, not known", 6, true, true}} {
		s := keyed(tt.name, tt.partitions, 120_000, 4, func(_ *rand.Rand, i int) uint64 { return uint64(i) })
		if tt.uneven {
			for i := range s.recs {
				if i%10 != 0 {
					s.recs[i].partition = 0
				}
			}
		}
		s = withOffsets(s)
		plan := s.plan()
		if tt.blind {
			for i := range plan.Spans {
				plan.Spans[i].End = 1 << 30
			}
		}
		read := func(memory int64) *Profile { return buildPlan(t, s, plan, config(memory)) }
		p := read(few + int64(tt.partitions)*leastTable)
		all := p.MemoryForAll()
		if p.Mode() != Bounded || all == 0 {
			t.Fatalf("%s: %v, %.0f bytes for all", tt.name, p.Mode(), all)
		}
		if got := load(t, save(t, p)).MemoryForAll(); got != all {
			t.Errorf("%s: saved, %.0f bytes for all, want %.0f", tt.name, got, all)
		}
		if m := read(int64(all)); m.Mode() != Exact || m.MemoryForAll() != 0 {
			t.Errorf("%s: %v with the %.0f bytes that hold all", tt.name, m.Mode(), all)
		}
		if m := read(int64(all / 4)); m.Mode() != Bounded {
			t.Errorf("%s: a quarter of the %.0f bytes holds all as well", tt.name, all)
		}
	}
}
