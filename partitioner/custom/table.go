package custom

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/csv"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"keyspread/partitioner"
)

// table is the rows of a table:FILE; doc.go describes the format.
type table struct {
	rows map[string]*placements
	null *placements
}

// placements are the rows of one key.
type placements struct {
	always     int32 // partition at every count without a row of its own; -1: none
	alwaysLine int
	at         []placementAt
}

type placementAt struct {
	count, partition int32
	line             int
}

// of returns the partition at count n, -1 for none.
func (p *placements) of(n int32) int32 {
	for _, at := range p.at {
		if at.count == n {
			return at.partition
		}
	}
	return p.always
}

// keys is the number of distinct keys of t.
func (t *table) keys() int {
	if t.null != nil {
		return len(t.rows) + 1
	}
	return len(t.rows)
}

// find returns the rows of key, nil for none.
func (t *table) find(key []byte) *placements {
	if key == nil {
		return t.null
	}
	return t.rows[string(key)]
}

// row is one line of the file.
type row struct {
	key        []byte // nil: the null key
	partition  int32
	partitions int32 // 0: every count
	line       int
}

// A table is kept in memory and lists exceptions, so a file beyond these bounds is some other file, or has no end.
const (
	maxLine  = 16 << 20  // bytes
	maxTable = 256 << 20 // bytes
)

// bounded fails when what it reads passes a bound, long before the memory does.
type bounded struct {
	io.Reader
	size, line int // bytes so far, and of the last line
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.size += n
	b.line += n
	if end := bytes.LastIndexByte(p[:n], '\n'); end >= 0 {
		b.line = n - end - 1
	}
	switch {
	case b.line > maxLine:
		return n, fmt.Errorf("it has a line of more than %d MiB, so it is no table", maxLine>>20)
	case b.size > maxTable:
		return n, fmt.Errorf("it has more than %d MiB, too much for a table", maxTable>>20)
	}
	return n, err
}

// parseTable reads a table. name is the file's, for errors, which quote nothing of what the file holds: where columns are
// mixed up or the header is missing, anything can be a key.
func parseTable(name string, r io.Reader) (*table, error) {
	t := &table{rows: make(map[string]*placements)}
	in := bufio.NewReader(&bounded{Reader: r})
	if bom, _ := in.Peek(3); string(bom) == "\xef\xbb\xbf" {
		in.Discard(3)
	}
	read := t.readCSV
	for n := 1; ; n++ { // the first byte that is no blank tells the format
		ahead, err := in.Peek(n)
		if err != nil && len(ahead) < n {
			if !errors.Is(err, io.EOF) && !errors.Is(err, bufio.ErrBufferFull) {
				return nil, fmt.Errorf("reading %s: %w", name, err)
			}
			break
		}
		if c := ahead[n-1]; c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			if c == '{' {
				read = t.readJSON
			}
			break
		}
	}
	if err := read(in); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if t.keys() == 0 {
		return nil, fmt.Errorf("reading %s: it has no rows; write a header key,partition and rows, or one JSON object a line", name)
	}
	return t, nil
}

func (t *table) add(r row) error {
	if r.partitions > 0 && r.partition >= r.partitions {
		return fmt.Errorf("line %d: partition %d is outside [0, %d)", r.line, r.partition, r.partitions)
	}
	p := t.find(r.key)
	if p == nil {
		p = &placements{always: -1}
	}
	earlier := 0
	if r.partitions == 0 {
		if p.always >= 0 {
			earlier = p.alwaysLine
		}
		p.always, p.alwaysLine = r.partition, r.line
	} else {
		for _, at := range p.at {
			if at.count == r.partitions {
				earlier = at.line
			}
		}
		p.at = append(p.at, placementAt{r.partitions, r.partition, r.line})
	}
	if earlier > 0 {
		return fmt.Errorf("line %d: its key is already placed by line %d; keep one of them", r.line, earlier)
	}
	if r.key == nil {
		t.null = p
	} else {
		t.rows[string(r.key)] = p
	}
	return nil
}

const columns = "a key column (key, hex or base64), partition, and optionally partitions"

func (t *table) readCSV(in io.Reader) error {
	c := csv.NewReader(in)
	c.ReuseRecord = true
	header, err := c.Read()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	header = slices.Clone(header)
	keyed := 0
	for i, name := range header {
		header[i] = strings.TrimSpace(name)
		switch header[i] {
		case "key", "hex", "base64":
			keyed++
		case "partition", "partitions":
		default:
			return fmt.Errorf("line 1: column %d is not known; the header names %s", i+1, columns)
		}
		if slices.Contains(header[:i], header[i]) {
			return fmt.Errorf("line 1: column %q comes twice", header[i])
		}
	}
	if keyed != 1 || !slices.Contains(header, "partition") {
		return fmt.Errorf("line 1: the header does not name %s", columns)
	}
	for {
		fields, err := c.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err // says the line
		}
		line, _ := c.FieldPos(0)
		r := row{line: line}
		for i, value := range fields {
			switch header[i] {
			case "partition":
				r.partition, err = parseCount(value, 0)
			case "partitions":
				if value != "" {
					r.partitions, err = parseCount(value, 1)
				}
			default:
				r.key, err = decodeKey(header[i], value)
			}
			if err != nil {
				return fmt.Errorf("line %d: %s: %w", line, header[i], err)
			}
		}
		if err := t.add(r); err != nil {
			return err
		}
	}
}

func (t *table) readJSON(in io.Reader) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine+1<<16)
	line := 0
	for lines.Scan() && lines.Err() == nil { // what came before an error is no line
		line++
		text := bytes.TrimSpace(lines.Bytes())
		if len(text) == 0 {
			continue
		}
		r, err := parseObject(text)
		if err != nil {
			return fmt.Errorf("line %d: %w", line, err)
		}
		r.line = line
		if err := t.add(r); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("line %d: %w", line+1, err)
	}
	return nil
}

func parseObject(text []byte) (row, error) {
	var r row
	var members map[string]json.RawMessage
	if !utf8.Valid(text) {
		return r, errors.New("it is not UTF-8; write such a key as hex")
	}
	if err := json.Unmarshal(text, &members); err != nil {
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			return r, fmt.Errorf("it is no JSON object: it breaks at byte %d", syntax.Offset)
		}
		return r, errors.New("it is no JSON object")
	}
	keyed, placed := 0, false
	for _, name := range slices.Sorted(maps.Keys(members)) {
		raw := members[name]
		var err error
		switch name {
		case "key", "hex", "base64":
			keyed++
			var value *string
			if json.Unmarshal(raw, &value) != nil {
				err = errors.New("neither a string nor null")
			} else if value != nil {
				if strings.ContainsRune(*value, utf8.RuneError) && !bytes.Contains(bytes.ToLower(raw), []byte(`\ufffd`)) && !bytes.ContainsRune(raw, utf8.RuneError) {
					err = errors.New("half a surrogate pair is no text; write such a key as hex")
				} else {
					r.key, err = decodeKey(name, *value)
				}
			}
		case "partition":
			placed = true
			r.partition, err = parseCount(string(raw), 0)
		case "partitions":
			r.partitions, err = parseCount(string(raw), 1)
		default:
			return r, fmt.Errorf("it has a member that is not known; a row has %s", columns)
		}
		if err != nil {
			return r, fmt.Errorf("%q: %w", name, err)
		}
	}
	if keyed != 1 || !placed {
		return r, fmt.Errorf("it does not have %s", columns)
	}
	return r, nil
}

// decodeKey returns the bytes of a key, never nil.
func decodeKey(column, value string) (key []byte, err error) {
	switch column {
	case "hex":
		if key, err = hex.DecodeString(value); err != nil {
			return nil, errors.New("not hexadecimal, two digits a byte") // the cause quotes the key
		}
	case "base64":
		if key, err = base64.StdEncoding.DecodeString(value); err != nil {
			return nil, errors.New("not base64 with padding")
		}
	default:
		key = []byte(value)
	}
	if key == nil {
		key = []byte{}
	}
	return key, nil
}

func parseCount(value string, least int64) (int32, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 32)
	if err != nil || n < least {
		return 0, fmt.Errorf("it is no whole number from %d to 2147483647", least)
	}
	return int32(n), nil
}

// tablePlacer is a table with the partitioner for the rest.
type tablePlacer struct {
	id       string
	table    *table
	fallback partitioner.Partitioner
}

func openTable(file string, fallback partitioner.Partitioner) (*tablePlacer, error) {
	if fallback == nil {
		return nil, errors.New("a table needs a partitioner for the keys that it does not name")
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close() // only read
	t, err := parseTable(file, f)
	if err != nil {
		return nil, err
	}
	return &tablePlacer{table: t, fallback: fallback}, nil
}

func (t *tablePlacer) close() error { return nil }

func (t *tablePlacer) placeBatch(keys [][]byte, counts, out []int32, keyed []bool) ([]Failure, error) {
	// rest are the indexes of the keys that the table does not place at every count
	var rest []int
	found := make(map[int]*placements)
	for k, key := range keys {
		p := t.table.find(key)
		if p != nil {
			found[k] = p
		}
		if p == nil || p.always < 0 && slices.ContainsFunc(counts, func(n int32) bool { return p.of(n) < 0 }) {
			rest = append(rest, k)
		}
		keyed[k] = true
	}
	fell, err := t.fall(rest, keys, counts, out, keyed)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return fell, nil
	}

	var failures []Failure
	for k, key := range keys {
		// what the fallback has to say about k comes first in fell
		mine := 0
		for mine < len(fell) && fell[mine].Key == k {
			mine++
		}
		p := found[k]
		if p == nil {
			failures, fell = append(failures, fell[:mine]...), fell[mine:]
			continue
		}
		byFallback := fell[:mine]
		fell = fell[mine:]
		spread := !keyed[k]
		placed := slices.ContainsFunc(counts, func(n int32) bool { return p.of(n) >= 0 })
		if !placed {
			failures = append(failures, byFallback...)
			continue
		}
		keyed[k] = true
		for c, n := range counts {
			cell := &out[k*len(counts)+c]
			at := p.of(n)
			switch {
			case at >= n:
				*cell = -1
				failures = append(failures, Failure{k, c, &partitioner.OutsideError{Partitioner: t.id, Key: bytes.Clone(key), Partitions: n, Answer: int64(at)}})
			case at >= 0:
				*cell = at
			case spread:
				*cell = -1
				failures = append(failures, Failure{k, c, &partitioner.KeyError{Partitioner: t.id, Reason: fmt.Sprintf("no row places it at %d partitions, and %s spreads it", n, t.fallback.ID())}})
			default:
				for _, f := range byFallback {
					if f.Count == c {
						failures = append(failures, f)
					}
				}
			}
		}
	}
	return failures, nil
}

// fall has the fallback place keys[k] for every k of rest, in a batch if it can.
func (t *tablePlacer) fall(rest []int, keys [][]byte, counts, out []int32, keyed []bool) ([]Failure, error) {
	m := len(counts)
	var failures []Failure
	batch, ok := t.fallback.(interface {
		PlaceBatch(keys [][]byte, counts, out []int32, keyed []bool) error
	})
	if !ok {
		for _, k := range rest {
			row := out[k*m:][:m]
			isKeyed, err := t.fallback.Place(keys[k], counts, row)
			if err != nil && !aboutKey(err) {
				return nil, err
			}
			keyed[k] = isKeyed
			for c := range row {
				if !isKeyed {
					row[c] = -1
				} else if err != nil && row[c] < 0 {
					failures = append(failures, Failure{k, c, err})
				}
			}
		}
		return failures, nil
	}

	some := make([][]byte, len(rest))
	for i, k := range rest {
		some[i] = keys[k]
	}
	cells, flags := make([]int32, len(rest)*m), make([]bool, len(rest))
	err := batch.PlaceBatch(some, counts, cells, flags)
	if failed, ok := errors.AsType[*BatchError](err); ok {
		for _, f := range failed.Failures {
			f.Key = rest[f.Key]
			failures = append(failures, f)
		}
	} else if err != nil {
		return nil, err
	}
	for i, k := range rest {
		copy(out[k*m:][:m], cells[i*m:])
		keyed[k] = flags[i]
	}
	return failures, nil
}

// aboutKey reports whether err concerns one key and not the partitioner as a whole.
func aboutKey(err error) bool {
	if _, ok := errors.AsType[*partitioner.KeyError](err); ok {
		return true
	}
	_, ok := errors.AsType[*partitioner.OutsideError](err)
	return ok
}
