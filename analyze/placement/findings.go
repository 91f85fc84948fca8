package placement

import (
	"fmt"
	"strings"
	"time"

	"keyspread/analyze/finding"
	"keyspread/partitioner"
)

// Findings draws the conclusions about placement and key bytes.
func (pl *Placement) Findings() []finding.Finding {
	if pl.Coverage.Placements == 0 {
		return nil
	}
	var fs []finding.Finding
	fs = append(fs, pl.mismatch()...)
	fs = append(fs, pl.mixed()...)
	fs = append(fs, pl.changed()...)
	fs = append(fs, pl.past()...)
	fs = append(fs, pl.unexplained()...)
	fs = append(fs, pl.inSeveral()...)
	fs = append(fs, pl.drift()...)
	fs = append(fs, pl.schemaIDs()...)
	fs = append(fs, pl.misfit()...)
	fs = append(fs, pl.found()...)
	fs = append(fs, pl.undecided()...)
	return fs
}

// mismatch is a named partitioner that the keys contradict.
func (pl *Placement) mismatch() []finding.Finding {
	a := pl.Assumed
	if a == nil || 1-a.Records <= tolerated {
		return nil
	}
	what := fmt.Sprintf("%s gives %s of keyed records the partition they are in at %s", a.Partitioner,
		finding.Percent(a.Records), finding.Plural(int64(pl.NumPartitions), "partition", "partitions"))
	severity := finding.Critical
	switch pl.Answer {
	case Explained, Partly, Mixture:
		what += "; " + pl.Reason()
	case Unexplained:
		what += fmt.Sprintf("; no known partitioner explains them (chance alone agrees in %s)", finding.Percent(1/float64(pl.NumPartitions)))
	default:
		severity = finding.Warning
		what += "; " + pl.Reason()
	}
	return []finding.Finding{{
		ID: finding.PartitionerMismatch, Severity: severity, What: what + ".",
		Do: "Name the producers' partitioner with --partitioner, or --partitioner auto; until then figures about future placement are wrong.",
	}}
}

// mixed is two or more writers that are not one partitioner before and after partitions were added.
func (pl *Placement) mixed() []finding.Finding {
	if pl.Answer != Mixture {
		return nil
	}
	mixed := false
	for i := range pl.Writers {
		mixed = mixed || !sameRule(&pl.Writers[0], &pl.Writers[i]) && i > 0
	}
	if !mixed {
		return nil
	}
	var parts []string
	for i := range pl.Writers {
		w := &pl.Writers[i]
		parts = append(parts, fmt.Sprintf("%s wrote about %s (%s)", w.Name(pl.NumPartitions), finding.Percent(w.Records.Share),
			finding.PercentRange(w.Records.Lo, w.Records.Hi)))
	}
	what := "Several partitioners wrote the keyed records: " + strings.Join(parts, ", ")
	if pl.Other.Records.Share >= tolerated {
		what += fmt.Sprintf("; about %s fit none", finding.Percent(pl.Other.Records.Share))
	}
	return []finding.Finding{{
		ID: finding.MixedPartitioners, Severity: finding.Critical, What: what + ".",
		Do: "Find each producer by its example keys and times, and configure one partitioner for all.",
	}}
}

// changed is the points in time at which a writer took over from another partitioner.
func (pl *Placement) changed() []finding.Finding {
	var fs []finding.Finding
	for _, c := range pl.Changes {
		before, after := pl.Writers[c.Before].Name(pl.NumPartitions), pl.Writers[c.After].Name(pl.NumPartitions)
		f := finding.Finding{
			ID: finding.PartitionerChanged, Severity: finding.Warning,
			What: fmt.Sprintf("The writer changed from %s to %s %s.", before, after, c.when()),
			Do:   "Keys written on both sides are in two partitions: see what was deployed then.",
		}
		if c.Kind == PartitionsAdded {
			f.ID = finding.PartitionsAdded
			f.What = fmt.Sprintf("The topic had %s until it was given more: %s, %s gave way to %s.",
				finding.Plural(int64(pl.Writers[c.Before].NumPartitions), "partition", "partitions"), c.when(), before, after)
			f.Do = "Keys written on both sides are in two partitions until retention has removed the old records."
		}
		fs = append(fs, f)
	}
	return fs
}

// when brackets the change.
func (c *Change) when() string {
	from, to := shown(c.LastBefore), shown(c.FirstAfter)
	if from == to {
		return "at " + to
	}
	return fmt.Sprintf("between %s and %s", from, to)
}

func shown(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }

// past is the writers of another count that no change in time accounts for.
func (pl *Placement) past() []finding.Finding {
	var fs []finding.Finding
	for i := range pl.Writers {
		w := &pl.Writers[i]
		told := false
		for _, c := range pl.Changes {
			told = told || c.Before == i && c.Kind == PartitionsAdded
		}
		if !w.Past(pl.NumPartitions) || told || pl.Answer == Ambiguous {
			continue
		}
		fs = append(fs, finding.Finding{
			ID: finding.PartitionsAdded, Severity: finding.Warning,
			What: fmt.Sprintf("%s of keyed records lie where %s puts them, and the topic has %d: %s.", finding.Percent(w.Records.Share),
				w.Name(pl.NumPartitions), pl.NumPartitions, period(w)),
			Do: "If partitions were added, nothing was written to these keys since; if not, a producer is configured to the smaller count.",
		})
	}
	return fs
}

// period says when a writer's own placements were written.
func period(w *Writer) string {
	if w.First < 0 {
		return "their records have no time"
	}
	return fmt.Sprintf("written from %s to %s", shown(w.First), shown(w.Last))
}

// unexplained is records that no writer explains.
func (pl *Placement) unexplained() []finding.Finding {
	if pl.Answer != Unexplained && pl.Answer != Partly && pl.Answer != Mixture {
		return nil
	}
	share := pl.Other.Records.Share
	if pl.Answer != Unexplained && max(share, pl.Other.Keys.Share) < tolerated {
		return nil
	}
	if pl.ignoresKeys() {
		return []finding.Finding{{
			ID: finding.KeysIgnored, Severity: finding.Warning,
			What: fmt.Sprintf("The partition is no function of the key: %s of the keys with several records are in several partitions, and no known partitioner explains %s of the keyed records.",
				finding.Percent(pl.Scattered), finding.Percent(share)),
			Do: "Check whether the producer's partitioner ignores keys; there is no order per key.",
		}}
	}
	var what []string
	of := " of keyed records"
	switch rest := fmt.Sprintf("fit no known partitioner at %s or fewer", finding.Plural(int64(pl.NumPartitions), "partition", "partitions")); {
	case share >= tolerated:
		what, of = append(what, fmt.Sprintf("About %s of keyed records %s", finding.Percent(share), rest)), ""
	case pl.Other.Keys.Share >= tolerated:
		what = append(what, fmt.Sprintf("About %s of keys, with less than %s of keyed records, %s",
			finding.Percent(pl.Other.Keys.Share), finding.Percent(tolerated), rest))
	}
	for i := range pl.Writers {
		if w := &pl.Writers[i]; w.Fixed >= 0 {
			what = append(what, fmt.Sprintf("%s%s are in partition %d whatever their key", finding.Percent(w.Records.Share), of, w.Fixed))
			of = ""
		}
	}
	return []finding.Finding{{
		ID: finding.UnexplainedKeys, Severity: finding.Warning, What: strings.Join(what, "; ") + ".",
		Do: "Ask the producer's owner how it chooses the partition; name a partitioner of your own with exec:, jvm: or table:.",
	}}
}

// inSeveral is keys in more than one partition.
func (pl *Placement) inSeveral() []finding.Finding {
	if len(pl.Several) == 0 || pl.ignoresKeys() {
		return nil
	}
	count := finding.Plural(pl.SeveralKeys, "key is", "keys are")
	if !pl.Coverage.All {
		count = "About " + count
	}
	top := &pl.Several[0]
	return []finding.Finding{{
		ID: finding.KeysInSeveral, Severity: finding.Warning, Key: top.Key, HasKey: true,
		What: fmt.Sprintf("%s in more than one partition (%s); the heaviest is {key} with %s in %d partitions.",
			count, pl.causes(),
			finding.Plural(top.Records, "record", "records"), len(top.Where)),
		Do: "Their records have no order between partitions; the cause says what to change.",
	}}
}

// causes says why keys are in more than one partition, with how many for each where there are several causes.
func (pl *Placement) causes() string {
	of := ""
	if !pl.Coverage.All {
		of = fmt.Sprintf(" of %s compared", finding.Count(pl.SeveralCompared))
	}
	if len(pl.Causes) == 1 {
		return "cause" + of + ": " + pl.Causes[0].Cause.phrase()
	}
	var causes []string
	for _, c := range pl.Causes {
		causes = append(causes, fmt.Sprintf("%s for %s", c.Cause.phrase(), finding.Count(c.Keys)))
	}
	return "causes" + of + ": " + listed(causes, "and")
}

// drift is logical keys in several spellings.
func (pl *Placement) drift() []finding.Finding {
	s := &pl.Keys.Drift
	if s.Keys == 0 {
		return nil
	}
	top := &s.List[0]
	var forms []string
	for _, sp := range top.Spellings {
		forms = append(forms, fmt.Sprintf("%s in partition %s", sp.Label, partitions(sp.Partitions)))
	}
	severity := finding.Warning
	if s.Split == 0 {
		severity = finding.Info
	}
	return []finding.Finding{{
		ID: finding.KeyDrift, Severity: severity, Key: top.Spellings[0].Key, HasKey: true,
		What: fmt.Sprintf("%s written as different bytes, %s with %s of records; %s of them in different partitions. {key}: %s.",
			finding.Plural(s.Keys, "logical key is", "logical keys are"), pl.atLeast(), finding.Percent(s.Records),
			finding.Count(s.Split), listed(forms, "and")),
		Do: "Use one key serializer, with one schema, in every producer; the spellings are different keys to Kafka.",
	}}
}

// atLeast hedges a count of spellings that meet in a sample.
func (pl *Placement) atLeast() string {
	if pl.Keys.All {
		return "together"
	}
	return "at least, in a sample of keys, together"
}

func partitions(ids []int32) string {
	const shown = 4
	var names []string
	for _, id := range ids {
		names = append(names, fmt.Sprint(id))
	}
	if len(names) > shown {
		names = append(names[:shown], fmt.Sprintf("%d others", len(names)-shown))
	}
	return listed(names, "and")
}

// schemaIDs is keys in Confluent frames.
func (pl *Placement) schemaIDs() []finding.Finding {
	kb := &pl.Keys
	if len(kb.Schemas) == 0 {
		return nil
	}
	f := finding.Finding{ID: finding.SchemaIDInKey, Severity: finding.Info, Do: "Freeze the key's schema, or use a key without a frame."}
	if len(kb.Schemas) > 1 {
		f.Severity = finding.Warning
		var ids []string
		for _, s := range kb.Schemas {
			ids = append(ids, fmt.Sprintf("%d (%s)", s.ID, finding.Percent(s.Keys)))
		}
		if len(ids) > formsListed {
			ids = append(ids[:formsListed], fmt.Sprintf("%d others", len(ids)-formsListed))
		}
		f.What = fmt.Sprintf("Keys are framed with the schema ids %s; %s under several ids, %s of them in different partitions", listed(ids, "and"),
			finding.Plural(kb.ByID.Keys, "logical key occurs", "logical keys occur"), finding.Count(kb.ByID.Split))
	} else {
		f.What = fmt.Sprintf("Keys are framed with schema id %d, which is part of what is hashed", kb.Schemas[0].ID)
	}
	if kb.NextKnown {
		f.What += fmt.Sprintf("; the next id would move %s of the framed keys (%s of their records)", finding.Percent(kb.NextKeys), finding.Percent(kb.NextRecords))
	}
	f.What += "."
	return []finding.Finding{f}
}

// misfit is keys that are not of the format they were to be shown in.
func (pl *Placement) misfit() []finding.Finding {
	m := &pl.Keys.Misfit
	if m.Keys == 0 {
		return nil
	}
	return []finding.Finding{{
		ID: finding.KeyFormatMisfit, Severity: finding.Info, Key: m.Example, HasKey: true,
		What: fmt.Sprintf("%s of the keys, with %s of records, are not of the key format %s, such as {key}; they are shown as they are.",
			finding.Percent(m.Keys), finding.Percent(m.Records), pl.Keys.Format),
		Do: "Leave --key-format at auto, or give the format the keys have.",
	}}
}

// found is one writer that is worth knowing.
func (pl *Placement) found() []finding.Finding {
	if pl.Answer != Explained {
		return nil
	}
	var fs []finding.Finding
	at, ok := pl.currentWriter()
	if !ok {
		at = 0
	}
	w := &pl.Writers[at]
	if w.Over != WholeKey {
		cause := ""
		if w.Over == WithoutWindow || w.Over == WithoutSession {
			cause = " (Streams windowed)"
		}
		fs = append(fs, finding.Finding{
			ID: finding.PlacedByPart, Severity: finding.Info,
			What: fmt.Sprintf("Keys are placed by a part of their bytes%s: %s explains %s of keyed records.", cause, w.Name(pl.NumPartitions), finding.Percent(pl.Matched.Records.Share)),
			Do:   "Write and copy this topic only with what hashes the same part.",
		})
	}
	java := pl.fitOf("murmur2")
	if w.Over == WholeKey && w.Partitioner != "murmur2" && 1-java.Records > tolerated {
		what := fmt.Sprintf("Placement fits %s (%s of keyed records), not Java's murmur2 (%s)", w.Name(pl.NumPartitions),
			finding.Percent(pl.Matched.Records.Share), finding.Percent(java.Records))
		if clients := clientsOf(w.Partitioner); clients != "" {
			what += ". Clients that place keys so: " + clients
		}
		fs = append(fs, finding.Finding{
			ID: finding.PartitionerFound, Severity: finding.Info, What: what + ".",
			Do: "Give every other producer and stream application of this topic the same partitioner.",
		})
	}
	if w.Fixed < 0 && len(w.Alike) > 0 && differsElsewhere(w) {
		fs = append(fs, finding.Finding{
			ID: finding.PartitionersAlike, Severity: finding.Info,
			What: fmt.Sprintf("%s place every key seen alike at %s.", listed(append([]string{w.Partitioner}, w.Alike...), "and"),
				finding.Plural(int64(w.NumPartitions), "partition", "partitions")),
			Do: "Find out which one the producer uses before going to another count.",
		})
	}
	return fs
}

// differsElsewhere reports whether classes that place alike here differ at some other count. 3 partitions part all
// classes that can be parted.
func differsElsewhere(w *Writer) bool {
	const parting = 3
	return len(partitioner.Alike(w.Partitioner, parting, false)) < len(w.Alike)
}

func (pl *Placement) fitOf(id string) Fit {
	for _, f := range pl.Fits {
		if f.Partitioner == id {
			return f
		}
	}
	return Fit{Partitioner: id}
}

// clientsOf names a few clients that use a class.
func clientsOf(class string) string {
	const shown = 4
	for _, c := range partitioner.Classes() {
		if c.ID == class {
			names := c.Clients
			if len(names) > shown {
				names = append(names[:shown:shown], fmt.Sprintf("%d others", len(names)-shown))
			}
			return listed(names, "and")
		}
	}
	return ""
}

// undecided says that the keys do not tell.
func (pl *Placement) undecided() []finding.Finding {
	switch pl.Answer {
	case Ambiguous:
		return []finding.Finding{{
			ID: finding.AmbiguousPlacement, Severity: finding.Info,
			What: fmt.Sprintf("The keys do not tell who placed them: %s fit %s.", pl.rivalNames(), finding.Plural(pl.Coverage.Placements, "placement", "placements")),
			Do:   "Read more keys, or name the producers' partitioner with --partitioner.",
		}}
	case TooFewKeys:
		reason := pl.Reason()
		return []finding.Finding{{
			ID: finding.PlacementNotChecked, Severity: finding.Info, What: strings.ToUpper(reason[:1]) + reason[1:] + ".",
			Do: "Name the producers' partitioner with --partitioner.",
		}}
	}
	return nil
}
