package analyze

import (
	"fmt"

	"keyspread/analyze/finding"
	"keyspread/analyze/profile"
	"keyspread/analyze/sample"
	"keyspread/analyze/skew"
)

// isEstimated reports whether figures are estimates: they are not when everything was read, or a sample grew to that.
func isEstimated(e *sample.Estimates) bool { return e != nil && e.Blocks < e.BlocksAll }

// about is put before loads that are estimates without an interval. Records of a partition without gaps are its offsets.
func about(r *Result, unit profile.Unit) string {
	if !isEstimated(r.Sample) {
		return ""
	}
	exact := unit == profile.Records
	for _, p := range r.Sample.Partitions {
		exact = exact && (p.Exact || p.Offsets == 0)
	}
	if exact {
		return ""
	}
	return "about "
}

// partOfLoad is the share of a partition's load that a key has there, as the reports' lists have it.
func partOfLoad(r *Result, s *skew.Skew, k *skew.Key, w *profile.Key) string {
	load := float64(s.Loads[w.Partition])
	switch {
	case r.Sample == nil:
		return finding.PercentRange(float64(w.Lo.Of(s.Unit))/load, min(1, float64(w.Hi.Of(s.Unit))/load))
	case len(k.Where) == 1: // what is estimated of the key in the topic is in this partition
		by := float64(s.Total) / load
		return finding.PercentRange(min(1, k.Share.Lo*by), min(1, k.Share.Hi*by))
	}
	return "about " + finding.Percent(float64(w.Lo.Of(s.Unit))/load)
}

// have is the verb after [recordsText].
func have(r *Result, records int64) string {
	if records == 1 && !isEstimated(r.Sample) {
		return " has "
	}
	return " have "
}

// recordsText counts records; of a sample it says their share with the interval that it has.
func recordsText(r *Result, records int64, of func(*sample.Estimates) sample.Estimate) string {
	if isEstimated(r.Sample) {
		e := of(r.Sample)
		return finding.PercentRange(e.Lo, e.Hi) + " of records"
	}
	return fmt.Sprintf("%s (%s)", finding.Plural(records, "record", "records"),
		finding.Percent(float64(records)/float64(r.Profile.Total().Records)))
}
