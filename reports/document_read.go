package reports

import (
	"fmt"
	"slices"
	"strings"

	"keyspread/analyze/finding"
	"keyspread/analyze/profile"
)

func readSection(r *Report, d detail) section {
	c, k := r.Contents, r.Coverage
	file := profile.Scope(k.Scope) == profile.Other // that of no topic: a file of keys
	how := k.Range
	if !file {
		how += ", " + k.Isolation
	}
	b := block{facts: []fact{{"range", how}}}
	if only := scopeText(r); only != "" {
		b.facts = append(b.facts, fact{"describes", only})
	}
	b.facts = append(b.facts, fact{"coverage", coverageText(r)})
	for i, p := range incomplete(r) {
		if d.problems > 0 && i == d.problems {
			b.facts = append(b.facts, fact{"", fmt.Sprintf("… %d more incomplete partitions", len(incomplete(r))-i)})
			break
		}
		b.facts = append(b.facts, fact{"", problemText(r.Topic.Name, p)})
	}
	if c.Records == 0 {
		return section{"READ", []block{b}}
	}
	if r.Sample != nil {
		b.facts = append(b.facts, sampleFacts(r)...)
	} else {
		bytes := bytesText(c)
		if !file {
			bytes += fmt.Sprintf("; %s as stored", sizeText(c.WireBytes))
		}
		b.facts = append(b.facts,
			fact{"bytes", bytes},
			fact{"keys", distinctText(c)},
			fact{"of these", ofTheseText(c, file)})
	}
	if c.MinTime != nil {
		b.facts = append(b.facts, fact{"time", timeText(c.MinTime) + " to " + timeText(c.MaxTime) + " UTC"})
	}
	b.facts = append(b.facts, placementFacts(r, d)...)
	return section{"READ", []block{b}}
}

// scopeText says what a report describes that is not of everything: of itself, and of nothing beyond it.
func scopeText(r *Report) string {
	c := r.Coverage
	var only []string
	if c.PartitionsRead < int(r.Topic.NumPartitions) {
		only = append(only, partitionsRead(r)+" only")
	}
	of, _, _ := strings.Cut(c.Range, " of partitions ")
	switch profile.Scope(c.Scope) {
	case profile.Topic, profile.SomeOfTopic, "": // the last in what is no report of ours
	case profile.Tail:
		only = append(only, fmt.Sprintf("the last %s offsets of each partition only; says nothing about what came before them",
			strings.TrimPrefix(of, "tail ")))
	case profile.Window:
		only = append(only, "this time window only; what is usual takes several windows to tell")
	case profile.ChosenOffsets:
		only = append(only, "these offsets only; says nothing about others")
	default:
		only = append(only, "the keys of this file")
	}
	if !c.OfTopic {
		only = append(only, "shares and loads are of what was read, not of the topic")
	}
	return strings.Join(only, "; ")
}

func bytesText(c Contents) string {
	keysOnly := ""
	if c.ValueBytes+c.HeaderBytes == 0 {
		keysOnly = "; so bytes are those of the keys"
	}
	return fmt.Sprintf("%s: keys %s, values %s, headers %s",
		sizeText(c.Bytes), sizeText(c.KeyBytes), sizeText(c.ValueBytes), sizeText(c.HeaderBytes)) + keysOnly
}

// ofTheseText counts the records that are special; a file has no transactions to pass over.
func ofTheseText(c Contents, file bool) string {
	s := fmt.Sprintf("null key %s, empty key %s, tombstones %s",
		partText(c.NullKey.Records, c.Records), partText(c.EmptyKey.Records, c.Records), partText(c.Tombstones, c.Records))
	if !file {
		s += fmt.Sprintf("; passed over: %s control, %s aborted", count(c.ControlRecords), count(c.AbortedRecords))
	}
	return s
}

func coverageText(r *Report) string {
	k := r.Coverage
	asked := "asked for"
	if r.Sample != nil {
		asked = "of the blocks drawn"
	}
	s := fmt.Sprintf("%s of %s, ", finding.Count(int64(k.PartitionsRead)), finding.Plural(int64(r.Topic.NumPartitions), "partition", "partitions"))
	switch {
	case k.OffsetsAsked == nil:
		s += finding.Plural(k.OffsetsRead, "record", "records") + " up to where the reading ended; how many follow is not known"
		if i := slices.IndexFunc(r.Partitions, func(p Partition) bool { return p.Coverage.Error != nil }); i >= 0 && k.Reason == nil {
			s += ": " + *r.Partitions[i].Coverage.Error
		}
	case k.Complete && profile.Scope(k.Scope) == profile.Other:
		s += "all " + finding.Plural(k.OffsetsRead, "record", "records")
	case k.Complete:
		s += fmt.Sprintf("all %s offsets %s", count(*k.OffsetsAsked), asked)
	default:
		s += fmt.Sprintf("%s of %s offsets %s (%s)", count(k.OffsetsRead), count(*k.OffsetsAsked), asked,
			finding.Percent(ratio(k.OffsetsRead, *k.OffsetsAsked)))
	}
	if k.OffsetsLost > 0 {
		s += fmt.Sprintf("; %s were removed by retention first", count(k.OffsetsLost))
	}
	if k.Partial {
		s += "; stopped early"
		if k.Reason != nil {
			s += ": " + *k.Reason
		}
	}
	return s
}

func distinctText(c Contents) string {
	if c.DistinctKeys == nil || c.SeveralPartitions == nil {
		return "not counted"
	}
	several := estimateText(*c.SeveralPartitions) + " in more than one partition"
	if c.SeveralPartitions.Exact && c.SeveralPartitions.Count == 0 {
		several = "none in more than one partition"
	}
	if c.CountMode == profile.Exact.String() {
		return fmt.Sprintf("%s distinct, counted exactly; %s", estimateText(*c.DistinctKeys), several)
	}
	s := fmt.Sprintf("%s distinct; %s", estimateText(*c.DistinctKeys), several)
	if m := c.MissingKey; m != nil {
		s += fmt.Sprintf(". Counts of keys are bounded: one that was dropped has %s of records, %s of bytes",
			finding.AtMost(ratio(m.Records, c.Records)), finding.AtMost(ratio(m.Bytes, c.Bytes)))
	}
	return s
}
