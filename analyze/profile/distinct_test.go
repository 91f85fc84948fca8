package profile

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// Limits from a sample miss the number on either side with 2.5 % at most, by the binomial distribution itself, however few
// members the sample holds.
func TestSampledLimits(t *testing.T) {
	for _, theta := range []float64{0.5, 1. / 8, 1. / 32, 1. / 1024} {
		for _, n := range []float64{1, 5, 40, 212, 3000, 20_000, 400_000} {
			var below, above float64
			members := distuv.Binomial{N: n, P: theta}
			spread := 10 * (math.Sqrt(n*theta) + 1)
			for s := math.Floor(max(0, n*theta-spread)); s <= min(n, n*theta+spread); s++ {
				low, high := sampledLimits(s, theta)
				switch {
				case n > high*(1+1e-5):
					below += members.Prob(s)
				case n < low*(1-1e-5):
					above += members.Prob(s)
				}
			}
			most := 0.025
			if n*theta > exactLimits-100 {
				most = 0.03 // normal limits
			}
			if below > most || above > most {
				t.Errorf("%.0f with a sample of 1/%.0f: too low with %.4f, too high with %.4f", n, 1/theta, below, above)
			}
		}
	}
	if _, high := sampledLimits(0, 1./32); math.Abs(high-math.Log(0.025)/math.Log(31./32)) > 0.01 {
		t.Errorf("none of a sample of 1/32: at most %v", high)
	}
	if low, high := sampledLimits(7, 1); low != 7 || high != 7 {
		t.Errorf("7 of all: %v to %v", low, high)
	}
}

// An estimate beyond what is certain keeps its doubt: a bound is no count.
func TestWithin(t *testing.T) {
	for _, c := range []struct {
		x, low, high   float64
		floor, ceiling int64
		want           string
	}{
		{50, 40, 60, 0, 100, "50 40 60"},
		{50.4, 39.5, 60.5, 45, 100, "50 45 61"},
		{130, 110, 150, 0, 100, "100 80 100"},
		{130, 120, 170, 95, 100, "100 95 100"},
		{10, 5, 20, 50, 100, "50 50 60"},
		{10, 5, 20, 100, 100, "100 100 100"},
	} {
		n, lo, hi := within(c.x, c.low, c.high, c.floor, c.ceiling)
		if got := fmt.Sprint(n, lo, hi); got != c.want {
			t.Errorf("%v (%v to %v) in %d to %d: %s, want %s", c.x, c.low, c.high, c.floor, c.ceiling, got, c.want)
		}
	}
}

// A bucket of under a quarter of the mean one tells no share: 2 records where the mean is 8.75.
func TestPeakShareLeavesOutLightBuckets(t *testing.T) {
	series := []Bucket{{Lo: 5, Hi: 5, Total: 11}, {Total: 11}, {Total: 11}, {Lo: 2, Hi: 2, Total: 2}}
	if p, ok := PeakShare(series); !ok || p.Lo != 5./11 || p.Hi != 5./11 {
		t.Errorf("the peak is %+v, %v, want 5 of 11", p, ok)
	}
}
