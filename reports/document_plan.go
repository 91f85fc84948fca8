package reports

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"keyspread/analyze/finding"
)

// planSection compares the candidates with the topic as it is, then says of each what sets its hottest partition,
// which hot keys move, and where more partitions stop helping.
func planSection(r *Report, d detail) section {
	s := section{title: "PLAN", blocks: []block{planTable(r)}}
	for i := range r.Plans {
		p := &r.Plans[i]
		s.blocks = append(s.blocks, candidateBlock(r, p, d))
		if b := hotMoves(p, d); b != nil {
			s.blocks = append(s.blocks, *b)
		}
		if d.wide {
			s.blocks = append(s.blocks, loadBlock(r, p), matrixBlock(r, p))
		}
	}
	return s
}

func planTable(r *Report) block {
	t := newTable("partitions", "<partitioner", "PAR", "byte PAR", "hottest", "moved keys", "records", "bytes", "formula")
	t.names, t.spare = 1, []int{3, 7, 4, 8}
	same, formulas := true, false
	for i := range r.Plans {
		same = same && r.Plans[i].To.Partitioner == r.Plans[i].From.Partitioner
	}
	name := func(s string) string {
		if same {
			return ""
		}
		return s
	}
	from := r.Plans[0].From
	t.row(slices.Concat(
		[]string{finding.Count(int64(from.NumPartitions)) + " now", name(from.Partitioner)},
		loadCells(r), []string{"-", "-", "-", "-"})...)
	for i := range r.Plans {
		p := &r.Plans[i]
		keys, formula := "-", "-"
		if p.Moved.Keys != nil {
			keys = finding.Percent(p.Moved.Keys.Share)
		}
		if p.Moved.FormulaKeyShare != nil {
			formula = finding.Percent(*p.Moved.FormulaKeyShare)
		}
		records, bytes := percentRange(p.Moved.RecordShare), percentRange(p.Moved.ByteShare)
		if unkeyed(p) {
			keys, records, bytes = "-", "-", "-"
		}
		t.row(slices.Concat(
			[]string{finding.Count(int64(p.To.NumPartitions)) + "    ", name(p.To.Partitioner)},
			futureCells(&p.Records, &p.Bytes),
			[]string{keys, records, bytes, formula})...)
		formulas = formulas || formula != "-"
	}
	t.drop("partitioner", "")
	t.drop("formula", "-")
	measured := "measured"
	if isEstimated(r) {
		measured = "estimated"
	}
	if r.Sample != nil {
		t.drop("moved keys", "-")
	}
	note := "Hottest: the partition with the most records, and its share. " +
		"Moved: the share whose future records would land in another partition, " + measured + "; records already written stay where they are."
	if r.Placement != nil && len(r.Placement.Several) > 0 {
		note += " A key in several partitions counts as moved."
	}
	if formulas {
		note += " Formula: the share of keys that 1 − gcd/max expects to move, whatever their weight."
	}
	notes := []string{note}
	if text := othersAssumed(r); text != "" {
		notes = []string{text, note}
	}
	if !r.Coverage.OfTopic {
		notes = slices.Insert(notes, 0, fmt.Sprintf("Loads, PAR and shares are of the part read, not of the topic (%s).", r.Coverage.Range))
	}
	return block{open: true, table: t, notes: notes}
}

// othersAssumed says whose records the plans take for those of the topic's partitioner; empty when there are none.
func othersAssumed(r *Report) string {
	i := slices.IndexFunc(r.Plans, func(p Plan) bool { return len(p.Others) > 0 })
	if i < 0 {
		return ""
	}
	p := &r.Plans[i]
	others := make([]string, 0, len(p.Others))
	for _, o := range p.Others {
		name := "no known partitioner"
		if o.Writer != nil && r.Placement != nil && *o.Writer >= 0 && *o.Writer < len(r.Placement.Writers) {
			name = r.Placement.Writers[*o.Writer].name()
		}
		others = append(others, fmt.Sprintf("%s %s of keyed records", name, percentRange(exactOr(o.Records))))
	}
	return fmt.Sprintf("Assumed: every future record is placed by %s. Others placed a part of the topic, and where their records would go is not simulated: %s.",
		p.To.Partitioner, strings.Join(others, "; "))
}

// loadCells are the cells of the topic's loads: PAR by records and bytes, the hottest partition and its share.
func loadCells(r *Report) []string {
	records, bytes := r.Skew.Records.Measures, r.Skew.Bytes.Measures
	if records == nil || bytes == nil {
		return []string{"-", "-", "-"}
	}
	hottest := fmt.Sprintf("%d: %s%s", records.HottestPartition, aboutRecords(r), finding.Percent(records.HottestShare))
	return []string{aboutRecords(r) + figure(records.PAR), about(r) + figure(bytes.PAR), hottest}
}

// futureCells are the same of a candidate's loads, with their intervals where they have some.
func futureCells(records, bytes *PlanSide) []string {
	if records.Measures == nil || bytes.Measures == nil {
		return []string{"-", "-", "-"}
	}
	return []string{
		parText(records), parText(bytes),
		fmt.Sprintf("%d: %s", records.Measures.HottestPartition, percentRange(hottestShare(records))),
	}
}

// parText writes the PAR of a candidate with measures: "2.95", or "2.95 (2.70–3.21)" of a sample.
func parText(s *PlanSide) string {
	text := figure(s.Measures.PAR)
	if i := s.PARInterval; i != nil && i.Lo != nil && i.Hi != nil && *i.Lo != *i.Hi {
		text += fmt.Sprintf(" (%s–%s)", strconv.FormatFloat(floorTo(*i.Lo, 2), 'f', 2, 64), strconv.FormatFloat(ceilTo(*i.Hi, 2), 'f', 2, 64))
	}
	return text
}

// hottestShare is the share of the hottest partition of a candidate with measures.
func hottestShare(s *PlanSide) ShareRange {
	if h := int(s.Measures.HottestPartition); h >= 0 && h < len(s.LoadShares) {
		return s.LoadShares[h]
	}
	return ShareRange{Lo: s.Measures.HottestShare, Hi: s.Measures.HottestShare}
}

// candidateText names a candidate: its count, and its partitioner where that changes.
func candidateText(p *Plan) string {
	s := finding.Plural(int64(p.To.NumPartitions), "partition", "partitions")
	if p.To.Partitioner != p.From.Partitioner {
		s += " under " + p.To.Partitioner
	}
	return s
}

func candidateBlock(r *Report, p *Plan, d detail) block {
	b := block{head: fmt.Sprintf("%s → %s", finding.Count(int64(p.From.NumPartitions)), candidateText(p))}
	moved := movedText(r, p)
	if unkeyed(p) {
		moved = "does not apply: no record goes by its key"
	} else if k := p.Moved.Keys; k != nil {
		moved = fmt.Sprintf("%s of %s (%s), ", count(k.Moved), finding.Plural(k.Of, "key", "keys"), finding.Percent(k.Share)) + moved
	}
	b.facts = append(b.facts, fact{"moved", moved})
	b.facts = append(b.facts, hottestFacts(p, d)...)
	if rest := othersText(r, p); rest != "" {
		b.facts = append(b.facts, fact{"others", rest})
	}
	if p.Unkeyed.Records > 0 {
		b.facts = append(b.facts, fact{"unkeyed", fmt.Sprintf("%s%s records are spread by their client; taken as even over all partitions", about(r), count(p.Unkeyed.Records))})
	}
	if p.Unplaced.Records > 0 {
		b.facts = append(b.facts, fact{"unplaced", fmt.Sprintf("%s%s records have keys for which the client itself gives no partition; in no load", about(r), count(p.Unplaced.Records))})
	}
	if !unkeyed(p) && r.Coverage.OfTopic {
		b.facts = append(b.facts, fact{"limit", limitText(r, p)})
	}
	if p.To.NumPartitions < p.From.NumPartitions {
		b.facts = append(b.facts, fact{"note", "Kafka takes no partitions away: this count needs a new topic"})
	}
	return b
}

// unkeyed reports whether a candidate places no record by its key.
func unkeyed(p *Plan) bool {
	return p.Unkeyed.Records > 0 && float64(p.Unkeyed.Records) > 0.9999*sum(p.Records.Loads)
}

// timesText writes PAR as a ratio to the mean.
func timesText(s *PlanSide) string {
	par, interval, sampled := strings.Cut(parText(s), " ")
	if !sampled {
		return finding.Times(s.Measures.PAR)
	}
	return par + "x " + interval
}

// movedText says how much moves, in both weights.
func movedText(r *Report, p *Plan) string {
	m := &p.Moved
	if r.Sample == nil {
		return fmt.Sprintf("%s (%s), %s (%s)", finding.Plural(m.Records.Lo, "record", "records"), percentRange(m.RecordShare),
			sizeText(m.Bytes.Lo), percentRange(m.ByteShare))
	}
	return fmt.Sprintf("%s of keyed records (%s), %s of bytes (%s); keys unknown: a sample does not count them",
		percentRange(m.RecordShare), rangeText(m.Records, count), percentRange(m.ByteShare), rangeText(m.Bytes, sizeText))
}

// about is put before counts that a sample only estimates.
func about(r *Report) string {
	if isEstimated(r) {
		return "about "
	}
	return ""
}

// aboutRecords is about for the records of partitions, which a sample knows exactly where offsets have no gaps.
func aboutRecords(r *Report) string {
	if r.Sample == nil || r.Sample.RecordsExact {
		return ""
	}
	return about(r)
}

// worthNaming is the share of the hottest partition from which a key is named beside the heaviest one.
const worthNaming = 0.05

// hottestFacts names the hottest partition with its heaviest keys; that of bytes only where it is another one.
func hottestFacts(p *Plan, d detail) []fact {
	var facts []fact
	for _, s := range []struct {
		side *PlanSide
		unit string
	}{{&p.Records, "records"}, {&p.Bytes, "bytes"}} {
		m := s.side.Measures
		if m == nil || s.unit == "bytes" && p.Records.Measures != nil && m.HottestPartition == p.Records.Measures.HottestPartition {
			continue
		}
		text := fmt.Sprintf("partition %d with %s of %s, %s the mean", m.HottestPartition, percentRange(hottestShare(s.side)), s.unit, timesText(s.side))
		var names []string
		for i, k := range s.side.HottestKeys {
			certain := k.Share.Estimate != nil || k.Share.Lo == k.Share.Hi
			if (i > 0 || !certain) && (i == d.hottest || k.Share.Hi < worthNaming*m.HottestShare) {
				break // light keys with bounds need not be the heaviest
			}
			if k.Share.Estimate != nil { // its interval stands in brackets
				names = append(names, k.Key.shown()+" "+percentRange(k.Share))
			} else {
				names = append(names, fmt.Sprintf("%s (%s)", k.Key.shown(), percentRange(k.Share)))
			}
		}
		if len(names) > 0 {
			of := "the topic"
			if d.part {
				of = "what was read"
			}
			text += "; its heaviest keys, by share of " + of + ": " + strings.Join(names, ", ")
		}
		facts = append(facts, fact{"hottest", text})
	}
	return facts
}

// othersText says between what the loads of all partitions but the hottest lie.
func othersText(r *Report, p *Plan) string {
	m := p.Records.Measures
	if m == nil || len(p.Records.Loads) < 2 {
		return ""
	}
	lo, hi, total, empty := math.Inf(1), 0.0, sum(p.Records.Loads), 0
	for i, x := range p.Records.Loads {
		if x == 0 {
			empty++
		}
		if int32(i) != m.HottestPartition {
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	if total <= 0 {
		return ""
	}
	s := fmt.Sprintf("between %s%s and %s of the placed records each", about(r), finding.Percent(lo/total), finding.Percent(hi/total))
	if empty > 0 {
		s += fmt.Sprintf("; %s would be empty", finding.Plural(int64(empty), "partition", "partitions"))
		if isEstimated(r) {
			s += " of what the sample saw"
		}
	}
	return s
}

// leastShare is the share of the heaviest key, 1/N*.
func leastShare(r *Report) string {
	c := r.Skew.Records.Ceiling
	if c == nil || c.Lo == nil || c.Hi == nil {
		return "its share"
	}
	return finding.PercentRange(1 / *c.Hi, 1 / *c.Lo)
}

// leftToGain says how far above the heaviest key's share the hottest partition of a candidate still is; empty where that
// is little, and of a sample.
func leftToGain(r *Report, p *Plan) string {
	c, m := r.Skew.Records.Ceiling, p.Records.Measures
	if isEstimated(r) || c == nil || c.Hi == nil || m == nil || m.HottestShare < 1.1 / *c.Hi {
		return ""
	}
	return fmt.Sprintf("; here it has %s, so at most %.1f points are left to gain",
		finding.Percent(m.HottestShare), 100*(m.HottestShare - 1 / *c.Hi))
}

// How sure it is that a count is beyond N*.
type certainty int

const (
	no certainty = iota
	perhaps
	certainly
)

// beyondCeiling tells whether n partitions are more than N*, of which an interval is known.
func beyondCeiling(ceiling *NumberRange, n int32) certainty {
	switch {
	case ceiling == nil || ceiling.Lo == nil || float64(n) <= *ceiling.Lo:
		return no
	case ceiling.Hi == nil || float64(n) <= *ceiling.Hi:
		return perhaps
	}
	return certainly
}

func limitText(r *Report, p *Plan) string {
	ceiling, beyond := ceilingText(r.Skew.Records.Ceiling), beyondCeiling(r.Skew.Records.Ceiling, p.To.NumPartitions)
	var s string
	switch {
	case p.Limit.CannotHelp:
		s = fmt.Sprintf("no count brings the hottest partition below %s, the share of the heaviest key: the topic has %s, at or beyond N* = %s%s",
			leastShare(r), finding.Plural(int64(r.Topic.NumPartitions), "partition", "partitions"), ceiling, leftToGain(r, p))
	case beyond == certainly:
		s = fmt.Sprintf("no count brings the hottest partition below %s, the share of the heaviest key: this one is beyond N* = %s%s",
			leastShare(r), ceiling, leftToGain(r, p))
	case beyond == perhaps:
		s = fmt.Sprintf("N* = %s: whether more partitions than this can still lower the hottest one cannot be told", ceiling)
	default:
		s = fmt.Sprintf("below N* = %s: more partitions can still lower the hottest one", ceiling)
	}
	if p.Limit.BestPAR > 1.005 { // 1.00 for people: no limit at all
		s += fmt.Sprintf("; without splitting a key PAR is at least %s%s", about(r), figure(p.Limit.BestPAR))
	}
	return s
}

// hotMoves lists where the hot and undecided keys would go; nil when there is none.
func hotMoves(p *Plan, d detail) *block {
	if len(p.HotKeys) == 0 {
		return nil
	}
	t := newTable("<hot key", "records", "share", "bytes", "from", "to", "<future records")
	t.names, t.spare = 0, []int{3, 1}
	show := p.HotKeys
	if d.hotKeys > 0 && len(show) > d.hotKeys+1 {
		show = show[:d.hotKeys]
	}
	for i := range show {
		k := &show[i]
		to, what := "-", "client fails"
		if k.To != nil {
			to, what = strconv.Itoa(int(*k.To)), "stay"
			if k.Moved {
				what = "move"
			}
		}
		t.row(k.Key.shown(), rangeText(k.Records, count), percentRange(k.Share), rangeText(k.Bytes, sizeText), fromText(k.From, d), to, what)
	}
	b := &block{table: t}
	if rest := p.HotKeys[len(show):]; len(rest) > 0 {
		moves := 0
		for i := range rest {
			if rest[i].Moved {
				moves++
			}
		}
		b.notes = []string{fmt.Sprintf("… %s more hot or undecided keys, %s of which move.", finding.Count(int64(len(rest))), finding.Count(int64(moves)))}
	}
	return b
}

func fromText(from []int32, d detail) string {
	show := from
	if !d.wide && len(from) > 3 {
		show = from[:2]
	}
	names := make([]string, len(show))
	for i, p := range show {
		names[i] = strconv.Itoa(int(p))
	}
	s := strings.Join(names, ",")
	if n := len(from) - len(show); n > 0 {
		s += fmt.Sprintf(" +%d", n)
	}
	return s
}

// loadBlock lists a candidate's loads by partition.
func loadBlock(r *Report, p *Plan) block {
	t := newTable("partition", "records", "share", "bytes", "share")
	records, bytes := sum(p.Records.Loads), sum(p.Bytes.Loads)
	for i := range min(len(p.Records.Loads), len(p.Bytes.Loads)) {
		x, y := p.Records.Loads[i], p.Bytes.Loads[i]
		recordShare, byteShare := partOf(x, records), partOf(y, bytes)
		if r.Sample != nil && i < min(len(p.Records.LoadShares), len(p.Bytes.LoadShares)) {
			recordShare, byteShare = percentRange(p.Records.LoadShares[i]), percentRange(p.Bytes.LoadShares[i])
		}
		t.row(strconv.Itoa(i), finding.Count(int64(math.Round(x))), recordShare, sizeText(int64(math.Round(y))), byteShare)
	}
	return block{head: fmt.Sprintf("loads at %s%s", candidateText(p), estimatedText(r)), table: t}
}

// estimatedText is put behind the head of a table of counts that a sample only estimates.
func estimatedText(r *Report) string {
	if isEstimated(r) {
		return ", estimated"
	}
	return ""
}

func sum(xs []float64) float64 {
	total := 0.0
	for _, x := range xs {
		total += x
	}
	return total
}

func partOf(x, whole float64) string {
	if whole <= 0 {
		return "-"
	}
	return finding.Percent(x / whole)
}

// matrixBlock lists how many keyed records go from which partition to which.
func matrixBlock(r *Report, p *Plan) block {
	t := newTable("from", "to", "records", "of from", "bytes")
	of := make(map[int32]int64)
	for _, c := range p.Matrix {
		of[c.From] += c.Records
	}
	for _, c := range p.Matrix {
		t.row(strconv.Itoa(int(c.From)), strconv.Itoa(int(c.To)), finding.Count(c.Records), finding.Percent(ratio(c.Records, of[c.From])), sizeText(c.Bytes))
	}
	return block{head: fmt.Sprintf("from → to at %s, keyed records%s", candidateText(p), estimatedText(r)), table: t}
}
