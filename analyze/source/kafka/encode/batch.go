// Package encode makes record batches: the bytes that a producer sends and a broker stores. It is the writing side of
// [keyspread/analyze/source/kafka/batch], for generated topics and for tests.
//
// Only magic 2 is written, without headers, transactions or idempotence.
package encode

import (
	"encoding/binary"
	"hash/crc32"
	"math"
)

// Batch gathers records and encodes them as one record batch. It is made by [NewBatch], may be used again after
// [Batch.AppendTo], and is not safe for concurrent use.
type Batch struct {
	codec      Codec
	compressor compressor
	records    []byte
	n          int32
	first      int64 // timestamp of the first record
	most       int64 // largest timestamp
}

// NewBatch returns an empty batch. It panics when the codec is not one of [Codecs].
func NewBatch(c Codec) *Batch {
	return &Batch{codec: c, compressor: newCompressor(c)}
}

// Records returns how many records the batch holds.
func (b *Batch) Records() int { return int(b.n) }

// Size returns the bytes of the records as they are before compression.
func (b *Batch) Size() int { return len(b.records) }

// Add appends a record with a create time in milliseconds. A nil key is the null key, a nil value the null value.
func (b *Batch) Add(timestamp int64, key, value []byte) {
	if b.n == 0 {
		b.first, b.most = timestamp, timestamp
	}
	b.most = max(b.most, timestamp)
	delta := timestamp - b.first
	// Attributes, the deltas, two fields with their sizes, and no headers.
	size := 1 + varintLen(delta) + varintLen(int64(b.n)) + fieldLen(key) + fieldLen(value) + 1
	r := binary.AppendVarint(b.records, int64(size))
	r = append(r, 0)
	r = binary.AppendVarint(r, delta)
	r = binary.AppendVarint(r, int64(b.n))
	r = appendField(r, key)
	r = appendField(r, value)
	b.records = append(r, 0)
	b.n++
}

func appendField(dst, field []byte) []byte {
	if field == nil {
		return binary.AppendVarint(dst, -1)
	}
	return append(binary.AppendVarint(dst, int64(len(field))), field...)
}

func fieldLen(field []byte) int {
	if field == nil {
		return 1
	}
	return varintLen(int64(len(field))) + len(field)
}

// varintLen is the length of v as a zigzag varint.
func varintLen(v int64) int {
	n := 1
	for u := uint64(v)<<1 ^ uint64(v>>63); u >= 0x80; u >>= 7 {
		n++
	}
	return n
}

// The places of a batch's fields that are filled in last, and the length of everything before the records.
// Source: Kafka's documentation, "Record Batch".
const (
	lengthAt   = 8
	checksumAt = 17
	fromCRC    = 21 // the checksum covers everything from the attributes on
	headerSize = 61
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// AppendTo appends the batch to dst, its first record at baseOffset, and empties it. A producer sends 0 as the base
// offset. An empty batch appends nothing.
func (b *Batch) AppendTo(dst []byte, baseOffset int64) ([]byte, error) {
	if b.n == 0 {
		return dst, nil
	}
	at := len(dst)
	be := binary.BigEndian
	dst = be.AppendUint64(dst, uint64(baseOffset))
	dst = be.AppendUint32(dst, 0)               // length
	dst = be.AppendUint32(dst, math.MaxUint32)  // leader epoch: none, the broker sets it
	dst = append(dst, 2)                        // magic
	dst = be.AppendUint32(dst, 0)               // checksum
	dst = be.AppendUint16(dst, uint16(b.codec)) // attributes
	dst = be.AppendUint32(dst, uint32(b.n-1))   // last offset delta
	dst = be.AppendUint64(dst, uint64(b.first)) // base timestamp
	dst = be.AppendUint64(dst, uint64(b.most))  // largest timestamp
	dst = be.AppendUint64(dst, math.MaxUint64)  // producer id: none
	dst = be.AppendUint16(dst, math.MaxUint16)  // producer epoch: none
	dst = be.AppendUint32(dst, math.MaxUint32)  // base sequence: none
	dst = be.AppendUint32(dst, uint32(b.n))
	if b.compressor == nil {
		dst = append(dst, b.records...)
	} else {
		var err error
		if dst, err = b.compressor.compress(dst, b.records); err != nil {
			return dst[:at], err
		}
	}
	batch := dst[at:]
	be.PutUint32(batch[lengthAt:], uint32(len(batch)-lengthAt-4))
	be.PutUint32(batch[checksumAt:], crc32.Checksum(batch[fromCRC:], castagnoli))
	b.records = b.records[:0]
	b.n = 0
	return dst, nil
}
