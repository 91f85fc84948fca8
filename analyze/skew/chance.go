package skew

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Chance is what hashing alone would do to the loads: the distribution of PAR when the same keys are placed at random,
// as a good hash does.
//
// Where not every key was counted, Most is what the keys can give at most, and OnlyMost that no more is known: the
// figures are then those of Most. Otherwise Most equals the figures.
type Chance struct {
	Rounds int
	Spread
	Most     Spread
	OnlyMost bool
}

// Spread is how uneven random placements are. All three rise with the sum of the keys' squared weights.
type Spread struct {
	Median float64 // of PAR
	P95    float64
	P      float64 // share of rounds whose PAR is at least the observed one; (hits+1)/(Rounds+1), never 0
}

// Keys is a set of key weights for the chance model: the heaviest one by one, the rest by its moments.
type Keys struct {
	Heavy       []float64 // heaviest first
	Rest        float64   // total weight of the others
	RestSquares float64   // sum of their squared weights; an estimate where not every key was counted
	// MostSquares is what RestSquares can be at most; less than it, such as 0, says that RestSquares is certain.
	// OnlyMost says that RestSquares is that limit and no estimate.
	MostSquares float64
	OnlyMost    bool
}

// placedSingly is how many of the heaviest keys a round places one by one. The others together act as one normal
// variable per partition: with 2,000 keys taken out, no one of the rest is visible by itself.
const placedSingly = 2000

// NewKeys splits weights into those placed singly and the moments of the rest. It reorders weights.
func NewKeys(weights []float64) Keys {
	slices.SortFunc(weights, func(a, b float64) int {
		switch {
		case a > b:
			return -1
		case a < b:
			return 1
		}
		return 0
	})
	heavy := min(len(weights), placedSingly)
	k := Keys{Heavy: weights[:heavy]}
	for _, w := range weights[heavy:] {
		k.Rest += w
		k.RestSquares += w * w
	}
	return k
}

// Total is the weight of all keys.
func (k Keys) Total() float64 {
	t := k.Rest
	for _, w := range k.Heavy {
		t += w
	}
	return t
}

// Effective is the effective number of keys, (sum w)^2 / sum w^2 (inverse Simpson).
func (k Keys) Effective() float64 {
	squares := k.RestSquares
	for _, w := range k.Heavy {
		squares += w * w
	}
	if squares == 0 {
		return 0
	}
	t := k.Total()
	return t * t / squares
}

// without returns the keys less the n heaviest, or less all heavy ones where they are fewer.
func (k Keys) without(n int) Keys {
	k.Heavy = k.Heavy[min(n, len(k.Heavy)):]
	return k
}

// chanceRounds bounds the rounds; chanceWork the cells drawn over all rounds, so that a topic of thousands of
// partitions does not take minutes. A verdict at p < 0.002 needs a thousand rounds.
const (
	chanceRounds = 2000
	leastRounds  = 1000
	chanceWork   = 20_000_000
)

// ByChance rehashes keys over n partitions and tells how often PAR reaches observed. The model places the 2,000
// heaviest keys at random one by one and gives each partition a centred normal share of the rest with variance
// sum w^2 (n-1)/n^2, made to sum to zero. Against rehashing every key it is within Monte-Carlo noise.
// It uses a fixed seed: the same keys give the same answer. Cost: 1,000 to 2,000 rounds of min(keys, 2000) + n steps, twice
// where MostSquares is the larger.
//
// Source: balls into bins, Raab and Steger, RANDOM'98; the normal limit of the light keys is the multivariate central
// limit theorem for multinomial counts.
func ByChance(k Keys, n int32, observed float64) Chance {
	total := k.Total()
	if n < 1 || total <= 0 {
		return Chance{}
	}
	c := byChance(k, n, observed)
	if c.OnlyMost = k.OnlyMost; k.MostSquares > k.RestSquares {
		k.RestSquares = k.MostSquares
		most := byChance(k, n, observed)
		c.Most = Spread{max(c.Median, most.Median), max(c.P95, most.P95), max(c.P, most.P)} // above the noise of the rounds
	}
	return c
}

// byChance is ByChance for one sum of squares. The same keys but for that sum are placed alike.
func byChance(k Keys, n int32, observed float64) Chance {
	total := k.Total()
	rounds := max(leastRounds, min(chanceRounds, chanceWork/(int(n)+len(k.Heavy))))
	src := rand.NewPCG(0x6b657973, 0x70726561) // "keys", "prea": any fixed seed will do
	rng := rand.New(src)
	mean := total / float64(n)
	sigma := math.Sqrt(k.RestSquares / float64(n))
	loads := make([]float64, n)
	pars := make([]float64, rounds)
	hits := 0
	for r := range pars {
		rest := k.Rest / float64(n)
		if sigma > 0 {
			var sum float64
			for i := range loads {
				loads[i] = sigma * rng.NormFloat64()
				sum += loads[i]
			}
			rest -= sum / float64(n) // centred: the rest sums to its own weight in every round
		} else {
			clear(loads)
		}
		for i := range loads {
			loads[i] += rest
		}
		scatter(src, k.Heavy, loads)
		pars[r] = slices.Max(loads) / mean
		// An observed PAR equal to a simulated one up to rounding counts as reached.
		if pars[r] >= observed*(1-1e-12) {
			hits++
		}
	}
	slices.Sort(pars)
	spread := Spread{
		Median: pars[rounds/2],
		P95:    pars[rounds*95/100],
		P:      float64(hits+1) / float64(rounds+1),
	}
	return Chance{Rounds: rounds, Spread: spread, Most: spread}
}

// scatter adds each weight to one of the loads, at random. One draw of 64 bits places two weights, as a run draws millions:
// each half is scaled to the number of loads by a multiplication, which makes some of n loads likelier by n/2^32 at most.
func scatter(src *rand.PCG, weights, loads []float64) {
	n := uint64(len(loads))
	for len(weights) > 1 {
		draw := src.Uint64()
		loads[draw>>32*n>>32] += weights[0]
		loads[draw&math.MaxUint32*n>>32] += weights[1]
		weights = weights[2:]
	}
	if len(weights) > 0 {
		loads[src.Uint64()>>32*n>>32] += weights[0]
	}
}
