package profile

// Key bytes are packed into chunks that hold no pointers, so the collector never looks at single keys.
const (
	firstChunk = 1 << 10 // bytes; the first chunk doubles until it is a full one, so that small partitions stay small
	ownShare   = 16      // keys longer than this part of a full chunk get a chunk to themselves
)

// arena stores byte strings. A reference is the chunk's index in the high 32 bits and the offset in the low ones.
type arena struct {
	chunk  int // bytes of a full chunk, a power of two
	chunks [][]byte
	open   int      // 1 + index of the chunk that is being filled; 0: none
	used   int64    // bytes stored
	spare  [][]byte // full chunks that are not in use
}

// get returns the n bytes at ref. They stay valid until the next compaction.
func (a *arena) get(ref uint64, n uint32) []byte {
	off := uint32(ref)
	return a.chunks[ref>>32][off : off+n : off+n]
}

// put stores a copy of key and returns its reference.
func (a *arena) put(key []byte) uint64 {
	a.used += int64(len(key))
	if len(key) > a.chunk/ownShare {
		return a.keep(append([]byte(nil), key...))
	}
	if a.open == 0 {
		a.start(make([]byte, 0, firstChunk))
	}
	c := a.chunks[a.open-1]
	for len(c)+len(key) > cap(c) && cap(c) < a.chunk {
		c = append(make([]byte, 0, 2*cap(c)), c...)
	}
	if len(c)+len(key) > cap(c) {
		c = a.start(a.full())
	}
	ref := uint64(a.open-1)<<32 | uint64(len(c))
	a.chunks[a.open-1] = append(c, key...)
	return ref
}

// keep adds a chunk that is one key.
func (a *arena) keep(key []byte) uint64 {
	a.chunks = append(a.chunks, key)
	return uint64(len(a.chunks)-1) << 32
}

// start makes the empty chunk c the one to fill.
func (a *arena) start(c []byte) []byte {
	a.chunks = append(a.chunks, c)
	a.open = len(a.chunks)
	return c
}

// full returns an empty full chunk.
func (a *arena) full() []byte {
	if n := len(a.spare); n > 0 {
		c := a.spare[n-1]
		a.spare = a.spare[:n-1]
		return c[:0]
	}
	return make([]byte, 0, a.chunk)
}

// compaction moves the keys that stay, in the order in which they were put, into as few chunks as they need. Chunks
// that have been read to their end are filled again, so it needs one chunk more than the arena had.
type compaction struct {
	a    *arena
	old  [][]byte
	read int // chunks of old before this one have been read
}

// compact starts a compaction. References from before it are only good for [compaction.move].
func (a *arena) compact() compaction {
	m := compaction{a: a, old: a.chunks}
	a.chunks, a.open, a.used = make([][]byte, 0, len(m.old)), 0, 0
	return m
}

// move keeps the n bytes at the old reference ref and returns their new reference. References must rise.
func (m *compaction) move(ref uint64, n uint32) uint64 {
	m.passed(int(ref >> 32))
	off := uint32(ref)
	key := m.old[ref>>32][off : off+n : off+n]
	a := m.a
	if int(n) > a.chunk/ownShare {
		a.used += int64(n)
		m.old[ref>>32] = nil // its chunk stays the key's, also when its capacity is that of a full one
		return a.keep(key)
	}
	if a.open == 0 {
		a.start(a.full())
	}
	return a.put(key)
}

// passed frees the chunks of old before c.
func (m *compaction) passed(c int) {
	for ; m.read < c; m.read++ {
		if cap(m.old[m.read]) == m.a.chunk {
			m.a.spare = append(m.a.spare, m.old[m.read])
		}
	}
}

// end frees what is left.
func (m *compaction) end() { m.passed(len(m.old)) }
