package batch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/pierrec/lz4/v4"
)

// The LZ4 frame format, version 1.6.4: https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md
const (
	lz4Magic     = 0x184D2204
	lz4SkipMagic = 0x184D2A50 // and the 15 after it

	lz4VersionBits  = 0xC0
	lz4Version      = 0x40
	lz4Independent  = 0x20
	lz4BlockSum     = 0x10
	lz4ContentSize  = 0x08
	lz4ContentSum   = 0x04
	lz4Reserved     = 0x02
	lz4Dictionary   = 0x01
	lz4ReservedBD   = 0x8F
	lz4Uncompressed = 1 << 31
	lz4Window       = 64 << 10 // how far back a linked block may refer
)

var errLZ4Header = errors.New("frame header makes no sense")

// unlz4 appends what the LZ4 frames of src hold to out, of length 0.
//
// Blocks are decoded straight into out, which takes half the time of a reader that goes through a buffer of its own. The
// three checksums of a frame are not checked: they cover bytes that the batch's own checksum has vouched for, and the
// header's is wrong in every batch of magic 0 that a Java client wrote (KAFKA-3160).
func unlz4(out, src []byte, limit int) ([]byte, error) {
	for len(src) > 0 {
		var (
			n   int
			err error
		)
		if out, n, err = appendLZ4Frame(out, src, limit); err != nil {
			return out, err
		}
		src = src[n:]
	}
	return out, nil
}

// appendLZ4Frame decodes the first frame of src and returns its size there.
func appendLZ4Frame(out, src []byte, limit int) (_ []byte, size int, err error) {
	if len(src) < 8 {
		return out, 0, io.ErrUnexpectedEOF
	}
	magic := binary.LittleEndian.Uint32(src)
	if magic&^0xF == lz4SkipMagic {
		size := 8 + int64(binary.LittleEndian.Uint32(src[4:]))
		if size > int64(len(src)) {
			return out, 0, io.ErrUnexpectedEOF
		}
		return out, int(size), nil
	}
	if magic != lz4Magic {
		return out, 0, fmt.Errorf("no frame: magic %08x", magic)
	}
	flags, bd := src[4], src[5]
	if flags&lz4VersionBits != lz4Version || flags&lz4Reserved != 0 || bd&lz4ReservedBD != 0 || bd>>4 < 4 {
		return out, 0, errLZ4Header
	}
	if flags&lz4Dictionary != 0 {
		return out, 0, errors.New("frame needs a dictionary")
	}
	maxBlock := 1 << (8 + 2*(bd>>4)) // 4: 64 KiB, 5: 256 KiB, 6: 1 MiB, 7: 4 MiB
	p := 6
	content := int64(-1)
	if flags&lz4ContentSize != 0 {
		if len(src) < p+8 {
			return out, 0, io.ErrUnexpectedEOF
		}
		content = int64(binary.LittleEndian.Uint64(src[p:]))
		if content < 0 || content > int64(limit-len(out)) {
			return out, 0, ErrTooLarge
		}
		p += 8
	}
	p++ // header checksum
	start := len(out)
	for {
		if len(src)-p < 4 {
			return out, 0, io.ErrUnexpectedEOF
		}
		word := binary.LittleEndian.Uint32(src[p:])
		p += 4
		if word == 0 {
			break
		}
		n := int64(word &^ lz4Uncompressed)
		if n > int64(len(src)-p) {
			return out, 0, io.ErrUnexpectedEOF
		}
		block := src[p : p+int(n)]
		if out, err = appendLZ4Block(out, start, block, word&lz4Uncompressed != 0, flags&lz4Independent == 0, maxBlock, limit); err != nil {
			return out, 0, err
		}
		p += len(block)
		if flags&lz4BlockSum != 0 {
			p += 4
		}
		if p > len(src) {
			return out, 0, io.ErrUnexpectedEOF
		}
	}
	if flags&lz4ContentSum != 0 {
		p += 4
	}
	if p > len(src) {
		return out, 0, io.ErrUnexpectedEOF
	}
	if content >= 0 && content != int64(len(out)-start) {
		return out, 0, fmt.Errorf("frame of %d bytes states %d", len(out)-start, content)
	}
	return out, p, nil
}

// appendLZ4Block decodes one block of a frame whose content begins at out[start].
func appendLZ4Block(out []byte, start int, block []byte, stored, linked bool, maxBlock, limit int) ([]byte, error) {
	n := len(out)
	if stored {
		if len(block) > maxBlock {
			return out, errLZ4Header
		}
		if len(block) > limit-n {
			return out, ErrTooLarge
		}
		return append(grow(out, len(block), limit), block...), nil
	}
	// A byte of input gives at most 255 of output: the bound that keeps a small batch from taking a large buffer.
	room := int(min(int64(maxBlock), 255*int64(len(block))))
	clipped := room > limit-n
	room = min(room, limit-n)
	out = grow(out, room, limit)
	var (
		k   int
		err error
	)
	if linked {
		k, err = lz4.UncompressBlockWithDict(block, out[n:n+room], out[max(start, n-lz4Window):n])
	} else {
		k, err = lz4.UncompressBlock(block, out[n:n+room])
	}
	switch {
	case err != nil && clipped:
		return out, ErrTooLarge
	case err != nil:
		return out, err
	}
	return out[:n+k], nil
}
