package placement

import (
	"cmp"
	"slices"
)

// ChangeKind is what changed.
type ChangeKind uint8

// The kinds of change.
const (
	PartitionsAdded ChangeKind = iota // the same partitioner, more partitions
	Migrated                          // another partitioner
)

// String returns "partitions-added" or "partitioner-changed".
func (k ChangeKind) String() string {
	if k == Migrated {
		return "partitioner-changed"
	}
	return "partitions-added"
}

// Change is a point in time at which one writer gave way to another.
type Change struct {
	Kind          ChangeKind
	Before, After int // indexes of [Placement.Writers]

	// The change lies after LastBefore and not after FirstAfter, ms: the last time of a placement that only the old writer
	// explains, and the first of one that only the new writer does. Where both wrote side by side for a while (each
	// producer learns of new partitions at its own time) those Contrary placements are left out of the two.
	LastBefore, FirstAfter int64
	Compared               int64 // placements with a time that only one of the two explains
	Contrary               int64 // of them, those on the wrong side
}

const (
	contrary    = 0.02 // of the placements compared may be on the wrong side of a change
	leastOfSide = 5    // placements of either writer that a change needs
)

// changes looks for points in time that part the placements of two writers.
func (pl *Placement) changes() {
	for b := range pl.Writers {
		for a := range pl.Writers {
			if a == b {
				continue
			}
			if c, ok := pl.change(b, a); ok {
				pl.Changes = append(pl.Changes, c)
			}
		}
	}
	slices.SortStableFunc(pl.Changes, func(a, b Change) int { return cmp.Compare(a.FirstAfter, b.FirstAfter) })
}

// change looks for the time t that puts the fewest placements on the wrong side: those of the old writer with a record
// at t or later, and those of the new one with a record before.
func (pl *Placement) change(before, after int) (Change, bool) {
	type event struct {
		at  int64
		old bool
	}
	var events []event
	d := pl.detector
	olds, news := 0, 0
	for i := range d.ev.pairs {
		p := &d.ev.pairs[i]
		if p.first < 0 {
			continue
		}
		switch pl.only(i) {
		case before:
			events = append(events, event{p.last, true})
			olds++
		case after:
			events = append(events, event{p.first, false})
			news++
		}
	}
	if olds < leastOfSide || news < leastOfSide {
		return Change{}, false
	}
	slices.SortFunc(events, func(a, b event) int {
		if c := cmp.Compare(a.at, b.at); c != 0 {
			return c
		}
		switch { // at one time the old goes first
		case a.old == b.old:
			return 0
		case a.old:
			return -1
		}
		return 1
	})
	wrong := olds // with t before all events
	best, at := wrong, 0
	for i, e := range events {
		if e.old {
			wrong--
		} else {
			wrong++
		}
		if wrong < best {
			best, at = wrong, i+1
		}
	}
	if float64(best) > contrary*float64(len(events)) {
		return Change{}, false
	}
	c := Change{Before: before, After: after, Compared: int64(len(events)), Contrary: int64(best), LastBefore: -1, FirstAfter: -1}
	for _, e := range events[:at] {
		if e.old {
			c.LastBefore = e.at
		}
	}
	for _, e := range slices.Backward(events[at:]) {
		if !e.old {
			c.FirstAfter = e.at
		}
	}
	old, now := &pl.Writers[before], &pl.Writers[after]
	if old.NumPartitions >= now.NumPartitions || !sameRule(old, now) {
		c.Kind = Migrated
	}
	return c, c.LastBefore >= 0 && c.FirstAfter >= 0
}

// sameRule reports whether two writers can be one partitioner under two counts.
func sameRule(a, b *Writer) bool {
	if a.Over != b.Over || a.Fixed >= 0 || b.Fixed >= 0 {
		return false
	}
	is := func(id string) bool { return id == a.Partitioner || slices.Contains(a.Alike, id) }
	return is(b.Partitioner) || slices.ContainsFunc(b.Alike, is)
}

// only returns the index of the one writer that explains pair i; -1 when there is none or more than one.
func (pl *Placement) only(i int) int {
	found := -1
	for w := range pl.Writers {
		if pl.detector.writers[pl.writerAt[w]].match[i] {
			if found >= 0 {
				return -1
			}
			found = w
		}
	}
	return found
}
