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
func (s *Scanner) decode(dst []Record) int {
	switch {
	case s.left == 0:
		return 0
	case s.head.Magic < 2:
		return s.decodeMessages(dst)
	}
	var (
		b     = s.body
		p     = s.at
		left  = s.left
		prev  = s.prev
		base  = s.head.BaseOffset
		limit = s.head.LastOffset - base
		from  = s.pos - base
		n     = 0
	)
	for n < len(dst) && left > 0 {
		// A varint that is cut off or too long puts q beyond b, where the last check of q finds it.
		size, stamp, delta, keySize, start, q := recordHead(b, p)
		if size < minRecordSize-1 || size > int64(len(b)-start) {
			s.fail(corrupt("record %d of %d: size %d with %d bytes left", s.head.Count-left, s.head.Count, size, len(b)-p))
			break
		}
		end := start + int(size)
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
		headerSize := 0
		if q < end && b[q] == 0 { // no headers
			q++
		} else {
			headerSize, q = skipHeaders(b, q, end)
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
		// Field by field: a whole struct would be built aside and copied.
		r := &dst[n]
		r.Offset = base + delta
		r.Timestamp = s.baseTime + stamp
		r.Key = key
		r.ValueSize = int32(valueSize)
		r.HeaderSize = int32(headerSize)
		n++
	}
	if s.head.LogAppendTime {
		for i := range dst[:n] {
			dst[i].Timestamp = s.head.MaxTimestamp
		}
	}
	if left == 0 && p != len(b) && s.err == nil {
		s.fail(corrupt("%d bytes left after its %d records", len(b)-p, s.head.Count))
	}
	s.at, s.left, s.prev = p, left, prev
	return n
}

// recordHead reads the fields before a record's key: the size of what follows it at start, the timestamp delta, the offset
// delta and the size of the key at next. Most records have them in eight bytes, none longer than two; one load then
// serves all.
func recordHead(b []byte, p int) (size, stamp, delta, keySize int64, start, next int) {
	if p <= len(b)-8 {
		x := binary.LittleEndian.Uint64(b[p:])
		long := x & (x >> 8)
		u0, x, n0 := short(x)
		x >>= 8 // the attributes, which are unused
		long |= x & (x >> 8)
		u1, x, n1 := short(x)
		long |= x & (x >> 8)
		u2, x, n2 := short(x)
		long |= x & (x >> 8)
		u3, _, n3 := short(x)
		start = p + n0
		next = start + 1 + n1 + n2 + n3
		if long&0x80 == 0 && next <= p+8 {
			return unzigzag(u0), unzigzag(u1), unzigzag(u2), unzigzag(u3), start, next
		}
	}
	size, start = varint(b, p)
	stamp, next = varint(b, start+1)
	delta, next = varint(b, next)
	keySize, next = varint(b, next)
	return size, stamp, delta, keySize, start, next
}

// short takes a varint of one or two bytes off the low end of x; it must not be longer.
func short(x uint64) (u, rest uint64, n int) {
	if x&0x80 == 0 {
		return x & 0x7f, x >> 8, 1
	}
	return x&0x7f | x>>1&0x3f80, x >> 16, 2
}

func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// skipHeaders passes the headers at the end of a record and sums up the bytes of their keys and values.
func skipHeaders(b []byte, p, end int) (size, next int) {
	n, p := varint(b, p)
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

// varint reads a zigzag varint at b[p:] and returns the place after it, beyond when there is none. One load serves up to
// four bytes, so that the size of a value takes no loop.
func varint(b []byte, p int) (v int64, next int) {
	if p > len(b)-8 {
		return slowVarint(b, p)
	}
	x := binary.LittleEndian.Uint64(b[p:])
	switch {
	case x&0x80 == 0:
		return unzigzag(x & 0x7f), p + 1
	case x&0x8000 == 0:
		return unzigzag(x&0x7f | x>>1&0x3f80), p + 2
	case x&0x800000 == 0:
		return unzigzag(x&0x7f | x>>1&0x3f80 | x>>2&0x1fc000), p + 3
	case x&0x80000000 == 0:
		return unzigzag(x&0x7f | x>>1&0x3f80 | x>>2&0x1fc000 | x>>3&0xfe00000), p + 4
	}
	return slowVarint(b, p)
}

func slowVarint(b []byte, p int) (v int64, next int) {
	if p > len(b) {
		return 0, beyond
	}
	u, n := binary.Uvarint(b[p:])
	if n <= 0 {
		return 0, beyond
	}
	return unzigzag(u), p + n
}
