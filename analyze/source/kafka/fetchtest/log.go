package fetchtest

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// log is one partition: a file of batches and where each begins.
type log struct {
	path    string
	size    int64
	end     int64 // offset after the last record
	batches []batchAt
}

// batchAt is where a batch begins.
type batchAt struct{ offset, position int64 }

// The parts of a batch's header that are looked at: base offset (8 bytes), length (4), and the last offset's delta.
const (
	prefixSize = 12
	deltaAt    = 23
	headSize   = deltaAt + 4
)

// openLogs reads the partitions of the topic in folder.
func openLogs(folder string) ([]log, error) {
	var logs []log
	for p := int32(0); ; p++ {
		l, err := openLog(filepath.Join(folder, fileName(p)))
		if errors.Is(err, os.ErrNotExist) {
			return logs, nil
		}
		if err != nil {
			return nil, err
		}
		logs = append(logs, l)
	}
}

func openLog(path string) (log, error) {
	f, err := os.Open(path)
	if err != nil {
		return log{}, err
	}
	defer f.Close()
	l := log{path: path}
	var head [headSize]byte
	for {
		_, err := f.ReadAt(head[:], l.size)
		if err == io.EOF {
			return l, nil
		}
		if err != nil {
			return log{}, fmt.Errorf("reading %s at %d: %w", path, l.size, err)
		}
		first := int64(binary.BigEndian.Uint64(head[:]))
		l.batches = append(l.batches, batchAt{first, l.size})
		l.end = first + int64(binary.BigEndian.Uint32(head[deltaAt:])) + 1
		l.size += prefixSize + int64(binary.BigEndian.Uint32(head[8:]))
	}
}

// section returns the bytes from the batch that holds offset on: limit of them, which may cut the last batch off as a
// broker does, but at least one whole batch. ok is false when the offset is outside the log.
func (l *log) section(offset, limit int64) (position, length int64, ok bool) {
	if offset < 0 || offset > l.end {
		return 0, 0, false
	}
	if offset == l.end {
		return l.size, 0, true
	}
	i, found := slices.BinarySearchFunc(l.batches, offset, func(b batchAt, o int64) int { return cmp.Compare(b.offset, o) })
	if !found {
		i--
	}
	position = l.batches[i].position
	whole := l.size
	if i+1 < len(l.batches) {
		whole = l.batches[i+1].position
	}
	return position, min(max(limit, whole-position), l.size-position), true
}
