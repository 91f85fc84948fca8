package skew

import (
	"math"
	"math/rand/v2"
	"testing"
)

// drawWeights draws weights of one of several shapes: even, drawn from a range, a heavy tail, or one key above the rest.
func drawWeights(rng *rand.Rand, keys int) []float64 {
	w := make([]float64, keys)
	shape := rng.IntN(4)
	for i := range w {
		switch shape {
		case 0:
			w[i] = 1
		case 1:
			w[i] = 1 + 99*rng.Float64()
		case 2:
			w[i] = math.Pow(rng.Float64()+1e-3, -1.2)
		case 3:
			w[i] = 1
			if i == 0 {
				w[i] = float64(keys)
			}
		}
	}
	return w
}

func effectiveOf(weights []float64) float64 {
	var sum, squares float64
	for _, w := range weights {
		sum += w
		squares += w * w
	}
	return sum * sum / squares
}

// The closed form CV^2 = (n-1)/K_eff is exact: the mean of CV^2 over every placement of a few keys, all n^K of them,
// equals it to the last digits, whatever the weights.
func TestChanceCVIsExact(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 31))
		n, keys := 2+rng.IntN(4), 1+rng.IntN(6)
		weights := drawWeights(rng, keys)
		placements := 1
		for range keys {
			placements *= n
		}
		var mean float64
		for code := range placements {
			loads := make([]float64, n)
			for _, w := range weights {
				loads[code%n] += w
				code /= n
			}
			cv := Measure(loads).CV
			mean += cv * cv / float64(placements)
		}
		want := ChanceCV(int32(n), effectiveOf(weights))
		if math.Abs(mean-want*want) > 1e-9*want*want {
			t.Errorf("seed %d: %d keys %v over %d partitions: mean CV^2 %v over all placements, closed form %v", seed, keys, weights, n, mean, want*want)
		}
	}
}

// The same for many keys and partitions, rehashed at random: the mean of CV^2 over the rounds is within five of its own
// standard errors of the closed form (one of 60 settings is beyond with probability 4e-5).
func TestChanceCVOverRandomWeights(t *testing.T) {
	const rounds = 300
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 37))
		n, keys := 2+rng.IntN(100), 1+rng.IntN(2000)
		weights := drawWeights(rng, keys)
		var mean, squares float64
		for range rounds {
			loads := make([]float64, n)
			for _, w := range weights {
				loads[rng.IntN(n)] += w
			}
			cv := Measure(loads).CV
			mean += cv * cv / rounds
			squares += cv * cv * cv * cv / rounds
		}
		se := math.Sqrt(math.Max(0, squares-mean*mean) / (rounds - 1))
		want := ChanceCV(int32(n), effectiveOf(weights))
		if math.Abs(mean-want*want) > 5*se+1e-12 {
			t.Errorf("seed %d: %d keys over %d partitions: mean CV^2 %v (standard error %.2g), closed form %v", seed, keys, n, mean, se, want*want)
		}
	}
}
