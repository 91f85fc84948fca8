package placement

import (
	"fmt"
	"slices"
	"strings"

	"keyspread/analyze/finding"
	"keyspread/partitioner"
)

// current returns the hypothesis that is likeliest to place the topic's next records: the writer that took over last,
// or else the one with most records, under today's count. Keys that were placed while they were read have the assumed
// partitioner.
func (pl *Placement) current() (hypothesis, bool) {
	if pl.Answer == Assigned && pl.cfg.Assumed != nil {
		class := classOf(pl.cfg.Assumed)
		i := slices.IndexFunc(pl.detector.placers, func(p placer) bool { return p.id == class })
		return hypothesis{placer: i, n: pl.NumPartitions}, i >= 0
	}
	at, ok := pl.currentWriter()
	if !ok {
		return hypothesis{}, false
	}
	h := pl.detector.writers[pl.writerAt[at]].hypothesis
	h.n = pl.NumPartitions
	return h, true
}

func (pl *Placement) currentWriter() (int, bool) {
	if n := len(pl.Changes); n > 0 {
		if last := pl.Changes[n-1].After; pl.Writers[last].Fixed < 0 {
			return last, true
		}
	}
	today := slices.IndexFunc(pl.Writers, func(w Writer) bool { return w.Fixed < 0 && w.NumPartitions == pl.NumPartitions })
	if today >= 0 {
		return today, true
	}
	any := slices.IndexFunc(pl.Writers, func(w Writer) bool { return w.Fixed < 0 })
	return any, any >= 0
}

// FromKeys begins the reason of [Placement.Best] where the partitioner is what the keys tell.
const FromKeys = "told from the keys: "

// Best returns the partitioner to simulate the topic's next records with, and why, to be read after its name. Where the
// keys do not tell, it is fallback.
//
// Among the clients of a class it takes one that treats the null key and the empty key as they were found; the class
// itself, which spreads the null key and hashes the empty one, where that fits.
func (pl *Placement) Best(fallback partitioner.Partitioner) (partitioner.Partitioner, string) {
	at, ok := pl.currentWriter()
	if !ok || pl.Answer == Ambiguous || pl.Answer == TooFewKeys {
		return fallback, "not " + FromKeys + pl.Reason()
	}
	w := &pl.Writers[at]
	d := pl.detector
	placer := &d.placers[d.writers[pl.writerAt[at]].placer]
	pt := placer.pt
	if placer.past && pl.Answer == Explained { // one client's rules: null and empty keys of a mixture are nobody's
		pt = pl.withKeyRules(placer)
	}
	if w.Over != WholeKey {
		pt = part{pt, w.Over}
	}
	return pt, FromKeys + pl.Reason()
}

// part is a partitioner that hashes a part of the key. Keys that have no such part, null and empty ones included, are
// placed whole.
type part struct {
	partitioner.Partitioner
	over Over
}

// ID names the part behind the partitioner, such as "murmur2 over the key without its time window".
func (p part) ID() string { return p.Partitioner.ID() + " over " + p.over.String() }

// Place implements [partitioner.Partitioner].
func (p part) Place(key []byte, counts, out []int32) (bool, error) {
	if inner, ok := p.over.Of(key); ok && len(key) > 0 {
		key = inner
	}
	return p.Partitioner.Place(key, counts, out)
}

// withKeyRules returns a client of a class that treats null and empty keys as the topic's are.
func (pl *Placement) withKeyRules(c *placer) partitioner.Partitioner {
	if pl.follows(c.pt) {
		return c.pt
	}
	var rules []partitioner.Rule
	for _, client := range partitioner.Clients() {
		for _, r := range client.Rules {
			if r.Class == c.id {
				rules = append(rules, r)
			}
		}
	}
	slices.SortStableFunc(rules, func(a, b partitioner.Rule) int {
		switch {
		case a.Default == b.Default:
			return 0
		case a.Default:
			return -1
		}
		return 1
	})
	for _, r := range rules {
		if pt, err := partitioner.Parse(r.ID); err == nil && pl.follows(pt) {
			return pt
		}
	}
	return c.pt
}

// stickyRun is how many bytes of unkeyed records a client may put into one partition before it goes on to another: 64 KiB
// by default in franz-go, the most of those known.
const stickyRun = 64 << 10

// follows reports whether a partitioner's null and empty keys would lie as they do.
func (pl *Placement) follows(pt partitioner.Partitioner) bool {
	out := make([]int32, 1)
	lies := func(key []byte, s Spread) bool {
		if s.Records == 0 {
			return true
		}
		keyed, err := pt.Place(key, []int32{pl.NumPartitions}, out)
		if err != nil {
			return false
		}
		if keyed {
			return s.Partitions == 1 && s.Partition == out[0]
		}
		return s.Partitions > 1 || s.Bytes <= stickyRun
	}
	return lies(nil, pl.Null) && lies([]byte{}, pl.Empty)
}

// Reason says in one clause what the answer is drawn from.
func (pl *Placement) Reason() string {
	switch pl.Answer {
	case Explained, Partly, Mixture:
		var parts []string
		for i := range pl.Writers {
			w := &pl.Writers[i]
			parts = append(parts, fmt.Sprintf("%s places %s of the keyed records", w.Name(pl.NumPartitions), finding.Percent(w.Records.Share)))
		}
		if pl.Answer != Explained && max(pl.Other.Records.Share, pl.Other.Keys.Share) >= tolerated {
			parts = append(parts, fmt.Sprintf("%s are placed by no known partitioner", finding.Percent(pl.Other.Records.Share)))
		}
		return strings.Join(parts, ", ")
	case Ambiguous:
		return "the keys do not tell " + pl.rivalNames() + " apart"
	case TooFewKeys:
		if pl.NumPartitions < 2 {
			return "a topic of one partition tells nothing about its partitioner"
		}
		return finding.Plural(pl.Coverage.Placements, "placement is", "placements are") + " too few to tell who placed them"
	}
	return "no known partitioner places its keys"
}

// Name names the writer: its partitioner, those alike, what it hashes and, where it is not that of the topic of n
// partitions, its count.
func (w *Writer) Name(n int32) string {
	if w.Fixed >= 0 {
		return fmt.Sprintf("a writer to partition %d whatever the key", w.Fixed)
	}
	name := listed(append([]string{w.Partitioner}, w.Alike...), "or")
	if w.Over != WholeKey {
		name += " over " + w.Over.String()
	}
	if w.NumPartitions != n {
		name += fmt.Sprintf(" at %s partitions", finding.Count(int64(w.NumPartitions)))
	}
	return name
}

func (pl *Placement) rivalNames() string {
	var names []string
	for i := range pl.Writers {
		names = append(names, pl.Writers[i].Name(pl.NumPartitions))
	}
	for _, r := range pl.Rivals {
		w := Writer{Partitioner: r.Partitioner, NumPartitions: r.NumPartitions, Over: r.Over, Fixed: -1}
		names = append(names, w.Name(pl.NumPartitions))
	}
	const shown = 5
	if len(names) > shown {
		names = append(names[:shown], fmt.Sprintf("%d others", len(names)-shown))
	}
	return listed(names, "and")
}

// listed joins names as "a, b and c".
func listed(names []string, and string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " " + and + " " + names[last]
}
