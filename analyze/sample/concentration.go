package sample

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"keyspread/analyze/profile"
)

// Concentration is the sum of squared shares of the keys in the weight of keyed records, estimated from blocks. Its
// inverse is the effective number of keys.
type Concentration struct {
	Share  float64 // the sum; 0 when the blocks have nothing in common
	Lo, Hi float64 // its interval; Lo is 0 and Hi is 1 when not known
	SE     float64 // standard error by blocks within strata
	Known  bool    // false: too few records of one key in several blocks to tell it
}

// piece is what one block holds of one key.
type piece struct {
	key *keySums
	y   [2]float64 // by unit
}

// block is what one sampled block holds of its keys.
type block struct {
	from, to int        // of the cell's pieces
	keyed    [2]float64 // weight of its records with a key
}

// leastSurely is the relative standard error beyond which a concentration has no estimate, only a limit.
const leastSurely = 0.5

// concentration estimates the sum of squared shares without the sample's own noise: by the records of one key in
// different blocks, as those of one block come in bursts. With y_pi of key k in block i of partition p, of which m of M
// blocks were drawn, g = M/m and c = M(M-1)/(m(m-1)),
//
//	A = sum_k [ sum_p!=q g_p g_q y_p y_q + sum_p (c_p sum_i!=j y_pi y_pj + g_p sum_i y_pi^2) ]
//
// is unbiased for the sum of squared weights, B is the same with all keys taken for one, and the estimate is A/B. Its
// variance is that of the blocks' influences Z_i = dA_i - (A/B) dB_i between blocks within partitions (the infinitesimal
// jackknife); it is too large rather than too small where keys are so light that A is all pairs by chance. Partitions
// of few blocks are taken together, since a pair of blocks has the same part in their pair. The interval is taken on the
// logarithmic scale. Call it when no block is open.
//
// Cost: a map entry a key and partition, and three passes over the keys of the blocks.
//
// Source: Sarndal, Swensson, Wretman, Model Assisted Survey Sampling, 1992, ch. 2 (unbiased quadratic forms); Efron and
// Stein, Annals of Statistics 9 (1981), on the bias of the jackknife; Hansen, Hurwitz, Madow, 1953, on collapsed strata.
func (c *Collector) concentration(alpha float64) (out [2]Concentration) {
	out = untold()
	// What a key has over all partitions, expanded, held by its first entry.
	first := map[string]*keySums{}
	for i := range c.frame.partitions {
		pf := &c.frame.partitions[i]
		if m := len(pf.drawn); m < 2 && int64(m) < pf.blocks {
			return out // a read that was cut short
		}
		g := float64(pf.blocks) / float64(len(pf.drawn))
		for key, k := range c.cells[pf.id].keys {
			owner := first[key]
			if owner == nil {
				owner = k
				first[key] = k
				k.expanded = [2]float64{}
			}
			k.owner = owner
			for u, y := range k.y {
				owner.expanded[u] += g * y
			}
		}
	}
	for u := range out {
		out[u] = c.concentrated(profile.Unit(u), alpha)
	}
	return out
}

// untold are concentrations of which nothing is known.
func untold() [2]Concentration { return [2]Concentration{{Hi: 1}, {Hi: 1}} }

// influences are the parts of the sampled blocks of one partition, or of several small ones, in A and B.
type influences struct {
	a, b []float64
	left float64 // share of blocks not drawn
}

func (c *Collector) concentrated(u profile.Unit, alpha float64) Concentration {
	var keyed float64 // expanded
	for i := range c.frame.partitions {
		ce := c.cells[c.frame.partitions[i].id]
		keyed += ce.frame.expansion() * ce.keyed(u)
	}
	var sumA, sumB, df float64
	var all []influences
	var small influences
	for i := range c.frame.partitions {
		ce := c.cells[c.frame.partitions[i].id]
		m, blocks := float64(len(ce.frame.drawn)), float64(ce.frame.blocks)
		if m == 0 {
			continue
		}
		g, pairs := blocks/m, 0.0
		if m > 1 {
			pairs = blocks * (blocks - 1) / (m * (m - 1))
		}
		sumInPartition := ce.keyed(u)
		in := influences{left: 1 - m/blocks}
		for _, b := range ce.blocks {
			var cross, own, squares float64
			for _, p := range ce.pieces[b.from:b.to] {
				y := p.y[u]
				cross += y * (p.key.owner.expanded[u] - g*p.key.y[u])
				own += y * p.key.y[u]
				squares += y * y
			}
			n := b.keyed[u]
			a := g*cross + pairs*(own-squares) + g*squares
			whole := g*n*(keyed-g*sumInPartition) + pairs*n*(sumInPartition-n) + g*n*n
			sumA, sumB = sumA+a, sumB+whole
			// As derivatives: a pair counts for both of its blocks.
			in.a = append(in.a, 2*a-g*squares)
			in.b = append(in.b, 2*whole-g*n*n)
		}
		for range int(m) - len(ce.blocks) { // blocks without a record
			in.a, in.b = append(in.a, 0), append(in.b, 0)
		}
		if len(in.a) < fewInStratum && in.left > 0 {
			small.left = math.Max(small.left, in.left)
			small.a, small.b = append(small.a, in.a...), append(small.b, in.b...)
			continue
		}
		all = append(all, in)
	}
	if sumB <= 0 {
		return Concentration{Hi: 1}
	}
	s := sumA / sumB
	var variance float64
	for _, in := range append(all, small) {
		m := float64(len(in.a))
		if m < 2 || in.left == 0 {
			continue
		}
		var sum, squares float64
		for i := range in.a {
			z := in.a[i] - s*in.b[i]
			sum += z
			squares += z * z
		}
		variance += in.left * m / (m - 1) * math.Max(0, squares-sum*sum/m)
		df += m - 1
	}
	return concentrationOf(s, math.Sqrt(variance)/sumB, df, alpha)
}

// fewInStratum is the number of blocks below which a partition tells no variance of pairs by itself.
const fewInStratum = 4

// concentrationOf puts limits around an estimate. df of 0 is a census.
func concentrationOf(s, se, df, alpha float64) Concentration {
	if df == 0 {
		return Concentration{Share: s, Lo: s, Hi: s, Known: s > 0}
	}
	t := distuv.StudentsT{Sigma: 1, Nu: df}.Quantile(1 - alpha/2)
	c := Concentration{Share: math.Max(0, s), SE: se, Hi: 1}
	switch {
	case s <= 0 && se == 0: // no key in two blocks: keys are light, but how light?
	case se > leastSurely*s:
		c.Hi = math.Min(1, math.Max(0, s)+t*se)
	default:
		by := math.Exp(t * se / s)
		c.Known, c.Lo, c.Hi = true, s/by, math.Min(1, s*by)
	}
	return c
}

// expansion is how many blocks one sampled block of the partition stands for; 0 when none was drawn.
func (pf *partitionFrame) expansion() float64 {
	if len(pf.drawn) == 0 {
		return 0
	}
	return float64(pf.blocks) / float64(len(pf.drawn))
}

// keyed is the weight of the cell's records with a key, of closed blocks.
func (ce *cell) keyed(u profile.Unit) float64 { return ce.size.y[u] - ce.null.y[u] }
