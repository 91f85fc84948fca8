package reports

import (
	"fmt"
	"strings"

	"keyspread/analyze/finding"
	"keyspread/analyze/placement"
)

// placementFacts says which partitioner the report is drawn with, who wrote the topic, and what its keys look like.
func placementFacts(r *Report, d detail) []fact {
	p := r.Placement
	if p == nil {
		return []fact{{"placement", "assumed partitioner " + r.Topic.Partitioner}}
	}
	facts := []fact{{"placement", answerText(r)}}
	if len(p.Writers) > 1 || d.wide {
		for i := range p.Writers {
			facts = append(facts, fact{"", writerText(&p.Writers[i], r.Topic.NumPartitions)})
		}
	}
	for _, c := range p.Changes {
		facts = append(facts, fact{"", changeText(p, c)})
	}
	if p.NullKeys != nil {
		facts = append(facts, fact{"null keys", spreadText(r, p.NullKeys, func(s *Sample) Shares { return s.NullKey })})
	}
	if p.EmptyKeys != nil {
		facts = append(facts, fact{"empty keys", spreadText(r, p.EmptyKeys, func(s *Sample) Shares { return s.EmptyKey })})
	}
	for i, k := range p.Several {
		if !d.wide && i == severalShown {
			facts = append(facts, fact{"", fmt.Sprintf("… %d more keys in several partitions are in the other formats", len(p.Several)-i)})
			break
		}
		facts = append(facts, fact{"", severalText(k)})
	}
	if text := formsText(p); text != "" {
		facts = append(facts, fact{"key bytes", text})
	}
	return facts
}

// severalShown is how many keys in several partitions a short report names.
const severalShown = 3

func answerText(r *Report) string {
	p := r.Placement
	text := r.Topic.Partitioner + ", as named"
	told := p.Reason != nil && strings.HasPrefix(*p.Reason, placement.FromKeys)
	if told {
		text = r.Topic.Partitioner + ", told from the keys"
	}
	switch {
	case p.Answer == placement.Assigned.String():
		of := ""
		if c := r.Contents; c.Assigned < c.Records {
			of = count(c.Assigned) + " of " + finding.Plural(c.Records, "record", "records") + " "
		}
		return of + "placed here by " + r.Topic.Partitioner + ", as the file names no partition"
	case len(p.Writers) == 1 && p.Answer == "explained" && (told || p.Reason == nil):
		w := p.Writers[0]
		text += fmt.Sprintf(": %s places %s of keyed records", w.name(), percentRange(exactOr(w.Records)))
		if w.NumPartitions != r.Topic.NumPartitions && w.Partitioner != nil {
			text += fmt.Sprintf(" as at %s partitions", finding.Count(int64(w.NumPartitions)))
		}
	case p.Reason != nil:
		text = r.Topic.Partitioner + ", " + *p.Reason
	default:
		text += "; who wrote the topic: " + p.Answer
	}
	if !p.AllCompared {
		text += fmt.Sprintf(" (%s placements compared)", count(p.PlacementsCompared))
	}
	return text
}

// exactOr drops the interval of a share that is known.
func exactOr(s ShareRange) ShareRange {
	if s.Lo == s.Hi {
		s.Estimate = nil
	}
	return s
}

func (w *PlacementWriter) name() string {
	if w.Partitioner == nil {
		if w.FixedPartition == nil {
			return "an unknown writer"
		}
		return fmt.Sprintf("partition %d whatever the key", *w.FixedPartition)
	}
	name := *w.Partitioner
	if len(w.Alike) > 0 {
		name += " (or " + strings.Join(w.Alike, ", ") + ": they place these keys alike)"
	}
	return name
}

func writerText(w *PlacementWriter, n int32) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %s of keyed records", w.name(), percentRange(exactOr(w.Records)))
	if w.Partitioner != nil && w.NumPartitions != n {
		fmt.Fprintf(&text, ", as at %s partitions", finding.Count(int64(w.NumPartitions)))
	}
	if w.Hashes != "" && w.Hashes != wholeKey {
		text.WriteString(", over " + w.Hashes)
	}
	if w.First != nil && w.Last != nil {
		fmt.Fprintf(&text, ", from %s to %s", timeText(w.First), timeText(w.Last))
	}
	for i, e := range w.Examples {
		if i == 0 {
			text.WriteString("; only it explains ")
		} else {
			text.WriteString(", ")
		}
		if i == 2 {
			text.WriteString("…")
			break
		}
		fmt.Fprintf(&text, "%s in %d", e.Key.shown(), e.Partition)
	}
	return text.String()
}

// wholeKey is what a writer hashes that needs no mention.
const wholeKey = "the whole key"

func changeText(p *Placement, c PlacementChange) string {
	before, after := "another", "another"
	if c.Before >= 0 && c.Before < len(p.Writers) && c.After >= 0 && c.After < len(p.Writers) {
		before, after = p.Writers[c.Before].name(), p.Writers[c.After].name()
	}
	return fmt.Sprintf("%s between %s and %s UTC: from %s to %s", strings.ReplaceAll(c.Kind, "-", " "), timeText(c.From), timeText(c.To), before, after)
}

// spreadText says how records lie that have no key, or an empty one. Blocks of a sample do not show a pattern.
func spreadText(r *Report, k *KeySpread, of func(*Sample) Shares) string {
	where := finding.Plural(int64(k.Partitions), "partition", "partitions")
	if k.Partition != nil {
		where = fmt.Sprintf("partition %d alone", *k.Partition)
	}
	if isEstimated(r) {
		text := fmt.Sprintf("%s of records, seen in %s", percentRange(of(r.Sample).Records), where)
		if k.Partition == nil {
			text += "; how they are spread, a sample cannot tell"
		}
		return text
	}
	return fmt.Sprintf("%s in %s: %s", finding.Plural(k.Records, "record", "records"), where, strings.ReplaceAll(k.Pattern, "-", " "))
}

func severalText(k SeveralKey) string {
	parts := make([]string, 0, len(k.Where))
	for i, w := range k.Where {
		if i == 8 {
			parts = append(parts, fmt.Sprintf("%d more", len(k.Where)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%d (%s)", w.Partition, count(w.Records)))
	}
	return fmt.Sprintf("%s is in partitions %s: %s", k.Key.shown(), strings.Join(parts, ", "), strings.ReplaceAll(k.Cause, "-", " "))
}

// formsText names what keys look like, when that is more than plain text.
func formsText(p *Placement) string {
	if len(p.KeyForms) < 2 && len(p.Schemas) == 0 {
		return ""
	}
	var parts []string
	for i, f := range p.KeyForms {
		if i == 3 {
			parts = append(parts, fmt.Sprintf("%d other forms", len(p.KeyForms)-i))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %s", f.Form, finding.Percent(f.Records)))
	}
	text := "by records: " + strings.Join(parts, ", ")
	if named := schemasText(p.Schemas); named != "" {
		text += "; " + named
	}
	if n := p.NextSchema; n != nil {
		text += fmt.Sprintf("; framed with schema %d, %s of them would be elsewhere", n.ID, finding.Percent(n.Records))
	}
	return text
}

// schemasText says what schemas are called, of the first few whose name is known.
func schemasText(schemas []Schemas) string {
	const most = 4
	var named []string
	for _, s := range schemas {
		if s.Name != nil && len(named) < most {
			named = append(named, fmt.Sprintf("schema %d is %s", s.ID, *s.Name))
		}
	}
	return strings.Join(named, ", ")
}
