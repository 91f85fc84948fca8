package plan

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"keyspread/partitioner"
)

// The moved share of records is 1 - gcd/max of the counts on average, whatever the keys weigh: over random keys, random
// weights and random counts, the share that murmur2 moves differs from the formula q by noise of the standard deviation
// sqrt(q (1-q) / K_eff), K_eff = 1/sum w^2. Of 200 settings the mean square of what it differs by, in these units, is 1
// within 5 of its standard errors, and the mean is 0.
func TestModuloMovedOverRandomWeights(t *testing.T) {
	pt, err := partitioner.Parse("murmur2")
	if err != nil {
		t.Fatal(err)
	}
	const settings = 200
	var sum, squares float64
	for seed := range uint64(settings) {
		rng := rand.New(rand.NewPCG(seed, 43))
		counts := []int32{1 + rng.Int32N(60), 1 + rng.Int32N(60)}
		if counts[0] == counts[1] {
			counts[1]++
		}
		tail := -1.2 * rng.Float64() // from equal weights to a heavy tail
		var all, moved, square float64
		out := make([]int32, 2)
		for range 500 + rng.IntN(3000) {
			key := binary.BigEndian.AppendUint64(nil, rng.Uint64())
			if _, err := pt.Place(key, counts, out); err != nil {
				t.Fatal(err)
			}
			w := math.Pow(rng.Float64()+0.01, tail)
			all, square = all+w, square+w*w
			if out[0] != out[1] {
				moved += w
			}
		}
		q := ModuloMoved(counts[0], counts[1])
		z := (moved/all - q) / math.Sqrt(q*(1-q)*square/(all*all))
		if math.Abs(z) > 5 {
			t.Errorf("seed %d, %v partitions: %.4f of the weight moves, the formula says %.4f, %.1f standard deviations off", seed, counts, moved/all, q, z)
		}
		sum, squares = sum+z, squares+z*z
	}
	if mean, square := sum/settings, squares/settings; math.Abs(mean) > 5/math.Sqrt(settings) || math.Abs(square-1) > 5*math.Sqrt(2.0/settings) {
		t.Errorf("over %d settings the mean is %.3f and the mean square %.3f standard deviations, want 0 and 1", settings, mean, square)
	}
}
