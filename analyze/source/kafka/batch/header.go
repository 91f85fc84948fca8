package batch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
)

// Positions of the fields that all formats share, and sizes of the fixed parts.
const (
	lengthAt = 8
	logSize  = 12 // base offset and length, not counted by length
	magicAt  = 16
	crcAt    = 12 // magic 0 and 1

	minSizeV0  = logSize + 14 // crc, magic, attributes, key length, value length
	minSizeV1  = minSizeV0 + 8
	headerSize = 61 // magic 2
)

// Bits of the attributes. The format knows a sixth, "delete horizon": it says that the base timestamp is the time after
// which tombstones may go. Record timestamps stay relative to that field, so nothing here depends on it.
const (
	codecBits        = 0x07
	appendTimeBit    = 0x08
	transactionalBit = 0x10
	controlBit       = 0x20
)

// Header is what is known of a batch before its records are read.
type Header struct {
	BaseOffset    int64 // of the first record the batch was written with; compaction may have removed it
	LastOffset    int64 // of the last one, likewise
	MaxTimestamp  int64 // milliseconds since the Unix epoch; -1: not known (magic 0)
	ProducerID    int64 // -1: neither idempotent nor transactional
	Count         int32 // records held
	LeaderEpoch   int32 // -1: not known (magic 0 and 1)
	WireSize      int   // bytes in the set, header included, compressed as it is
	Magic         int8  // 0, 1 or 2
	Codec         Codec
	LogAppendTime bool // the broker set the timestamps; all records have MaxTimestamp
	Transactional bool
	Control       bool // a transaction marker, no data
	Aborted       bool // data of an aborted transaction; only told when [Options.ReadCommitted] is set
}

// Extent is what the whole batches of a record set cover: the offsets [First, Next).
type Extent struct {
	First   int64 // of the first batch, or where reading started if that is lower
	Next    int64 // position after the last batch: where the request after this one starts
	Batches int
	Bytes   int // as stored
	CutOff  int // size of the batch that is cut off at the end; 0: none is, -1: too little of it is there to tell
}

// Walk reads the headers of a record set, checks no checksum and decompresses nothing. The extent it returns never ends
// below from. The cost is that of one header per batch.
//
// Its error is an [*Error] for the first header that makes no sense; the extent then ends before that batch.
func Walk(set []byte, from int64) (Extent, error) {
	x := Extent{First: from, Next: from}
	for {
		entry, need, err := cutEntry(set)
		if err != nil || entry == nil {
			x.CutOff = need
			return x, err
		}
		h, err := parseHeader(entry)
		if err != nil {
			return x, err
		}
		x.First = min(x.First, h.BaseOffset)
		x.Next = max(x.Next, h.LastOffset+1)
		x.Batches++
		x.Bytes += len(entry)
		set = set[len(entry):]
	}
}

// cutEntry returns the first entry of the set. At the end it returns nil: either nothing is left but the zero bytes of
// a preallocated segment, or the entry is cut off. need is then the size of the whole entry, -1 when too little of it is
// there to tell.
func cutEntry(set []byte) (entry []byte, need int, err error) {
	if len(set) < logSize {
		if isZero(set) {
			return nil, 0, nil
		}
		return nil, -1, nil
	}
	offset := int64(binary.BigEndian.Uint64(set))
	length := int32(binary.BigEndian.Uint32(set[lengthAt:]))
	if length == 0 && offset == 0 && isZero(set) {
		return nil, 0, nil
	}
	if offset < 0 || offset == math.MaxInt64 {
		return nil, 0, &Error{offset, -1, corrupt("base offset %d is out of range", offset)}
	}
	smallest := minSizeV0
	if len(set) > magicAt {
		switch magic := int8(set[magicAt]); magic {
		case 0:
		case 1:
			smallest = minSizeV1
		case 2:
			smallest = headerSize
		default:
			return nil, 0, &Error{offset, -1, fmt.Errorf("%w: magic %d, known are 0 to 2", ErrMagic, magic)}
		}
	}
	size := int64(length) + logSize
	if size < int64(smallest) {
		return nil, 0, &Error{offset, -1, corrupt("length %d is below that of an empty batch", length)}
	}
	if size > int64(len(set)) {
		return nil, int(size), nil
	}
	return set[:size:size], int(size), nil
}

func isZero(b []byte) bool { return len(bytes.TrimLeft(b, "\x00")) == 0 }

// parseHeader reads the header of a whole entry. The base offset and the count of a compressed message of magic 0 or 1
// are inside it; until it is opened they stand at its last offset and 0.
func parseHeader(entry []byte) (Header, error) {
	if entry[magicAt] < 2 {
		return parseMessageHeader(entry), nil
	}
	// base offset 0, length 8, leader epoch 12, magic 16, crc 17, attributes 21, last offset delta 23,
	// base timestamp 27, max timestamp 35, producer id 43, producer epoch 51, base sequence 53, count 57
	attributes := binary.BigEndian.Uint16(entry[21:])
	delta := int32(binary.BigEndian.Uint32(entry[23:]))
	h := Header{
		BaseOffset:    int64(binary.BigEndian.Uint64(entry)),
		MaxTimestamp:  int64(binary.BigEndian.Uint64(entry[35:])),
		ProducerID:    int64(binary.BigEndian.Uint64(entry[43:])),
		Count:         int32(binary.BigEndian.Uint32(entry[57:])),
		LeaderEpoch:   int32(binary.BigEndian.Uint32(entry[12:])),
		WireSize:      len(entry),
		Magic:         2,
		Codec:         Codec(attributes & codecBits),
		LogAppendTime: attributes&appendTimeBit != 0,
		Transactional: attributes&transactionalBit != 0,
		Control:       attributes&controlBit != 0,
	}
	if delta < 0 || h.BaseOffset >= math.MaxInt64-int64(delta) {
		return h, &Error{h.BaseOffset, -1, corrupt("last offset delta %d is out of range", delta)}
	}
	h.LastOffset = h.BaseOffset + int64(delta)
	if h.Count < 0 || int64(h.Count) > int64(delta)+1 {
		return h, &Error{h.BaseOffset, -1, corrupt("%d records in %d offsets", h.Count, int64(delta)+1)}
	}
	return h, nil
}

func (h *Header) errorf(err error) *Error { return &Error{h.BaseOffset, h.LastOffset + 1, err} }
