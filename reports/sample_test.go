package reports

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"keyspread/analyze/plan"
	"keyspread/analyze/skew"
)

// TestSampleBesideTruth reports the same topic sampled and read whole. With its fixed seed the sample's intervals must
// hold what the whole has, and what a sample cannot know must be null.
func TestSampleBesideTruth(t *testing.T) {
	got := New(sampledPlanTopic(t), Options{})
	truth := New(topic{name: "orders.v1", partitions: 12, keys: heavyKeys(), mix: true, to: []int32{24, 12}, toHash: "crc32u"}.result(t), Options{})

	s := got.Sample
	if s == nil || s.whole() || s.OffsetsDrawn >= s.Offsets/10 {
		t.Fatalf("sample %+v: want less than a tenth of the range", s)
	}
	if c := got.Contents; c.DistinctKeys != nil || c.SeveralPartitions != nil || c.MissingKey != nil {
		t.Errorf("contents %+v: a sample does not know how many keys there are", c)
	}
	if keys := truth.Contents.DistinctKeys.Count; s.KeysSeen > keys || s.KeysAtLeastAbout < s.KeysSeen {
		t.Errorf("%d keys seen, at least about %d, of %d", s.KeysSeen, s.KeysAtLeastAbout, keys)
	}

	for _, k := range got.Skew.Records.TopKeys {
		for _, r := range []ShareRange{k.RecordShare, k.ByteShare} {
			if r.Estimate == nil || *r.Estimate < r.Lo || *r.Estimate > r.Hi {
				t.Errorf("key %s: share %+v, want an estimate inside its limits", k.Key.Text, r)
			}
		}
	}
	for i, p := range got.Partitions {
		if w := truth.Partitions[i]; p.Records != w.Records || !p.Sampled.RecordsExact {
			t.Errorf("partition %d: %d records, want the %d of its offsets", p.Partition, p.Records, w.Records)
		}
	}

	for i := range got.Plans {
		if keys := got.Plans[i].Moved.Keys; keys != nil {
			t.Errorf("plan %d: moved keys %+v, want null", i, *keys)
		}
	}
}

// TestSampleCovers reports one topic by the samples of ten seeds. Of ten 95 % intervals of one figure at least seven
// must hold what the whole topic has: fewer have probability 0.001 (binomial).
func TestSampleCovers(t *testing.T) {
	tp := topic{name: "orders.v1", partitions: 12, keys: heavyKeys(), mix: true, to: []int32{24}}
	truth := New(tp.result(t), Options{})
	const seeds = 10
	covered := make(map[string]int)
	for seed := range uint64(seeds) {
		how := sampleConfig(20)
		how.Seed = seed
		got := New(tp.run(t, &how), Options{})
		k, key := got.Skew.Records.TopKeys[0], truth.Skew.Records.TopKeys[0]
		if k.Key.Text != key.Key.Text {
			t.Fatalf("seed %d: top key %s, want %s", seed, k.Key.Text, key.Key.Text)
		}
		p, want := &got.Plans[0], &truth.Plans[0]
		hottest := want.Records.Measures.HottestPartition
		par := p.Records.PARInterval
		for _, c := range []struct {
			what         string
			lo, hi, want float64
		}{
			{"key, share of records", k.RecordShare.Lo, k.RecordShare.Hi, key.RecordShare.Lo},
			{"key, share of bytes", k.ByteShare.Lo, k.ByteShare.Hi, key.ByteShare.Lo},
			{"key, share of its partition", k.PartitionShare.Lo, k.PartitionShare.Hi, key.PartitionShare.Lo},
			{"key, records", float64(k.Records.Lo), float64(k.Records.Hi), float64(key.Records.Lo)},
			{"moved share of records", p.Moved.RecordShare.Lo, p.Moved.RecordShare.Hi, want.Moved.RecordShare.Lo},
			{"moved share of bytes", p.Moved.ByteShare.Lo, p.Moved.ByteShare.Hi, want.Moved.ByteShare.Lo},
			{"moved records", float64(p.Moved.Records.Lo), float64(p.Moved.Records.Hi), float64(want.Moved.Records.Lo)},
			{"PAR", *par.Lo, *par.Hi, want.Records.Measures.PAR},
			{
				"hottest load", p.Records.LoadShares[hottest].Lo, p.Records.LoadShares[hottest].Hi,
				want.Records.Loads[hottest] / float64(truth.Contents.Records),
			},
		} {
			covered[c.what] += 0
			if c.lo <= c.want && c.want <= c.hi {
				covered[c.what]++
			}
		}
	}
	for what, n := range covered {
		if n < 7 {
			t.Errorf("%s: %d of %d intervals hold the truth", what, n, seeds)
		}
	}
	t.Log(covered)
}

// TestSampleOfSeveralPartitions checks that a key seen in several partitions has no weight in any one of them: its
// interval is that of the topic.
func TestSampleOfSeveralPartitions(t *testing.T) {
	keys := append(evenKeys(3000), keyed{[]byte("both"), 4000, 100, 0}, keyed{[]byte("both"), 4000, 100, 1})
	how := sampleConfig(20)
	r := New(topic{name: "t", partitions: 4, keys: keys, mix: true}.run(t, &how), Options{})
	k := r.Skew.Records.TopKeys[0]
	if k.Key.Text != "both" || len(k.Partitions) != 2 || k.PartitionShare != nil || k.MainPartition == nil {
		t.Fatalf("top key %+v, want both in two partitions, and no share of one", k)
	}
	for _, p := range k.Partitions {
		if p.Records != nil || p.Bytes != nil {
			t.Errorf("partition %d: %+v, want nulls", p.Partition, p)
		}
	}
	if r.Sample.SeveralPartitions != 1 {
		t.Errorf("%d keys in several partitions, want 1", r.Sample.SeveralPartitions)
	}
	if top := r.Partitions[0].TopKey; top == nil || top.Key.Text != "both" || top.Share != nil {
		t.Errorf("partition 0: top key %+v, want both without a share", top)
	}
}

// TestUnreadRangesAreNotTheTopic checks what is said of ranges that are not everything.
func TestUnreadRangesAreNotTheTopic(t *testing.T) {
	for _, c := range []struct {
		of, scope, says string
		read            int
		ofTopic         bool
	}{
		{"earliest..latest", "topic", "", 12, true},
		{"tail 1000", "tail", "the last 1000 offsets of each partition only; says nothing about what came before them; shares", 12, false},
		{"2026-01-02T00:00:00Z..latest", "window", "this time window only", 12, true},
		{"offsets 0:10-20", "offsets", "1 of 12 partitions only; these offsets only", 1, false},
		{"the whole of keys.csv", "other", "the keys of this file", 12, true},
		{"earliest..latest", "partitions", "3 of 12 partitions only; shares and loads are of what was read, not of the topic", 3, false},
		{"earliest..latest of partitions 0,3-5", "partitions", "4 of 12 partitions only; shares", 4, false},
		{"tail 5 of partitions 0", "tail", "1 of 12 partitions only; the last 5 offsets of each", 1, false},
	} {
		r := &Report{Topic: Topic{NumPartitions: 12}, Coverage: Coverage{Range: c.of, Scope: c.scope, OfTopic: c.ofTopic, PartitionsRead: c.read}}
		if text := scopeText(r); !strings.HasPrefix(text, c.says) || (c.says == "") != (text == "") {
			t.Errorf("range %q: %q; want %q…", c.of, text, c.says)
		}
	}
}

// TestPartsOfTheTopic checks that a report of a part says so in its figures, in its words and for machines.
func TestPartsOfTheTopic(t *testing.T) {
	for _, c := range goldenCases() {
		if c.name != "partitions" && c.name != "tail" && c.name != "tail-plan" && c.name != "incomplete" {
			continue
		}
		r := c.report(t)
		if r.Coverage.OfTopic || r.Skew.Records.Chance != nil || r.Skew.Bytes.Chance != nil || r.Skew.Occupancy != nil {
			t.Errorf("%s: of the topic %v, with a cause or an expectation", c.name, r.Coverage.OfTopic)
		}
		for _, k := range r.Skew.Records.TopKeys {
			if k.Verdict != skew.CannotTell.String() {
				t.Errorf("%s: key %s is %q", c.name, k.Key.Text, k.Verdict)
			}
		}
		text := string(write(t, Text, r, View{}))
		for _, not := range []string{"A key is hot", "ceiling", "N*", "why, records", "verdict"} {
			if strings.Contains(text, not) {
				t.Errorf("%s: %q in the report of a part\n%s", c.name, not, text)
			}
		}
		for _, want := range []string{"SKEW of what was read", "shares and loads are of what was read"} {
			if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
				t.Errorf("%s: not %q in the report of a part\n%s", c.name, want, text)
			}
		}
	}
}

func TestOccupancy(t *testing.T) {
	for _, c := range []struct {
		keys         int64
		n            int
		expected, sd float64
	}{
		{1, 2, 1, 0},               // one key, two partitions: one stays empty
		{2, 2, 0.5, 0.5},           // both in one with probability 1/2
		{50, 50, 18.2085, 2.20902}, // the formula in Python's floats
		{150, 50, 2.4148, 1.39714},
	} {
		o := occupancy(&Contents{DistinctKeys: &Estimate{Count: c.keys, Exact: true}}, make([]Partition, c.n), int32(c.n))
		if o == nil || math.Abs(o.Expected-c.expected) > 1e-4 || math.Abs(o.SD-c.sd) > 1e-4 {
			t.Errorf("occupancy of %d keys in %d partitions = %+v, want %v ± %v", c.keys, c.n, o, c.expected, c.sd)
		}
	}
	// And against balls thrown into bins: the mean of 20,000 rounds has a standard error of 2.21/sqrt(20000) =
	// 0.0156, their standard deviation one of 2.21/sqrt(40000) = 0.011.
	rng := rand.New(rand.NewPCG(1, 2))
	const rounds = 20_000
	var sum, squares float64
	for range rounds {
		var hit [50]bool
		empty := 0.0
		for range 50 {
			hit[rng.IntN(50)] = true
		}
		for _, h := range hit {
			if !h {
				empty++
			}
		}
		sum += empty
		squares += empty * empty
	}
	mean := sum / rounds
	if sd := math.Sqrt(squares/rounds - mean*mean); math.Abs(mean-18.2085) > 4*0.0156 || math.Abs(sd-2.20902) > 4*0.011 {
		t.Errorf("thrown: %v ± %v empty, the formula says 18.2085 ± 2.20902", mean, sd)
	}

	for name, o := range map[string]*Occupancy{
		"bounded counts":       occupancy(&Contents{DistinctKeys: &Estimate{Count: 5}}, make([]Partition, 5), 5),
		"a sample":             occupancy(&Contents{}, make([]Partition, 5), 5),
		"some partitions only": occupancy(&Contents{DistinctKeys: &Estimate{Count: 5, Exact: true}}, make([]Partition, 4), 5),
		"one partition":        occupancy(&Contents{DistinctKeys: &Estimate{Count: 5, Exact: true}}, make([]Partition, 1), 1),
		"no key":               occupancy(&Contents{DistinctKeys: &Estimate{Exact: true}}, make([]Partition, 5), 5),
	} {
		if o != nil {
			t.Errorf("%s: occupancy %+v, want none", name, *o)
		}
	}
}

// TestDoubtWithoutCandidate checks that a plan whose candidate the estimates lack stays without intervals.
func TestDoubtWithoutCandidate(t *testing.T) {
	res := sampledPlanTopic(t)
	res.Plans = append([]plan.Plan(nil), res.Plans...)
	res.Plans[0].Candidate.NumPartitions = 7
	r := New(res, Options{})
	if p := r.Plans[0]; len(p.Records.LoadShares) != 0 || p.Records.PARInterval != nil {
		t.Errorf("plan %+v: want no intervals", p.Records)
	}
}

// TestSampledFiguresHaveTheirDoubt checks that records without a key and with an empty one have intervals, that the count
// beside them is their estimate, and that loads without an interval are told to be estimates.
func TestSampledFiguresHaveTheirDoubt(t *testing.T) {
	keys := append(evenKeys(3000), key("customer-42", 3600), key("", 700))
	for p := range int32(12) {
		keys = append(keys, keyed{nil, 100, 100, p})
	}
	how := sampleConfig(20)
	r := New(topic{name: "t", partitions: 12, keys: keys, mix: true, to: []int32{24}}.run(t, &how), Options{})
	for _, c := range []struct {
		name   string
		share  ShareRange
		of     Weight
		spread *KeySpread
	}{
		{"null", r.Sample.NullKey.Records, r.Contents.NullKey, r.Placement.NullKeys},
		{"empty", r.Sample.EmptyKey.Records, r.Contents.EmptyKey, r.Placement.EmptyKeys},
	} {
		if c.share.Estimate == nil || !(c.share.Lo < *c.share.Estimate && *c.share.Estimate < c.share.Hi) {
			t.Fatalf("%s key: %+v, want an estimate inside its interval", c.name, c.share)
		}
		if got, want := float64(c.of.Records), *c.share.Estimate*float64(r.Contents.Records); math.Abs(got-want) > 1 {
			t.Errorf("%s key: %v records, the estimate says %v", c.name, got, want)
		}
		if c.spread == nil || c.spread.Records != c.of.Records {
			t.Errorf("%s key: spread %+v, want that of the %d estimated", c.name, c.spread, c.of.Records)
		}
	}
	text := strings.Join(strings.Fields(string(write(t, Text, r, View{}))), " ")
	for _, want := range []string{
		"of records, seen in 12 partitions; how they are spread, a sample cannot tell",
		"null key " + percentRange(r.Sample.NullKey.Records) + ", empty key " + percentRange(r.Sample.EmptyKey.Records),
		"bytes about " + figure(r.Skew.Bytes.Measures.PAR),
		"records " + figure(r.Skew.Records.Measures.PAR),
	} {
		if !strings.Contains(text, want) {
			t.Errorf("not %q in\n%s", want, text)
		}
	}
	wide := strings.Join(strings.Fields(string(write(t, Wide, r, View{}))), " ")
	if want := "12 now " + figure(r.Skew.Records.Measures.PAR) + " about " + figure(r.Skew.Bytes.Measures.PAR); !strings.Contains(wide, want) {
		t.Errorf("not %q in\n%s", want, wide)
	}
}
