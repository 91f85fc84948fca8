package profile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/zeebo/xxh3"
)

// The footer of a Parquet file says how much is to be allocated for it and for what it lists, so a damaged one could ask
// for more memory than there is. A saved profile has a seal in front of its footer, where readers of Parquet do not look:
// sealMark and the xxh3-128 of all that follows. Its footer is read only when that is right.
const (
	parquetMagic = "PAR1" // begins and ends a file
	endSize      = 8      // the footer's length and the magic
	sealMark     = "keyspread\x00"
	sealSize     = len(sealMark) + 16
)

func sealOf(footer []byte) []byte {
	sum := xxh3.Hash128(footer).Bytes()
	return append([]byte(sealMark), sum[:]...)
}

// footerAt returns where in the end of a file, its last bytes, the footer begins; an error when it is no end.
func footerAt(size int64, end []byte) (int64, error) {
	if len(end) < endSize || string(end[len(end)-len(parquetMagic):]) != parquetMagic {
		return 0, errors.New("it begins as a Parquet file and does not end as one: it is cut short or damaged")
	}
	length := int64(binary.LittleEndian.Uint32(end[len(end)-endSize:]))
	at := size - endSize - length
	if at < int64(len(parquetMagic)) {
		return 0, fmt.Errorf("its footer of %d bytes is longer than the file: it is cut short or damaged", length)
	}
	return at, nil
}

// seal puts the seal into b, the end of a Parquet file from before its footer on.
func seal(b []byte) ([]byte, error) {
	at, err := footerAt(int64(len(b))+int64(len(parquetMagic)), b)
	if err != nil {
		return nil, err
	}
	at -= int64(len(parquetMagic))
	sealed := append([]byte(nil), b[:at]...)
	sealed = append(sealed, sealOf(b[at:])...)
	return append(sealed, b[at:]...), nil
}

// checkSeal returns an error unless r is a sealed file whose footer is as it was written.
func checkSeal(r io.ReaderAt, size int64) error {
	read := func(at int64, n int) ([]byte, error) {
		b := make([]byte, n)
		_, err := r.ReadAt(b, at)
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return b, err
	}
	var start []byte
	if size >= int64(len(parquetMagic))+endSize {
		var err error
		if start, err = read(0, len(parquetMagic)); err != nil {
			return err
		}
	}
	if string(start) != parquetMagic {
		return fmt.Errorf("%w: no Parquet file", ErrNotProfile)
	}
	end, err := read(size-endSize, endSize)
	if err != nil {
		return err
	}
	at, err := footerAt(size, end)
	if err != nil {
		return err
	}
	if at < int64(sealSize) {
		return fmt.Errorf("%w: a Parquet file that this version of keyspread did not write", ErrNotProfile)
	}
	sealed, err := read(at-int64(sealSize), sealSize+int(size-at))
	if err != nil {
		return err
	}
	want := sealOf(sealed[sealSize:])
	switch {
	case string(sealed[:len(sealMark)]) != sealMark:
		return fmt.Errorf("%w: a Parquet file that this version of keyspread did not write", ErrNotProfile)
	case string(sealed[:sealSize]) != string(want):
		return errors.New("its footer is damaged: the checksum is another")
	}
	return nil
}
