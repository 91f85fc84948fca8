package batch

import (
	"encoding/binary"
	"math"
)

// Record is one record without its value.
type Record struct {
	Offset     int64
	Timestamp  int64  // milliseconds since the Unix epoch; -1: none
	Key        []byte // nil: null key
	ValueSize  int32  // bytes; -1: null value
	HeaderSize int32  // bytes of header keys and header values
}

// Shape is any type with the fields of [Record]. It lets [Fill] write into a slice of the caller's own record type.
type Shape interface {
	~struct {
		Offset     int64
		Timestamp  int64
		Key        []byte
		ValueSize  int32
		HeaderSize int32
	}
}

// minRecordSize is the size of a record with null key, null value and no headers: seven fields of one byte.
const minRecordSize = 7

// decode reads records of the current batch into dst, leaving out those below the position, until dst is full or the
// batch ends. A record that makes no sense sets s.err; those before it are returned.
func decode[R Shape](s *Scanner, dst []R) int {
	if s.head.Magic < 2 {
		return decodeMessages(s, dst)
	}
	var (
		b     = s.body
		p     = s.at
		left  = s.left
		prev  = s.prev
		limit = s.head.LastOffset - s.head.BaseOffset
		from  = s.pos - s.head.BaseOffset
		n     = 0
	)
	for n < len(dst) && left > 0 {
		// A varint that is cut off or too long puts p beyond b, where the last check of p finds it.
		size, q := varint(b, p)
		if size < minRecordSize-1 || size > int64(len(b)-q) {
			s.fail(corrupt("record %d of %d: size %d with %d bytes left", s.head.Count-left, s.head.Count, size, len(b)-p))
			break
		}
		end := q + int(size)
		stamp, q := varint(b, q+1) // past the attributes, which are unused
		delta, q := varint(b, q)
		keySize, q := varint(b, q)
		var key []byte
		if keySize >= 0 && keySize <= int64(end-q) {
			key = b[q : q+int(keySize) : q+int(keySize)]
			q += int(keySize)
		} else if keySize != -1 {
			q = beyond
		}
		valueSize, q := varint(b, q)
		if valueSize >= 0 && valueSize <= int64(end-q) {
			q += int(valueSize)
		} else if valueSize != -1 {
			q = beyond
		}
		headers, q := varint(b, q)
		headerSize := 0
		if headers != 0 {
			headerSize, q = skipHeaders(b, q, end, headers)
		}
		if q != end {
			s.fail(corrupt("record %d of %d: its fields do not fill its %d bytes", s.head.Count-left, s.head.Count, size))
			break
		}
		if delta <= prev || delta > limit {
			s.fail(corrupt("record %d of %d: offset delta %d after %d, last is %d", s.head.Count-left, s.head.Count, delta, prev, limit))
			break
		}
		prev = delta
		p = end
		left--
		if delta < from {
			continue
		}
		time := s.baseTime + stamp
		if s.head.LogAppendTime {
			time = s.head.MaxTimestamp
		}
		dst[n] = R(Record{
			Offset:     s.head.BaseOffset + delta,
			Timestamp:  time,
			Key:        key,
			ValueSize:  int32(valueSize),
			HeaderSize: int32(headerSize),
		})
		n++
	}
	if left == 0 && p != len(b) && s.err == nil {
		s.fail(corrupt("%d bytes left after its %d records", len(b)-p, s.head.Count))
	}
	s.at, s.left, s.prev = p, left, prev
	return n
}

// skipHeaders passes n headers and sums up the bytes of their keys and values.
func skipHeaders(b []byte, p, end int, n int64) (size, next int) {
	if n < 0 || n > int64(end-p) {
		return 0, beyond
	}
	for range n {
		for value := range 2 {
			fieldSize, q := varint(b, p)
			switch {
			case fieldSize >= 0 && fieldSize <= int64(end-q):
				size += int(fieldSize)
				p = q + int(fieldSize)
			case fieldSize == -1 && value == 1: // a header's value may be null, its key may not
				p = q
			default:
				return 0, beyond
			}
		}
	}
	return size, p
}

// beyond is a place that no buffer reaches and that stays one after a few additions.
const beyond = math.MaxInt / 2

// varint reads a zigzag varint at b[p:] and returns the place after it, beyond when there is none.
func varint(b []byte, p int) (v int64, next int) {
	if uint(p) < uint(len(b)) && b[p] < 0x80 {
		return int64(b[p]>>1) ^ -int64(b[p]&1), p + 1
	}
	return longVarint(b, p)
}

func longVarint(b []byte, p int) (v int64, next int) {
	if p > len(b) {
		return 0, beyond
	}
	u, n := binary.Uvarint(b[p:])
	if n <= 0 {
		return 0, beyond
	}
	return int64(u>>1) ^ -int64(u&1), p + n
}
