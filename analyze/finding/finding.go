// Package finding is the catalogue of what keyspread can conclude: each finding has an id, a severity, one sentence
// with the numbers and one that says what to do; the catalogue holds the long form that `keyspread explain` prints.
package finding

import "slices"

// Severity orders findings in a report.
type Severity uint8

// Severities, most urgent first.
const (
	Critical Severity = iota // acts on the topic now: it does not carry its load, or records were not read
	Warning                  // will hurt, or the answer below is weaker than it looks
	Info                     // worth knowing; nothing is wrong
)

// String returns the severity's name in reports and JSON.
func (s Severity) String() string {
	switch s {
	case Critical:
		return "critical"
	case Warning:
		return "warning"
	case Info:
		return "info"
	}
	return "unknown"
}

// ID names a kind of finding. IDs are stable: policies and waivers refer to them.
type ID string

// Finding is one conclusion about one topic.
type Finding struct {
	ID       ID
	Severity Severity
	Unit     string // "records" or "bytes" when it concerns one weight only; "" otherwise
	Subject  string // the partition or candidate it is about ("partition 3", "24 partitions"); "" for the topic

	// Key is the record key concerned when HasKey is set (nil: the null key). Texts never hold the key itself but the
	// placeholder {key}, so that a report can show, shorten or redact it in one place.
	Key    []byte
	HasKey bool

	What string // one sentence with the numbers
	Do   string // one sentence: the next step
}

// Sort orders findings for a report: by severity, then by the catalogue's order, then as found.
func Sort(fs []Finding) {
	slices.SortStableFunc(fs, func(a, b Finding) int {
		if a.Severity != b.Severity {
			return int(a.Severity) - int(b.Severity)
		}
		return rank(a.ID) - rank(b.ID)
	})
}
