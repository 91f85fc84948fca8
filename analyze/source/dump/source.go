package dump

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"keyspread/analyze/source"
	"keyspread/partitioner"
)

// Format is how a line holds a record.
type Format uint8

// The formats.
const (
	// Lines: a line is a key, taken as it stands without its newline (and a carriage return before that). An empty line is
	// the empty key. There is no null key.
	Lines Format = iota
	// NDJSON: a line is an object with "key" (text), "hex" or "base64", null being the null key, and optionally
	// "partition", "timestamp" (epoch ms), "value_size" (-1: a tombstone) and "header_size" in bytes. Names may be in any
	// case, as in encoding/json; other members are ignored.
	NDJSON
)

var formatNames = []string{"lines", "ndjson"}

// Formats returns the formats' names.
func Formats() []string { return slices.Clone(formatNames) }

// ParseFormat returns the format of that name.
func ParseFormat(s string) (Format, error) {
	i := slices.Index(formatNames, s)
	if i < 0 {
		return 0, fmt.Errorf("unknown input format %q: want lines or ndjson", s)
	}
	return Format(i), nil
}

// bom may begin a file; it belongs to no line.
var bom = []byte("\ufeff")

// Detect tells the format by the first character of a file that is no blank, not counting a byte order mark: a brace
// begins NDJSON. It consumes nothing. Its error is in's.
func Detect(in *bufio.Reader) (Format, error) {
	for n := 1; ; n = in.Buffered() + 1 {
		_, err := in.Peek(n)
		start, _ := in.Peek(in.Buffered())
		start = bytes.TrimLeft(bytes.TrimPrefix(start, bom), " \t\r\n")
		switch {
		case len(start) > 0 && start[0] == '{':
			return NDJSON, nil
		case len(start) > 0 && !bytes.HasPrefix(bom, start), err == io.EOF, errors.Is(err, bufio.ErrBufferFull):
			return Lines, nil
		case err != nil:
			return Lines, err
		}
	}
}

// Config describes a dump.
type Config struct {
	Name          string // for the report and for errors
	Format        Format
	NumPartitions int32                         // of the topic it stands for; at least 1
	Partitioner   partitioner.Partitioner       // one that can fail is to be a [partitioner.Batcher], see [Source.Read]
	Open          func() (io.ReadCloser, error) // called once a Read
	Size          int64                         // bytes; 0: not known
}

// Source is a dump. It implements [source.Source].
type Source struct {
	config   Config
	newTally func() *tally // nil: records are not tallied
}

var _ source.Source = (*Source)(nil)

// New returns a dump as a source. It opens nothing yet.
func New(c Config) (*Source, error) {
	if c.NumPartitions < 1 {
		return nil, fmt.Errorf("reading %s: %d partitions: want at least 1", c.Name, c.NumPartitions)
	}
	if c.Partitioner == nil || c.Open == nil {
		return nil, errors.New("dump: a source needs a partitioner and a way to open it")
	}
	s := &Source{config: c}
	if _, ok := c.Partitioner.(partitioner.Batcher); c.Format == Lines && !ok {
		// A Batcher, in another process, can fail. Nobody could say then where the keys belong that a tally holds, the heaviest.
		s.newTally = func() *tally { return newTally(windowLines, nearBits, farBits) }
	}
	return s, nil
}

// Plan asks for every partition, each up to as many records as the dump can hold: one a byte. Where its size is not known
// that is as many as can be summed up over the partitions.
func (s *Source) Plan(context.Context) (*source.Plan, error) {
	end := s.config.Size
	if end <= 0 {
		end = math.MaxInt64 / int64(s.config.NumPartitions)
	}
	p := &source.Plan{
		Topic: s.config.Name, NumPartitions: int(s.config.NumPartitions), Range: "the whole of " + s.config.Name, EndUnknown: true,
	}
	for id := range s.config.NumPartitions {
		p.Partitions = append(p.Partitions, source.Partition{ID: id, Leader: -1, HighWatermark: -1, LastStableOffset: -1})
		p.Spans = append(p.Spans, source.Span{Partition: id, End: end})
	}
	return p, nil
}

// LineError says which line could not be read.
type LineError struct {
	Name string
	Line int64 // from 1
	Err  error
}

// Error names the file and the line.
func (e *LineError) Error() string { return fmt.Sprintf("%s line %d: %v", e.Name, e.Line, e.Err) }

// Unwrap returns the cause.
func (e *LineError) Unwrap() error { return e.Err }

// chunkSize is how much is read at once: little enough for a chunk and its records to stay in a processor's cache, much
// enough for every partition to get more than a few. batchRecords is how many records of a partition are handed on at
// once at the latest. Keys alias the chunk, so all partitions are handed on before the next one is read.
const (
	chunkSize    = 1 << 17
	batchRecords = 4096
	maxLine      = 64 << 20
)

// Read delivers every record. A line that cannot be read ends it with a [*LineError]; what came before it, or before the
// trouble that ends the reading, was delivered. Where a [partitioner.Batcher] fails that is all but the lines that it was
// asked for together, which the error names. Of other partitioners it is taken that they do not fail.
func (s *Source) Read(ctx context.Context, p *source.Plan, sink source.Sink) ([]source.Coverage, error) {
	r := &reader{config: s.config, sink: sink, wanted: make([]bool, s.config.NumPartitions), json: objects{arena: []byte{}}}
	for _, span := range p.Spans {
		r.wanted[span.Partition] = true
	}
	r.parts = make([]part, s.config.NumPartitions)
	if s.newTally != nil {
		r.tally = s.newTally()
	}
	in, err := s.config.Open()
	if err == nil {
		var upTo io.Reader = in
		if s.config.Size > 0 {
			upTo = io.LimitReader(in, s.config.Size) // a file that grows has its end where it was
		}
		err = r.read(ctx, upTo)
		err = errors.Join(err, in.Close())
	}
	var coverage []source.Coverage
	for _, part := range p.Partitions {
		got := &r.parts[part.ID]
		c := source.Coverage{Partition: part.ID, Asked: got.handed, Read: got.handed, Position: got.handed}
		if err != nil {
			c.Asked, c.Err = -1, err
		}
		coverage = append(coverage, c)
	}
	return coverage, err
}

// reader is one Read.
type reader struct {
	config Config
	sink   source.Sink
	wanted []bool // by partition
	parts  []part
	begun  bool // past the byte order mark
	line   int64
	json   objects
	tally  *tally // nil: see Source

	batch   source.Batch
	waiting waiting
	placed  int64 // lines of which none waits
	failed  error // of the partitioner, or of the sink: it is not called again
	refused bool  // it is the sink's
	inTurn  int32 // the partition that got the last record that no key decides about
}

// part is what waits to be handed on of one partition.
type part struct {
	next    int64
	handed  int64 // the next of the last batch that the sink took
	placed  int64 // of records, those that named no partition
	bytes   int64
	records []source.Record
	counts  []int64 // of records, where they are tallied; see [source.Batch]
}

func (r *reader) read(ctx context.Context, in io.Reader) error {
	buffer := make([]byte, 0, chunkSize)
	for {
		n, err := io.ReadFull(in, buffer[len(buffer):cap(buffer)])
		buffer = buffer[:len(buffer)+n]
		last := err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF)
		used, lineErr := r.lines(buffer, last)
		stopped := ctx.Err()
		if err := r.flush(); err != nil {
			return err
		}
		if r.tally != nil {
			if err := r.endChunk(last || lineErr != nil || err != nil || stopped != nil); err != nil {
				return err
			}
		}
		switch {
		case lineErr != nil || last:
			return lineErr
		case err != nil:
			return fmt.Errorf("reading %s after line %d: %w", r.config.Name, r.line, err)
		case stopped != nil:
			return stopped
		}
		rest := copy(buffer[:cap(buffer)], buffer[used:])
		buffer = buffer[:rest]
		if rest == cap(buffer) { // one line fills it
			if rest >= maxLine {
				return &LineError{r.config.Name, r.line + 1, fmt.Errorf("longer than %d bytes", maxLine)}
			}
			buffer = append(make([]byte, 0, 2*rest), buffer...)
		}
	}
}

// lines takes every whole line of b, and at the end the rest, and returns how many bytes it took.
func (r *reader) lines(b []byte, last bool) (used int, err error) {
	if !r.begun && bytes.HasPrefix(b, bom) {
		used = len(bom)
	}
	r.begun = true
	if r.config.Format == Lines {
		return r.keyLines(b, used, last)
	}
	for {
		end := bytes.IndexByte(b[used:], '\n')
		line := b[used:]
		switch {
		case end >= 0:
			line = line[:end]
		case !last || len(line) == 0:
			return used, nil
		}
		r.line++
		used += len(line)
		if n := len(line); n > 0 && line[n-1] == '\r' {
			line = line[:n-1]
		}
		if err := r.takeObject(line); err != nil {
			return used, &LineError{r.config.Name, r.line, err}
		}
		if err := r.placeSome(); err != nil {
			return used, err
		}
		if end < 0 {
			return used, nil
		}
		used++
	}
}

// takeObject takes the record of one line of NDJSON, which waits.
func (r *reader) takeObject(line []byte) error {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	rec, partition, err := r.json.parse(line)
	if err != nil {
		return err
	}
	if partition >= r.config.NumPartitions {
		return fmt.Errorf("partition %d of a topic of %d", partition, r.config.NumPartitions)
	}
	w := &r.waiting
	if partition < 0 {
		w.add(rec.Key, 0, 1)
	}
	w.objects = append(w.objects, placedObject{rec, partition, int64(len(line)) + 1})
	return nil
}

func (r *reader) handOn(partition int32) error {
	p := &r.parts[partition]
	r.batch = source.Batch{
		Partition: partition, Next: p.next, Records: p.records, Counts: p.counts, LeaderEpoch: -1, WireBytes: p.bytes, Assigned: p.placed,
	}
	if err := r.sink.Batch(&r.batch); err != nil {
		r.failed, r.refused = err, true
		return err
	}
	p.records, p.counts, p.bytes, p.placed, p.handed = p.records[:0], p.counts[:0], 0, 0, p.next
	return nil
}

// flush places what waits and hands on all records.
func (r *reader) flush() error {
	if err := r.place(); r.refused {
		return err
	}
	for id := range r.parts {
		if len(r.parts[id].records) > 0 {
			if err := r.handOn(int32(id)); err != nil {
				return err
			}
		}
	}
	r.json.reset()
	if r.tally != nil {
		r.tally.reset()
	}
	return r.failed
}
