package profile

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/parquet-go/parquet-go"
	"github.com/zeebo/xxh3"

	"keyspread/analyze/profile/sketch"
	"keyspread/analyze/source"
)

// ErrNotProfile is wrapped by the error of [Load] when the file is no profile at all.
var ErrNotProfile = errors.New("not a keyspread profile")

// Load reads a profile that Save wrote. It returns a whole profile or an error: sums over the file's rows and document
// are checked first, then that their figures agree with one another.
func Load(r io.ReaderAt, size int64) (p *Profile, err error) {
	defer func() { // the Parquet reader panics on some damaged files
		if x := recover(); x != nil {
			p, err = nil, fmt.Errorf("reading profile: the file is damaged: %v", x)
		}
	}()
	if err := checkSeal(r, size); err != nil {
		return nil, fmt.Errorf("reading profile: %w", err)
	}
	f, err := parquet.OpenFile(r, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, fmt.Errorf("reading profile: its footer is damaged: %w", err)
	}
	text, ok := f.Lookup(metaProfile)
	if !ok {
		return nil, fmt.Errorf("reading profile: %w: a Parquet file without %q in its metadata", ErrNotProfile, metaProfile)
	}
	if !parquet.EqualNodes(f.Schema(), rowSchema) {
		return nil, errors.New("reading profile: its columns are not those of a profile")
	}
	doc, err := parseDocument([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("reading profile: %w", err)
	}
	if err := checkData(r, doc); err != nil {
		return nil, fmt.Errorf("reading profile of topic %q: %w", doc.Topic, err)
	}
	if p, err = doc.profile(f); err != nil {
		return nil, fmt.Errorf("reading profile of topic %q: %w", doc.Topic, err)
	}
	return p, nil
}

// parseDocument reads the JSON document of a file.
func parseDocument(text []byte) (*document, error) {
	var head struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("its document is damaged: %w", err)
	}
	if head.Format != fileFormat {
		return nil, fmt.Errorf("%w: its format is %q", ErrNotProfile, head.Format)
	}
	if head.Version != fileVersion {
		return nil, fmt.Errorf("its version is %d, this keyspread knows version %d: use the keyspread that wrote it", head.Version, fileVersion)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	doc := &document{}
	if err := dec.Decode(doc); err != nil {
		return nil, fmt.Errorf("its document is damaged: %w", err)
	}
	return doc, nil
}

// checkData compares the rows' bytes with their checksum.
func checkData(r io.ReaderAt, doc *document) error {
	h := xxh3.New128()
	n, err := io.Copy(h, io.NewSectionReader(r, 0, doc.DataSize))
	if err != nil {
		return err
	}
	b := h.Sum128().Bytes()
	if n != doc.DataSize || hex.EncodeToString(b[:]) != doc.DataSum {
		return errors.New("its rows are damaged: the checksum is another")
	}
	return nil
}

// maxTotal bounds what a file may say of a topic, so that sums of bounds cannot overflow.
const maxTotal = 1 << 60

// maxPartitions bounds a partition count of a file, as arrays are made of so many.
const maxPartitions = 1 << 26

// profile builds the profile of a document and the rows of f.
func (d *document) profile(f *parquet.File) (*Profile, error) {
	p := &Profile{
		Topic: d.Topic, NumPartitions: d.NumPartitions, Partitioner: d.Partitioner, Range: d.Range,
		Candidates: d.Candidates, buckets: d.Buckets, refined: d.Refined, cache: &cache{},
	}
	var err error
	if p.Isolation, err = isolationNamed(d.Isolation); err != nil {
		return nil, err
	}
	if d.NumPartitions < 1 || d.Buckets < 1 || d.Buckets > MaxBuckets {
		return nil, fmt.Errorf("%d partitions and %d time buckets", d.NumPartitions, d.Buckets)
	}
	if len(d.Candidates) == 0 || d.Candidates[0] != (Candidate{d.Partitioner, d.NumPartitions}) {
		return nil, errors.New("its first candidate is not the topic as it is")
	}
	for _, c := range d.Candidates { // their loads take no more than a few times what the document does
		if c.NumPartitions < 1 || c.NumPartitions > maxPartitions {
			return nil, fmt.Errorf("candidate %s with %d partitions is out of range", c.Partitioner, c.NumPartitions)
		}
	}
	var total Weight
	byID := map[int32]*Partition{}
	p.Partitions = make([]Partition, len(d.Partitions))
	for i := range d.Partitions {
		part := &p.Partitions[i]
		if *part, err = d.Partitions[i].partition(d); err != nil {
			return nil, fmt.Errorf("partition %d: %w", d.Partitions[i].ID, err)
		}
		if i > 0 && part.ID <= p.Partitions[i-1].ID {
			return nil, fmt.Errorf("partition %d comes after partition %d", part.ID, p.Partitions[i-1].ID)
		}
		byID[part.ID] = part
		if total = total.Add(part.Total); max(part.Total.Records, part.Total.Bytes, total.Records, total.Bytes) > maxTotal {
			return nil, fmt.Errorf("partition %d: its totals are out of range", part.ID)
		}
	}
	if err := loadRows(f, d.Rows, byID); err != nil {
		return nil, err
	}
	var width int64
	for i := range p.Partitions {
		part := &p.Partitions[i]
		if err := d.Partitions[i].finish(part); err != nil {
			return nil, fmt.Errorf("partition %d: %w", part.ID, err)
		}
		if w := part.Grid.Width; w != 0 && width != 0 && w != width {
			return nil, fmt.Errorf("partition %d: time buckets of %d ms beside those of %d ms", part.ID, w, width)
		} else if w != 0 {
			width = w
		}
	}
	// Before anything is made of them: partitions of a damaged file can be ages apart.
	if _, _, n := p.extent(); n > int64(d.Buckets) {
		return nil, fmt.Errorf("%d time buckets, more than its limit of %d", n, d.Buckets)
	}
	return p, nil
}

// partition reads all but the keys and what is checked against them.
func (d *partDoc) partition(doc *document) (Partition, error) {
	p := Partition{
		ID:    d.ID,
		Total: d.Total.weight(), KeyBytes: d.KeyBytes, ValueBytes: d.ValueBytes, HeaderBytes: d.HeaderBytes,
		NullKey: d.NullKey.weight(), EmptyKey: d.EmptyKey.weight(), Tombstones: d.Tombstones,
		Control: d.Control, Aborted: d.Aborted, Assigned: d.Assigned, WireBytes: d.WireBytes,
		FirstOffset: d.FirstOffset, LastOffset: d.LastOffset, MinTime: d.MinTime, MaxTime: d.MaxTime,
		Sizes: d.Sizes, Missing: d.Missing.weight(), spread: d.Spread, share: d.Share,
		Coverage: source.Coverage{Partition: d.ID, Asked: d.Coverage.Asked, Read: d.Coverage.Read, Position: d.Coverage.Position, Lost: d.Coverage.Lost},
	}
	var err error
	if p.TimestampType, err = timestampTypeNamed(d.TimestampType); err != nil {
		return p, err
	}
	if p.Mode, err = modeNamed(d.Mode); err != nil {
		return p, err
	}
	if d.ID < 0 || d.ID >= doc.NumPartitions {
		return p, fmt.Errorf("the topic has %d partitions", doc.NumPartitions)
	}
	if d.Coverage.Error != "" {
		p.Coverage.Err = errors.New(d.Coverage.Error)
	}
	for i, s := range d.Spans {
		if s[0] < 0 || s[1] <= s[0] || i > 0 && s[0] < d.Spans[i-1][1] {
			return p, fmt.Errorf("its span %d..%d is out of order", s[0], s[1])
		}
		p.Spans = append(p.Spans, source.Span{Partition: d.ID, Start: s[0], End: s[1]})
	}
	for _, n := range []int64{
		d.KeyBytes, d.ValueBytes, d.HeaderBytes, d.Tombstones, d.Control, d.Aborted, d.Assigned, d.WireBytes,
		d.Coverage.Read, d.Coverage.Position, d.Coverage.Lost,
	} {
		if n < 0 {
			return p, errors.New("a count is negative")
		}
	}
	for _, n := range []int64{d.Coverage.Asked, d.FirstOffset, d.LastOffset, d.MinTime, d.MaxTime} {
		if n < -1 {
			return p, errors.New("a number that may be -1, not known, is less")
		}
	}
	if d.Share < 0 || d.Share > 1 {
		return p, errors.New("its share of the memory is no share")
	}
	var sizes int64
	for _, n := range d.Sizes {
		if sizes += n; n < 0 || sizes < 0 {
			return p, errors.New("a count of sizes is negative")
		}
	}
	if d.Total.negative() || d.NullKey.negative() || d.EmptyKey.negative() || d.Missing.negative() ||
		max(d.Missing[0], d.Missing[1]) > maxTotal || sizes != d.Total[0] || d.Assigned > d.Total[0] ||
		d.KeyBytes+d.ValueBytes+d.HeaderBytes != d.Total[1] || d.Total.below(p.NullKey) || d.Total.below(p.EmptyKey) {
		return p, errors.New("its totals contradict one another")
	}
	p.keys = newTable(math.MaxInt64, false)
	switch {
	case p.Mode == Exact && (p.Missing != (Weight{}) || d.HLL != nil || d.SampleLevel != 0):
		return p, errors.New("it is exact, but misses keys")
	case p.Mode == Bounded:
		h, err := hllNamed(d.HLL)
		if err != nil {
			return p, err
		}
		if d.SampleLevel > metaLevel {
			return p, fmt.Errorf("its sample level is %d, above %d", d.SampleLevel, metaLevel)
		}
		p.keys.errs = []Weight{{}}
		p.keys.sample = &sample{level: d.SampleLevel, hll: h}
	}
	return p, d.placed(&p, doc.Candidates)
}

// placed reads the placements, which must account for every record.
func (d *partDoc) placed(p *Partition, candidates []Candidate) error {
	if len(d.Placed) != len(candidates) {
		return fmt.Errorf("%d placements for %d candidates", len(d.Placed), len(candidates))
	}
	for i := range d.Placed {
		from := &d.Placed[i]
		to := Placed{
			Loads: newLoads(candidates[i].NumPartitions),
			Moved: from.Moved.weight(), Unkeyed: from.Unkeyed.weight(), Unplaced: from.Unplaced.weight(),
		}
		keyed := Weight{}
		for j, l := range from.Loads {
			if l[0] < 0 || l[0] >= int64(to.Loads.n) || l[1] < 0 || l[2] < 0 || j > 0 && l[0] <= from.Loads[j-1][0] {
				return fmt.Errorf("candidate %d: a load of partition %d", i, l[0])
			}
			w := Weight{l[1], l[2]}
			if keyed = keyed.Add(w); d.Total.below(keyed) { // before a sum of them can overflow
				return fmt.Errorf("candidate %d: its loads are more than the partition's records", i)
			}
			to.Loads.add(int32(l[0]), w)
		}
		if keyed.Add(to.Unkeyed).Add(to.Unplaced) != p.Total || docOf(keyed).below(to.Moved) ||
			from.Moved.negative() || from.Unkeyed.negative() || from.Unplaced.negative() {
			return fmt.Errorf("candidate %d: its loads are not the partition's records", i)
		}
		p.Placed = append(p.Placed, to)
	}
	return nil
}

// loadRows reads the keys into the partitions' tables.
func loadRows(f *parquet.File, want int64, byID map[int32]*Partition) error {
	var n int64
	lost := map[*Partition]map[Weight]uint32{}
	nulls := map[int32]bool{}
	block := make([]parquet.Row, fileBlock)
	last := int32(-1)
	for _, g := range f.RowGroups() {
		rows := g.Rows()
		for {
			got, err := rows.ReadRows(block)
			for _, r := range block[:got] {
				n++
				part := byID[r[colPartition].Int32()]
				if part == nil || part.ID < last {
					return fmt.Errorf("row %d: partition %d is not expected here", n, r[colPartition].Int32())
				}
				last = part.ID
				if lost[part] == nil {
					lost[part] = map[Weight]uint32{{}: 0}
				}
				if err := part.loadRow(r, lost[part], nulls); err != nil {
					return fmt.Errorf("row %d: %w", n, err)
				}
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return errors.Join(fmt.Errorf("its rows are damaged: %w", err), rows.Close())
			}
		}
		if err := rows.Close(); err != nil {
			return err
		}
	}
	if n != want {
		return fmt.Errorf("%d rows, want %d", n, want)
	}
	for id, part := range byID {
		if part.NullKey.Records > 0 && !nulls[id] {
			return fmt.Errorf("partition %d has no row of its records without key", id)
		}
	}
	return nil
}

// loadRow reads one row. lost numbers the errors seen so far in the partition.
func (p *Partition) loadRow(r parquet.Row, lost map[Weight]uint32, nulls map[int32]bool) error {
	lo := Weight{r[colRecords].Int64(), r[colBytes].Int64()}
	hi := Weight{r[colRecordsMax].Int64(), r[colBytesMax].Int64()}
	e := hi.Sub(lo)
	if lo.Records < 1 || lo.Bytes < 0 || e.Records < 0 || e.Bytes < 0 || max(hi.Records, hi.Bytes) > 2*maxTotal || p.Mode == Exact && e != (Weight{}) {
		return fmt.Errorf("a key with %d..%d records and %d..%d bytes", lo.Records, hi.Records, lo.Bytes, hi.Bytes)
	}
	if r[colKey].IsNull() {
		if nulls[p.ID] || lo != p.NullKey || hi != lo {
			return errors.New("the records without key are not those of the document")
		}
		nulls[p.ID] = true
		return nil
	}
	key := r[colKey].ByteArray()
	h := xxh3.Hash128(key)
	if p.keys.find(h, key) >= 0 {
		return errors.New("its key is that of an earlier row of the partition")
	}
	epoch, ok := lost[e]
	if !ok {
		epoch = uint32(len(p.keys.errs))
		lost[e] = epoch
		p.keys.errs = append(p.keys.errs, e)
	}
	first, last := int64(-1), int64(-1)
	if !r[colFirstTime].IsNull() && !r[colLastTime].IsNull() {
		first, last = r[colFirstTime].Int64(), r[colLastTime].Int64()
	}
	p.keys.restore(h, key, lo, epoch, first, last, r[colHome].Boolean())
	return nil
}

// restore adds a key with its counts. It never purges.
func (t *table) restore(h xxh3.Uint128, key []byte, w Weight, epoch uint32, first, last int64, home bool) *entry {
	if t.tight(t.n + 1) {
		t.resize()
	}
	e := t.next()
	*e = entry{
		lo: h.Lo, hi: h.Hi, records: w.Records, bytes: w.Bytes, first: first, last: last,
		key: t.arena.put(key), size: uint32(len(key)), meta: epoch << metaEpoch,
	}
	if home {
		e.meta |= metaHome
	}
	if t.sample != nil {
		e.meta |= level(sketch.HashOf(key).Rank())
	}
	t.link(t.n, e)
	t.n++
	return e
}

// finish reads what refers to keys, and compares the keys with the totals.
func (d *partDoc) finish(p *Partition) error {
	t := p.keys
	if p.Mode == Bounded {
		t.errs = append(t.errs, p.Missing)
	}
	sum := p.NullKey
	for i := range t.n {
		if sum = sum.Add(t.entry(i).weight()); d.Total.below(sum) { // at once, before it can overflow
			break
		}
	}
	if p.Mode == Exact && sum != p.Total || d.Total.below(sum) {
		return errors.New("its keys do not add up to its records")
	}
	if d.Grid.Start < 0 || d.Grid.Width < 0 || d.Grid.Width == 0 && len(d.Grid.Cells) > 0 || d.Grid.Width > 0 &&
		(d.Grid.Width%minBucket != 0 || d.Grid.Start%d.Grid.Width != 0 || d.Grid.Start > maxTime || d.Grid.Width > maxTime*2) {
		return fmt.Errorf("its time buckets start at %d and are %d ms wide", d.Grid.Start, d.Grid.Width)
	}
	p.Grid = Grid{Start: d.Grid.Start, Width: d.Grid.Width}
	timed := Weight{}
	for _, c := range d.Grid.Cells {
		if c.negative() {
			return errors.New("a time bucket is negative")
		}
		timed = timed.Add(c.weight())
		p.Grid.Cells = append(p.Grid.Cells, c.weight())
	}
	if d.Total.below(timed) {
		return errors.New("its time buckets hold more than its records")
	}
	if d.Grid.Tops == "" {
		return nil
	}
	b, err := base64.StdEncoding.DecodeString(d.Grid.Tops)
	if err != nil {
		return errTops
	}
	p.tops, err = parseTops(b, t, len(p.Grid.Cells))
	return err
}
