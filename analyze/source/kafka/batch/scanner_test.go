package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// offsets returns the offsets of records, for messages.
func offsets(records []Record) []int64 {
	var o []int64
	for _, r := range records {
		o = append(o, r.Offset)
	}
	return o
}

// transactional makes a batch part of a producer's transaction.
func transactional(b v2, producer int64) v2 {
	b.attributes |= transactionalBit
	b.producer = producer
	return b
}

func compressed(b v2, c Codec) v2 {
	b.codec = c
	return b
}

// TestOffsets follows the position through what a log holds beside plain batches.
func TestOffsets(t *testing.T) {
	gap := batchOf(20, 3) // compaction removed the offsets 23 to 29
	gap.lastDelta = 9
	holes := v2{base: 20, lastDelta: 9, count: -1, records: []rec{{delta: 2, key: []byte("a")}, {delta: 7, key: []byte("b")}}}
	empty := func(base int64, last int) v2 { return v2{base: base, lastDelta: last, count: -1} }
	emptyZstd := empty(20, 4)
	emptyZstd.codec, emptyZstd.raw = Zstd, []byte{}

	tests := []struct {
		name string
		set  []byte
		from int64
		want []int64
		next int64
	}{
		{"nothing", nil, 7, nil, 7},
		{"one batch", concat(batchOf(20, 3)), 20, []int64{20, 21, 22}, 23},
		{"two batches", concat(batchOf(20, 2), batchOf(22, 2)), 20, []int64{20, 21, 22, 23}, 24},
		{"gap between batches", concat(batchOf(20, 1), batchOf(30, 1)), 20, []int64{20, 30}, 31},
		{"start inside a batch", concat(batchOf(20, 4)), 22, []int64{22, 23}, 24},
		{"start inside a batch, lz4", concat(compressed(batchOf(20, 4), LZ4)), 22, []int64{22, 23}, 24},
		{"batch before the start", concat(batchOf(10, 4), batchOf(20, 1)), 20, []int64{20}, 21},
		{"only a batch before the start", concat(batchOf(10, 4)), 20, nil, 20},
		{"start in the gap at a batch's end", concat(gap), 26, nil, 30},
		{"gap at the end of a batch", concat(gap), 20, []int64{20, 21, 22}, 30},
		{"gap at the end of a batch, snappy", concat(compressed(gap, Snappy)), 20, []int64{20, 21, 22}, 30},
		{"holes inside a batch", concat(holes), 20, []int64{22, 27}, 30},
		{"empty batch alone", concat(empty(20, 4)), 20, nil, 25},
		{"empty batch with a codec", concat(emptyZstd), 20, nil, 25},
		{"three empty batches", concat(empty(20, 4), empty(25, 0), empty(26, 3)), 20, nil, 30},
		{"empty batch at the end", concat(batchOf(20, 1), empty(21, 4)), 20, []int64{20}, 26},
		{"marker alone", concat(marker(20, 9, 1)), 20, nil, 21},
		{"marker between", concat(batchOf(20, 1), marker(21, 9, 1), batchOf(22, 1)), 20, []int64{20, 22}, 23},
		{"batches that overlap deliver an offset once", concat(batchOf(20, 3), batchOf(22, 3)), 20, []int64{20, 21, 22, 23, 24}, 25},
		{"last offset there is", concat(batchOf(math.MaxInt64-1, 1)), 0, []int64{math.MaxInt64 - 1}, math.MaxInt64},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var s Scanner
			s.Reset(tt.set, tt.from, nil, nil)
			got := scan(t, &s)
			if s.Err() != nil {
				t.Fatalf("Err() = %v", s.Err())
			}
			if !slices.Equal(offsets(got), tt.want) {
				t.Errorf("offsets from %d: got %d, want %d", tt.from, offsets(got), tt.want)
			}
			if s.Position() != tt.next {
				t.Errorf("Position() = %d, want %d", s.Position(), tt.next)
			}
			if s.Used() != len(tt.set) || s.CutOff() != 0 || s.Truncated() {
				t.Errorf("Used() = %d of %d bytes, CutOff() = %d, Truncated() = %v", s.Used(), len(tt.set), s.CutOff(), s.Truncated())
			}
			if x, err := Walk(tt.set, tt.from); x.Next != tt.next || x.First > tt.from || x.Bytes != len(tt.set) || err != nil {
				t.Errorf("Walk(%d) = %+v, %v, want it to end at %d after %d bytes", tt.from, x, err, tt.next, len(tt.set))
			}

			// NextBatch alone, records never asked for, comes to the same position.
			s.Reset(tt.set, tt.from, nil, nil)
			for s.NextBatch() {
				continue
			}
			if s.Position() != tt.next || s.Err() != nil {
				t.Errorf("without reading records: Position() = %d, %v, want %d", s.Position(), s.Err(), tt.next)
			}
		})
	}
}

// TestRecordFields checks each field of a record, null and empty told apart.
func TestRecordFields(t *testing.T) {
	b := v2{
		base: 100, lastDelta: -1, count: -1, baseTime: 5000, maxTime: 9000, epoch: 7,
		records: []rec{
			{delta: 0, time: 0, key: []byte("key"), value: []byte("value")},
			{delta: 1, time: 3, key: nil, value: []byte("v")},
			{delta: 2, time: -4, key: []byte{}, value: []byte{}},
			{delta: 3, time: 10, key: []byte("tombstone"), value: nil},
			{delta: 4, key: nil, value: nil, headers: []hdr{{"h1", []byte("abc")}, {"", nil}, {"h3", []byte{}}}},
			{delta: 5, time: 1 << 40, key: bytes.Repeat([]byte("k"), 300), value: make([]byte, 70_000)},
			{delta: 6, time: math.MinInt64 + 1, key: []byte("x"), headers: []hdr{{strings.Repeat("h", 200), make([]byte, 9000)}}},
			{delta: 20_000, key: []byte("y"), value: make([]byte, 3<<20)},
		},
	}
	want := []Record{
		{100, 5000, []byte("key"), 5, 0},
		{101, 5003, nil, 1, 0},
		{102, 4996, []byte{}, 0, 0},
		{103, 5010, []byte("tombstone"), -1, 0},
		{104, 5000, nil, -1, 7}, // 2+3, 0+null, 2+0
		{105, 5000 + 1<<40, bytes.Repeat([]byte("k"), 300), 70_000, 0},
		{106, 5000 + math.MinInt64 + 1, []byte("x"), -1, 9200},
		{20_100, 5000, []byte("y"), 3 << 20, 0},
	}
	for codec := None; codec <= Zstd; codec++ {
		b.codec = codec
		set := concat(b)
		var s Scanner
		s.Reset(set, 0, nil, nil)
		got := scan(t, &s)
		if s.Err() != nil {
			t.Fatalf("%v: Err() = %v", codec, s.Err())
		}
		compareRecords(t, codec.String(), got, want)
		wantHeader := Header{
			BaseOffset: 100, LastOffset: 20_100, MaxTimestamp: 9000, ProducerID: -1, Count: 8, LeaderEpoch: 7,
			WireSize: len(set), Magic: 2, Codec: codec,
		}
		if s.Batch() != wantHeader {
			t.Errorf("%v: Batch() = %+v, want %+v", codec, s.Batch(), wantHeader)
		}
	}
}

// compareRecords compares with nil and empty keys told apart, which reflect.DeepEqual does.
func compareRecords(t *testing.T, name string, got, want []Record) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d records %d, want %d", name, len(got), offsets(got), len(want))
	}
	for i := range got {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("%s: record %d: got %s, want %s", name, i, show(got[i]), show(want[i]))
		}
	}
}

func show(r Record) string {
	key := fmt.Sprintf("%.20q", r.Key)
	if r.Key == nil {
		key = "null"
	}
	return fmt.Sprintf("{offset %d time %d key %s (%d) value %d headers %d}", r.Offset, r.Timestamp, key, len(r.Key), r.ValueSize, r.HeaderSize)
}

func TestTimestamps(t *testing.T) {
	b := batchOf(0, 3) // base time 1000, deltas 0, 1, 2
	b.maxTime = 7777
	appendTime := b
	appendTime.attributes = appendTimeBit
	horizon := b // the base timestamp is then the delete horizon, and deltas are relative to it
	horizon.attributes = 0x40
	horizon.baseTime = 500_000
	horizon.records = slices.Clone(b.records)
	for i := range horizon.records {
		horizon.records[i].time = 1000 + int64(i) - 500_000
	}
	none := b
	none.baseTime, none.maxTime = -1, -1
	none.records = []rec{{key: []byte("k")}}

	for _, tt := range []struct {
		name string
		b    v2
		want []int64
	}{
		{"CreateTime", b, []int64{1000, 1001, 1002}},
		{"LogAppendTime", appendTime, []int64{7777, 7777, 7777}},
		{"delete horizon", horizon, []int64{1000, 1001, 1002}},
		{"no timestamp", none, []int64{-1}},
	} {
		var s Scanner
		s.Reset(concat(tt.b), 0, nil, nil)
		var got []int64
		for _, r := range scan(t, &s) {
			got = append(got, r.Timestamp)
		}
		if !slices.Equal(got, tt.want) || s.Err() != nil {
			t.Errorf("%s: timestamps %d, %v, want %d", tt.name, got, s.Err(), tt.want)
		}
		if want := tt.b.attributes&appendTimeBit != 0; s.Batch().LogAppendTime != want {
			t.Errorf("%s: LogAppendTime = %v, want %v", tt.name, s.Batch().LogAppendTime, want)
		}
	}
}

// TestTransactions follows two producers, 1 and 2, whose transactions interleave.
func TestTransactions(t *testing.T) {
	const abort, commit = 0, 1
	log := concat(
		transactional(batchOf(0, 2), 1),                  // 0 1   producer 1, aborted at 5
		transactional(compressed(batchOf(2, 2), LZ4), 2), // 2 3   producer 2, committed at 7
		batchOf(4, 1),                                      // 4     no transaction
		marker(5, 1, abort),                                // 5
		transactional(batchOf(6, 1), 2),                    // 6     producer 2
		marker(7, 2, commit),                               // 7
		transactional(batchOf(8, 2), 1),                    // 8 9   producer 1 again, committed at 10
		marker(10, 1, commit),                              // 10
		transactional(compressed(batchOf(11, 3), Zstd), 2), // 11-13 producer 2, aborted at 14
		marker(14, 2, abort),                               // 14
		batchOf(15, 1),                                     // 15
	)
	both := []AbortedTxn{{2, 11}, {1, 0}} // newest first, as Redpanda lists them
	tests := []struct {
		name      string
		committed bool
		from      int64
		aborted   []AbortedTxn
		want      []int64
		control   int64
		left      int64 // aborted records left out
	}{
		{"read_committed", true, 0, both, []int64{2, 3, 4, 6, 8, 9, 15}, 4, 5},
		{"read_uncommitted", false, 0, both, []int64{0, 1, 2, 3, 4, 6, 8, 9, 11, 12, 13, 15}, 4, 0},
		{"nothing listed", true, 0, nil, []int64{0, 1, 2, 3, 4, 6, 8, 9, 11, 12, 13, 15}, 4, 0},
		{"start inside an aborted batch", true, 12, both[:1], []int64{15}, 1, 2},
		{"start after the first transaction", true, 6, both[:1], []int64{6, 8, 9, 15}, 3, 3},
		{"listed, its markers below the start", true, 8, both, []int64{8, 9, 15}, 2, 3},
		{"a producer that is not there", true, 0, []AbortedTxn{{3, 0}}, []int64{0, 1, 2, 3, 4, 6, 8, 9, 11, 12, 13, 15}, 4, 0},
	}
	for _, tt := range tests {
		s := Scanner{Options: Options{ReadCommitted: tt.committed}}
		s.Reset(log, tt.from, tt.aborted, nil)
		got := offsets(scan(t, &s))
		if !slices.Equal(got, tt.want) || s.Err() != nil || s.Position() != 16 {
			t.Errorf("%s: got %d, position %d, %v; want %d, position 16", tt.name, got, s.Position(), s.Err(), tt.want)
		}
		if control, aborted := s.Skipped(); control != tt.control || aborted != tt.left {
			t.Errorf("%s: Skipped() = %d control, %d aborted, want %d, %d", tt.name, control, aborted, tt.control, tt.left)
		}
	}
	if !slices.Equal(both, []AbortedTxn{{2, 11}, {1, 0}}) {
		t.Errorf("the caller's list was changed: %v", both)
	}
}

// TestTxnState cuts a partition into answers and carries the open aborted transaction from one to the next.
func TestTxnState(t *testing.T) {
	answers := [][]byte{
		concat(transactional(batchOf(0, 2), 1)),
		concat(transactional(batchOf(2, 2), 1), transactional(batchOf(4, 1), 2)),
		concat(marker(5, 1, 0), transactional(batchOf(6, 1), 1)), // abort; the next transaction is committed
		concat(transactional(batchOf(7, 1), 1), marker(8, 1, 1)),
	}
	s := Scanner{Options: Options{ReadCommitted: true}}
	var (
		tx  TxnState
		pos int64
		got []int64
	)
	for i, set := range answers {
		var list []AbortedTxn
		if i == 0 {
			list = []AbortedTxn{{1, 0}}
		}
		s.Reset(set, pos, list, &tx)
		got = append(got, offsets(scan(t, &s))...)
		pos = s.Position()
	}
	if want := []int64{4, 6, 7}; !slices.Equal(got, want) || pos != 9 || s.Err() != nil {
		t.Errorf("got %d, position %d, %v; want %d, position 9", got, pos, s.Err(), want)
	}

	// Without a state of the caller's, each set stands alone.
	s.Reset(answers[0], 0, []AbortedTxn{{1, 0}}, nil)
	scan(t, &s)
	s.Reset(answers[3], 7, nil, nil)
	if got := offsets(scan(t, &s)); !slices.Equal(got, []int64{7}) {
		t.Errorf("after Reset without a state: got %d, want [7]", got)
	}
}

// TestTruncated cuts a set of two batches at every byte. Their offsets begin with a byte other than zero, or a cut within
// it could not be told from preallocation.
func TestTruncated(t *testing.T) {
	const base = 1 << 56
	first, second := concat(batchOf(base, 2)), concat(compressed(batchOf(base+2, 2), Gzip))
	set := slices.Concat(first, second)
	for n := range len(set) + 1 {
		var s Scanner
		s.Reset(set[:n:n], base, nil, nil)
		got := len(scan(t, &s))
		if s.Err() != nil {
			t.Fatalf("cut at %d: Err() = %v", n, s.Err())
		}
		wantRecords, wantNext, wantUsed, size := 0, int64(base), 0, len(first)
		if n >= len(first) {
			wantRecords, wantNext, wantUsed, size = 2, base+2, len(first), len(second)
		}
		if n == len(set) {
			wantRecords, wantNext, wantUsed = 4, base+4, len(set)
		}
		wantCut := size
		switch rest := n - wantUsed; {
		case rest == 0:
			wantCut = 0
		case rest < logSize:
			wantCut = -1
		}
		if got != wantRecords || s.Position() != wantNext || s.Used() != wantUsed || s.CutOff() != wantCut {
			t.Errorf("cut at %d: got %d records, position %d, used %d, cut off %d; want %d, %d, %d, %d",
				n, got, s.Position(), s.Used(), s.CutOff(), wantRecords, wantNext, wantUsed, wantCut)
		}
		if want := n > 0 && n < len(first); s.Truncated() != want {
			t.Errorf("cut at %d: Truncated() = %v, want %v", n, s.Truncated(), want)
		}
		wantExtent := Extent{First: base, Next: wantNext, Bytes: wantUsed, CutOff: wantCut}
		if wantUsed > 0 {
			wantExtent.Batches = 1
		}
		if n == len(set) {
			wantExtent.Batches = 2
		}
		if x, err := Walk(set[:n], base); x != wantExtent || err != nil {
			t.Errorf("cut at %d: Walk = %+v, %v, want %+v", n, x, err, wantExtent)
		}
	}
}

// TestZeroTail reads a preallocated segment: zero bytes follow the last batch.
func TestZeroTail(t *testing.T) {
	batch := concat(batchOf(20, 2))
	for _, zeros := range []int{1, 11, 12, 16, 17, 60, 61, 100, 4096} {
		set := slices.Concat(batch, make([]byte, zeros))
		var s Scanner
		s.Reset(set, 0, nil, nil)
		if n := len(scan(t, &s)); n != 2 || s.Err() != nil || s.CutOff() != 0 || s.Used() != len(batch) || s.Position() != 22 {
			t.Errorf("%d zero bytes: %d records, %v, CutOff() = %d, Used() = %d, Position() = %d", zeros, n, s.Err(), s.CutOff(), s.Used(), s.Position())
		}
	}
	// Zero bytes with a batch after them are damage, not preallocation.
	var s Scanner
	s.Reset(slices.Concat(batch, make([]byte, 100), batch), 0, nil, nil)
	scan(t, &s)
	if !errors.Is(s.Err(), ErrCorrupt) {
		t.Errorf("zero bytes before a batch: Err() = %v, want ErrCorrupt", s.Err())
	}
}

// TestBadBatches puts a broken batch after a good one: the good one is read, the error names the broken one.
func TestBadBatches(t *testing.T) {
	good := batchOf(0, 2)
	patch := func(b v2, at int, with ...byte) []byte {
		out := b.bytes()
		copy(out[at:], with)
		return fixCRC(out)
	}
	count := func(n int) v2 { b := batchOf(10, 2); b.count = n; return b }
	raw := func(codec Codec, body ...byte) []byte {
		return v2{base: 10, lastDelta: 99, count: 1, codec: codec, raw: append([]byte{}, body...)}.bytes()
	}
	badCRC := batchOf(10, 2).bytes()
	badCRC[len(badCRC)-1] ^= 1
	damagedHeader := batchOf(10, 2).bytes() // its count makes no sense, and the checksum says why
	damagedHeader[57] = 0xff
	unknownMagic := batchOf(10, 2).bytes()
	unknownMagic[magicAt] = 3
	negative := batchOf(10, 2).bytes()
	binary.BigEndian.PutUint64(negative, math.MaxUint64-5)
	short := batchOf(10, 2).bytes()
	binary.BigEndian.PutUint32(short[lengthAt:], 48)
	minus := batchOf(10, 2).bytes()
	binary.BigEndian.PutUint32(minus[lengthAt:], math.MaxUint32)

	tests := []struct {
		name   string
		bad    []byte
		want   error
		offset int64
		text   string // part of the message
		next   int64  // Position afterwards
	}{
		{"checksum", badCRC, ErrCRC, 10, "stored", 2},
		{"checksum of a damaged header", damagedHeader, ErrCRC, 10, "stored", 2},
		{"magic 3", unknownMagic, ErrMagic, 10, "magic 3", 2},
		{"base offset below zero", negative, ErrCorrupt, -6, "base offset", 2},
		{"length below a header's", short, ErrCorrupt, 10, "length 48", 2},
		{"length below zero", minus, ErrCorrupt, 10, "length -1", 2},
		{"codec 5", raw(5, 1), ErrCodec, 10, "5", 2},
		{"codec 7", raw(7, 1), ErrCodec, 10, "7", 2},
		{"records -1", patch(count(2), 57, 0xff, 0xff, 0xff, 0xff), ErrCorrupt, 10, "-1 records", 2},
		{"records 2^31-1", patch(count(2), 57, 0x7f, 0xff, 0xff, 0xff), ErrCorrupt, 10, "2147483647 records", 2},
		{"more records than bytes", v2{base: 10, lastDelta: 1 << 20, count: 1 << 20, raw: make([]byte, 100)}.bytes(), ErrCorrupt, 10, "1048576 records in 100 bytes", 2},
		{"one record too many", v2{base: 10, lastDelta: 5, count: 3, records: batchOf(0, 2).records}.bytes(), ErrCorrupt, 10, "record 2 of 3", 12},
		{"one record too few", count(1).bytes(), ErrCorrupt, 10, "bytes left after its 1 records", 11},
		{"last offset delta below zero", patch(count(2), 23, 0xff, 0xff, 0xff, 0xff), ErrCorrupt, 10, "last offset delta -1", 2},
		{"offsets that overflow", v2{base: math.MaxInt64 - 2, lastDelta: 5, count: 1, raw: make([]byte, 9)}.bytes(), ErrCorrupt, math.MaxInt64 - 2, "last offset delta", 2},
		{"offset delta above the last", v2{base: 10, lastDelta: 3, count: 1, records: []rec{{delta: 4}}}.bytes(), ErrCorrupt, 10, "offset delta 4", 2},
		{"offset delta below zero", v2{base: 10, lastDelta: 3, count: 1, records: []rec{{delta: -1}}}.bytes(), ErrCorrupt, 10, "offset delta -1", 2},
		{"offset delta twice", v2{base: 10, lastDelta: 3, count: 2, records: []rec{{delta: 1}, {delta: 1}}}.bytes(), ErrCorrupt, 10, "offset delta 1 after 1", 12},
		// size 6 (zigzag 12): attributes, time, delta, key size, value size, headers
		{"key size -2", raw(None, 12, 0, 0, 0, 3, 1, 0), ErrCorrupt, 10, "fields do not fill", 2},
		{"key past the record", raw(None, 12, 0, 0, 0, 20, 1, 0), ErrCorrupt, 10, "fields do not fill", 2},
		{"value size -2", raw(None, 12, 0, 0, 0, 1, 3, 0), ErrCorrupt, 10, "fields do not fill", 2},
		{"value past the record", raw(None, 12, 0, 0, 0, 1, 20, 0), ErrCorrupt, 10, "fields do not fill", 2},
		{"headers -1", raw(None, 12, 0, 0, 0, 1, 1, 1), ErrCorrupt, 10, "fields do not fill", 2},
		{"headers past the record", raw(None, 12, 0, 0, 0, 1, 1, 8), ErrCorrupt, 10, "fields do not fill", 2},
		{"header with a null key", raw(None, 16, 0, 0, 0, 1, 1, 2, 1, 1), ErrCorrupt, 10, "fields do not fill", 2},
		{"header value past the record", raw(None, 16, 0, 0, 0, 1, 1, 2, 0, 40), ErrCorrupt, 10, "fields do not fill", 2},
		{"bytes after the headers", raw(None, 14, 0, 0, 0, 1, 1, 0, 0), ErrCorrupt, 10, "fields do not fill", 2},
		{"record size past the batch", raw(None, 14, 0, 0, 0, 1, 1, 0), ErrCorrupt, 10, "size 7", 2},
		{"record size below the smallest", raw(None, 10, 0, 0, 0, 1, 1, 0), ErrCorrupt, 10, "size 5", 2},
		{"record size below zero", raw(None, 11, 0, 0, 0, 1, 1, 0), ErrCorrupt, 10, "size -6", 2},
		{"varint without an end", raw(None, bytes.Repeat([]byte{0xff}, 30)...), ErrCorrupt, 10, "record 0 of 1", 2},
		{"varint cut off", raw(None, 12, 0, 0xff, 0xff, 0xff, 0xff, 0xff), ErrCorrupt, 10, "record 0 of 1", 2},
		{"gzip, damaged", raw(Gzip, []byte("no gzip at all")...), ErrCorrupt, 10, "gzip", 2},
		{"gzip, nothing", raw(Gzip), ErrCorrupt, 10, "gzip", 2},
		{"snappy, damaged", raw(Snappy, 0xff, 0xff, 0xff), ErrCorrupt, 10, "snappy", 2},
		{"snappy, nothing", raw(Snappy), ErrCorrupt, 10, "snappy", 2},
		{"lz4, damaged", raw(LZ4, []byte("no frame at all")...), ErrCorrupt, 10, "lz4", 2},
		{"lz4, nothing", raw(LZ4), ErrCorrupt, 10, "1 records in 0 bytes", 2},
		{"zstd, damaged", raw(Zstd, []byte("no frame at all")...), ErrCorrupt, 10, "zstd", 2},
		{"zstd, nothing", raw(Zstd), ErrCorrupt, 10, "1 records in 0 bytes", 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var s Scanner
			s.Reset(slices.Concat(good.bytes(), tt.bad, batchOf(200, 1).bytes()), 0, nil, nil)
			got := scan(t, &s)
			if len(got) < 2 || got[1].Offset != 1 {
				t.Errorf("got offsets %d, want 0 and 1 first", offsets(got))
			}
			var e *Error
			if !errors.As(s.Err(), &e) || !errors.Is(s.Err(), tt.want) {
				t.Fatalf("Err() = %v, want %v", s.Err(), tt.want)
			}
			if e.Offset != tt.offset {
				t.Errorf("Offset = %d, want %d", e.Offset, tt.offset)
			}
			if !strings.HasPrefix(e.Error(), fmt.Sprintf("record batch at offset %d: ", tt.offset)) || !strings.Contains(e.Error(), tt.text) {
				t.Errorf("Error() = %q, want the batch's offset and %q", e, tt.text)
			}
			if s.Position() != tt.next || s.Used() != len(good.bytes()) {
				t.Errorf("Position() = %d, Used() = %d, want %d, %d", s.Position(), s.Used(), tt.next, len(good.bytes()))
			}
			if s.NextBatch() || s.Next() {
				t.Error("the scanner goes on after an error")
			}
			if e.Next >= 0 && e.Next <= e.Offset {
				t.Errorf("Next = %d is not after the batch at %d", e.Next, e.Offset)
			}
		})
	}
}

// TestScannerAfterError shows that an error does not outlive Reset, with buffers and decompressors that failed before.
func TestScannerAfterError(t *testing.T) {
	var s Scanner
	for codec := Gzip; codec <= Zstd; codec++ {
		bad := v2{base: 0, lastDelta: 0, count: 1, codec: codec, raw: []byte("certainly not compressed")}
		s.Reset(concat(bad), 0, nil, nil)
		scan(t, &s)
		if s.Err() == nil {
			t.Fatalf("%v: no error", codec)
		}
		s.Reset(concat(compressed(batchOf(0, 50), codec)), 0, nil, nil)
		if n := len(scan(t, &s)); n != 50 || s.Err() != nil {
			t.Errorf("%v: %d records, %v after an error, want 50", codec, n, s.Err())
		}
	}
}

// named has the fields of Record, as source.Record does.
type named struct {
	Offset     int64
	Timestamp  int64
	Key        []byte
	ValueSize  int32
	HeaderSize int32
}

// TestFill reads with slices of several sizes, mixed with Next, and follows the position inside batches.
func TestFill(t *testing.T) {
	gap := batchOf(700, 5)
	gap.lastDelta = 9
	set := concat(batchOf(0, 300), marker(300, 1, 1), compressed(batchOf(301, 399), LZ4), gap)
	var s Scanner
	s.Reset(set, 3, nil, nil)
	want := scan(t, &s)
	if len(want) != 297+399+5 {
		t.Fatalf("%d records", len(want))
	}
	for _, size := range []int{1, 2, 127, 128, 129, 1000} {
		for _, nexts := range []int{0, 1, 130} {
			dst := make([]named, size)
			var got []Record
			s.Reset(set, 3, nil, nil)
			for s.NextBatch() {
				for range nexts {
					if !s.Next() {
						break
					}
					got = append(got, *s.Record())
					if s.Position() <= s.Record().Offset {
						t.Fatalf("Position() = %d at record %d", s.Position(), s.Record().Offset)
					}
				}
				for n := Fill(&s, dst); n > 0; n = Fill(&s, dst) {
					for _, r := range dst[:n] {
						got = append(got, Record(r))
					}
					last, pos := got[len(got)-1].Offset, s.Position()
					if end := s.Batch().LastOffset; pos != last+1 && pos != end+1 {
						t.Fatalf("size %d: Position() = %d after record %d of a batch to %d", size, pos, last, end)
					}
				}
				if s.Position() != s.Batch().LastOffset+1 {
					t.Fatalf("size %d: Position() = %d after a batch to %d", size, s.Position(), s.Batch().LastOffset)
				}
			}
			if s.Err() != nil || !slices.Equal(offsets(got), offsets(want)) {
				t.Errorf("size %d, %d by Next: got %d records, %v, want %d", size, nexts, len(got), s.Err(), len(want))
			}
		}
	}
}

// TestAllocs shows that reading allocates nothing once the buffers are there.
func TestAllocs(t *testing.T) {
	for codec := None; codec <= Zstd; codec++ {
		set := concat(
			compressed(batchOf(0, 500), codec), transactional(compressed(batchOf(500, 10), codec), 1), marker(510, 1, 0),
			compressed(batchOf(511, 500), codec))
		s := Scanner{Options: Options{ReadCommitted: true}}
		list := []AbortedTxn{{1, 500}}
		var tx TxnState
		records := 0
		read := func() {
			records = 0
			for s.Reset(set, 0, list, &tx); s.NextBatch(); {
				for s.Next() {
					records++
				}
			}
		}
		read()
		// The zstd decoder has its tables from sync.Pools, which drop some on purpose under the race detector.
		if allocs := testing.AllocsPerRun(100, read); allocs > 0 && codec != Zstd || allocs > 10 {
			t.Errorf("%v: %v allocations for a set of %d records, want 0", codec, allocs, records)
		}
		if records != 1000 || s.Err() != nil {
			t.Errorf("%v: %d records, %v, want 1000", codec, records, s.Err())
		}
	}
}
