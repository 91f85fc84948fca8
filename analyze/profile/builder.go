package profile

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/zeebo/xxh3"

	"keyspread/analyze/internal/parallel"
	"keyspread/analyze/source"
)

// Builder counts a topic. It is the [source.Sink] of one read: Batch may be called for several partitions at once, but
// for one partition never at the same time and always in offset order. It keeps nothing of a batch and allocates
// nothing per record.
//
// Each partition has its own table and its own share of the memory, fixed by the plan, so the result does not depend
// on how the work was scheduled.
type Builder struct {
	cfg     Config
	plan    *source.Plan
	placing *placing
	parts   []*partBuilder
	byID    []*partBuilder // by partition; nil: not in the plan
}

// NewBuilder returns a builder for what plan will read. A [*MemoryError] says that cfg's Memory is too little for it.
func NewBuilder(plan *source.Plan, cfg Config) (*Builder, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if plan.NumPartitions < 1 || plan.NumPartitions > 1<<31-1 {
		return nil, fmt.Errorf("topic %q has %d partitions: want at least 1", plan.Topic, plan.NumPartitions)
	}
	specs := append([]CandidateSpec{{cfg.Partitioner, int32(plan.NumPartitions)}}, cfg.Candidates...)
	b := &Builder{cfg: cfg, plan: plan, placing: newPlacing(specs)}
	if err := checkMemory(cfg.Memory, len(plan.Partitions)); err != nil {
		return nil, err
	}
	ids := 0
	for _, p := range plan.Partitions {
		if p.ID < 0 || int(p.ID) >= plan.NumPartitions {
			return nil, fmt.Errorf("plan of topic %q names partition %d of %d", plan.Topic, p.ID, plan.NumPartitions)
		}
		ids = max(ids, int(p.ID)+1)
	}
	spans := make([][]source.Span, ids)
	asked := make([]uint64, ids)
	for _, s := range plan.Spans {
		if s.Partition < 0 || int(s.Partition) >= ids || s.End <= s.Start {
			return nil, fmt.Errorf("plan of topic %q has a bad span %d..%d of partition %d", plan.Topic, s.Start, s.End, s.Partition)
		}
		spans[s.Partition] = append(spans[s.Partition], s)
		asked[s.Partition] += uint64(s.End - s.Start)
	}
	named := make([]uint64, len(plan.Partitions))
	for i, p := range plan.Partitions {
		named[i] = asked[p.ID]
	}
	// the topic as it is, which comes first, is no choice of the user's
	if err := checkSize(b.placing.candidates[1:], named); err != nil {
		return nil, err
	}
	memory := shares(cfg.Memory, named)
	b.byID = make([]*partBuilder, ids)
	for i, p := range plan.Partitions {
		if b.byID[p.ID] != nil {
			return nil, fmt.Errorf("plan of topic %q names partition %d twice", plan.Topic, p.ID)
		}
		pb := newPartBuilder(p.ID, spans[p.ID], memory[i], plan.NumPartitions, cfg)
		pb.share = float64(memory[i]) / float64(cfg.Memory)
		b.byID[p.ID] = pb
		b.parts = append(b.parts, pb)
	}
	return b, nil
}

// Batch counts the records of b. An error (a batch of a partition that is not in the plan, a partitioner that fails)
// ends the read.
func (b *Builder) Batch(batch *source.Batch) error {
	if batch.Partition < 0 || int(batch.Partition) >= len(b.byID) || b.byID[batch.Partition] == nil {
		return fmt.Errorf("counting topic %q: a batch of partition %d, which the plan does not name", b.plan.Topic, batch.Partition)
	}
	return b.byID[batch.Partition].batch(batch, b.placing)
}

// Profile returns what was counted. The builder is used up. cov is what [source.Source] said of the read; a partition
// that is not in it counts as not read.
func (b *Builder) Profile(cov []source.Coverage) (*Profile, error) {
	p := &Profile{
		Topic: b.plan.Topic, NumPartitions: int32(b.plan.NumPartitions), Partitioner: b.cfg.Partitioner.ID(),
		Isolation: b.plan.Isolation, Range: b.plan.Range, Candidates: b.placing.candidates, buckets: b.cfg.Buckets, cache: &cache{},
	}
	coverage := map[int32]source.Coverage{}
	for _, c := range cov {
		coverage[c.Partition] = c
	}
	errs := make([]error, len(b.parts))
	parallel.Each(len(b.parts), func(i int) { errs[i] = b.parts[i].finish(b.placing) })
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	grids := make([]*gridBuilder, len(b.parts))
	for i, pb := range b.parts {
		grids[i] = &pb.grid
	}
	alignGrids(grids)
	for _, pb := range b.parts {
		c, ok := coverage[pb.part.ID]
		if !ok {
			c = source.Coverage{Partition: pb.part.ID}
			for _, s := range pb.part.Spans {
				c.Asked += s.End - s.Start
			}
		}
		if b.plan.EndUnknown {
			pb.part.endAt(c.Position)
		}
		pb.part.Coverage = c
		pb.part.Grid, pb.part.tops = pb.grid.result()
		p.Partitions = append(p.Partitions, pb.part)
	}
	slices.SortFunc(p.Partitions, func(a, b Partition) int { return cmp.Compare(a.ID, b.ID) })
	return p, nil
}

// endAt cuts what was asked for off where the source turned out to end, or the read did.
func (p *Partition) endAt(position int64) {
	for i := range p.Spans {
		p.Spans[i].End = min(p.Spans[i].End, position)
	}
	p.Spans = slices.DeleteFunc(p.Spans, func(s source.Span) bool { return s.Start >= s.End })
}

// partBuilder counts one partition.
type partBuilder struct {
	part   Partition
	table  *table
	grid   gridBuilder
	placed *placed // nil until a key leaves the table
	share  float64 // of the memory for all tables

	touched uint64 // keeps the compiler from dropping loads that only warm the cache
}

func newPartBuilder(id int32, spans []source.Span, budget int64, partitions int, cfg Config) *partBuilder {
	p := &partBuilder{
		part: Partition{
			ID: id, Spans: spans,
			FirstOffset: -1, LastOffset: -1, MinTime: -1, MaxTime: -1,
		},
		table: newTable(budget, cfg.VerifyKeys),
	}
	p.grid = gridBuilder{
		limit: cfg.Buckets, lost: p.table.missing,
		tops: tops{keep: topKeep(partitions, cfg.Buckets), closed: map[int64]*closedTop{}},
	}
	return p
}

// batch counts one batch.
func (p *partBuilder) batch(b *source.Batch, pl *placing) error {
	p.part.Control += b.ControlRecords
	p.part.Aborted += b.AbortedRecords
	p.part.Assigned += b.Assigned
	p.part.WireBytes += b.WireBytes
	if len(b.Records) == 0 {
		return nil
	}
	if p.table.evicted == nil {
		p.table.evicted = func(keys [][]byte, ws []Weight, home []bool) error {
			if p.placed == nil {
				p.placed = pl.partition(p.part.ID)
			}
			return p.placed.addAll(keys, ws, home)
		}
	}
	if p.part.FirstOffset < 0 {
		p.part.FirstOffset = b.Records[0].Offset
	}
	last := len(b.Records) - 1
	p.part.LastOffset = b.Records[last].Offset + b.Count(last) - 1
	p.part.TimestampType = b.TimestampType
	for from := 0; from < len(b.Records); from += blockLen {
		to := min(from+blockLen, len(b.Records))
		counts := ones[:to-from]
		if b.Counts != nil {
			counts = b.Counts[from:to]
		}
		if err := p.block(b.Records[from:to], counts); err != nil {
			return err
		}
	}
	return nil
}

// blockLen is how many records are looked up together. Their cache misses then overlap: 32 independent loads from
// DRAM cost about what two dependent ones do.
const blockLen = 32

// ones are the counts of records that stand for themselves.
var ones = func() (n [blockLen]int64) {
	for i := range n {
		n[i] = 1
	}
	return n
}()

// block counts up to blockLen records, recs[i] counts[i] times: it hashes all keys, loads all slots, loads all entries,
// and only then counts.
func (p *partBuilder) block(recs []source.Record, counts []int64) error {
	counts = counts[:len(recs)]
	var (
		hash [blockLen]xxh3.Uint128 // by keyed record
		size [blockLen]int64        // by record, of all it stands for
		at   [blockLen]int32        // by keyed record: entry under the first slot with the key's tag, or -1
	)
	part := &p.part
	var records, keys, values, headers int64 // summed beside the partition's, so that they can stay in registers
	n := 0
	for i := range recs {
		r, times := &recs[i], counts[i]
		value := int64(max(r.ValueSize, 0))
		bytes := int64(len(r.Key)) + value + int64(r.HeaderSize)
		records += times
		keys += times * int64(len(r.Key))
		values += times * value
		headers += times * int64(r.HeaderSize)
		part.Sizes[min(bits.Len64(uint64(bytes)), len(part.Sizes)-1)] += times
		if r.Timestamp >= 0 {
			part.seen(r.Timestamp)
		}
		size[i] = times * bytes
		if r.Key == nil {
			part.NullKey = part.NullKey.Add(Weight{times, size[i]})
			continue
		}
		if len(r.Key) == 0 {
			part.EmptyKey = part.EmptyKey.Add(Weight{times, size[i]})
		}
		if r.ValueSize < 0 {
			part.Tombstones += times
		}
		hash[n] = xxh3.Hash128(r.Key)
		n++
	}
	part.KeyBytes += keys
	part.ValueBytes += values
	part.HeaderBytes += headers
	part.Total = part.Total.Add(Weight{records, keys + values + headers})
	t := p.table
	slots, mask := t.slots, t.mask
	var seen uint64
	for i := range n {
		seen |= slots[hash[i].Lo&mask]
	}
	for i := range n {
		at[i] = -1
		tag := tagOf(hash[i])
		for pos := hash[i].Lo & mask; ; pos = (pos + 1) & mask {
			s := slots[pos]
			if s == 0 {
				break
			}
			if s>>32 == tag {
				at[i] = int32(uint32(s) - 1)
				break
			}
		}
	}
	for i := range n {
		if at[i] >= 0 {
			seen |= t.entry(int(at[i])).lo
		}
	}
	p.touched = seen
	purges := t.purges
	n = 0
	for i := range recs {
		r := &recs[i]
		if r.Timestamp >= 0 {
			p.grid.add(r.Timestamp, size[i])
		}
		if r.Key == nil {
			continue
		}
		h, j := hash[n], int(at[n])
		n++
		if j < 0 || t.purges != purges || !t.is(t.entry(j), h, r.Key) { // a purge moves entries
			j = t.find(h, r.Key)
		}
		var e *entry
		if j >= 0 {
			e = t.entry(j)
		} else {
			var err error
			if e, err = t.enter(h, r.Key); err != nil {
				return err
			}
		}
		e.records += counts[i]
		e.bytes += size[i]
		if r.Timestamp >= 0 {
			e.last = r.Timestamp
			if e.first < 0 {
				e.first = r.Timestamp
			}
			p.grid.addKey(h, size[i], e, t.lost(e))
		}
	}
	return nil
}

// seen widens the partition's time range.
func (p *Partition) seen(ts int64) {
	if p.MinTime < 0 || ts < p.MinTime {
		p.MinTime = ts
	}
	if ts > p.MaxTime {
		p.MaxTime = ts
	}
}

// finish places the keys that are still in the table and the records without key.
func (p *partBuilder) finish(pl *placing) error {
	if p.placed == nil {
		p.placed = pl.partition(p.part.ID)
	}
	t := p.table
	p.grid.finish(t)
	if err := p.placed.addTable(t, func(e *entry) { e.meta |= metaHome }); err != nil {
		return err
	}
	spread := p.placed.spread
	if err := p.placed.addNull(p.part.NullKey); err != nil {
		return err
	}
	p.part.keys, p.part.spread = t, spread
	p.part.Placed = p.placed.sum
	p.part.Missing = t.missing()
	if t.errs != nil {
		p.part.Mode, p.part.share = Bounded, p.share
	}
	return nil
}
