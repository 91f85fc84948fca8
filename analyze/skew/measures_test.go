package skew

import (
	"math"
	"math/rand/v2"
	"testing"
)

func close6(got, want float64) bool { return math.Abs(got-want) <= 1e-6*math.Max(1, math.Abs(want)) }

func TestMeasure(t *testing.T) {
	for _, tc := range []struct {
		name  string
		loads []float64
		want  Measures
	}{
		// Even loads: every measure at its even end.
		{"even", []float64{5, 5, 5, 5}, Measures{PAR: 1, CV: 0, EffectivePartitions: 4, Gini: 0, Hottest: 0}},
		// Everything in one of four: mean 1/4 of it, variance (9+3)/16 of the square of the load 1.
		{"one of four", []float64{0, 0, 8, 0}, Measures{PAR: 4, CV: math.Sqrt(3), EffectivePartitions: 1, Gini: 0.75, Hottest: 2}},
		// 1,2,3,4: mean 2.5, variance 1.25; sum 10, sum of squares 30; Gini (-3-2+3+12)/(4*10).
		{"ramp", []float64{1, 2, 3, 4}, Measures{PAR: 1.6, CV: math.Sqrt(1.25) / 2.5, EffectivePartitions: 100.0 / 30, Gini: 0.25, Hottest: 3}},
		// A topic shown at a public talk: 47/34/7/4/4/4 %. Sum of squares 3462, so CV^2 = 6*3462/100^2 - 1; Gini
		// (-20-12-4+7+102+235)/(6*100).
		{"uneven topic in public", []float64{47, 34, 7, 4, 4, 4}, Measures{
			PAR: 2.82, CV: math.Sqrt(1.0772), EffectivePartitions: 10000.0 / 3462, Gini: 308.0 / 600, Hottest: 0,
		}},
		{"one partition", []float64{7}, Measures{PAR: 1, EffectivePartitions: 1}},
		{"tie goes to the lowest", []float64{1, 3, 3}, Measures{PAR: 9.0 / 7, CV: math.Sqrt(8.0/9) / (7.0 / 3), EffectivePartitions: 49.0 / 19, Gini: 4.0 / 21, Hottest: 1}},
		{"no load", []float64{0, 0}, Measures{Hottest: -1}},
		{"no partitions", nil, Measures{Hottest: -1}},
	} {
		got := Measure(tc.loads)
		if !close6(got.PAR, tc.want.PAR) || !close6(got.CV, tc.want.CV) || got.Hottest != tc.want.Hottest ||
			!close6(got.EffectivePartitions, tc.want.EffectivePartitions) || !close6(got.Gini, tc.want.Gini) {
			t.Errorf("%s: Measure(%v) = %+v, want %+v", tc.name, tc.loads, got, tc.want)
		}
	}
}

// Over random loads: every measure stays in its documented range and none changes when loads are scaled.
func TestMeasureRanges(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		loads := make([]float64, 1+rng.IntN(40))
		scaled := make([]float64, len(loads))
		for i := range loads {
			loads[i] = float64(rng.IntN(1000))
			scaled[i] = 1024 * loads[i] // a power of two: scaling loses no bit
		}
		loads[0]++
		scaled[0] = 1024 * loads[0]
		n := float64(len(loads))
		m := Measure(loads)
		if m.PAR < 1 || m.PAR > n+1e-9 {
			t.Errorf("seed %d: PAR %v outside [1, %v]", seed, m.PAR, n)
		}
		if m.EffectivePartitions < 1-1e-9 || m.EffectivePartitions > n+1e-9 {
			t.Errorf("seed %d: effective partitions %v outside [1, %v]", seed, m.EffectivePartitions, n)
		}
		if m.Gini < -1e-12 || m.Gini > 1-1/n+1e-9 {
			t.Errorf("seed %d: Gini %v outside [0, 1-1/%v]", seed, m.Gini, n)
		}
		if s := Measure(scaled); s != m {
			t.Errorf("seed %d: measures of scaled loads %+v differ from %+v", seed, s, m)
		}
	}
}

// statistics.md B7 gives tau for r* = 1.5: 4.5 % at 12 partitions, 1.06 % at 48, 0.5 % at 100.
func TestTau(t *testing.T) {
	for _, tc := range []struct {
		n    int32
		want float64
	}{{12, 0.5 / 11}, {48, 0.5 / 47}, {100, 0.5 / 99}, {2, 0.5}} {
		if got := Tau(1.5, tc.n); !close6(got, tc.want) {
			t.Errorf("Tau(1.5, %d) = %v, want %v", tc.n, got, tc.want)
		}
	}
	if got := Tau(1.5, 1); !math.IsInf(got, 1) {
		t.Errorf("Tau(1.5, 1) = %v, want +Inf: nothing is skewed in one partition", got)
	}
}

// The closed form CV^2 = (n-1)/K of statistics.md B6 against rehashing: 2,000 rounds of placing weighted keys at
// random. The mean of CV^2 over the rounds has a relative standard error below 3 % in every setting used.
func TestChanceCV(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 11))
	for _, tc := range []struct {
		name string
		n    int
		keys int
		zipf float64
	}{{"even keys", 12, 200, 0}, {"skewed keys", 12, 500, 1}, {"more partitions", 50, 300, 0.5}} {
		weights := make([]float64, tc.keys)
		var sum, squares float64
		for i := range weights {
			weights[i] = math.Pow(float64(i+1), -tc.zipf)
			sum += weights[i]
			squares += weights[i] * weights[i]
		}
		var mean float64
		const rounds = 2000
		for range rounds {
			loads := make([]float64, tc.n)
			for _, w := range weights {
				loads[rng.IntN(tc.n)] += w
			}
			cv := Measure(loads).CV
			mean += cv * cv / rounds
		}
		want := ChanceCV(int32(tc.n), sum*sum/squares)
		if got := math.Sqrt(mean); math.Abs(got-want) > 0.05*want {
			t.Errorf("%s: simulated CV %v, closed form %v", tc.name, got, want)
		}
	}
}
