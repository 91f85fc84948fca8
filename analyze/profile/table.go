package profile

import (
	"bytes"
	"math"
	"math/bits"

	"github.com/zeebo/xxh3"
)

// An entry is one key of a partition. It fills one cache line and holds no pointer.
type entry struct {
	lo, hi         uint64 // xxh3-128 of the key: its identity
	records, bytes int64  // counted since the key entered the table
	first, last    int64  // timestamps of the first and last record counted, ms; -1: none had one
	key            uint64 // arena reference
	size           uint32 // key length
	meta           uint32 // epoch<<metaEpoch | home | sample level
}

// The bits of entry.meta.
const (
	metaLevel = 1<<6 - 1 // level in the key sample, see sample.go
	metaHome  = 1 << 6   // the assumed partitioner puts the key where it is
	metaEpoch = 7        // the rest: the purge after which the key entered the table, an index of table.errs
	maxEpoch  = 1<<(32-metaEpoch) - 1
)

const (
	entryBytes = 64
	firstSlots = 64
	firstSlab  = 64 // entries; the first chunk of the slab doubles until it is a full one, so that small partitions stay small

	chunkShare = 32      // chunks take at most this part of a table's budget, so that the one being filled is little beside it
	minChunk   = 4 << 10 // bytes
	maxSlab    = 256 << 10
	maxChunk   = 64 << 10 // of an arena
)

// table counts the keys of one partition. Slots are open addressed with linear probing: the high half of a slot is a
// tag of the key's hash, the low half 1 + the index of its entry; 0 is a free slot. The tag's low bits are where probing
// starts, so that slots can be moved to a larger array without a look at their entries. Entries lie in the order in which
// their keys entered.
//
// It is exact until the next key would take it over its budget; see [table.purge] for what happens then.
type table struct {
	slots  []uint64
	mask   uint64
	slab   [][]entry
	shift  uint8 // log2 of the entries per chunk of the slab
	n      int   // entries in use
	arena  arena
	budget int64
	verify bool

	// evicted takes the counts of keys that leave; see [placed.addAll].
	evicted func(keys [][]byte, ws []Weight, home []bool) error

	errs   []Weight // nil: exact. errs[i]: the most a key that entered in epoch i can have had before
	sample *sample  // nil: exact
	purges int
}

func newTable(budget int64, verify bool) *table {
	return &table{
		slots: make([]uint64, firstSlots), mask: firstSlots - 1, budget: budget, verify: verify,
		shift: uint8(bits.Len64(uint64(chunkBytes(budget, maxSlab)/entryBytes)) - 1),
		arena: arena{chunk: int(chunkBytes(budget, maxChunk))},
	}
}

// chunkBytes is the power of two that chunks of a table with a budget take.
func chunkBytes(budget, most int64) int64 {
	size := most
	for size > minChunk && size > budget/chunkShare {
		size /= 2
	}
	return size
}

func (t *table) entry(i int) *entry { return &t.slab[i>>(t.shift&63)][i&(1<<(t.shift&63)-1)] }

func (t *table) keyOf(e *entry) []byte { return t.arena.get(e.key, e.size) }

func (e *entry) weight() Weight { return Weight{e.records, e.bytes} }

// is reports whether e counts the key with hash h.
func (t *table) is(e *entry, h xxh3.Uint128, key []byte) bool {
	return e.lo == h.Lo && e.hi == h.Hi && (!t.verify || bytes.Equal(t.keyOf(e), key))
}

// tagOf is the tag of a hash; a table has at most 2^32 slots.
func tagOf(h xxh3.Uint128) uint64 { return h.Lo & math.MaxUint32 }

// find returns the index of the key with hash h, or -1.
func (t *table) find(h xxh3.Uint128, key []byte) int {
	tag := tagOf(h)
	for i := h.Lo & t.mask; ; i = (i + 1) & t.mask {
		s := t.slots[i]
		if s == 0 {
			return -1
		}
		if s>>32 == tag {
			if at := int(uint32(s)) - 1; t.is(t.entry(at), h, key) {
				return at
			}
		}
	}
}

// findHash returns the index of a key with hash h, or -1.
func (t *table) findHash(h xxh3.Uint128) int {
	tag := tagOf(h)
	for i := h.Lo & t.mask; t.slots[i] != 0; i = (i + 1) & t.mask {
		if s := t.slots[i]; s>>32 == tag {
			at := int(uint32(s)) - 1
			if e := t.entry(at); e.lo == h.Lo && e.hi == h.Hi {
				return at
			}
		}
	}
	return -1
}

// enter adds a key that is not in the table and returns its entry, with zero counts and no time.
func (t *table) enter(h xxh3.Uint128, key []byte) (*entry, error) {
	if err := t.makeRoom(len(key)); err != nil {
		return nil, err
	}
	e := t.next()
	*e = entry{lo: h.Lo, hi: h.Hi, first: -1, last: -1, key: t.arena.put(key), size: uint32(len(key))}
	t.link(t.n, e)
	t.n++
	if t.errs != nil {
		e.meta = uint32(len(t.errs)-1) << metaEpoch
		t.sample.enter(e, key)
	}
	return e, nil
}

// next returns the entry after the last one in use.
func (t *table) next() *entry {
	c, full := t.n>>t.shift, 1<<t.shift
	switch {
	case c == len(t.slab) && c > 0:
		t.slab = append(t.slab, make([]entry, full))
	case c == len(t.slab):
		t.slab = append(t.slab, make([]entry, firstSlab))
	case t.n == len(t.slab[0]) && t.n < full:
		grown := make([]entry, 2*t.n)
		copy(grown, t.slab[0])
		t.slab[0] = grown
	}
	return t.entry(t.n)
}

// link points a slot to entry i.
func (t *table) link(i int, e *entry) {
	t.fill(tagOf(e.hash())<<32 | uint64(i+1))
}

// fill puts a slot's value into the first free one from where its tag says.
func (t *table) fill(slot uint64) {
	at := slot >> 32 & t.mask
	for t.slots[at] != 0 {
		at = (at + 1) & t.mask
	}
	t.slots[at] = slot
}

// relink points the slots to all entries.
func (t *table) relink() {
	clear(t.slots)
	for i := range t.n {
		t.link(i, t.entry(i))
	}
}

// tight reports whether n entries fill a share of the slots that makes probing slow: more than 3/4.
func (t *table) tight(n int) bool { return 4*n > 3*len(t.slots) }

// memory is the bytes in use, chunks counted as far as they are filled.
func (t *table) memory() int64 {
	return int64(len(t.slots))*8 + int64(t.n)*entryBytes + t.arena.used
}

// makeRoom lets one more key of the given size in: it grows the slots, or purges when that or the key itself would
// take the table over its budget. A key that is larger than what a purge can free is let in nevertheless.
func (t *table) makeRoom(size int) error {
	need := t.memory() + entryBytes + int64(size)
	if t.tight(t.n + 1) {
		need += int64(len(t.slots)) * 8
	}
	if need > t.budget && t.n > 0 {
		if err := t.purge(); err != nil {
			return err
		}
	}
	if t.tight(t.n + 1) {
		t.resize()
	}
	return nil
}

// resize doubles the slots. The new ones are written in two passes side by side, so it costs little beside their number.
func (t *table) resize() {
	old := t.slots
	t.slots = make([]uint64, 2*len(old))
	t.mask = uint64(len(t.slots) - 1)
	for _, s := range old {
		if s != 0 {
			t.fill(s)
		}
	}
}

// missing is the most a key that is not in the table can have had.
func (t *table) missing() Weight {
	if t.errs == nil {
		return Weight{}
	}
	return t.errs[len(t.errs)-1]
}

// lost is the most that an entry's key can have had before it entered.
func (t *table) lost(e *entry) Weight {
	if t.errs == nil {
		return Weight{}
	}
	return t.errs[e.meta>>metaEpoch]
}

// bounds returns the bounds of an entry's true weight.
func (t *table) bounds(e *entry) (lo, hi Weight) {
	lo = e.weight()
	return lo, lo.Add(t.lost(e))
}

// level returns how many of the highest 63 bits of a sample rank are zero, at most 63.
func level(rank uint64) uint32 { return uint32(bits.LeadingZeros64(rank) - 1) }
