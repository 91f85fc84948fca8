package skew

import (
	"math"
	"slices"
)

// fewWeight is a weight that few keys of a large topic exceed.
const fewWeight = 1 << 16

// allKeys is the weights of all keys. Most have one of few weights and are only counted.
type allKeys struct {
	light [fewWeight]uint32 // keys by weight
	heavy []int64
}

// add counts a key. Weights are not negative.
func (a *allKeys) add(weight int64) {
	if weight < fewWeight {
		a.light[weight]++
		return
	}
	a.heavy = append(a.heavy, weight)
}

// measures are those of [KeyMeasures], exact. m keys of weight x that follow n lighter ones add m n + m^2/2 times x to the
// sum of weights by rank, each rank taken in its middle.
func (a *allKeys) measures() KeyMeasures {
	var n, total, squares, logs, ranked float64
	add := func(x, m float64) {
		total += m * x
		squares += m * x * x
		logs += m * xlog(x)
		ranked += x * m * (n + m/2)
		n += m
	}
	for weight, keys := range a.light {
		if keys > 0 {
			add(float64(weight), float64(keys))
		}
	}
	slices.Sort(a.heavy)
	for _, weight := range a.heavy {
		add(float64(weight), 1)
	}
	if total <= 0 {
		return untold()
	}
	exact := func(x float64) Figure { return Figure{Est: x, Lo: x, Hi: x} }
	return KeyMeasures{
		Gini:      exact(min(1, max(0, 2*ranked/(n*total)-1))), // not below 0 by rounding where all weights are equal
		Effective: exact(max(1, total*total/squares)),
		Entropy:   exact(max(1, math.Exp(math.Log(total)-logs/total))),
	}
}
