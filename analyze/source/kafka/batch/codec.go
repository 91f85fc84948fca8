package batch

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// Codec is how the records of a batch are compressed.
type Codec uint8

// The codecs of Kafka. Zstd needs magic 2.
const (
	None Codec = iota
	Gzip
	Snappy
	LZ4
	Zstd
)

// String returns Kafka's name of the codec.
func (c Codec) String() string {
	names := [...]string{"none", "gzip", "snappy", "lz4", "zstd"}
	if int(c) < len(names) {
		return names[c]
	}
	return fmt.Sprintf("codec %d", uint8(c))
}

// decompressor decompresses into one buffer that it keeps: what it returned is overwritten by the next call.
type decompressor struct {
	buf  []byte
	src  bytes.Reader
	gzip *gzip.Reader
	zstd *zstd.Decoder
}

// decompress returns the decompressed bytes of src, at most Options.MaxBatchBytes. With Options.Large, what takes more
// than LargeBatchBytes is held until release, with that lock.
func (s *Scanner) decompress(c Codec, src []byte) ([]byte, error) {
	limit := s.Options.MaxBatchBytes
	if limit <= 0 {
		limit = DefaultMaxBatchBytes
	}
	usual := limit
	if s.Options.Large != nil {
		usual = min(limit, LargeBatchBytes)
	}
	out, err := s.decompressor.decompress(c, src, usual)
	if cap(out) > cap(s.buf) {
		s.buf = out[:0]
	}
	if errors.Is(err, ErrTooLarge) && usual < limit {
		s.Options.Large.Lock()
		s.large = true
		out, err = new(decompressor).decompress(c, src, limit) // whose memory goes with the batch
	}
	switch {
	case errors.Is(err, ErrCodec):
		return nil, err
	case errors.Is(err, ErrTooLarge):
		return nil, fmt.Errorf("%w: above the limit of %d bytes (%v)", ErrTooLarge, limit, c)
	case err != nil:
		return nil, fmt.Errorf("%w: %v: %w", ErrCorrupt, c, err)
	}
	return out, nil
}

// release lets go of a large batch.
func (s *Scanner) release() {
	if s.large {
		s.large, s.body = false, nil
		clear(s.chunk[:]) // its keys
		s.Options.Large.Unlock()
	}
}

// decompress returns the decompressed bytes of src, at most limit of them, or the codec's error. What it returns with an
// error is the buffer as it has grown.
func (d *decompressor) decompress(c Codec, src []byte, limit int) ([]byte, error) {
	switch c {
	case Gzip:
		return d.gunzip(src, limit)
	case Snappy:
		return d.unsnappy(src, limit)
	case LZ4:
		return unlz4(d.buf[:0], src, limit)
	case Zstd:
		return d.unzstd(src, limit)
	}
	return nil, fmt.Errorf("%w: %d, known are 0 to %d", ErrCodec, uint8(c), uint8(Zstd))
}

// grow makes room for n more bytes in b. It doubles the buffer, but not past the limit for the sake of it.
func grow(b []byte, n, limit int) []byte {
	if cap(b)-len(b) >= n {
		return b
	}
	return append(make([]byte, 0, max(len(b)+n, min(2*cap(b), limit))), b...)
}

func (d *decompressor) gunzip(src []byte, limit int) (_ []byte, err error) {
	d.src.Reset(src)
	if d.gzip == nil {
		d.gzip, err = gzip.NewReader(&d.src)
	} else {
		err = d.gzip.Reset(&d.src)
	}
	if err != nil {
		return nil, err
	}
	// The last four bytes tell the size modulo 2^32 of the last member, in practice the only one. It is a hint: deflate
	// cannot do better than 1032:1, so a lie costs no more than the truth could.
	out := d.buf[:0]
	if hint := int64(binary.LittleEndian.Uint32(src[len(src)-4:])); hint <= int64(limit) && hint/1032 <= int64(len(src)) {
		out = grow(out, int(hint)+1, limit) // and one to see the end without growing
	}
	for {
		if len(out) == cap(out) {
			out = grow(out, 512, limit)
		}
		n, err := d.gzip.Read(out[len(out):cap(out)])
		out = out[:len(out)+n]
		switch {
		case len(out) > limit:
			return out, ErrTooLarge
		case err == io.EOF:
			return out, nil
		case err != nil:
			return out, err
		}
	}
}

const minZstdWindow = 8 << 20

func (d *decompressor) unzstd(src []byte, limit int) (_ []byte, err error) {
	if d.zstd == nil {
		// The library takes its bound for the window too, and refuses a small batch whose writer was set up for a large
		// one. RFC 8878 asks every decoder to take windows of 8 MiB, so that much is always allowed here.
		// With one decoder and no stream there is no goroutine, so there is nothing to close.
		d.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(max(limit, minZstdWindow))))
		if err != nil {
			return nil, err
		}
	}
	out, err := d.zstd.DecodeAll(src, d.buf[:0])
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, zstd.ErrWindowSizeExceeded) || len(out) > limit {
		return out, ErrTooLarge
	}
	return out, err
}

// xerial is how the Java clients frame snappy: this magic, two int32 versions, then blocks that an int32 size precedes.
var xerial = []byte("\x82SNAPPY\x00")

const xerialHeader = 16

func (d *decompressor) unsnappy(src []byte, limit int) ([]byte, error) {
	if !bytes.HasPrefix(src, xerial) {
		return appendSnappy(d.buf[:0], src, limit)
	}
	if len(src) < xerialHeader {
		return nil, io.ErrUnexpectedEOF
	}
	out := d.buf[:0]
	for src = src[xerialHeader:]; len(src) > 0; {
		if len(src) < 4 {
			return out, io.ErrUnexpectedEOF
		}
		size := binary.BigEndian.Uint32(src)
		src = src[4:]
		if uint64(size) > uint64(len(src)) {
			return out, io.ErrUnexpectedEOF
		}
		var err error
		if out, err = appendSnappy(out, src[:size], limit); err != nil {
			return out, err
		}
		src = src[size:]
	}
	return out, nil
}

// appendSnappy appends what a raw snappy block holds.
func appendSnappy(out, block []byte, limit int) ([]byte, error) {
	size, err := s2.DecodedLen(block)
	if err != nil {
		return out, err
	}
	if size > limit-len(out) {
		return out, ErrTooLarge
	}
	// A byte of input gives at most 64/3 of output, so that a size that lies is found before memory is taken for it.
	if size/22 > len(block) {
		return out, s2.ErrCorrupt
	}
	out = grow(out, size, limit)
	n := len(out)
	if _, err := s2.Decode(out[n:n+size:n+size], block); err != nil {
		return out, err
	}
	return out[:n+size], nil
}
