package profile

import (
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
