package partitioner

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkPlace places UUID keys, one count and 64 counts at a time: the difference is what a candidate count costs.
func BenchmarkPlace(b *testing.B) {
	const uuids = 1024
	keys := make([][]byte, uuids)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "%08x-9c1b-4d3e-8f00-%012x", uint32(i)*2654435761, i)
	}
	many := make([]int32, 64)
	for i := range many {
		many[i] = int32(3 + 7*i)
	}
	for _, c := range Classes() {
		for _, counts := range [][]int32{many[:1], many} {
			name := fmt.Sprintf("class=%s/counts=%d", strings.ReplaceAll(c.ID, ":", "_"), len(counts))
			b.Run(name, func(b *testing.B) {
				p := c.Partitioner()
				out := make([]int32, len(counts))
				b.ReportAllocs()
				b.SetBytes(int64(len(keys[0])))
				i := 0
				for b.Loop() {
					if _, err := p.Place(keys[i%uuids], counts, out); err != nil {
						b.Fatal(err)
					}
					i++
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N), "ns/key")
			})
		}
	}
}

// TestPlaceAllocations holds the promise of Place: nothing is allocated, also when a key is refused.
func TestPlaceAllocations(t *testing.T) {
	counts := []int32{6, 12, 24}
	out := make([]int32, len(counts))
	for _, c := range Classes() {
		p := c.Partitioner()
		for _, key := range [][]byte{nil, []byte("354afe16-939a-4ea8-8e17-8bb0840b6886"), []byte("Straße"), {0xff, 0x00}} {
			if n := testing.AllocsPerRun(100, func() { _, _ = p.Place(key, counts, out) }); n != 0 {
				t.Errorf("%s: key %q: %v allocations, want 0", c.ID, key, n)
			}
		}
	}
}
