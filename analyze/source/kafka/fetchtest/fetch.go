package fetchtest

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// piece is a part of a Fetch answer: bytes of its own, then a section of a log.
type piece struct {
	head     []byte
	log      *log
	position int64
	length   int64
}

// fetch answers a Fetch request, the records straight from the files. A request that finds nothing is answered after
// its MaxWait, as no record can come.
func (c *connection) fetch(id []byte, req *kmsg.FetchRequest) error {
	pieces, found := c.server.compose(req)
	if !found {
		time.Sleep(time.Duration(req.MaxWaitMillis) * time.Millisecond)
	}
	size := int64(len(id))
	for _, p := range pieces {
		size += int64(len(p.head)) + p.length
	}
	c.out = binary.BigEndian.AppendUint32(c.out[:0], uint32(size))
	c.out = append(c.out, id...)
	for _, p := range pieces {
		c.out = append(c.out, p.head...)
		if p.length == 0 {
			continue
		}
		if _, err := c.conn.Write(c.out); err != nil {
			return err
		}
		c.out = c.out[:0]
		if err := c.sendSection(p); err != nil {
			return err
		}
	}
	_, err := c.conn.Write(c.out)
	return err
}

func (c *connection) sendSection(p piece) error {
	f := c.files[p.log.path]
	if f == nil {
		var err error
		if f, err = os.Open(p.log.path); err != nil {
			return err
		}
		c.files[p.log.path] = f
	}
	if _, err := f.Seek(p.position, io.SeekStart); err != nil {
		return err
	}
	// A limited file is what net hands to sendfile on Linux.
	n, err := c.conn.ReadFrom(&io.LimitedReader{R: f, N: p.length})
	if err == nil && n != p.length {
		err = fmt.Errorf("%s is shorter than it was: %d bytes of %d at %d", p.log.path, n, p.length, p.position)
	}
	return err
}

// compose lays out the answer in the encoding of versions 4 to 11. found is false when no partition has a record or an
// error to tell.
func (s *Server) compose(req *kmsg.FetchRequest) (pieces []piece, found bool) {
	be := binary.BigEndian
	v := req.Version
	head := be.AppendUint32(nil, 0) // throttle time
	if v >= 7 {
		head = be.AppendUint16(head, 0) // error
		head = be.AppendUint32(head, 0) // session: none
	}
	left := int64(req.MaxBytes)
	head = be.AppendUint32(head, uint32(len(req.Topics)))
	for _, t := range req.Topics {
		head = be.AppendUint16(head, uint16(len(t.Topic)))
		head = append(head, t.Topic...)
		head = be.AppendUint32(head, uint32(len(t.Partitions)))
		for _, p := range t.Partitions {
			l := s.partition(t.Topic, p.Partition)
			var code uint16
			var end, position, length int64
			if l == nil {
				code = codeUnknown
			} else {
				var ok bool
				end = l.end
				if position, length, ok = l.section(p.FetchOffset, min(int64(p.PartitionMaxBytes), left)); !ok {
					code = codeOutOfRange
				}
				// Only the first batch of an answer may exceed the limits.
				if length > left && found {
					length = max(left, 0)
				}
			}
			found = found || length > 0 || code != 0
			left -= length
			head = be.AppendUint32(head, uint32(p.Partition))
			head = be.AppendUint16(head, code)
			head = be.AppendUint64(head, uint64(end)) // high watermark
			head = be.AppendUint64(head, uint64(end)) // last stable offset
			if v >= 5 {
				head = be.AppendUint64(head, 0) // log start offset
			}
			head = be.AppendUint32(head, 0) // aborted transactions: none
			if v >= 11 {
				head = be.AppendUint32(head, ^uint32(0)) // preferred read replica: none
			}
			head = be.AppendUint32(head, uint32(length))
			pieces = append(pieces, piece{head, l, position, length})
			head = nil
		}
	}
	return append(pieces, piece{head: head}), found
}
