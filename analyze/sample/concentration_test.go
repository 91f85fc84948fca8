package sample

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"keyspread/analyze/profile"
	"keyspread/analyze/source"
)

// keyLog is a log of keys by partition, and the sum of squared shares of its keys in records and bytes.
type keyLog struct {
	partitions [][]source.Record
	truth      [2]float64
}

// newKeyLog writes n records in runs of mean length burst, each of a key that draw names by the position in the log, to
// the partition of the key, or where keyed is false to any.
func newKeyLog(rng *rand.Rand, partitions, n int, burst float64, keyed bool, draw func(at float64) int) keyLog {
	l := keyLog{partitions: make([][]source.Record, partitions)}
	names := map[int][]byte{}
	sums := map[int]*[2]float64{}
	var total [2]float64
	k := draw(0)
	for i := range n {
		if rng.Float64() < 1/burst {
			k = draw(float64(i) / float64(n))
		}
		if names[k] == nil {
			names[k], sums[k] = fmt.Appendf(nil, "%08d", k), &[2]float64{}
		}
		p := k % partitions
		if !keyed {
			p = rng.IntN(partitions)
		}
		r := source.Record{Offset: int64(len(l.partitions[p])), Key: names[k], ValueSize: int32(k*7%900) + 100}
		l.partitions[p] = append(l.partitions[p], r)
		for u, w := range [2]float64{1, float64(r.ValueSize) + 8} {
			sums[k][u] += w
			total[u] += w
		}
	}
	for _, s := range sums {
		for u, w := range s {
			l.truth[u] += w / total[u] * w / total[u]
		}
	}
	return l
}

type nowhere struct{}

func (nowhere) Batch(*source.Batch) error { return nil }

// draw samples so many blocks of the log and estimates its concentration; naive is the share of pairs of sampled records
// with the same key, which takes records for independent.
func (l keyLog) draw(t testing.TB, seed uint64, blockSize, blocks int64) (c [2]Concentration, naive float64) {
	t.Helper()
	plan := &source.Plan{NumPartitions: len(l.partitions)}
	for p, records := range l.partitions {
		plan.Spans = append(plan.Spans, source.Span{Partition: int32(p), End: int64(len(records))})
	}
	f := NewFrame(plan, blockSize, seed)
	col := NewCollector(f, nil, nowhere{})
	for _, s := range f.Draw(blocks) {
		if err := col.Batch(&source.Batch{Partition: s.Partition, Records: l.partitions[s.Partition][s.Start:s.End]}); err != nil {
			t.Fatal(err)
		}
	}
	x, n := map[string]float64{}, 0.0
	for _, ce := range col.cells {
		ce.close()
		n += ce.size.y[profile.Records]
		for key, k := range ce.keys {
			x[key] += float64(k.records)
		}
	}
	for _, c := range x {
		naive += c * (c - 1) / (n * (n - 1))
	}
	return col.concentration(0.05), naive
}

// zipf draws from so many keys by Zipf's law.
func zipf(rng *rand.Rand, keys int, s float64) func(float64) int {
	cumulated := make([]float64, keys)
	sum := 0.0
	for i := range cumulated {
		sum += math.Pow(float64(i+1), -s)
		cumulated[i] = sum
	}
	return func(float64) int {
		x, lo, hi := rng.Float64()*sum, 0, keys-1
		for lo < hi {
			if mid := (lo + hi) / 2; cumulated[mid] < x {
				lo = mid + 1
			} else {
				hi = mid
			}
		}
		return lo
	}
}

// TestConcentrationCoverage draws samples from independent, bursty and drifting streams and counts how often the 95 %
// interval of the sum of squared shares, and so of the effective number of keys, holds the truth. Required: at least
// 92 %, less the simulation's own noise (three standard errors, over streams that are drawn anew), and a bias of at most
// a quarter of the standard error. Taking records for independent is shown beside it.
func TestConcentrationCoverage(t *testing.T) {
	streams, samples, records := 3, 15, 150_000
	if *full {
		streams, samples, records = 60, 50, 400_000
	}
	const blockSize = 100
	type law func(rng *rand.Rand) func(at float64) int
	skewed := law(func(rng *rand.Rand) func(float64) int { return zipf(rng, 50_000, 1.1) })
	even := law(func(rng *rand.Rand) func(float64) int {
		return func(float64) int { return rng.IntN(20_000) }
	})
	tenth := law(func(rng *rand.Rand) func(float64) int {
		return func(float64) int {
			if rng.Float64() < 0.1 {
				return 3
			}
			return rng.IntN(20_000)
		}
	})
	drift := law(func(rng *rand.Rand) func(float64) int {
		return func(at float64) int {
			if rng.Float64() < 0.1*(1+0.8*math.Sin(2*math.Pi*at)) {
				return 3
			}
			return rng.IntN(20_000)
		}
	})
	t.Logf("%-32s %5s %-8s %11s %11s %10s %10s %9s %6s %6s", "stream", "m", "unit", "truth", "mean", "SE shown", "SE found", "coverage", "naive", "known")
	for _, tc := range []struct {
		name       string
		partitions int
		keyed      bool
		blocks     int64
		burst      float64
		law        law
	}{
		{"zipf 1.1, independent", 1, true, 100, 1, skewed},
		{"zipf 1.1, bursts of 10", 1, true, 150, 10, skewed},
		{"zipf 1.1, 12 partitions", 12, true, 240, 10, skewed},
		{"zipf 1.1, keys everywhere", 6, false, 240, 10, skewed},
		{"even, independent", 1, true, 150, 1, even},
		{"even, bursts of 10", 4, true, 400, 10, even},
		{"10 % key, bursts of 10", 4, true, 150, 10, tenth},
		{"10 % key that drifts", 1, true, 150, 1, drift},
		{"two blocks a partition", 75, true, 150, 10, skewed},
	} {
		var covered, known, sum, squares, se, truth [2]float64
		naiveCovered, bias := 0.0, 0.0
		for s := range streams {
			rng := rand.New(rand.NewPCG(uint64(s), 41))
			l := newKeyLog(rng, tc.partitions, records, tc.burst, tc.keyed, tc.law(rng))
			for i := range samples {
				c, naive := l.draw(t, uint64(1000*s+i), blockSize, tc.blocks)
				for u := range c {
					if c[u].Lo <= l.truth[u] && l.truth[u] <= c[u].Hi {
						covered[u]++
					}
					if c[u].Known {
						known[u]++
					}
					d := c[u].Share - l.truth[u]
					sum[u] += d
					squares[u] += d * d
					se[u] += c[u].SE
					truth[u] += l.truth[u]
				}
				if math.Abs(naive/l.truth[0]-1) < 2*c[0].SE/l.truth[0] {
					naiveCovered++
				}
				bias += naive - l.truth[0]
			}
		}
		r := float64(streams * samples)
		for u := range covered {
			mean, found := sum[u]/r, math.Sqrt(squares[u]/r-sum[u]/r*sum[u]/r)
			t.Logf("%-32s %5d %-8s %11.5g %11.5g %10.3g %10.3g %9.3f %+5.0f%% %6.3f", tc.name, tc.blocks, profile.Unit(u), truth[u]/r, truth[u]/r+mean,
				se[u]/r, found, covered[u]/r, 100*bias/truth[0], known[u]/r)
			if noise := 3 * math.Sqrt(0.92*0.08/r); covered[u]/r < 0.92-noise {
				t.Errorf("%s, %v: coverage %.3f, want at least 0.92", tc.name, profile.Unit(u), covered[u]/r)
			}
			if math.Abs(mean) > found*(0.25+4/math.Sqrt(r)) {
				t.Errorf("%s, %v: bias %.3g at a standard error of %.3g", tc.name, profile.Unit(u), mean, found)
			}
		}
	}
}

// TestCounts checks that records handed on with a count are the same as one by one, over the borders of blocks too.
func TestCounts(t *testing.T) {
	plan := &source.Plan{NumPartitions: 1, Spans: []source.Span{{End: 12}}}
	keys := []string{"a", "a", "a", "b", "b", "b", "b", "b", "b", "a", "a", "c"}
	single := source.Batch{}
	for i, k := range keys {
		single.Records = append(single.Records, source.Record{Offset: int64(i), Key: []byte(k), ValueSize: 10})
	}
	counted := source.Batch{Counts: []int64{3, 6, 2, 1}}
	for _, at := range []int{0, 3, 9, 11} {
		counted.Records = append(counted.Records, single.Records[at])
	}
	var c [2][2]Concentration
	for i, b := range []source.Batch{single, counted} {
		col := NewCollector(NewFrame(plan, 2, 1), nil, nowhere{})
		if err := col.Batch(&b); err != nil {
			t.Fatal(err)
		}
		for _, ce := range col.cells {
			ce.close()
		}
		c[i] = col.concentration(0.05)
		if got := col.cells[0].keys["b"].records; got != 6 {
			t.Errorf("key b has %v records, want 6", got)
		}
	}
	if c[0] != c[1] {
		t.Errorf("with counts %+v, one by one %+v", c[1], c[0])
	}
}
