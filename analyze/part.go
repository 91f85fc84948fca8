package analyze

import (
	"fmt"
	"strings"

	"keyspread/analyze/finding"
	"keyspread/analyze/profile"
)

// PartError says that a plan was asked for of some of a topic's partitions: the loads of a candidate come from all.
type PartError struct{ Read, Of int }

func (e *PartError) Error() string {
	return fmt.Sprintf("plan needs every partition, and this is %d of %d: leave the choice of partitions out, or merge the shards' profiles first",
		e.Read, e.Of)
}

// needsAll refuses a plan of some of the partitions.
func (c Config) needsAll(read, of int) error {
	if len(c.Plans) > 0 && read < of {
		return &PartError{read, of}
	}
	return nil
}

// topicFindings draws the conclusions about the topic: its loads, what is hot in it, how many keys it has. They need every
// partition, read alike; of a part there is one finding, which says that it is one.
func topicFindings(r *Result) []finding.Finding {
	if e := r.Profile.Extent(); !e.OfTopic() {
		return []finding.Finding{partFinding(r.Profile, e)}
	}
	var fs []finding.Finding
	fs = append(fs, hotKeyFindings(r)...)
	fs = append(fs, hotPartitionFindings(r)...)
	fs = append(fs, ceilingFindings(r)...)
	bursts := burstFindings(r)
	fs = append(fs, causeFinding(r, len(bursts) > 0)...)
	fs = append(fs, bursts...)
	return append(fs, cardinalityFinding(r)...)
}

// partFinding says which part of the topic was read. It is information when the user asked for no more.
func partFinding(p *profile.Profile, e profile.Extent) finding.Finding {
	f := finding.Finding{ID: finding.PartialRange, Severity: finding.Info}
	var what, do []string
	if e.Read < e.Of {
		what = append(what, fmt.Sprintf("%d of %d partitions were read", e.Read, e.Of))
		do = append(do, "read every partition, or merge the shards' profiles (keyspread merge)")
	}
	switch {
	case e.Scope == profile.Tail:
		what = append(what, fmt.Sprintf("of each partition only the end was read (%s)", p.Range))
		do = append(do, "take one time window for all (--since), or --sample blocks")
	case e.Scope == profile.ChosenOffsets:
		what = append(what, fmt.Sprintf("only chosen offsets were read (%s)", p.Range))
		do = append(do, "take one time window for all (--since), or --sample blocks")
	case !e.Asked:
		what = append(what, "the profiles joined are not of the same range in every partition")
		do = append(do, "read all parts with the same --since and --until, given as times")
	}
	if !e.Ended {
		f.Severity = finding.Warning
		what = append(what, "the reading ended before "+p.Topic+" did, which may go on in another way")
		do = append(do, "read it to its end")
	}
	if !e.Level {
		f.Severity = finding.Warning
		what = append(what, "partitions were read to different depths")
		do = append(do, "run again to the end")
	}
	f.What = sentence(what) + " Shares and loads are of what was read; what is hot in the topic, and why, cannot be told from them."
	f.Do = "To judge the topic: " + strings.Join(do, "; ") + "."
	return f
}

// sentence makes one of its parts.
func sentence(parts []string) string {
	s := strings.Join(parts, "; ") + "."
	return strings.ToUpper(s[:1]) + s[1:]
}
