package profile

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/zeebo/xxh3"
)

// The heavy keys of each time bucket are counted beside the table, so that a key that is hot for a while only is seen.
// Errors of a few percent of one partition's bucket do no harm: a key that lifts its partition by half has a third of it.
const (
	topSlots  = 128 // of an open bucket
	topUsed   = 96  // keys that it counts at most
	topWindow = 4   // newest buckets of a partition that take records in any order; records of older ones come late
	topShift  = 6   // a key is looked at once its total is above 2^-6 of what its bucket holds so far

	// topMemory bounds the closed buckets of all partitions, and with it how many keys each keeps.
	topMemory    = 64 << 20
	topKeysMost  = 16 // kept of a bucket by each unit
	topEntrySize = 48
)

// topEntry is one key of one bucket: w was counted, up to e may have been missed.
type topEntry struct {
	hash xxh3.Uint128
	w, e Weight
}

// hi is the most the key can have in the bucket.
func (t *topEntry) hi() Weight { return t.w.Add(t.e) }

// closedTop is what is kept of a bucket.
type closedTop struct {
	keys    []topEntry // by hash
	missing Weight     // the most a key that is not in keys can have, late records left out
	late    Weight     // records that came when the bucket was no longer open: they may be any key's
}

// openTop counts the keys of a bucket: Misra-Gries for two weights, as [table.purge], in 6 KiB.
type openTop struct {
	bucket int64 // number; -1: none
	n      int
	err    Weight // what purges have taken so far
	slots  [topSlots]topEntry
}

// tops is the heavy keys of one partition over time.
type tops struct {
	keep   int // keys kept by each unit; 0: none are counted
	newest int64
	open   [topWindow]*openTop // bucket b is at b mod topWindow
	closed map[int64]*closedTop
	cur    *openTop // of the grid's current bucket; nil: late
}

// topKeep says how many keys each bucket keeps by each unit when there are so many partitions and buckets.
func topKeep(partitions, buckets int) int {
	return min(topKeysMost, topMemory/topEntrySize/2/max(1, partitions)/buckets)
}

// seek makes bucket b the current one. lost bounds what the key table has forgotten of any key; cell is what a bucket
// holds.
func (t *tops) seek(b int64, lost Weight, cell func(int64) Weight) {
	if t.keep == 0 {
		return
	}
	t.newest = max(t.newest, b)
	at := &t.open[b%topWindow]
	switch {
	case *at != nil && (*at).bucket == b:
		t.cur = *at
		return
	case b <= t.newest-topWindow:
		t.cur = nil
		return
	case *at == nil:
		*at = &openTop{bucket: -1}
	}
	o := *at
	t.close(o, lost, cell)
	*o = openTop{bucket: b}
	if c := t.closed[b]; c != nil { // open again
		o.err = c.missing
		for i := range c.keys {
			o.put(&c.keys[i])
		}
	}
	t.cur = o
}

// add counts a record of the current bucket: its size, the table's entry with the record already counted, what the
// table may have lost of the key before, and what the bucket holds.
func (t *tops) add(h xxh3.Uint128, size int64, e *entry, lost, cell Weight) {
	o := t.cur
	if o == nil {
		return
	}
	i := h.Hi % topSlots
	for o.slots[i].w.Records != 0 {
		if s := &o.slots[i]; s.hash == h {
			s.w.Records++
			s.w.Bytes += size
			return
		}
		i = (i + 1) % topSlots
	}
	light := Weight{cell.Records >> topShift, cell.Bytes >> topShift}
	if e.records <= light.Records && e.bytes <= light.Bytes {
		return
	}
	if o.n == topUsed {
		o.purge()
	}
	before := Weight{min(light.Records, e.records-1), min(light.Bytes, e.bytes-size)}
	o.put(&topEntry{h, Weight{1, size}, o.err.Add(before).Add(lost)})
}

// late counts a record whose bucket takes no more keys.
func (t *tops) late(b, size int64) {
	c := t.closed[b]
	if c == nil {
		c = &closedTop{}
		t.closed[b] = c
	}
	c.late = c.late.Add(Weight{1, size})
}

// put adds a key that is not there.
func (o *openTop) put(e *topEntry) {
	i := e.hash.Hi % topSlots
	for o.slots[i].w.Records != 0 {
		i = (i + 1) % topSlots
	}
	o.slots[i] = *e
	o.n++
}

// purge removes at least half of the keys: those with least credit in both units. Quantiles are taken by powers of two,
// so no sort is needed.
func (o *openTop) purge() {
	var byRecords, byBytes [65]int
	credit := func(s *topEntry) (r, b int64) {
		return max(0, s.w.Records+s.e.Records-o.err.Records), max(0, s.w.Bytes+s.e.Bytes-o.err.Bytes)
	}
	for i := range o.slots {
		if s := &o.slots[i]; s.w.Records != 0 {
			r, b := credit(s)
			byRecords[bits.Len64(uint64(r))]++
			byBytes[bits.Len64(uint64(b))]++
		}
	}
	// at most a quarter is above each of the two, so half is below both
	maxR, maxB := quantile(&byRecords, o.n*3/4), quantile(&byBytes, o.n*3/4)
	old, was := o.slots, o.err
	var gone [topSlots]bool
	d := Weight{}
	for i := range old {
		if s := &old[i]; s.w.Records != 0 {
			if r, b := credit(s); bits.Len64(uint64(r)) <= maxR && bits.Len64(uint64(b)) <= maxB {
				d = Weight{max(d.Records, r), max(d.Bytes, b)}
				gone[i] = true
			}
		}
	}
	o.slots = [topSlots]topEntry{}
	o.n = 0
	o.err = was.Add(d)
	for i := range old {
		if old[i].w.Records != 0 && !gone[i] {
			o.put(&old[i])
		}
	}
}

// quantile returns the first index up to which at least n are counted.
func quantile(count *[65]int, n int) int {
	sum := 0
	for i, c := range count {
		if sum += c; sum >= n {
			return i
		}
	}
	return len(count) - 1
}

// close moves an open bucket to the closed ones.
func (t *tops) close(o *openTop, lost Weight, cell func(int64) Weight) {
	if o.bucket < 0 {
		return
	}
	w := cell(o.bucket)
	c := t.closed[o.bucket]
	if c == nil {
		c = &closedTop{}
		t.closed[o.bucket] = c
	}
	c.missing = o.err.Add(Weight{w.Records >> topShift, w.Bytes >> topShift}).Add(lost)
	c.keys = make([]topEntry, 0, o.n)
	for i := range o.slots {
		if o.slots[i].w.Records != 0 {
			c.keys = append(c.keys, o.slots[i])
		}
	}
	slices.SortFunc(c.keys, func(a, b topEntry) int { return compareHash(a.hash, b.hash) })
	c.shorten(t.keep)
	o.bucket = -1
}

// closeAll closes every open bucket.
func (t *tops) closeAll(lost Weight, cell func(int64) Weight) {
	for _, o := range t.open {
		if o != nil {
			t.close(o, lost, cell)
		}
	}
	t.cur = nil
}

// double joins the buckets 2b and 2b+1 to bucket b. All buckets must be closed.
func (t *tops) double() {
	t.newest >>= 1
	joined := make(map[int64]*closedTop, len(t.closed)/2+1)
	for b, c := range t.closed {
		if b&1 == 1 && t.closed[b-1] != nil {
			continue // with its even neighbour
		}
		if next := t.closed[b|1]; b&1 == 0 && next != nil {
			c.join(next)
			c.shorten(t.keep)
		}
		joined[b>>1] = c
	}
	t.closed = joined
}

// join adds the bucket o to c.
func (c *closedTop) join(o *closedTop) {
	var keys []topEntry
	a, b := c.keys, o.keys
	for len(a) > 0 || len(b) > 0 {
		order := 0
		switch {
		case len(b) == 0:
			order = -1
		case len(a) == 0:
			order = 1
		default:
			order = compareHash(a[0].hash, b[0].hash)
		}
		switch {
		case order < 0:
			keys = append(keys, topEntry{a[0].hash, a[0].w, a[0].e.Add(o.missing)})
			a = a[1:]
		case order > 0:
			keys = append(keys, topEntry{b[0].hash, b[0].w, b[0].e.Add(c.missing)})
			b = b[1:]
		default:
			keys = append(keys, topEntry{a[0].hash, a[0].w.Add(b[0].w), a[0].e.Add(b[0].e)})
			a, b = a[1:], b[1:]
		}
	}
	c.keys = keys
	c.missing = c.missing.Add(o.missing)
	c.late = c.late.Add(o.late)
}

func compareHash(a, b xxh3.Uint128) int {
	return cmp.Or(cmp.Compare(a.Hi, b.Hi), cmp.Compare(a.Lo, b.Lo))
}

// shorten keeps the n keys heaviest in records and the n heaviest in bytes, in their order.
func (c *closedTop) shorten(n int) {
	if len(c.keys) <= n {
		return
	}
	stay := make([]bool, len(c.keys))
	order := make([]int, len(c.keys))
	for _, u := range []Unit{Records, Bytes} {
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(i, j int) int {
			a, b := &c.keys[i], &c.keys[j]
			return cmp.Or(cmp.Compare(b.w.Of(u), a.w.Of(u)), compareHash(a.hash, b.hash))
		})
		for _, i := range order[:n] {
			stay[i] = true
		}
	}
	kept := make([]topEntry, 0, 2*n)
	for i := range c.keys {
		if k := &c.keys[i]; stay[i] {
			kept = append(kept, *k)
		} else {
			c.drop(k)
		}
	}
	c.keys = kept
}

// drop lets a key go that is no longer listed.
func (c *closedTop) drop(k *topEntry) {
	hi := k.hi()
	c.missing = Weight{max(c.missing.Records, hi.Records), max(c.missing.Bytes, hi.Bytes)}
}
