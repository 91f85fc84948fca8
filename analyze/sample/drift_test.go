package sample

import (
	"math"
	"math/rand/v2"
	"testing"

	"keyspread/analyze/source"
)

// TestDrift draws samples from streams in which nothing drifts, where at most one sample in fifty, and one more, may name
// a key that does (nominal: one in 200), and from streams in which one key trebles half way, which nearly every sample
// must name. The mean shares of its halves must be near the truth.
func TestDrift(t *testing.T) {
	still := func(rng *rand.Rand) func(float64) int { return zipf(rng, 5000, 1.1) }
	trebling := func(rng *rand.Rand) func(float64) int {
		return func(at float64) int {
			share := 0.05
			if at >= 0.5 {
				share = 0.15
			}
			if rng.Float64() < share {
				return 3
			}
			return rng.IntN(20_000)
		}
	}
	streams, samples := 3, 8
	if *full {
		streams, samples = 60, 50
	}
	t.Logf("%-34s %7s %8s %8s", "stream", "samples", "named", "key 3")
	for _, tc := range []struct {
		name        string
		partitions  int
		blocks      int64
		burst       float64
		law         func(*rand.Rand) func(float64) int
		drifts      bool
		early, late float64
	}{
		{"still, independent", 1, 150, 1, still, false, 0, 0},
		{"still, bursts of 10", 12, 240, 10, still, false, 0, 0},
		{"still, few blocks a partition", 12, 46, 10, still, false, 0, 0},
		{"still, bursts of 100", 4, 400, 100, still, false, 0, 0},
		{"still, nearly all blocks read", 4, 900, 10, still, false, 0, 0},
		{"5 % to 15 %", 1, 150, 1, trebling, true, 0.05, 0.15},
		// The key's partition has (0.05+0.95/4)/2 of the records before the change and (0.15+0.85/4)/2 after it. Its first
		// half so ends after the change: 0.025 of the key before it and 0.15/0.3625 * 0.01875 from there, twice.
		{"5 % to 15 %, bursts of 10", 4, 300, 10, trebling, true, 0.0655, 0.1345},
	} {
		named, found, early, late := 0, 0, 0.0, 0.0
		for s := range streams {
			rng := rand.New(rand.NewPCG(uint64(s), 47))
			l := newKeyLog(rng, tc.partitions, 100_000, tc.burst, true, tc.law(rng))
			for i := range samples {
				e := l.estimates(t, uint64(1000*s+i), 100, tc.blocks)
				any := false
				for _, k := range e.Keys {
					any = any || k.Drift
					if string(k.Key) == "00000003" && k.Drift {
						found++
						early += k.Early.Share
						late += k.Late.Share
					}
				}
				if any {
					named++
				}
			}
		}
		n := streams * samples
		t.Logf("%-34s %7d %8d %8d", tc.name, n, named, found)
		switch {
		case !tc.drifts && named > 1+n/50:
			t.Errorf("%s: %d of %d samples name a drift where there is none", tc.name, named, n)
		case tc.drifts && found < n*9/10:
			t.Errorf("%s: %d of %d samples name the key that drifts", tc.name, found, n)
		case tc.drifts:
			if e, l := early/float64(found), late/float64(found); math.Abs(e-tc.early) > 0.1*tc.early || math.Abs(l-tc.late) > 0.1*tc.late {
				t.Errorf("%s: mean shares %.4f and %.4f, want about %.4f and %.4f", tc.name, e, l, tc.early, tc.late)
			}
		}
	}
}

// estimates samples so many blocks of the log.
func (l keyLog) estimates(t testing.TB, seed uint64, blockSize, blocks int64) *Estimates {
	t.Helper()
	plan := &source.Plan{NumPartitions: len(l.partitions)}
	for p, records := range l.partitions {
		plan.Spans = append(plan.Spans, source.Span{Partition: int32(p), End: int64(len(records))})
	}
	f := NewFrame(plan, blockSize, seed)
	c := NewCollector(f, nil, nowhere{})
	for _, s := range f.Draw(blocks) {
		if err := c.Batch(&source.Batch{Partition: s.Partition, Records: l.partitions[s.Partition][s.Start:s.End]}); err != nil {
			t.Fatal(err)
		}
	}
	return c.Estimates(0.05, 0.05)
}
