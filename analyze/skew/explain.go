package skew

import (
	"keyspread/analyze/profile"
	"keyspread/analyze/sample"
)

// Cause says why loads are as uneven as they are.
type Cause uint8

// The causes, from harmless to alarming.
const (
	NothingToExplain  Cause = iota // fewer than two partitions, or no load
	ByChanceOnly                   // what these keys give under any hash, and not much
	FewKeys                        // uneven, as any hash spreads so few (effective) keys
	HotKeys                        // up to three keys lift their partitions; without them no partition is hot
	SeveralHeavyKeys               // many keys are heavy; without the hot ones, three at most, partitions are hot all the same
	UnkeyedTraffic                 // the keyed records are level, those without a key are not
	UnevenPartitioner              // the assumed partitioner placed the records, and a random hash is far more even
	NotHashed                      // no hash gives this: another rule placed the records
)

// String returns the cause's name in reports and JSON.
func (c Cause) String() string {
	switch c {
	case ByChanceOnly:
		return "chance"
	case FewKeys:
		return "few keys"
	case HotKeys:
		return "hot keys"
	case SeveralHeavyKeys:
		return "several heavy keys"
	case UnkeyedTraffic:
		return "unkeyed traffic"
	case UnevenPartitioner:
		return "uneven partitioner"
	case NotHashed:
		return "not explained by hashing"
	}
	return "nothing to explain"
}

// Explanation sets the observed PAR of keyed records beside what hashing alone gives these keys, with and without the
// hot ones.
type Explanation struct {
	Cause         Cause
	Observed      float64 // PAR of the keyed records
	Expected      Chance
	EffectiveKeys float64

	Removed         int     // hot keys taken away for the second look
	ObservedWithout float64 // PAR without them
	ExpectedWithout Chance

	// Heaviest is how many of the heaviest keys, none of them hot, make most of what chance alone gives; 0: no so few, or they
	// cannot be told; the cause is then chance as a whole, or another. ExpectedLighter is what chance gives without them.
	Heaviest        int
	ExpectedLighter Chance
}

// Thresholds of the causes; statistics.md B7 with p < 0.002 instead of 0.01, so that of a hundred sound topics none
// is called unhashed rather than one.
const (
	notHashedP      = 0.002
	surelyPredicted = 0.999 // share of keyed records where the assumed partitioner puts them
	visiblyUneven   = 1.05  // times the PAR that chance gives; below, significance is of no use to anyone
	fewKeysPerPart  = 20.0
	mostRemoved     = 3
	levelPAR        = 1.1 // of loads that nobody would call uneven
	aboveNoise      = 2.0 // standard deviations
)

// Explain says why the loads of a judged weight are uneven. e holds the estimates of a sample; nil otherwise.
func Explain(p *profile.Profile, s *Skew, cfg Config, e *sample.Estimates) Explanation {
	n := int32(len(p.Partitions))
	if n < 2 || s.Total == 0 {
		return Explanation{}
	}
	keyed := make([]float64, n)
	index := make(map[int32]int, n)
	for i := range p.Partitions {
		part := &p.Partitions[i]
		index[part.ID] = i
		keyed[i] = float64(part.Total.Of(s.Unit) - part.NullKey.Of(s.Unit))
	}
	x := Explanation{Observed: Measure(keyed).PAR}
	if x.Observed == 0 { // no keyed record at all
		if s.Measures.PAR > cfg.HotRatio {
			x.Cause = UnkeyedTraffic
		}
		return x
	}
	var keys Keys
	if e != nil {
		keys = weighSample(p, s.Unit, e)
	} else {
		keys = weigh(p, s)
	}
	x.EffectiveKeys = keys.Effective()
	x.Expected = ByChance(keys, n, x.Observed)

	for x.Removed < len(s.Top) && x.Removed < mostRemoved && s.Top[x.Removed].Verdict == Hot && keys.standsOut(x.Removed, n) {
		for _, w := range s.Top[x.Removed].Where {
			i := index[w.Partition]
			keyed[i] = max(0, keyed[i]-float64(w.Lo.Of(s.Unit))) // estimates of a sample can pass the load by their noise
		}
		x.Removed++
	}
	x.ObservedWithout, x.ExpectedWithout = x.Observed, x.Expected
	if x.Removed > 0 {
		x.ObservedWithout = Measure(keyed).PAR
		x.ExpectedWithout = ByChance(keys.without(x.Removed), n, x.ObservedWithout)
	}
	x.Cause = x.cause(s, float64(n), asPredicted(p), cfg)
	if x.Cause == ByChanceOnly && x.Observed > levelPAR && e == nil && !x.Expected.OnlyMost {
		x.spreadOf(keys, n, min(mostRemoved, len(s.Top)))
	}
	return x
}

// spreadOf finds the fewest of the heaviest keys, most at most, without which chance gives less than half of what it gives
// above 1.
func (x *Explanation) spreadOf(keys Keys, n int32, most int) {
	for i := range most {
		lighter := ByChance(keys.without(i+1), n, x.Observed)
		if lighter.Rounds > 0 && lighter.Median-1 < (x.Expected.Median-1)/2 {
			x.Heaviest, x.ExpectedLighter = i+1, lighter
			return
		}
	}
}

// standsOut reports whether heavy key i alone lifts its partition of n by more than chance does with the lighter keys:
// (n-1) w beside aboveNoise standard deviations of their loads, sqrt((n-1)/K_eff) of their mean. Where keys are few every one
// can be hot, and still none is the reason.
func (k Keys) standsOut(i int, n int32) bool {
	if i >= len(k.Heavy) {
		return false
	}
	rest := k.without(i + 1)
	return float64(n-1)*k.Heavy[i] > aboveNoise*ChanceCV(n, rest.Effective())*rest.Total()
}

// asPredicted is the share of keyed records that are where the assumed partitioner puts them.
func asPredicted(p *profile.Profile) float64 {
	var keyed, elsewhere int64
	for i := range p.Partitions {
		placed := &p.Partitions[i].Placed[0]
		for _, w := range placed.Loads.All() {
			keyed += w.Records
		}
		elsewhere += placed.Moved.Records
	}
	if keyed == 0 {
		return 0
	}
	return 1 - float64(elsewhere)/float64(keyed)
}

// cause draws the verdict. Loads that chance does not give are "not hashed" when the assumed partitioner does not give
// them either. Where it does, it is what spreads these keys badly; but real hashes of numbered keys are a little less even
// than a random one, and that is no finding before it makes a partition hot.
func (x *Explanation) cause(s *Skew, n, predicted float64, cfg Config) Cause {
	beyond := func(observed float64, c Chance) bool {
		return c.Rounds > 0 && c.Most.P < notHashedP && observed > c.Most.Median*visiblyUneven
	}
	without := beyond(x.ObservedWithout, x.ExpectedWithout)
	switch {
	case predicted < surelyPredicted && (without || beyond(x.Observed, x.Expected)):
		return NotHashed
	case predicted >= surelyPredicted && without && x.ObservedWithout > cfg.HotRatio:
		return UnevenPartitioner
	case x.Removed > 0 && x.ObservedWithout <= cfg.HotRatio:
		return HotKeys
	case x.Removed > 0:
		return SeveralHeavyKeys
	case x.Observed <= cfg.HotRatio && s.Measures.PAR > cfg.HotRatio:
		return UnkeyedTraffic
	case x.EffectiveKeys < fewKeysPerPart*n && x.Observed > cfg.HotRatio:
		return FewKeys
	}
	return ByChanceOnly
}

// weigh splits a profile's keys for the chance model. A key's lower count is its weight.
//
// In bounded mode the heavy keys are counted, and what the others' squares sum to follows from the effective number of
// all keys, which two phases estimate: of the keyed weight W, W^2 / Effective. Its lower limit gives the most they can
// sum to, so that what was lost is not mistaken for placement. Where the effective number cannot be told that is all
// there is, by what the tables can have lost of each key.
func weigh(p *profile.Profile, s *Skew) Keys {
	unit := s.Unit
	tops := p.Top(placedSingly, unit)
	k := Keys{Heavy: make([]float64, 0, len(tops))}
	heavy := 0.0 // squares
	for _, t := range tops {
		w := float64(t.Lo.Of(unit))
		k.Heavy = append(k.Heavy, w)
		k.Rest -= w
		heavy += w * w
	}
	var squares float64 // summed per partition
	var uncounted profile.Weight
	moments := p.Moments()
	for i := range p.Partitions {
		part, m := &p.Partitions[i], &moments[i]
		keyed := part.Total.Sub(part.NullKey)
		k.Rest += float64(keyed.Of(unit))
		squares += m.Squares[unit]
		uncounted = uncounted.Add(keyed.Sub(m.Sum))
	}
	for _, t := range tops {
		for _, w := range t.Where {
			squares -= float64(w.Lo.Of(unit)) * float64(w.Lo.Of(unit))
		}
	}
	keyed := k.Total()
	k.Rest = max(0, k.Rest)
	if p.Mode() != profile.Bounded {
		k.RestSquares = max(0, squares)
		return k
	}
	if uncounted.Records > 0 { // as uneven as with a key of its own for each record, all of one weight, at least
		lost := float64(uncounted.Of(unit))
		squares += lost * lost / float64(uncounted.Records)
	}
	if f := s.Keys.Effective; f.Known() {
		k.RestSquares = max(0, squares, keyed*keyed/f.Est-heavy)
		k.MostSquares = max(k.RestSquares, keyed*keyed/f.Lo-heavy)
		return k
	}
	k.RestSquares = max(0, squares, mostSquares(p, unit, float64(uncounted.Of(unit)))-heavy)
	k.MostSquares, k.OnlyMost = k.RestSquares, true
	return k
}

// mostSquares is the most that the squared weights of a bounded profile's keys can sum to, when uncounted of their weight
// is in no table: it is lost of the keys that are there, of each no more than its bounds say, and of keys that are not.
func mostSquares(p *profile.Profile, unit profile.Unit, uncounted float64) float64 {
	var counted, lost float64
	p.EachWeight(func(w profile.Weight) { counted += float64(w.Of(unit)) * float64(w.Of(unit)) })
	missing := float64(p.Missing().Of(unit))
	steepest := missing // what one more of a key adds, at most
	p.EachUnsampled(func(_ []byte, lo, hi profile.Weight) {
		if l, h := float64(lo.Of(unit)), float64(hi.Of(unit)); h > l {
			lost += h*h - l*l
			steepest = max(steepest, h+l)
		}
	})
	return counted + min(lost+uncounted*missing, uncounted*steepest)
}

// visibleInSample is how many of a key's records a sample must hold for its share to count as that key's own.
const visibleInSample = 30

// weighSample splits the keys of a scaled sample. Keys well seen weigh what was estimated. The light ones add to the sum
// of squares what the concentration of all keys leaves them. Where that is not known they add sum x(x-1) / (n(n-1)), x
// their records among the n of the sample; the plain sum of squared shares would take each key seen once for a key of
// weight 1/n.
func weighSample(p *profile.Profile, unit profile.Unit, e *sample.Estimates) Keys {
	total := e.Total[unit]
	k := Keys{}
	visible := map[string]bool{}
	for _, t := range e.Top(placedSingly, unit) {
		if t.Records < visibleInSample {
			continue
		}
		visible[string(t.Key)] = true
		k.Heavy = append(k.Heavy, t.Share[unit].Share*total)
		k.Rest -= t.Share[unit].Share * total
	}
	for i := range p.Partitions {
		k.Rest += float64(p.Partitions[i].Total.Of(unit) - p.Partitions[i].NullKey.Of(unit))
	}
	k.Rest = max(0, k.Rest)
	if c := e.Concentration[unit]; c.Known {
		keyed := k.Total()
		k.RestSquares = c.Share * keyed * keyed
		for _, t := range e.Top(placedSingly, unit) {
			if visible[string(t.Key)] { // what is left of its square without the sample's noise
				w, noise := t.Share[unit].Share*total, t.Share[unit].SE*total
				k.RestSquares -= w*w - noise*noise
			}
		}
		k.RestSquares = max(0, k.RestSquares)
		return k
	}
	if n := float64(e.Records); n > 1 {
		for i := range e.Keys {
			if x := float64(e.Keys[i].Records); !visible[string(e.Keys[i].Key)] {
				k.RestSquares += x * (x - 1) / (n * (n - 1)) * total * total
			}
		}
	}
	return k
}
