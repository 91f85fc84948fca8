package analyze

import (
	"fmt"
	"math"
	"strings"

	"keyspread/analyze/finding"
	"keyspread/analyze/profile"
	"keyspread/analyze/sample"
	"keyspread/analyze/skew"
)

// Thresholds of the findings that are not the user's to set. The catalogue states them.
const (
	nullWarningShare = 0.01
	fewKeysPerPart   = 20
	keysListed       = 5 // findings of one kind about single keys; the rest is counted in one more
)

// findings draws the conclusions of a result, in report order.
func findings(r *Result) []finding.Finding {
	var fs []finding.Finding
	fs = append(fs, coverageFinding(r)...)
	if r.Profile.Total().Records == 0 {
		if r.Complete {
			f := finding.Finding{
				ID: finding.NoRecords, Severity: finding.Warning,
				What: "The range holds no record.",
				Do:   "Check the topic and the range; retention or compaction may have removed everything.",
			}
			if r.Profile.Extent().Scope == profile.Other {
				f.What, f.Do = "The file holds no key.", "Check that it is the right file, and what wrote it."
			}
			fs = append(fs, f)
		}
		finding.Sort(fs)
		return fs
	}
	fs = append(fs, r.Placement.Findings()...)
	fs = append(fs, keptFinding(r)...)
	fs = append(fs, topicFindings(r)...)
	fs = append(fs, sampleFindings(r)...)
	fs = append(fs, movedKeyFindings(r)...)
	fs = append(fs, orderLostFindings(r)...)
	fs = append(fs, unkeyedFindings(r)...)
	fs = append(fs, unplaceableFinding(r)...)
	fs = append(fs, boundedFinding(r)...)
	if onlyKeyBytes(r.Profile) {
		for i := range fs { // texts hold no key, see [finding.Finding]
			fs[i].What = keyBytesNamed.Replace(fs[i].What)
			fs[i].Do = keyBytesNamed.Replace(fs[i].Do)
		}
	}
	finding.Sort(fs)
	return fs
}

// keptFinding says that loads are those of a partitioner that did not write the topic.
func keptFinding(r *Result) []finding.Finding {
	why, ok := strings.CutPrefix(r.Reason, kept)
	if !ok {
		return nil
	}
	writers := r.Placement.Writers
	f := finding.Finding{
		ID: finding.PartitionerMismatch, Severity: finding.Critical,
		What: fmt.Sprintf("%s is assumed, which did not write the topic: %s. There are more keys than the memory budget holds, and where they go under another was not kept.",
			r.Profile.Partitioner, why),
		Do: "Read again with --partitioner and the producers' own, or with more --memory; until then figures about future placement are wrong.",
	}
	if len(writers) > 0 {
		f.Do = fmt.Sprintf("Read again with --partitioner %s, or with more --memory; until then figures about future placement are wrong.", writers[0].Partitioner)
	}
	return []finding.Finding{f}
}

// keyBytesNamed says of bytes that they are those of keys alone.
var keyBytesNamed = strings.NewReplacer(" of bytes", " of key bytes", " by bytes", " by key bytes", " of keyed bytes", " of key bytes")

// onlyKeyBytes reports whether no record has a value or a header, as in a file of lines: bytes say nothing then of the
// load that a partition will have.
func onlyKeyBytes(p *profile.Profile) bool {
	var values int64
	for i := range p.Partitions {
		values += p.Partitions[i].ValueBytes + p.Partitions[i].HeaderBytes
	}
	return values == 0
}

func coverageFinding(r *Result) []finding.Finding {
	var asked, read, lost int64
	var short []string
	unknown := false // how much there is
	for i := range r.Profile.Partitions {
		c := r.Profile.Partitions[i].Coverage
		asked, read, lost = asked+c.Asked, read+c.Read, lost+c.Lost
		unknown = unknown || c.Asked < 0
		if !c.Complete() {
			short = append(short, fmt.Sprint(c.Partition))
		}
	}
	if len(short) == 0 && !r.Partial {
		return nil
	}
	what := fmt.Sprintf("%s of %s offsets asked for were read", finding.Count(read), finding.Count(asked))
	if lost > 0 {
		what += fmt.Sprintf(", %s were removed by retention first", finding.Count(lost))
	}
	if unknown {
		what = finding.Plural(read, "record was", "records were") + " read, and what follows was not"
	} else if len(short) > 0 {
		what += "; short: partition " + firstOf(short, 8)
	}
	if r.Partial {
		what += " (" + r.Why + ")"
	}
	return []finding.Finding{{
		ID: finding.IncompleteCoverage, Severity: finding.Critical,
		What: what + ".",
		Do:   "The figures below describe only what was read; the coverage lines give each partition's reason.",
	}}
}

// firstOf joins the first n names and says how many follow.
func firstOf(names []string, n int) string {
	if len(names) <= n {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), len(names)-n)
}

// hotKeyFindings reports the hot and undecided keys, heaviest in records first, each once for both weights.
func hotKeyFindings(r *Result) []finding.Finding {
	type judged struct{ records, bytes *skew.Key }
	byKey := make(map[string]*judged)
	var order []string
	for _, s := range []*skew.Skew{&r.Records, &r.Bytes} {
		for i := range s.Top {
			k := &s.Top[i]
			j := byKey[string(k.Key)]
			if j == nil {
				j = &judged{}
				byKey[string(k.Key)] = j
				order = append(order, string(k.Key))
			}
			if s.Unit == profile.Records {
				j.records = k
			} else {
				j.bytes = k
			}
		}
	}
	var fs []finding.Finding
	more := 0
	few := r.Records.Explanation.Cause == skew.FewKeys && r.Bytes.Explanation.Cause <= skew.FewKeys
	for _, key := range order {
		j := byKey[key]
		v, unit, k := skew.NotHot, "", j.records
		if j.records != nil {
			v = j.records.Verdict
		}
		if j.bytes != nil && j.bytes.Verdict > v {
			v, unit, k = j.bytes.Verdict, profile.Bytes.String(), j.bytes
		}
		if v == skew.NotHot {
			continue
		}
		if len(fs) == keysListed || few && len(fs) > 0 {
			more++
			continue
		}
		fs = append(fs, hotKeyFinding(r, v, unit, k, j.records, j.bytes))
	}
	if few && more > 0 {
		// Where every key is too heavy for its partition, a list of them is a list of the keys.
		fs[0].Severity = finding.Info
		fs[0].What += fmt.Sprintf(" %s above it as well; none stands out.", finding.Plural(int64(more), "more key is", "more keys are"))
		fs[0].Do = "See few-keys: no single key is the reason."
		return fs
	}
	if more > 0 {
		fs = append(fs, finding.Finding{
			ID: finding.HotKey, Severity: finding.Warning,
			What: fmt.Sprintf("%s more keys are hot or undecided.", finding.Count(int64(more))),
			Do:   "The list of top keys names them.",
		})
	}
	return fs
}

func hotKeyFinding(r *Result, v skew.Verdict, unit string, k, inRecords, inBytes *skew.Key) finding.Finding {
	f := finding.Finding{ID: finding.HotKey, Severity: finding.Warning, Unit: unit, Key: k.Key, HasKey: true}
	var shares []string
	if inRecords != nil {
		shares = append(shares, finding.PercentRange(inRecords.Share.Lo, inRecords.Share.Hi)+" of records")
	}
	if inBytes != nil {
		shares = append(shares, finding.PercentRange(inBytes.Share.Lo, inBytes.Share.Hi)+" of bytes")
	}
	by := ""
	if len(shares) == 2 && v == skew.Hot && inRecords.Verdict != inBytes.Verdict {
		by = ", as this one is by records"
		if inBytes.Verdict == v {
			by = ", as this one is by bytes"
		}
	}
	f.What = fmt.Sprintf("Key {key} has %s; a key is hot above %s at %s partitions%s.",
		strings.Join(shares, " and "), finding.Percent(r.Records.Tau), finding.Count(int64(r.Profile.NumPartitions)), by)
	if v == skew.CannotTell {
		f.Severity = finding.Info
		f.What += " Whether it is hot cannot be told."
		f.Do = "Give --refine, or more --memory, for exact counts."
		if r.Sample != nil {
			f.Do = "Read more: a finer --precision, higher limits, or --sample full."
		}
		return f
	}
	f.Subject = partitionsOf(k.Where)
	f.Do = fmt.Sprintf("One consumer of %s must carry it at its peak; more partitions do not divide it.", f.Subject)
	if len(k.Where) > 1 {
		f.Do = fmt.Sprintf("Its records are divided between %s; placed by one partitioner at one count, one consumer must carry it at its peak.", f.Subject)
	}
	return f
}

func partitionsOf(where []profile.Key) string {
	names := make([]string, len(where))
	for i, w := range where {
		names[i] = fmt.Sprint(w.Partition)
	}
	if len(names) == 1 {
		return "partition " + names[0]
	}
	return "partitions " + firstOf(names, 8)
}

func hotPartitionFindings(r *Result) []finding.Finding {
	var fs []finding.Finding
	for _, s := range []*skew.Skew{&r.Records, &r.Bytes} {
		m := s.Measures
		if m.Hottest < 0 || m.PAR <= r.hotRatio || len(r.Profile.Partitions) < 2 {
			continue
		}
		if s.Unit == profile.Bytes && len(fs) == 1 && m.Hottest == r.Records.Measures.Hottest {
			fs[0].Unit = ""
			fs[0].What = strings.TrimSuffix(fs[0].What, ".") + fmt.Sprintf("; %s%s of bytes, %s.",
				about(r, s.Unit), finding.Percent(hottestShare(s)), finding.Times(m.PAR))
			continue
		}
		fs = append(fs, hotPartitionFinding(r, s))
	}
	return fs
}

func hottestShare(s *skew.Skew) float64 {
	return float64(s.Loads[s.Measures.Hottest]) / float64(s.Total)
}

func hotPartitionFinding(r *Result, s *skew.Skew) finding.Finding {
	hottest := s.Measures.Hottest
	f := finding.Finding{
		ID: finding.HotPartition, Severity: finding.Warning, Unit: s.Unit.String(),
		Subject: fmt.Sprintf("partition %d", hottest),
		What: fmt.Sprintf("Partition %d takes %s%s of %s, %s the mean.",
			hottest, about(r, s.Unit), finding.Percent(hottestShare(s)), s.Unit, finding.Times(s.Measures.PAR)),
		Do: fmt.Sprintf("See other counts with keyspread plan --to; while it is so hot a group does the work of %.1f equal members.",
			1/hottestShare(s)),
	}
	for _, k := range s.Top {
		for _, w := range k.Where {
			if w.Partition == hottest {
				f.Key, f.HasKey = k.Key, true
				step := "See other counts with keyspread plan --to; its heaviest key {key} is %s of it."
				if k.Verdict == skew.Hot {
					step = "Size its consumer for {key}, %s of it, or split that key."
				}
				f.Do = fmt.Sprintf(step+" A group does the work of %.1f equal members.", partOfLoad(r, s, &k, &w), 1/hottestShare(s))
				return f
			}
		}
	}
	return f
}

// ceilingFindings says that the topic, or a candidate, lies beyond N* of the weight with the lower ceiling.
func ceilingFindings(r *Result) []finding.Finding {
	s := &r.Records
	if r.Bytes.CeilingHi < 0.95*s.CeilingHi { // bytes have to be clearly worse to be told instead
		s = &r.Bytes
	}
	if math.IsInf(s.CeilingHi, 1) || len(s.Top) == 0 {
		return nil
	}
	most := r.Profile.NumPartitions
	for _, p := range r.Plans {
		most = max(most, p.Candidate.NumPartitions)
	}
	if float64(most) <= s.CeilingHi || most < 2 {
		return nil
	}
	k := s.Top[0]
	f := finding.Finding{
		ID: finding.Ceiling, Severity: finding.Warning, Unit: s.Unit.String(), Key: k.Key, HasKey: true,
		What: fmt.Sprintf("No count brings the hottest partition below %s of %s: key {key} alone has that (N* = %s partitions).",
			finding.PercentRange(k.Share.Lo, k.Share.Hi), s.Unit, ceilingText(s)),
		Do: "Size one consumer for this key, or split the key and give up its order.",
	}
	if len(k.Where) > 1 { // the hottest partition can be below it as long as the key stays divided
		f.What = fmt.Sprintf("No count brings the hottest partition below %s of %s once one partitioner places key {key}, now divided between %s (N* = %s partitions).",
			finding.PercentRange(k.Share.Lo, k.Share.Hi), s.Unit, partitionsOf(k.Where), ceilingText(s))
	}
	if float64(r.Profile.NumPartitions) <= s.CeilingHi {
		f.Severity = finding.Info
		f.Subject = fmt.Sprintf("%d partitions", most)
	}
	return []finding.Finding{f}
}

func ceilingText(s *skew.Skew) string {
	lo, hi := fmt.Sprintf("%.1f", s.CeilingLo), fmt.Sprintf("%.1f", s.CeilingHi)
	if lo == hi {
		return hi
	}
	return lo + " to " + hi
}

// leastPAR is the unevenness below which nobody asks for a reason.
const leastPAR = 1.1

// causeFinding says why the loads are uneven, by the weight with the stronger cause. burst says that a key was found to be
// hot for a while.
func causeFinding(r *Result, burst bool) []finding.Finding {
	s := &r.Records
	if r.Bytes.Explanation.Cause > s.Explanation.Cause {
		s = &r.Bytes
	}
	x := s.Explanation
	f := finding.Finding{Severity: finding.Warning, Unit: s.Unit.String()}
	atMost := ""
	if x.Expected.OnlyMost {
		atMost = "at most "
	}
	expected := fmt.Sprintf("max/mean of keyed %s is %s; hashing these keys at random gives %s%s, %s in one case of twenty",
		s.Unit, finding.Times(x.Observed), atMost, finding.Times(x.Expected.Median), finding.Times(x.Expected.P95))
	switch x.Cause {
	case skew.NotHashed:
		f.ID, f.Severity = finding.NotHashed, finding.Critical
		f.What = fmt.Sprintf("No hash explains the loads: %s (p = %.2g).", expected, x.Expected.P)
		f.Do = "Find what chose the partition before planning: another partitioner, an old partition count, explicit partitions."
		if x.Removed > 0 && x.ExpectedWithout.P < x.Expected.P {
			f.What = fmt.Sprintf("No hash explains the loads: without %s, max/mean of keyed %s is %s where chance gives %s (p = %.2g).",
				finding.Plural(int64(x.Removed), "hot key", "hot keys"), s.Unit, finding.Times(x.ObservedWithout),
				finding.Times(x.ExpectedWithout.Median), x.ExpectedWithout.P)
		}
	case skew.UnevenPartitioner:
		f.ID = finding.UnevenPartitioner
		f.What = fmt.Sprintf("The partitioner itself spreads these keys unevenly: %s (p = %.2g).", expected, x.Expected.P)
		if x.Removed > 0 {
			f.What = fmt.Sprintf("The partitioner itself spreads these keys unevenly: without %s, max/mean of keyed %s is %s where chance gives %s (p = %.2g).",
				finding.Plural(int64(x.Removed), "hot key", "hot keys"), s.Unit, finding.Times(x.ObservedWithout),
				finding.Times(x.ExpectedWithout.Median), x.ExpectedWithout.P)
		}
		f.Do = "See what another hash makes of them: keyspread plan --to-partitioner murmur2 --to N."
	case skew.SeveralHeavyKeys:
		f.ID = finding.SeveralHeavyKeys
		is := "is still"
		if x.ObservedWithout > x.Observed { // where they lie in partitions that are cold but for them
			is = "rises to"
		}
		f.What = fmt.Sprintf("The keys are heavy beyond the hottest: without %s, max/mean of keyed %s %s %s (%s with them), where chance gives %s%s.",
			finding.Plural(int64(x.Removed), "hot key", "hot keys"), s.Unit, is, finding.Times(x.ObservedWithout),
			finding.Times(x.Observed), atMost, finding.Times(x.ExpectedWithout.Median))
		f.Do = "Splitting the hottest key alone does not level it; plan for the hottest partition, or assign the heavy keys by hand."
	case skew.FewKeys:
		f.ID = finding.FewKeys
		f.What = fmt.Sprintf("Uneven as %s are under any hash: %s.", effectiveKeysText(s.Keys.Effective), expected)
		f.Do = "A finer key levels it; another hash or count only reshuffles it."
	case skew.UnkeyedTraffic:
		f.ID = finding.UnkeyedTraffic
		f.What = fmt.Sprintf("Records without a key make the loads uneven: max/mean of %s is %s, of the keyed ones %s.",
			s.Unit, finding.Times(s.Measures.PAR), finding.Times(x.Observed))
		f.Do = "Look at the null keys of each partition: which client sends them, and how it spreads them."
	case skew.ByChanceOnly:
		if x.Observed <= leastPAR {
			return nil
		}
		f.ID, f.Severity = finding.SkewByChance, finding.Info
		f.What = fmt.Sprintf("What is uneven is chance: %s.", expected)
		f.Do = "Nothing is wrong with the keys or the partitioner."
		if n := x.Heaviest; n > 0 {
			f.Key, f.HasKey = s.Top[0].Key, true
			keys, without := "key {key}, which has", "it"
			if n > 1 {
				keys, without = fmt.Sprintf("the %d heaviest keys, {key} before all, which have", n), "them"
			}
			f.What = fmt.Sprintf("Most of what is uneven is the weight of %s to land somewhere: %s, and %s without %s.",
				keys, expected, finding.Times(x.ExpectedLighter.Median), without)
			f.Do = "Nothing is wrong with the partitioner; another count or hash moves the unevenness with the key."
		}
		if burst {
			f.Do = "Over the whole range nothing is wrong with the partitioner; see burst for what is uneven within it."
		}
	default:
		return nil
	}
	return []finding.Finding{f}
}

// effectiveKeysText is an effective number of keys with its interval, as far as it is known.
func effectiveKeysText(f skew.Figure) string {
	switch {
	case !f.Known() && math.IsInf(f.Hi, 1) && f.Lo > 1:
		return fmt.Sprintf("at least %.0f effective keys", f.Lo)
	case !f.Known() && math.IsInf(f.Hi, 1):
		return "so few effective keys"
	case f.Lo == f.Hi:
		return fmt.Sprintf("%.0f effective keys", f.Est)
	}
	return fmt.Sprintf("%.0f to %.0f effective keys", math.Floor(f.Lo), math.Ceil(f.Hi))
}

// leastInBurst is how many records a key must have in a bucket: a handful is a large share of an almost empty one.
const leastInBurst = 100

// burst is a key that is hot in a time bucket but not over the run, and the bucket that it has the largest share in.
type burst struct {
	key profile.TopKey
	at  profile.Bucket
}

// findBursts returns the bursts of a topic, heaviest key first.
func findBursts(r *Result) []burst {
	tau := r.Records.Tau
	if tau >= 1 || r.Sample != nil || !r.Profile.Extent().OfTopic() { // blocks of a sample are too thin in time to speak of a bucket
		return nil
	}
	hot := map[string]bool{}
	for _, k := range r.Records.Top {
		if k.Verdict == skew.Hot {
			hot[string(k.Key)] = true
		}
	}
	var found []burst
	for _, t := range r.Profile.Bursts(profile.Records, tau, leastInBurst) {
		if hot[string(t.Key)] {
			continue
		}
		peak, ok := profile.PeakShare(r.Profile.KeySeries(t, profile.Records))
		if !ok {
			continue
		}
		if lo, _ := peak.At.Share(); lo > tau {
			found = append(found, burst{t, peak.At})
		}
	}
	return found
}

// burstFindings reports keys that are hot in a time bucket but not over the run.
func burstFindings(r *Result) []finding.Finding {
	var fs []finding.Finding
	for i, b := range r.bursts {
		if i == keysListed {
			break
		}
		fs = append(fs, burstFinding(b.key, b.at, r.Profile.Total().Records))
	}
	if more := len(r.bursts) - keysListed; more > 0 {
		fs = append(fs, finding.Finding{
			ID: finding.Burst, Severity: finding.Warning,
			What: fmt.Sprintf("%s more keys are hot in some time bucket only.", finding.Count(int64(more))),
			Do:   "Analyze a shorter range (--since, --until) to see them.",
		})
	}
	return fs
}

// burstFinding tells of a key by the bucket that it has the largest share in. Its figures there are means: how much higher
// it was for a part of the bucket is not known, only, of a key that is nowhere else, how long it was there at most.
func burstFinding(t profile.TopKey, at profile.Bucket, whole int64) finding.Finding {
	lo, hi := at.Share()
	span, within := finding.Span(at.Width), ""
	if t.First >= 0 && t.Last >= t.First && t.Last-t.First < at.Width/2 {
		within = fmt.Sprintf(": its first and last record lie within %s", finding.Span((t.Last-t.First)/1000*1000+1000))
	}
	f := finding.Finding{
		ID: finding.Burst, Severity: finding.Warning, Unit: profile.Records.String(), Key: t.Key, HasKey: true,
		Subject: partitionsOf(t.Where),
	}
	f.What = fmt.Sprintf("Key {key} has %s of records (%s) in the %s from %s, %s; over the whole range %s. "+
		"These are means of %s, within which it can have been higher%s.",
		finding.PercentRange(lo, hi), recordRate(at.Rate()), span, finding.Time(at.Start), f.Subject,
		finding.PercentRange(float64(t.Lo.Records)/float64(whole), float64(t.Hi.Records)/float64(whole)), span, within)
	f.Do = fmt.Sprintf("One consumer of %s must carry that peak; the mean over the range hides it.", f.Subject)
	return f
}

// recordRate writes records a second known to lie in [lo, hi].
func recordRate(lo, hi float64) string {
	form := func(x float64) string {
		if x < 10 {
			return fmt.Sprintf("%.2g", x)
		}
		return finding.Count(int64(math.Round(x)))
	}
	if a, b := form(lo), form(hi); a != b {
		return a + " to " + b + " records/s"
	}
	return form(lo) + " records/s"
}

// fewBlocks is the number of blocks below which no interval deserves its name.
const fewBlocks = 30

func sampleFindings(r *Result) []finding.Finding {
	e := r.Sample
	if e == nil {
		return nil
	}
	var fs []finding.Finding
	byLimit := strings.HasPrefix(e.Stopped, "max-") && e.HalfWidth > 0
	if e.Blocks < fewBlocks && e.Blocks < e.BlocksAll || byLimit {
		f := finding.Finding{
			ID: finding.SampleTooSmall, Severity: finding.Warning,
			What: fmt.Sprintf("%s of %s were read; shares of keys that may be hot are known to within %s.",
				finding.Plural(e.Blocks, "block", "blocks"), finding.Count(e.BlocksAll), finding.Percent(e.HalfWidth)),
			Do: "Allow more (--max-bytes, --max-records, --max-time) or read everything with --sample full.",
		}
		if byLimit {
			f.What = fmt.Sprintf("Sampling ended by %s: %s", e.Stopped, f.What)
		}
		fs = append(fs, f)
	}
	more := 0
	for _, k := range e.Keys {
		if !k.Drift {
			continue
		}
		if len(fs) > keysListed {
			more++
			continue
		}
		fs = append(fs, finding.Finding{
			ID: finding.Drift, Severity: finding.Info, Unit: profile.Records.String(), Key: k.Key, HasKey: true,
			What: fmt.Sprintf("Key {key} has %s of records in the earlier half of the range and %s in the later.",
				finding.Percent(k.Early.Share), finding.Percent(k.Late.Share)),
			Do: "Judge what is coming by the later half: --since or --tail.",
		})
	}
	if more > 0 {
		fs = append(fs, finding.Finding{
			ID: finding.Drift, Severity: finding.Info,
			What: fmt.Sprintf("%s more keys drift.", finding.Count(int64(more))),
			Do:   "Judge what is coming by the later half: --since or --tail.",
		})
	}
	return fs
}

func unkeyedFindings(r *Result) []finding.Finding {
	var null, empty profile.Weight
	for i := range r.Profile.Partitions {
		null = null.Add(r.Profile.Partitions[i].NullKey)
		empty = empty.Add(r.Profile.Partitions[i].EmptyKey)
	}
	total := float64(r.Profile.Total().Records)
	var fs []finding.Finding
	if null.Records > 0 {
		f := finding.Finding{
			ID: finding.NullKeys, Severity: finding.Info, Key: nil, HasKey: false,
			What: recordsText(r, null.Records, func(e *sample.Estimates) sample.Estimate { return e.Null[profile.Records] }) +
				have(r, null.Records) + "no key: clients spread such records, and they keep no order.",
			Do: "If they should have one, a producer loses it.",
		}
		if float64(null.Records)/total > nullWarningShare {
			f.Severity = finding.Warning
		}
		fs = append(fs, f)
	}
	if empty.Records > 0 {
		fs = append(fs, finding.Finding{
			ID: finding.EmptyKeys, Severity: finding.Warning,
			What: recordsText(r, empty.Records, func(e *sample.Estimates) sample.Estimate { return e.Empty[profile.Records] }) +
				have(r, empty.Records) + "an empty key, which is not a null key: Java hashes it to one partition, librdkafka's default spreads it.",
			Do: "Make the producer send null or a real key.",
		})
	}
	return fs
}

func cardinalityFinding(r *Result) []finding.Finding {
	n, keys := int64(r.Profile.NumPartitions), r.Distinct.Keys
	if n < 2 || keys == 0 || keys >= fewKeysPerPart*n || r.Sample != nil && r.Sample.Blocks < r.Sample.BlocksAll {
		return nil // a sample does not know how many keys there are
	}
	chance := skew.ChanceCV(r.Profile.NumPartitions, effectiveKeys(r.Profile, keys))
	f := finding.Finding{
		ID: finding.LowCardinality, Severity: finding.Info,
		What: fmt.Sprintf("%s for %s partitions: chance alone spreads the loads by about %s of the mean (CV).",
			finding.Plural(keys, "distinct key", "distinct keys"), finding.Count(n), finding.Percent(chance)),
		Do: "A finer key or fewer partitions level it; another hash does not.",
	}
	if keys < n {
		f.Severity = finding.Warning
		f.What = fmt.Sprintf("%s for %s partitions: at least %s no keyed record.",
			finding.Plural(keys, "distinct key", "distinct keys"), finding.Count(n), finding.Plural(n-keys, "gets", "get"))
	}
	return []finding.Finding{f}
}

// effectiveKeys is 1/sum w^2 over all of a small key set.
func effectiveKeys(p *profile.Profile, keys int64) float64 {
	total := float64(p.Total().Records)
	var sum float64
	for _, t := range p.Top(int(keys), profile.Records) {
		w := float64(t.Lo.Records) / total
		sum += w * w
	}
	if sum == 0 {
		return 0
	}
	return 1 / sum
}

func unplaceableFinding(r *Result) []finding.Finding {
	var records int64
	for i := range r.Profile.Partitions {
		records += r.Profile.Partitions[i].Placed[0].Unplaced.Records
	}
	if records == 0 {
		return nil
	}
	return []finding.Finding{{
		ID: finding.UnplaceableKeys, Severity: finding.Warning,
		What: fmt.Sprintf("%s a key for which %s itself gives no valid partition.",
			finding.Plural(records, "record has", "records have"), r.Profile.Partitioner),
		Do: "Check that --partitioner names the producer's; these records are in no predicted load.",
	}}
}

func boundedFinding(r *Result) []finding.Finding {
	if r.Profile.Mode() != profile.Bounded {
		return nil
	}
	f := finding.Finding{
		ID: finding.BoundedCounts, Severity: finding.Info,
		What: fmt.Sprintf("More keys than the memory budget holds: a key that was dropped has %s of records; loads and moved records stay exact.",
			finding.AtMost(float64(r.Profile.Missing().Records)/float64(r.Profile.Total().Records))),
		Do: "Read again with --refine, which makes the listed keys exact by a second read, or with a larger --memory.",
	}
	all := r.Profile.MemoryForAll()
	if all > 0 {
		f.Do = fmt.Sprintf("Read again with --refine, which makes the listed keys exact by a second read, or with --memory of about %s, which holds every key.", memoryText(all))
	}
	if n := r.Profile.NumRefined(); n > 0 {
		f.What += fmt.Sprintf(" %s, the heaviest as far as the bounds tell, were counted exactly by a second read.",
			finding.Plural(int64(n), "key", "keys"))
		f.Do = "Read again with a larger --memory for more exact keys."
		if all > 0 {
			f.Do = fmt.Sprintf("Read again with --memory of about %s to count every key exactly.", memoryText(all))
		}
	}
	return []finding.Finding{f}
}

// memoryText rounds up to a power of two of MiB, as --memory takes it.
func memoryText(bytes float64) string {
	mib := int64(1)
	for float64(mib<<20) < bytes && mib < 1<<40 {
		mib *= 2
	}
	if mib >= 1024 {
		return fmt.Sprintf("%dGiB", mib/1024)
	}
	return fmt.Sprintf("%dMiB", mib)
}
