package dump

import (
	"bytes"
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

// A tally counts the keys that come often before they are placed and handed on: most lines of a skewed file then cost a look
// into a processor's cache, and neither the partitioner nor the sink sees them one by one.
//
// Lines have no time and no order that means anything, so they are handed on in another order: a key's lines count where it
// loses its slot, or when all slots are handed on. That is at a window's end once as many lines wait as came before them, so
// that a key that is heavy from the start is soon known as such, before a sink whose memory is full lets keys go. Which
// lines those are depends on the file and on nothing else.
//
// A slot is held by one key, by the majority vote of Boyer and Moore (1981): its lines add to its credit, other keys' lines
// take from it, and the next one takes the slot when none is left. A tally that too few keys come back to rests.
type tally struct {
	window int64 // lines, at the end of the chunk that has the last one
	slots  *[numSlots]slot
	counts *[numSlots]uint32 // lines that are not handed on yet, at most those of mostWaiting and of a chunk: below 2^27
	keys   *[numSlots]slotKey
	evicts []byte // keys that have lost their slot since the last batches were handed on
	start  int64  // lines before this window
	handed int64  // lines before the last time that the slots' counts were handed on
	hits   int64  // lines of the window that were counted in a slot that their key held
	rest   int    // windows without a tally that are left
}

// slot says which key holds it. Two of them fill a cache line.
type slot struct {
	vote uint64 // the key's vote with its credit; 0: free
	text text
}

// more is the credit that one more line of its key gives a slot.
func (s *slot) more() uint64 {
	if s.vote&credits == credits {
		return 0
	}
	return 1
}

// slotKey is the key that holds a slot.
type slotKey struct {
	size uint8
	key  [longestKey]byte
}

const (
	slotBits    = 15 // 1 MiB of slots, which stay in a processor's cache, and 2 MiB of keys, which are seldom looked at
	numSlots    = 1 << slotBits
	longestKey  = 63       // longer keys are handed on as they come
	credits     = 1<<8 - 1 // the bits of a vote that are credit, and the most it can be
	firstCredit = 4        // a key that has just taken a slot is not to lose it at once
	windowLines = 1 << 20  // after which a tally is judged
	mostWaiting = 1 << 24  // lines, after which slots are handed on at the next window's end
	restWindows = 15
	worthHits   = 4 // a tally rests when fewer than one line in so many was counted in its slot
)

func newTally(window int64) *tally {
	return &tally{window: window, slots: new([numSlots]slot), counts: new([numSlots]uint32), keys: new([numSlots]slotKey)}
}

// voteOf is the hash of a key with the key's length, up to textKey, and room for credit in the place of its lowest bits. The
// highest ones say which slot it contends for. No key has the vote 0.
func voteOf(key []byte) uint64 {
	if len(key) > longestKey {
		return 0
	}
	return xxh3.Hash(key)&^0xffff | uint64(min(len(key), textKey)+1)<<8
}

// text is all of a key below textKey, given its length: the first 8 bytes, the next 8 and the last 8. It is none of others.
type text struct{ head, next, tail uint64 }

const textKey = 25

func textOf(key []byte) text {
	n := len(key)
	switch {
	case n >= textKey:
		return text{}
	case n > 16:
		return text{binary.LittleEndian.Uint64(key), binary.LittleEndian.Uint64(key[8:]), binary.LittleEndian.Uint64(key[n-8:])}
	case n >= 8:
		return text{binary.LittleEndian.Uint64(key), 0, binary.LittleEndian.Uint64(key[n-8:])}
	}
	var t text
	for _, b := range key {
		t.head = t.head<<8 | uint64(b)
	}
	return t
}

// blockLen is how many lines are looked up together, so that the cache misses of their slots overlap. It is a power of two.
const blockLen = 32

// lineBlock is lines of a chunk that are not tallied yet.
type lineBlock struct {
	n        int
	from, to [blockLen]int    // of the key in the chunk
	vote     [blockLen]uint64 // 0 of a key that is too long for a slot
}

// keyLines is [reader.lines] for a file of keys.
func (r *reader) keyLines(b []byte, used int, last bool) (int, error) {
	var block lineBlock
	for {
		from := used
		end := bytes.IndexByte(b[from:], '\n')
		if end < 0 && (!last || from == len(b)) {
			r.tallyBlock(b, &block)
			return used, nil
		}
		if end < 0 {
			end, used = len(b), len(b)
		} else {
			end += from
			used = end + 1
		}
		if end > from && b[end-1] == '\r' {
			end--
		}
		r.line++
		switch {
		case r.tally.rest > 0: // and the block is empty
			r.wait(b[from:end], 1)
		default:
			n := block.n
			block.from[n], block.to[n], block.vote[n] = from, end, voteOf(b[from:end])
			if block.n = n + 1; block.n < blockLen {
				continue
			}
			r.tallyBlock(b, &block)
		}
		if err := r.placeSome(); err != nil {
			return used, err
		}
	}
}

// tallyBlock tallies the lines that wait, which are b's, and empties the block. Those whose key seems to hold its slot come
// first. They are told from the others without a branch: a processor would guess wrong at every fifth line, and forget what
// it had begun to load for the next ones.
func (r *reader) tallyBlock(b []byte, block *lineBlock) {
	var held, others [blockLen]uint8
	var numHeld, numOthers int
	slots, counts := r.tally.slots, r.tally.counts
	for i, vote := range block.vote[:block.n] {
		held[numHeld&(blockLen-1)], others[numOthers&(blockLen-1)] = uint8(i), uint8(i) // the mask spares a check
		holds := 0
		if (slots[vote>>(64-slotBits)].vote^vote)&^credits == 0 {
			holds = 1
		}
		numHeld += holds
		numOthers += 1 - holds
	}
	block.n = 0
	hits := int64(numHeld)
	for _, i := range held[:numHeld] {
		i &= blockLen - 1
		key, at := b[block.from[i]:block.to[i]], block.vote[i]>>(64-slotBits)
		s := &slots[at]
		if s.text != textOf(key) || len(key) >= textKey && !r.tally.keys[at].is(key) {
			others[numOthers] = i
			numOthers++
			hits--
			continue
		}
		counts[at]++
		s.vote += s.more()
	}
	r.tally.hits += hits
	for _, i := range others[:numOthers] {
		r.contend(block.vote[i], b[block.from[i]:block.to[i]:block.to[i]])
	}
}

// contend lets a line contend for a slot that its key did not hold when its block was begun.
func (r *reader) contend(vote uint64, key []byte) {
	if vote == 0 {
		r.wait(key, 1)
		return
	}
	t, at := r.tally, vote>>(64-slotBits)
	s, k := &t.slots[at], &t.keys[at]
	if (s.vote^vote)&^credits == 0 && k.is(key) { // it has got it since
		t.hits++
		t.counts[at]++
		s.vote += s.more()
		return
	}
	if s.vote&credits > 1 {
		s.vote--
		r.wait(key, 1)
		return
	}
	if n := t.counts[at]; n > 0 {
		from := len(t.evicts)
		t.evicts = append(t.evicts, k.key[:k.size]...) // an earlier key keeps the memory it was copied to
		r.wait(t.evicts[from:len(t.evicts):len(t.evicts)], int64(n))
	}
	*s = slot{vote | firstCredit, textOf(key)}
	t.counts[at] = 1
	k.size = uint8(copy(k.key[:], key))
}

func (k *slotKey) is(key []byte) bool { return string(k.key[:k.size]) == string(key) }

// wait lets a key's lines wait to be placed.
func (r *reader) wait(key []byte, lines int64) {
	w := &r.waiting
	w.keys, w.counts = append(w.keys, key), append(w.counts, lines)
}

// endChunk tells the tally that a chunk was taken, which may be the last one of its window or of the file.
func (t *tally) endChunk(r *reader, last bool) {
	lines := r.line - t.start
	if lines < t.window && !last {
		return
	}
	t.start = r.line
	if t.rest > 0 {
		t.rest--
		return
	}
	if t.hits*worthHits < lines {
		t.rest = restWindows
	}
	t.hits = 0
	waiting := r.line - t.handed
	if t.rest == 0 && !last && waiting < min(t.handed, mostWaiting) {
		return
	}
	t.handed = r.line
	for i, n := range t.counts { // keys keep their slots: most come again
		if k := &t.keys[i]; n > 0 {
			r.wait(k.key[:k.size:k.size], int64(n))
			t.counts[i] = 0
		}
	}
}
