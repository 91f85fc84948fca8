package synthetic

import (
	"math"
	"math/rand/v2"
)

// zipf draws ranks 1..n with chances proportional to k^-s, for any s >= 0:
//
//	P(k) = k^-s / sum(j^-s, j = 1..n)
//
// It inverts the integral H of the hat function x^-s and rejects what lies above the staircase; no table, and fewer than
// 1.2 draws a rank whatever s and n are. math/rand/v2 has the same method for s > 1 only.
//
// Source: W. Hörmann, G. Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions",
// ACM TOMACS 6 (1996), algorithm for the Zipf distribution.
type zipf struct {
	n        int64
	s        float64
	fromH    float64 // H(3/2) - h(1): the end of the area that belongs to rank 1
	toH      float64 // H(n + 1/2)
	squeezed float64 // k - x up to this lies under the staircase for sure
}

func newZipf(n int64, s float64) zipf {
	z := zipf{n: n, s: s}
	z.fromH = z.area(1.5) - 1
	z.toH = z.area(float64(n) + 0.5)
	z.squeezed = 2 - z.areaInverse(z.area(2.5)-z.height(2))
	return z
}

// rank draws one rank in [1, n].
func (z *zipf) rank(r *rand.Rand) int64 {
	if z.s == 0 {
		return 1 + r.Int64N(z.n)
	}
	for {
		u := z.toH + r.Float64()*(z.fromH-z.toH)
		x := z.areaInverse(u)
		k := min(max(math.Floor(x+0.5), 1), float64(z.n)) // rounding may lead half a step outside
		if k-x <= z.squeezed || u >= z.area(k+0.5)-z.height(k) {
			return int64(k)
		}
	}
}

// height is the hat function h(x) = x^-s.
func (z *zipf) height(x float64) float64 { return math.Exp(-z.s * math.Log(x)) }

// area is H(x), an antiderivative of h with H(1) = 0: (x^(1-s) - 1)/(1-s), and log x at s = 1.
func (z *zipf) area(x float64) float64 {
	l := math.Log(x)
	return l * expm1Ratio((1-z.s)*l)
}

// areaInverse is the x at which H(x) = a.
func (z *zipf) areaInverse(a float64) float64 {
	t := max(a*(1-z.s), -1) // H stays below 1/(s-1) for s > 1; rounding must not step over it
	return math.Exp(a * log1pRatio(t))
}

// expm1Ratio is (e^x - 1)/x, 1 at 0; the series keeps its digits near 0, that is for s near 1.
func expm1Ratio(x float64) float64 {
	if math.Abs(x) > 1e-8 {
		return math.Expm1(x) / x
	}
	return 1 + x/2*(1+x/3)
}

// log1pRatio is log(1+x)/x, 1 at 0.
func log1pRatio(x float64) float64 {
	if math.Abs(x) > 1e-8 {
		return math.Log1p(x) / x
	}
	return 1 - x/2*(1-2*x/3)
}
