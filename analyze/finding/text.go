package finding

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Percent writes a share in [0, 1] as a percentage with one decimal, more below 1 %. It never writes 100 % for less
// than everything nor 0 % for more than nothing.
func Percent(share float64) string {
	p := 100 * share
	switch {
	case share <= 0:
		return "0 %"
	case share >= 1:
		return "100 %"
	case p < 0.001:
		return "<0.001 %"
	case p < 0.1:
		return strconv.FormatFloat(p, 'f', 3, 64) + " %"
	case p < 1:
		return strconv.FormatFloat(p, 'f', 2, 64) + " %"
	case p >= 99.95: // would round to 100.0
		return ">99.9 %"
	}
	return strconv.FormatFloat(p, 'f', 1, 64) + " %"
}

// AtMost writes a share as a limit from above: "at most 0.91 %".
func AtMost(share float64) string {
	text := Percent(share)
	if below, ok := strings.CutPrefix(text, "<"); ok {
		return "less than " + below
	}
	if strings.HasPrefix(text, ">") {
		return "less than 100 %"
	}
	return "at most " + text
}

// PercentRange writes a share known to lie in [lo, hi]; equal figures are written once.
func PercentRange(lo, hi float64) string {
	a, b := Percent(lo), Percent(hi)
	if a == b {
		return a
	}
	return a + " to " + b
}

// Count writes a whole number with thousands separators.
func Count(n int64) string {
	s := strconv.FormatInt(n, 10)
	start := 0
	if n < 0 {
		start = 1
	}
	for i := len(s) - 3; i > start; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Times writes a ratio to the mean, such as 2.94x.
func Times(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) + "x" }

// Plural writes n things: "1 key", "3,000 keys".
func Plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%s %s", Count(n), many)
}

// Time writes milliseconds since the Unix epoch as UTC, to the second.
func Time(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05") }

// Span writes a length of time in milliseconds in its largest whole unit: "90 s", "5 min", "2 h".
func Span(ms int64) string {
	switch {
	case ms%3_600_000 == 0:
		return fmt.Sprintf("%d h", ms/3_600_000)
	case ms%60_000 == 0:
		return fmt.Sprintf("%d min", ms/60_000)
	case ms%1000 == 0:
		return fmt.Sprintf("%d s", ms/1000)
	}
	return fmt.Sprintf("%d ms", ms)
}
