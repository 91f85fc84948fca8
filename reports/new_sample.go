package reports

import (
	"cmp"
	"math"
	"slices"

	"keyspread/analyze/plan"
	"keyspread/analyze/profile"
	"keyspread/analyze/sample"
	"keyspread/analyze/skew"
)

// estimates answers what a sample says of single keys. A nil one is that of a run that read everything.
type estimates struct {
	of     *sample.Estimates
	keys   map[string]*sample.KeyEstimate
	shares [2]func(profile.TopKey) skew.Share // by unit
	total  profile.Weight
}

func newEstimates(e *sample.Estimates, total profile.Weight) *estimates {
	if e == nil {
		return nil
	}
	x := &estimates{of: e, keys: make(map[string]*sample.KeyEstimate, len(e.Keys)), total: total}
	for i := range e.Keys {
		x.keys[string(e.Keys[i].Key)] = &e.Keys[i]
	}
	for u := range x.shares {
		unit := profile.Unit(u)
		x.shares[u] = skew.ShareFunc(unit, total.Of(unit), e)
	}
	return x
}

// key returns a key's weight and share in one unit.
func (x *estimates) key(key []byte, lo, hi profile.Weight, unit profile.Unit) (Range, ShareRange) {
	s := x.shares[unit](profile.TopKey{Key: key, Lo: lo, Hi: hi})
	return wholes(s, x.total.Of(unit)), estimated(s)
}

// onlyIn returns a key's weight in a partition when the sample saw it there and nowhere else: then it is the key's
// weight in the topic.
func (x *estimates) onlyIn(partition int32, key []byte, unit profile.Unit) (skew.Share, bool) {
	k := x.keys[string(key)]
	if k == nil || len(k.Where) != 1 || k.Where[0] != partition {
		return skew.Share{}, false
	}
	return shareOf(k.Share[unit]), true
}

// partitionShare is the share of a partition's load that a key seen in no other has; null for other keys. The load is
// known far better than the key, so its doubt is left out.
func (x *estimates) partitionShare(partition int32, key []byte, unit profile.Unit, load int64) *ShareRange {
	s, ok := x.onlyIn(partition, key, unit)
	if !ok || load <= 0 {
		return nil
	}
	by := float64(x.total.Of(unit)) / float64(load)
	r := estimated(skew.Share{Est: math.Min(1, s.Est*by), Lo: math.Min(1, s.Lo*by), Hi: math.Min(1, s.Hi*by)})
	return &r
}

// part is a key's weight in one partition.
func (x *estimates) part(partition int32, key []byte, unit profile.Unit) *Range {
	s, ok := x.onlyIn(partition, key, unit)
	if !ok {
		return nil
	}
	r := wholes(s, x.total.Of(unit))
	return &r
}

// sampled says how well a key is known; null for one too light to have an estimate.
func (x *estimates) sampled(key []byte) *KeySample {
	k := x.keys[string(key)]
	if k == nil {
		return nil
	}
	s := &KeySample{
		Records:   k.Records,
		ByRecords: precision(k.Share[profile.Records]),
		ByBytes:   precision(k.Share[profile.Bytes]),
		Drifts:    k.Drift,
	}
	if k.Early.Share > 0 || k.Late.Share > 0 {
		s.Earlier, s.Later = finite(k.Early.Share), finite(k.Late.Share)
	}
	return s
}

func precision(e sample.Estimate) Precision {
	p := Precision{EffectiveRecords: round(e.Size)}
	if e.Deff > 0 {
		p.DesignEffect = finite(e.Deff)
	}
	return p
}

// estimated is a share with its estimate.
func estimated(s skew.Share) ShareRange {
	r := shareRange(s.Lo, s.Hi)
	est := math.Max(r.Lo, math.Min(r.Hi, share(s.Est)))
	r.Estimate = &est
	return r
}

func bothShares(e [2]sample.Estimate) Shares {
	return Shares{Records: estimated(shareOf(e[profile.Records])), Bytes: estimated(shareOf(e[profile.Bytes]))}
}

// weight is the weight of the range that has an estimated share.
func (x *estimates) weight(e [2]sample.Estimate) Weight {
	of := func(u profile.Unit) int64 { return int64(math.Round(e[u].Share * float64(x.total.Of(u)))) }
	return Weight{Records: of(profile.Records), Bytes: of(profile.Bytes)}
}

func shareOf(e sample.Estimate) skew.Share { return skew.Share{Est: e.Share, Lo: e.Lo, Hi: e.Hi} }

// wholes is the weight that a share of total is, its limits rounded outwards.
func wholes(s skew.Share, total int64) Range {
	t := float64(total)
	if s.Exact() {
		n := int64(math.Round(s.Lo * t))
		return Range{n, n}
	}
	return Range{int64(math.Floor(s.Lo * t)), int64(math.Ceil(s.Hi * t))}
}

func (b *builder) sample(r *Report) *Sample {
	if b.sampled == nil {
		return nil
	}
	e := b.sampled.of
	s := &Sample{
		Seed:              e.Seed,
		Confidence:        round(e.Confidence),
		BlockOffsets:      e.BlockSize,
		BlocksDrawn:       e.Blocks,
		Blocks:            e.BlocksAll,
		OffsetsDrawn:      e.Offsets,
		Offsets:           e.OffsetsAll,
		RecordsRead:       e.Records,
		WireBytes:         r.Contents.WireBytes,
		Stopped:           clean(e.Stopped),
		HalfWidth:         round(e.HalfWidth),
		RecordsExact:      true,
		KeysSeen:          e.Observed,
		KeysAtLeastAbout:  max(e.Observed, int64(e.AtLeastAbout)),
		KeyCoverage:       share(e.Coverage),
		SeveralPartitions: b.res.Distinct.SeveralLow,
		NullKey:           bothShares(e.Null),
		EmptyKey:          bothShares(e.Empty),
	}
	if !s.whole() {
		s.UnseenShare = finite(e.Unseen)
	}
	for _, p := range e.Partitions {
		s.RecordsExact = s.RecordsExact && (p.Exact || p.Offsets == 0)
	}
	return s
}

// partitionSample finds how one partition was estimated.
func (x *estimates) partitionSample(id int32) *PartitionSample {
	i, ok := slices.BinarySearchFunc(x.of.Partitions, id, func(p sample.PartitionEstimate, id int32) int { return cmp.Compare(p.ID, id) })
	if !ok {
		return nil // it has no offset in the range
	}
	p := x.of.Partitions[i]
	return &PartitionSample{Offsets: p.Offsets, Live: round(p.Live), RecordsExact: p.Exact}
}

// doubt adds the intervals of a sampled candidate to its plan.
func (b *builder) doubt(out *Plan, p *plan.Plan) {
	i := slices.Index(b.res.Profile.Candidates, p.Candidate)
	if i < 0 || i >= len(b.sampled.of.Candidates) {
		return
	}
	c := &b.sampled.of.Candidates[i]
	for _, s := range []struct {
		of    *plan.Side
		side  *PlanSide
		moved *Range
		share *ShareRange
	}{
		{&p.Records, &out.Records, &out.Moved.Records, &out.Moved.RecordShare},
		{&p.Bytes, &out.Bytes, &out.Moved.Bytes, &out.Moved.ByteShare},
	} {
		keyed := s.of.Total - p.Unkeyed.Of(s.of.Unit) - p.Unplaced.Of(s.of.Unit)
		*s.share, *s.moved = estimated(s.of.MovedRange), wholes(s.of.MovedRange, keyed)
		if s.side.Measures != nil {
			s.side.PARInterval = numberRange(s.of.PARLo, s.of.PARHi)
		}
		for to, load := range s.of.Loads {
			s.side.LoadShares = append(s.side.LoadShares, loadShare(load, s.of.Total, c.Loads[s.of.Unit][to]))
		}
	}
}

// loadShare is a future partition's share of the topic. Limits are those of its keyed records, in proportion, as those
// of PAR are; a partition that no sampled key goes to can still have what escaped the sample.
func loadShare(load float64, total int64, keyed sample.Estimate) ShareRange {
	if total == 0 {
		return estimated(skew.Share{})
	}
	s := skew.Share{Est: load / float64(total)}
	if keyed.Share > 0 {
		s.Lo, s.Hi = s.Est*keyed.Lo/keyed.Share, math.Min(1, s.Est*keyed.Hi/keyed.Share)
	} else {
		s.Lo, s.Hi = s.Est, math.Min(1, s.Est+keyed.Hi)
	}
	return estimated(s)
}
