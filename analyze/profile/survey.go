package profile

import (
	"bytes"
	"cmp"

	"keyspread/analyze/internal/parallel"
)

// Moments are sums over the keys that one partition's table holds, of their lower counts.
type Moments struct {
	Sum     Weight
	Squares [2]float64 // of the weights, by [Unit]
}

// survey is what one pass over all tables tells. Several questions need each part of it, and the tables are too large to
// be passed over for each.
type survey struct {
	moments []Moments // by index of the partition
	sampled [][]int32 // by index of the partition: the entries in the topic's key sample; nil: all are
}

// Moments returns the moments of every partition, by its index in Partitions. They are kept for the next caller and must
// not be changed.
func (p *Profile) Moments() []Moments { return p.surveyOnce().moments }

func (p *Profile) surveyOnce() *survey {
	if p.cache == nil {
		return p.survey()
	}
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	if p.cache.survey == nil {
		p.cache.survey = p.survey()
	}
	return p.cache.survey
}

// survey passes over all tables, those of several partitions at once.
func (p *Profile) survey() *survey {
	s := &survey{moments: make([]Moments, len(p.Partitions))}
	top := p.sampleLevel()
	if top > 0 {
		s.sampled = make([][]int32, len(p.Partitions))
	}
	parallel.Each(len(p.Partitions), func(i int) {
		part, m := &p.Partitions[i], &s.moments[i]
		for j := range part.NumKeys() {
			w := part.weightOf(part.keys.entry(j))
			m.Sum = m.Sum.Add(w)
			m.Squares[Records] += float64(w.Records) * float64(w.Records)
			m.Squares[Bytes] += float64(w.Bytes) * float64(w.Bytes)
			if at := (place{int32(i), int32(j)}); top > 0 && p.levelAt(at) >= top {
				s.sampled[i] = append(s.sampled[i], at.entry)
			}
		}
	})
	return s
}

// heavier reports whether k is before o in the order of [Partition.Heaviest].
func (k *Key) heavier(o *Key) bool {
	return cmp.Or(
		cmp.Compare(o.Lo.Records, k.Lo.Records), cmp.Compare(o.Hi.Records, k.Hi.Records),
		cmp.Compare(o.Lo.Bytes, k.Lo.Bytes), cmp.Compare(o.Hi.Bytes, k.Hi.Bytes),
		bytes.Compare(k.Key, o.Key),
	) < 0
}

// Heaviest is the key of a partition with the most records by its lower bound. Where counts have bounds another one may
// have more.
type Heaviest struct {
	Key
	Certain bool  // no other key of the partition can have more records; false in a sample
	Most    int64 // records that no key of the partition exceeds; an estimate in a sample
}

// Heaviest returns the key with the most records by its lower bound; false when the table holds none. Ties go by the
// upper bound, then by the bounds in bytes, then by key bytes, smallest first. It is certain where its lower bound is at
// least the upper bound of every other key, of those that the table does not hold too. It costs one pass over the table.
func (p *Partition) Heaviest() (top Heaviest, ok bool) {
	others := p.Missing.Records // the most another key can have
	for i := range p.NumKeys() {
		e := p.keys.entry(i)
		w := p.weightOf(e).Records
		if ok && w < top.Lo.Records {
			if p.Mode == Bounded {
				others = max(others, w+p.keys.lost(e).Records)
			}
			continue // before its key is fetched, which few need
		}
		switch k := p.key(i); {
		case !ok:
			top.Key, ok = k, true
		case k.heavier(&top.Key):
			others = max(others, top.Hi.Records)
			top.Key = k
		default:
			others = max(others, k.Hi.Records)
		}
	}
	keyed := p.Total.Records - p.NullKey.Records
	top.Most = max(top.Lo.Records, min(keyed, max(others, top.Hi.Records)))
	top.Certain = ok && p.Mode != Sampled && top.Lo.Records >= min(others, keyed)
	return top, ok
}
