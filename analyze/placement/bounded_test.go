package placement

import (
	"math"
	"math/rand/v2"
	"testing"

	"keyspread/analyze/profile"
)

// Shares by a bounded table have their 95 % limits, whatever came first: the keys in a table at its end are those of the
// sample, the heavy ones, and some that came late, and none of them may stand for more than themselves.
func TestBoundedSharesCoverage(t *testing.T) {
	t.Parallel()
	const seeds, partitions, records, numKeys = 15, 6, 60_000, 30_000
	java, rdkafka := parse(t, "java"), parse(t, "librdkafka")
	type count struct{ covered, all int }
	var keys, weights count
	for seed := range uint64(seeds) {
		for _, zipf := range []float64{0, 0.7, 1.1} {
			r := rand.New(rand.NewPCG(seed, 9))
			all := someKeys(seed, numKeys)
			of := func(writer int) []byte {
				rank := int(float64(numKeys/2) * math.Pow(r.Float64(), 1/(1-min(zipf, 0.95))))
				return all[2*min(rank, numKeys/2-1)+writer]
			}
			tp := newTopic(partitions)
			both := [2]map[string]bool{{}, {}} // keys by writer; the first writes before the second
			var written [2]int
			for i := range records {
				writer, pt := 0, java
				if i > records*2/3 {
					writer, pt = 1, rdkafka
				}
				key := of(writer)
				both[writer][string(key)] = true
				written[writer]++
				tp.write(t, pt, partitions, key)
			}
			ofKeys := float64(len(both[0])) / float64(len(both[0])+len(both[1]))
			ofRecords := float64(written[0]) / records
			for _, memory := range []int64{1 << 20, 2 << 20} {
				cfg := profile.DefaultConfig()
				cfg.Memory = memory
				p := tp.profile(t, cfg)
				if p.Mode() != profile.Bounded {
					continue
				}
				ev := collect(p, DefaultConfig().MaxKeys, DefaultConfig().Heaviest)
				s := ev.sharesOf(func(i int) bool { return both[0][string(ev.pairs[i].key)] })
				for _, c := range []struct {
					c     *count
					s     Share
					truth float64
				}{{&keys, s.Keys, ofKeys}, {&weights, s.Records, ofRecords}} {
					c.c.all++
					if c.s.Lo <= c.truth && c.truth <= c.s.Hi {
						c.c.covered++
					}
					if c.s.Hi-c.s.Lo > 0.2 {
						t.Errorf("zipf %v, seed %d: %+v says little of %.3f", zipf, seed, c.s, c.truth)
					}
				}
			}
		}
	}
	t.Logf("keys: %d of %d covered; records: %d of %d", keys.covered, keys.all, weights.covered, weights.all)
	if keys.all < 4*seeds || keys.covered < keys.all*9/10 || weights.covered < weights.all*9/10 {
		t.Errorf("keys: %d of %d covered, records: %d of %d; want 90 %% of at least %d", keys.covered, keys.all, weights.covered, weights.all, 4*seeds)
	}
}
