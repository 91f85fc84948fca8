package custom

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"keyspread/partitioner"
)

// The protocol of doc.go.
const (
	magic   = "KSPP"
	version = 1

	kindHello   = 'H'
	kindReady   = 'R'
	kindRequest = 'Q'
	kindAnswer  = 'A'
	kindError   = 'E'

	cellSpread = -1
	cellFailed = -2

	maxReason = 1024 // bytes of a failure's or an error's text

	// A request holds at most so much. Small enough that a child of 5 ms a key still answers within the default timeout,
	// large enough that a trip through the pipes costs some 20 ns a key.
	maxRequestKeys  = 1024
	maxRequestBytes = 256 << 10
	maxRequestCells = 64 << 10
)

// beginFrame starts a frame at the end of b; endFrame, given len(b) from before, completes it.
func beginFrame(b []byte, kind byte) []byte { return append(b, 0, 0, 0, 0, kind) }

func endFrame(b []byte, start int) []byte {
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}

func appendInt32(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }

func appendString(b []byte, s string) []byte { return append(appendInt32(b, int32(len(s))), s...) }

// appendHello appends keyspread's first frame.
func appendHello(b []byte, opt Options) []byte {
	start := len(b)
	b = beginFrame(b, kindHello)
	b = append(b, magic...)
	b = appendInt32(b, version)
	b = appendString(b, opt.Topic)
	b = appendInt32(b, opt.Partitions)
	b = appendInt32(b, opt.Brokers)
	b = appendInt32(b, int32(len(opt.Config)))
	for _, name := range slices.Sorted(maps.Keys(opt.Config)) {
		b = appendString(b, name)
		b = appendString(b, opt.Config[name])
	}
	return endFrame(b, start)
}

// maxReady is the longest answer to a hello: an error.
const maxReady = 1 + 4 + maxReason

// parseReady checks the child's first frame, without its length.
func parseReady(payload []byte) error {
	if err := saidError(payload); err != nil {
		return err
	}
	if len(payload) < 5 || payload[0] != kindReady || string(payload[1:5]) != magic {
		return &quoting{"it greets with ", fmt.Sprintf("%q", cut(payload)), " instead of a ready frame"}
	}
	if len(payload) != 9 {
		return fmt.Errorf("its ready frame has %d bytes instead of 9", len(payload))
	}
	if v := int32(binary.BigEndian.Uint32(payload[5:])); v != version {
		return fmt.Errorf("it speaks version %d of the protocol, keyspread version %d", v, version)
	}
	return nil
}

// appendRequest appends the request for keys under counts.
func appendRequest(b []byte, id int32, keys [][]byte, counts []int32) []byte {
	start := len(b)
	b = beginFrame(b, kindRequest)
	b = appendInt32(b, id)
	b = appendInt32(b, int32(len(counts)))
	for _, n := range counts {
		b = appendInt32(b, n)
	}
	b = appendInt32(b, int32(len(keys)))
	for _, key := range keys {
		if key == nil {
			b = appendInt32(b, -1)
			continue
		}
		b = appendInt32(b, int32(len(key)))
		b = append(b, key...)
	}
	return endFrame(b, start)
}

// requestLen returns how many of keys the next request takes, at least one.
func requestLen(keys [][]byte, counts []int32) int {
	most := min(len(keys), maxRequestKeys, max(1, maxRequestCells/len(counts)))
	size := len(keys[0])
	n := 1
	for n < most && size+len(keys[n]) <= maxRequestBytes {
		size += len(keys[n])
		n++
	}
	return n
}

// maxAnswer is the longest answer to a request of so many cells: all of them failed.
func maxAnswer(cells int) int64 {
	return 1 + 4 + 4 + 4*int64(cells) + 4 + int64(cells)*(4+4+maxReason)
}

// parseAnswer reads the answer to request id, a frame without its length, into out and keyed.
//
// Whatever the bytes, without an error every cell of out is in [0, count) or -1, a key that is not keyed has -1 only, and
// a keyed key's -1 has its failure. What the answer leaves undefined after an error is out and keyed.
func parseAnswer(payload []byte, id int32, who string, keys [][]byte, counts, out []int32, keyed []bool) ([]Failure, error) {
	if err := saidError(payload); err != nil {
		return nil, err
	}
	cells := len(keys) * len(counts)
	fixed := 13 + 4*cells // kind, id, number of cells, cells, number of failures
	if len(payload) < 9 || payload[0] != kindAnswer {
		return nil, &quoting{"it sent ", fmt.Sprintf("%q", cut(payload)), " instead of an answer"}
	}
	if got := int32(binary.BigEndian.Uint32(payload[1:])); got != id {
		return nil, fmt.Errorf("it answered request %d where request %d was due", got, id)
	}
	if got := int32(binary.BigEndian.Uint32(payload[5:])); int64(got) != int64(cells) {
		return nil, fmt.Errorf("it answered %d cells for %d keys at %d counts, which make %d", got, len(keys), len(counts), cells)
	}
	if len(payload) < fixed {
		return nil, fmt.Errorf("its answer has %d bytes, fewer than its %d cells take", len(payload), cells)
	}

	raw := payload[9:]
	failed := 0
	for k := range keys {
		row := out[k*len(counts):][:len(counts)]
		spread, bad := false, 0
		for c, n := range counts {
			p := int32(binary.BigEndian.Uint32(raw))
			raw = raw[4:]
			switch {
			case uint32(p) < uint32(n): // n > 0, so this is 0 ≤ p < n
			case p == cellSpread:
				spread = true
			case p == cellFailed:
				bad++
				p = -1
			default:
				return nil, &quoting{
					fmt.Sprintf("it answered partition %d for key ", p), quoteKey(keys[k]),
					fmt.Sprintf(" at %d partitions, outside [0, %d)", n, n),
				}
			}
			row[c] = p
		}
		// a failure is never swallowed, so it outweighs that the key is spread at another count
		keyed[k] = !spread || bad > 0
		if !keyed[k] {
			for c := range row {
				row[c] = -1
			}
		}
		failed += bad
	}

	if got := int32(binary.BigEndian.Uint32(raw)); int64(got) != int64(failed) {
		return nil, fmt.Errorf("it gave %d reasons for %d failed cells", got, failed)
	}
	raw = raw[4:]
	var failures []Failure
	last := -1
	for range failed {
		if len(raw) < 8 {
			return nil, errors.New("its answer ends within a failure")
		}
		cell, size := int32(binary.BigEndian.Uint32(raw)), int32(binary.BigEndian.Uint32(raw[4:]))
		raw = raw[8:]
		if int64(cell) <= int64(last) || int64(cell) >= int64(cells) || int32(binary.BigEndian.Uint32(payload[9+4*int(cell):])) != cellFailed {
			return nil, fmt.Errorf("it gave a reason for cell %d, which has not failed or has had its reason", cell)
		}
		if size < 0 || size > maxReason || int(size) > len(raw) {
			return nil, fmt.Errorf("it gave a reason of %d bytes, more than %d or than there are", size, maxReason)
		}
		last = int(cell)
		failures = append(failures, Failure{
			Key: last / len(counts), Count: last % len(counts),
			Err: &partitioner.KeyError{Partitioner: who, Reason: printable(raw[:size])},
		})
		raw = raw[size:]
	}
	if len(raw) > 0 {
		return nil, fmt.Errorf("its answer has %d bytes too many", len(raw))
	}
	return failures, nil
}

// saidError returns what the child says in an error frame, nil for any other.
func saidError(payload []byte) error {
	if len(payload) < 5 || payload[0] != kindError || int64(binary.BigEndian.Uint32(payload[1:])) != int64(len(payload)-5) {
		return nil
	}
	return &quoting{"it gave up: ", printable(payload[5:]), ""}
}

// quoting is trouble with a child whose text quotes a key, or something the child sent, which can hold one.
type quoting struct{ before, quote, after string }

func (q *quoting) Error() string { return q.before + q.quote + q.after }

// withheld stands for a quote under [Options.HideKeys].
const withheld = "[withheld, as it may hold a key]"

// textOf is the text of err, its quote withheld if so asked.
func textOf(err error, hideKeys bool) string {
	if q, ok := errors.AsType[*quoting](err); ok && hideKeys {
		return q.before + withheld + q.after
	}
	return err.Error()
}

// cut returns the beginning of what a child sent, for an error.
func cut(b []byte) []byte { return b[:min(len(b), 64)] }

// printable is text of a child's without what would disturb a terminal.
func printable(b []byte) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case r == '\t':
			return ' '
		case r < ' ' || r >= 0x7f && r < 0xa0:
			return -1
		}
		return r
	}, strings.ToValidUTF8(string(b), "�"))
}
