package profile

import (
	"slices"
	"sync"
)

// How a purge chooses what leaves; see [table.purge].
const (
	purgeSample = 4096 // entries looked at
	purgeLow    = 50   // smallest quantile tried, percent
	purgeHigh   = 76   // largest one: 1 - 2*(1-0.76) > 1/2 of the sample is then below both quantiles
	purgeStep   = 2
)

// purge makes room by letting light keys go: Misra and Gries' decrement in batches, for two weights at once.
//
// Let E be what the purges so far have decremented in sum, and E(k) what it was when key k entered. The credit of an
// entry is c = max(0, count + E(k) - E). A purge takes the smallest quantile q in [0.50, 0.76] of the credits in records
// and in bytes such that at least half of the entries are at or below both, adds the two quantiles to E, and removes
// the entries whose credit is then zero in both weights. Hence
//
//	count <= true weight <= count + E(k)    for a key in the table
//	true weight <= E                        for any other key
//
// and, because each purge takes at least (1-q) n d of the credit that each record adds one to,
//
//	E <= W / ((1-q) n)                      for W records and n entries at each purge: 2W/n at q = 0.5
//
// A key that was in the table since its first record is exact. Keys of the sample never leave and are exact too.
// The removed keys' counts go to t.evicted. Quantiles are taken over at most 4096 entries, evenly spaced, so what a
// purge removes depends on the records before it and on nothing else.
//
// Cost: one pass over the entries and one over the slots.
// Source: Misra and Gries 1982; Anderson et al., IMC 2017 (batched decrement by a sampled quantile); Agarwal et al.,
// TODS 2013.
func (t *table) purge() error {
	if t.errs == nil {
		t.errs = []Weight{{}}
		t.sample = newSample(t.budget)
		for i := range t.n {
			e := t.entry(i)
			t.sample.enter(e, t.keyOf(e))
		}
	}
	t.purges++
	t.raise(t.decrement())
	err := t.removeLight()
	t.relink()
	return err
}

// raise adds d to E and opens a new epoch.
func (t *table) raise(d Weight) {
	e := t.missing().Add(d)
	if len(t.errs) > maxEpoch {
		t.errs[maxEpoch] = e // later keys share an epoch: their bounds get wider, never wrong
		return
	}
	t.errs = append(t.errs, e)
}

// look is the memory for one look at a table's credits.
type look struct {
	credits        [purgeSample]Weight
	records, sizes [purgeSample]int64
}

var looks = sync.Pool{New: func() any { return new(look) }}

// decrement returns by how much E must rise for about half of the entries to leave.
func (t *table) decrement() Weight {
	look := looks.Get().(*look)
	defer looks.Put(look)
	credits, records, sizes := look.credits[:0], look.records[:0], look.sizes[:0]
	step := max(1, (t.n+purgeSample-1)/purgeSample)
	for i := 0; i < t.n; i += step {
		if e := t.entry(i); !t.sample.pins(e) {
			c := t.credit(e)
			credits = append(credits, c)
			records, sizes = append(records, c.Records), append(sizes, c.Bytes)
		}
	}
	if len(credits) == 0 {
		return Weight{}
	}
	slices.Sort(records)
	slices.Sort(sizes)
	var d Weight
	for q := purgeLow; q <= purgeHigh; q += purgeStep {
		at := min(len(credits)-1, len(credits)*q/100)
		d = Weight{records[at], sizes[at]}
		below := 0
		for _, c := range credits {
			if c.Records <= d.Records && c.Bytes <= d.Bytes {
				below++
			}
		}
		if 2*below >= len(credits) {
			break
		}
	}
	return d
}

// credit is what an entry can still lose before it leaves.
func (t *table) credit(e *entry) Weight {
	_, hi := t.bounds(e)
	c := hi.Sub(t.missing())
	return Weight{max(0, c.Records), max(0, c.Bytes)}
}

// removeLight removes the entries without credit and closes the gaps they leave.
func (t *table) removeLight() error {
	var first error
	keys := t.arena.compact()
	kept := 0
	for i := range t.n {
		e := t.entry(i)
		if !t.sample.pins(e) && t.credit(e) == (Weight{}) {
			off := uint32(e.key)
			key := keys.old[e.key>>32][off : off+e.size : off+e.size]
			if err := t.evicted(key, e.weight()); err != nil && first == nil {
				first = err
			}
			continue
		}
		e.key = keys.move(e.key, e.size)
		*t.entry(kept) = *e
		kept++
	}
	keys.end()
	t.n = kept
	return first
}
