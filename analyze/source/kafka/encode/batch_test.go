package encode

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type record struct {
	timestamp  int64
	key, value []byte
}

// decode reads batches with franz-go, which checks the checksum and every length.
func decode(t *testing.T, batches []byte) []*kgo.Record {
	t.Helper()
	answer := kmsg.NewFetchResponseTopicPartition()
	answer.RecordBatches = batches
	answer.HighWatermark = 1 << 40
	part, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Topic: "t"}, &answer, kgo.DefaultDecompressor(), nil)
	if part.Err != nil {
		t.Fatalf("franz-go: %v", part.Err)
	}
	return part.Records
}

func TestBatch(t *testing.T) {
	long := bytes.Repeat([]byte("a long value that fills more than one block of every codec; "), 5000)
	sets := [][]record{
		{{1_700_000_000_000, []byte("k"), []byte("v")}},
		{
			{1_700_000_000_500, nil, nil},
			{1_700_000_000_000, []byte{}, []byte{}}, // earlier than the first: a negative delta
			{1_700_000_001_000, []byte("k\x00\xff"), long},
			{1_700_000_000_900, bytes.Repeat([]byte("k"), 64), []byte("v")}, // 64: the size takes two bytes as a varint
		},
	}
	for _, codec := range Codecs() {
		b := NewBatch(codec)
		var wire []byte
		var want []record
		for _, set := range sets { // one Batch for both: it can be used again
			for _, r := range set {
				b.Add(r.timestamp, r.key, r.value)
			}
			if b.Records() != len(set) {
				t.Errorf("%v: Records() = %d, want %d", codec, b.Records(), len(set))
			}
			var err error
			if wire, err = b.AppendTo(wire, int64(100+len(want))); err != nil {
				t.Fatalf("%v: AppendTo: %v", codec, err)
			}
			if b.Records() != 0 || b.Size() != 0 {
				t.Errorf("%v: after AppendTo %d records of %d bytes, want none", codec, b.Records(), b.Size())
			}
			want = append(want, set...)
		}
		got := decode(t, wire)
		if len(got) != len(want) {
			t.Fatalf("%v: %d records, want %d", codec, len(got), len(want))
		}
		for i, w := range want {
			g := got[i]
			text := func(b []byte) string { return fmt.Sprintf("%v %.40q %d", b == nil, b, len(b)) }
			if g.Offset != int64(100+i) || g.Timestamp.UnixMilli() != w.timestamp {
				t.Errorf("%v: record %d at offset %d and time %d, want %d and %d", codec, i, g.Offset, g.Timestamp.UnixMilli(), 100+i, w.timestamp)
			}
			if text(g.Key) != text(w.key) || text(g.Value) != text(w.value) || !bytes.Equal(g.Value, w.value) {
				t.Errorf("%v: record %d is %s: %s, want %s: %s (nil, text, length)", codec, i, text(g.Key), text(g.Value), text(w.key), text(w.value))
			}
		}
		// The largest timestamp is the header's field at byte 35; the second set has it in its third record.
		var header kmsg.RecordBatch
		first := int(12 + uint32(wire[8])<<24 + uint32(wire[9])<<16 + uint32(wire[10])<<8 + uint32(wire[11]))
		if err := header.ReadFrom(wire[first:]); err != nil {
			t.Fatalf("%v: second batch: %v", codec, err)
		}
		if header.MaxTimestamp != 1_700_000_001_000 || header.FirstTimestamp != 1_700_000_000_500 || header.LastOffsetDelta != 3 {
			t.Errorf("%v: header has times %d to %d and last delta %d, want 1700000000500, 1700000001000 and 3",
				codec, header.FirstTimestamp, header.MaxTimestamp, header.LastOffsetDelta)
		}
		if header.ProducerID != -1 || header.ProducerEpoch != -1 || header.FirstSequence != -1 || header.PartitionLeaderEpoch != -1 {
			t.Errorf("%v: header has a producer or an epoch: %+v", codec, header)
		}
	}
}

func TestEmptyBatch(t *testing.T) {
	for _, codec := range Codecs() {
		if got, err := NewBatch(codec).AppendTo([]byte("x"), 0); string(got) != "x" || err != nil {
			t.Errorf("%v: empty batch gave %q, %v, want nothing appended", codec, got, err)
		}
	}
}

func TestCompressedIsSmaller(t *testing.T) {
	size := make(map[Codec]int)
	for _, codec := range Codecs() {
		b := NewBatch(codec)
		for i := range 500 {
			b.Add(int64(i), fmt.Appendf(nil, "key-%08d", i), []byte(`{"id":1,"status":"shipped","note":"the same words again and again"}`))
		}
		wire, err := b.AppendTo(nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		size[codec] = len(wire)
	}
	for _, codec := range Codecs()[1:] {
		if size[codec] > size[None]/2 {
			t.Errorf("%v: %d bytes, want less than half of %d", codec, size[codec], size[None])
		}
	}
}

func TestParseCodec(t *testing.T) {
	for _, codec := range Codecs() {
		if got, err := ParseCodec(codec.String()); got != codec || err != nil {
			t.Errorf("ParseCodec(%q) = %v, %v, want %v", codec.String(), got, err, codec)
		}
	}
	const want = `unknown compression "brotli"; known: none, gzip, snappy, lz4, zstd`
	if _, err := ParseCodec("brotli"); err == nil || err.Error() != want {
		t.Errorf("ParseCodec(brotli): %v, want %s", err, want)
	}
}

func TestAddAllocatesNothing(t *testing.T) {
	b := NewBatch(None)
	var wire []byte
	key, value := []byte("key-00000001"), make([]byte, 200)
	round := func() {
		for i := range 100 {
			b.Add(int64(i), key, value)
		}
		wire, _ = b.AppendTo(wire[:0], 0)
	}
	round() // grows the buffers
	if n := testing.AllocsPerRun(100, round); n != 0 {
		t.Errorf("%v allocations in a batch of 100 records, want 0", n)
	}
}
