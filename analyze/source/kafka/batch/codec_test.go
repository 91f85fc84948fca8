package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

func decompressWith(limit int, c Codec, src []byte) ([]byte, error) {
	s := Scanner{Options: Options{MaxBatchBytes: limit}}
	return s.decompress(c, src)
}

// TestFramings decompresses what the clients' writers produce, beyond the one framing the other tests use.
func TestFramings(t *testing.T) {
	var text []byte
	for i := 0; len(text) < 150_000; i++ {
		text = fmt.Appendf(text, "%d squared is %d\n", i, i*i)
	}
	noise := make([]byte, 70_000) // does not compress: stored blocks
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x = x*1664525 + 1013904223 // Numerical Recipes' generator
		noise[i] = byte(x >> 24)
	}
	zeros := make([]byte, 150_000)

	gzipAt := func(level int) func([]byte) []byte {
		return func(b []byte) []byte {
			var out bytes.Buffer
			w, err := gzip.NewWriterLevel(&out, level)
			_, werr := w.Write(b)
			return must(out.Bytes, err, werr, w.Close())
		}
	}
	gzipMembers := func(b []byte) []byte {
		half := len(b) / 2
		return slices.Concat(compressors[Gzip](b[:half]), compressors[Gzip](b[half:]))
	}
	zstdStream := func(b []byte) []byte { // without the content size, as a streaming writer leaves it
		var out bytes.Buffer
		w, err := zstd.NewWriter(&out)
		for part := range slices.Chunk(b, 10_000) {
			_, werr := w.Write(part)
			err = errors.Join(err, werr, w.Flush())
		}
		return must(out.Bytes, err, w.Close())
	}
	lz4Sum := func(b []byte) []byte { // as Java wrote magic 0: a header checksum that is wrong (KAFKA-3160)
		out := compressors[LZ4](b)
		out[6] ^= 0x55 // magic 4 bytes, flags, block descriptor, header checksum
		return out
	}
	lz4Frames := func(b []byte) []byte {
		skip := []byte{0x53, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 'a', 'b', 'c'} // a skippable frame of three bytes
		return slices.Concat(compressors[LZ4](b[:1000]), skip, compressors[LZ4](b[1000:]))
	}
	for _, tt := range []struct {
		name     string
		codec    Codec
		compress func([]byte) []byte
	}{
		{"gzip 1", Gzip, gzipAt(1)},
		{"gzip 9", Gzip, gzipAt(9)},
		{"gzip stored", Gzip, gzipAt(0)},
		{"gzip members", Gzip, gzipMembers},
		{"snappy raw", Snappy, compressors[Snappy]},
		{"snappy xerial", Snappy, xerialFrame(32 << 10)},
		{"snappy xerial, small blocks", Snappy, xerialFrame(100)},
		{"lz4 64 KiB", LZ4, compressors[LZ4]},
		{"lz4 256 KiB, sums", LZ4, lz4Frame(lz4.BlockSizeOption(lz4.Block256Kb), lz4.ChecksumOption(true), lz4.BlockChecksumOption(true))},
		{"lz4 1 MiB, content size", LZ4, func(b []byte) []byte {
			return lz4Frame(lz4.BlockSizeOption(lz4.Block1Mb), lz4.SizeOption(uint64(len(b))))(b)
		}},
		{"lz4 4 MiB", LZ4, lz4Frame()},
		{"lz4 high compression", LZ4, lz4Frame(lz4.CompressionLevelOption(lz4.Level9), lz4.BlockSizeOption(lz4.Block64Kb))},
		{"lz4 header sum of magic 0", LZ4, lz4Sum},
		{"lz4 frames", LZ4, lz4Frames},
		{"zstd", Zstd, compressors[Zstd]},
		{"zstd stream", Zstd, zstdStream},
	} {
		for name, want := range map[string][]byte{"text": text, "noise": noise, "zeros": zeros} {
			src := tt.compress(want)
			got, err := decompressWith(len(want), tt.codec, src) // the limit itself is allowed
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s of %s: %d bytes, %v, want %d", tt.name, name, len(got), err, len(want))
			}
			if _, err := decompressWith(len(want)-1, tt.codec, src); !errors.Is(err, ErrTooLarge) {
				t.Errorf("%s of %s, a byte above the limit: %v, want ErrTooLarge", tt.name, name, err)
			}
		}
		// No prefix of it decompresses to the whole.
		src := tt.compress(text)
		for n := 0; n < len(src)-8; n += 1 + len(src)/10 {
			if got, err := decompressWith(len(text), tt.codec, src[:n:n]); err == nil && len(got) == len(text) {
				t.Errorf("%s cut at %d of %d decompresses to the whole", tt.name, n, len(src))
			}
		}
	}
}

// TestLinkedLZ4 reads a frame whose blocks refer to the blocks before them, which no Kafka client writes by default but
// every LZ4 library can.
//
// testdata/lz4-linked.bin is lz4.frame.compress(data, block_size=BLOCKSIZE_MAX64KB, block_linked=True,
// content_checksum=True, block_checksum=True, store_size=True) of Python's lz4 package, which wraps liblz4.
func TestLinkedLZ4(t *testing.T) {
	src, err := os.ReadFile("testdata/lz4-linked.bin")
	if err != nil {
		t.Fatal(err)
	}
	var want []byte
	for i := range 5000 {
		want = fmt.Appendf(want, "line %04d of the linked frame\n", i%977)
	}
	got, err := decompressWith(1<<20, LZ4, src)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes, %v, want %d", len(got), err, len(want))
	}
	independent := bytes.Clone(src)
	independent[4] |= lz4Independent // the blocks then refer to what is not theirs
	if got, err := decompressWith(1<<20, LZ4, independent); err == nil && bytes.Equal(got, want) {
		t.Error("the blocks do not refer to each other: the test shows nothing")
	}
}

func TestBadLZ4(t *testing.T) {
	frame := lz4Frame(lz4.BlockSizeOption(lz4.Block64Kb), lz4.SizeOption(1000))(make([]byte, 1000))
	set := func(at int, with ...byte) []byte {
		b := bytes.Clone(frame)
		copy(b[at:], with)
		return b
	}
	for _, tt := range []struct {
		name, text string
		src        []byte
		want       error
	}{
		{"magic", "no frame", set(0, 5), ErrCorrupt},
		{"legacy frame", "no frame", set(0, 0x02, 0x21, 0x4C, 0x18), ErrCorrupt},
		{"version 2", "header", set(4, 0x80), ErrCorrupt},
		{"reserved flag", "header", set(4, frame[4]|lz4Reserved), ErrCorrupt},
		{"dictionary", "dictionary", set(4, frame[4]|lz4Dictionary), ErrCorrupt},
		{"block size 3", "header", set(5, 0x30), ErrCorrupt},
		{"reserved bit of the block size", "header", set(5, 0xC0), ErrCorrupt},
		{"content size too small", "states", set(6, 1), ErrCorrupt},
		{"content size beyond the limit", "above the limit", set(6, 1, 1, 1, 1), ErrTooLarge},
		{"content size beyond all", "above the limit", set(6, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff), ErrTooLarge},
		{"block past the frame", "EOF", set(15, 0xff, 0xff, 0xff, 0x7f), ErrCorrupt},
		{"stored block above the block size", "header", slices.Concat(frame[:15], []byte{1, 0, 1, 0x80}, make([]byte, 65537)), ErrCorrupt},
		{"no end mark", "EOF", frame[:len(frame)-8], ErrCorrupt}, // end mark and content checksum
		{"skippable frame cut off", "EOF", []byte{0x50, 0x2A, 0x4D, 0x18, 9, 0, 0, 0, 1}, ErrCorrupt},
		{"bytes after the frame", "EOF", append(bytes.Clone(frame), 1), ErrCorrupt},
	} {
		_, err := decompressWith(1<<20, LZ4, tt.src)
		if !errors.Is(err, tt.want) || !strings.Contains(fmt.Sprint(err), tt.text) {
			t.Errorf("%s: %v, want %v with %q", tt.name, err, tt.want, tt.text)
		}
	}
}

func TestBadSnappy(t *testing.T) {
	header := "\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"
	huge := binary.AppendUvarint(nil, 1<<31-1) // a block that says 2 GiB
	for _, tt := range []struct {
		name string
		src  []byte
		want error
	}{
		{"header cut off", []byte(header[:12]), ErrCorrupt},
		{"size cut off", []byte(header + "\x00\x00"), ErrCorrupt},
		{"block cut off", []byte(header + "\x00\x00\x00\x09abc"), ErrCorrupt},
		{"block size below zero", []byte(header + "\xff\xff\xff\xff"), ErrCorrupt},
		{"block damaged", []byte(header + "\x00\x00\x00\x03\x05ab"), ErrCorrupt},
		{"size a lie, below the limit", binary.AppendUvarint(nil, 900_000), ErrCorrupt},
		{"size above the limit", huge, ErrTooLarge},
	} {
		if _, err := decompressWith(1<<20, Snappy, tt.src); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
}

// TestBombs decompresses 16 MiB of zeros under a limit of 1 MiB, and sizes that lie, and looks at what was allocated.
func TestBombs(t *testing.T) {
	const limit = 1 << 20
	zeros := make([]byte, 16<<20)
	lyingGzip := compressors[Gzip]([]byte("small"))
	binary.LittleEndian.PutUint32(lyingGzip[len(lyingGzip)-4:], limit-1)
	bombs := map[string]struct {
		codec Codec
		src   []byte
		want  error
	}{
		"gzip":               {Gzip, compressors[Gzip](zeros), ErrTooLarge},
		"gzip, size a lie":   {Gzip, lyingGzip, ErrCorrupt},
		"snappy":             {Snappy, compressors[Snappy](zeros), ErrTooLarge},
		"snappy, xerial":     {Snappy, xerialFrame(32 << 10)(zeros), ErrTooLarge},
		"lz4":                {LZ4, compressors[LZ4](zeros), ErrTooLarge},
		"lz4, 4 MiB blocks":  {LZ4, lz4Frame()(zeros), ErrTooLarge},
		"zstd":               {Zstd, compressors[Zstd](zeros), ErrTooLarge},
		"zstd, no size told": {Zstd, zstdWithoutSize(zeros), ErrTooLarge},
	}
	for name, b := range bombs {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := decompressWith(limit, b.codec, b.src)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, b.want) {
			t.Errorf("%s: %v, want %v", name, err, b.want)
		}
		// A buffer that doubles to the limit takes twice the limit in all, and once more for the byte that is too much.
		// zstd allows itself minZstdWindow and grows in steps of its own.
		if took := after.TotalAlloc - before.TotalAlloc; took > 4*limit && b.codec != Zstd {
			t.Errorf("%s: allocated %d bytes under a limit of %d", name, took, limit)
		}
	}
}

// countingLock counts how often it was taken, and whether it is held.
type countingLock struct{ counts }

type counts struct{ taken, held int }

func (l *countingLock) Lock()   { l.taken++; l.held++ }
func (l *countingLock) Unlock() { l.held-- }

// A large batch is held with the lock until the next one or the next set, and its memory is not kept. A small one takes
// no lock.
func TestLargeBatchesAreHeldWithTheLock(t *testing.T) {
	for _, codec := range []Codec{Gzip, Snappy, LZ4, Zstd} {
		large := compressed(batchOf(2, 1), codec)
		large.records[0].value = make([]byte, LargeBatchBytes+1)
		small := compressed(batchOf(0, 2), codec)
		after := compressed(batchOf(3, 1), codec)
		set := concat(small, large, after)
		var l countingLock
		s := Scanner{Options: Options{Large: &l}}
		s.Reset(set, 0, nil, nil)
		for i, want := range []counts{{0, 0}, {1, 1}, {1, 0}} {
			if !s.NextBatch() || l.counts != want || !s.Next() {
				t.Fatalf("%v: batch %d: lock %+v and error %v, want %+v and a record", codec, i, l.counts, s.Err(), want)
			}
		}
		if cap(s.buf) > 2*LargeBatchBytes {
			t.Errorf("%v: a buffer of %d bytes is kept", codec, cap(s.buf))
		}
		s.Reset(set, 2, nil, nil)
		if !s.NextBatch() || l.held != 1 {
			t.Errorf("%v: lock %+v in the large batch, want it held", codec, l.counts)
		}
		if s.Reset(nil, 0, nil, nil); l.held != 0 {
			t.Errorf("%v: lock %+v after Reset, want it let go", codec, l.counts)
		}

		s.Options.MaxBatchBytes = LargeBatchBytes + 1 // the record takes more
		s.Reset(set, 0, nil, nil)
		if s.NextBatch(); s.NextBatch() || !errors.Is(s.Err(), ErrTooLarge) {
			t.Errorf("%v: error %v, want %v", codec, s.Err(), ErrTooLarge)
		}
		if s.Reset(nil, 0, nil, nil); l.held != 0 {
			t.Errorf("%v: lock %+v after an error, want it let go", codec, l.counts)
		}
	}
}

func zstdWithoutSize(b []byte) []byte {
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out, zstd.WithEncoderConcurrency(1))
	_, werr := w.ReadFrom(bytes.NewReader(b))
	return must(out.Bytes, err, werr, w.Close())
}

func TestCodecNames(t *testing.T) {
	for codec, want := range map[Codec]string{None: "none", Gzip: "gzip", Snappy: "snappy", LZ4: "lz4", Zstd: "zstd", 6: "codec 6"} {
		if got := codec.String(); got != want {
			t.Errorf("Codec(%d) = %q, want %q", uint8(codec), got, want)
		}
	}
}
