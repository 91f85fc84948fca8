package batch

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// The encoder below writes what Kafka's documentation says, field by field, and lets a test break each of them. It shares
// nothing with the scanner.

// rec is a record to be written; offsets and times are relative to the batch's.
type rec struct {
	delta   int
	time    int64
	key     []byte
	value   []byte
	headers []hdr
}

type hdr struct {
	key   string
	value []byte
}

// v2 is a batch of magic 2.
type v2 struct {
	base       int64
	lastDelta  int // -1: the last record's
	epoch      int32
	attributes int16
	baseTime   int64
	maxTime    int64
	producer   int64 // 0 is written as -1: no producer
	count      int   // -1: the number of records
	codec      Codec
	compress   func([]byte) []byte // nil: the codec's usual one
	records    []rec
	raw        []byte // when not nil, the records section as it is
}

// batchOf returns a batch of n records with keys and values, one offset and one millisecond apart.
func batchOf(base int64, n int) v2 {
	b := v2{base: base, lastDelta: -1, count: -1, baseTime: 1000}
	for i := range n {
		b.records = append(b.records, rec{delta: i, time: int64(i), key: []byte{'k', byte('0' + i%10)}, value: []byte("value")})
	}
	return b
}

func appendRecord(b []byte, r rec) []byte {
	body := []byte{0} // attributes
	body = binary.AppendVarint(body, r.time)
	body = binary.AppendVarint(body, int64(r.delta))
	body = appendField(body, r.key)
	body = appendField(body, r.value)
	body = binary.AppendVarint(body, int64(len(r.headers)))
	for _, h := range r.headers {
		body = appendField(body, []byte(h.key))
		body = appendField(body, h.value)
	}
	b = binary.AppendVarint(b, int64(len(body)))
	return append(b, body...)
}

func appendField(b, f []byte) []byte {
	if f == nil {
		return binary.AppendVarint(b, -1)
	}
	b = binary.AppendVarint(b, int64(len(f)))
	return append(b, f...)
}

func (v v2) bytes() []byte {
	body := v.raw
	if body == nil {
		for _, r := range v.records {
			body = appendRecord(body, r)
		}
		if v.codec != None {
			body = v.compressor()(body)
		}
	}
	last, count := v.lastDelta, v.count
	if last == -1 {
		last = v.records[len(v.records)-1].delta
	}
	if count == -1 {
		count = len(v.records)
	}
	producer := v.producer
	if producer == 0 {
		producer = -1
	}
	var b []byte
	b = binary.BigEndian.AppendUint16(b, uint16(v.attributes|int16(v.codec)))
	b = binary.BigEndian.AppendUint32(b, uint32(last))
	b = binary.BigEndian.AppendUint64(b, uint64(v.baseTime))
	b = binary.BigEndian.AppendUint64(b, uint64(v.maxTime))
	b = binary.BigEndian.AppendUint64(b, uint64(producer))
	b = binary.BigEndian.AppendUint16(b, 0) // producer epoch
	b = binary.BigEndian.AppendUint32(b, 0) // base sequence
	b = binary.BigEndian.AppendUint32(b, uint32(count))
	b = append(b, body...)

	var out []byte
	out = binary.BigEndian.AppendUint64(out, uint64(v.base))
	out = binary.BigEndian.AppendUint32(out, uint32(4+1+4+len(b)))
	out = binary.BigEndian.AppendUint32(out, uint32(v.epoch))
	out = append(out, 2)
	out = binary.BigEndian.AppendUint32(out, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
	return append(out, b...)
}

func (v v2) compressor() func([]byte) []byte {
	if v.compress != nil {
		return v.compress
	}
	return compressors[v.codec]
}

var compressors = map[Codec]func([]byte) []byte{
	Gzip: func(b []byte) []byte {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		_, err := w.Write(b)
		return must(out.Bytes, err, w.Close())
	},
	Snappy: func(b []byte) []byte { return s2.EncodeSnappy(nil, b) },
	LZ4:    lz4Frame(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false)), // as Java and librdkafka do
	Zstd: func(b []byte) []byte {
		w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		return must(func() []byte { return w.EncodeAll(b, nil) }, err)
	},
}

func lz4Frame(options ...lz4.Option) func([]byte) []byte {
	return func(b []byte) []byte {
		var out bytes.Buffer
		w := lz4.NewWriter(&out)
		err := w.Apply(options...)
		_, werr := w.Write(b)
		return must(out.Bytes, err, werr, w.Close())
	}
}

// xerialFrame frames snappy blocks of size bytes as snappy-java does.
func xerialFrame(size int) func([]byte) []byte {
	return func(b []byte) []byte {
		out := []byte("\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01")
		for len(b) > 0 {
			n := min(size, len(b))
			block := s2.EncodeSnappy(nil, b[:n])
			out = binary.BigEndian.AppendUint32(out, uint32(len(block)))
			out = append(out, block...)
			b = b[n:]
		}
		return out
	}
}

func must(b func() []byte, errs ...error) []byte {
	for _, err := range errs {
		if err != nil {
			panic(err)
		}
	}
	return b()
}

// marker is a control batch: kind 0 aborts, 1 commits.
func marker(base, producer int64, kind uint16) v2 {
	return v2{
		base: base, lastDelta: -1, count: -1, attributes: transactionalBit | controlBit, producer: producer,
		records: []rec{{key: []byte{0, 0, byte(kind >> 8), byte(kind)}, value: []byte{0, 0, 0, 0, 0, 0}}},
	}
}

// msg is a message of magic 0 or 1.
type msg struct {
	magic      byte
	offset     int64
	attributes byte
	time       int64 // magic 1
	key, value []byte
}

func (m msg) bytes() []byte {
	b := []byte{m.magic, m.attributes}
	if m.magic == 1 {
		b = binary.BigEndian.AppendUint64(b, uint64(m.time))
	}
	for _, f := range [][]byte{m.key, m.value} {
		if f == nil {
			b = append(b, 0xff, 0xff, 0xff, 0xff)
			continue
		}
		b = binary.BigEndian.AppendUint32(b, uint32(len(f)))
		b = append(b, f...)
	}
	var out []byte
	out = binary.BigEndian.AppendUint64(out, uint64(m.offset))
	out = binary.BigEndian.AppendUint32(out, uint32(4+len(b)))
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(b))
	return append(out, b...)
}

// wrap compresses messages into the value of one, whose offset is given.
func wrap(magic byte, offset int64, codec Codec, inner ...msg) msg {
	var set []byte
	for _, m := range inner {
		set = append(set, m.bytes()...)
	}
	return msg{magic: magic, offset: offset, attributes: byte(codec), value: compressors[codec](set)}
}

// concat joins batches into a record set.
func concat(batches ...interface{ bytes() []byte }) []byte {
	var set []byte
	for _, b := range batches {
		set = append(set, b.bytes()...)
	}
	return set
}

// fixCRC makes the checksum of a magic 2 batch right again after a test changed its bytes.
func fixCRC(b []byte) []byte {
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// scan returns all records of a set, keys copied.
func scan(t *testing.T, s *Scanner) []Record {
	t.Helper()
	var all []Record
	for s.NextBatch() {
		for s.Next() {
			r := *s.Record()
			r.Key = bytes.Clone(r.Key)
			all = append(all, r)
		}
	}
	return all
}
