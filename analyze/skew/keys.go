package skew

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"keyspread/analyze/profile"
	"keyspread/analyze/sample"
)

// KeyMeasures say how unevenly one weight is spread over the keys themselves, wherever they are placed. With share w_k
// of key k in the weight of keyed records, and K keys:
//
//	Gini      = sum_j (2j - K - 1) w_(j) / K    (w_(j) ascending; 0 is even)
//	Effective = 1 / sum w_k^2                   (Hill number of order 2: as many equal keys would spread as unevenly)
//	Entropy   = exp(-sum w_k ln w_k)            (Hill number of order 1: light keys count for more; never below Effective)
//
// What cannot be told has a NaN estimate. A sample of blocks tells neither Gini nor Entropy: both hang on the keys that
// it has not seen.
//
// Source: Hill, "Diversity and evenness", Ecology 54 (1973); Jost, "Entropy and diversity", Oikos 113 (2006).
type KeyMeasures struct {
	Gini, Effective, Entropy Figure
}

// Figure is a figure with its doubt: [Lo, Hi] at 95 % confidence (in a sample, at the sample's). It is exact when
// Lo == Est == Hi. Est is NaN when it cannot be told; a limit that is not known either is then the end of the figure's
// range, +Inf for effective numbers.
type Figure struct {
	Est, Lo, Hi float64
	SE          float64 // standard error of Est; 0 when exact or not told, as where all sampled keys weigh alike
}

// Known reports whether the figure has an estimate.
func (f Figure) Known() bool { return !math.IsNaN(f.Est) }

// unknown is a figure that cannot be told, with what is certain of it.
func unknown(lo, hi float64) Figure { return Figure{Est: math.NaN(), Lo: lo, Hi: hi} }

// untold are the measures of keys of which nothing can be told.
func untold() KeyMeasures {
	return KeyMeasures{Gini: unknown(0, 1), Effective: unknown(1, math.Inf(1)), Entropy: unknown(1, math.Inf(1))}
}

// MeasureKeys measures how one weight is spread over the keys of a profile.
//
// With every key counted the measures are exact. In bounded mode they are estimated in two phases: the heaviest keys of
// the tables are taken as they are, and the key sample stands for the rest. e holds the estimates when the profile is a
// scaled sample, and is nil otherwise; a sample of blocks tells the effective number by what it has in common between
// blocks, see [sample.Estimates]. Their intervals allow for keys unlike any of the sample, of which there can be three
// times as many as a sampled key stands for, at most: so few keys of a kind are missed with probability e^-3.
//
// Without a key all figures are unknown. It costs a pass over the tables, 256 KiB, and O(K log K) time and 8 bytes a key
// of those with weights of 65,536 or more; in bounded mode five passes and 8 bytes a key of the tables.
func MeasureKeys(p *profile.Profile, unit profile.Unit, e *sample.Estimates) KeyMeasures {
	if e != nil && e.Blocks < e.BlocksAll {
		return measureBlocks(e.Concentration[unit])
	}
	total := keyedWeight(p, unit)
	if total <= 0 {
		return untold()
	}
	theta := p.SampleFraction()
	if theta == 1 {
		var all allKeys
		p.EachWeight(func(w profile.Weight) { all.add(w.Of(unit)) })
		return all.measures()
	}
	lo, hi, taken := surelyHeavy(p, unit)
	var rest []float64
	sampled := 0
	p.EachSampledWeight(func(key []byte, w profile.Weight) {
		sampled++
		if !taken(key, w) {
			rest = append(rest, float64(w.Of(unit)))
		}
	})
	records := keyedRecords(p)
	least, most := spreadLimits(p, unit, total, records)
	if sampled < leastSampled {
		m := untold()
		m.Effective = unknown(least.effective, most.effective)
		m.Entropy = unknown(least.entropy, most.entropy)
		return m
	}
	keys := float64(len(lo)) + float64(len(rest))/theta
	unlike := unlikeSampled(p, unit, rest, theta, taken)
	m := newTwoPhase(lo, rest, theta, total).measures()
	if !slices.Equal(lo, hi) {
		m.cover(newTwoPhase(hi, rest, theta, total).measures())
	}
	m.allow(&unlike, keys, total, records)
	m.clamp(least, most)
	return m
}

// keyedWeight is what the records that have a key weigh, exact in every mode.
func keyedWeight(p *profile.Profile, unit profile.Unit) float64 {
	var n float64
	for i := range p.Partitions {
		n += float64(p.Partitions[i].Total.Of(unit) - p.Partitions[i].NullKey.Of(unit))
	}
	return n
}

// keyedRecords counts the records that have a key; there are no more keys than that.
func keyedRecords(p *profile.Profile) float64 { return keyedWeight(p, profile.Records) }

const (
	takenAll     = 1000 // heaviest keys that the first phase takes as they are; with a larger sample as many as it has
	leastSampled = 4096 // keys of the sample, below which it can miss too much of a heavy tail (coverage of 89 % at 2048)
	// surelyKept is how many times more than a table can have lost of a key the first phase asks for: what is taken must
	// not depend on what is sampled, and sampled keys lose nothing.
	surelyKept = 10
)

// surelyHeavy returns the bounds of the keys that the first phase takes, and tells whether a key of the sample is one of
// them: those that weigh more than surelyKept times what a table can have lost, as many as the sample has at most.
func surelyHeavy(p *profile.Profile, unit profile.Unit) (lo, hi []float64, taken func(key []byte, w profile.Weight) bool) {
	limit := surelyKept * p.Missing().Of(unit)
	take := func(l, h profile.Weight) {
		lo, hi = append(lo, float64(l.Of(unit))), append(hi, float64(h.Of(unit)))
	}
	byWeight := func(_ []byte, w profile.Weight) bool { return w.Of(unit) > limit }
	top := p.Top(takenAll, unit)
	if end := slices.IndexFunc(top, func(t profile.TopKey) bool { return t.Lo.Of(unit) <= limit }); end >= 0 {
		for _, t := range top[:end] {
			take(t.Lo, t.Hi)
		}
		return lo, hi, byWeight
	}
	var sure, sampled int
	p.EachWeight(func(w profile.Weight) {
		if w.Of(unit) > limit {
			sure++
		}
	})
	p.EachSampledWeight(func([]byte, profile.Weight) { sampled++ })
	if most := max(takenAll, sampled); sure > most {
		keys := make(map[string]bool, most)
		for _, t := range p.Top(most, unit) {
			keys[string(t.Key)] = true
			take(t.Lo, t.Hi)
		}
		return lo, hi, func(key []byte, _ profile.Weight) bool { return keys[string(key)] }
	}
	p.EachHeavier(limit, unit, take)
	return lo, hi, byWeight
}

// cover widens the intervals to those of o.
func (m *KeyMeasures) cover(o KeyMeasures) {
	for _, f := range []struct{ f, o *Figure }{{&m.Gini, &o.Gini}, {&m.Effective, &o.Effective}, {&m.Entropy, &o.Entropy}} {
		f.f.Lo, f.f.Hi = math.Min(f.f.Lo, f.o.Lo), math.Max(f.f.Hi, f.o.Hi)
	}
}

// unlike is what keys that are unlike any of the sample can add to sums over keys at most, or take from them.
type unlike struct {
	weight, squares, logs        float64 // more: by heavier keys
	keys, lessSquares, fewerLogs float64 // by lighter ones
}

// missable is how many keys of a kind a sample without any of them can stand for, times theta, at 95 %: each is missed with
// probability 1-theta, all n of them with (1-theta)^n <= e^-(n theta) (the rule of three, as in [profile.Distinct]).
const missable = 3

// unlikeSampled bounds what there can be of keys heavier, or lighter, than every sampled key that is not taken. rest is
// the weights of those. A heavier one has at most the upper bound of its counts, or what a table can have lost.
func unlikeSampled(p *profile.Profile, unit profile.Unit, rest []float64, theta float64, taken func([]byte, profile.Weight) bool) unlike {
	n := missable / theta
	u := unlike{}
	heaviest := 0.0
	if len(rest) > 0 {
		heaviest = slices.Max(rest)
		if lightest := slices.Min(rest); lightest > 1 { // what w less weight a key takes away is largest at these two
			half, third := max(1, lightest/2), max(1, lightest/math.E)
			u.keys, u.lessSquares, u.fewerLogs = n, n*half*(lightest-half), n*third*math.Log(lightest/third)
		}
	}
	missing := max(heaviest, float64(p.Missing().Of(unit)))
	var most []float64
	p.EachUnsampled(func(key []byte, lo, hi profile.Weight) {
		if h := float64(hi.Of(unit)); h > missing && !taken(key, lo) {
			most = append(most, h)
		}
	})
	slices.Sort(most)
	slices.Reverse(most)
	add := func(n, w float64) {
		u.weight += n * (w - heaviest)
		u.squares += n * (w*w - heaviest*heaviest)
		u.logs += n * (xlog(w) - xlog(heaviest))
	}
	for _, w := range most[:min(len(most), int(n))] {
		add(1, w)
	}
	add(max(0, n-float64(len(most))), missing)
	return u
}

// allow widens the intervals by what keys unlike the sampled ones can add. No number of keys exceeds that of records.
func (m *KeyMeasures) allow(u *unlike, keys, total, records float64) {
	f := min(1, u.weight/total)
	m.Gini.Lo -= f * m.Gini.Lo
	m.Gini.Hi += (1 - m.Gini.Hi) * min(1, f+u.keys/(keys+u.keys))
	squares := total * total
	m.Effective.Lo = squares / (squares/m.Effective.Lo + u.squares)
	m.Effective.Hi = squares / max(1, squares/m.Effective.Hi-u.lessSquares)
	m.Entropy.Lo /= math.Exp(u.logs / total)
	m.Entropy.Hi *= math.Exp(u.fewerLogs / total)
	for _, f := range []*Figure{&m.Effective, &m.Entropy} {
		f.Est, f.Lo, f.Hi = min(f.Est, records), max(1, min(f.Lo, records)), min(rounding*f.Hi, records)
	}
}

// spread is how many equal keys would spread as unevenly, of order 2 and of order 1.
type spread struct{ effective, entropy float64 }

// spreadLimits are the least and the most that the counts of a bounded profile allow, whatever was sampled.
//
// At most each key of the tables has its lower bound, and the rest of the weight is spread furthest over keys of one record.
// Both measures are largest there, as they are concave in the weights, provided that the keys that are held to their bounds
// weigh no less than the mean record: lighter ones are taken for keys of which nothing is known. At least the squares
// sum to no more than [mostSquares]; the number of order 1 is never below that of order 2.
func spreadLimits(p *profile.Profile, unit profile.Unit, total, records float64) (least, most spread) {
	mean := total / records
	var counted, n, weight, squares, logs float64
	p.EachWeight(func(w profile.Weight) {
		x := float64(w.Of(unit))
		counted += x
		if x >= mean {
			n++
			weight += x
			squares += x * x
			logs += xlog(x)
		}
	})
	if rest, keys := total-weight, records-n; rest > 0 && keys >= 1 {
		squares += rest * rest / keys
		logs += rest * math.Log(rest/keys)
	}
	fewest := max(1, total*total/mostSquares(p, unit, max(0, total-counted))/rounding)
	least = spread{fewest, fewest}
	most = spread{max(fewest, total*total/squares*rounding), max(fewest, total*math.Exp(-logs/total)*rounding)}
	return least, most
}

// clamp keeps figures within what is certain.
func (m *KeyMeasures) clamp(least, most spread) {
	within := func(f *Figure, lo, hi float64) {
		f.Est, f.Lo, f.Hi = min(max(f.Est, lo), hi), min(max(f.Lo, lo), hi), min(max(f.Hi, lo), hi)
	}
	within(&m.Effective, least.effective, most.effective)
	within(&m.Entropy, least.entropy, most.entropy)
}

// rounding allows for the last bits of logarithms and sums.
const rounding = 1 + 1e-9

// twoPhase is a population of keys of which some are known one by one (taken all) and the others by a sample that holds
// each with probability theta < 1, chosen by a hash of the key (Poisson sampling). What all keys weigh together is known.
type twoPhase struct {
	x     []float64 // ascending
	taken []bool    // by x; nil: none
	theta float64
	total float64
}

// newTwoPhase may reorder what it is given and keep it.
func newTwoPhase(taken, sampled []float64, theta, total float64) *twoPhase {
	t := &twoPhase{theta: theta, total: total}
	slices.Sort(sampled)
	if len(taken) == 0 {
		t.x = sampled
		return t
	}
	taken = slices.Sorted(slices.Values(taken))
	for len(taken)+len(sampled) > 0 {
		first := len(sampled) == 0 || len(taken) > 0 && taken[0] < sampled[0]
		from := &sampled
		if first {
			from = &taken
		}
		t.x, t.taken = append(t.x, (*from)[0]), append(t.taken, first)
		*from = (*from)[1:]
	}
	return t
}

// weight is how many keys key i stands for.
func (t *twoPhase) weight(i int) float64 {
	if t.taken != nil && t.taken[i] {
		return 1
	}
	return 1 / t.theta
}

// measures estimates every measure from totals over the keys, key i counted weight(i) times. With z what one key adds to
// a total (for the Gini index, which is no total, its influence on it),
//
//	Var = (1-theta)/theta^2 * sum over the sample of (z - B x)^2,   B = sum z x / sum x^2
//
// B corrects each total by what the keys in it weigh too much or too little beside the known weight of all (regression
// estimator). Intervals of effective numbers are taken on the logarithmic scale.
//
// Source: Sarndal, Swensson, Wretman, Model Assisted Survey Sampling, 1992, ch. 5 and 6 (linearisation, regression);
// Langel and Tille, "Variance estimation of the Gini index", JRSS A 176 (2013).
func (t *twoPhase) measures() KeyMeasures {
	var n, x, squares, logs, ranked float64
	for i, xi := range t.x {
		w := t.weight(i)
		n += w
		x += w * xi
		squares += w * xi * xi
		ranked += w * xi * (n - w/2) // n: keys up to this one
		logs += w * xlog(xi)
	}
	if x <= 0 {
		return untold()
	}
	gini := 2*ranked/(n*x) - 1
	var g, d, h regression // Gini index, sum of squares, sum of logarithms
	below, above := 0.0, x // keys up to this one, and weight of those beyond
	for i, xi := range t.x {
		w := t.weight(i)
		below += w
		above -= w * xi
		if t.taken != nil && t.taken[i] {
			continue
		}
		rank := xi*(below-w/2) + above + w*xi/2
		g.add(xi, (gini+1)*(rank/ranked-1/n-xi/x))
		d.add(xi, xi*xi)
		h.add(xi, xlog(xi))
	}
	missed := x - t.total
	gini, se, q := g.estimate(gini, missed, t.theta)
	m := KeyMeasures{Gini: Figure{Est: gini, Lo: math.Max(0, gini-q*se), Hi: math.Min(1, gini+q*se), SE: se}}
	squares, se, q = d.estimate(squares, missed, t.theta)
	m.Effective = exponential(2*math.Log(t.total)-math.Log(squares), se/squares, q)
	logs, se, q = h.estimate(logs, missed, t.theta)
	m.Entropy = exponential(math.Log(t.total)-logs/t.total, se/t.total, q)
	return m
}

// xlog is x ln x, 0 for 0.
func xlog(x float64) float64 {
	if x <= 0 {
		return 0
	}
	return x * math.Log(x)
}

// exponential is e to the power of an estimate, with limits q standard errors away.
func exponential(log, se, q float64) Figure {
	est := math.Exp(log)
	return Figure{Est: est, Lo: math.Max(1, math.Exp(log-q*se)), Hi: math.Exp(log + q*se), SE: est * se}
}

// regression holds the sampled keys, each with its weight x and influence z.
type regression struct {
	x, z   []float64
	xx, xz float64
}

func (r *regression) add(x, z float64) {
	r.x, r.z = append(r.x, x), append(r.z, z)
	r.xx += x * x
	r.xz += x * z
}

// estimate corrects an estimate for the weight that the sample has too much, and returns its standard error and how
// many of them a 95 % limit is away: by the degrees of freedom 2/(sum r^4 / (sum r^2)^2 - 1/k) that a variance of k
// squared residuals r has, which a heavy tail makes few (Satterthwaite, Biometrics Bulletin 2, 1946).
func (r *regression) estimate(est, tooMuch, theta float64) (corrected, se, q float64) {
	if r.xx == 0 {
		return est, 0, 0
	}
	b := r.xz / r.xx
	var squares, fourths float64
	for i, z := range r.z {
		e := (z - b*r.x[i]) * (z - b*r.x[i])
		squares += e
		fourths += e * e
	}
	df := 1e6
	if squares > 0 {
		df = 2 / math.Max(2e-6, fourths/(squares*squares)-1/float64(len(r.z)))
	}
	q = distuv.StudentsT{Sigma: 1, Nu: math.Max(1, df)}.Quantile(0.975)
	return est - b*tooMuch, math.Sqrt((1-theta)*squares) / theta, q
}

// measureBlocks are the measures that blocks tell. The number of order 1 is never below that of order 2.
func measureBlocks(c sample.Concentration) KeyMeasures {
	m := untold()
	if c.Hi > 0 && c.Hi < 1 {
		m.Effective.Lo = 1 / c.Hi
	}
	if c.Known {
		m.Effective = Figure{Est: math.Max(1, 1/c.Share), Lo: m.Effective.Lo, Hi: 1 / c.Lo, SE: c.SE / (c.Share * c.Share)}
	}
	m.Entropy.Lo = m.Effective.Lo
	return m
}
