package skew

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

// statistics.md B6 lists the expected PAR (p50 / p95) from full rehash simulations. The model must meet it within the
// table's own rounding and Monte-Carlo noise: 4 % for the median, 7 % for the 95th percentile.
func TestByChanceAgainstFullRehash(t *testing.T) {
	equal := func(n int) []float64 {
		w := make([]float64, n)
		for i := range w {
			w[i] = 1
		}
		return w
	}
	zipf := func(n int, s float64) []float64 {
		w := make([]float64, n)
		for i := range w {
			w[i] = math.Pow(float64(i+1), -s)
		}
		return w
	}
	for _, tc := range []struct {
		name        string
		weights     []float64
		n           int32
		median, p95 float64
	}{
		{"100 keys, 12", equal(100), 12, 1.56, 1.92},
		{"1,000 keys, 12", equal(1000), 12, 1.18, 1.28},
		{"1,000 keys, 100", equal(1000), 100, 1.90, 2.20},
		{"10,000 keys, 50", equal(10_000), 50, 1.16, 1.22},
		{"10,000 keys, 256", equal(10_000), 256, 1.46, 1.61},
		{"100,000 keys, 100", equal(100_000), 100, 1.08, 1.11},
		{"1M keys, 12", equal(1_000_000), 12, 1.005, 1.008},
		{"zipf 1.1 over 1M, 12", zipf(1_000_000, 1.1), 12, 2.3, 2.9},
		{"zipf 1.1 over 1M, 50", zipf(1_000_000, 1.1), 50, 6.9, 8.0},
	} {
		got := ByChance(NewKeys(tc.weights), tc.n, 1)
		if math.Abs(got.Median-tc.median) > 0.04*tc.median || math.Abs(got.P95-tc.p95) > 0.07*tc.p95 {
			t.Errorf("%s: median %.3f p95 %.3f, full rehash gave %.3f and %.3f", tc.name, got.Median, got.P95, tc.median, tc.p95)
		}
	}
}

// Rehashing every key of a mid-sized set must give the quantiles of the model that lumps most of them.
func TestByChanceLumpedAgainstEveryKey(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	weights := make([]float64, 12_000)
	for i := range weights {
		weights[i] = math.Pow(float64(i+1), -0.7)
	}
	const n, rounds = 24, 1500
	pars := make([]float64, rounds)
	for r := range pars {
		loads := make([]float64, n)
		for _, w := range weights {
			loads[rng.IntN(n)] += w
		}
		pars[r] = Measure(loads).PAR
	}
	slices.Sort(pars)
	got := ByChance(NewKeys(weights), n, pars[rounds*9/10])
	if want := pars[rounds/2]; math.Abs(got.Median-want) > 0.01*want {
		t.Errorf("median %.4f, every key %.4f", got.Median, want)
	}
	// The observed value is the 90th percentile of the full simulation: p is 0.1 within four standard errors.
	if math.Abs(got.P-0.1) > 0.04 {
		t.Errorf("p of the 90th percentile is %.3f, want 0.1", got.P)
	}
}

func TestByChanceEdges(t *testing.T) {
	if got := ByChance(Keys{}, 12, 1); got != (Chance{}) {
		t.Errorf("no keys: %+v, want the zero Chance", got)
	}
	// One key fills one partition whatever the hash: PAR is n in every round.
	if got := ByChance(NewKeys([]float64{5}), 7, 7); got.Median != 7 || got.P != 1 {
		t.Errorf("one key: %+v, want PAR 7 in every round", got)
	}
	a, b := ByChance(NewKeys([]float64{3, 2, 1}), 4, 2), ByChance(NewKeys([]float64{1, 3, 2}), 4, 2)
	if a != b {
		t.Errorf("order of keys changes the answer: %+v and %+v", a, b)
	}
}

// Every weight is placed once, those of both halves of a draw evenly, each apart from the other.
func TestScatter(t *testing.T) {
	const rounds = 50_000
	for _, n := range []int{1, 2, 3, 12, 50} {
		src := rand.NewPCG(1, uint64(n))
		pairs := make([]float64, n*n) // where the first two weights of three went
		last := make([]float64, n)
		for range rounds {
			loads := make([]float64, n)
			scatter(src, []float64{1, 2, 4}, loads)
			var at [3]int
			for i, load := range loads {
				for w := range at {
					if int(load)>>w&1 == 1 {
						at[w] = i
					}
				}
			}
			if sum := floats.Sum(loads); sum != 7 {
				t.Fatalf("%d loads: weights of 1, 2 and 4 sum to %v", n, sum)
			}
			pairs[at[0]*n+at[1]]++
			last[at[2]]++
		}
		for name, counts := range map[string][]float64{"pairs": pairs, "last": last} {
			cells := float64(len(counts))
			var chi2 float64
			for _, c := range counts {
				chi2 += (c - rounds/cells) * (c - rounds/cells) / (rounds / cells)
			}
			if most := (distuv.ChiSquared{K: max(1, cells-1)}).Quantile(0.9999); chi2 > most {
				t.Errorf("%d loads, %s: chi squared %.1f, want at most %.1f", n, name, chi2, most)
			}
		}
	}
}
