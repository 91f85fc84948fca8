package batch

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
)

func TestMessages(t *testing.T) {
	k := func(s string) []byte { return []byte(s) }
	m0 := func(offset int64, key string) msg { return msg{magic: 0, offset: offset, key: k(key), value: k("v")} }
	m1 := func(offset, time int64, key string) msg {
		return msg{magic: 1, offset: offset, time: time, key: k(key), value: k("v")}
	}
	appendTime := wrap(1, 12, Gzip, m1(0, 100, "a"), m1(1, 200, "b"), m1(2, 300, "c"))
	appendTime.attributes |= appendTimeBit
	appendTime.time = 5555
	single := m1(7, 5555, "a")
	single.attributes |= appendTimeBit

	tests := []struct {
		name string
		set  []byte
		from int64
		want []Record
		next int64
	}{
		{"magic 0", concat(m0(10, "a"), msg{offset: 11}, msg{offset: 12, key: k(""), value: k("")}), 0, []Record{
			{10, -1, k("a"), 1, 0}, {11, -1, nil, -1, 0}, {12, -1, k(""), 0, 0},
		}, 13},
		{"magic 1", concat(m1(10, 100, "a"), msg{magic: 1, offset: 11, time: 101}, msg{magic: 1, offset: 15, time: -1, key: k(""), value: k("")}), 0, []Record{
			{10, 100, k("a"), 1, 0}, {11, 101, nil, -1, 0}, {15, -1, k(""), 0, 0},
		}, 16},
		{"magic 1, LogAppendTime", concat(single), 0, []Record{{7, 5555, k("a"), 1, 0}}, 8},
		{"magic 0 wrapper, absolute offsets", concat(wrap(0, 12, Gzip, m0(10, "a"), m0(11, "b"), m0(12, "c"))), 0, []Record{
			{10, -1, k("a"), 1, 0}, {11, -1, k("b"), 1, 0}, {12, -1, k("c"), 1, 0},
		}, 13},
		{"magic 0 wrapper, compacted", concat(wrap(0, 17, Snappy, m0(10, "a"), m0(17, "c"))), 0, []Record{
			{10, -1, k("a"), 1, 0}, {17, -1, k("c"), 1, 0},
		}, 18},
		{"magic 1 wrapper, relative offsets", concat(wrap(1, 12, LZ4, m1(0, 100, "a"), m1(1, 101, "b"), m1(2, 102, "c"))), 0, []Record{
			{10, 100, k("a"), 1, 0}, {11, 101, k("b"), 1, 0}, {12, 102, k("c"), 1, 0},
		}, 13},
		// The producer wrote 0 to 9 at 10 to 19; 3 and 7 are left.
		{"magic 1 wrapper, compacted", concat(wrap(1, 17, Gzip, m1(3, 100, "a"), m1(7, 101, "b"))), 0, []Record{
			{13, 100, k("a"), 1, 0}, {17, 101, k("b"), 1, 0},
		}, 18},
		{"magic 1 wrapper, LogAppendTime", concat(appendTime), 0, []Record{
			{10, 5555, k("a"), 1, 0}, {11, 5555, k("b"), 1, 0}, {12, 5555, k("c"), 1, 0},
		}, 13},
		{"start inside a wrapper", concat(wrap(1, 12, Gzip, m1(0, 100, "a"), m1(1, 101, "b"), m1(2, 102, "c"))), 12, []Record{
			{12, 102, k("c"), 1, 0},
		}, 13},
		{"all formats in a set", concat(m0(1, "a"), m1(2, 7, "b"), wrap(1, 4, Snappy, m1(0, 8, "c"), m1(1, 9, "d")), batchOf(5, 1)), 0, []Record{
			{1, -1, k("a"), 1, 0}, {2, 7, k("b"), 1, 0}, {3, 8, k("c"), 1, 0}, {4, 9, k("d"), 1, 0}, {5, 1000, k("k0"), 5, 0},
		}, 6},
		{"cut off", concat(m0(10, "a"), m0(11, "b"))[:40], 0, []Record{{10, -1, k("a"), 1, 0}}, 11},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var s Scanner
			s.Reset(tt.set, tt.from, nil, nil)
			got := scan(t, &s)
			if s.Err() != nil {
				t.Fatalf("Err() = %v", s.Err())
			}
			compareRecords(t, tt.name, got, tt.want)
			if s.Position() != tt.next {
				t.Errorf("Position() = %d, want %d", s.Position(), tt.next)
			}
			if x, err := Walk(tt.set, tt.from); x.Next != tt.next || err != nil {
				t.Errorf("Walk = %+v, %v, want it to end at %d", x, err, tt.next)
			}
		})
	}
}

func TestMessageHeader(t *testing.T) {
	set := concat(wrap(1, 17, Gzip, msg{magic: 1, offset: 3, time: 5}, msg{magic: 1, offset: 7, time: 6}))
	var s Scanner
	s.Reset(set, 0, nil, nil)
	if !s.NextBatch() {
		t.Fatalf("NextBatch: %v", s.Err())
	}
	want := Header{
		BaseOffset: 13, LastOffset: 17, MaxTimestamp: 0, ProducerID: -1, Count: 2, LeaderEpoch: -1, WireSize: len(set),
		Magic: 1, Codec: Gzip,
	}
	if s.Batch() != want {
		t.Errorf("Batch() = %+v, want %+v", s.Batch(), want)
	}
}

func TestBadMessages(t *testing.T) {
	m := func(magic byte, offset int64) msg {
		return msg{magic: magic, offset: offset, key: []byte("key"), value: []byte("value")}
	}
	// patch changes bytes and makes the checksum right again.
	patch := func(b []byte, at int, with ...byte) []byte {
		copy(b[at:], with)
		binary.BigEndian.PutUint32(b[crcAt:], crc32.ChecksumIEEE(b[magicAt:]))
		return b
	}
	holding := func(magic byte, offset int64, inner []byte) []byte {
		return msg{magic: magic, offset: offset, attributes: byte(Gzip), value: compressors[Gzip](inner)}.bytes()
	}
	outerCRC, innerCRC := m(1, 12).bytes(), m(1, 2).bytes()
	outerCRC[len(outerCRC)-1] ^= 1
	innerCRC[len(innerCRC)-1] ^= 1
	twice := wrap(1, 2, Gzip, m(1, 2))

	tests := []struct {
		name string
		bad  []byte
		want error
		text string
	}{
		{"checksum", outerCRC, ErrCRC, "stored"},
		{"inner checksum", holding(1, 12, innerCRC), ErrCRC, "stored"},
		{"key past the message", patch(m(0, 12).bytes(), 18, 0, 0, 1, 0), ErrCorrupt, "key of 256 bytes"},
		{"key size -2", patch(m(0, 12).bytes(), 18, 0xff, 0xff, 0xff, 0xfe), ErrCorrupt, "key of -2 bytes"},
		{"key that leaves no value size", patch(m(1, 12).bytes(), 26, 0, 0, 0, 10), ErrCorrupt, "ends before its value"},
		{"value past the message", patch(m(1, 12).bytes(), 33, 0, 0, 1, 0), ErrCorrupt, "value of 256 bytes"},
		{"bytes after the value", patch(m(1, 12).bytes(), 33, 0, 0, 0, 1), ErrCorrupt, "4 bytes after its value"},
		{"size below the smallest", patch(m(1, 12).bytes(), lengthAt, 0, 0, 0, 21), ErrCorrupt, "length 21"},
		{"null value, compressed", msg{magic: 1, offset: 12, attributes: byte(Gzip)}.bytes(), ErrCorrupt, "without a value"},
		{"no inner message", holding(1, 12, nil), ErrCorrupt, "without messages"},
		{"inner message cut off", holding(1, 12, m(1, 2).bytes()[:30]), ErrCorrupt, "cut off"},
		{"inner message of magic 2", holding(1, 12, batchOf(0, 1).bytes()), ErrCorrupt, "magic 2"},
		{"inner message compressed", holding(1, 12, twice.bytes()), ErrCorrupt, "codec 1"},
		{"inner offsets not in order", holding(1, 12, concat(m(1, 2), m(1, 1))), ErrCorrupt, "inner offset 1 after 2"},
		{"inner offsets above the outer", holding(1, 12, concat(m(1, 13))), ErrCorrupt, "end at 13"},
		{"relative inner offsets in magic 0", holding(0, 12, concat(m(0, 0), m(0, 1))), ErrCorrupt, "end at 1, the outer one is 12"},
		{"inner offset below zero", holding(1, 12, concat(m(1, -3))), ErrCorrupt, "out of range"},
		{"inner zero bytes", holding(1, 12, make([]byte, 50)), ErrCorrupt, "cut off"},
		{"zstd", msg{magic: 1, offset: 12, attributes: byte(Zstd), value: []byte("x")}.bytes(), ErrCorrupt, "zstd"},
		{"codec 6", msg{magic: 1, offset: 12, attributes: 6, value: []byte("x")}.bytes(), ErrCodec, "6"},
	}
	for _, tt := range tests {
		var s Scanner
		s.Reset(slices.Concat(m(0, 3).bytes(), tt.bad), 0, nil, nil)
		got := scan(t, &s)
		if !slices.Equal(offsets(got), []int64{3}) || s.Position() != 4 {
			t.Errorf("%s: got offsets %d, position %d, want the one before it", tt.name, offsets(got), s.Position())
		}
		var e *Error
		if !errors.As(s.Err(), &e) || !errors.Is(e, tt.want) || e.Offset != 12 || !strings.Contains(e.Error(), tt.text) {
			t.Errorf("%s: Err() = %v, want %v at offset 12 with %q", tt.name, s.Err(), tt.want, tt.text)
		}
	}
}
