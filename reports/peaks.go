package reports

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"keyspread/analyze/finding"
	"keyspread/analyze/profile"
	"keyspread/analyze/skew"
)

// TimeBuckets are the equal spans of time over which peaks are taken, from Start and without a gap. Their width is a
// second, or twice that so often that they are few enough.
type TimeBuckets struct {
	Start *Time `json:"start"`
	Width int64 `json:"width_ms"`
	Count int   `json:"count"`
}

// Peak is how high a partition or a key rises in a time bucket. What has no certain part is null: a key is counted only
// in buckets that it is heavy in.
type Peak struct {
	RecordRate  *PeakFigure `json:"record_rate"`  // records a second
	ByteRate    *PeakFigure `json:"byte_rate"`    // bytes a second
	RecordShare *PeakFigure `json:"record_share"` // of the records in the bucket; nearly empty buckets left out
	ByteShare   *PeakFigure `json:"byte_share"`
}

// PeakFigure is the largest figure of any bucket, known to lie in [Lo, Hi], and the start of the bucket that has Lo.
type PeakFigure struct {
	From *Time   `json:"from"`
	Lo   float64 `json:"lo"`
	Hi   float64 `json:"hi"`
}

// timeBuckets returns nil where no peaks are known.
func (b *builder) timeBuckets() *TimeBuckets {
	ps := b.res.Peaks
	if ps == nil {
		return nil
	}
	return &TimeBuckets{Start: instant(ps.Start), Width: ps.Width, Count: ps.Buckets}
}

func (b *builder) partitionPeak(id int32) *Peak {
	if b.res.Peaks == nil {
		return nil
	}
	return newPeak(b.res.Peaks.Partitions[id])
}

func (b *builder) keyPeak(key []byte) *Peak {
	if b.res.Peaks == nil {
		return nil
	}
	return newPeak(b.res.Peaks.Keys[string(key)])
}

// newPeak leaves out what is not certain to be more than nothing; nil when that is all.
func newPeak(p skew.Peak) *Peak {
	out := Peak{
		RecordRate:  peakFigure(p.Rate[profile.Records], math.Inf(1)),
		ByteRate:    peakFigure(p.Rate[profile.Bytes], math.Inf(1)),
		RecordShare: peakFigure(p.Share[profile.Records], 1),
		ByteShare:   peakFigure(p.Share[profile.Bytes], 1),
	}
	if out == (Peak{}) {
		return nil
	}
	return &out
}

func peakFigure(p profile.Peak, most float64) *PeakFigure {
	if p.Lo <= 0 {
		return nil
	}
	out := PeakFigure{From: instant(p.At.Start), Lo: round(p.Lo), Hi: round(p.Hi)}
	if p.Lo != p.Hi {
		out.Lo, out.Hi = outwards(p.Lo, false), math.Min(most, outwards(p.Hi, true))
	}
	return &out
}

// peakSection tells the peaks of hot and undecided keys, and where there is room those of partitions.
func peakSection(r *Report, d detail) (s section, ok bool) {
	if r.TimeBuckets == nil {
		return section{}, false
	}
	s.title = "PEAKS, per " + bucketText(r.TimeBuckets.Width)
	width := finding.Span(r.TimeBuckets.Width)
	of, head := "the topic's records", "of hot or undecided keys"
	if len(bursts(r)) > 0 {
		head = "of hot or undecided keys, and of those that are hot for a while"
	}
	if d.part {
		of, head = "the records read", "of keys that are heavy in what was read"
	}
	note := fmt.Sprintf("The busiest %s of each. Share: its largest of %s in %[1]s, nearly empty times left out.", width, of)
	if t := keyPeaks(r, d); len(t.rows) > 0 {
		s.blocks = append(s.blocks, block{head: head, table: t})
	}
	if d.partPeaks {
		s.blocks = append(s.blocks, partitionPeaks(r, d))
	}
	if len(s.blocks) == 0 {
		return section{}, false
	}
	last := &s.blocks[len(s.blocks)-1]
	last.notes = append(last.notes, note)
	return s, true
}

func keyPeaks(r *Report, d detail) *table {
	heads := []string{"<key", "records/s", "<from", "share", "<from"}
	if d.wide {
		heads = slices.Insert(heads, 3, "bytes/s")
	}
	t := newTable(heads...)
	t.names, t.spare = 0, []int{len(heads) - 1}
	seen, burst := map[string]bool{}, bursts(r)
	for _, keys := range [][]TopKey{r.Skew.Records.TopKeys, r.Skew.Bytes.TopKeys} {
		for i := range keys {
			k := &keys[i]
			unlisted := i >= len(listed(keys, d)) && !burst[identity(k)] // a burst is light over the range
			if seen[identity(k)] || k.Peak == nil || unlisted {
				continue
			}
			seen[identity(k)] = true
			cells := []string{
				k.Key.Text, peakText(k.Peak.RecordRate, rateText), peakTime(k.Peak.RecordRate),
				peakText(k.Peak.RecordShare, shareText), peakTime(k.Peak.RecordShare),
			}
			if d.wide {
				cells = slices.Insert(cells, 3, peakText(k.Peak.ByteRate, sizeRateText))
			}
			t.row(cells...)
		}
	}
	return t
}

// bursts are the keys that have a peak though no list calls them hot or undecided: those that are hot for a while only.
func bursts(r *Report) map[string]bool {
	found, other := map[string]bool{}, map[string]bool{}
	for _, keys := range [][]TopKey{r.Skew.Records.TopKeys, r.Skew.Bytes.TopKeys} {
		for i := range keys {
			if k := &keys[i]; k.Verdict != skew.NotHot.String() {
				other[identity(k)] = true
			} else if k.Peak != nil {
				found[identity(k)] = true
			}
		}
	}
	maps.DeleteFunc(found, func(key string, _ bool) bool { return other[key] })
	return found
}

func partitionPeaks(r *Report, d detail) block {
	ps := r.Partitions
	if !d.wide {
		ps = hottestFirst(ps)
	}
	show := ps
	if d.partitions > 0 && len(ps) > d.partitions+1 {
		show = ps[:d.partitions]
	}
	t := newTable("partition", "records/s", "<from", "bytes/s", "<from", "share", "<from")
	for _, p := range show {
		var peak Peak
		if p.Peak != nil {
			peak = *p.Peak
		}
		t.row(
			strconv.Itoa(int(p.Partition)), peakText(peak.RecordRate, rateText), peakTime(peak.RecordRate),
			peakText(peak.ByteRate, sizeRateText), peakTime(peak.ByteRate),
			peakText(peak.RecordShare, shareText), peakTime(peak.RecordShare),
		)
	}
	b := block{head: "of partitions", table: t}
	if rest := ps[len(show):]; len(rest) > 0 {
		most := 0.0
		for _, p := range rest {
			if p.Peak != nil && p.Peak.RecordRate != nil {
				most = max(most, p.Peak.RecordRate.Hi)
			}
		}
		b.notes = []string{fmt.Sprintf("… %s more, at most %s records/s each.", finding.Count(int64(len(rest))), rateText(most, most))}
	}
	return b
}

func peakText(p *PeakFigure, form func(lo, hi float64) string) string {
	if p == nil {
		return "-"
	}
	return form(p.Lo, p.Hi)
}

func peakTime(p *PeakFigure) string {
	if p == nil {
		return "-"
	}
	return timeText(p.From)
}

func shareText(lo, hi float64) string { return percentRange(ShareRange{Lo: lo, Hi: hi}) }

// rateText writes a rate with its bounds, rounded outwards: "12.50", "1,020–1,031".
func rateText(lo, hi float64) string {
	decimals := 0
	switch {
	case hi < 100:
		decimals = 2
	case hi < 1000:
		decimals = 1
	}
	form := func(x float64) string {
		if decimals == 0 {
			return count(int64(math.Round(x)))
		}
		return figureOf(x, decimals)
	}
	if lo == hi {
		return form(lo)
	}
	a, b := form(floorTo(lo, decimals)), form(ceilTo(hi, decimals))
	if a == b {
		return "~" + a
	}
	return a + "–" + b
}

// figureOf writes x with so many decimals, and what would show as zero as less than the least of them.
func figureOf(x float64, decimals int) string {
	if least := math.Pow10(-decimals); x > 0 && x < least {
		return "<" + strconv.FormatFloat(least, 'f', decimals, 64)
	}
	return strconv.FormatFloat(x, 'f', decimals, 64)
}

func sizeRateText(lo, hi float64) string {
	return rangeText(Range{int64(math.Round(lo)), int64(math.Round(hi))}, sizeText)
}

// bucketText writes the width of buckets, beside its seconds in minutes or hours where that is easier to grasp.
func bucketText(ms int64) string {
	s := finding.Span(ms)
	switch {
	case ms < 300_000:
		return s
	case ms < 7_200_000:
		return fmt.Sprintf("%s (%.0f min)", s, float64(ms)/60_000)
	case ms < 172_800_000:
		return fmt.Sprintf("%s (%.1f h)", s, float64(ms)/3_600_000)
	}
	return fmt.Sprintf("%s (%.1f days)", s, float64(ms)/86_400_000)
}
