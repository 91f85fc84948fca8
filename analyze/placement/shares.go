package placement

import (
	"keyspread/analyze/sample"
)

// Share is a part of the keyed records, or of the placements, with limits. In a full read of exact counts Lo and Hi
// are what can be said for certain; where keys were sampled they are 95 % limits over keys.
type Share struct{ Share, Lo, Hi float64 }

// Shares is a Share by both units.
type Shares struct {
	Keys    Share // of placements: one key in one partition
	Records Share // of keyed records
}

// alpha is the error of intervals over sampled keys.
const alpha = 0.05

// sharesOf returns the share of the pairs for which in holds.
func (ev *evidence) sharesOf(in func(i int) bool) Shares {
	var keys, squares float64
	var rest, restSquares, restIn, restInSquares, heavyIn float64
	var sampled int64
	for i := range ev.pairs {
		p := &ev.pairs[i]
		r, hit := float64(p.records), in(i)
		if p.ranked && hit {
			keys++
		}
		switch {
		case p.heavy:
			if hit {
				heavyIn += r
			}
		case p.ranked:
			sampled++
			rest += r
			restSquares += r * r
			if hit {
				restIn += r
				restInSquares += r * r
			}
		}
	}
	squares = keys
	n := float64(ev.ranked)
	of := func(e sample.Estimate) Share { return Share{e.Share, e.Lo, e.Hi} }
	var s Shares
	if ev.ranked > 0 {
		st := sample.Stratum{Blocks: ev.population, Sampled: int64(ev.ranked), Size: n, Squares: n}
		s.Keys = of(sample.NewEstimator([]sample.Stratum{st}, n, alpha).Share([]sample.Part{{Sum: keys, Squares: squares, Cross: keys}}))
	}
	e := Share{}
	if sampled > 0 {
		st := sample.Stratum{Blocks: ev.population, Sampled: sampled, Size: rest, Squares: restSquares}
		if ev.all {
			st.Blocks = sampled
		}
		e = of(sample.NewEstimator([]sample.Stratum{st}, float64(sampled), alpha).
			Share([]sample.Part{{Sum: restIn, Squares: restInSquares, Cross: restInSquares}}))
	}
	if ev.records > 0 {
		total := float64(ev.records)
		whole := func(share float64) float64 { return min(1, (heavyIn+share*(total-float64(ev.heavy)))/total) }
		s.Records = Share{whole(e.Share), whole(e.Lo), whole(e.Hi)}
	}
	return s
}

// mixing estimates how much each writer wrote, in placements and in records, by the weights under which the pairs are
// most likely: a pair is e^0 likely from a writer that puts it where it is, 1/n from anything else. The last weight
// is that of the rest, which no writer explains.
//
// It is the EM algorithm of a mixture (Dempster, Laird and Rubin 1977) over the 2^writers sets of writers that can
// explain a pair, at most 1000 rounds.
func (d *detector) mixing() (keys, records []float64) {
	type cell struct{ keys, records float64 }
	cells := map[int]cell{}
	var masks []int
	ev := d.ev
	factor := ev.restFactor()
	for i := range ev.pairs {
		p := &ev.pairs[i]
		mask := 0
		for w := range d.writers {
			if d.writers[w].match[i] {
				mask |= 1 << w
			}
		}
		c, seen := cells[mask]
		if !seen {
			masks = append(masks, mask)
		}
		if p.ranked {
			c.keys++
		}
		if p.heavy {
			c.records += float64(p.records)
		} else {
			c.records += factor * float64(p.records)
		}
		cells[mask] = c
	}
	solve := func(of func(cell) float64) []float64 {
		k := len(d.writers) + 1
		w := make([]float64, k)
		for i := range w {
			w[i] = 1 / float64(k)
		}
		if of(cells[0]) == 0 {
			w[k-1] = 0 // where the rounds lead, but never arrive
		}
		next := make([]float64, k)
		for range 1000 {
			clear(next)
			sum, moved := 0.0, 0.0
			for _, mask := range masks {
				n := of(cells[mask])
				rest := w[k-1] / float64(ev.n)
				all := rest
				for i := range k - 1 {
					if mask>>i&1 == 1 {
						all += w[i]
					}
				}
				if n == 0 || all == 0 {
					continue
				}
				sum += n
				next[k-1] += n * rest / all
				for i := range k - 1 {
					if mask>>i&1 == 1 {
						next[i] += n * w[i] / all
					}
				}
			}
			if sum == 0 {
				break
			}
			for i := range w {
				was := w[i]
				w[i] = next[i] / sum
				moved = max(moved, w[i]-was, was-w[i])
			}
			if moved < 1e-9 {
				break
			}
		}
		return w
	}
	return solve(func(c cell) float64 { return c.keys }), solve(func(c cell) float64 { return c.records })
}

// restFactor is how many records of the topic one record of a pair outside the heaviest keys stands for.
func (ev *evidence) restFactor() float64 {
	var sampled int64
	for i := range ev.pairs {
		if !ev.pairs[i].heavy {
			sampled += ev.pairs[i].records
		}
	}
	if sampled == 0 {
		return 0
	}
	return float64(ev.records-ev.heavy) / float64(sampled)
}
