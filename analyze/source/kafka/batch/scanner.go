package batch

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"
)

// DefaultMaxBatchBytes is what a batch may decompress to unless [Options] says otherwise: 256 MiB. A broker's
// max.message.bytes, 1 MiB by default, bounds the compressed size only.
const DefaultMaxBatchBytes = 256 << 20

// LargeBatchBytes is what a batch decompresses to at most without [Options].Large: 8 MiB.
const LargeBatchBytes = 8 << 20

// Options is how a [Scanner] reads. Set it before the first Reset.
type Options struct {
	ReadCommitted bool // leave out the records of aborted transactions
	MaxBatchBytes int  // upper bound of a decompressed batch; 0 means DefaultMaxBatchBytes
	// Large, which several scanners may share, is held while a batch is open that decompresses to more than
	// LargeBatchBytes: all of them together then hold one such batch at a time. It is let go by the next NextBatch or
	// Reset. nil: each scanner may hold one, and keeps its buffer.
	Large sync.Locker
}

// chunkSize is how many records Next decodes at a time: 6 KiB of them, a part of the L1 cache.
const chunkSize = 128

// Scanner reads the record set of one partition after another. The zero value is ready. It keeps its decompressors and
// the buffer of the largest batch seen, so that reading allocates nothing once warm. It is not for concurrent use, and
// must not be copied.
type Scanner struct {
	Options Options

	set   []byte
	used  int // bytes of set passed
	pos   int64
	need  int // size of the batch cut off at the end; -1: cut off too early to tell
	err   error
	list  []AbortedTxn // of Reset, by first offset
	begun int          // how many of list the batches have reached
	tx    *TxnState
	own   TxnState // when the caller keeps none

	control int64
	aborted int64

	// The current batch.
	head     Header
	open     bool
	body     []byte // its records, decompressed
	at       int    // next record in body
	left     int32  // records not decoded yet
	prev     int64  // offset (magic 2: delta) of the last one decoded
	baseTime int64
	shift    int64 // from stored to real offsets (magic 1)

	chunk [chunkSize]Record
	i, n  int // current record and end in chunk

	large bool // Options.Large is held
	decompressor
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Reset points the scanner at a record set of a partition. Records below from are left out.
//
// aborted, with [Options.ReadCommitted], are the transactions the broker listed for this set, in any order: those aborted
// that have records or a marker at from or above it. It is not kept. tx carries open aborted transactions from set to set;
// nil forgets them, which is right when every set comes with a list of its own.
func (s *Scanner) Reset(set []byte, from int64, aborted []AbortedTxn, tx *TxnState) {
	if tx == nil {
		clear(s.own.aborted)
		tx = &s.own
	}
	s.release()
	s.set, s.used, s.pos, s.need, s.err, s.tx = set, 0, from, 0, nil, tx
	s.control, s.aborted = 0, 0
	s.open, s.body, s.left, s.i, s.n = false, nil, 0, 0, 0
	s.head = Header{}
	s.list, s.begun = append(s.list[:0], aborted...), 0
	slices.SortFunc(s.list, func(a, b AbortedTxn) int { return cmp.Compare(a.FirstOffset, b.FirstOffset) })
}

// NextBatch passes what is left of the current batch and opens the next one that reaches from or beyond it. It returns
// false at the end of the set, at a batch that is cut off there, and on an error, which Err tells.
//
// A batch of markers, one of an aborted transaction (with [Options.ReadCommitted]) and one that compaction has emptied are
// opened too, but have no records to read.
func (s *Scanner) NextBatch() bool {
	s.finish()
	for s.err == nil {
		s.release()
		entry, need, err := cutEntry(s.set[s.used:])
		if err != nil {
			s.err = err
			return false
		}
		if entry == nil {
			s.need = need
			return false
		}
		h, err := parseHeader(entry)
		if err != nil {
			// Fields that make no sense are more often damaged than badly written; the checksum tells.
			if crcErr := checkCRC(entry); crcErr != nil {
				err = h.errorf(crcErr)
			}
			s.err = err
			return false
		}
		if h.LastOffset < s.pos && !h.Control {
			s.used += len(entry)
			continue
		}
		s.head = h
		if err := s.openBatch(entry); err != nil {
			s.fail(err)
			return false
		}
		if h.LastOffset < s.pos {
			s.used += len(entry) // a marker below from: it ends a transaction, nothing more
			continue
		}
		s.open = true
		return true
	}
	return false
}

// openBatch checks the checksum, brings the transaction state up to date and makes the records ready to be decoded.
func (s *Scanner) openBatch(entry []byte) error {
	s.body, s.at, s.left, s.prev, s.i, s.n = nil, 0, 0, -1, 0, 0
	if err := checkCRC(entry); err != nil {
		return err
	}
	if s.head.Magic < 2 {
		if err := s.openMessage(entry); err != nil {
			return err
		}
		s.left = s.head.Count
		return nil
	}
	s.head.Aborted = s.Options.ReadCommitted && s.isAborted()
	switch {
	case s.head.Control:
		return s.passControl(entry)
	case s.head.Aborted:
		return s.passAborted(entry)
	}
	return s.openRecords(entry)
}

// openRecords makes the records of a magic 2 batch the scanner's body.
func (s *Scanner) openRecords(entry []byte) error {
	if s.head.Count == 0 {
		return nil
	}
	body := entry[headerSize:]
	if s.head.Codec != None {
		var err error
		if body, err = s.decompress(s.head.Codec, body); err != nil {
			return err
		}
	}
	if int64(s.head.Count)*minRecordSize > int64(len(body)) {
		return corrupt("%d records in %d bytes", s.head.Count, len(body))
	}
	s.body = body
	s.left = s.head.Count
	s.baseTime = int64(binary.BigEndian.Uint64(entry[27:]))
	return nil
}

// isAborted begins the aborted transactions that the current batch reaches and tells whether it belongs to one. Kafka's
// consumer compares with the batch's last offset too: a batch never spans two transactions.
func (s *Scanner) isAborted() bool {
	for ; s.begun < len(s.list) && s.list[s.begun].FirstOffset <= s.head.LastOffset; s.begun++ {
		s.tx.add(s.list[s.begun].ProducerID)
	}
	return s.head.Transactional && !s.head.Control && s.tx.has(s.head.ProducerID)
}

// passControl counts the markers of a control batch; an abort marker ends its producer's transaction.
func (s *Scanner) passControl(entry []byte) error {
	if s.head.LastOffset >= s.pos {
		s.control += int64(s.head.Count)
	}
	if !s.Options.ReadCommitted || s.head.Count == 0 || !s.tx.has(s.head.ProducerID) {
		return nil
	}
	if err := s.openRecords(entry); err != nil {
		return err
	}
	pos := s.pos
	s.pos = s.head.BaseOffset // also a marker below from counts
	n := s.decode(s.chunk[:1])
	s.pos, s.left = pos, 0
	if n == 1 && isAbortMarker(s.chunk[0].Key) {
		delete(s.tx.aborted, s.head.ProducerID)
	}
	return s.takeError()
}

// passAborted counts the records of an aborted batch from the position on.
func (s *Scanner) passAborted(entry []byte) error {
	if s.head.BaseOffset >= s.pos {
		s.aborted += int64(s.head.Count)
		return nil
	}
	if err := s.openRecords(entry); err != nil {
		return err
	}
	for s.left > 0 && s.err == nil {
		s.aborted += int64(s.decode(s.chunk[:]))
	}
	s.left = 0
	return s.takeError()
}

// finish moves the position past the current batch.
func (s *Scanner) finish() {
	if !s.open || s.err != nil {
		return
	}
	s.open = false
	s.left, s.i, s.n = 0, 0, 0
	s.used += s.head.WireSize
	s.pos = max(s.pos, s.head.LastOffset+1)
}

// fail stops the scanner at the current batch.
func (s *Scanner) fail(err error) { s.err = s.head.errorf(err) }

// takeError hands a decoding error to the caller that names the batch.
func (s *Scanner) takeError() error {
	e, ok := s.err.(*Error)
	if !ok {
		return nil
	}
	s.err = nil
	return e.Err
}

// Batch returns the header of the current batch.
func (s *Scanner) Batch() Header { return s.head }

// Next advances to the next record of the current batch. It returns false at the batch's end and on an error, which Err
// tells.
func (s *Scanner) Next() bool {
	if s.i+1 < s.n {
		s.i++
		return true
	}
	return s.refill()
}

func (s *Scanner) refill() bool {
	s.pos = s.Position()
	s.i, s.n = 0, 0
	if !s.open || s.err != nil {
		return false
	}
	s.n = s.decode(s.chunk[:])
	if s.n == 0 {
		s.finish()
		return false
	}
	return true
}

// Record returns the record that Next advanced to. It is valid until the next call of Next, its Key until the next call
// of NextBatch or, when the batch is not compressed, as long as the set's bytes are left alone.
func (s *Scanner) Record() *Record { return &s.chunk[s.i] }

// Fill decodes the next records of the scanner's current batch into dst and returns how many; fewer than len(dst) only at
// the end of the batch, 0 when there are no more. It is Next without the copy, for a record type of the caller's.
// After each call Position is the offset after the last record returned or, at the end of the batch, after the batch.
func Fill[R Shape](s *Scanner, dst []R) int {
	n := 0
	for n < len(dst) && s.Next() {
		run := s.chunk[s.i:min(s.n, s.i+len(dst)-n)]
		for i := range run {
			dst[n+i] = R(run[i])
		}
		n += len(run)
		s.i += len(run) - 1
	}
	if s.left == 0 && s.i+1 >= s.n {
		s.pos = s.Position()
		s.finish()
	}
	return n
}

// Position returns the offset to go on from: the one after the last record handed out or, once Next or Fill has come to
// the end of a batch or NextBatch has passed it, the one after the batch's last offset. Markers, aborted records and
// emptied batches move it too. It is never below the from of Reset.
func (s *Scanner) Position() int64 {
	if s.n > 0 {
		return max(s.pos, s.chunk[s.i].Offset+1)
	}
	return s.pos
}

// Used returns how many bytes of the set belong to batches that were passed.
func (s *Scanner) Used() int { return s.used }

// Truncated reports whether the set holds nothing but the beginning of one batch: the read must be repeated with room for
// more. It is known once NextBatch has returned false.
func (s *Scanner) Truncated() bool { return s.need != 0 && s.used == 0 }

// CutOff returns the size of the batch that is cut off at the end of the set, 0 when none is, -1 when so little of it is
// there that its size is not known. It is known once NextBatch has returned false.
func (s *Scanner) CutOff() int { return s.need }

// Skipped returns how many records from the set's from on were passed without being delivered since Reset: control
// records, and records of aborted transactions.
func (s *Scanner) Skipped() (control, aborted int64) { return s.control, s.aborted }

// Err returns the [*Error] of the batch that stopped the scanner, nil at a regular end.
func (s *Scanner) Err() error { return s.err }

// checkCRC compares an entry with its checksum: CRC-32C from the attributes on in magic 2, CRC-32 from the magic on before.
func checkCRC(entry []byte) error {
	stored, computed := binary.BigEndian.Uint32(entry[crcAt:]), uint32(0)
	if entry[magicAt] < 2 {
		computed = crc32.ChecksumIEEE(entry[magicAt:])
	} else {
		stored, computed = binary.BigEndian.Uint32(entry[17:]), crc32.Checksum(entry[21:], castagnoli)
	}
	if stored != computed {
		return fmt.Errorf("%w: stored %08x, computed %08x", ErrCRC, stored, computed)
	}
	return nil
}
