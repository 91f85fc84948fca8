package placement

import (
	"bytes"
	"cmp"
	"slices"
)

// Cause is why a key is in more than one partition.
type Cause uint8

// The causes.
const (
	CauseUnknown    Cause = iota // no known partitioner under any count tried explains all of its partitions
	CausePastCount               // one partitioner, before and after partitions were added
	CauseTwoWriters              // two partitioners
	CauseFixed                   // a writer that uses one partition whatever the key
	CauseKeyIgnored              // records are spread without looking at the key
)

// String returns the cause's name in reports and JSON.
func (c Cause) String() string {
	switch c {
	case CausePastCount:
		return "past-count"
	case CauseTwoWriters:
		return "two-partitioners"
	case CauseFixed:
		return "explicit-partition"
	case CauseKeyIgnored:
		return "key-ignored"
	}
	return "unexplained"
}

// phrase names the cause in a sentence.
func (c Cause) phrase() string {
	switch c {
	case CausePastCount:
		return "a past partition count"
	case CauseTwoWriters:
		return "two partitioners"
	case CauseFixed:
		return "a writer to one partition whatever the key"
	case CauseKeyIgnored:
		return "a partitioner that ignores keys"
	}
	return "none found"
}

// SeveralKey is a key with records in more than one partition.
type SeveralKey struct {
	Key     []byte
	Records int64
	Cause   Cause
	Where   []Example // by partition
}

// scattered is the share of keys of several records that must be in several partitions, when no writer is known, for
// keys to be called ignored.
const scattered = 0.5

// several lists the keys that are in more than one partition.
func (pl *Placement) several() {
	pairs := pl.detector.ev.pairs
	order := make([]int, len(pairs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(bytes.Compare(pairs[a].key, pairs[b].key), cmp.Compare(pairs[a].partition, pairs[b].partition))
	})
	repeated, apart := 0, 0
	var list []SeveralKey
	var groups [][]int
	for len(order) > 0 {
		n, records := 1, pairs[order[0]].records
		for n < len(order) && bytes.Equal(pairs[order[n]].key, pairs[order[0]].key) {
			records += pairs[order[n]].records
			n++
		}
		if records > 1 {
			repeated++
		}
		if n > 1 {
			apart++
			list = append(list, SeveralKey{Key: pairs[order[0]].key, Records: records})
			groups = append(groups, order[:n])
		}
		order = order[n:]
	}
	pl.SeveralCompared = int64(apart)
	if repeated > 0 {
		pl.Scattered = float64(apart) / float64(repeated)
	}
	at := make([]int, len(list))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(list[b].Records, list[a].Records) })
	causes := map[Cause]int64{}
	for rank, i := range at {
		k := &list[i]
		k.Cause = pl.cause(groups[i])
		causes[k.Cause]++
		if rank < pl.cfg.Listed {
			for _, g := range groups[i] {
				k.Where = append(k.Where, pairs[g].example())
			}
			pl.Several = append(pl.Several, *k)
		}
	}
	for c := CauseUnknown; c <= CauseKeyIgnored; c++ {
		if causes[c] > 0 {
			pl.Causes = append(pl.Causes, CauseCount{c, causes[c]})
		}
	}
}

// CauseCount is how many keys are in several partitions for one cause.
type CauseCount struct {
	Cause Cause
	Keys  int64
}

// cause tells why the placements of one key differ.
func (pl *Placement) cause(group []int) Cause {
	var used []*Writer
	fixed := false
	for _, i := range group {
		var by *Writer
		for w := range pl.Writers {
			if !pl.detector.writers[pl.writerAt[w]].match[i] {
				continue
			}
			// A partitioner explains more than a partition that everything is put into; writers come by their share.
			if by == nil || by.Fixed >= 0 {
				by = &pl.Writers[w]
			}
		}
		if by == nil {
			if pl.ignoresKeys() {
				return CauseKeyIgnored
			}
			return CauseUnknown
		}
		fixed = fixed || by.Fixed >= 0
		used = append(used, by)
	}
	if fixed {
		return CauseFixed
	}
	for _, w := range used[1:] {
		if !sameRule(used[0], w) {
			return CauseTwoWriters
		}
	}
	return CausePastCount
}

// ignoresKeys reports whether a key's partition is no function of the key.
func (pl *Placement) ignoresKeys() bool {
	return pl.Scattered > scattered && pl.Other.Records.Share > scattered
}
