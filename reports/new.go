package reports

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"keyspread/analyze"
	"keyspread/analyze/finding"
	"keyspread/analyze/plan"
	"keyspread/analyze/profile"
	"keyspread/analyze/skew"
)

// Options say how a report is made from a result.
type Options struct {
	Version  string    // of the tool
	Redact   *Redactor // nil: keys in clear
	KeyWidth int       // display columns of a key's text; 0: 32; less than 16 is taken as 16

	SchemaNames map[uint32]string // what schema ids in keys are called, as far as that is known
}

// New returns the report of a result. The result is not changed, and nothing of it is kept.
//
// It costs O(keys listed * log) time, and O(partitions * candidates) for loads and matrices.
func New(res *analyze.Result, opt Options) *Report {
	if opt.KeyWidth == 0 {
		opt.KeyWidth = 32
	}
	b := &builder{res: res, extent: res.Profile.Extent(), names: opt.SchemaNames, keys: keyWriter{width: max(16, opt.KeyWidth), redact: opt.Redact}}
	if res.Placement != nil {
		b.keys.format, b.keys.context = res.Placement.Keys.Format, res.Placement.Keys.Context
	}
	p := res.Profile
	for i := range p.Partitions {
		b.total = b.total.Add(p.Partitions[i].Total)
	}
	b.sampled = newEstimates(res.Sample, b.total)
	r := &Report{
		SchemaVersion: SchemaVersion,
		Tool:          Tool{Name: "keyspread", Version: clean(opt.Version)},
		Topic:         Topic{Name: clean(p.Topic), NumPartitions: p.NumPartitions, Partitioner: clean(p.Partitioner)},
		Coverage:      b.coverage(),
		Findings:      b.findings(),
		Contents:      b.contents(),
		Skew:          Skews{Records: b.skew(&res.Records), Bytes: b.skew(&res.Bytes)},
		TimeBuckets:   b.timeBuckets(),
		Partitions:    make([]Partition, 0, len(p.Partitions)),
		Plans:         make([]Plan, 0, len(res.Plans)),
	}
	for i := range p.Partitions {
		r.Partitions = append(r.Partitions, b.partition(&p.Partitions[i]))
	}
	r.Placement = b.placement(&r.Contents)
	slices.SortFunc(r.Partitions, func(a, b Partition) int { return cmp.Compare(a.Partition, b.Partition) })
	if r.Coverage.OfTopic {
		r.Skew.Occupancy = occupancy(&r.Contents, r.Partitions, p.NumPartitions)
	}
	r.Sample = b.sample(r)
	for i := range res.Plans {
		r.Plans = append(r.Plans, b.plan(&res.Plans[i]))
	}
	return r
}

type builder struct {
	res    *analyze.Result
	extent profile.Extent
	keys   keyWriter
	names  map[uint32]string
	total  profile.Weight

	sampled *estimates // nil: everything was read
}

func (b *builder) coverage() Coverage {
	p := b.res.Profile
	c := Coverage{
		Range:     clean(p.Range),
		Scope:     string(b.extent.Scope),
		OfTopic:   b.extent.OfTopic(),
		Isolation: p.Isolation.String(),
		Complete:  b.res.Complete,
		Partial:   b.res.Partial,
	}
	if b.res.Partial {
		c.Reason = text(b.res.Why)
	}
	var asked int64
	ended := true
	for i := range p.Partitions {
		part := p.Partitions[i].Coverage
		c.PartitionsRead++
		asked += part.Asked
		ended = ended && part.Asked >= 0
		c.OffsetsRead += part.Read
		c.OffsetsLost += part.Lost
	}
	if ended {
		c.OffsetsAsked = &asked
	}
	return c
}

func (b *builder) contents() Contents {
	p := b.res.Profile
	d := b.res.Distinct
	c := Contents{
		Records:   b.total.Records,
		Bytes:     b.total.Bytes,
		CountMode: p.Mode().String(),
	}
	if b.sampled == nil {
		c.DistinctKeys = estimate(d.Keys, d.Low, d.High, d.StdErr*float64(d.Keys))
		c.SeveralPartitions = estimate(d.SeveralPartitions, d.SeveralLow, d.SeveralHigh, d.SeveralStdErr)
		missing := weight(p.Missing())
		c.MissingKey = &missing
	}
	first, last := int64(-1), int64(-1)
	for i := range p.Partitions {
		part := &p.Partitions[i]
		c.KeyBytes += part.KeyBytes
		c.ValueBytes += part.ValueBytes
		c.HeaderBytes += part.HeaderBytes
		c.WireBytes += part.WireBytes
		c.NullKey = c.NullKey.add(part.NullKey)
		c.EmptyKey = c.EmptyKey.add(part.EmptyKey)
		c.Tombstones += part.Tombstones
		c.ControlRecords += part.Control
		c.AbortedRecords += part.Aborted
		c.Assigned += part.Assigned
		if part.MinTime >= 0 && (first < 0 || part.MinTime < first) {
			first = part.MinTime
		}
		last = max(last, part.MaxTime)
	}
	if b.sampled != nil {
		c.NullKey, c.EmptyKey = b.sampled.weight(b.sampled.of.Null), b.sampled.weight(b.sampled.of.Empty)
	}
	c.MinTime, c.MaxTime = instant(first), instant(last)
	return c
}

func (b *builder) findings() []Finding {
	sorted := slices.Clone(b.res.Findings)
	finding.Sort(sorted)
	fs := make([]Finding, 0, len(sorted))
	for _, f := range sorted {
		out := Finding{
			ID: string(f.ID), Severity: f.Severity.String(), Unit: text(f.Unit), Subject: text(f.Subject),
			What: clean(f.What), Do: clean(f.Do),
		}
		if f.HasKey {
			k := b.keys.key(f.Key)
			out.Key = &k
			out.What = strings.ReplaceAll(out.What, "{key}", k.shown())
			out.Do = strings.ReplaceAll(out.Do, "{key}", k.shown())
		}
		if named := b.namedIn(f.ID); named != "" {
			out.What = strings.TrimSuffix(out.What, ".") + "; " + named + "."
		}
		fs = append(fs, out)
	}
	return fs
}

func (b *builder) skew(s *skew.Skew) Skew {
	out := Skew{Total: s.Total, HotShare: finite(s.Tau), TopKeys: make([]TopKey, 0, len(s.Top))}
	if m := s.Measures; m.Hottest >= 0 {
		out.Measures = measures(m, ratio(s.Loads[m.Hottest], s.Total))
	}
	out.Keys = keyMeasures(s)
	out.Chance = chance(&s.Explanation)
	if len(s.Top) > 0 {
		out.Ceiling = numberRange(s.CeilingLo, s.CeilingHi)
	}
	top := slices.Clone(s.Top)
	slices.SortFunc(top, func(a, b skew.Key) int {
		return cmp.Or(
			heavier(a.Lo, a.Hi, b.Lo, b.Hi, s.Unit),
			bytes.Compare(a.Key, b.Key),
		)
	})
	for i := range top {
		out.TopKeys = append(out.TopKeys, b.topKey(&top[i], s))
	}
	return out
}

func chance(e *skew.Explanation) *Chance {
	if e.Cause == skew.NothingToExplain {
		return nil
	}
	c := &Chance{
		Cause:   e.Cause.String(),
		All:     chancePAR(e.Observed, e.Expected),
		Removed: e.Removed,
	}
	if e.Removed > 0 {
		without := chancePAR(e.ObservedWithout, e.ExpectedWithout)
		c.Without = &without
	}
	if c.Heaviest = e.Heaviest; e.Heaviest > 0 {
		c.Lighter = chancePAR(e.Observed, e.ExpectedLighter).Random
	}
	return c
}

func chancePAR(observed float64, c skew.Chance) ChancePAR {
	out := ChancePAR{Observed: round(observed)}
	if c.Rounds > 0 {
		out.Random = &RandomPAR{Median: round(c.Median), P95: round(c.P95), P: round(c.P)}
		if c.OnlyMost || c.Most != c.Spread {
			out.Random.Most = &MostPAR{Median: round(c.Most.Median), P95: round(c.Most.P95), P: round(c.Most.P)}
		}
	}
	return out
}

func (b *builder) topKey(k *skew.Key, s *skew.Skew) TopKey {
	t := TopKey{
		Key:        b.keys.key(k.Key),
		Verdict:    b.verdict(k.Verdict),
		Peak:       b.keyPeak(k.Key),
		Partitions: make([]KeyPart, 0, len(k.Where)),
	}
	where := slices.Clone(k.Where)
	slices.SortFunc(where, func(a, b profile.Key) int { return cmp.Compare(a.Partition, b.Partition) })
	most, main := 0, 0 // in the unit judged, and in records
	for i, w := range where {
		if w.Lo.Of(s.Unit) > where[most].Lo.Of(s.Unit) {
			most = i
		}
		if w.Lo.Records > where[main].Lo.Records {
			main = i
		}
		t.Partitions = append(t.Partitions, b.keyPart(k.Key, &w))
	}
	if len(where) > 0 {
		t.MainPartition = &where[main].Partition
	}
	if b.sampled != nil {
		t.Records, t.RecordShare = b.sampled.key(k.Key, k.Lo, k.Hi, profile.Records)
		t.Bytes, t.ByteShare = b.sampled.key(k.Key, k.Lo, k.Hi, profile.Bytes)
		t.Sampled = b.sampled.sampled(k.Key)
		if len(where) > 0 {
			t.PartitionShare = b.sampled.partitionShare(where[most].Partition, k.Key, s.Unit, s.Loads[where[most].Partition])
		}
		return t
	}
	t.FirstTime, t.LastTime = instant(k.First), instant(k.Last)
	t.Records, t.Bytes = Range{k.Lo.Records, k.Hi.Records}, Range{k.Lo.Bytes, k.Hi.Bytes}
	t.RecordShare, t.ByteShare = ratios(t.Records, b.total.Records), ratios(t.Bytes, b.total.Bytes)
	judged := &t.RecordShare
	if s.Unit == profile.Bytes {
		judged = &t.ByteShare
	}
	*judged = shareRange(k.Share.Lo, k.Share.Hi) // as the verdict and the findings have it
	if len(where) > 0 {
		w := where[most]
		load := s.Loads[w.Partition]
		of := ratios(Range{w.Lo.Of(s.Unit), max(w.Lo.Of(s.Unit), min(load, w.Hi.Of(s.Unit)))}, load)
		t.PartitionShare = &of
	}
	return t
}

// verdict writes what a key was found to be. That it is light in what was read says nothing of it in the topic.
func (b *builder) verdict(v skew.Verdict) string {
	if !b.extent.OfTopic() {
		v = skew.CannotTell
	}
	return v.String()
}

func (b *builder) keyPart(key []byte, w *profile.Key) KeyPart {
	if b.sampled != nil {
		return KeyPart{
			Partition: w.Partition,
			Records:   b.sampled.part(w.Partition, key, profile.Records),
			Bytes:     b.sampled.part(w.Partition, key, profile.Bytes),
		}
	}
	return KeyPart{
		Partition: w.Partition,
		Records:   &Range{w.Lo.Records, w.Hi.Records},
		Bytes:     &Range{w.Lo.Bytes, w.Hi.Bytes},
	}
}

func (b *builder) partition(p *profile.Partition) Partition {
	out := Partition{
		Partition:      p.ID,
		Records:        p.Total.Records,
		Bytes:          p.Total.Bytes,
		RecordShare:    ratio(p.Total.Records, b.total.Records),
		ByteShare:      ratio(p.Total.Bytes, b.total.Bytes),
		KeyBytes:       p.KeyBytes,
		ValueBytes:     p.ValueBytes,
		HeaderBytes:    p.HeaderBytes,
		WireBytes:      p.WireBytes,
		NullKey:        weight(p.NullKey),
		EmptyKey:       weight(p.EmptyKey),
		Tombstones:     p.Tombstones,
		ControlRecords: p.Control,
		AbortedRecords: p.Aborted,
		MinTime:        instant(p.MinTime),
		MaxTime:        instant(p.MaxTime),
		RecordSizes:    make([]SizeBucket, 0, len(p.Sizes)),
		CountMode:      p.Mode.String(),
		Peak:           b.partitionPeak(p.ID),
		Coverage: PartitionCoverage{
			Spans:    make([]Span, 0, len(p.Spans)),
			Asked:    known(p.Coverage.Asked),
			Read:     p.Coverage.Read,
			Lost:     p.Coverage.Lost,
			Position: p.Coverage.Position,
			Complete: p.Coverage.Complete(),
		},
	}
	if p.MinTime >= 0 {
		stamp := p.TimestampType.String()
		out.TimestampType = &stamp
	}
	for i, n := range p.Sizes {
		if n > 0 {
			out.RecordSizes = append(out.RecordSizes, sizeBucket(i, n))
		}
	}
	if b.sampled == nil {
		d := p.Distinct()
		out.DistinctKeys = estimate(d.Keys, d.Low, d.High, d.StdErr*float64(d.Keys))
	}
	if top, ok := p.Heaviest(); ok {
		part := b.keyPart(top.Key.Key, &top.Key)
		out.TopKey = &PartitionTopKey{Key: b.keys.key(top.Key.Key), Certain: top.Certain, Records: part.Records, Bytes: part.Bytes}
		if b.sampled != nil {
			out.TopKey.Share = b.sampled.partitionShare(p.ID, top.Key.Key, profile.Records, p.Total.Records)
		} else {
			out.TopKey.Most = &top.Most
			of := ratios(*part.Records, p.Total.Records)
			out.TopKey.Share = &of
		}
	}
	if b.sampled != nil {
		out.Sampled = b.sampled.partitionSample(p.ID)
	} else {
		missing := weight(p.Missing)
		out.MissingKey = &missing
		out.FirstOffset, out.LastOffset = known(p.FirstOffset), known(p.LastOffset)
	}
	for _, s := range p.Spans {
		out.Coverage.Spans = append(out.Coverage.Spans, Span{s.Start, s.End})
	}
	slices.SortFunc(out.Coverage.Spans, func(a, b Span) int { return cmp.Compare(a.Start, b.Start) })
	if err := p.Coverage.Err; err != nil {
		out.Coverage.Error = text(err.Error())
	}
	return out
}

// estimate is exact where its interval is.
func estimate(n, lo, hi int64, stdErr float64) *Estimate {
	e := &Estimate{Count: n, Exact: lo == hi, Lo: lo, Hi: hi}
	if !e.Exact && stdErr > 0 {
		stdErr = round(stdErr)
		e.StdErr = &stdErr
	}
	return e
}

// sizeBucket is entry i of [profile.Partition.Sizes].
func sizeBucket(i int, n int64) SizeBucket {
	if i == 0 {
		return SizeBucket{Records: n}
	}
	return SizeBucket{Min: 1 << (i - 1), Max: 1<<i - 1, Records: n}
}

func (b *builder) plan(p *plan.Plan) Plan {
	out := Plan{
		From:     candidate(p.From),
		To:       candidate(p.Candidate),
		Others:   make([]Other, 0, len(p.Others)),
		Unkeyed:  weight(p.Unkeyed),
		Unplaced: weight(p.Unplaced),
		Records:  b.side(&p.Records),
		Bytes:    b.side(&p.Bytes),
		HotKeys:  b.moves(p.HotKeys, profile.Records),
		Limit:    Limit{CannotHelp: p.Limit.CannotHelp, Ceiling: finite(p.Limit.Ceiling)},
		Matrix:   make([]Cell, 0, len(p.Matrix)),
		Moved: Moved{
			Records:     Range{p.Records.Moved, p.Records.Moved},
			RecordShare: shareRange(p.Records.MovedShare, p.Records.MovedShare),
			Bytes:       Range{p.Bytes.Moved, p.Bytes.Moved},
			ByteShare:   shareRange(p.Bytes.MovedShare, p.Bytes.MovedShare),
		},
	}
	if b.sampled != nil {
		b.doubt(&out, p)
	}
	if best := finite(p.Limit.BestPAR); best != nil {
		out.Limit.BestPAR = *best
	}
	for _, o := range p.Others {
		other := Other{Records: placedShare(o.Records)}
		if o.Writer >= 0 {
			other.Writer = new(o.Writer)
		}
		out.Others = append(out.Others, other)
	}
	if p.KeysKnown {
		out.Moved.Keys = &MovedKeys{Moved: p.MovedKeys, Of: p.Keys, Share: ratio(p.MovedKeys, p.Keys)}
	}
	if p.HasFormula {
		out.Moved.FormulaKeyShare = finite(p.FormulaMoved)
	}
	for _, c := range p.Matrix {
		out.Matrix = append(out.Matrix, Cell{c.From, c.To, c.Weight.Records, c.Weight.Bytes})
	}
	slices.SortFunc(out.Matrix, func(a, b Cell) int {
		return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return out
}

func (b *builder) side(s *plan.Side) PlanSide {
	out := PlanSide{
		Loads: make([]float64, len(s.Loads)), LoadShares: []ShareRange{}, HottestKeys: b.moves(s.HottestKeys, s.Unit),
	}
	if s.Measures.Hottest >= 0 {
		out.Measures = measures(s.Measures, share(s.HottestLoad))
	}
	for i, x := range s.Loads {
		out.Loads[i] = math.Round(x*100) / 100
	}
	return out
}

func (b *builder) moves(moves []plan.KeyMove, unit profile.Unit) []KeyMove {
	sorted := slices.Clone(moves)
	slices.SortFunc(sorted, func(a, b plan.KeyMove) int {
		return cmp.Or(heavier(a.Lo, a.Hi, b.Lo, b.Hi, unit), bytes.Compare(a.Key, b.Key))
	})
	out := make([]KeyMove, 0, len(sorted))
	for _, m := range sorted {
		k := KeyMove{
			Key:     b.keys.key(m.Key),
			Records: Range{m.Lo.Records, m.Hi.Records},
			Bytes:   Range{m.Lo.Bytes, m.Hi.Bytes},
			Share:   shareRange(m.Share.Lo, m.Share.Hi),
			From:    append(make([]int32, 0, len(m.From)), m.From...),
			Moved:   m.Moved,
		}
		slices.Sort(k.From)
		if b.sampled != nil {
			var shares [2]ShareRange
			k.Records, shares[profile.Records] = b.sampled.key(m.Key, m.Lo, m.Hi, profile.Records)
			k.Bytes, shares[profile.Bytes] = b.sampled.key(m.Key, m.Lo, m.Hi, profile.Bytes)
			k.Share = shares[unit]
		}
		if m.To >= 0 {
			to := m.To
			k.To = &to
		}
		out = append(out, k)
	}
	return out
}

// heavier orders keys by falling weight: lower bound in unit, upper bound, then the other unit.
func heavier(aLo, aHi, bLo, bHi profile.Weight, unit profile.Unit) int {
	other := profile.Bytes
	if unit == profile.Bytes {
		other = profile.Records
	}
	return cmp.Or(
		cmp.Compare(bLo.Of(unit), aLo.Of(unit)),
		cmp.Compare(bHi.Of(unit), aHi.Of(unit)),
		cmp.Compare(bLo.Of(other), aLo.Of(other)),
		cmp.Compare(bHi.Of(other), aHi.Of(other)),
	)
}

func measures(m skew.Measures, hottest float64) *Measures {
	return &Measures{
		PAR:                 round(m.PAR),
		CV:                  round(m.CV),
		EffectivePartitions: round(m.EffectivePartitions),
		Gini:                round(m.Gini),
		HottestPartition:    m.Hottest,
		HottestShare:        hottest,
	}
}

// numberRange rounds a range outwards, unless it is one figure.
func numberRange(lo, hi float64) *NumberRange {
	if lo == hi {
		return &NumberRange{Lo: finite(lo), Hi: finite(hi)}
	}
	return &NumberRange{Lo: finiteOutwards(lo, false), Hi: finiteOutwards(hi, true)}
}

func finiteOutwards(x float64, up bool) *float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	r := outwards(x, up)
	return &r
}

func candidate(c profile.Candidate) Candidate {
	return Candidate{Partitioner: clean(c.Partitioner), NumPartitions: c.NumPartitions}
}

func weight(w profile.Weight) Weight { return Weight{w.Records, w.Bytes} }

func (w Weight) add(v profile.Weight) Weight { return Weight{w.Records + v.Records, w.Bytes + v.Bytes} }

// instant returns the time of ms, nil when it is negative: no record had a timestamp.
func instant(ms int64) *Time {
	if ms < 0 {
		return nil
	}
	return &Time{MS: ms, UTC: time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")}
}

// known returns a pointer to x, nil when it is negative.
func known(x int64) *int64 {
	if x < 0 {
		return nil
	}
	return &x
}

// text returns a pointer to a clean s, nil when it is empty.
func text(s string) *string {
	if s == "" {
		return nil
	}
	s = clean(s)
	return &s
}
