package placement

import (
	"math/rand/v2"
	"strings"
	"testing"

	"keyspread/analyze/finding"
)

// TestOthers says who wrote beside an assumed partitioner, topic by topic.
func TestOthers(t *testing.T) {
	t.Parallel()
	keys := someKeys(31, 3000)
	java, rdkafka := parse(t, "java"), parse(t, "librdkafka")
	mixed := newTopic(12) // 2/3 and 1/3, side by side in time
	for i := range 9000 {
		if i%3 == 2 {
			mixed.write(t, java, 12, keys[i/3])
		} else {
			mixed.write(t, rdkafka, 12, keys[i/3])
		}
	}
	added := newTopic(12)
	added.write(t, java, 6, keys...)
	added.write(t, java, 12, keys...)
	migrated := newTopic(12)
	migrated.write(t, rdkafka, 12, keys[:1500]...)
	migrated.write(t, java, 12, keys[1500:]...)
	partly := newTopic(12) // 3/4 Java's, 1/4 anywhere
	partly.write(t, java, 12, keys...)
	r := rand.New(rand.NewPCG(31, 7))
	for _, k := range someKeys(32, 1000) {
		partly.put(r.Int32N(12), k, 1)
	}
	for _, tc := range []struct {
		name    string
		topic   *topic
		assumed string
		others  map[string]float64 // about, of the keyed records; "" for no known partitioner
	}{
		{"mixed, assumed the larger", mixed, "librdkafka", map[string]float64{"murmur2": 1.0 / 3}},
		{"mixed, assumed the smaller", mixed, "murmur2", map[string]float64{"crc32u": 2.0 / 3}},
		{"mixed, assumed a third", mixed, "sarama", map[string]float64{"crc32u": 2.0 / 3, "murmur2": 1.0 / 3}},
		{"partitions added", added, "murmur2", nil},
		{"migrated, assumed the later", migrated, "murmur2", nil},
		{"partly", partly, "java", map[string]float64{"": 1.0 / 4}},
	} {
		pl := tc.topic.judge(t)
		others := pl.Others(parse(t, tc.assumed))
		if len(others) != len(tc.others) {
			t.Errorf("%s: others %+v of %s, want %v", tc.name, others, pl.summary(), tc.others)
			continue
		}
		for _, o := range others {
			name := ""
			if o.Writer >= 0 {
				name = pl.Writers[o.Writer].Partitioner
			}
			if want, ok := tc.others[name]; !ok || !within(o.Records.Share, want, 0.03) || o.Records.Lo > want || o.Records.Hi < want {
				t.Errorf("%s: %q has %+v of records, want %v", tc.name, name, o.Records, tc.others)
			}
		}
	}
	if few := (&Placement{Answer: TooFewKeys, Other: Shares{Records: Share{1, 1, 1}}}).Others(java); few != nil {
		t.Errorf("too few keys: others %+v, want none", few)
	}
	pl := mixed.judge(t)
	if reason := pl.Reason(); strings.Contains(reason, "no known") {
		t.Errorf("reason %q of a topic that two partitioners explain", reason)
	}
	if reason := partly.judge(t).Reason(); !strings.Contains(reason, "no known") {
		t.Errorf("reason %q of a topic with a quarter unexplained", reason)
	}
	if got := pl.text(finding.KeysInSeveral); !strings.Contains(got, " in more than one partition (cause: two partitioners); ") {
		t.Errorf("keys in several: %q", got)
	}
}

// TestCauses writes the causes of keys in several partitions: one, several, and those of a sample.
func TestCauses(t *testing.T) {
	t.Parallel()
	one := []CauseCount{{CausePastCount, 7}}
	two := []CauseCount{{CauseUnknown, 2}, {CauseTwoWriters, 1852}}
	for _, tc := range []struct {
		causes []CauseCount
		all    bool
		want   string
	}{
		{one, true, "cause: a past partition count"},
		{one, false, "cause of 1,900 compared: a past partition count"},
		{two, true, "causes: none found for 2 and two partitioners for 1,852"},
		{two, false, "causes of 1,900 compared: none found for 2 and two partitioners for 1,852"},
	} {
		pl := &Placement{Causes: tc.causes, SeveralCompared: 1900, Coverage: Coverage{All: tc.all}}
		if got := pl.causes(); got != tc.want {
			t.Errorf("%v, all %v: %q, want %q", tc.causes, tc.all, got, tc.want)
		}
	}
}

// TestFoundNamesClients is the remark on a topic that is not Java's: whole sentences, clients included.
func TestFoundNamesClients(t *testing.T) {
	t.Parallel()
	tp := newTopic(12)
	tp.write(t, parse(t, "librdkafka"), 12, someKeys(33, 3000)...)
	got := tp.judge(t).text(finding.PartitionerFound)
	if !strings.HasPrefix(got, "Placement fits crc32u") || !strings.Contains(got, " %). Clients that place keys so: librdkafka:consistent, ") || !strings.HasSuffix(got, ".") {
		t.Errorf("%q", got)
	}
}

// TestUnexplainedFigures: the finding begins with what is so. What fits nothing is named where it is a share worth naming,
// and a writer to one partition with its share of the keyed records.
func TestUnexplainedFigures(t *testing.T) {
	t.Parallel()
	gathered := newTopic(12)
	for _, k := range someKeys(34, 3000) {
		gathered.put(1, k, 1)
	}
	spread, partly := newTopic(12), newTopic(12)
	for i, k := range someKeys(35, 3000) {
		spread.put(int32(i%7), k, 1)
	}
	// 20 of 3,020 keys, with 20 of 30,020 records (0.07 %), are where nothing puts them: 0.66 %, and a twelfth more are thought
	// to agree by chance
	java, out := parse(t, "java"), make([]int32, 1)
	for i, k := range someKeys(36, 3020) {
		if _, err := java.Place(k, []int32{12}, out); err != nil {
			t.Fatal(err)
		}
		if i < 20 {
			partly.put((out[0]+1+int32(i)%11)%12, k, 1)
		} else {
			partly.put(out[0], k, 10)
		}
	}
	for name, tc := range map[string]struct {
		tp   *topic
		want string
	}{
		"all in one partition": {gathered, "100 % of keyed records are in partition 1 whatever their key."},
		"in no order":          {spread, "About 100 % of keyed records fit no known partitioner at 12 partitions or fewer."},
		"light keys": {
			partly, "About 0.72 % of keys, with less than 0.10 % of keyed records, fit no known partitioner at 12 partitions or fewer.",
		},
	} {
		if got := tc.tp.judge(t).text(finding.UnexplainedKeys); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
