package dump

import (
	"bytes"

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
	window int64    // lines, at the end of the chunk that has the last one
	votes  []uint64 // by slot: the hash of its key, the lowest bits replaced by its credit; 0: free
	slots  []slot
	evicts []byte // keys that have lost their slot since the last batches were handed on
	start  int64  // lines before this window
	handed int64  // lines before the last time that the slots' counts were handed on
	hits   int64  // lines of the window that were counted in a slot that their key held
	rest   int    // windows without a tally that are left

	touched uint64 // keeps the compiler from dropping loads that only warm the cache
}

// slot is the count of one key that is not handed on yet. It fills one cache line.
type slot struct {
	count uint32 // at most mostWaiting lines, those of a window and of a chunk: below 2^27
	size  uint8
	key   [slotKey]byte
}

const (
	slotBits    = 15       // 256 KiB of votes, and 2 MiB of slots, of which few are often used
	slotKey     = 59       // longer keys are handed on as they come
	credits     = 1<<8 - 1 // the bits of a vote that are credit, and the most it can be
	firstCredit = 4        // a key that has just taken a slot is not to lose it at once
	windowLines = 1 << 20  // after which a tally is judged
	mostWaiting = 1 << 24  // lines, after which slots are handed on at the next window's end
	restWindows = 15
	worthHits   = 4 // a tally rests when fewer than one line in so many was counted in its slot
)

func newTally(window int64) *tally {
	return &tally{window: window, votes: make([]uint64, 1<<slotBits), slots: make([]slot, 1<<slotBits)}
}

// blockLen is how many lines are looked up together, so that the cache misses of their slots overlap. It is a power of two.
const blockLen = 32

// lineBlock is lines of a chunk that are not tallied yet.
type lineBlock struct {
	n        int
	from, to [blockLen]int    // of the key in the chunk
	hash     [blockLen]uint64 // 0 of a key that is too long for a slot
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
			block.from[n], block.to[n] = from, end
			block.hash[n] = 0
			if end-from <= slotKey {
				block.hash[n] = xxh3.Hash(b[from:end])
			}
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
	t, n := r.tally, block.n
	block.n = 0
	var held, others [blockLen]uint8
	var numHeld, numOthers int
	for i, hash := range block.hash[:n] {
		held[numHeld&(blockLen-1)], others[numOthers&(blockLen-1)] = uint8(i), uint8(i) // the mask spares a check
		holds := 0
		if (t.votes[hash>>(64-slotBits)]^hash)&^credits == 0 {
			holds = 1
		}
		numHeld += holds
		numOthers += 1 - holds
	}
	for _, lines := range [...][]uint8{held[:numHeld], others[:numOthers]} {
		for _, i := range lines {
			r.vote(block.hash[i], b[block.from[i]:block.to[i]:block.to[i]])
		}
	}
}

// vote counts a line in its slot, or lets it contend for that.
func (r *reader) vote(hash uint64, key []byte) {
	if len(key) > slotKey {
		r.wait(key, 1)
		return
	}
	t, at := r.tally, hash>>(64-slotBits)
	vote, s := &t.votes[at], &t.slots[at]
	// a free slot holds the empty key, which has another hash
	if (*vote^hash)&^credits == 0 && string(s.key[:s.size]) == string(key) {
		t.hits++
		s.count++
		if *vote&credits < credits {
			*vote++
		}
		return
	}
	if *vote&credits > 1 {
		*vote--
		r.wait(key, 1)
		return
	}
	if s.count > 0 {
		from := len(t.evicts)
		t.evicts = append(t.evicts, s.key[:s.size]...) // an earlier key keeps the memory it was copied to
		r.wait(t.evicts[from:len(t.evicts):len(t.evicts)], int64(s.count))
	}
	*vote = hash&^credits | firstCredit
	s.count, s.size = 1, uint8(len(key))
	copy(s.key[:], key)
}

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
	for i := range t.slots { // keys keep their slots: most come again
		if s := &t.slots[i]; s.count > 0 {
			r.wait(s.key[:s.size:s.size], int64(s.count))
			s.count = 0
		}
	}
}
