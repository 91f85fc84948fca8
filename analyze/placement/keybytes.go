package placement

import (
	"bytes"
	"cmp"
	"slices"

	"keyspread/analyze/internal/parallel"
	"keyspread/analyze/placement/keyform"
	"keyspread/analyze/profile/sketch"
)

const (
	mostRecognised = 50_000 // placements whose key is recognised
	formsListed    = 12     // forms named; the rest is summed up
	partShare      = 0.05   // of the keys must have a part for placements over it to be tried
)

// FormShare is one way in which keys of the topic are spelled.
type FormShare struct {
	Label   string // such as "Confluent frame with schema 7 of text"; "others" for all that are not listed
	Keys    float64
	Records float64
	Example []byte
}

// Spelling is one of the byte strings that a logical key was written as.
type Spelling struct {
	Key        []byte
	Label      string
	Partitions []int32 // it was seen in, ascending
	Records    int64
}

// LogicalKey is a key that was written as several byte strings.
type LogicalKey struct {
	Display   string
	Spellings []Spelling // heaviest first
	Records   int64
	Split     bool // the spellings are not all in the same partitions
}

// Several counts logical keys of several spellings.
type Several struct {
	Keys    int64
	Split   int64        // of them, those with spellings in different partitions
	Records float64      // share of the records looked at
	List    []LogicalKey // heaviest first
}

// SchemaShare is the use of one schema id in keys.
type SchemaShare struct {
	ID            uint32
	Keys, Records float64 // of the framed ones
}

// KeyBytes is what the bytes of keys spell. Counts are those of the placements looked at: all of them up to 50,000, and
// above that a sample of keys, in which fewer spellings of one logical key meet than there are.
type KeyBytes struct {
	Context    keyform.Context // for showing keys
	Format     keyform.Format  // in which they are to be shown
	Misfit     FormShare       // keys that are not of that format
	Recognised int64           // placements looked at
	All        bool            // these are all
	Forms      []FormShare     // most keys first

	Drift Several // of spellings that differ in more than the schema id
	ByID  Several // of frames that differ in the schema id only

	Schemas     []SchemaShare // most keys first; nil: no frames
	NextID      uint32        // one above the highest id seen
	NextKeys    float64       // share of the framed placements whose key is elsewhere when framed with NextID
	NextRecords float64       // and of their records
	NextKnown   bool          // NextKeys and NextRecords are known: a partitioner was found
}

// recognised is the pairs whose keys were recognised.
type recognised struct {
	context keyform.Context
	at      []int // index into the evidence's pairs
	keys    []keyform.Key
	all     bool
}

// recognise looks at the keys of a sample of the pairs, taken by key so that all places of a key are in it.
func recognise(ev *evidence) *recognised {
	r := &recognised{all: ev.all}
	limit := uint64(1) << 32
	if ev.ranked > mostRecognised {
		limit = limit * mostRecognised / uint64(ev.ranked)
		r.all = false
	}
	var some [][]byte
	for i := range ev.pairs {
		p := &ev.pairs[i]
		if p.ranked && (limit == 1<<32 || sketch.HashOf(p.key).H2>>32 < limit) {
			r.at = append(r.at, i)
		}
	}
	step := max(1, len(r.at)/mostPairs)
	for i := 0; i < len(r.at); i += step {
		some = append(some, ev.pairs[r.at[i]].key)
	}
	r.context = keyform.Learn(some)
	r.keys = make([]keyform.Key, len(r.at))
	const chunk = 1024
	parallel.Each((len(r.at)+chunk-1)/chunk, func(c int) {
		for i := c * chunk; i < min((c+1)*chunk, len(r.at)); i++ {
			r.keys[i] = r.context.Recognise(ev.pairs[r.at[i]].key)
		}
	})
	return r
}

// overs returns the parts of keys that a partitioner may have hashed alone.
func (r *recognised) overs(ev *evidence) []Over {
	var windows, sessions, frames, foreign int
	for i := range r.keys {
		switch r.keys[i].Form {
		case keyform.TimeWindow:
			windows++
		case keyform.SessionWindow:
			sessions++
		case keyform.Confluent:
			frames++
		case keyform.Binary:
			if _, ok := ForeignKey.Of(ev.pairs[r.at[i]].key); ok {
				foreign++
			}
		}
	}
	var overs []Over
	for _, o := range []struct {
		over Over
		keys int
	}{{WithoutWindow, windows}, {WithoutSession, sessions}, {WithoutSchemaID, frames}, {ForeignKey, foreign}} {
		if o.keys > 0 && float64(o.keys) >= partShare*float64(len(r.keys)) {
			overs = append(overs, o.over)
		}
	}
	return overs
}

// keyBytes draws the conclusions.
func (pl *Placement) keyBytes(r *recognised) {
	kb := &pl.Keys
	kb.Context, kb.Recognised, kb.All = r.context, int64(len(r.at)), r.all
	kb.Format = pl.cfg.KeyFormat
	pl.misfits(r)
	pl.forms(r)
	pl.schemas(r)
	pl.spellings(r)
}

// misfits counts the keys that are not of the format asked for.
func (pl *Placement) misfits(r *recognised) {
	m := &pl.Keys.Misfit
	var records float64
	for _, at := range r.at {
		p := &pl.detector.ev.pairs[at]
		records += float64(p.records)
		if _, fits := r.context.Show(p.key, pl.Keys.Format); fits {
			continue
		}
		m.Keys++
		m.Records += float64(p.records)
		if m.Example == nil || bytes.Compare(p.key, m.Example) < 0 {
			m.Example = p.key
		}
	}
	m.Keys /= max(1, float64(len(r.at)))
	m.Records /= max(1, records)
}

func (pl *Placement) forms(r *recognised) {
	pairs := pl.detector.ev.pairs
	by := map[string]*FormShare{}
	records := 0.0
	for i := range r.keys {
		label := r.keys[i].Label()
		f := by[label]
		p := &pairs[r.at[i]]
		if f == nil {
			f = &FormShare{Label: label, Example: p.key}
			by[label] = f
		}
		f.Keys++
		f.Records += float64(p.records)
		records += float64(p.records)
		if bytes.Compare(p.key, f.Example) < 0 {
			f.Example = p.key
		}
	}
	var forms []FormShare
	for _, f := range by {
		forms = append(forms, FormShare{f.Label, f.Keys / float64(len(r.keys)), f.Records / max(1, records), f.Example})
	}
	slices.SortFunc(forms, func(a, b FormShare) int {
		return cmp.Or(cmp.Compare(b.Keys, a.Keys), cmp.Compare(a.Label, b.Label))
	})
	if len(forms) > formsListed {
		rest := FormShare{Label: "others", Example: forms[formsListed].Example}
		for _, f := range forms[formsListed:] {
			rest.Keys += f.Keys
			rest.Records += f.Records
		}
		forms = append(forms[:formsListed], rest)
	}
	pl.Keys.Forms = forms
}

// schemas fills in which schema ids frame keys, and what the next one would move.
func (pl *Placement) schemas(r *recognised) {
	kb, d := &pl.Keys, pl.detector
	by := map[uint32]*SchemaShare{}
	var framed []pair
	var records float64
	for i := range r.keys {
		if !r.keys[i].Framed || r.keys[i].Form != keyform.Confluent {
			continue
		}
		p := d.ev.pairs[r.at[i]]
		s := by[r.keys[i].SchemaID]
		if s == nil {
			s = &SchemaShare{ID: r.keys[i].SchemaID}
			by[s.ID] = s
		}
		s.Keys++
		s.Records += float64(p.records)
		records += float64(p.records)
		framed = append(framed, p)
		kb.NextID = max(kb.NextID, s.ID+1)
	}
	if len(framed) == 0 {
		return
	}
	for _, s := range by {
		kb.Schemas = append(kb.Schemas, SchemaShare{s.ID, s.Keys / float64(len(framed)), s.Records / max(1, records)})
	}
	slices.SortFunc(kb.Schemas, func(a, b SchemaShare) int {
		return cmp.Or(cmp.Compare(b.Keys, a.Keys), cmp.Compare(a.ID, b.ID))
	})
	h, ok := pl.current()
	if !ok {
		return
	}
	was := d.predict(h, framed)
	for i := range framed {
		framed[i].key, _ = keyform.Reframe(framed[i].key, kb.NextID)
	}
	for i, p := range d.predict(h, framed) {
		if p != was[i] {
			kb.NextKeys++
			kb.NextRecords += float64(framed[i].records)
		}
	}
	kb.NextKeys /= float64(len(framed))
	kb.NextRecords /= max(1, records)
	kb.NextKnown = true
}

// spellings finds the logical keys that were written as several byte strings.
func (pl *Placement) spellings(r *recognised) {
	pairs := pl.detector.ev.pairs
	times := make(map[string]int, len(r.keys))
	for i := range r.keys {
		times[r.keys[i].Logical]++
	}
	var order []int // those that share their logical key, few as a rule, so that the others need no sorting
	for i := range r.keys {
		if times[r.keys[i].Logical] > 1 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := &pairs[r.at[a]], &pairs[r.at[b]]
		return cmp.Or(cmp.Compare(r.keys[a].Logical, r.keys[b].Logical), bytes.Compare(x.key, y.key), cmp.Compare(x.partition, y.partition))
	})
	var records float64
	for i := range r.at {
		records += float64(pairs[r.at[i]].records)
	}
	for len(order) > 0 {
		n := 1
		for n < len(order) && r.keys[order[n]].Logical == r.keys[order[0]].Logical {
			n++
		}
		if k, byID, ok := logicalKey(r, pairs, order[:n]); ok {
			s := &pl.Keys.Drift
			if byID {
				s = &pl.Keys.ByID
			}
			s.Keys++
			if k.Split {
				s.Split++
			}
			s.Records += float64(k.Records)
			s.List = append(s.List, k)
		}
		order = order[n:]
	}
	for _, s := range []*Several{&pl.Keys.Drift, &pl.Keys.ByID} {
		s.Records /= max(1, records)
		slices.SortStableFunc(s.List, func(a, b LogicalKey) int {
			return cmp.Or(cmp.Compare(b.Records, a.Records), bytes.Compare(a.Spellings[0].Key, b.Spellings[0].Key))
		})
		s.List = s.List[:min(len(s.List), pl.cfg.Listed)]
	}
}

// logicalKey sums up the placements of one logical key, ordered by key bytes and partition; ok is false when they have
// one spelling. byID reports that the spellings are frames which differ in their schema id.
func logicalKey(r *recognised, pairs []pair, group []int) (k LogicalKey, byID, ok bool) {
	byID = true
	first := &r.keys[group[0]]
	for _, g := range group {
		p, key := &pairs[r.at[g]], &r.keys[g]
		if last := len(k.Spellings) - 1; last < 0 || !bytes.Equal(k.Spellings[last].Key, p.key) {
			k.Spellings = append(k.Spellings, Spelling{Key: p.key, Label: key.Label()})
		}
		byID = byID && key.Framed && key.Form == first.Form && key.Inner == first.Inner && key.Spelling == first.Spelling
		s := &k.Spellings[len(k.Spellings)-1]
		s.Partitions = append(s.Partitions, p.partition)
		s.Records += p.records
		k.Records += p.records
	}
	if len(k.Spellings) < 2 {
		return k, false, false
	}
	for _, s := range k.Spellings[1:] {
		k.Split = k.Split || !slices.Equal(s.Partitions, k.Spellings[0].Partitions)
	}
	slices.SortStableFunc(k.Spellings, func(a, b Spelling) int { return cmp.Compare(b.Records, a.Records) })
	k.Display = first.Display
	return k, byID, true
}
