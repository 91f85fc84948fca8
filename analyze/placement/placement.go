package placement

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"keyspread/analyze/placement/keyform"
	"keyspread/analyze/profile"
	"keyspread/partitioner"
)

// Answer is what can be said of who wrote a topic.
type Answer uint8

// The answers.
const (
	TooFewKeys  Answer = iota // even a perfect fit of all keys would prove nothing
	Explained                 // one writer, or several that place alike, explains every key
	Mixture                   // several writers, each with a share
	Partly                    // one writer, and keys that no known partitioner explains
	Ambiguous                 // several explanations fit and the keys do not decide between them
	Unexplained               // no known partitioner
	Assigned                  // cannot tell: the source placed keys itself
)

// String returns the answer's name in reports and JSON.
func (a Answer) String() string {
	switch a {
	case Explained:
		return "explained"
	case Mixture:
		return "mixture"
	case Partly:
		return "partly"
	case Ambiguous:
		return "ambiguous"
	case Unexplained:
		return "unexplained"
	case Assigned:
		return "assigned"
	}
	return "too-few-keys"
}

// Config says how placement is judged. Its zero value is of no use: set fields of [DefaultConfig].
type Config struct {
	Assumed partitioner.Partitioner // the one the user named; nil: none
	// Assigned says that keys were placed by Assumed while they were read, as a file of keys names no partitions. Who
	// placed them is then no question; what their bytes spell still is. Assumed may be nil then.
	Assigned bool

	Further []partitioner.Partitioner // compared beside the classes: the user's own
	Sampled bool                      // blocks of the range were read, not all of it

	MaxKeys       int     // placements compared at most, beside those of the heaviest keys; 1000 or more
	Heaviest      int     // heaviest keys that are always compared; 0 or more
	MinConfidence float64 // posterior probability below which the answer is Ambiguous, in (0.5, 1)
	Listed        int     // keys in several partitions, example keys and rivals listed at most; 1 or more

	KeyFormat keyform.Format // how keys are to be shown; "" is keyform.Auto
}

// DefaultConfig compares 200,000 placements and asks for 99 % confidence.
func DefaultConfig() Config {
	return Config{MaxKeys: 200_000, Heaviest: 1000, MinConfidence: 0.99, Listed: 20}
}

// Example is a key in a partition.
type Example struct {
	Key         []byte
	Partition   int32
	Records     int64
	First, Last int64 // ms; -1: no record had a time
}

// Writer is one explanation of a part of the topic: a partitioner under a partition count.
type Writer struct {
	Partitioner   string   // class or partitioner id; "" for a fixed partition
	Alike         []string // others that put every key seen into the same partition
	NumPartitions int32    // the count it hashed for
	Over          Over     // what it hashed
	Fixed         int32    // the partition that its records are all in, whatever their key; -1: none
	Confidence    float64  // probability that it, or one of Alike, and no other known one, is behind its share

	// Share is the most likely share; Lo is what no other writer explains, Hi what this one explains at all. Together
	// with [Placement.Other] the shares sum to 1.
	Shares
	Only        int64     // placements compared that no other writer explains
	Examples    []Example // of them, the heaviest
	First, Last int64     // smallest first and largest last time of them, ms; -1: none had one
}

// Past reports whether the writer hashed for another count than the topic has.
func (w *Writer) Past(n int32) bool { return w.Fixed < 0 && w.NumPartitions != n }

// Rival is an explanation that the keys do not rule out.
type Rival struct {
	Partitioner   string
	NumPartitions int32
	Over          Over
	Hits          int     // of Pairs
	Pairs         int     // placements it was weighed on
	Odds          float64 // against the best explanation; 1: as good
}

// Fit is how well a partitioner fits at the topic's count, chance included.
type Fit struct {
	Partitioner string
	Keys        float64 // share of the placements compared
	Records     float64 // share of keyed records
}

// Coverage is what of the topic was compared.
type Coverage struct {
	Placements int64   // compared
	Held       int64   // in the profile's tables
	Records    float64 // share of keyed records in the tables, the keys with counts
	All        bool    // every placement of the records read was compared
}

// Placement is what the keys tell of who placed them.
type Placement struct {
	NumPartitions int32
	Answer        Answer
	Confidence    float64  // of the least certain writer that matters; 0: none
	Writers       []Writer // largest share of records first
	Matched       Shares   // explained by some writer, chance agreement included
	Other         Shares   // estimated share of what no writer wrote; limits are those of what is not matched
	Rivals        []Rival  // best first; empty when the answer is certain
	Fits          []Fit    // every class at the topic's count and the partitioners given, best first
	Assumed       *Fit     // of Config.Assumed; nil: none was given
	Coverage      Coverage

	Changes []Change // in time
	Keys    KeyBytes
	Null    Spread
	Empty   Spread

	Several         []SeveralKey // keys in several partitions, heaviest first
	SeveralCompared int64        // how many there are among the placements compared
	SeveralKeys     int64        // how many there are in the topic; an estimate unless counts are exact
	Causes          []CauseCount // of those compared
	Scattered       float64      // of the keys with several records, the share in several partitions

	cfg      Config
	detector *detector
	writerAt []int // index into the detector's writers, by Writers
}

// tolerated is the share of records or placements, in all, that may be unexplained or another writer's in an answer
// of Explained: stray records such as those written by hand.
const tolerated = 0.001

// Judge compares the placements of a profile with every known partitioner.
//
// Cost: one pass over the keys held, and about a second of work for 200,000 placements at 1000 partitions; memory for
// the placements compared.
func Judge(p *profile.Profile, cfg Config) *Placement {
	ev := collect(p, cfg.MaxKeys, cfg.Heaviest)
	further := cfg.Further
	if cfg.Assumed != nil && classOf(cfg.Assumed) == cfg.Assumed.ID() {
		further = append(slices.Clone(further), cfg.Assumed)
	}
	seen := recognise(ev)
	d := newDetector(ev, further, seen.overs(ev))
	pl := &Placement{
		NumPartitions: p.NumPartitions, cfg: cfg, detector: d,
		Coverage: Coverage{Placements: int64(len(ev.pairs)), Held: ev.held, All: ev.all},
	}
	if ev.records > 0 {
		pl.Coverage.Records = float64(ev.counted) / float64(ev.records)
	}
	if cfg.Assigned {
		pl.Answer = Assigned
		pl.keyBytes(seen)
		return pl
	}
	d.run()
	pl.SeveralKeys = p.Distinct().SeveralPartitions
	pl.shares()
	pl.fits()
	pl.answer()
	pl.changes()
	pl.spreads(p, cfg.Sampled || p.Mode() == profile.Sampled)
	pl.several()
	pl.keyBytes(seen)
	return pl
}

// classOf is the id of the known mapping behind a client's partitioner, which is compared anyway; a partitioner's own id
// when it has none.
func classOf(pt partitioner.Partitioner) string {
	rule, err := partitioner.Lookup(pt.ID())
	if err != nil || !rule.Keyed() || rule.Class == constantClass {
		return pt.ID()
	}
	return rule.Class
}

// shares fills in what each writer explains.
func (pl *Placement) shares() {
	d := pl.detector
	keys, records := d.mixing()
	for at := range d.writers {
		pl.writerAt = append(pl.writerAt, at)
	}
	slices.SortStableFunc(pl.writerAt, func(a, b int) int { return cmp.Compare(records[b], records[a]) })
	for _, at := range pl.writerAt {
		w := &d.writers[at]
		only := func(i int) bool { return w.match[i] && !d.explained(i, at) }
		any, own := d.ev.sharesOf(func(i int) bool { return w.match[i] }), d.ev.sharesOf(only)
		out := Writer{
			NumPartitions: w.n, Over: w.over, Fixed: -1, Confidence: w.posterior, First: -1, Last: -1,
			Shares: Shares{
				Keys:    Share{keys[at], own.Keys.Lo, any.Keys.Hi},
				Records: Share{records[at], own.Records.Lo, any.Records.Hi},
			},
		}
		if w.placer < 0 {
			out.Fixed = w.fixed
		} else {
			out.Partitioner = d.placers[w.placer].id
			for _, i := range w.alike {
				out.Alike = append(out.Alike, d.placers[i].id)
			}
		}
		pl.describe(&out, only)
		pl.Writers = append(pl.Writers, out)
	}
	pl.Matched = d.ev.sharesOf(func(i int) bool { return d.explained(i, -1) })
	missed := d.ev.sharesOf(func(i int) bool { return !d.explained(i, -1) })
	pl.Other = Shares{
		Keys:    Share{keys[len(keys)-1], missed.Keys.Lo, missed.Keys.Hi},
		Records: Share{records[len(records)-1], missed.Records.Lo, missed.Records.Hi},
	}
}

// describe adds the examples and times of the placements that only one writer explains.
func (pl *Placement) describe(w *Writer, only func(i int) bool) {
	var heaviest []*pair // at most cfg.Listed, heaviest first
	pairs := pl.detector.ev.pairs
	for i := range pairs {
		if !only(i) {
			continue
		}
		p := &pairs[i]
		w.Only++
		w.First, w.Last = widen(w.First, w.Last, p)
		if full := len(heaviest) == pl.cfg.Listed; !full || heavierFirst(p, heaviest[len(heaviest)-1]) < 0 {
			if full {
				heaviest = heaviest[:len(heaviest)-1]
			}
			at, _ := slices.BinarySearchFunc(heaviest, p, heavierFirst)
			heaviest = slices.Insert(heaviest, at, p)
		}
	}
	for _, p := range heaviest {
		w.Examples = append(w.Examples, p.example())
	}
}

func (p *pair) example() Example { return Example{p.key, p.partition, p.records, p.first, p.last} }

func heavierFirst(a, b *pair) int {
	return cmp.Or(cmp.Compare(b.records, a.records), bytes.Compare(a.key, b.key), cmp.Compare(a.partition, b.partition))
}

func widen(first, last int64, p *pair) (int64, int64) {
	if p.first >= 0 && (first < 0 || p.first < first) {
		first = p.first
	}
	return first, max(last, p.last)
}

// fits fills in how well each partitioner does at the topic's count.
func (pl *Placement) fits() {
	d := pl.detector
	if len(d.ev.pairs) == 0 {
		return
	}
	fits := make([]Fit, len(d.placers))
	for i := range d.placers {
		predicted := d.predict(hypothesis{placer: i, n: pl.NumPartitions}, d.ev.pairs)
		s := d.ev.sharesOf(func(j int) bool { return predicted[j] == d.ev.pairs[j].partition })
		fits[i] = Fit{d.placers[i].id, s.Keys.Share, s.Records.Share}
	}
	if a := pl.cfg.Assumed; a != nil {
		at := slices.IndexFunc(fits, func(f Fit) bool { return f.Partitioner == classOf(a) })
		pl.Assumed = &Fit{a.ID(), fits[at].Keys, fits[at].Records}
	}
	slices.SortStableFunc(fits, func(a, b Fit) int {
		return cmp.Or(cmp.Compare(b.Records, a.Records), cmp.Compare(b.Keys, a.Keys))
	})
	pl.Fits = fits
}

// answer concludes.
func (pl *Placement) answer() {
	d := pl.detector
	pl.Answer = Unexplained
	if d.ev.n < 2 || len(d.ev.pairs) == 0 {
		pl.Answer = TooFewKeys
		return
	}
	for _, s := range d.rivals[:min(len(d.rivals), pl.cfg.Listed)] {
		best := d.rivals[0].score
		if len(d.writers) > 0 {
			best = slices.MinFunc(d.writers, byPosterior).score
		}
		if odds := math.Exp(s.score - best); odds >= 1e-4 {
			pl.Rivals = append(pl.Rivals, Rival{
				Partitioner: d.placers[s.placer].id, NumPartitions: s.n, Over: s.over, Hits: s.hits, Odds: odds,
				Pairs: s.pairs,
			})
		}
	}
	named, matters, unsure := 0, 0, false
	for at := range pl.Writers {
		w := &pl.Writers[at]
		if w.Fixed > 0 { // partition 0 is where the clients of class constant-0 put every key: that is a partitioner
			matters++
			continue
		}
		named++
		if max(w.Records.Share, w.Keys.Share) >= tolerated {
			matters++
		}
	}
	pl.Confidence = 0
	if named > 0 {
		pl.Confidence = slices.MinFunc(d.writers, byPosterior).posterior
		unsure = slices.ContainsFunc(d.writers, func(w writer) bool { return w.unsure })
	}
	missed := max(1-pl.Matched.Keys.Share, 1-pl.Matched.Records.Share)
	switch {
	case named == 0 && d.tooFew():
		pl.Answer = TooFewKeys
	case named == 0 && len(d.writers) == 0 && d.undecided():
		pl.Answer = Ambiguous
	case named == 0:
		pl.Answer = Unexplained
	case unsure || pl.Confidence < pl.cfg.MinConfidence:
		pl.Answer = Ambiguous
	case matters > 1:
		pl.Answer = Mixture
	case missed > tolerated:
		pl.Answer = Partly
	default:
		pl.Answer = Explained
	}
	if pl.Answer != Ambiguous && pl.Answer != TooFewKeys {
		pl.Rivals = nil
	}
}
