package profile

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/zeebo/xxh3"

	"keyspread/analyze/source"
)

// Merge joins profiles of disjoint parts of one topic: of different partitions, or of different ranges of the same. The
// order of the profiles does not matter. They are not changed, and the result shares nothing with them.
//
// It refuses profiles of different topics, partition counts, isolation levels, assumed partitioners or candidates, and
// ranges that overlap. Counts add; a key that only one of two bounded tables of a partition holds may have had in the
// other what that one has forgotten. The result's tables hold all keys of the parts: no key is let go to save memory. Times
// of a key's first and last record are in offset order, or by time where ranges of a partition lie between others'.
func Merge(profiles ...*Profile) (*Profile, error) {
	if len(profiles) == 0 {
		return nil, errors.New("merging no profiles: name at least one")
	}
	first := profiles[0]
	for _, p := range profiles[1:] {
		if err := first.mergeable(p); err != nil {
			return nil, err
		}
	}
	m := &Profile{
		Topic: first.Topic, NumPartitions: first.NumPartitions, Partitioner: first.Partitioner, Isolation: first.Isolation,
		Candidates: slices.Clone(first.Candidates), cache: &cache{},
	}
	parts := map[int32][]*Partition{}
	for _, p := range profiles {
		m.buckets = max(m.buckets, p.buckets)
		for i := range p.Partitions {
			parts[p.Partitions[i].ID] = append(parts[p.Partitions[i].ID], &p.Partitions[i])
		}
	}
	m.Range = joinRanges(profiles)
	m.refined = refinedInAll(profiles)
	var grids []*gridBuilder
	for _, id := range slices.Sorted(maps.Keys(parts)) {
		if err := checkDisjoint(m.Topic, parts[id]); err != nil {
			return nil, err
		}
		part, grid := joinPartitions(parts[id], m)
		m.Partitions = append(m.Partitions, part)
		grids = append(grids, grid)
	}
	alignGrids(grids)
	for i := range m.Partitions {
		m.Partitions[i].Grid, m.Partitions[i].tops = grids[i].result()
	}
	return m, nil
}

// mergeable says what keeps two profiles apart.
func (p *Profile) mergeable(o *Profile) error {
	for _, f := range []struct {
		what string
		a, b any
	}{
		{"topics", p.Topic, o.Topic},
		{"partition counts", p.NumPartitions, o.NumPartitions},
		{"isolation levels", p.Isolation, o.Isolation},
		{"assumed partitioners", p.Partitioner, o.Partitioner},
		{"candidates", candidateList(p.Candidates), candidateList(o.Candidates)},
	} {
		if f.a != f.b {
			return fmt.Errorf("merging profiles of different %s (%v and %v): read all parts with the same settings", f.what, f.a, f.b)
		}
	}
	return nil
}

// checkDisjoint sorts the parts of one partition by their first offset and reports spans that overlap.
func checkDisjoint(topic string, parts []*Partition) error {
	var spans []source.Span
	for _, p := range parts {
		spans = append(spans, p.Spans...)
	}
	slices.SortFunc(spans, func(a, b source.Span) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End)) })
	for i := 1; i < len(spans); i++ {
		if a, b := spans[i-1], spans[i]; b.Start < a.End {
			return fmt.Errorf("merging profiles of topic %q: the offsets %d..%d and %d..%d of partition %d overlap: "+
				"their records would count twice", topic, a.Start, a.End, b.Start, b.End, a.Partition)
		}
	}
	// parts without spans hold no records; among them any total order will do
	slices.SortStableFunc(parts, func(a, b *Partition) int { return cmp.Compare(a.start(), b.start()) })
	return nil
}

// start is the first offset asked for; beyond all when there is none.
func (p *Partition) start() int64 {
	if len(p.Spans) == 0 {
		return math.MaxInt64
	}
	return p.Spans[0].Start
}

// joinPartitions adds up the parts of one partition, given in offset order.
func joinPartitions(parts []*Partition, m *Profile) (Partition, *gridBuilder) {
	j := Partition{ID: parts[0].ID, FirstOffset: -1, LastOffset: -1, MinTime: -1, MaxTime: -1, TimestampType: parts[0].TimestampType}
	j.Coverage = source.Coverage{Partition: j.ID}
	for _, c := range m.Candidates {
		j.Placed = append(j.Placed, Placed{Loads: newLoads(c.NumPartitions)})
	}
	grid := &gridBuilder{limit: m.buckets, lost: func() Weight { return Weight{} }}
	grid.tops = tops{keep: topKeep(int(m.NumPartitions), m.buckets), closed: map[int64]*closedTop{}}
	var errs []error
	for _, p := range parts {
		j.Spans = append(j.Spans, p.Spans...)
		j.addCounts(p)
		if p.Coverage.Err != nil {
			errs = append(errs, p.Coverage.Err)
		}
		for c := range j.Placed {
			j.Placed[c].add(&p.Placed[c])
		}
		j.spread = j.spread || p.spread
		j.share = max(j.share, p.share)
		j.Missing = j.Missing.Add(p.Missing)
		j.Mode = max(j.Mode, p.Mode)
		grid.join(gridOf(p, grid))
	}
	j.Coverage.Err = errors.Join(errs...)
	j.Spans = joinSpans(j.Spans)
	j.keys = joinTables(parts, &j)
	return j, grid
}

// addCounts adds what the later part o of the same partition has counted, keys left out.
func (p *Partition) addCounts(o *Partition) {
	c, d := &p.Coverage, &o.Coverage
	c.Read, c.Lost, c.Position = c.Read+d.Read, c.Lost+d.Lost, max(c.Position, d.Position)
	if c.Asked < 0 || d.Asked < 0 {
		c.Asked = -1
	} else {
		c.Asked += d.Asked
	}
	p.Assigned += o.Assigned
	p.Total = p.Total.Add(o.Total)
	p.KeyBytes += o.KeyBytes
	p.ValueBytes += o.ValueBytes
	p.HeaderBytes += o.HeaderBytes
	p.NullKey = p.NullKey.Add(o.NullKey)
	p.EmptyKey = p.EmptyKey.Add(o.EmptyKey)
	p.Tombstones += o.Tombstones
	p.Control += o.Control
	p.Aborted += o.Aborted
	p.WireBytes += o.WireBytes
	for i, n := range o.Sizes {
		p.Sizes[i] += n
	}
	if o.Total.Records == 0 {
		return
	}
	if p.FirstOffset < 0 || o.FirstOffset < p.FirstOffset {
		p.FirstOffset = o.FirstOffset
	}
	if o.LastOffset >= p.LastOffset {
		p.LastOffset, p.TimestampType = o.LastOffset, o.TimestampType
	}
	if o.MinTime >= 0 {
		p.seen(o.MinTime)
		p.seen(o.MaxTime)
	}
}

// add adds the placement of another part of the same partition.
func (p *Placed) add(o *Placed) {
	for to, w := range o.Loads.All() {
		p.Loads.add(to, w)
	}
	p.Moved, p.Unkeyed, p.Unplaced = p.Moved.Add(o.Moved), p.Unkeyed.Add(o.Unkeyed), p.Unplaced.Add(o.Unplaced)
}

// joinSpans sorts spans of one partition and makes one of those that touch.
func joinSpans(spans []source.Span) []source.Span {
	slices.SortFunc(spans, func(a, b source.Span) int { return cmp.Compare(a.Start, b.Start) })
	var out []source.Span
	for _, s := range spans {
		if n := len(out); n > 0 && out[n-1].End == s.Start {
			out[n-1].End = s.End
		} else {
			out = append(out, s)
		}
	}
	return out
}

// joinTables adds up the key tables of one partition's parts, in offset order: keys come in the order in which the
// parts name them first.
//
// Any two parts are disjoint in records, so what a part has lost of a key adds to what the others have: its entry's
// error where it holds the key, its Missing where it does not. A key of the sample of every bounded part is exact where
// it is named and absent where it is not.
func joinTables(parts []*Partition, j *Partition) *table {
	t := newTable(math.MaxInt64, slices.ContainsFunc(parts, func(p *Partition) bool { return p.keys != nil && p.keys.verify }))
	if j.Mode == Bounded {
		t.sample = newSample(math.MaxInt64)
		for _, p := range parts {
			t.sample.level = max(t.sample.level, p.sampleLevel())
			_ = t.sample.hll.Merge(p.HLL()) // all have the same number of registers
		}
	}
	apart := areApart(parts)
	lost := []Weight{} // by entry of t
	for _, p := range parts {
		for i := range p.NumKeys() {
			e, key := p.keys.entry(i), p.keys.keyOf(p.keys.entry(i))
			at := t.find(e.hash(), key)
			if at < 0 {
				at = t.n
				t.restore(e.hash(), key, Weight{}, 0, -1, -1, e.meta&metaHome != 0)
				lost = append(lost, Weight{})
			}
			to := t.entry(at)
			to.records += e.records
			to.bytes += e.bytes
			if e.first >= 0 && (to.first < 0 || !apart && e.first < to.first) {
				to.first = e.first
			}
			if e.last >= 0 && (apart || e.last > to.last) {
				to.last = e.last
			}
		}
	}
	if j.Mode == Exact {
		return t
	}
	for _, p := range parts {
		for i := range lost {
			e := t.entry(i)
			if t.sample.pins(e) {
				continue
			}
			if at := p.find(e.hash(), t.keyOf(e)); at >= 0 {
				lost[i] = lost[i].Add(p.keys.lost(p.keys.entry(at)))
			} else {
				lost[i] = lost[i].Add(p.Missing)
			}
		}
	}
	t.errs = []Weight{{}}
	epoch := map[Weight]uint32{{}: 0}
	for i, w := range lost {
		n, ok := epoch[w]
		if !ok {
			n = uint32(len(t.errs))
			epoch[w] = n
			t.errs = append(t.errs, w)
		}
		t.entry(i).meta |= n << metaEpoch
	}
	t.errs = append(t.errs, j.Missing)
	return t
}

// areApart reports whether the records of each part, given by start, come after all of the part before. Where they do not,
// whose record of a key came first or last is not known, and times decide.
func areApart(parts []*Partition) bool {
	last := int64(-1)
	for _, p := range parts {
		if p.FirstOffset < 0 {
			continue
		}
		if p.FirstOffset <= last {
			return false
		}
		last = p.LastOffset
	}
	return true
}

// find returns the index of a key's entry, or -1.
func (p *Partition) find(h xxh3.Uint128, key []byte) int {
	if p.keys == nil {
		return -1
	}
	return p.keys.find(h, key)
}

// gridOf makes a copy of a partition's grid that can be widened, with the settings of like.
func gridOf(p *Partition, like *gridBuilder) *gridBuilder {
	g := &gridBuilder{limit: like.limit, width: p.Grid.Width, cells: slices.Clone(p.Grid.Cells), lost: like.lost}
	g.tops = tops{keep: like.tops.keep, closed: map[int64]*closedTop{}}
	if g.width > 0 {
		g.first = p.Grid.Start / g.width
	}
	for i := range p.tops {
		c := p.tops[i]
		c.keys = slices.Clone(c.keys)
		g.tops.closed[g.first+int64(i)] = &c
	}
	if p.tops == nil { // nothing is known of the keys
		for i, w := range g.cells {
			g.tops.closed[g.first+int64(i)] = &closedTop{missing: w}
		}
	}
	return g
}

// join adds the grid o, which is used up.
func (g *gridBuilder) join(o *gridBuilder) {
	if o.width == 0 {
		return
	}
	if g.width == 0 {
		g.width, g.first, g.cells, g.tops.closed = o.width, o.first, o.cells, o.tops.closed
		return
	}
	for g.width < o.width {
		g.double()
	}
	for o.width < g.width {
		o.double()
	}
	for !g.reach(o.first) || !g.reach(o.last()) {
		g.double()
		o.double()
	}
	for i, w := range o.cells {
		b := o.first + int64(i)
		g.cells[b-g.first] = g.cells[b-g.first].Add(w)
		from, to := o.tops.closed[b], g.tops.closed[b]
		switch {
		case from == nil:
		case to == nil:
			g.tops.closed[b] = from
		default:
			to.join(from)
			to.shorten(g.tops.keep)
		}
	}
}

// refinedInAll lists the keys that are exact in every profile though some are bounded.
func refinedInAll(profiles []*Profile) [][]byte {
	var out [][]byte
	for _, p := range profiles {
		for _, k := range p.refined {
			if !slices.ContainsFunc(profiles, func(p *Profile) bool { return p.Mode() != Exact && !p.isRefined(k) }) {
				out = append(out, bytes.Clone(k))
			}
		}
	}
	slices.SortFunc(out, bytes.Compare)
	return slices.CompactFunc(out, bytes.Equal)
}
