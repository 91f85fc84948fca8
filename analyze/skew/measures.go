package skew

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// Measure computes the measures of loads, one entry a partition, none negative; Hottest is an index into loads.
// The formulas are those of [Measures]; sums are compensated and taken in a fixed order, so that the figures do not
// depend on the machine. It costs O(n log n) time and O(n) memory.
//
// Source: Gini and Hill numbers as in Hill, "Diversity and evenness", Ecology 54 (1973), and Jost, "Entropy and
// diversity", Oikos 113 (2006); PAR is the peak-to-average ratio of load balancing.
func Measure(loads []float64) Measures {
	n := float64(len(loads))
	total := floats.SumCompensated(loads)
	if total <= 0 {
		return Measures{Hottest: -1}
	}
	hottest := floats.MaxIdx(loads)
	mean, variance := stat.PopMeanVariance(loads, nil)
	cv := math.Sqrt(variance) / mean

	ascending := slices.Clone(loads)
	slices.Sort(ascending)
	ranked := make([]float64, len(ascending))
	for j, x := range ascending {
		ranked[j] = (2*float64(j+1) - n - 1) * x
	}
	return Measures{
		PAR:                 loads[hottest] / mean,
		CV:                  cv,
		EffectivePartitions: n / (1 + cv*cv), // X^2 / sum x^2, since sum x^2 = n m^2 (1 + CV^2)
		Gini:                floats.SumCompensated(ranked) / (n * total),
		Hottest:             int32(hottest),
	}
}

// ChanceCV is the coefficient of variation of partition loads that hashing alone gives: sqrt((n-1)/K), where K is the
// effective number of keys 1/sum w_k^2 of their shares. It is exact in expectation of CV^2 for a uniform hash.
func ChanceCV(n int32, effectiveKeys float64) float64 {
	if effectiveKeys <= 0 {
		return 0
	}
	return math.Sqrt(float64(n-1) / effectiveKeys)
}

// Tau is the largest share one key may have before it is hot at n partitions: (r-1)/(n-1). A key with share w alone
// lifts its partition to 1 + (n-1)w of the mean when the rest is even, so above Tau it alone lifts it beyond r.
// It is +Inf for n = 1, where no key can skew anything.
func Tau(r float64, n int32) float64 {
	if n <= 1 {
		return math.Inf(1)
	}
	return (r - 1) / float64(n-1)
}
