package reports

import (
	"slices"

	"keyspread/analyze/finding"
	"keyspread/analyze/placement"
)

// fitsListed is how many partitioners are listed by how well they fit.
const fitsListed = 5

// placement returns what is known of who wrote the topic; nil when the result does not judge it.
func (b *builder) placement(records *Contents) *Placement {
	pl := b.res.Placement
	if pl == nil || pl.Coverage.Placements == 0 {
		return nil
	}
	p := &Placement{
		Answer: pl.Answer.String(), Confidence: round(pl.Confidence),
		PlacementsCompared: pl.Coverage.Placements, AllCompared: pl.Coverage.All, RecordShare: round(pl.Coverage.Records),
		Other:    PlacedShares{placedShare(pl.Other.Keys), placedShare(pl.Other.Records)},
		NullKeys: spread(pl.Null, records.NullKey), EmptyKeys: spread(pl.Empty, records.EmptyKey),
		Writers: []PlacementWriter{}, Rivals: []PlacementRival{}, BestFits: []PlacementFit{}, Changes: []PlacementChange{},
		SeveralCauses: []SeveralCause{}, Several: []SeveralKey{}, KeyForms: []KeyForms{}, Schemas: []Schemas{},
	}
	if b.res.Reason != "" {
		p.Reason = new(clean(b.res.Reason))
	}
	for i := range pl.Writers {
		p.Writers = append(p.Writers, b.writer(&pl.Writers[i]))
	}
	for _, r := range pl.Rivals {
		p.Rivals = append(p.Rivals, PlacementRival{clean(r.Partitioner), r.NumPartitions, r.Over.String(), round(r.Odds)})
	}
	for _, f := range pl.Fits[:min(fitsListed, len(pl.Fits))] {
		p.BestFits = append(p.BestFits, PlacementFit{clean(f.Partitioner), round(f.Keys), round(f.Records)})
	}
	for _, c := range pl.Changes {
		p.Changes = append(p.Changes, PlacementChange{c.Kind.String(), c.Before, c.After, instant(c.LastBefore), instant(c.FirstAfter)})
	}
	for _, c := range pl.Causes {
		p.SeveralCauses = append(p.SeveralCauses, SeveralCause{c.Cause.String(), c.Keys})
	}
	for _, k := range pl.Several {
		s := SeveralKey{Key: b.keys.key(k.Key), Records: k.Records, Cause: k.Cause.String(), Where: []PlacementExample{}}
		for _, w := range k.Where {
			s.Where = append(s.Where, b.example(w))
		}
		p.Several = append(p.Several, s)
	}
	for _, f := range pl.Keys.Forms {
		p.KeyForms = append(p.KeyForms, KeyForms{clean(f.Label), round(f.Keys), round(f.Records)})
	}
	for _, s := range pl.Keys.Schemas {
		p.Schemas = append(p.Schemas, Schemas{s.ID, b.schemaName(s.ID), round(s.Keys), round(s.Records)})
	}
	if pl.Keys.NextKnown {
		p.NextSchema = &NextSchema{pl.Keys.NextID, round(pl.Keys.NextKeys), round(pl.Keys.NextRecords)}
	}
	return p
}

func (b *builder) writer(w *placement.Writer) PlacementWriter {
	out := PlacementWriter{
		Alike: []string{}, NumPartitions: w.NumPartitions, Hashes: w.Over.String(), Confidence: round(w.Confidence),
		Placements: placedShare(w.Keys), Records: placedShare(w.Records), First: instant(w.First), Last: instant(w.Last),
		Examples: []PlacementExample{},
	}
	if w.Fixed >= 0 {
		out.FixedPartition = new(w.Fixed)
	} else {
		out.Partitioner = new(clean(w.Partitioner))
	}
	for _, a := range w.Alike {
		out.Alike = append(out.Alike, clean(a))
	}
	for _, e := range w.Examples {
		out.Examples = append(out.Examples, b.example(e))
	}
	return out
}

func (b *builder) example(e placement.Example) PlacementExample {
	return PlacementExample{b.keys.key(e.Key), e.Partition, e.Records, instant(e.First), instant(e.Last)}
}

func placedShare(s placement.Share) ShareRange {
	estimate := round(s.Share)
	return ShareRange{Estimate: &estimate, Lo: outwards(s.Lo, false), Hi: outwards(s.Hi, true)}
}

// spread describes records of the topic that lie as s does.
func spread(s placement.Spread, of Weight) *KeySpread {
	if s.Records == 0 {
		return nil
	}
	k := &KeySpread{Records: of.Records, Pattern: s.Pattern.String(), Partitions: s.Partitions}
	if s.Partition >= 0 {
		k.Partition = new(s.Partition)
	}
	return k
}

// schemaName is what an id is called; nil when that is not known.
func (b *builder) schemaName(id uint32) *string {
	if name := b.names[id]; name != "" {
		return new(clean(name))
	}
	return nil
}

// namedIn names the schemas that a finding tells by their ids; empty when there are none, or no names.
func (b *builder) namedIn(finds finding.ID) string {
	pl := b.res.Placement
	if pl == nil || len(b.names) == 0 {
		return ""
	}
	var ids []uint32
	switch {
	case finds == finding.SchemaIDInKey:
		for _, s := range pl.Keys.Schemas {
			ids = append(ids, s.ID)
		}
	case finds == finding.KeyDrift && len(pl.Keys.Drift.List) > 0:
		for _, s := range pl.Keys.Drift.List[0].Spellings {
			if k := pl.Keys.Context.Recognise(s.Key); k.Framed {
				ids = append(ids, k.SchemaID)
			}
		}
	}
	slices.Sort(ids)
	var named []Schemas
	for _, id := range slices.Compact(ids) {
		named = append(named, Schemas{ID: id, Name: b.schemaName(id)})
	}
	return schemasText(named)
}
