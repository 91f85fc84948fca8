package synthetic

import (
	"math"
	"time"
)

// clock gives the i-th of n records its time: record i stands where the share (i + 1/2)/n of the rate's area lies.
// The rate is held constant over small steps. Records must be asked for in order.
type clock struct {
	start  int64     // ms
	step   float64   // ms
	before []float64 // share of the records that come before step j; before[len-1] is 1
	at     int       // step of the last record
	last   int64
}

func newClock(c Config) clock {
	steps := 1
	if c.Rate != RateFlat {
		// Five minutes each, so that a day's curve is smooth; a multiple of 50, so that a burst has whole steps.
		steps = 50 * min(max(int(c.Duration/(250*time.Minute)), 20), 20_000)
	}
	k := clock{
		start:  c.Start,
		step:   float64(c.Duration.Milliseconds()) / float64(steps),
		before: make([]float64, steps+1),
		last:   c.Start,
	}
	sum := 0.0
	for j := range steps {
		k.before[j] = sum
		sum += rateAt(c, (float64(j)+0.5)*k.step, (float64(j)+0.5)/float64(steps))
	}
	for j := range steps {
		k.before[j] /= sum
	}
	k.before[steps] = 1
	return k
}

// rateAt is the rate, in any unit, ms after the start, which is the share u of the stream's time.
func rateAt(c Config, ms, u float64) float64 {
	switch c.Rate {
	case RateDaily:
		const hour = 3_600_000
		h := math.Mod((float64(c.Start)+ms)/hour, 24)
		return 1 - 0.75*math.Cos(2*math.Pi*(h-3)/24)
	case RateBurst:
		if u > 0.49 && u < 0.51 {
			return 20
		}
	}
	return 1
}

// time returns the time of record i of n in milliseconds, at or after that of record i-1.
func (k *clock) time(i, n int64) int64 {
	share := (float64(i) + 0.5) / float64(n)
	for share >= k.before[k.at+1] && k.at+2 < len(k.before) {
		k.at++
	}
	lo, hi := k.before[k.at], k.before[k.at+1]
	within := (share - lo) / (hi - lo)
	k.last = max(k.last, k.start+int64(k.step*(float64(k.at)+within)))
	return k.last
}
