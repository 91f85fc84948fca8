package kafka

import (
	"encoding/binary"
	"errors"
	"fmt"

	"keyspread/analyze/source/kafka/batch"
)

// answer is a parsed Fetch response of one topic. Its slices are used again by the next parse, and its record sets
// alias the frame.
type answer struct {
	throttleMillis int32
	err            Code // of the request as a whole
	parts          []answerPart
	aborted        []batch.AbortedTxn // of all parts, one after another
}

// answerPart is the answer for one partition.
type answerPart struct {
	partition        int32
	err              Code
	highWatermark    int64
	lastStableOffset int64
	logStartOffset   int64 // -1: the version does not say
	preferredReplica int32 // -1: none
	abortedFrom      int   // its aborted transactions are answer.aborted[abortedFrom:abortedTo]
	abortedTo        int
	set              []byte // record batches, the last of them perhaps cut off
}

// parse reads the body of a Fetch response (what follows the correlation id) of version 4 to 11. Every count and length
// is checked against what is left of the body before anything is allocated, so memory stays within a small multiple of
// the body's size. A topic other than the one asked for is an error.
func (a *answer) parse(body []byte, version int16, topic string) error {
	r := reader{b: body}
	a.parts, a.aborted, a.err = a.parts[:0], a.aborted[:0], codeNone
	a.throttleMillis = r.int32()
	if version >= 7 {
		a.err = Code(r.int16())
		r.int32() // session id; there is no session
	}
	const minTopic, minAborted = 2 + 4, 8 + 8
	for range r.count(minTopic) {
		if name := r.string(); r.err == nil && string(name) != topic {
			return fmt.Errorf("reading the answer to Fetch: it is for topic \"%s\"", foreign(string(name)))
		}
		for range r.count(minPart(version)) {
			p := answerPart{logStartOffset: -1, preferredReplica: -1, abortedFrom: len(a.aborted)}
			p.partition = r.int32()
			p.err = Code(r.int16())
			p.highWatermark = r.int64()
			p.lastStableOffset = r.int64()
			if version >= 5 {
				p.logStartOffset = r.int64()
			}
			for range r.count(minAborted) {
				a.aborted = append(a.aborted, batch.AbortedTxn{ProducerID: r.int64(), FirstOffset: r.int64()})
			}
			p.abortedTo = len(a.aborted)
			if version >= 11 {
				p.preferredReplica = r.int32()
			}
			p.set = r.bytes()
			if r.err != nil {
				return fmt.Errorf("reading the answer to Fetch: %w", r.err)
			}
			a.parts = append(a.parts, p)
		}
	}
	if r.err != nil {
		return fmt.Errorf("reading the answer to Fetch: %w", r.err)
	}
	if len(r.b) > 0 {
		return fmt.Errorf("reading the answer to Fetch: %d bytes are left over", len(r.b))
	}
	return nil
}

// minPart is the size of a partition's answer without aborted transactions and records.
func minPart(version int16) int {
	n := 4 + 2 + 8 + 8 + 4 + 4
	if version >= 5 {
		n += 8
	}
	if version >= 11 {
		n += 4
	}
	return n
}

// reader takes big-endian fields off b; after the first error it returns zeros.
type reader struct {
	b   []byte
	err error
}

var (
	errShort = errors.New("it ends early")
	errCount = errors.New("it announces more than it can hold")
)

func (r *reader) take(n int) []byte {
	if r.err != nil || len(r.b) < n {
		if r.err == nil {
			r.err = errShort
		}
		return nil
	}
	taken := r.b[:n:n]
	r.b = r.b[n:]
	return taken
}

func (r *reader) int16() int16 {
	if b := r.take(2); b != nil {
		return int16(binary.BigEndian.Uint16(b))
	}
	return 0
}

func (r *reader) int32() int32 {
	if b := r.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (r *reader) int64() int64 {
	if b := r.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// count reads the length of an array whose elements take at least size bytes each; a null array has none.
func (r *reader) count(size int) int {
	n := max(int(r.int32()), 0)
	if n > len(r.b)/size {
		r.err = errCount
		return 0
	}
	return n
}

func (r *reader) string() []byte {
	n := max(int(r.int16()), 0)
	return r.take(n)
}

// bytes reads a length and as many bytes; null is none.
func (r *reader) bytes() []byte {
	n := int(r.int32())
	if n <= 0 {
		return nil
	}
	if n > len(r.b) {
		r.err = errCount
		return nil
	}
	return r.take(n)
}
