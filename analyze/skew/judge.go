package skew

import (
	"errors"
	"fmt"
	"math"

	"keyspread/analyze/profile"
	"keyspread/analyze/sample"
)

// Config says how strictly keys are judged.
type Config struct {
	// HotRatio is r*: a key is hot when it alone would lift its partition above r* times the mean. Greater than 1.
	HotRatio float64
	// Top is how many keys are listed at least; every hot or undecided key is listed too.
	Top int
}

// DefaultConfig returns r* = 1.5 and 20 keys.
func DefaultConfig() Config { return Config{HotRatio: 1.5, Top: 20} }

// Validate reports a value out of range.
func (c Config) Validate() error {
	if !(c.HotRatio > 1) || math.IsInf(c.HotRatio, 0) {
		return fmt.Errorf("hot ratio %v: it must be greater than 1 (1.5 means half as much again as the mean partition)", c.HotRatio)
	}
	if c.Top < 0 {
		return errors.New("top: the number of keys cannot be negative")
	}
	return nil
}

// mostListed bounds the keys looked at beyond Top. At most 1/tau = (n-1)/(r*-1) keys can exceed tau, so the bound
// takes effect only for topics of thousands of partitions, where it costs nothing but the tail of an endless list.
const mostListed = 10_000

// Judge measures one weight of a profile and judges its heaviest keys. e holds the estimates when the profile is a
// scaled sample; it is nil otherwise.
//
// A key's share is taken of all records (or bytes) read, null-key records included. It is Hot when its lower limit
// exceeds tau, NotHot when its upper limit does not, and undecided otherwise; exact counts are never undecided. Limits
// of a sample are those of the stricter level that the estimates keep for this question.
// Measures are taken over the partitions of the profile; partitions that were not read do not count as empty.
//
// Where the profile is that of a part of the topic ([profile.Extent.OfTopic]), every figure is of that part and none is
// explained: a key above Tau is undecided, and one that is NotHot is so in what was read only.
func Judge(p *profile.Profile, unit profile.Unit, cfg Config, e *sample.Estimates) Skew {
	s := Skew{
		Unit:  unit,
		Total: p.Total().Of(unit),
		Loads: make([]int64, p.NumPartitions),
		Tau:   Tau(cfg.HotRatio, p.NumPartitions),
	}
	read := make([]float64, len(p.Partitions))
	inPartition := make(map[int32]int64, len(p.Partitions))
	for i := range p.Partitions {
		part := &p.Partitions[i]
		load := part.Total.Of(unit)
		read[i] = float64(load)
		inPartition[part.ID] = load
		s.Loads[part.ID] = load
	}
	s.Measures = Measure(read)
	if s.Measures.Hottest >= 0 {
		s.Measures.Hottest = p.Partitions[s.Measures.Hottest].ID
	}

	list := cfg.Top
	if !math.IsInf(s.Tau, 1) {
		list = max(list, min(mostListed, int(1/s.Tau)+1))
	}
	limits := limitsOf(unit, s.Total, e)
	ofTopic := p.Extent().OfTopic()
	s.Ceiling, s.CeilingLo, s.CeilingHi = math.Inf(1), math.Inf(1), math.Inf(1)
	least, most := 0.0, unlisted(p, &s, e)
	for i, t := range p.Top(max(list, 1), unit) {
		k := Key{Key: t.Key, Lo: t.Lo, Hi: t.Hi, Where: t.Where, First: t.First, Last: t.Last}
		var judged Share
		k.Share, judged = limits(t)
		switch {
		case judged.Lo > s.Tau && ofTopic:
			k.Verdict = Hot
		case judged.Hi > s.Tau:
			k.Verdict = CannotTell
		}
		least, most = math.Max(least, k.Share.Lo), math.Max(most, k.Share.Hi)
		if i == 0 {
			s.Ceiling = 1 / k.Share.Est
		}
		if i >= cfg.Top && k.Verdict == NotHot {
			continue
		}
		k.InPartition = heaviestPart(t.Where, unit, inPartition)
		s.Top = append(s.Top, k)
	}
	if most > 0 {
		s.CeilingLo = 1 / most
	}
	if least > 0 {
		s.CeilingHi = 1 / least
	}
	s.Keys = MeasureKeys(p, unit, e)
	if ofTopic {
		s.Explanation = Explain(p, &s, cfg, e)
	}
	return s
}

// limitsOf returns how a key's share is known: by its count, or by the estimates of a sample. judged holds the limits
// that decide whether it is hot.
func limitsOf(unit profile.Unit, total int64, e *sample.Estimates) func(t profile.TopKey) (share, judged Share) {
	if e == nil {
		return func(t profile.TopKey) (share, judged Share) {
			share = shareOf(t.Lo.Of(unit), t.Hi.Of(unit), total)
			return share, share
		}
	}
	byKey := make(map[string]*sample.KeyEstimate, len(e.Keys))
	for i := range e.Keys {
		byKey[string(e.Keys[i].Key)] = &e.Keys[i]
	}
	return func(t profile.TopKey) (share, judged Share) {
		k := byKey[string(t.Key)]
		if k == nil { // too light in the sample for an estimate of its own
			share = shareOf(t.Lo.Of(unit), t.Hi.Of(unit), total)
			share.Lo, share.Hi = 0, math.Max(share.Hi, e.Unseen)
			return share, share
		}
		at := func(x sample.Estimate) Share { return Share{Est: x.Share, Lo: x.Lo, Hi: x.Hi} }
		return at(k.Share[unit]), at(k.Hot[unit])
	}
}

// ShareFunc returns how the share of a key in a weight of total is known: by its count, or by the estimates of a sample.
func ShareFunc(unit profile.Unit, total int64, e *sample.Estimates) func(profile.TopKey) Share {
	limits := limitsOf(unit, total, e)
	return func(t profile.TopKey) Share {
		share, _ := limits(t)
		return share
	}
}

// unlisted is the largest share of a key that no table holds.
func unlisted(p *profile.Profile, s *Skew, e *sample.Estimates) float64 {
	switch {
	case s.Total == 0:
		return 0
	case e != nil:
		return e.Unseen
	}
	return float64(p.Missing().Of(s.Unit)) / float64(s.Total)
}

// heaviestPart is a key's lower share of the load of the partition that holds most of it.
func heaviestPart(where []profile.Key, unit profile.Unit, loads map[int32]int64) float64 {
	var most, load int64
	for _, w := range where {
		if v := w.Lo.Of(unit); v > most {
			most, load = v, loads[w.Partition]
		}
	}
	if load == 0 {
		return 0
	}
	return float64(most) / float64(load)
}

func shareOf(lo, hi, total int64) Share {
	if total == 0 {
		return Share{}
	}
	l := float64(lo) / float64(total)
	return Share{Est: l, Lo: l, Hi: math.Min(1, float64(hi)/float64(total))}
}
