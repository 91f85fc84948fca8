package profile

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Scope says what a range makes of each partition that it names.
type Scope string

// The scopes of a range. Other is that of a range of no Kafka topic, such as a file.
const (
	Topic         Scope = "topic"      // everything, of every partition
	SomeOfTopic   Scope = "partitions" // everything, of some partitions
	Tail          Scope = "tail"       // the last so many offsets
	Window        Scope = "window"     // one stretch of time
	ChosenOffsets Scope = "offsets"
	Other         Scope = "other"
)

// Extent says which part of its topic a profile was counted from, and so what its shares and loads are of.
type Extent struct {
	Scope    Scope
	Read, Of int // partitions: those of the profile, those of the topic

	// Asked reports that the range gives every partition the same: all of it, or the same stretch of time. The last so many
	// offsets and chosen ones do not: how much each partition holds of them is the user's choice and not the topic's.
	Asked bool
	// Level reports that of what was asked for, about the same part was read everywhere.
	Level bool
	// Ended reports that what was asked for is known: a file that was not read to its end may go on in another way.
	Ended bool
}

// OfTopic reports whether loads can be compared and shares are those of the topic (in a time window, of that window):
// every partition was read, and each to the same depth.
func (e Extent) OfTopic() bool { return e.Read == e.Of && e.Asked && e.Level && e.Ended }

// levelDepth is how much of the deepest partition's part every other must have been read, so that what an incomplete read
// lacks does not decide between loads: retention alone takes offsets away while a long read goes on.
const levelDepth = 0.99

// Extent returns what the profile was counted from.
func (p *Profile) Extent() Extent {
	e := Extent{Scope: p.scope(), Read: len(p.Partitions), Of: int(p.NumPartitions), Level: true, Ended: true}
	e.Asked = e.Scope != Tail && e.Scope != ChosenOffsets && !strings.HasSuffix(p.Range, differ)
	least, most := 1.0, 0.0
	for i := range p.Partitions {
		c := &p.Partitions[i].Coverage
		depth := 0.0 // of a partition that could not even be asked for its offsets
		switch {
		case c.Asked < 0:
			e.Ended = false
			continue
		case c.Asked > 0:
			depth = float64(c.Read) / float64(c.Asked)
		case c.Err == nil:
			continue // it has nothing in the range
		}
		least, most = min(least, depth), max(most, depth)
	}
	e.Level = least >= levelDepth*most && (most > 0 || least == 1)
	return e
}

// ofPartitions begins the list of partitions behind a range, differ ends a range that is not that of every partition.
const (
	ofPartitions = " of partitions "
	differ       = ", not the same of every partition"
)

// baseRange is a range without its list of partitions.
func baseRange(of string) string {
	base, _, _ := strings.Cut(of, ofPartitions)
	return base
}

// scope tells a range by its text, which is all that a saved profile keeps of it. Of joined profiles it is the scope
// that says least.
func (p *Profile) scope() Scope {
	whole := Topic
	if len(p.Partitions) < int(p.NumPartitions) {
		whole = SomeOfTopic
	}
	s := whole
	for part := range strings.SplitSeq(strings.TrimSuffix(p.Range, differ), "; ") {
		part = baseRange(part)
		number, isTail := strings.CutPrefix(part, "tail ")
		switch {
		case strings.HasPrefix(part, "offsets "):
			return ChosenOffsets
		case isTail && !p.shorterThan(number):
			return Tail
		case isTail || part == "earliest..latest":
		case isWindow(part):
			s = Window
		default:
			return Other
		}
	}
	return s
}

// isWindow reports whether a range is that of two times, either of which can be left open.
func isWindow(of string) bool {
	from, _, ok := strings.Cut(of, "..")
	return ok && (from == "earliest" || from != "" && '0' <= from[0] && from[0] <= '9')
}

// joinRanges names the ranges of profiles that are joined, and says when they do not add up to the same for every
// partition: what one lacks is then nothing that the topic does.
func joinRanges(profiles []*Profile) string {
	ranges, of := map[string]bool{}, map[string]map[int32]bool{}
	same := true
	for _, p := range profiles {
		text, uneven := strings.CutSuffix(p.Range, differ)
		same = same && !uneven
		for one := range strings.SplitSeq(text, "; ") { // of a profile that was merged itself
			ranges[one] = true
			base := baseRange(one)
			if of[base] == nil {
				of[base] = map[int32]bool{}
			}
			for i := range p.Partitions {
				of[base][p.Partitions[i].ID] = true
			}
		}
	}
	text := strings.Join(slices.Sorted(maps.Keys(ranges)), "; ")
	var first map[int32]bool
	for _, partitions := range of {
		if first == nil {
			first = partitions
		}
		same = same && maps.Equal(partitions, first)
	}
	if !same {
		text += differ
	}
	return text
}

// shorterThan reports whether every partition holds fewer offsets than a tail asks for, so that it was the whole of them.
func (p *Profile) shorterThan(tail string) bool {
	n, err := strconv.ParseInt(tail, 10, 64)
	if err != nil {
		return false
	}
	for i := range p.Partitions {
		part := &p.Partitions[i]
		var held int64
		for _, s := range part.Spans {
			held += s.End - s.Start
		}
		if held >= n {
			return false
		}
	}
	return true
}
