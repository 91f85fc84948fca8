package skew

import (
	"errors"
	"fmt"
	"math"

	"keyspread/analyze/profile"
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

// Judge measures one weight of a profile and judges its heaviest keys.
//
// A key's share is taken of all records (or bytes) read, null-key records included. It is Hot when its lower bound
// exceeds tau, NotHot when its upper bound does not, and undecided otherwise; exact counts are never undecided.
// Measures are taken over the partitions of the profile; partitions that were not read do not count as empty.
func Judge(p *profile.Profile, unit profile.Unit, cfg Config) Skew {
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
	tops := p.Top(max(list, 1), unit)
	s.ceiling(p, tops)
	for i, t := range tops {
		k := Key{Key: t.Key, Lo: t.Lo, Hi: t.Hi, Where: t.Where, First: t.First, Last: t.Last}
		k.Share = share(t.Lo.Of(unit), t.Hi.Of(unit), s.Total)
		switch {
		case k.Share.Lo > s.Tau:
			k.Verdict = Hot
		case k.Share.Hi > s.Tau:
			k.Verdict = CannotTell
		}
		if i >= cfg.Top && k.Verdict == NotHot {
			break
		}
		k.InPartition = heaviestPart(t.Where, unit, inPartition)
		s.Top = append(s.Top, k)
	}
	s.Explanation = Explain(p, &s, cfg)
	return s
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

// ceiling sets N* = 1/w1. In bounded mode a key that is missing from the tables may be heavier than the heaviest
// listed, so the lower end of N* takes it into account.
func (s *Skew) ceiling(p *profile.Profile, tops []profile.TopKey) {
	s.Ceiling, s.CeilingLo, s.CeilingHi = math.Inf(1), math.Inf(1), math.Inf(1)
	if s.Total == 0 {
		return
	}
	lo, hi := int64(0), p.Missing().Of(s.Unit)
	for _, k := range tops {
		lo = max(lo, k.Lo.Of(s.Unit))
		hi = max(hi, k.Hi.Of(s.Unit))
	}
	total := float64(s.Total)
	if hi > 0 {
		s.CeilingLo = total / float64(hi)
	}
	if lo > 0 {
		s.CeilingHi = total / float64(lo)
		s.Ceiling = s.CeilingHi
	}
}

func share(lo, hi, total int64) Share {
	if total == 0 {
		return Share{}
	}
	return Share{Lo: float64(lo) / float64(total), Hi: math.Min(1, float64(hi)/float64(total))}
}
