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
// The removed keys' counts go to t.evicted, up to 1024 keys at a time. Quantiles are taken over at most 4096 entries,
// evenly spaced, so what a purge removes depends on the records before it and on nothing else.
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

// leaving is the memory for keys on their way out of a table: they are placed together, as their bytes are overwritten
// and a partitioner in another process is asked once for all of them.
type leaving struct {
	bytes []byte // of the keys, one after another
	keys  [placeBlock][]byte
	ws    [placeBlock]Weight
	home  [placeBlock]bool
	n     int
}

var leavings = sync.Pool{New: func() any { return &leaving{bytes: make([]byte, 0, leavingBytes)} }}

// leavingBytes is how many bytes of keys leave together.
const leavingBytes = 64 << 10

// full reports whether there is no room for another key.
func (l *leaving) full() bool { return l.n == placeBlock || len(l.bytes) >= leavingBytes }

// add takes a key; there must be room for it.
func (l *leaving) add(key []byte, w Weight) {
	from := len(l.bytes)
	l.bytes = append(l.bytes, key...) // an earlier key keeps the memory it was copied to
	l.keys[l.n], l.ws[l.n] = l.bytes[from:], w
	l.n++
}

// flush gives the keys to the table's taker.
func (l *leaving) flush(t *table) error {
	err := t.evicted(l.keys[:l.n], l.ws[:l.n], l.home[:l.n])
	clear(l.keys[:l.n])
	l.bytes, l.n = l.bytes[:0], 0
	return err
}

// removeLight removes the entries without credit and closes the gaps they leave.
func (t *table) removeLight() error {
	var first error
	out := leavings.Get().(*leaving)
	defer leavings.Put(out)
	flush := func() {
		if err := out.flush(t); err != nil && first == nil {
			first = err
		}
	}
	keys := t.arena.compact()
	kept := 0
	for i := range t.n {
		e := t.entry(i)
		if !t.sample.pins(e) && t.credit(e) == (Weight{}) {
			off := uint32(e.key)
			key := keys.old[e.key>>32][off : off+e.size : off+e.size]
			if out.add(key, e.weight()); out.full() {
				flush()
			}
			continue
		}
		e.key = keys.move(e.key, e.size)
		*t.entry(kept) = *e
		kept++
	}
	flush()
	keys.end()
	t.n = kept
	return first
}
