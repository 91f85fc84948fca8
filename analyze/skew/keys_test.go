package skew

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// full runs the simulations at their full size: go test ./analyze/skew -run Simulation -full -v
var full = flag.Bool("full", false, "run the simulations at full size")

// plainKeyMeasures are the formulas of KeyMeasures as they stand, K times K for the Gini index.
func plainKeyMeasures(x []float64) (gini, effective, entropy float64) {
	var total, squares, h, differences float64
	for _, w := range x {
		total += w
	}
	for _, w := range x {
		squares += w / total * w / total
		if w > 0 {
			h -= w / total * math.Log(w/total)
		}
		for _, v := range x {
			differences += math.Abs(w - v)
		}
	}
	k := float64(len(x))
	return differences / (2 * k * total), 1 / squares, math.Exp(h)
}

func measureAll(weights ...float64) KeyMeasures {
	var all allKeys
	for _, w := range weights {
		all.add(int64(w))
	}
	return all.measures()
}

// With every key known the measures are the plain formulas, exactly and without doubt, in any order of the keys.
func TestKeyMeasuresExact(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 3))
		x := make([]float64, 1+rng.IntN(200))
		for i := range x {
			x[i] = float64(1 + rng.IntN(1+rng.IntN([]int{10, 1000, 3 * fewWeight}[seed%3])))
		}
		gini, effective, entropy := plainKeyMeasures(x)
		m := measureAll(x...)
		for _, f := range []struct {
			name string
			got  Figure
			want float64
		}{{"Gini", m.Gini, gini}, {"effective", m.Effective, effective}, {"entropy", m.Entropy, entropy}} {
			if !close6(f.got.Est, f.want) || f.got.Lo > f.want+1e-6 || f.got.Hi < f.want*(1-1e-9) || f.got.SE != 0 {
				t.Errorf("seed %d, %d keys: %s %+v, want exactly %v", seed, len(x), f.name, f.got, f.want)
			}
		}
		if k := float64(len(x)); m.Effective.Est > m.Entropy.Est*(1+1e-9) || m.Entropy.Est > k*(1+1e-9) || m.Effective.Est < 1-1e-9 {
			t.Errorf("seed %d: want 1 <= effective %v <= entropy %v <= keys %v", seed, m.Effective.Est, m.Entropy.Est, k)
		}
	}
}

func TestKeyMeasuresKnown(t *testing.T) {
	for _, c := range []struct {
		name                     string
		x                        []float64
		gini, effective, entropy float64
	}{
		{"one key", []float64{7}, 0, 1, 1},
		{"equal keys", []float64{3, 3, 3, 3}, 0, 4, 4},
		{"equal heavy keys", []float64{3 * fewWeight, 3 * fewWeight, 3 * fewWeight}, 0, 3, 3},
		{"at the border", []float64{fewWeight, fewWeight - 1, fewWeight}, 2.0 / 9 / fewWeight, 3, 3},
		{"a key without weight", []float64{5, 0}, 0.5, 1, 1},
		// Shares 1/2, 1/4, 1/4: sum of squares 3/8, entropy 1.5 ln 2; Gini (-2*1 + 0*1 + 2*2)/(3*4).
		{"a half and two quarters", []float64{2, 1, 1}, 1.0 / 6, 8.0 / 3, math.Pow(2, 1.5)},
	} {
		m := measureAll(c.x...)
		if !close6(m.Gini.Est, c.gini) || !close6(m.Effective.Est, c.effective) || !close6(m.Entropy.Est, c.entropy) {
			t.Errorf("%s: %+v, want Gini %v, effective %v, entropy %v", c.name, m, c.gini, c.effective, c.entropy)
		}
	}
	if m := measureAll(); m.Gini.Known() || m.Effective.Known() || m.Entropy.Known() {
		t.Errorf("no key: %+v, want nothing known", m)
	}
}

// zipfWeights draws the records of keys that share n records by Zipf's law, keys without one left out.
func zipfWeights(rng *rand.Rand, keys int, s float64, n int) []float64 {
	var sum float64
	share := make([]float64, keys)
	for i := range share {
		share[i] = math.Pow(float64(i+1), -s)
		sum += share[i]
	}
	var x []float64
	for i := range share {
		// Poisson counts: normal where they are large.
		mean := share[i] / sum * float64(n)
		c := 0.0
		if mean > 50 {
			c = math.Round(mean + math.Sqrt(mean)*rng.NormFloat64())
		} else {
			for p := rng.Float64(); p > math.Exp(-mean); p *= rng.Float64() {
				c++
			}
		}
		if c > 0 {
			x = append(x, c)
		}
	}
	return x
}

// TestSimulationTwoPhase draws key samples of known populations and counts how often the 95 % intervals hold the truth.
// Required: at least 92 %, less the simulation's own noise (three standard errors), a bias of at most a fifth of the
// standard error, and a standard error that is right within a quarter.
func TestSimulationTwoPhase(t *testing.T) {
	keys, records, rounds := 60_000, 1_000_000, 200
	if *full {
		keys, records, rounds = 1_000_000, 20_000_000, 500
	}
	rng := rand.New(rand.NewPCG(5, 8))
	populations := []struct {
		name string
		x    []float64
	}{
		{"zipf 1.1", zipfWeights(rng, keys, 1.1, records)},
		{"zipf 0.8", zipfWeights(rng, keys, 0.8, records)},
		{"even", zipfWeights(rng, keys, 0, records)},
	}
	t.Logf("%-10s %-6s %-10s %12s %12s %10s %10s %9s", "keys", "k", "measure", "truth", "mean", "SE shown", "SE found", "coverage")
	for _, p := range populations {
		slices.SortFunc(p.x, func(a, b float64) int { return int(b - a) })
		total := 0.0
		for _, w := range p.x {
			total += w
		}
		exact := measureAll(p.x...)
		for _, k := range []int{4096, 16384} {
			theta := float64(k) / float64(len(p.x))
			measures := []struct {
				name string
				of   func(*KeyMeasures) *Figure
			}{
				{"Gini", func(m *KeyMeasures) *Figure { return &m.Gini }},
				{"effective", func(m *KeyMeasures) *Figure { return &m.Effective }},
				{"entropy", func(m *KeyMeasures) *Figure { return &m.Entropy }},
			}
			covered, sum, squares, se := make([]float64, 3), make([]float64, 3), make([]float64, 3), make([]float64, 3)
			for range rounds {
				var rest []float64
				for _, w := range p.x[max(takenAll, k):] {
					if rng.Float64() < theta {
						rest = append(rest, w)
					}
				}
				m := newTwoPhase(p.x[:max(takenAll, k)], rest, theta, total).measures()
				for i, f := range measures {
					got, want := *f.of(&m), f.of(&exact).Est
					if got.Lo <= want && want <= got.Hi {
						covered[i]++
					}
					sum[i] += got.Est - want
					squares[i] += (got.Est - want) * (got.Est - want)
					se[i] += got.SE
				}
			}
			r := float64(rounds)
			for i, f := range measures {
				bias := sum[i] / r
				found := math.Sqrt(squares[i]/r - bias*bias)
				want := f.of(&exact).Est
				t.Logf("%-10s %-6d %-10s %12.6g %12.6g %10.3g %10.3g %9.3f", p.name, k, f.name, want, want+bias, se[i]/r, found, covered[i]/r)
				at := fmt.Sprintf("%s, %d keys, %s", p.name, k, f.name)
				if noise := 3 * math.Sqrt(0.92*0.08/r); covered[i]/r < 0.92-noise {
					t.Errorf("%s: coverage %.3f, want at least 0.92", at, covered[i]/r)
				}
				if math.Abs(bias) > found*(0.2+3/math.Sqrt(r)) {
					t.Errorf("%s: bias %.3g at a standard error of %.3g", at, bias, found)
				}
				if ratio := se[i] / r / found; ratio < 0.75 || ratio > 1.25 {
					t.Errorf("%s: standard error %.3g, found %.3g", at, se[i]/r, found)
				}
			}
		}
	}
}
