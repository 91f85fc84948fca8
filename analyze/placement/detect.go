package placement

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"

	"keyspread/analyze/internal/parallel"
	"keyspread/partitioner"
)

const (
	// leastOdds is what a hypothesis must win over chance by, prior included, to be taken as a writer.
	leastOdds = 1000
	// mostWriters bounds how many writers are told apart.
	mostWriters = 6
	// trustedGain is the gain, in logs, above which two partitioners that place every key alike do so for a reason and
	// not because few keys were seen: a coincidence of probability e^-30.
	trustedGain = 30
	// gathered is the least share of the pairs left over that must be in one partition for a fixed partition.
	gathered = 0.95
)

// detector finds writers in evidence.
type detector struct {
	ev      *evidence
	placers []placer
	counts  []int32
	overs   []Over
	ascii   bool // all keys are ASCII text

	writers []writer
	rivals  []scored // of the least certain writer, or of chance when there is none
}

// writer is a hypothesis that was taken.
type writer struct {
	scored
	posterior float64 // of it and those alike
	alike     []int   // placers that give every pair's key the same partition
	unsure    bool    // some of them only because few keys were seen
	match     []bool  // by pair
}

func newDetector(ev *evidence, further []partitioner.Partitioner, overs []Over) *detector {
	d := &detector{
		ev: ev, placers: placersOf(further), counts: countsOf(ev.n), overs: append([]Over{WholeKey}, overs...), ascii: true,
	}
	for i := range ev.pairs {
		if !isASCII(ev.pairs[i].key) {
			d.ascii = false
			break
		}
	}
	return d
}

func isASCII(key []byte) bool {
	return !slices.ContainsFunc(key, func(b byte) bool { return b >= 0x80 })
}

// run takes writers one by one, each from the pairs that those before it do not explain, then weighs each again on the
// pairs that no other explains, so that no writer stands on the evidence of another.
func (d *detector) run() {
	if d.ev.n < 2 {
		return
	}
	for len(d.writers) < mostWriters {
		left, found := d.find(-1)
		if len(found) > 0 && enough(found[0]) {
			d.writers = append(d.writers, d.take(found[0]))
			continue
		}
		if fixed, ok := d.fixed(left); ok {
			d.writers = append(d.writers, d.take(fixed))
			continue
		}
		if len(d.writers) == 0 {
			d.rivals = found
		}
		break
	}
	for i := 0; i < len(d.writers); {
		if d.review(i) {
			i++
		} else {
			d.writers = slices.Delete(d.writers, i, i+1)
			i = 0
		}
	}
	d.dropFollowers()
}

// dropFollowers takes back the writers whose hits are a coincidence of numbered keys.
//
// Numbered keys that are spread round robin follow the hashes that add up characters: the next key has the next hash and
// is in the next partition. Runs of neighbouring keys then lie at one distance from what such a hash says, and the runs
// at distance 0 look like a writer's share; or the distance grows evenly. What a real writer did not write lies at any
// distance from what it says, whatever its neighbour's.
func (d *detector) dropFollowers() {
	if !slices.ContainsFunc(d.writers, d.addsUp) {
		return
	}
	order := make([]int, len(d.ev.pairs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := &d.ev.pairs[a], &d.ev.pairs[b]
		return cmp.Or(cmp.Compare(len(x.key), len(y.key)), bytes.Compare(x.key, y.key), cmp.Compare(x.partition, y.partition))
	})
	var follows []bool
	for w := range d.writers {
		follows = append(follows, d.addsUp(d.writers[w]) && d.follows(w, order))
	}
	for w, drop := range slices.Backward(follows) {
		if drop {
			d.writers = slices.Delete(d.writers, w, w+1)
			d.rivals = nil
		}
	}
}

// addsUp reports whether a writer's hash adds up characters, each times a power of one number.
func (d *detector) addsUp(w writer) bool {
	if w.placer < 0 {
		return false
	}
	id := d.placers[w.placer].id
	return strings.HasPrefix(id, "java_") || id == "kn31" || id == "djb2rev"
}

const (
	followerZ     = 6    // standard normal quantile above which steps are too uneven for chance
	followerShare = 0.05 // of the pairs must be off; a writer of nearly all is one, whoever wrote the rest
)

// follows reports whether it shows in the distance of a pair that a writer does not explain how far off the pair before
// was, in the order of keys given: the step from one to the other is another then than chance would have it. Pairs that
// another writer explains are passed over.
func (d *detector) follows(writer int, order []int) bool {
	w := &d.writers[writer]
	predicted := d.predict(w.hypothesis, d.ev.pairs)
	n := d.ev.n
	steps, after := make([]float64, n), make([]float64, n) // how many, by step and by the distance before
	own, off, last := 0, 0, int32(0)
	for _, i := range order {
		if predicted[i] < 0 || d.explained(i, writer) {
			continue
		}
		own++
		by := (d.ev.pairs[i].partition - predicted[i] + n) % n
		if by != 0 {
			off++
			steps[(by-last+n)%n]++
			after[last]++
		}
		last = by
	}
	if float64(off) <= followerShare*float64(own) {
		return false
	}
	chi := 0.0
	for step := range n {
		// after distance l every step but that of -l, to distance 0, is as likely as another
		expected := (float64(off) - after[(n-step)%n]) / float64(n-1)
		if expected > 0 {
			chi += (steps[step] - expected) * (steps[step] - expected) / expected
		}
	}
	return chiZ(chi, float64(n-1)) > followerZ
}

// find searches the pairs that no writer other than the one given explains. Every hypothesis is weighed on so many of
// them as time allows; when none of them is enough there, the likeliest are weighed again on more, since a writer of one
// record in a hundred drowns in a small part.
func (d *detector) find(except int) (left []pair, found []scored) {
	keep := func(i int) bool { return !d.explained(i, except) }
	left = d.ev.thin(d.searchPairs(), keep)
	found = d.search(left)
	if len(found) == 0 || enough(found[0]) {
		return left, found
	}
	if more := d.ev.thin(confirmPairs, keep); len(more) > len(left) {
		return more, d.weighAgain(found[:min(len(found), confirmed)], more)
	}
	return left, found
}

// enough reports whether a hypothesis beats chance by the odds asked for.
func enough(s scored) bool { return s.score-math.Log(priorChance) >= math.Log(leastOdds) }

// explained reports whether a writer other than the one given puts pair i where it is.
func (d *detector) explained(i, except int) bool {
	for w := range d.writers {
		if w != except && d.writers[w].match[i] {
			return true
		}
	}
	return false
}

// take makes a writer of a hypothesis.
func (d *detector) take(s scored) writer {
	w := writer{scored: s, match: make([]bool, len(d.ev.pairs)), posterior: 1}
	for i, p := range d.predict(s.hypothesis, d.ev.pairs) {
		w.match[i] = p == d.ev.pairs[i].partition
	}
	return w
}

// review weighs writer i on the pairs that no other explains; false when it does not hold without them. A better
// hypothesis for those pairs takes its place.
func (d *detector) review(i int) bool {
	left, found := d.find(i)
	if d.writers[i].placer < 0 {
		fixed, ok := d.fixed(left)
		return ok && fixed.fixed == d.writers[i].fixed
	}
	if len(found) == 0 || !enough(found[0]) {
		return false
	}
	if found[0].hypothesis != d.writers[i].hypothesis {
		d.writers[i] = d.take(found[0])
	}
	w := &d.writers[i]
	w.scored = found[0]
	w.alike, w.unsure = d.alike(w)
	of, rest := math.Inf(-1), math.Log(priorChance)
	var rivals []scored
	for _, s := range found {
		if s.over == w.over && s.n == w.n && (s.placer == w.placer || slices.Contains(w.alike, s.placer)) {
			of = addLogs(of, s.score)
			continue
		}
		rest = addLogs(rest, s.score)
		rivals = append(rivals, s)
	}
	w.posterior = 1 / (1 + math.Exp(rest-of))
	if i == 0 || w.posterior < slices.MinFunc(d.writers[:i], byPosterior).posterior {
		d.rivals = rivals
	}
	return true
}

func byPosterior(a, b writer) int { return cmp.Compare(a.posterior, b.posterior) }

// addLogs returns log(e^a + e^b).
func addLogs(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}

// alike returns the other placers that put every pair's key where the writer does. unsure is set when one of them is no
// relative of the writer's, so that it would differ on further keys, and there are too few keys to rule that out.
func (d *detector) alike(w *writer) (ids []int, unsure bool) {
	want := d.predict(w.hypothesis, d.ev.pairs)
	static := partitioner.Alike(d.placers[w.placer].id, w.n, d.ascii)
	same := make([]bool, len(d.placers))
	parallel.Each(len(d.placers), func(i int) {
		same[i] = i != w.placer && (d.placers[i].past || w.n == d.ev.n && w.over == WholeKey) && d.agrees(i, w, want)
	})
	for i, ok := range same {
		if ok {
			ids = append(ids, i)
			unsure = unsure || w.gain < trustedGain && !slices.Contains(static, d.placers[i].id)
		}
	}
	return ids, unsure
}

// agrees reports whether placer i gives every pair's key the wanted partition.
func (d *detector) agrees(i int, w *writer, want []int32) bool {
	h := hypothesis{placer: i, over: w.over, n: w.n}
	out := make([]int32, min(len(want), chunk))
	for from, size := 0, 64; from < len(want); size = min(2*size, chunk) { // most differ within the first keys
		to := min(len(want), from+size)
		placeAll(d.placers[i].pt, h, d.ev.pairs[from:to], out[:to-from])
		if !slices.Equal(out[:to-from], want[from:to]) {
			return false
		}
		from = to
	}
	return true
}

// fixed judges whether the pairs are gathered in one partition, whatever their keys.
func (d *detector) fixed(pairs []pair) (scored, bool) {
	read := d.ev.partitions
	if read < 2 || len(pairs) == 0 {
		return scored{}, false
	}
	in := make([]int, d.ev.n)
	for i := range pairs {
		in[pairs[i].partition]++
	}
	top := 0
	for p := range in {
		if in[p] > in[top] {
			top = p
		}
	}
	if float64(in[top]) < gathered*float64(len(pairs)) {
		return scored{}, false
	}
	h := hypothesis{placer: -1, n: d.ev.n, fixed: int32(top)}
	gain := gainOf(in[top], len(pairs), float64(in[top])*math.Log(float64(read)))
	s := scored{h, in[top], len(pairs), gain, gain - math.Log(float64(read))} // any partition could have been the one
	return s, enough(s)
}

// tooFew reports whether the likeliest hypothesis would not have been taken even if it had explained every pair.
func (d *detector) tooFew() bool {
	if len(d.writers) > 0 {
		return false
	}
	pairs := d.ev.thin(d.searchPairs(), func(int) bool { return true })
	logs := d.logObserved(pairs)
	worth := 0.0
	for i := range pairs {
		worth += min(logs[pairs[i].partition], math.Log(float64(d.ev.n)))
	}
	h := hypothesis{n: d.ev.n}
	gain := gainOf(len(pairs), len(pairs), worth)
	return !enough(scored{h, len(pairs), len(pairs), gain, gain + math.Log(d.prior(h))})
}

// undecided reports whether no hypothesis was taken and chance is not likely either.
func (d *detector) undecided() bool {
	sum := math.Inf(-1)
	for _, s := range d.rivals {
		sum = addLogs(sum, s.score)
	}
	return 1/(1+math.Exp(sum-math.Log(priorChance))) < 0.5
}
