package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"keyspread/analyze/finding"
	"keyspread/analyze/skew"
)

// A section is one part of the evidence, laid out by each format for people in its own way.
type section struct {
	title  string
	blocks []block
}

// A block is a head, labelled facts, a table and notes, in this order, each optional.
type block struct {
	head  string
	facts []fact
	table *table
	notes []string
	open  bool // part of the answer, not of the evidence: not folded
}

type fact struct{ label, text string }

// detail says how much of the evidence is shown. Limits of 0 show everything.
type detail struct {
	wide       bool // every column, matrices, loads
	bars       bool
	keys       int // of a list of top keys; hot and undecided keys are shown up to twice as many
	partitions int
	partPeaks  bool // of partitions too
	problems   int  // incomplete partitions
	hotKeys    int  // of a plan
	hottest    int  // keys named of a hottest partition
	part       bool // the report is not of the topic; set by evidence
}

// evidence returns the sections of a report: the candidates if any were asked for, what was read, then the topic as it
// is, from the coarse to the fine.
func evidence(r *Report, d detail) []section {
	d.part = !r.Coverage.OfTopic
	if r.Contents.Records == 0 {
		return []section{readSection(r, d)}
	}
	var sections []section
	if len(r.Plans) > 0 {
		sections = append(sections, planSection(r, d))
	}
	sections = append(sections, readSection(r, d), skewSection(r, d), keySection(r, d))
	if peaks, ok := peakSection(r, d); ok {
		sections = append(sections, peaks)
	}
	return append(sections, partitionSection(r, d))
}

// headline says in one line what the report is about.
func headline(r *Report) string {
	c := r.Contents
	var states []string
	records, size := finding.Plural(c.Records, "record", "records"), sizeText(c.Bytes)
	if isEstimated(r) {
		states = append(states, "SAMPLED")
		size = "about " + size
		if !r.Sample.RecordsExact {
			records = "about " + records
		}
	}
	switch {
	case r.Coverage.Partial:
		states = append(states, "PARTIAL")
	case !r.Coverage.Complete:
		states = append(states, "INCOMPLETE")
	}
	state := ""
	if len(states) > 0 {
		state = " (" + strings.Join(states, ", ") + ")"
	}
	s := fmt.Sprintf("%s%s: %s, %s, %s", r.Topic.Name, state, partitionsRead(r), records, size)
	switch {
	case r.Sample != nil && r.Sample.KeysSeen > 0:
		atLeast := ""
		if isEstimated(r) {
			atLeast = "at least "
		}
		s += ", " + atLeast + finding.Plural(r.Sample.KeysSeen, "key", "keys")
	case c.DistinctKeys != nil && c.DistinctKeys.Count > 0:
		about := ""
		if !c.DistinctKeys.Exact {
			about = "about "
		}
		s += ", " + about + finding.Plural(c.DistinctKeys.Count, "key", "keys")
	}
	return s
}

// partitionsRead counts the partitions, and says so where there are more in the topic.
func partitionsRead(r *Report) string {
	of := finding.Plural(int64(r.Topic.NumPartitions), "partition", "partitions")
	if n := r.Coverage.PartitionsRead; n < int(r.Topic.NumPartitions) {
		return fmt.Sprintf("%s of %s", finding.Count(int64(n)), of)
	}
	return of
}

// incomplete returns the partitions that lack something, not those of a file, which ends for all of them at once.
func incomplete(r *Report) []Partition {
	var ps []Partition
	for _, p := range r.Partitions {
		if !p.Coverage.Complete && p.Coverage.Asked != nil {
			ps = append(ps, p)
		}
	}
	return ps
}

func problemText(topic string, p Partition) string {
	c := p.Coverage
	s := fmt.Sprintf("partition %d: %s of %s offsets, position %d", p.Partition, count(c.Read), count(*c.Asked), c.Position)
	if c.Lost > 0 {
		s += fmt.Sprintf(", %s lost to retention", count(c.Lost))
	}
	if c.Error != nil {
		// A reader's error names where it stopped, as the line has done already.
		s += ": " + strings.TrimPrefix(*c.Error, fmt.Sprintf("reading %s partition %d at offset %d: ", topic, p.Partition, c.Position))
	}
	return s
}

func estimateText(e Estimate) string {
	if e.Exact {
		return count(e.Count)
	}
	s := fmt.Sprintf("about %s (95 %% confidence: %s", count(e.Count), rangeText(Range{e.Lo, e.Hi}, count))
	if e.StdErr != nil {
		s += ", standard error " + finding.Percent(*e.StdErr/float64(max(1, e.Count)))
	}
	return s + ")"
}

// partText writes a number with its share of a whole, unless there is none.
func partText(n, whole int64) string {
	if n == 0 {
		return "0"
	}
	return fmt.Sprintf("%s (%s)", count(n), finding.Percent(ratio(n, whole)))
}

// timeText writes a time to the second.
func timeText(t *Time) string {
	if t == nil {
		return "-"
	}
	s, _, _ := strings.Cut(t.UTC, ".")
	return strings.Replace(s, "T", " ", 1)
}

func skewSection(r *Report, d detail) section {
	t := newTable("<weight", "PAR", "CV", "effective partitions", "Gini", "hottest", "its share")
	t.spare = []int{4, 2}
	for _, s := range []struct {
		name  string
		of    *Measures
		about string
	}{{"records", r.Skew.Records.Measures, aboutRecords(r)}, {"bytes", r.Skew.Bytes.Measures, about(r)}} {
		if s.of == nil {
			continue
		}
		t.row(s.name, s.about+figure(s.of.PAR), figure(s.of.CV),
			fmt.Sprintf("%s of %s", effectiveText(s.of.EffectivePartitions), finding.Count(int64(len(r.Partitions)))), figure(s.of.Gini),
			fmt.Sprintf("partition %d", s.of.HottestPartition), s.about+finding.Percent(s.of.HottestShare))
	}
	why := block{}
	for _, w := range []struct {
		name string
		of   *Skew
	}{{"why, records", &r.Skew.Records}, {"why, bytes", &r.Skew.Bytes}} {
		if w.of.Chance != nil {
			why.facts = append(why.facts, fact{w.name, chanceText(w.of)})
		}
	}
	if d.wide && r.Skew.Records.Keys != nil && r.Skew.Bytes.Keys != nil {
		why.facts = append(why.facts,
			fact{"keys, records", keysText(r.Skew.Records.Keys)}, fact{"keys, bytes", keysText(r.Skew.Bytes.Keys)})
	}
	if empty := occupancyText(r.Skew.Occupancy); empty != "" {
		why.facts = append(why.facts, fact{"without a key", empty})
	}
	title := "SKEW"
	par := "PAR is the largest load over the mean: 1.00 is even. Effective partitions: so many equal ones would be as uneven."
	switch hot := r.Skew.Records.HotShare; {
	case d.part:
		title = "SKEW of what was read"
		par += " Partitions were not all read alike: this is no skew of the topic, and has no cause in it."
	case hot != nil:
		par += fmt.Sprintf(" A key is hot above %s.", finding.Percent(*hot))
	}
	why.notes = append(why.notes, par)
	if c := r.Skew.Records.Ceiling; c != nil && !d.part {
		why.notes = append(why.notes, fmt.Sprintf("The heaviest key sets the ceiling N* = %s partitions by records, %s by bytes: 1 over its share, the least that the hottest partition can have.",
			ceilingText(c), ceilingText(r.Skew.Bytes.Ceiling)))
	}
	if isEstimated(r) {
		why.notes = append(why.notes, loadsNote(r.Sample)+" Bytes are estimated.")
	}
	return section{title, []block{{table: t}, why}}
}

// causes says in words what [skew.Cause] names.
var causes = map[string]string{
	skew.ByChanceOnly.String():      "nothing but chance",
	skew.FewKeys.String():           "few keys: any hash spreads so few unevenly",
	skew.HotKeys.String():           "hot keys",
	skew.SeveralHeavyKeys.String():  "several heavy keys",
	skew.UnkeyedTraffic.String():    "records without a key",
	skew.UnevenPartitioner.String(): "the partitioner, which spreads these keys less evenly than a random hash",
	skew.NotHashed.String():         "not hashing: another rule placed these records",
}

// chanceText says why loads are uneven, beside what chance alone would give.
func chanceText(of *Skew) string {
	c := of.Chance
	s, ok := causes[c.Cause]
	if !ok {
		s = c.Cause
	}
	if c.Without != nil && (c.Cause == skew.HotKeys.String() || c.Cause == skew.SeveralHeavyKeys.String()) {
		s += "; the rest is " + withoutText(c.Without)
	}
	switch {
	case c.Heaviest == 1:
		s += " and the weight of the heaviest key, which has to land somewhere"
	case c.Heaviest > 1:
		s += fmt.Sprintf(" and the weight of the %d heaviest keys, which have to land somewhere", c.Heaviest)
	}
	if random := c.All.Random; random != nil {
		s += fmt.Sprintf(". Keyed records have PAR %s; the same keys hashed at random have %s", figure(c.All.Observed), randomText(random))
		if (c.Cause == skew.FewKeys.String() || c.Cause == skew.SeveralHeavyKeys.String()) && of.Keys != nil {
			if text := effectiveKeysText(of.Keys.Effective); text != "" {
				s += ". They are as uneven as " + text
			}
		}
	}
	if c.Lighter != nil {
		these := "it"
		if c.Heaviest > 1 {
			these = "them"
		}
		s += ". Without " + these + ", at random " + figure(c.Lighter.Median)
	}
	if w := c.Without; w != nil && w.Random != nil {
		atMost := ""
		if w.Random.onlyMost() {
			atMost = "at most "
		}
		s += fmt.Sprintf(". Without %s: %s, at random %s%s (%s)",
			finding.Plural(int64(c.Removed), "hot key", "hot keys"), figure(w.Observed), atMost, figure(w.Random.Median), chanceOf(w.Random.P))
	}
	return s
}

// levelPAR is a PAR that nobody would call uneven; visiblyBeyond is how many times the PAR of chance is worth a word.
const (
	levelPAR      = 1.1
	visiblyBeyond = 1.05
)

// withoutText says how even the loads are without the hot keys, beside what chance gives.
func withoutText(w *ChancePAR) string {
	switch {
	case w.Observed <= levelPAR:
		return "level"
	case w.Random != nil && w.Random.P < 0.05 && w.Observed > visiblyBeyond*w.Random.Median:
		return "less even than chance makes it"
	}
	return "as uneven as chance makes it"
}

// randomText is how uneven random placements are, and where keys were not counted how uneven they can be.
func randomText(r *RandomPAR) string {
	form := func(format string, median, p95, p float64) string {
		return fmt.Sprintf(format, figure(median), figure(p95), chanceOf(p))
	}
	s := form("%s, once in 20 over %s (%s)", r.Median, r.P95, r.P)
	switch {
	case r.Most == nil:
		return s
	case r.onlyMost():
		return form("at most %s, once in 20 over no more than %s (at most %s), as too few keys were sampled to tell", r.Median, r.P95, r.P)
	}
	if most := form("%s, once in 20 over %s (%s)", r.Most.Median, r.Most.P95, r.Most.P); most != s {
		return s + "; at most " + most + ", by what was lost of the keys"
	}
	return s
}

// onlyMost reports whether r says no more than what it can be at most.
func (r *RandomPAR) onlyMost() bool {
	return r.Most != nil && *r.Most == MostPAR{r.Median, r.P95, r.P}
}

// chanceOf writes the probability that chance is at least as uneven.
func chanceOf(p float64) string {
	if p < 0.001 {
		return "p < 0.001"
	}
	return "p = " + strconv.FormatFloat(p, 'f', 2+leadingZeros(p), 64)
}

// leadingZeros is 1 for a fraction below a tenth and 0 otherwise: p has two digits that count, or three decimals.
func leadingZeros(p float64) int {
	if p < 0.095 {
		return 1
	}
	return 0
}

// occupancyText sets the partitions without a key beside those that chance leaves so; empty where neither amounts to
// half a partition.
func occupancyText(o *Occupancy) string {
	if o == nil || o.Empty == 0 && o.Expected < 0.5 {
		return ""
	}
	empty := "none"
	if o.Empty > 0 {
		empty = strconv.Itoa(o.Empty)
	}
	return fmt.Sprintf("%s of %s. %s placed at random leave %s so on average, give or take %s",
		empty, finding.Plural(int64(o.Partitions), "partition", "partitions"), finding.Plural(o.Keys, "key", "keys"),
		effectiveText(o.Expected), effectiveText(o.SD))
}

func effectiveText(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }

func ceilingText(c *NumberRange) string {
	if c == nil {
		return partitionsText(nil)
	}
	lo, hi := partitionsText(c.Lo), partitionsText(c.Hi)
	if lo == hi {
		return lo
	}
	return lo + "–" + hi
}

func keySection(r *Report, d detail) section {
	s := section{title: "TOP KEYS"}
	if len(r.Skew.Records.TopKeys) == 0 && len(r.Skew.Bytes.TopKeys) == 0 {
		s.blocks = []block{{notes: []string{"No record has a key."}}}
		return s
	}
	byRecords := listed(r.Skew.Records.TopKeys, d)
	if r.Sample != nil {
		s.blocks = sampledKeys(r, d, byRecords)
		return s
	}
	s.blocks = append(s.blocks, keyBlock("by records", r.Skew.Records.TopKeys, len(byRecords), d, recordShare, 4, 3, 6))
	if d.wide || tellsMore(listed(r.Skew.Bytes.TopKeys, d), byRecords) {
		n := len(listed(r.Skew.Bytes.TopKeys, d))
		s.blocks = append(s.blocks, keyBlock("by bytes", r.Skew.Bytes.TopKeys, n, d, byteShare, 2, 1, 6))
	}
	return s
}

// listed returns the keys of a list that fit: d.keys of them, or up to twice as many when those are hot or undecided, which
// in a part of the topic all are.
func listed(keys []TopKey, d detail) []TopKey {
	limit := d.keys
	if limit == 0 || len(keys) <= limit {
		return keys
	}
	n := limit
	for !d.part && n < min(len(keys), 2*limit) && keys[n].Verdict != skew.NotHot.String() {
		n++
	}
	return keys[:n]
}

// tellsMore reports whether the list by bytes has something to say that the list by records does not: another heaviest
// key, or a key with a verdict that the other list does not give it.
func tellsMore(byBytes, byRecords []TopKey) bool {
	verdict := make(map[string]string, len(byRecords))
	for i := range byRecords {
		verdict[identity(&byRecords[i])] = byRecords[i].Verdict
	}
	for i := range byBytes {
		k := &byBytes[i]
		if i == 0 && (len(byRecords) == 0 || identity(k) != identity(&byRecords[0])) {
			return true
		}
		if v := verdict[identity(k)]; k.Verdict != skew.NotHot.String() && v != k.Verdict {
			return true
		}
	}
	return false
}

// identity tells keys apart within one report; texts do not where they are shortened.
func identity(k *TopKey) string {
	if k.Key.Base64 != nil {
		return *k.Key.Base64
	}
	return k.Key.Text
}

func recordShare(k *TopKey) ShareRange { return k.RecordShare }
func byteShare(k *TopKey) ShareRange   { return k.ByteShare }

// keyBlock lists keys; of is their share in the weight of the list, spare the columns that matter least in it.
func keyBlock(head string, keys []TopKey, show int, d detail, of func(*TopKey) ShareRange, spare ...int) block {
	heads := []string{"<key", "records", "share", "bytes", "share", "partition", "of it", "<verdict"}
	if d.wide {
		heads = append(heads, "<first record", "<last record")
	}
	t := newTable(heads...)
	t.names, t.spare = 0, spare
	form, size := count, sizeText
	if d.wide {
		form = finding.Count
	}
	for i := range keys[:show] {
		k := &keys[i]
		cells := []string{
			k.Key.shown(), rangeText(k.Records, form), percentRange(k.RecordShare),
			rangeText(k.Bytes, size), percentRange(k.ByteShare), whereText(k, d), percentOf(k.PartitionShare), k.Verdict,
		}
		if d.wide {
			cells = append(cells, timeText(k.FirstTime), timeText(k.LastTime))
		}
		t.row(cells...)
	}
	if d.part {
		t.drop("verdict", skew.CannotTell.String())
	}
	b := block{head: head, table: t}
	if rest := restText(keys[show:], of, d); rest != "" {
		b.notes = []string{rest}
	}
	return b
}

// restText says of the keys that are not shown how heavy they can be; empty when there are none.
func restText(rest []TopKey, of func(*TopKey) ShareRange, d detail) string {
	if len(rest) == 0 {
		return ""
	}
	most := 0.0
	for i := range rest {
		most = max(most, of(&rest[i]).Hi)
	}
	s := fmt.Sprintf("… %s more listed, each %s", finding.Count(int64(len(rest))), finding.AtMost(most))
	if n := countHot(rest); n > 0 && !d.part {
		s += fmt.Sprintf("; %s of them hot or undecided", finding.Count(int64(n)))
	}
	return s + " (-o wide shows them)."
}

// percentOf writes a share that need not be known.
func percentOf(s *ShareRange) string {
	if s == nil {
		return "-"
	}
	return percentRange(*s)
}

func countHot(keys []TopKey) int {
	n := 0
	for i := range keys {
		if keys[i].Verdict != skew.NotHot.String() {
			n++
		}
	}
	return n
}

// whereText names the partitions of a key: all in wide, otherwise the one that holds most and how many others there are.
func whereText(k *TopKey, d detail) string {
	if len(k.Partitions) == 0 || k.MainPartition == nil {
		return "-"
	}
	if d.wide {
		names := make([]string, len(k.Partitions))
		for i, p := range k.Partitions {
			names[i] = strconv.Itoa(int(p.Partition))
		}
		return strings.Join(names, ",")
	}
	s := strconv.Itoa(int(*k.MainPartition))
	if n := len(k.Partitions); n > 1 {
		s += fmt.Sprintf(" +%d", n-1)
	}
	return s
}

// hottestFirst orders partitions by falling records, then bytes, then index.
func hottestFirst(ps []Partition) []Partition {
	sorted := slices.Clone(ps)
	slices.SortFunc(sorted, func(a, b Partition) int {
		return cmp.Or(cmp.Compare(b.Records, a.Records), cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Partition, b.Partition))
	})
	return sorted
}

func partitionSection(r *Report, d detail) section {
	ps := hottestFirst(r.Partitions)
	title := "PARTITIONS, hottest first"
	if d.wide {
		ps, title = r.Partitions, "PARTITIONS"
	}
	show := ps
	if d.partitions > 0 && len(ps) > d.partitions+1 { // one row more takes no more room than the line that replaces it
		show = ps[:d.partitions]
	}
	heads := []string{"partition", "records", "share", "<load", "bytes", "share", "keys", "null keys", "<top key", "of it"}
	if d.wide {
		heads = append(heads, "empty keys", "tombstones", "control", "aborted", "stored", "first offset", "last offset",
			"<first record", "<last record", "<timestamps", "offsets read", "<coverage")
	}
	t := newTable(heads...)
	t.names, t.spare = 8, []int{7, 5, 9, 4}
	form := count
	if d.wide {
		form = finding.Count
	}
	most, doubt := 0.0, false
	for _, p := range ps {
		most = max(most, p.RecordShare)
	}
	for _, p := range show {
		keys, top, of := "-", "-", "-"
		if p.DistinctKeys != nil {
			keys = form(p.DistinctKeys.Count)
			if !p.DistinctKeys.Exact {
				keys = "~" + keys
			}
		}
		if p.TopKey != nil {
			top, of = p.TopKey.shown(&p), percentOf(p.TopKey.heaviest(&p))
			doubt = doubt || p.TopKey.Most != nil && !p.TopKey.Certain
		}
		cells := []string{
			strconv.Itoa(int(p.Partition)), form(p.Records), finding.Percent(p.RecordShare), bar(p.RecordShare, most, d),
			sizeText(p.Bytes), finding.Percent(p.ByteShare), keys, form(p.NullKey.Records), top, of,
		}
		if d.wide {
			cells = append(cells, form(p.EmptyKey.Records), form(p.Tombstones), form(p.ControlRecords), form(p.AbortedRecords),
				sizeText(p.WireBytes), offsetText(p.FirstOffset), offsetText(p.LastOffset), timeText(p.MinTime), timeText(p.MaxTime),
				textOr(p.TimestampType, "-"), form(p.Coverage.Read), partitionCoverageText(p.Coverage))
		}
		t.row(cells...)
	}
	t.drop("load", "")
	if !d.wide {
		t.drop("null keys", "0")
		t.drop("keys", "-")
		t.drop("top key", "-")
		t.drop("of it", "-")
	}
	b := block{table: t}
	if rest := ps[len(show):]; len(rest) > 0 {
		b.notes = []string{fmt.Sprintf("… %s more, between %s and %s of records each (-o wide shows them).", finding.Count(int64(len(rest))),
			finding.Percent(rest[len(rest)-1].RecordShare), finding.Percent(rest[0].RecordShare))}
	}
	if doubt {
		b.notes = append(b.notes, "Counts are bounded: where the top key is not certain, of it is what the heaviest key has, whichever it is.")
	}
	if isEstimated(r) {
		b.notes = append(b.notes, partitionsNote(r.Sample, d))
	}
	return section{title, []block{b}}
}

// textOr is a text, or another where there is none.
func textOr(s *string, other string) string {
	if s == nil {
		return other
	}
	return *s
}

// shown names the key as the heaviest of its partition only where it is that for certain, and not at all where a key that
// was not counted can have more.
func (k *PartitionTopKey) shown(p *Partition) string {
	switch {
	case k.Certain || k.Most == nil:
		return k.Key.shown()
	case k.Records != nil && p.MissingKey != nil && k.Records.Lo > p.MissingKey.Records:
		return "perhaps " + k.Key.shown()
	}
	return "cannot tell"
}

// heaviest is the share of the partition's records that its heaviest key has, whichever that is.
func (k *PartitionTopKey) heaviest(p *Partition) *ShareRange {
	if k.Certain || k.Most == nil || k.Records == nil {
		return k.Share
	}
	of := ratios(Range{k.Records.Lo, *k.Most}, p.Records)
	return &of
}

func partitionCoverageText(c PartitionCoverage) string {
	switch {
	case c.Complete:
		return "complete"
	case c.Error != nil:
		return *c.Error
	}
	return "incomplete"
}

func offsetText(x *int64) string {
	if x == nil {
		return "-"
	}
	return strconv.FormatInt(*x, 10)
}

// barWidth is the length of the longest bar in columns.
const barWidth = 8

// bar draws x against the largest value; nothing where bars are not wanted.
func bar(x, most float64, d detail) string {
	if !d.bars || most <= 0 {
		return ""
	}
	eighths := int(max(0, x/most)*barWidth*8 + 0.5)
	s := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		s += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return s
}
