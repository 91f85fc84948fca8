package profile

import (
	"sync"

	"github.com/zeebo/xxh3"
)

// Unit is one of the two weights of a record.
type Unit uint8

// The units.
const (
	Records Unit = iota
	Bytes
)

// String returns "records" or "bytes".
func (u Unit) String() string {
	if u == Bytes {
		return "bytes"
	}
	return "records"
}

// Of returns the weight in one unit.
func (w Weight) Of(u Unit) int64 {
	if u == Bytes {
		return w.Bytes
	}
	return w.Records
}

// TopKey is what was counted of one key over all partitions of a profile: Lo <= true weight <= Hi in both units.
type TopKey struct {
	Key         []byte
	Lo, Hi      Weight
	First, Last int64 // smallest First and largest Last of Where; -1: no record had a timestamp
	Where       []Key // what was counted in each partition, by partition
}

// cache keeps what several callers of a profile ask for.
type cache struct {
	mu      sync.Mutex
	shared  *shared
	top     [2][]TopKey // by unit, complete up to topLen
	topLen  int
	survey  *survey
	missing *absence
	grid    *Grid
}

// NumKeys returns how many keys the partition's table holds.
func (p *Partition) NumKeys() int {
	if p.keys == nil {
		return 0
	}
	return p.keys.n
}

// EachKey calls f for each key of the partition, with the weight that is its lower bound. Keys come in the order in which
// they were first seen (in bounded mode: since they last entered the table). Key bytes are the profile's and must not be
// changed. whole returns all that is known of the key, which costs more, and is of that key during the call only.
//
// Nothing is allocated per key.
func (p *Partition) EachKey(f func(key []byte, w Weight, whole func() Key)) {
	i := 0
	whole := func() Key { return p.key(i) }
	for ; i < p.NumKeys(); i++ {
		e := p.keys.entry(i)
		f(p.keys.keyOf(e), p.weightOf(e), whole)
	}
}

// key returns entry i of the partition.
func (p *Partition) key(i int) Key {
	e := p.keys.entry(i)
	lo, hi := p.keys.bounds(e)
	if p.Mode == Sampled {
		lo, hi = p.factor.of(lo), p.factor.of(hi)
	}
	return Key{Key: p.keys.keyOf(e), Partition: p.ID, Lo: lo, Hi: hi, First: e.first, Last: e.last}
}

// Lookup returns what was counted of a key; false when no table holds it. key must not be nil.
func (p *Profile) Lookup(key []byte) (TopKey, bool) {
	h := xxh3.Hash128(key)
	var group []place
	for i := range p.Partitions {
		if t := p.Partitions[i].keys; t != nil {
			if at := t.find(h, key); at >= 0 {
				group = append(group, place{int32(i), int32(at)})
			}
		}
	}
	if group == nil {
		return TopKey{}, false
	}
	return p.topKey(group, p.Mode()), true
}

// topKey sums the entries of one key, given by partition, and adds to its upper bound what it can have had elsewhere. mode
// is the profile's: to find it takes a look at every partition.
func (p *Profile) topKey(group []place, mode Mode) TopKey {
	k := p.sum(group)
	if mode == Exact || p.isRefined(k.Key) {
		return k
	}
	home := int32(-1)
	for _, at := range group {
		if p.Partitions[at.part].keys.entry(int(at.entry)).meta&metaHome != 0 {
			home = at.part
		}
	}
	k.Hi = k.Hi.Add(p.absent(group, home))
	return k
}

// sum sums the entries of one key, given by partition.
func (p *Profile) sum(group []place) TopKey {
	k := TopKey{First: -1, Last: -1}
	for _, at := range group {
		in := p.Partitions[at.part].key(int(at.entry))
		k.Key = in.Key
		k.Lo, k.Hi = k.Lo.Add(in.Lo), k.Hi.Add(in.Hi)
		if in.First >= 0 && (k.First < 0 || in.First < k.First) {
			k.First = in.First
		}
		k.Last = max(k.Last, in.Last)
		k.Where = append(k.Where, in)
	}
	return k
}

// absence is what a key can have had in partitions whose tables do not hold it.
type absence struct {
	home, away       []Weight // by index of the partition: if it is the key's home, if not
	sumHome, sumAway Weight
}

// absences returns the bounds of what tables may have lost. A key that is away from where the assumed partitioner puts
// it cannot have had more there than all records that are away, which is known exactly.
func (p *Profile) absences() *absence {
	a := &absence{}
	for i := range p.Partitions {
		part := &p.Partitions[i]
		home, away := part.Missing, part.Missing
		if len(part.Placed) > 0 {
			away.Records = min(away.Records, part.Placed[0].Moved.Records)
			away.Bytes = min(away.Bytes, part.Placed[0].Moved.Bytes)
		}
		a.home, a.away = append(a.home, home), append(a.away, away)
		a.sumHome, a.sumAway = a.sumHome.Add(home), a.sumAway.Add(away)
	}
	return a
}

// absent bounds what a key can have had in the partitions outside group. home is the index of the partition where the
// assumed partitioner puts it, -1 when that is not known.
func (p *Profile) absent(group []place, home int32) Weight {
	a := p.absencesOnce()
	by, sum := a.home, a.sumHome
	if home >= 0 {
		by, sum = a.away, a.sumAway
	}
	for _, at := range group {
		sum = sum.Sub(by[at.part])
	}
	return sum
}

// Missing returns the largest weight that a key can have which is in no partition's table; zero in exact mode.
func (p *Profile) Missing() Weight {
	if p.Mode() == Exact {
		return Weight{}
	}
	a := p.absencesOnce()
	var m Weight
	for i := range p.Partitions {
		if p.Partitions[i].spread {
			return a.sumHome
		}
		w := a.sumAway.Sub(a.away[i]).Add(a.home[i])
		m = Weight{max(m.Records, w.Records), max(m.Bytes, w.Bytes)}
	}
	return m
}

func (p *Profile) absencesOnce() *absence {
	c := p.cache
	if c == nil {
		return p.absences()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.missing == nil {
		c.missing = p.absences()
	}
	return c.missing
}
