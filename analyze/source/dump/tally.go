package dump

import (
	"bytes"
	"math"

	"github.com/zeebo/xxh3"

	"keyspread/analyze/source"
)

// A tally counts the keys that come often before they are handed on: most lines of a skewed file then cost a look into a
// processor's cache, and neither the partitioner nor the sink sees them one by one.
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
	count     uint32 // at most mostWaiting lines, those of a window and of a chunk: below 2^27
	partition int32
	size      uint8
	key       [slotKey]byte
}

const (
	slotBits    = 15       // 256 KiB of votes, and 2 MiB of slots, of which few are often used
	slotKey     = 55       // longer keys are handed on as they come
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

// longKey seems to hold no slot, neither a free one nor, but for one hash in 2^56, one that a key has.
const longKey = math.MaxUint64

// lineBlock is lines of a chunk that are not tallied yet.
type lineBlock struct {
	n        int
	from, to [blockLen]int    // of the key in the chunk
	hash     [blockLen]uint64 // longKey of a key that is too long for a slot
	line     [blockLen]int64
}

// keyLines is [reader.lines] for a file of keys.
func (r *reader) keyLines(b []byte, used int, last bool) (int, error) {
	var block lineBlock
	var err error
	for err == nil {
		from := used
		end := bytes.IndexByte(b[from:], '\n')
		if end < 0 && (!last || from == len(b)) {
			break
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
		if r.tally.rest > 0 { // and no line waits
			if err = r.takeOne(b[from:end]); err != nil {
				err = r.at(r.line, err)
			}
			continue
		}
		n := block.n
		block.from[n], block.to[n], block.line[n] = from, end, r.line
		block.hash[n] = longKey
		if end-from <= slotKey {
			block.hash[n] = xxh3.Hash(b[from:end])
		}
		if block.n = n + 1; block.n == blockLen {
			err = r.tallyBlock(b, &block)
		}
	}
	if err == nil {
		err = r.tallyBlock(b, &block)
	}
	return used, err
}

// tallyBlock tallies the lines that wait, which are b's, and empties the block. Those whose key seems to hold its slot come
// first. They are told from the others without a branch: a processor would guess wrong at every fifth line, and forget what
// it had begun to load for the next ones.
func (r *reader) tallyBlock(b []byte, block *lineBlock) error {
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
			if err := r.vote(block.hash[i], b[block.from[i]:block.to[i]:block.to[i]]); err != nil {
				return r.at(block.line[i], err)
			}
		}
	}
	return nil
}

// vote counts a line in its slot, or lets it contend for that.
func (r *reader) vote(hash uint64, key []byte) error {
	if len(key) > slotKey {
		return r.takeOne(key)
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
		return nil
	}
	if *vote&credits > 1 {
		*vote--
		return r.takeOne(key)
	}
	return r.seize(vote, s, hash, key)
}

// seize gives a slot to another key.
func (r *reader) seize(vote *uint64, s *slot, hash uint64, key []byte) error {
	partition, fixed, err := r.partition(key)
	if err != nil {
		return err
	}
	if !fixed {
		return r.add(partition, key, 1)
	}
	if t := r.tally; s.count > 0 {
		from := len(t.evicts)
		t.evicts = append(t.evicts, s.key[:s.size]...) // an earlier key keeps the memory it was copied to
		if err := r.add(s.partition, t.evicts[from:], int64(s.count)); err != nil {
			return err
		}
	}
	*vote = hash&^credits | firstCredit
	s.count, s.partition, s.size = 1, partition, uint8(len(key))
	copy(s.key[:], key)
	return nil
}

// takeOne adds one line that is not tallied.
func (r *reader) takeOne(key []byte) error {
	partition, _, err := r.partition(key)
	if err != nil {
		return err
	}
	return r.add(partition, key, 1)
}

// add appends a key's lines to its partition.
func (r *reader) add(partition int32, key []byte, count int64) error {
	if !r.wanted[partition] {
		return nil
	}
	p := &r.parts[partition]
	p.records = append(p.records, source.Record{Offset: p.next, Timestamp: -1, Key: key})
	p.counts = append(p.counts, count)
	p.next += count
	p.bytes += count * int64(len(key)+1)
	if len(p.records) == batchRecords {
		return r.handOn(partition)
	}
	return nil
}

// endChunk tells the tally that a chunk was taken, which may be the last one of its window or of the file.
func (r *reader) endChunk(last bool) error {
	t := r.tally
	if t == nil {
		return nil
	}
	lines := r.line - t.start
	if lines < t.window && !last {
		return nil
	}
	t.start = r.line
	if t.rest > 0 {
		t.rest--
		return nil
	}
	if t.hits*worthHits < lines {
		t.rest = restWindows
	}
	t.hits = 0
	waiting := r.line - t.handed
	if t.rest == 0 && !last && waiting < min(t.handed, mostWaiting) {
		return nil
	}
	t.handed = r.line
	return r.handOnTally()
}

// handOnTally adds what the slots count to the partitions. Keys keep their slots: most come again.
func (r *reader) handOnTally() error {
	for i := range r.tally.slots {
		if s := &r.tally.slots[i]; s.count > 0 {
			if err := r.add(s.partition, s.key[:s.size:s.size], int64(s.count)); err != nil {
				return err
			}
			s.count = 0
		}
	}
	return nil
}
