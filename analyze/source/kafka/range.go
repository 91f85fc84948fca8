package kafka

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"keyspread/analyze/source"
)

// Range says which offsets of each partition are read. Its zero value is everything, from the log start offset to the
// end offset at the start of the run.
//
// Since and Until go by the records' timestamps: the range of a partition starts at the first record whose timestamp is
// at or after Since and ends before the first one at or after Until. With timestamps set by producers that is not the
// same as "all records of that time", as they need not be in order.
//
// Tail, Offsets and the pair Since/Until exclude each other.
type Range struct {
	Since   int64         // milliseconds since the Unix epoch, inclusive; 0: log start
	Until   int64         // milliseconds since the Unix epoch, exclusive; 0: end
	Tail    int64         // the last so many offsets of each partition; 0: all
	Offsets []OffsetRange // these only; partitions not named are left out
}

// OffsetRange is [Start, End) of one partition; -1 stands for the log start offset and for the end offset.
type OffsetRange struct {
	Partition  int32
	Start, End int64
}

func (o OffsetRange) String() string {
	part := func(n int64) string {
		if n < 0 {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	return fmt.Sprintf("%d:%s-%s", o.Partition, part(o.Start), part(o.End))
}

// Validate reports the first contradiction in r.
func (r Range) Validate() error {
	switch {
	case r.Tail < 0:
		return fmt.Errorf("tail %d: want a number of offsets above 0", r.Tail)
	case r.Since < 0 || r.Until < 0:
		return errors.New("since and until: want times after 1970-01-01")
	case r.Tail > 0 && (r.Since > 0 || r.Until > 0):
		return errors.New("tail and since/until exclude each other")
	case len(r.Offsets) > 0 && (r.Tail > 0 || r.Since > 0 || r.Until > 0):
		return errors.New("offsets and tail, since or until exclude each other")
	case r.Since > 0 && r.Until > 0 && r.Since >= r.Until:
		return fmt.Errorf("since %s is not before until %s", formatTime(r.Since), formatTime(r.Until))
	}
	return nil
}

// String returns the range in the words of the report, "earliest..latest", "tail 1000".
func (r Range) String() string {
	switch {
	case r.Tail > 0:
		return fmt.Sprintf("tail %d", r.Tail)
	case len(r.Offsets) > 0:
		parts := make([]string, len(r.Offsets))
		for i, o := range r.Offsets {
			parts[i] = o.String()
		}
		return "offsets " + strings.Join(parts, ",")
	}
	from, to := "earliest", "latest"
	if r.Since > 0 {
		from = formatTime(r.Since)
	}
	if r.Until > 0 {
		to = formatTime(r.Until)
	}
	return from + ".." + to
}

func formatTime(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.999Z07:00")
}

// ParseTime reads a point in time and returns it in milliseconds since the Unix epoch. now is what durations are
// counted back from. Accepted are
//
//	2026-03-01T12:00:00Z        RFC 3339, also with +01:00 or fractions of a second
//	2026-03-01T12:00[:00]       UTC
//	2026-03-01                  UTC, start of the day
//	90m, 48h, 7d, 1d12h         so long before now
//	1772366400000               epoch milliseconds
//
// Times at or before 1970-01-01 are refused.
func ParseTime(s string, now time.Time) (int64, error) {
	t, err := parseTime(s, now)
	if err != nil {
		return 0, err
	}
	ms := t.UnixMilli()
	if ms <= 0 {
		return 0, fmt.Errorf("time %q is not after 1970-01-01", s)
	}
	return ms, nil
}

func parseTime(s string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	if ms, err := strconv.ParseInt(s, 10, 64); err == nil {
		// 10^11 ms is 1973: what is smaller was meant in seconds.
		if ms >= 0 && ms < 1e11 {
			return time.Time{}, fmt.Errorf("time %q: a bare number is epoch milliseconds (13 digits); is this seconds?", s)
		}
		return time.UnixMilli(ms), nil
	}
	if d, err := parseDuration(strings.TrimPrefix(s, "-")); err == nil {
		return now.Add(-d), nil
	}
	return time.Time{}, fmt.Errorf("time %q: want 2026-03-01T12:00:00Z, 2026-03-01, a duration ago (48h, 7d) or epoch milliseconds", s)
}

// parseDuration is time.ParseDuration with a leading number of days.
func parseDuration(s string) (time.Duration, error) {
	days, rest, found := strings.Cut(s, "d")
	if !found {
		return time.ParseDuration(s)
	}
	n, err := strconv.ParseUint(days, 10, 16)
	if err != nil {
		return 0, err
	}
	d := time.Duration(n) * 24 * time.Hour
	if rest == "" {
		return d, nil
	}
	r, err := time.ParseDuration(rest)
	if err != nil {
		return 0, err
	}
	return d + r, nil
}

// maxListed bounds a list written as ranges, so that a slip such as 0-2000000000 costs an error and not the memory.
const maxListed = 1 << 20

// ParsePartitions reads a list of partitions such as "0,3-5" (both ends included) and returns it sorted, each once.
func ParsePartitions(s string) ([]int32, error) {
	var list []int32
	for item := range strings.SplitSeq(s, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(item), "-")
		lo, err := strconv.ParseInt(first, 10, 32)
		hi := lo
		if err == nil && isRange {
			hi, err = strconv.ParseInt(last, 10, 32)
		}
		if err != nil || lo < 0 || hi < lo {
			return nil, fmt.Errorf("partitions %q: %q is not a partition or a range of them (0,3-5)", s, item)
		}
		if int64(len(list))+hi-lo >= maxListed {
			return nil, fmt.Errorf("partitions %q: more than %d partitions", s, maxListed)
		}
		for p := lo; p <= hi; p++ {
			list = append(list, int32(p))
		}
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// ParseOffsets reads a list of offset ranges such as "0:100-200,3:5000-": partition, first offset, end offset
// (exclusive). A missing first offset is the log start, a missing end is the end of the partition. It returns the list
// sorted by partition and offset; ranges of one partition must not overlap.
func ParseOffsets(s string) ([]OffsetRange, error) {
	var list []OffsetRange
	for item := range strings.SplitSeq(s, ",") {
		o, err := parseOffsetRange(strings.TrimSpace(item))
		if err != nil {
			return nil, fmt.Errorf("offsets %q: %q: %w", s, item, err)
		}
		list = append(list, o)
	}
	slices.SortFunc(list, func(a, b OffsetRange) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
	})
	for i := 1; i < len(list); i++ {
		a, b := list[i-1], list[i]
		if a.Partition == b.Partition && (a.End < 0 || b.Start < a.End) {
			return nil, fmt.Errorf("offsets %q: %s and %s overlap", s, a, b)
		}
	}
	return list, nil
}

func parseOffsetRange(s string) (OffsetRange, error) {
	usage := errors.New("want partition:start-end, such as 0:100-200 or 3:5000-")
	part, span, found := strings.Cut(s, ":")
	start, end, dashed := strings.Cut(span, "-")
	if !found || !dashed {
		return OffsetRange{}, usage
	}
	p, err := strconv.ParseInt(part, 10, 32)
	if err != nil || p < 0 {
		return OffsetRange{}, usage
	}
	o := OffsetRange{Partition: int32(p), Start: -1, End: -1}
	for _, f := range []struct {
		text string
		to   *int64
	}{{start, &o.Start}, {end, &o.End}} {
		if f.text == "" {
			continue
		}
		n, err := strconv.ParseUint(f.text, 10, 63)
		if err != nil {
			return OffsetRange{}, usage
		}
		*f.to = int64(n)
	}
	if o.End >= 0 && o.Start >= o.End {
		return OffsetRange{}, errors.New("the end is exclusive and must be above the start")
	}
	return o, nil
}

// bounds is what ListOffsets told about one partition.
type bounds struct {
	logStart, end int64
	since, until  int64 // -1: no record at or after that time
}

// spans returns what r reads of partition p, without empty spans.
func (r Range) spans(topic string, p int32, b bounds) ([]source.Span, error) {
	if len(r.Offsets) > 0 {
		var list []source.Span
		for _, o := range r.Offsets {
			if o.Partition != p {
				continue
			}
			s := source.Span{Partition: p, Start: o.Start, End: o.End}
			if s.Start < 0 {
				s.Start = b.logStart
			}
			if s.End < 0 {
				s.End = b.end
			}
			if s.Start < b.logStart || s.End > b.end || s.Start > s.End {
				return nil, &RangeError{topic, p, s.Start, s.End, b.logStart, b.end}
			}
			if s.Start < s.End {
				list = append(list, s)
			}
		}
		return list, nil
	}
	s := source.Span{Partition: p, Start: b.logStart, End: b.end}
	if r.Tail > 0 && s.End-r.Tail > s.Start {
		s.Start = s.End - r.Tail
	}
	if r.Since > 0 {
		s.Start = timeBound(b.since, b)
	}
	if r.Until > 0 {
		s.End = timeBound(b.until, b)
	}
	if s.Start >= s.End {
		return nil, nil
	}
	return []source.Span{s}, nil
}

// timeBound is the offset found for a time, kept inside the partition: the log start may have moved on since it was
// asked for, and under read_committed the record found may lie behind the end.
func timeBound(offset int64, b bounds) int64 {
	if offset < 0 {
		offset = math.MaxInt64
	}
	return max(b.logStart, min(offset, b.end))
}
