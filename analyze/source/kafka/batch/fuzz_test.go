package batch

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"
)

// seeds are sets of every format and codec, whole and broken.
func seeds() [][]byte {
	sets := [][]byte{nil, make([]byte, 100)}
	for codec := None; codec <= Zstd; codec++ {
		sets = append(sets, concat(
			compressed(batchOf(0, 3), codec), v2{base: 3, lastDelta: 4, count: -1},
			transactional(compressed(batchOf(10, 2), codec), 1), marker(12, 1, 0), compressed(batchOf(13, 1), codec)))
	}
	for _, codec := range []Codec{Gzip, Snappy, LZ4} {
		sets = append(sets, concat(
			msg{magic: 0, offset: 5, key: []byte("k")},
			wrap(0, 7, codec, msg{offset: 6, value: []byte("v")}, msg{offset: 7}),
			wrap(1, 9, codec, msg{magic: 1, offset: 0, time: 3}, msg{magic: 1, offset: 1, key: []byte("k")})))
	}
	b := batchOf(0, 2)
	b.records[0].headers = []hdr{{"h", []byte("v")}, {"", nil}}
	b.records[1].key = nil
	whole := concat(b, batchOf(2, 1))
	return append(sets, whole, whole[:len(whole)-7])
}

// repair makes the checksums of a set right, so that a fuzzer gets past them, two levels deep for uncompressed sets.
func repair(set []byte) {
	for len(set) >= minSizeV0 {
		size := int64(int32(binary.BigEndian.Uint32(set[lengthAt:]))) + logSize
		if size < minSizeV0 || size > int64(len(set)) {
			return
		}
		entry := set[:size]
		switch {
		case entry[magicAt] < 2:
			binary.BigEndian.PutUint32(entry[crcAt:], crc32.ChecksumIEEE(entry[magicAt:]))
		case size >= headerSize:
			fixCRC(entry)
		}
		set = set[size:]
	}
}

// FuzzScanner feeds any bytes to the scanner. It never panics and comes to an end; and
//   - offsets rise from record to record, never below from, and lie within their batch;
//   - a record's key, value and headers fit into its batch;
//   - the position never falls, and ends at Walk's when there is no error;
//   - Fill delivers what Next does;
//   - an error is an *Error.
func FuzzScanner(f *testing.F) {
	for _, set := range seeds() {
		f.Add(set, int64(0), true)
		f.Add(set, int64(11), false)
	}
	const limit = 1 << 20
	f.Fuzz(func(t *testing.T, set []byte, from int64, committed bool) {
		set = slices.Clone(set)
		repair(set)
		from = max(from, 0)
		s := Scanner{Options: Options{ReadCommitted: committed, MaxBatchBytes: limit}}
		list := []AbortedTxn{{1, 10}, {7, 0}}
		s.Reset(set, from, list, nil)
		var byNext []int64
		last, pos := from-1, from
		for s.NextBatch() {
			h := s.Batch()
			for s.Next() {
				r := s.Record()
				if r.Offset <= last || r.Offset < h.BaseOffset || r.Offset > h.LastOffset {
					t.Fatalf("offset %d after %d in a batch of %d to %d, from %d", r.Offset, last, h.BaseOffset, h.LastOffset, from)
				}
				last = r.Offset
				byNext = append(byNext, r.Offset)
				size := len(r.Key) + max(0, int(r.ValueSize)) + int(r.HeaderSize)
				if r.ValueSize < -1 || r.HeaderSize < 0 || size > max(limit, len(set)) || cap(r.Key) != len(r.Key) {
					t.Fatalf("record %+v does not fit", *r)
				}
				if s.Position() < pos || s.Position() <= r.Offset {
					t.Fatalf("position %d after %d, record %d", s.Position(), pos, r.Offset)
				}
				pos = s.Position()
			}
			if s.Position() < pos {
				t.Fatalf("position fell from %d to %d", pos, s.Position())
			}
			pos = s.Position()
		}
		if s.Used() > len(set) {
			t.Fatalf("used %d of %d bytes", s.Used(), len(set))
		}
		err := s.Err()
		if err != nil {
			if _, ok := err.(*Error); !ok {
				t.Fatalf("error %T: %v", err, err)
			}
		} else if x, err := Walk(set, from); err != nil || x.Next != s.Position() || x.First > from || x.Bytes != s.Used() {
			t.Fatalf("Walk = %+v, %v, the scanner's position is %d after %d bytes", x, err, s.Position(), s.Used())
		}
		end := s.Position()

		var byFill []int64
		dst := make([]named, 3)
		for s.Reset(set, from, list, nil); s.NextBatch(); {
			for n := Fill(&s, dst); n > 0; n = Fill(&s, dst) {
				for _, r := range dst[:n] {
					byFill = append(byFill, r.Offset)
				}
			}
		}
		if !slices.Equal(byFill, byNext) || s.Position() != end || (s.Err() == nil) != (err == nil) {
			t.Fatalf("Fill: %d, position %d, %v; Next: %d, position %d, %v", byFill, s.Position(), s.Err(), byNext, end, err)
		}
	})
}

// FuzzWalk builds a clean set out of the fuzzer's bytes: Walk and the scanner come to the same position, from anywhere
// and with the set cut off anywhere.
func FuzzWalk(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7}, uint16(3), uint16(200))
	f.Add([]byte{0x17, 0x80, 0x33, 0xff}, uint16(0), uint16(60000))
	f.Fuzz(func(t *testing.T, plan []byte, from, cut uint16) {
		var set []byte
		next := int64(0)
		for _, b := range plan[:min(len(plan), 50)] {
			next += int64(b >> 6) // a gap
			n := 1 + int(b&3)
			switch b >> 2 & 7 {
			case 0:
				set = append(set, marker(next, 1, uint16(b&1)).bytes()...)
				n = 1
			case 1:
				set = append(set, v2{base: next, lastDelta: n - 1, count: -1}.bytes()...)
			case 2:
				set = append(set, msg{magic: b & 1, offset: next}.bytes()...)
				n = 1
			case 3:
				set = append(set, wrap(1, next+int64(n-1), Gzip, msg{magic: 1, offset: int64(n - 1)}).bytes()...)
			default:
				batch := compressed(batchOf(next, n), Codec(b%5))
				batch.lastDelta = n + 2
				set = append(set, batch.bytes()...)
				n += 3
			}
			next += int64(n)
		}
		set = set[:min(len(set), int(cut))]
		var s Scanner
		s.Reset(set, int64(from), nil, nil)
		for s.NextBatch() {
			for s.Next() {
				continue
			}
		}
		got, err := Walk(set, int64(from))
		if s.Err() != nil || err != nil || got.Next != s.Position() {
			t.Fatalf("Walk(%d) = %+v, %v; scanner %d, %v", from, got, err, s.Position(), s.Err())
		}
	})
}
