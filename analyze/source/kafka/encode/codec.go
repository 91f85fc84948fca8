package encode

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// Codec is how a batch's records are compressed; its value is that of the batch's attributes.
type Codec int16

// The codecs of record batches.
const (
	None Codec = iota
	Gzip
	Snappy
	LZ4
	Zstd
)

var codecNames = []string{"none", "gzip", "snappy", "lz4", "zstd"}

// Codecs returns every codec, by its value.
func Codecs() []Codec { return []Codec{None, Gzip, Snappy, LZ4, Zstd} }

// String returns the value of Kafka's compression.type.
func (c Codec) String() string {
	if c >= 0 && int(c) < len(codecNames) {
		return codecNames[c]
	}
	return fmt.Sprintf("codec %d", int16(c))
}

// ParseCodec returns the codec of that name: none, gzip, snappy, lz4 or zstd.
func ParseCodec(s string) (Codec, error) {
	for i, name := range codecNames {
		if name == s {
			return Codec(i), nil
		}
	}
	return None, fmt.Errorf("unknown compression %q; known: %s", s, strings.Join(codecNames, ", "))
}

// compressor appends the compressed form of src to dst.
type compressor interface {
	compress(dst, src []byte) ([]byte, error)
}

// newCompressor returns nil for None and panics for a codec that is none.
func newCompressor(c Codec) compressor {
	switch c {
	case None:
		return nil
	case Gzip:
		return &streamCompressor{w: gzip.NewWriter(nil)}
	case Snappy:
		return &xerialCompressor{}
	case LZ4:
		w := lz4.NewWriter(nil)
		must(w.Apply(lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false))) // as Kafka's Java producer has it
		return &streamCompressor{w: w}
	case Zstd:
		w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
		must(err)
		return zstdCompressor{w}
	}
	panic(fmt.Sprintf("encode: %v is not known", c))
}

// must is for options that are constants.
func must(err error) {
	if err != nil {
		panic("encode: " + err.Error())
	}
}

// streamCompressor uses a writer again and again.
type streamCompressor struct {
	w interface {
		io.WriteCloser
		Reset(io.Writer)
	}
}

func (c *streamCompressor) compress(dst, src []byte) ([]byte, error) {
	out := bytes.NewBuffer(dst)
	c.w.Reset(out)
	if _, err := c.w.Write(src); err != nil {
		return dst, err
	}
	err := c.w.Close()
	return out.Bytes(), err
}

type zstdCompressor struct{ w *zstd.Encoder }

func (c zstdCompressor) compress(dst, src []byte) ([]byte, error) {
	return c.w.EncodeAll(src, dst), nil
}

// xerialCompressor writes snappy-java's stream, which is what Kafka's Java producer sends: a header, then blocks of
// 32 KiB, each with its compressed size before it.
type xerialCompressor struct{ block []byte }

// xerialHeader is the magic, the version and the lowest version that can read it.
const xerialHeader = "\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"

const xerialBlock = 32 << 10

func (c *xerialCompressor) compress(dst, src []byte) ([]byte, error) {
	dst = append(dst, xerialHeader...)
	for len(src) > 0 {
		n := min(len(src), xerialBlock)
		c.block = snappy.Encode(c.block[:cap(c.block)], src[:n])
		dst = binary.BigEndian.AppendUint32(dst, uint32(len(c.block)))
		dst = append(dst, c.block...)
		src = src[n:]
	}
	return dst, nil
}
