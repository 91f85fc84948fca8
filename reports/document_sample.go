package reports

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"keyspread/analyze/finding"
	"keyspread/analyze/skew"
)

// fewBlocks is the number of blocks below which no interval deserves its name.
const fewBlocks = 30

// isEstimated reports whether figures are estimates: they are not when a sample has grown to the whole range.
func isEstimated(r *Report) bool { return r.Sample != nil && !r.Sample.whole() }

// sampleFacts say what was read of the range, how far it carries, and what it says of bytes and keys.
func sampleFacts(r *Report) []fact {
	s, c := r.Sample, r.Contents
	facts := []fact{
		{"sampled", fmt.Sprintf("%s of the range: %s of %s blocks of %s, %s of %s offsets; %s, %s as stored",
			finding.Percent(ratio(s.OffsetsDrawn, s.Offsets)), count(s.BlocksDrawn), count(s.Blocks),
			finding.Plural(s.BlockOffsets, "offset", "offsets"), count(s.OffsetsDrawn), count(s.Offsets),
			finding.Plural(s.RecordsRead, "record", "records"), sizeText(s.WireBytes))},
		{"ended", stoppedText(s)},
		{"intervals", confidenceText(s)},
	}
	if s.UnseenShare != nil {
		facts = append(facts, fact{"unseen", fmt.Sprintf("a key below %s of records can have been missed altogether, if its records lie together",
			finding.Percent(*s.UnseenShare))})
	}
	return append(facts,
		fact{"bytes", about(r) + bytesText(c)},
		fact{"keys", keysSeenText(s)},
		fact{"of these", fmt.Sprintf("null key %s, empty key %s, tombstones %s; passed over in what was read: %s control, %s aborted",
			percentRange(s.NullKey.Records), percentRange(s.EmptyKey.Records), aboutPart(r, c.Tombstones),
			count(c.ControlRecords), count(c.AbortedRecords))})
}

// stoppedText says why no more was read and how well keys that matter are known.
func stoppedText(s *Sample) string {
	var why string
	switch s.Stopped {
	case "precision":
		why = "the precision asked for was reached"
	case everythingRead:
		return "every block was read: nothing is left to chance"
	case "interrupted":
		why = "interrupted; blocks drawn but not read count as empty, so do not rely on these figures"
	default:
		why = s.Stopped
		if strings.HasPrefix(why, "max-") {
			why = "the limit --" + why + " was reached first"
		}
	}
	if s.HalfWidth <= 0 {
		return why + "; no key may be hot"
	}
	return fmt.Sprintf("%s; shares of keys that may be hot are known to ±%s", why, pointsText(s.HalfWidth))
}

// pointsText writes a difference of shares in percentage points, rounded up.
func pointsText(x float64) string {
	decimals := 2
	if x < 0.001 {
		decimals = 4
	}
	return strconv.FormatFloat(ceilTo(100*x, decimals), 'f', decimals, 64) + " points at most"
}

func confidenceText(s *Sample) string {
	if s.whole() {
		return fmt.Sprintf("none; seed %d", s.Seed)
	}
	text := fmt.Sprintf("%s confidence, seed %d", confidence(s), s.Seed)
	if s.BlocksDrawn < fewBlocks && s.BlocksDrawn < s.Blocks {
		text += fmt.Sprintf("; fewer than %d blocks: do not rely on them, read more", fewBlocks)
	}
	return text
}

// confidence writes 0.95 as "95 %".
func confidence(s *Sample) string {
	return strconv.FormatFloat(round(100*s.Confidence), 'f', -1, 64) + " %"
}

// keysSeenText never names a number of keys: no estimator can tell it from a sample.
func keysSeenText(s *Sample) string {
	several := "none of them in more than one partition"
	if s.SeveralPartitions > 0 {
		several = fmt.Sprintf("%s of them in more than one partition", count(s.SeveralPartitions))
	}
	if s.whole() {
		return fmt.Sprintf("%s distinct, %s", count(s.KeysSeen), several)
	}
	return fmt.Sprintf("%s distinct were seen, %s; there are at least about %s. Those seen carry about %s of the keyed records. How many there are, a sample cannot tell",
		count(s.KeysSeen), several, count(s.KeysAtLeastAbout), finding.Percent(s.KeyCoverage))
}

// aboutPart is partText for figures that are estimates without an interval.
func aboutPart(r *Report, records int64) string {
	if records == 0 {
		return "0"
	}
	return about(r) + finding.Percent(ratio(records, r.Contents.Records))
}

// loadsNote says how far the loads of partitions can be trusted.
func loadsNote(s *Sample) string {
	if s.RecordsExact {
		return "Records of a partition are its offsets; no gap was seen in them, so they are exact."
	}
	return "Records of a partition are its offsets, less the gaps that its blocks have on average."
}

// partitionsNote says which columns of the partitions are estimates.
func partitionsNote(s *Sample, d detail) string {
	note := loadsNote(s) + " Bytes and null keys are estimates."
	if d.wide {
		note = loadsNote(s) + " Bytes, null and empty keys and tombstones are estimates; control, aborted, stored, times and offsets read are of the blocks read."
	}
	return note
}

// sampledKeys lists the heaviest keys of a sample: by records, and by bytes where that tells more.
func sampledKeys(r *Report, d detail, byRecords []TopKey) []block {
	blocks := []block{sampledKeyBlock("by records", r.Skew.Records.TopKeys, len(byRecords), d, false)}
	if byBytes := listed(r.Skew.Bytes.TopKeys, d); d.wide || tellsMore(byBytes, byRecords) {
		blocks = append(blocks, sampledKeyBlock("by bytes", r.Skew.Bytes.TopKeys, len(byBytes), d, true))
	}
	last := &blocks[len(blocks)-1]
	note := "Every block was read: shares are exact."
	if isEstimated(r) {
		note = fmt.Sprintf("In brackets: intervals at %s confidence.", confidence(r.Sample))
		if !d.part {
			note += " Verdicts use stricter ones, so that few keys are called hot by chance."
		}
	}
	if !d.part && (undecided(r.Skew.Records.TopKeys) || undecided(r.Skew.Bytes.TopKeys)) {
		note += " Cannot tell: read more (a finer --precision, higher limits, --sample full)."
	}
	last.notes = append(last.notes, note)
	if d.wide {
		last.notes = append(last.notes, "Effective: how many independent records would tell as much about the key; the design effect is records read over these. "+
			"Earlier, later: its share of records in the halves of the range; ! where they differ beyond chance.")
	}
	return blocks
}

func undecided(keys []TopKey) bool {
	for i := range keys {
		if keys[i].Verdict == skew.CannotTell.String() {
			return true
		}
	}
	return false
}

// sampledKeyBlock lists keys by estimates, of bytes or of records.
func sampledKeyBlock(head string, keys []TopKey, show int, d detail, bytes bool) block {
	of, spare := recordShare, 2 // the share in the other weight can be spared
	if bytes {
		of, spare = byteShare, 1
	}
	heads := []string{"<key", "of records", "of bytes", "partition", "of it", "<verdict"}
	if d.wide {
		heads = append(heads, "records", "bytes", "in sample", "effective", "design effect", "earlier", "later")
	}
	t := newTable(heads...)
	t.names, t.spare = 0, []int{4, spare}
	for i := range keys[:show] {
		k := &keys[i]
		cells := []string{k.Key.shown(), percentRange(k.RecordShare), percentRange(k.ByteShare), whereText(k, d), percentOf(k.PartitionShare), k.Verdict}
		if d.wide {
			cells = append(cells, rangeText(k.Records, finding.Count), rangeText(k.Bytes, sizeText))
			cells = append(cells, precisionCells(k.Sampled, bytes)...)
		}
		t.row(cells...)
	}
	if d.part {
		t.drop("verdict", skew.CannotTell.String())
	}
	b := block{head: head, table: t}
	if rest := restText(keys[show:], of, d); rest != "" {
		b.notes = []string{rest}
	}
	return b
}

// precisionCells say how well a key is known, in bytes or in records.
func precisionCells(s *KeySample, bytes bool) []string {
	if s == nil {
		return []string{"-", "-", "-", "-", "-"}
	}
	p := s.ByRecords
	if bytes {
		p = s.ByBytes
	}
	effect, earlier, later := "-", "-", "-"
	if p.DesignEffect != nil {
		effect = figure(*p.DesignEffect)
	}
	if s.Earlier != nil && s.Later != nil {
		earlier, later = finding.Percent(*s.Earlier), finding.Percent(*s.Later)
		if s.Drifts {
			later += " !"
		}
	}
	return []string{finding.Count(s.Records), finding.Count(int64(math.Round(p.EffectiveRecords))), effect, earlier, later}
}
