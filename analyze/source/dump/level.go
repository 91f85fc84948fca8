package dump

import (
	"bytes"
	"encoding/binary"

	"github.com/zeebo/xxh3"
)

// lines are keys with their votes, see [voteOf], and how many lines each stands for.
type lines struct {
	keys   [][]byte
	votes  []uint64
	counts []int64
}

func (l *lines) add(key []byte, vote uint64, count int64) {
	l.keys, l.votes, l.counts = append(l.keys, key), append(l.votes, vote), append(l.counts, count)
}

func (l *lines) reset() { l.keys, l.votes, l.counts = l.keys[:0], l.votes[:0], l.counts[:0] }

// level is a table of counts with one place for each key.
//
// A slot is held by one key, by the majority vote of Boyer and Moore (1981): its lines add to its credit, other keys' lines
// take from it, and the next one takes the slot when none is left.
type level struct {
	slots   []slot
	counts  []uint32 // by slot: lines that are not handed on yet, at most those of mostWaiting and of a chunk: below 2^27
	long    []longText
	shift   int    // of a vote, to its slot
	longest int    // keys from this length on pass
	spelt   []byte // keys that were handed on since the last reset
}

// slot says which key holds it. Two of them fill a cache line.
type slot struct {
	vote uint64 // the key's, with its credit; 0: free
	text text
}

const (
	credits     = 1<<8 - 1 // the bits of a vote that are credit, and the most it can be
	firstCredit = 4        // a key that has just taken a slot is not to lose it at once
	sizeShift   = 8        // of a vote's bits that are the key's length
)

// voteOf is the hash of a key, its lowest 16 bits replaced by 1 + the key's length, up to textKey, and room for credit.
// The highest ones say which slot it contends for. It is 0 for keys that no level takes.
func voteOf(key []byte) uint64 {
	if len(key) >= longestKey {
		return 0
	}
	return xxh3.Hash(key)&^(1<<16-1) | uint64(min(len(key), textKey)+1)<<sizeShift
}

// text is a key shorter than textKey, given its length: its first 8 bytes, the next 8 and the last 8. It is empty for longer
// ones.
type text struct{ head, next, tail uint64 }

// longText is a key shorter than longestKey.
type longText struct {
	size uint8
	key  [longestKey - 1]byte
}

const (
	textKey    = 25
	longestKey = 64
)

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

// key spells the text of a key of n bytes.
func (t *text) key(n int) (b [textKey - 1]byte) {
	switch {
	case n > 16:
		binary.LittleEndian.PutUint64(b[8:], t.next)
		fallthrough
	case n >= 8:
		binary.LittleEndian.PutUint64(b[:], t.head)
		binary.LittleEndian.PutUint64(b[n-8:], t.tail)
	default:
		for i := range n {
			b[i] = byte(t.head >> (8 * (n - 1 - i)))
		}
	}
	return b
}

// newLevel returns a level with 2^bits slots, at least 2, for keys shorter than longest.
func newLevel(bits, longest int) *level {
	return &level{
		slots: make([]slot, 1<<bits), counts: make([]uint32, 1<<bits), shift: 64 - bits, longest: longest,
		spelt: []byte{}, // an empty key is not nil
	}
}

// blockLen is how many keys are looked up together, so that the cache misses of their slots overlap. It is a power of two.
const blockLen = 32

// take counts the lines of the keys that hold their slot. What it does not hold, or not any more, is added to out. It costs
// one cache miss a key.
func (l *level) take(in lines, out *lines) {
	for from := 0; from < len(in.keys); from += blockLen {
		to := min(from+blockLen, len(in.keys))
		l.block(lines{in.keys[from:to], in.votes[from:to], in.counts[from:to]}, out)
	}
}

// block takes up to blockLen keys. Those that seem to hold their slot come first. They are told from the others without a
// branch: a processor would guess wrong at every fifth key, and forget what it had begun to load for the next ones.
func (l *level) block(in lines, out *lines) {
	slots, shift := l.slots, l.shift&63
	keys, votes, counts := in.keys, in.votes[:len(in.keys)], in.counts[:len(in.keys)]
	var held, others [blockLen]uint8
	var numHeld, numOthers int
	for i, vote := range votes {
		held[numHeld&(blockLen-1)], others[numOthers&(blockLen-1)] = uint8(i), uint8(i) // the mask spares a check
		holds := 0
		if (slots[vote>>shift].vote^vote)&^credits == 0 {
			holds = 1
		}
		numHeld += holds
		numOthers += 1 - holds
	}
	for _, i := range held[:numHeld] {
		at, key := votes[i]>>shift, keys[i]
		if s := &slots[at]; s.text == textOf(key) && (len(key) < textKey || l.isLong(at, key)) {
			l.counts[at] += uint32(counts[i])
			s.trust(counts[i])
			continue
		}
		others[numOthers] = i
		numOthers++
	}
	for _, i := range others[:numOthers] {
		l.contend(keys[i], votes[i], counts[i], out)
	}
}

// trust adds to a slot's credit.
func (s *slot) trust(lines int64) { s.vote += min(uint64(lines), credits-s.vote&credits) }

// contend lets a key contend for a slot that it did not hold when its block was begun.
func (l *level) contend(key []byte, vote uint64, count int64, out *lines) {
	if len(key) >= l.longest {
		out.add(key, vote, count)
		return
	}
	at := vote >> l.shift
	s, own := &l.slots[at], textOf(key)
	if (s.vote^vote)&^credits == 0 && s.text == own && (len(key) < textKey || l.isLong(at, key)) { // it has got it since
		l.counts[at] += uint32(count)
		s.trust(count)
		return
	}
	if s.vote&credits > uint64(count) {
		s.vote -= uint64(count)
		out.add(key, vote, count)
		return
	}
	if n := l.counts[at]; n > 0 {
		out.add(l.key(int(at)), s.vote&^credits, int64(n))
	}
	*s = slot{vote | firstCredit, own}
	s.trust(count - 1)
	l.counts[at] = uint32(count)
	if len(key) >= textKey {
		if l.long == nil {
			l.long = make([]longText, len(l.slots))
		}
		t := &l.long[at]
		t.size = uint8(copy(t.key[:], key))
	}
}

// isLong reports whether the long key that holds a slot, if one does, is key.
func (l *level) isLong(at uint64, key []byte) bool {
	return l.long != nil && bytes.Equal(l.long[at].key[:l.long[at].size], key)
}

// key spells the key that holds a slot. It is valid until reset.
func (l *level) key(at int) []byte {
	from, s := len(l.spelt), &l.slots[at]
	if n := int(s.vote>>sizeShift&credits) - 1; n < textKey {
		key := s.text.key(n)
		l.spelt = append(l.spelt, key[:n]...)
	} else {
		l.spelt = append(l.spelt, l.long[at].key[:l.long[at].size]...)
	}
	return l.spelt[from:len(l.spelt):len(l.spelt)] // where it is when the buffer moves too
}
