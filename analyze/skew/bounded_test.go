package skew

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"keyspread/analyze/profile"
	"keyspread/analyze/sample"
	"keyspread/analyze/source"
	"keyspread/partitioner"
)

// countKeys profiles records of keys that come in random order, placed by murmur2 on n partitions.
func countKeys(t testing.TB, n int32, memory int64, tag uint64, weights []float64) *profile.Profile {
	t.Helper()
	pt, err := partitioner.Parse("murmur2")
	if err != nil {
		t.Fatal(err)
	}
	parts := make([][]source.Record, n)
	out := make([]int32, 1)
	for i, w := range weights {
		key := fmt.Appendf(nil, "%x-%d", tag, i)
		if _, err := pt.Place(key, []int32{n}, out); err != nil {
			t.Fatal(err)
		}
		for range int(w) {
			parts[out[0]] = append(parts[out[0]], source.Record{Key: key, ValueSize: int32(i % 100), Timestamp: -1})
		}
	}
	rng := rand.New(rand.NewPCG(tag, 6))
	for _, records := range parts {
		rng.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	}
	return count(t, pt, memory, parts)
}

// count profiles the records of partitions in their order.
func count(t testing.TB, pt partitioner.Partitioner, memory int64, parts [][]source.Record) *profile.Profile {
	t.Helper()
	plan := &source.Plan{Topic: "t", NumPartitions: len(parts)}
	for p, records := range parts {
		for i := range records {
			records[i].Offset = int64(i)
		}
		plan.Partitions = append(plan.Partitions, source.Partition{ID: int32(p)})
		plan.Spans = append(plan.Spans, source.Span{Partition: int32(p), End: int64(len(records))})
	}
	cfg := profile.DefaultConfig()
	cfg.Partitioner, cfg.Memory = pt, memory
	b, err := profile.NewBuilder(plan, cfg)
	if err != nil {
		t.Fatal(err)
	}
	var coverage []source.Coverage
	for p, records := range parts {
		size := int64(len(records))
		if err := b.Batch(&source.Batch{Partition: int32(p), Next: size, Records: records}); err != nil {
			t.Fatal(err)
		}
		coverage = append(coverage, source.Coverage{Partition: int32(p), Asked: size, Read: size, Position: size})
	}
	prof, err := b.Profile(coverage)
	if err != nil {
		t.Fatal(err)
	}
	return prof
}

// The same topics counted exactly and with a tenth of the memory: the exact measures must lie in the bounded intervals.
// Of the 36 of 6 topics at least 30 must hold: at 95 % two miss by chance, and those of a topic go together. None may be
// a bare number, and none so wide that it says nothing.
func TestMeasureKeysBounded(t *testing.T) {
	held, all := 0, 0
	for seed := range uint64(6) {
		weights := zipfWeights(rand.New(rand.NewPCG(seed, 1)), 60_000, 0.7+0.1*float64(seed%3), 300_000)
		exact, bounded := countKeys(t, 6, 1<<30, seed, weights), countKeys(t, 6, 5<<19, seed, weights)
		if exact.Mode() != profile.Exact || bounded.Mode() != profile.Bounded {
			t.Fatalf("modes %v and %v", exact.Mode(), bounded.Mode())
		}
		for _, unit := range []profile.Unit{profile.Records, profile.Bytes} {
			want, got := MeasureKeys(exact, unit, nil), MeasureKeys(bounded, unit, nil)
			least, most := spreadLimits(bounded, unit, keyedWeight(bounded, unit), keyedRecords(bounded))
			if e := want.Effective.Est; e < least.effective || e > most.effective {
				t.Errorf("seed %d, %v: %v effective keys, not within the certain %v to %v", seed, unit, e, least.effective, most.effective)
			}
			if e := want.Entropy.Est; e < least.entropy || e > most.entropy {
				t.Errorf("seed %d, %v: %v keys by entropy, not within the certain %v to %v", seed, unit, e, least.entropy, most.entropy)
			}
			for _, f := range []struct {
				name      string
				got, want Figure
			}{{"Gini", got.Gini, want.Gini}, {"effective", got.Effective, want.Effective}, {"entropy", got.Entropy, want.Entropy}} {
				if f.want.SE != 0 || f.want.Est > f.want.Hi*(1+1e-12) {
					t.Errorf("seed %d, %s of %v: exact %+v carries doubt", seed, f.name, unit, f.want)
				}
				if f.got.SE <= 0 || !f.got.Known() || f.got.Hi > 1.2*f.got.Lo {
					t.Errorf("seed %d, %s of %v: bounded %+v", seed, f.name, unit, f.got)
				}
				all++
				if f.got.Lo <= f.want.Est && f.want.Est <= f.got.Hi {
					held++
				} else {
					t.Logf("seed %d, %s of %v: %+v does not hold %v (sample 1/%.0f)", seed, f.name, unit, f.got, f.want.Est, 1/bounded.SampleFraction())
				}
			}
		}
	}
	t.Logf("%d of %d intervals hold", held, all)
	if held < 30 {
		t.Errorf("%d of %d intervals hold the exact figure, want at least 30", held, all)
	}
}

// Nearly distinct keys, a few of them with up to dozens of records: most samples hold none of those, and still the
// intervals must hold the exact figures. Of 120 figures at 95 % six miss on average, and those of a topic go together.
func TestMeasureKeysNearlyDistinct(t *testing.T) {
	held, all, none := 0, 0, 0
	for seed := range uint64(20) {
		weights := make([]float64, 80_000)
		for i := range weights {
			weights[i] = 1
			if i < 4*int(seed%5) {
				weights[i] = float64(2 + i*int(seed)%29)
			}
		}
		exact, bounded := countKeys(t, 6, 1<<30, seed, weights), countKeys(t, 6, 5<<19, seed, weights)
		if bounded.Mode() != profile.Bounded {
			t.Fatalf("mode %v", bounded.Mode())
		}
		for _, unit := range []profile.Unit{profile.Records, profile.Bytes} {
			want, got := MeasureKeys(exact, unit, nil), MeasureKeys(bounded, unit, nil)
			for _, f := range []struct {
				name      string
				got, want Figure
			}{{"Gini", got.Gini, want.Gini}, {"effective", got.Effective, want.Effective}, {"entropy", got.Entropy, want.Entropy}} {
				all++
				if f.got.Lo <= f.want.Est && f.want.Est <= f.got.Hi {
					held++
				} else {
					t.Logf("seed %d, %s of %v: %+v does not hold %v", seed, f.name, unit, f.got, f.want.Est)
				}
				if f.got.SE == 0 {
					none++
				}
				if f.got.Lo >= f.got.Hi || f.name != "Gini" && f.got.Hi > 2*f.got.Lo {
					t.Errorf("seed %d, %s of %v: %+v, want an interval that says something", seed, f.name, unit, f.got)
				}
			}
		}
	}
	t.Logf("%d of %d intervals hold, %d of samples of equal keys", held, all, none)
	if held < 108 || none == 0 {
		t.Errorf("%d of %d intervals hold the exact figure, %d of samples of equal keys, want at least 108 and 1", held, all, none)
	}
}

// With too small a sample there is no estimate, but what the counts allow is told, and holds: one key with 1 % of the records
// among distinct ones leaves at most 10,000 effective keys.
func TestMeasureKeysCertain(t *testing.T) {
	const distinct, heavy = 300_000, 3_000
	weights := make([]float64, distinct)
	for i := range weights {
		weights[i] = 1
	}
	weights[0] = heavy
	p, exact := countKeys(t, 2, 1<<20, 1, weights), countKeys(t, 2, 1<<30, 1, weights)
	for _, unit := range []profile.Unit{profile.Records, profile.Bytes} {
		m, want := MeasureKeys(p, unit, nil), MeasureKeys(exact, unit, nil)
		for name, f := range map[string][2]Figure{"effective": {m.Effective, want.Effective}, "entropy": {m.Entropy, want.Entropy}} {
			if f[0].Known() || f[0].Lo > f[1].Est || f[1].Est > f[0].Hi {
				t.Errorf("%s of %v: %+v does not hold %v, or has an estimate of too few keys", name, unit, f[0], f[1].Est)
			}
			if name == "effective" && unit == profile.Records && (f[0].Lo < 1000 || f[0].Hi > 11_000) {
				t.Errorf("%s of %v: %+v, want it near the 10,000 that the heavy key allows", name, unit, f[0])
			}
		}
	}
}

// What cannot be told is not told: too small a key sample, blocks without a key in common, and in any sample of blocks
// the Gini index.
func TestMeasureKeysCannotTell(t *testing.T) {
	e := &sample.Estimates{Blocks: 100, BlocksAll: 1000}
	e.Concentration[profile.Records] = sample.Concentration{Share: 0.01, Lo: 0.008, Hi: 0.0125, SE: 0.001, Known: true}
	e.Concentration[profile.Bytes] = sample.Concentration{Hi: 0.02}
	m := MeasureKeys(&profile.Profile{}, profile.Records, e)
	if m.Gini.Known() || m.Entropy.Known() || m.Entropy.Lo != 80 {
		t.Errorf("blocks: Gini %+v, entropy %+v, want both unknown, the latter at least 80", m.Gini, m.Entropy)
	}
	// 1/0.01, its limits the inverse ones; the standard error 0.001/0.01^2.
	if f := m.Effective; !close6(f.Est, 100) || !close6(f.Lo, 80) || !close6(f.Hi, 125) || !close6(f.SE, 10) {
		t.Errorf("blocks: effective %+v, want 100 (80 to 125), standard error 10", f)
	}
	if m := MeasureKeys(&profile.Profile{}, profile.Bytes, e); m.Effective.Known() || m.Effective.Lo != 50 {
		t.Errorf("a limit only: effective %+v, want unknown, at least 50", m.Effective)
	}
	if m := MeasureKeys(&profile.Profile{}, profile.Records, nil); m.Gini.Known() || m.Effective.Known() || m.Entropy.Known() {
		t.Errorf("no record: %+v, want nothing known", m)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	small := countKeys(t, 1, 1<<20, 1, zipfWeights(rng, 60_000, 0.5, 200_000))
	sampled := 0
	small.EachSampled(func(profile.TopKey) bool { sampled++; return true })
	if m := MeasureKeys(small, profile.Records, nil); sampled >= leastSampled || m.Gini.Known() || m.Effective.Known() || m.Entropy.Known() {
		t.Errorf("a key sample of %d: Gini %+v, want it unknown", sampled, m.Gini)
	}
}

// The chance model of bounded counts against that of all keys, at several budgets: its estimate of what PAR exceeds 1 by is
// near the exact one (a tenth of it, and for the key sample's own doubt), and what it says to be the most is not exceeded
// by more than the rounds' noise.
func TestExplainBounded(t *testing.T) {
	told := 0
	for _, c := range []struct {
		name    string
		weights []float64
	}{
		{"distinct", slices.Repeat([]float64{1}, 300_000)},
		{"even", zipfWeights(rand.New(rand.NewPCG(1, 1)), 60_000, 0, 300_000)},
		{"zipf 0.8", zipfWeights(rand.New(rand.NewPCG(1, 1)), 60_000, 0.8, 300_000)},
		{"zipf 1.1", zipfWeights(rand.New(rand.NewPCG(1, 1)), 60_000, 1.1, 300_000)},
	} {
		const n = 6
		exact := countKeys(t, n, 1<<30, 9, c.weights)
		for _, memory := range []int64{1 << 20, 5 << 19, 3 << 20, 4 << 20, 6 << 20} {
			bounded := countKeys(t, n, memory, 9, c.weights)
			if bounded.Mode() != profile.Bounded {
				continue
			}
			for _, unit := range []profile.Unit{profile.Records, profile.Bytes} {
				want := Judge(exact, unit, DefaultConfig(), nil).Explanation
				got := Judge(bounded, unit, DefaultConfig(), nil).Explanation
				at := fmt.Sprintf("%s, %d KiB, %v", c.name, memory>>10, unit)
				x, w := got.Expected, want.Expected
				t.Logf("%-26s PAR %.4f: %.4f %.4f p %.3f; at most %.4f %.4f p %.3f (%v); exact %.4f %.4f p %.3f", at, want.Observed,
					x.Median, x.P95, x.P, x.Most.Median, x.Most.P95, x.Most.P, x.OnlyMost, w.Median, w.P95, w.P)
				if got.Cause != want.Cause {
					t.Errorf("%s: %v, want %v", at, got.Cause, want.Cause)
				}
				if w.Most != w.Spread || w.OnlyMost {
					t.Errorf("%s: exact counts give %+v", at, w)
				}
				if noise := 0.05 * (w.Median - 1); x.Most.Median < w.Median-noise || x.Most.P95 < w.P95-2*noise || x.Most.P < w.P-0.05 {
					t.Errorf("%s: at most %+v, exact %+v", at, x.Most, w.Spread)
				}
				if x.OnlyMost {
					continue
				}
				told++
				if off := (x.Median - 1) / (w.Median - 1); off < 0.9 || off > 1.1 {
					t.Errorf("%s: median %v, exact %v", at, x.Median, w.Median)
				}
				if math.Abs(x.P-w.P) > 0.08 {
					t.Errorf("%s: p %v, exact %v", at, x.P, w.P)
				}
			}
		}
	}
	if told < 16 {
		t.Errorf("%d estimates, want at least 16", told)
	}
}
