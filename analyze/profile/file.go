package profile

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/zeebo/xxh3"

	"keyspread/analyze/profile/sketch"
	"keyspread/analyze/source"
)

// A profile is saved as one Parquet file that any engine can query: a row is what one key had in one partition, with a
// row of key NULL for a partition's records without key. The rest is JSON in the file's key/value metadata, as
// keyspread.profile: the document below, [fileVersion]. It holds the xxh3-128 of the rows' bytes, and the footer that it is
// part of is sealed, so that a damaged file is known as such.
const (
	fileFormat  = "keyspread profile"
	fileVersion = 1
	metaProfile = "keyspread.profile"

	fileGroup = 1 << 20 // rows of a row group
	fileBlock = 512     // rows written or read at once
)

// row is the schema of a saved profile. Counts are records and bytes for certain; the _max columns are upper bounds,
// equal to them in exact mode.
type row struct {
	Partition  int32  `parquet:"partition,delta"`
	Key        []byte `parquet:"key,optional,delta"`
	Records    int64  `parquet:"records,delta"`
	Bytes      int64  `parquet:"bytes,delta"`
	RecordsMax int64  `parquet:"records_max,delta"`
	BytesMax   int64  `parquet:"bytes_max,delta"`
	FirstTime  int64  `parquet:"first_time,optional,delta,timestamp(millisecond)"`
	LastTime   int64  `parquet:"last_time,optional,delta,timestamp(millisecond)"`
	Home       bool   `parquet:"home"` // the assumed partitioner puts the key into this partition
}

// The columns of row, in its order.
const (
	colPartition = iota
	colKey
	colRecords
	colBytes
	colRecordsMax
	colBytesMax
	colFirstTime
	colLastTime
	colHome
	numCols
)

var rowSchema = parquet.SchemaOf(row{})

// document is a profile without its keys.
type document struct {
	Format        string      `json:"format"`
	Version       int         `json:"version"`
	Topic         string      `json:"topic"`
	NumPartitions int32       `json:"num_partitions"`
	Partitioner   string      `json:"partitioner"`
	Isolation     string      `json:"isolation"`
	Range         string      `json:"range"`
	Buckets       int         `json:"buckets"`
	Candidates    []Candidate `json:"candidates"`
	Refined       [][]byte    `json:"refined,omitempty"`
	Partitions    []partDoc   `json:"partitions"`

	Rows     int64  `json:"rows"`
	DataSize int64  `json:"data_size"` // bytes at the start of the file under DataSum
	DataSum  string `json:"data_sum"`  // their xxh3-128, hex
}

// A weightDoc is [records, bytes].
type weightDoc [2]int64

func docOf(w Weight) weightDoc          { return weightDoc{w.Records, w.Bytes} }
func (w weightDoc) weight() Weight      { return Weight{w[0], w[1]} }
func (w weightDoc) negative() bool      { return w[0] < 0 || w[1] < 0 }
func (w weightDoc) below(o Weight) bool { return w[0] < o.Records || w[1] < o.Bytes }

// partDoc is a partition without its keys.
type partDoc struct {
	ID       int32       `json:"id"`
	Spans    [][2]int64  `json:"spans"` // start, end
	Coverage coverageDoc `json:"coverage"`

	Total       weightDoc `json:"total"`
	KeyBytes    int64     `json:"key_bytes"`
	ValueBytes  int64     `json:"value_bytes"`
	HeaderBytes int64     `json:"header_bytes"`
	NullKey     weightDoc `json:"null_key"`
	EmptyKey    weightDoc `json:"empty_key"`
	Tombstones  int64     `json:"tombstones"`
	Control     int64     `json:"control"`
	Aborted     int64     `json:"aborted"`
	Assigned    int64     `json:"assigned"`
	WireBytes   int64     `json:"wire_bytes"`

	FirstOffset   int64     `json:"first_offset"`
	LastOffset    int64     `json:"last_offset"`
	MinTime       int64     `json:"min_time"`
	MaxTime       int64     `json:"max_time"`
	TimestampType string    `json:"timestamp_type"`
	Sizes         [32]int64 `json:"sizes"`

	Mode        string    `json:"mode"`
	Missing     weightDoc `json:"missing"`
	Spread      bool      `json:"spread"` // the assumed partitioner gives some key here no partition
	SampleLevel uint32    `json:"sample_level"`
	HLL         []byte    `json:"hll,omitempty"`   // DataSketches HLL_8, in bounded mode
	Share       float64   `json:"share,omitempty"` // of the memory for all tables, in bounded mode

	Placed []placedDoc `json:"placed"` // by candidate
	Grid   gridDoc     `json:"grid"`
}

type coverageDoc struct {
	Asked    int64  `json:"asked"`
	Read     int64  `json:"read"`
	Position int64  `json:"position"`
	Lost     int64  `json:"lost"`
	Error    string `json:"error,omitempty"`
}

type placedDoc struct {
	Loads    [][3]int64 `json:"loads"` // partition, records, bytes; those without records left out
	Moved    weightDoc  `json:"moved"`
	Unkeyed  weightDoc  `json:"unkeyed"`
	Unplaced weightDoc  `json:"unplaced"`
}

type gridDoc struct {
	Start int64       `json:"start"`
	Width int64       `json:"width"`
	Cells []weightDoc `json:"cells"`
	Tops  string      `json:"tops,omitempty"` // heavy keys of each cell, see appendTops
}

// Save writes the profile as a Parquet file. The same profile gives the same bytes.
func (p *Profile) Save(w io.Writer) error {
	sum := &sumWriter{w: w, hash: xxh3.New128()}
	out := parquet.NewGenericWriter[any](sum, rowSchema, parquet.Compression(&parquet.Zstd), parquet.WriteBufferSize(0),
		parquet.MaxRowsPerRowGroup(fileGroup), parquet.CreatedBy("keyspread", "", ""))
	rows, err := p.saveRows(out)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return fmt.Errorf("saving the keys of topic %q: %w", p.Topic, err)
	}
	doc := p.document()
	doc.Rows, doc.DataSize = rows, sum.n
	b := sum.hash.Sum128().Bytes()
	doc.DataSum = hex.EncodeToString(b[:])
	text, err := json.Marshal(doc)
	if err != nil {
		return fmt.Errorf("saving the profile of topic %q: %w", p.Topic, err)
	}
	out.SetKeyValueMetadata(metaProfile, string(text))
	var end bytes.Buffer
	sum.w = &end
	err = out.Close()
	if err == nil {
		var sealed []byte
		if sealed, err = seal(end.Bytes()); err == nil {
			_, err = w.Write(sealed)
		}
	}
	if err != nil {
		return fmt.Errorf("saving the profile of topic %q: %w", p.Topic, err)
	}
	return nil
}

// sumWriter hashes what it writes.
type sumWriter struct {
	w    io.Writer
	hash *xxh3.Hasher128
	n    int64
}

func (s *sumWriter) Write(b []byte) (int, error) {
	n, err := s.w.Write(b)
	_, _ = s.hash.Write(b[:n]) // a hash takes everything
	s.n += int64(n)
	return n, err
}

// saveRows writes the keys by partition, in each as they come in EachKey, after the row of the records without key.
func (p *Profile) saveRows(out *parquet.GenericWriter[any]) (rows int64, err error) {
	block := make([]parquet.Row, 0, fileBlock)
	values := make([]parquet.Value, fileBlock*numCols)
	flush := func() error {
		n, err := out.WriteRows(block)
		rows += int64(n)
		block = block[:0]
		return err
	}
	add := func(k *Key, home bool) error {
		r := values[len(block)*numCols:][:numCols:numCols]
		r[colPartition] = parquet.Int32Value(k.Partition).Level(0, 0, colPartition)
		r[colKey] = parquet.NullValue().Level(0, 0, colKey)
		if k.Key != nil {
			r[colKey] = parquet.ByteArrayValue(k.Key).Level(0, 1, colKey)
		}
		for col, v := range [...]int64{colRecords: k.Lo.Records, colBytes: k.Lo.Bytes, colRecordsMax: k.Hi.Records, colBytesMax: k.Hi.Bytes} {
			if col >= colRecords {
				r[col] = parquet.Int64Value(v).Level(0, 0, col)
			}
		}
		r[colFirstTime], r[colLastTime] = timeValue(k.First, colFirstTime), timeValue(k.Last, colLastTime)
		r[colHome] = parquet.BooleanValue(home).Level(0, 0, colHome)
		block = append(block, r)
		if len(block) == cap(block) {
			return flush()
		}
		return nil
	}
	for i := range p.Partitions {
		part := &p.Partitions[i]
		if part.NullKey.Records > 0 {
			null := Key{Partition: part.ID, Lo: part.NullKey, Hi: part.NullKey, First: -1, Last: -1}
			if err := add(&null, false); err != nil {
				return rows, err
			}
		}
		for j := range part.NumKeys() {
			k := part.key(j)
			if err := add(&k, part.keys.entry(j).meta&metaHome != 0); err != nil {
				return rows, err
			}
		}
	}
	return rows, flush()
}

func timeValue(ms int64, col int) parquet.Value {
	if ms < 0 {
		return parquet.NullValue().Level(0, 0, col)
	}
	return parquet.Int64Value(ms).Level(0, 1, col)
}

// document returns the profile's JSON document, without the figures of the rows.
func (p *Profile) document() *document {
	doc := &document{
		Format: fileFormat, Version: fileVersion,
		Topic: p.Topic, NumPartitions: p.NumPartitions, Partitioner: p.Partitioner,
		Isolation: p.Isolation.String(), Range: p.Range, Buckets: p.buckets, Candidates: p.Candidates, Refined: p.refined,
	}
	for i := range p.Partitions {
		doc.Partitions = append(doc.Partitions, docOfPartition(&p.Partitions[i]))
	}
	return doc
}

func docOfPartition(p *Partition) partDoc {
	d := partDoc{
		ID: p.ID, Coverage: coverageDoc{p.Coverage.Asked, p.Coverage.Read, p.Coverage.Position, p.Coverage.Lost, ""},
		Total: docOf(p.Total), KeyBytes: p.KeyBytes, ValueBytes: p.ValueBytes, HeaderBytes: p.HeaderBytes,
		NullKey: docOf(p.NullKey), EmptyKey: docOf(p.EmptyKey), Tombstones: p.Tombstones,
		Control: p.Control, Aborted: p.Aborted, Assigned: p.Assigned, WireBytes: p.WireBytes,
		FirstOffset: p.FirstOffset, LastOffset: p.LastOffset, MinTime: p.MinTime, MaxTime: p.MaxTime,
		TimestampType: p.TimestampType.String(), Sizes: p.Sizes,
		Mode: p.Mode.String(), Missing: docOf(p.Missing), Spread: p.spread, Share: p.share,
		Grid: gridDoc{Start: p.Grid.Start, Width: p.Grid.Width},
	}
	if p.Coverage.Err != nil {
		d.Coverage.Error = p.Coverage.Err.Error()
	}
	for _, s := range p.Spans {
		d.Spans = append(d.Spans, [2]int64{s.Start, s.End})
	}
	if p.keys != nil && p.keys.sample != nil {
		d.SampleLevel = p.keys.sample.level
		d.HLL, _ = p.keys.sample.hll.AppendBinary(nil) // cannot fail: the sketch was made by NewHLL
	}
	for i := range p.Placed {
		from := &p.Placed[i]
		to := placedDoc{Moved: docOf(from.Moved), Unkeyed: docOf(from.Unkeyed), Unplaced: docOf(from.Unplaced)}
		for id, w := range from.Loads.All() {
			to.Loads = append(to.Loads, [3]int64{int64(id), w.Records, w.Bytes})
		}
		d.Placed = append(d.Placed, to)
	}
	for _, c := range p.Grid.Cells {
		d.Grid.Cells = append(d.Grid.Cells, docOf(c))
	}
	if p.tops != nil {
		d.Grid.Tops = base64.StdEncoding.EncodeToString(appendTops(nil, p))
	}
	return d
}

// appendTops appends, for each cell of the grid: missing, late, the number of keys, and each key as the index of its row
// among the partition's keys, its weight and what may be missing of it. All are unsigned varints.
func appendTops(b []byte, p *Partition) []byte {
	weight := func(w Weight) {
		b = binary.AppendUvarint(b, uint64(w.Records))
		b = binary.AppendUvarint(b, uint64(w.Bytes))
	}
	for i := range p.tops {
		c := &p.tops[i]
		weight(c.missing)
		weight(c.late)
		b = binary.AppendUvarint(b, uint64(len(c.keys)))
		for j := range c.keys {
			k := &c.keys[j]
			b = binary.AppendUvarint(b, uint64(p.keys.findHash(k.hash)))
			weight(k.w)
			weight(k.e)
		}
	}
	return b
}

var errTops = errors.New("the heavy keys over time are damaged")

// parseTops reads what appendTops wrote for a grid of n cells.
func parseTops(b []byte, t *table, n int) ([]closedTop, error) {
	bad := false
	next := func() int64 {
		v, size := binary.Uvarint(b)
		if size <= 0 || v > 1<<62 {
			bad, b = true, nil
			return 0
		}
		b = b[size:]
		return int64(v)
	}
	weight := func() Weight {
		r := next()
		return Weight{r, next()}
	}
	out := make([]closedTop, n)
	for i := range out {
		c := &out[i]
		c.missing, c.late = weight(), weight()
		keys := next()
		if bad || keys > int64(len(b)) {
			return nil, errTops
		}
		for range keys {
			at := next()
			k := topEntry{w: weight(), e: weight()}
			if bad || at >= int64(t.n) {
				return nil, errTops
			}
			k.hash = t.entry(int(at)).hash()
			c.keys = append(c.keys, k)
		}
		slices.SortFunc(c.keys, func(a, b topEntry) int { return compareHash(a.hash, b.hash) })
	}
	if bad || len(b) > 0 {
		return nil, errTops
	}
	return out, nil
}

// isolationNamed and the like read back what a document says.
func isolationNamed(s string) (source.Isolation, error) {
	for _, i := range []source.Isolation{source.ReadCommitted, source.ReadUncommitted} {
		if i.String() == s {
			return i, nil
		}
	}
	return 0, fmt.Errorf("unknown isolation %q", s)
}

func timestampTypeNamed(s string) (source.TimestampType, error) {
	for _, t := range []source.TimestampType{source.CreateTime, source.LogAppendTime} {
		if t.String() == s {
			return t, nil
		}
	}
	return 0, fmt.Errorf("unknown timestamp type %q", s)
}

func modeNamed(s string) (Mode, error) {
	for _, m := range []Mode{Exact, Bounded} {
		if m.String() == s {
			return m, nil
		}
	}
	return 0, fmt.Errorf("unknown mode %q", s)
}

// hllNamed reads the HLL sketch of a partition.
func hllNamed(b []byte) (*sketch.HLL, error) {
	h, err := sketch.ParseHLL(b)
	if err == nil && h.LgK != hllBits {
		err = fmt.Errorf("an HLL sketch of 2^%d registers, want 2^%d", h.LgK, hllBits)
	}
	if err != nil {
		return nil, err
	}
	return h, nil
}
