package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"keyspread/analyze/profile"
	"keyspread/analyze/source"
	"keyspread/partitioner"
)

// topic is a topic held in memory, as its records by partition.
type topic struct {
	partitions [][]source.Record
	clock      int64
}

func newTopic(n int) *topic {
	return &topic{partitions: make([][]source.Record, n), clock: 1_700_000_000_000}
}

// put appends records of a key, one every 10 ms.
func (tp *topic) put(partition int32, key []byte, records int) {
	p := &tp.partitions[partition]
	for range records {
		*p = append(*p, source.Record{Offset: int64(len(*p)), Timestamp: tp.clock, Key: key, ValueSize: 100})
		tp.clock += 10
	}
}

// write appends a record of each key where pt puts it at n partitions.
func (tp *topic) write(t testing.TB, pt partitioner.Partitioner, n int, keys ...[]byte) {
	t.Helper()
	out := make([]int32, 1)
	for _, k := range keys {
		keyed, err := pt.Place(k, []int32{int32(n)}, out)
		if err != nil || !keyed {
			t.Fatalf("placing %q by %s: keyed %v, %v", k, pt.ID(), keyed, err)
		}
		tp.put(out[0], k, 1)
	}
}

// profile counts the topic, with murmur2 assumed.
func (tp *topic) profile(t testing.TB, cfg profile.Config) *profile.Profile {
	t.Helper()
	cfg.Partitioner = parse(t, "murmur2")
	plan := &source.Plan{Topic: "orders", NumPartitions: len(tp.partitions), Range: "earliest..latest"}
	for id, records := range tp.partitions {
		plan.Partitions = append(plan.Partitions, source.Partition{ID: int32(id)})
		if len(records) > 0 {
			plan.Spans = append(plan.Spans, source.Span{Partition: int32(id), End: int64(len(records))})
		}
	}
	b, err := profile.NewBuilder(plan, cfg)
	if err != nil {
		t.Fatal(err)
	}
	var coverage []source.Coverage
	for id, records := range tp.partitions {
		n := int64(len(records))
		coverage = append(coverage, source.Coverage{Partition: int32(id), Asked: n, Read: n, Position: n})
		if n > 0 {
			if err := b.Batch(&source.Batch{Partition: int32(id), Next: n, Records: records}); err != nil {
				t.Fatal(err)
			}
		}
	}
	p, err := b.Profile(coverage)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (tp *topic) judge(t testing.TB) *Placement {
	t.Helper()
	return Judge(tp.profile(t, profile.DefaultConfig()), DefaultConfig())
}

func parse(t testing.TB, name string) partitioner.Partitioner {
	t.Helper()
	pt, err := partitioner.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return pt
}

// someKeys returns different keys of one shape, the same for one seed.
func someKeys(seed uint64, n int) [][]byte {
	r := rand.New(rand.NewPCG(seed, 5))
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "user-%d-%08x", i, r.Uint32())
	}
	return keys
}

// names lists who a writer can be, sorted.
func (w *Writer) names() []string {
	names := append([]string{w.Partitioner}, w.Alike...)
	slices.Sort(names)
	return names
}

func (pl *Placement) summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (confidence %.4f)", pl.Answer, pl.Confidence)
	for _, w := range pl.Writers {
		fmt.Fprintf(&b, "; %v@%d fixed %d over %s: keys %.4f records %.4f confidence %.4f",
			w.names(), w.NumPartitions, w.Fixed, w.Over, w.Keys.Share, w.Records.Share, w.Confidence)
	}
	for _, r := range pl.Rivals[:min(3, len(pl.Rivals))] {
		fmt.Fprintf(&b, "; rival %s@%d odds %.2g (%d of %d)", r.Partitioner, r.NumPartitions, r.Odds, r.Hits, r.Pairs)
	}
	return b.String()
}

// TestEveryClass writes topics of 1,000 keys with every class. The answer must name the class and those that cannot be
// told from it, and nobody else.
func TestEveryClass(t *testing.T) {
	t.Parallel()
	keys := someKeys(1, 1000)
	for _, c := range partitioner.Classes() {
		for _, n := range []int{7, 12, 16} {
			tp := newTopic(n)
			tp.write(t, c.Partitioner(), n, keys...)
			pl := tp.judge(t)
			if c.ID == "constant-0" {
				if pl.Answer != Explained || len(pl.Writers) != 1 || pl.Writers[0].Fixed != 0 {
					t.Errorf("%s at %d: %s; want all in partition 0", c.ID, n, pl.summary())
				}
				continue
			}
			if pl.Answer != Explained || len(pl.Writers) != 1 {
				t.Errorf("%s at %d: %s; want one writer who explains all", c.ID, n, pl.summary())
				continue
			}
			w := &pl.Writers[0]
			want := append(partitioner.Alike(c.ID, int32(n), true), c.ID)
			slices.Sort(want)
			if got := w.names(); !slices.Equal(got, want) {
				t.Errorf("%s at %d: named %v, want %v", c.ID, n, got, want)
			}
			if w.NumPartitions != int32(n) || pl.Matched.Keys.Lo != 1 || pl.Matched.Records.Lo != 1 || pl.Confidence < 0.99 {
				t.Errorf("%s at %d: %s; want 100 %% of keys and records", c.ID, n, pl.summary())
			}
		}
	}
}

// TestRandomTopics: records whose partition was chosen without looking at the key are never explained.
func TestRandomTopics(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 7))
		n := []int{2, 3, 6, 12, 16, 50}[seed%6]
		tp := newTopic(n)
		for _, k := range someKeys(seed, 500) {
			tp.put(r.Int32N(int32(n)), k, 1+r.IntN(3))
		}
		if pl := tp.judge(t); pl.Answer != Unexplained || len(pl.Writers) != 0 {
			t.Errorf("seed %d, %d partitions: %s; want unexplained", seed, n, pl.summary())
		}
	}
}

// TestFewKeys: 20 keys never make a wrong class certain. What can be named alike must be named.
func TestFewKeys(t *testing.T) {
	t.Parallel()
	classes := slices.DeleteFunc(partitioner.Classes(), func(c partitioner.Class) bool { return c.ID == "constant-0" })
	answers := map[Answer]int{}
	for seed := range uint64(200) {
		c := classes[seed%uint64(len(classes))]
		n := []int{2, 3, 7, 12, 16}[seed%5]
		tp := newTopic(n)
		tp.write(t, c.Partitioner(), n, someKeys(1000+seed, 20)...)
		pl := tp.judge(t)
		answers[pl.Answer]++
		if pl.Answer != Explained && pl.Answer != Ambiguous && pl.Answer != TooFewKeys {
			t.Errorf("seed %d, %s at %d: %s; want explained, ambiguous or too few keys", seed, c.ID, n, pl.summary())
		}
		if pl.Answer == Explained && !slices.Contains(pl.Writers[0].names(), c.ID) {
			t.Errorf("seed %d, %s at %d: %s; the class is not among those named", seed, c.ID, n, pl.summary())
		}
	}
	t.Logf("answers: %v", answers)
	if answers[Ambiguous]+answers[TooFewKeys] == 0 {
		t.Error("no topic of 20 keys was ambiguous; at 2 partitions most are")
	}
}
