package placement

import (
	"cmp"
	"math"
	"slices"

	"keyspread/analyze/internal/parallel"
	"keyspread/partitioner"
)

// Prior odds of what wrote a placement. They matter for few keys only: each further key counts as log(n).
const (
	priorChance = 0.3 // no known partitioner
	priorPast   = 0.1 // a hypothesis of another count than today's, all smaller counts together
	priorPart   = 0.1 // one over a part of the key, where keys have such a part
)

// How many counts are tried: every one up to allCounts partitions; of a larger topic, those up to manyCounts, the
// divisors of its count, and the count itself.
const (
	allCounts  = 2048
	manyCounts = 1024
)

// constantClass is the class that has no hash; whether all keys share a partition is judged by itself.
const constantClass = "constant-0"

// crowdedClass sums digest bytes: its most likely value, of standard deviation sqrt(16*(256^2-1)/12) = 295.6, has the
// probability 1/(295.6*sqrt(2*pi)) = 1/741, however many partitions there are.
const (
	crowdedClass = "md5sum"
	crowdedMost  = 741
)

// placer is a partitioner to compare with.
type placer struct {
	id     string
	pt     partitioner.Partitioner
	prior  float64 // among all placers; sum 1
	maxLog float64 // most evidence that one match is worth
	past   bool    // smaller counts are tried too
}

// placersOf returns every class but the constant one, and the further partitioners. A class's prior grows with the
// number of clients that use it.
func placersOf(further []partitioner.Partitioner) []placer {
	var ps []placer
	sum := 0.0
	for _, c := range partitioner.Classes() {
		if c.ID == constantClass {
			continue
		}
		p := placer{id: c.ID, pt: c.Partitioner(), prior: 1 + float64(len(c.Clients)), maxLog: math.Inf(1), past: true}
		if c.ID == crowdedClass {
			p.maxLog = math.Log(crowdedMost)
		}
		ps = append(ps, p)
		sum += p.prior
	}
	for _, pt := range further {
		if pt != nil && !slices.ContainsFunc(ps, func(p placer) bool { return p.id == pt.ID() }) {
			ps = append(ps, placer{id: pt.ID(), pt: pt, prior: ps[0].prior, maxLog: math.Inf(1)})
			sum += ps[0].prior
		}
	}
	for i := range ps {
		ps[i].prior /= sum
	}
	return ps
}

// hypothesis is a partitioner under a count, over a part of the key.
type hypothesis struct {
	placer int // index into the detector's placers; -1: the fixed partition
	over   Over
	n      int32
	fixed  int32 // of placer -1
}

// scored is a hypothesis with what a set of pairs says of it.
type scored struct {
	hypothesis
	hits  int
	pairs int     // it was weighed on
	gain  float64 // log likelihood over chance, at the best weight, less the price of that weight
	score float64 // gain + log prior
}

// countsOf lists the counts to try for a topic of n partitions, ascending; n last.
func countsOf(n int32) []int32 {
	var counts []int32
	for m := int32(2); m < n; m++ {
		if n <= allCounts || m <= manyCounts || n%m == 0 {
			counts = append(counts, m)
		}
	}
	if n > 1 {
		counts = append(counts, n)
	}
	return counts
}

// cells bounds the work of one search: pairs times placers times counts.
const cells = 8 << 20

// Least and most pairs of a search.
const (
	leastPairs = 256
	mostPairs  = 4096
)

// How many of a search's hypotheses are weighed again, and on how many pairs, when none was enough.
const (
	confirmed    = 16
	confirmPairs = 1 << 16
)

// searchPairs is how many pairs a search looks at.
func (d *detector) searchPairs() int {
	per := len(d.placers) * len(d.overs) * len(d.counts)
	return min(mostPairs, max(leastPairs, cells/max(1, per)))
}

// search weighs every hypothesis against chance on the given pairs, best first. Hypotheses without a gain are left out.
//
// A pair that agrees with a hypothesis of m partitions is worth log(1/q), q the probability that an unrelated placement
// agrees: 1/m, or what the pair's partition holds of all pairs when that is more. So neither crowded partitions nor
// hashes that crowd make evidence out of nothing.
func (d *detector) search(pairs []pair) []scored {
	if len(pairs) == 0 {
		return nil
	}
	logObserved := d.logObserved(pairs)
	found := make([][]scored, len(d.placers))
	parallel.Each(len(d.placers), func(i int) {
		for _, over := range d.overs {
			found[i] = append(found[i], d.weigh(i, over, pairs, logObserved)...)
		}
	})
	all := slices.Concat(found...)
	slices.SortStableFunc(all, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	return all
}

// logObserved returns for each partition minus the log of its share of the pairs, as if the partitions that were not
// read held as many.
func (d *detector) logObserved(pairs []pair) []float64 {
	in := make([]float64, d.ev.n)
	for i := range pairs {
		in[pairs[i].partition]++
	}
	read := float64(d.ev.partitions)
	scale := read / float64(d.ev.n) / (float64(len(pairs)) + read)
	for p := range in {
		in[p] = -math.Log((in[p] + 1) * scale)
	}
	return in
}

// weigh scores one placer under all counts.
func (d *detector) weigh(at int, over Over, pairs []pair, logObserved []float64) []scored {
	pl := &d.placers[at]
	counts := d.counts
	if !pl.past {
		if over != WholeKey {
			return nil
		}
		return d.weighOne(nil, hypothesis{placer: at, over: over, n: d.ev.n}, pairs, logObserved)
	}
	hits := make([]int, len(counts))
	worth := make([]float64, len(counts))
	logs := make([]float64, len(counts))
	for i, m := range counts {
		logs[i] = min(math.Log(float64(m)), pl.maxLog)
	}
	out := make([]int32, len(counts))
	for i := range pairs {
		p := &pairs[i]
		key, ok := over.Of(p.key)
		if !ok {
			continue
		}
		from, _ := slices.BinarySearch(counts, p.partition+1) // fewer partitions do not have this one
		if from == len(counts) || !place(pl.pt, key, counts[from:], out[from:]) {
			continue
		}
		for j := from; j < len(counts); j++ {
			if out[j] == p.partition {
				hits[j]++
				worth[j] += min(logs[j], logObserved[p.partition])
			}
		}
	}
	var found []scored
	for j, m := range counts {
		found = d.scored(found, hypothesis{placer: at, over: over, n: m}, hits[j], len(pairs), worth[j])
	}
	return found
}

// weighOne appends to found the score of one hypothesis, whose keys are placed many at a time.
func (d *detector) weighOne(found []scored, h hypothesis, pairs []pair, logObserved []float64) []scored {
	most := min(math.Log(float64(h.n)), d.placers[h.placer].maxLog)
	hits, worth := 0, 0.0
	for i, p := range d.predict(h, pairs) {
		if p == pairs[i].partition {
			hits++
			worth += min(most, logObserved[p])
		}
	}
	return d.scored(found, h, hits, len(pairs), worth)
}

// scored appends a hypothesis to found when it has a gain; see gainOf.
func (d *detector) scored(found []scored, h hypothesis, hits, pairs int, worth float64) []scored {
	gain := gainOf(hits, pairs, worth)
	if gain <= 0 {
		return found
	}
	return append(found, scored{h, hits, pairs, gain, gain + math.Log(d.prior(h))})
}

// weighAgain scores the given hypotheses on other pairs than they were found by, best first.
func (d *detector) weighAgain(found []scored, pairs []pair) []scored {
	logObserved := d.logObserved(pairs)
	var again []scored
	for _, s := range found {
		again = d.weighOne(again, s.hypothesis, pairs, logObserved)
	}
	slices.SortStableFunc(again, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	return again
}

// gainOf is the log likelihood ratio against chance of a writer that placed a share w of all pairs, at the w that fits
// best, less 1/2 log(all) for having chosen w. worth is the sum over the hits of log(1/q).
//
//	hits log(w/q + 1-w) + (all-hits) log(1-w),  q by the geometric mean, which never gives more than the sum would
func gainOf(hits, all int, worth float64) float64 {
	if hits == 0 || worth <= 0 {
		return 0
	}
	odds := math.Exp(worth / float64(hits)) // 1/q
	share := float64(hits) / float64(all)
	w := (share - 1/odds) / (1 - 1/odds)
	if w <= 0 {
		return 0
	}
	gain := float64(hits) * math.Log(w*odds+1-w)
	if miss := all - hits; miss > 0 {
		gain += float64(miss) * math.Log(1-w)
	}
	return gain - math.Log(float64(all))/2
}

// prior is the probability of a hypothesis before any key was seen.
func (d *detector) prior(h hypothesis) float64 {
	p := 1 - priorChance
	if h.placer >= 0 {
		p *= d.placers[h.placer].prior
	}
	if parts := len(d.overs) - 1; parts > 0 {
		if h.over == WholeKey {
			p *= 1 - priorPart
		} else {
			p *= priorPart / float64(parts)
		}
	}
	if past := len(d.counts) - 1; past > 0 && h.placer >= 0 {
		if h.n == d.ev.n {
			p *= 1 - priorPast
		} else {
			p *= priorPast / float64(past)
		}
	}
	return p
}

// place writes the partitions of a key, -1 where there is none; false when there is none at all.
func place(pt partitioner.Partitioner, key []byte, counts, out []int32) bool {
	keyed, err := pt.Place(key, counts, out)
	return keyed && (err == nil || partitioner.Unplaced(err))
}

// predict returns the partition of each pair's key under a hypothesis, -1 where it has none.
func (d *detector) predict(h hypothesis, pairs []pair) []int32 {
	out := make([]int32, len(pairs))
	if h.placer < 0 {
		for i := range out {
			out[i] = h.fixed
		}
		return out
	}
	pt := d.placers[h.placer].pt
	parallel.Each((len(pairs)+chunk-1)/chunk, func(c int) {
		from, to := c*chunk, min((c+1)*chunk, len(pairs))
		placeAll(pt, h, pairs[from:to], out[from:to])
	})
	return out
}

// chunk is how many keys a partitioner is asked for at a time.
const chunk = 8192

// placeAll writes the partitions of the pairs' keys under a hypothesis, -1 where it has none and, when the partitioner
// fails, everywhere.
func placeAll(pt partitioner.Partitioner, h hypothesis, pairs []pair, out []int32) {
	keys := make([][]byte, len(pairs))
	for i := range pairs {
		keys[i], _ = h.over.Of(pairs[i].key)
	}
	failed := partitioner.PlaceAll(pt, keys, []int32{h.n}, out, make([]bool, len(keys))) != nil
	for i := range out {
		if failed || keys[i] == nil { // no part to hash; a pair's key is never null
			out[i] = -1
		}
	}
}
