package placement

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"keyspread/analyze/finding"
	"keyspread/analyze/profile"
	"keyspread/analyze/source"
	"keyspread/partitioner"
)

// ids lists the findings of a placement.
func (pl *Placement) ids() []finding.ID {
	var ids []finding.ID
	for _, f := range pl.Findings() {
		ids = append(ids, f.ID)
	}
	return ids
}

// text joins the findings of one id.
func (pl *Placement) text(id finding.ID) string {
	var all []string
	for _, f := range pl.Findings() {
		if f.ID == id {
			all = append(all, f.What)
		}
	}
	return strings.Join(all, "\n")
}

func within(got, want, by float64) bool { return math.Abs(got-want) <= by }

// TestMixture is a topic written 70 % by Java and 30 % by librdkafka's default, with the same keys.
func TestMixture(t *testing.T) {
	t.Parallel()
	tp := newTopic(12)
	r := rand.New(rand.NewPCG(11, 1))
	keys := someKeys(2, 2000)
	java, rdkafka := parse(t, "java"), parse(t, "librdkafka")
	for i := range 20_000 {
		pt := java
		if i%10 >= 7 {
			pt = rdkafka
		}
		tp.write(t, pt, 12, keys[r.IntN(len(keys))])
	}
	pl := tp.judge(t)
	if pl.Answer != Mixture || len(pl.Writers) != 2 {
		t.Fatalf("%s; want a mixture of two", pl.summary())
	}
	for i, want := range []struct {
		id    string
		share float64
		pt    partitioner.Partitioner
	}{{"murmur2", 0.7, java}, {"crc32u", 0.3, rdkafka}} {
		w := &pl.Writers[i]
		if w.Partitioner != want.id || w.NumPartitions != 12 || !within(w.Records.Share, want.share, 0.01) ||
			w.Records.Lo > want.share || w.Records.Hi < want.share {
			t.Errorf("writer %d: %s@%d with %+v of records, want %s with %v", i, w.Partitioner, w.NumPartitions, w.Records, want.id, want.share)
		}
		out := make([]int32, 1)
		for _, e := range w.Examples {
			if _, err := want.pt.Place(e.Key, []int32{12}, out); err != nil || out[0] != e.Partition {
				t.Errorf("%s: example %q in partition %d, the partitioner says %d", want.id, e.Key, e.Partition, out[0])
			}
		}
		if len(w.Examples) != DefaultConfig().Listed {
			t.Errorf("%s: %d examples, want %d", want.id, len(w.Examples), DefaultConfig().Listed)
		}
	}
	if pl.Matched.Records.Share != 1 || pl.Other.Records.Share > 1e-6 {
		t.Errorf("matched %v, other %v; want everything explained", pl.Matched.Records, pl.Other.Records)
	}
	if len(pl.Changes) != 0 {
		t.Errorf("changes %+v of writers who wrote side by side", pl.Changes)
	}
	// A key is in one partition only where both agree (1/12) or one of the two did not write it.
	if len(pl.Several) == 0 || pl.Several[0].Cause != CauseTwoWriters || len(pl.Several[0].Where) != 2 {
		t.Errorf("keys in several partitions: %+v, want two partitioners as the cause", pl.Several[:min(1, len(pl.Several))])
	}
	if !slices.Contains(pl.ids(), finding.MixedPartitioners) {
		t.Errorf("findings %v, want mixed-partitioners", pl.ids())
	}
}

// TestThreeWriters adds a small third writer and partitions chosen by hand.
func TestThreeWriters(t *testing.T) {
	t.Parallel()
	tp := newTopic(12)
	r := rand.New(rand.NewPCG(12, 1))
	tp.write(t, parse(t, "java"), 12, someKeys(1, 60_000)...)
	tp.write(t, parse(t, "sarama"), 12, someKeys(2, 30_000)...)
	tp.write(t, parse(t, "librdkafka"), 12, someKeys(3, 200)...) // 0.2 %: fewer than one in 400 of the pairs compared at a time
	for _, k := range someKeys(4, 9_800) {
		tp.put(r.Int32N(12), k, 1)
	}
	pl := tp.judge(t)
	if pl.Answer != Mixture || len(pl.Writers) != 3 {
		t.Fatalf("%s; want three writers", pl.summary())
	}
	for i, want := range []struct {
		id    string
		share float64
	}{{"murmur2", 0.6}, {"fnv1a_abs", 0.3}, {"crc32u", 0.002}} {
		// 1/12 of 9,800 random placements agree with any writer by chance: a standard deviation of 30 in 100,000.
		if w := &pl.Writers[i]; w.Partitioner != want.id || !within(w.Keys.Share, want.share, 0.002) {
			t.Errorf("writer %d is %s with %v, want %s with %v", i, w.Partitioner, w.Keys.Share, want.id, want.share)
		}
	}
	if !within(pl.Other.Keys.Share, 0.098, 0.003) {
		t.Errorf("other %v, want 0.098", pl.Other.Keys.Share)
	}
	if ids := pl.ids(); !slices.Contains(ids, finding.UnexplainedKeys) {
		t.Errorf("findings %v, want unexplained-placement", ids)
	}
}

// TestPartitionsAdded is a topic that was given 12 partitions instead of 6 half way.
func TestPartitionsAdded(t *testing.T) {
	t.Parallel()
	tp := newTopic(12)
	keys := someKeys(4, 3000)
	java := parse(t, "java")
	tp.write(t, java, 6, keys...)
	at := tp.clock
	tp.write(t, java, 12, keys...)
	pl := tp.judge(t)
	if pl.Answer != Mixture || len(pl.Writers) != 2 {
		t.Fatalf("%s; want two counts", pl.summary())
	}
	var counts []int32
	for i := range pl.Writers {
		w := &pl.Writers[i]
		counts = append(counts, w.NumPartitions)
		// A key that did not move has its records of both halves in one placement; half of the keys did.
		if w.Partitioner != "murmur2" || !within(w.Records.Share, 0.5, 0.03) {
			t.Errorf("%s@%d wrote %v, want murmur2 with a half", w.Partitioner, w.NumPartitions, w.Records)
		}
	}
	slices.Sort(counts)
	if !slices.Equal(counts, []int32{6, 12}) {
		t.Errorf("counts %v, want 6 and 12", counts)
	}
	if len(pl.Changes) != 1 {
		t.Fatalf("changes %+v, want one", pl.Changes)
	}
	c := pl.Changes[0]
	// Half of the keys move, and one is written every 10 ms: the chance of no moved key in 20 on either side is 2^-20.
	if c.Kind != PartitionsAdded || c.LastBefore >= at || c.FirstAfter < at || c.FirstAfter-c.LastBefore > 400 || c.Contrary != 0 {
		t.Errorf("change %+v, want partitions added at %d within 400 ms", c, at)
	}
	if len(pl.Several) == 0 || pl.Several[0].Cause != CausePastCount {
		t.Errorf("keys in several partitions: %+v, want the past count as the cause", pl.Several)
	}
	if pt, why := pl.Best(parse(t, "sarama")); pt.ID() != "murmur2" {
		t.Errorf("best %s (%s), want murmur2", pt.ID(), why)
	}
	if ids := pl.ids(); slices.Contains(ids, finding.MixedPartitioners) || !slices.Contains(ids, finding.PartitionsAdded) {
		t.Errorf("findings %v, want partitions-added and no mixed partitioners", ids)
	}
}

// TestOnePartitionOnce is a topic that had one partition, where nothing tells the partitioner, and then eight.
func TestOnePartitionOnce(t *testing.T) {
	t.Parallel()
	tp := newTopic(8)
	keys := someKeys(5, 2000)
	for _, k := range keys {
		tp.put(0, k, 1)
	}
	at := tp.clock
	tp.write(t, parse(t, "librdkafka"), 8, keys...)
	pl := tp.judge(t)
	if len(pl.Writers) != 2 || len(pl.Changes) != 1 {
		t.Fatalf("%s, changes %+v; want two writers and a change", pl.summary(), pl.Changes)
	}
	c := pl.Changes[0]
	if pl.Writers[c.Before].Fixed != 0 || pl.Writers[c.After].Partitioner != "crc32u" || c.LastBefore >= at || c.FirstAfter < at {
		t.Errorf("change %+v of %s; want from partition 0 to crc32u at %d", c, pl.summary(), at)
	}
}

// TestMigration is a change from Sarama's partitioner to Java's, with both clients running for a short while.
func TestMigration(t *testing.T) {
	t.Parallel()
	tp := newTopic(12)
	keys := someKeys(6, 4000)
	sarama, java := parse(t, "sarama"), parse(t, "java")
	tp.write(t, sarama, 12, keys[:2000]...)
	for _, k := range keys[2000:2020] {
		tp.write(t, java, 12, k)
		tp.write(t, sarama, 12, []byte("late-"+string(k)))
	}
	tp.write(t, java, 12, keys[2020:]...)
	pl := tp.judge(t)
	if len(pl.Changes) != 1 || pl.Changes[0].Kind != Migrated {
		t.Fatalf("%s, changes %+v; want one migration", pl.summary(), pl.Changes)
	}
	c := pl.Changes[0]
	if b, a := pl.Writers[c.Before].Partitioner, pl.Writers[c.After].Partitioner; b != "fnv1a_abs" || a != "murmur2" || c.Contrary == 0 {
		t.Errorf("from %s to %s with %d on the wrong side; want fnv1a_abs to murmur2 with some", b, a, c.Contrary)
	}
	if pt, _ := pl.Best(sarama); pt.ID() != "murmur2" {
		t.Errorf("best is %s, want the newer murmur2", pt.ID())
	}
}

// TestPublicCases takes keys that people reported in two partitions. One key proves nothing, as in kafkajs#357, where
// librdkafka's hash gives node's partition by coincidence; among others it is named as written by both.
func TestPublicCases(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		thread, key string
		n           int
		first       string
		at          int32
		second      string
		in          int32
	}{
		{"confluent-kafka-dotnet#1729", "UFJPRDAuQVNTRVQuMzEwMQ.002.AC000HN.01_RMSVel", 30, "java", 13, "librdkafka", 12},
		{"confluent-kafka-python#1481", `Struct{documentKey={"_id": "638d1b94ce8def06be68b439"}}`, 50, "java", 40, "librdkafka", 36},
		{"kafkajs#1154", "TT0124", 15, "kafkajs", 10, "librdkafka", 9},
		{"kafkajs#357", "100:48069", 12, "java", 9, "kafkajs@1", 6},
		{"node-rdkafka#817", "fd7af248-ce5c-46a5-93d7-1c0c9005b99d", 32, "java", 26, "node-rdkafka", 23},
		{"node-rdkafka#616", "354afe16-939a-4ea8-8e17-8bb0840b6886", 10, "java", 4, "node-rdkafka", 9},
		{"node-rdkafka#616", "f562ac3b-2224-4e25-a0ab-56094e10c239", 10, "java", 5, "node-rdkafka", 6},
		{"sarama#1213", "d4eeeb1b-8c45-4250-9c2c-131b38208ee8", 9, "librdkafka", 5, "crc32_abs", 8},
		{"franz-go#669", "test", 840, "fnv1a_abs", 251, "fnv1a_u", 5},
	} {
		first, second := parse(t, c.first), parse(t, c.second)
		alone := newTopic(c.n)
		alone.put(c.at, []byte(c.key), 5)
		alone.put(c.in, []byte(c.key), 5)
		// Of 840 partitions even one key leaves few candidates, those of the thread among them; still none is named.
		want := TooFewKeys
		if c.n == 840 {
			want = Ambiguous
		}
		if pl := alone.judge(t); pl.Answer != want || len(pl.Writers) > 0 {
			t.Errorf("%s: one key: %s; want %v", c.thread, pl.summary(), want)
		}
		tp := newTopic(c.n)
		tp.put(c.at, []byte(c.key), 10)
		tp.put(c.in, []byte(c.key), 10)
		tp.write(t, first, c.n, someKeys(1, 400)...)
		tp.write(t, second, c.n, someKeys(2, 400)...)
		pl := tp.judge(t)
		if pl.Answer != Mixture || len(pl.Writers) != 2 || pl.Other.Records.Share > 1e-6 {
			t.Errorf("%s: %s; want two writers who explain all", c.thread, pl.summary())
			continue
		}
		if len(pl.Several) != 1 || string(pl.Several[0].Key) != c.key || pl.Several[0].Cause != CauseTwoWriters {
			t.Errorf("%s: several %+v, want %q by two partitioners", c.thread, pl.Several, c.key)
		}
	}
}

// TestSpringSelector is spring-cloud-stream#3117: UUID keys on 24 partitions are uneven because the binder takes
// String.hashCode, not the client's murmur2.
func TestSpringSelector(t *testing.T) {
	t.Parallel()
	tp := newTopic(24)
	tp.write(t, parse(t, "spring-cloud-stream"), 24, uuids(9, 800)...)
	pl := tp.judge(t)
	if pl.Answer != Explained || !slices.Contains(pl.Writers[0].names(), "java_string:abs_min0") {
		t.Fatalf("%s; want String.hashCode", pl.summary())
	}
	if text := pl.text(finding.PartitionerFound); !strings.Contains(text, "java_string:abs_min0") || !strings.Contains(text, "spring-cloud-stream") {
		t.Errorf("finding %q names neither class nor client", text)
	}
}

func uuids(seed uint64, n int) [][]byte {
	r := rand.New(rand.NewPCG(seed, 9))
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "%08x-%04x-4%03x-a%03x-%012x", r.Uint32(), r.Uint32N(1<<16), r.Uint32N(1<<12), r.Uint32N(1<<12), r.Uint64N(1<<48))
	}
	return keys
}

// TestKeysIgnored is a producer that spreads keyed records round robin, as kafka-go does by default.
func TestKeysIgnored(t *testing.T) {
	t.Parallel()
	tp := newTopic(12)
	keys := someKeys(7, 300)
	for i := range 30_000 {
		tp.put(int32(i%12), keys[(i*7)%len(keys)], 1) // 7*12 and 300 share 12, so add the round
	}
	r := rand.New(rand.NewPCG(7, 7))
	for range 10_000 {
		tp.put(r.Int32N(12), keys[r.IntN(len(keys))], 1)
	}
	pl := tp.judge(t)
	if pl.Answer != Unexplained || pl.Several[0].Cause != CauseKeyIgnored {
		t.Errorf("%s, first of several %+v; want ignored keys", pl.summary(), pl.Several[0])
	}
	if ids := pl.ids(); !slices.Equal(ids, []finding.ID{finding.KeysIgnored}) {
		t.Errorf("findings %v, want keys-ignored alone", ids)
	}
}

// TestNumberedKeysRoundRobin spreads numbered keys round robin, which hashes that add up characters seem to follow: the
// next key has the next hash and is in the next partition.
func TestNumberedKeysRoundRobin(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"customer-%d", "%d", "order-%06d", "Straße %d, Köln", "%d-x", "注文😀%d"} {
		for _, n := range []int{2, 3, 5, 6, 7, 8, 10, 12, 16, 24, 31, 50, 100} {
			for _, every := range []int{1, 3} { // of the keys counted
				tp := newTopic(n)
				for i := range 1500 {
					tp.put(int32((i+5)%n), fmt.Appendf(nil, format, i*every), 1)
				}
				if pl := tp.judge(t); pl.Answer != Unexplained && pl.Answer != Ambiguous || len(pl.Writers) != 0 {
					t.Errorf("%q, every %d, %d partitions: %s; want no writer", format, every, n, pl.summary())
				}
			}
		}
	}
}

// TestNumberedKeysWritten: numbered keys that a hash which adds up characters did place are known as such, alone, beside
// others and with partitions added.
func TestNumberedKeysWritten(t *testing.T) {
	t.Parallel()
	var keys [][]byte
	for i := range 2000 {
		keys = append(keys, fmt.Appendf(nil, "customer-%d", i))
	}
	spring := parse(t, "spring-cloud-stream")
	for _, c := range []struct {
		name   string
		others func(tp *topic)
		counts []int32 // of String.hashCode
	}{
		{"alone", func(*topic) {}, []int32{12}},
		{"with librdkafka", func(tp *topic) { tp.write(t, parse(t, "librdkafka"), 12, keys[1400:]...) }, []int32{12}},
		{"with partitions chosen at random", func(tp *topic) {
			r := rand.New(rand.NewPCG(1, 1))
			for _, k := range keys[1400:] {
				tp.put(r.Int32N(12), k, 1)
			}
		}, []int32{12}},
		{"with a writer to partition 3", func(tp *topic) {
			for _, k := range keys[1400:] {
				tp.put(3, k, 1)
			}
		}, []int32{12}},
		{"with 4 partitions before", func(tp *topic) { tp.write(t, spring, 4, keys...) }, []int32{4, 12}},
	} {
		tp := newTopic(12)
		tp.write(t, spring, 12, keys[:1400]...)
		c.others(tp)
		pl := tp.judge(t)
		var counts []int32
		for i := range pl.Writers {
			if slices.Contains(pl.Writers[i].names(), "java_string:abs_min0") {
				counts = append(counts, pl.Writers[i].NumPartitions)
			}
		}
		if slices.Sort(counts); !slices.Equal(counts, c.counts) {
			t.Errorf("%s: %s; want String.hashCode at %v", c.name, pl.summary(), c.counts)
		}
	}
}

// TestStrays: some records of a topic were put into partition 3 by hand.
func TestStrays(t *testing.T) {
	t.Parallel()
	tp := newTopic(12)
	tp.write(t, parse(t, "java"), 12, someKeys(8, 2000)...)
	for _, k := range someKeys(9, 100) {
		tp.put(3, k, 1)
	}
	pl := tp.judge(t)
	if len(pl.Writers) != 2 || pl.Writers[0].Partitioner != "murmur2" || pl.Writers[1].Fixed != 3 {
		t.Fatalf("%s; want murmur2 and partition 3", pl.summary())
	}
	if w := &pl.Writers[1]; !within(w.Records.Share, 100.0/2100, 0.01) {
		t.Errorf("partition 3 takes %v by hand, want %v", w.Records.Share, 100.0/2100)
	}
}

// TestLuckyKeys: a few keys that happen to fit prove nothing, whatever the partition count.
func TestLuckyKeys(t *testing.T) {
	t.Parallel()
	for _, n := range []int{2, 3, 12, 50, 300} {
		for keys := 1; keys <= 3; keys++ {
			tp := newTopic(n)
			tp.write(t, parse(t, "xxh32"), n, someKeys(uint64(n), keys)...)
			if pl := tp.judge(t); pl.Answer == Explained && n < 300 || pl.Answer == Mixture || pl.Answer == Partly {
				t.Errorf("%d keys at %d partitions: %s", keys, n, pl.summary())
			}
		}
	}
}

// TestPastCountOnly: nothing was written since partitions were added.
func TestPastCountOnly(t *testing.T) {
	t.Parallel()
	tp := newTopic(48)
	tp.write(t, parse(t, "sarama"), 18, someKeys(3, 500)...)
	pl := tp.judge(t)
	if pl.Answer != Explained || pl.Writers[0].NumPartitions != 18 || pl.Writers[0].Partitioner != "fnv1a_abs" {
		t.Fatalf("%s; want fnv1a_abs at 18", pl.summary())
	}
	if !slices.Contains(pl.ids(), finding.PartitionsAdded) {
		t.Errorf("findings %v, want partitions-added", pl.ids())
	}
}

// TestAssumed: a named partitioner that the keys contradict is reported with both figures.
func TestAssumed(t *testing.T) {
	t.Parallel()
	tp := newTopic(12)
	tp.write(t, parse(t, "librdkafka"), 12, someKeys(3, 1200)...)
	p := tp.profile(t, profile.DefaultConfig())
	cfg := DefaultConfig()
	cfg.Assumed = parse(t, "java")
	pl := Judge(p, cfg)
	if pl.Assumed == nil || !within(pl.Assumed.Records, 1.0/12, 0.03) {
		t.Fatalf("assumed %+v, want a fit of about 1/12", pl.Assumed)
	}
	if text := pl.text(finding.PartitionerMismatch); !strings.Contains(text, "crc32u places 100 %") || !strings.Contains(text, finding.Percent(pl.Assumed.Records)) {
		t.Errorf("finding %q lacks one of the figures", text)
	}
	cfg.Assumed = parse(t, "librdkafka")
	if pl := Judge(p, cfg); slices.Contains(pl.ids(), finding.PartitionerMismatch) || pl.Assumed.Records != 1 {
		t.Errorf("librdkafka assumed: fit %+v, findings %v; want no mismatch", pl.Assumed, pl.ids())
	}
}

// TestFurther: a partitioner of the user's own is found like a class.
func TestFurther(t *testing.T) {
	t.Parallel()
	own := lastByte{}
	tp := newTopic(12)
	tp.write(t, own, 12, someKeys(3, 400)...)
	cfg := DefaultConfig()
	cfg.Further = []partitioner.Partitioner{own}
	pl := Judge(tp.profile(t, profile.DefaultConfig()), cfg)
	if pl.Answer != Explained || pl.Writers[0].Partitioner != "exec:last-byte" {
		t.Errorf("%s; want exec:last-byte", pl.summary())
	}
	if pt, _ := pl.Best(parse(t, "java")); pt != own {
		t.Errorf("best is %s, want the user's own", pt.ID())
	}
}

// lastByte places by the last two bytes of the key, many keys at a time.
type lastByte struct{}

func (lastByte) ID() string { return "exec:last-byte" }

func (lastByte) Place(key []byte, counts, out []int32) (bool, error) {
	if len(key) < 2 {
		return false, nil
	}
	for i, n := range counts {
		out[i] = int32(binary.LittleEndian.Uint16(key[len(key)-2:])) % n
	}
	return true, nil
}

func (b lastByte) PlaceBatch(keys [][]byte, counts, out []int32, keyed []bool) error {
	for i, k := range keys {
		keyed[i], _ = b.Place(k, counts, out[i*len(counts):(i+1)*len(counts)])
	}
	return nil
}

// TestFurtherTrips: a partitioner that answers many keys at a time, as a child process does, is asked so wherever keys are
// placed; key by key, the search alone would take 4,096 trips.
func TestFurtherTrips(t *testing.T) {
	t.Parallel()
	own := &trips{}
	tp := newTopic(12)
	tp.write(t, lastByte{}, 12, someKeys(3, 20_000)...)
	for _, k := range someKeys(4, 20_000) {
		tp.put(5, append(k, '.'), 1)
	}
	cfg := DefaultConfig()
	cfg.Further = []partitioner.Partitioner{own}
	pl := Judge(tp.profile(t, profile.DefaultConfig()), cfg)
	if len(pl.Writers) != 2 || !slices.ContainsFunc(pl.Writers, func(w Writer) bool { return w.Partitioner == own.ID() }) {
		t.Errorf("%s; want %s and partition 5", pl.summary(), own.ID())
	}
	// 40,000 keys are 5 trips of 8,192; a search is one of at most 4,096. It takes 19.
	if one, many := own.one.Load(), own.many.Load(); one > 0 || many == 0 || many > 40 {
		t.Errorf("%d trips for one key and %d for many, want none and at most 40", one, many)
	}
}

// trips is lastByte behind a counter of how often it is asked.
type trips struct {
	lastByte
	one, many atomic.Int64
}

func (c *trips) Place(key []byte, counts, out []int32) (bool, error) {
	c.one.Add(1)
	return c.lastByte.Place(key, counts, out)
}

func (c *trips) PlaceBatch(keys [][]byte, counts, out []int32, keyed []bool) error {
	c.many.Add(1)
	return c.lastByte.PlaceBatch(keys, counts, out, keyed)
}

// TestSampled compares a part of the keys only, exact and bounded, and must cover the truth.
func TestSampled(t *testing.T) {
	t.Parallel()
	tp := newTopic(12)
	keys := someKeys(14, 60_000)
	tp.write(t, parse(t, "java"), 12, keys[:45_000]...)
	tp.write(t, parse(t, "librdkafka"), 12, keys[45_000:]...)
	tp.write(t, parse(t, "java"), 12, slices.Repeat([][]byte{[]byte("hot")}, 20_000)...)
	// In records 65,000 of 80,000 are Java's; of placements 45,001 of 60,001, the hot key being one.
	for _, memory := range []int64{1 << 30, 2 << 20} {
		cfg := profile.DefaultConfig()
		cfg.Memory = memory
		p := tp.profile(t, cfg)
		judge := DefaultConfig()
		judge.MaxKeys = 5000
		pl := Judge(p, judge)
		if pl.Coverage.All || pl.Coverage.Placements > 45_000 {
			t.Errorf("%s mode: coverage %+v, want a sample", p.Mode(), pl.Coverage)
		}
		if pl.Answer != Mixture || len(pl.Writers) != 2 {
			t.Errorf("%s mode: %s; want a mixture of two", p.Mode(), pl.summary())
			continue
		}
		w := &pl.Writers[0]
		if w.Partitioner != "murmur2" || w.Keys.Lo > 0.75 || w.Keys.Hi < 0.75 || w.Records.Lo > 0.8125 || w.Records.Hi < 0.8125 || w.Records.Hi-w.Records.Lo > 0.25 {
			t.Errorf("%s mode: %s %+v; limits must cover 0.75 of keys and 0.8125 of records", p.Mode(), w.Partitioner, w.Shares)
		}
	}
}

// TestOnePartitionRead: with one of 12 partitions read, the keys in it are still a choice of one in 12.
func TestOnePartitionRead(t *testing.T) {
	t.Parallel()
	tp := newTopic(12)
	tp.write(t, parse(t, "librdkafka"), 12, someKeys(15, 3000)...)
	plan := &source.Plan{
		Topic: "orders", NumPartitions: 12, Partitions: []source.Partition{{ID: 5}},
		Spans: []source.Span{{Partition: 5, End: int64(len(tp.partitions[5]))}},
	}
	cfg := profile.DefaultConfig()
	cfg.Partitioner = parse(t, "java")
	b, err := profile.NewBuilder(plan, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Batch(&source.Batch{Partition: 5, Records: tp.partitions[5]}); err != nil {
		t.Fatal(err)
	}
	p, err := b.Profile(nil)
	if err != nil {
		t.Fatal(err)
	}
	if pl := Judge(p, DefaultConfig()); pl.Answer != Explained || pl.Writers[0].Partitioner != "crc32u" {
		t.Errorf("%s; want crc32u", pl.summary())
	}
}

// TestNothingToTell: one partition, or no keys, tells nothing and is no error.
func TestNothingToTell(t *testing.T) {
	t.Parallel()
	one := newTopic(1)
	one.write(t, parse(t, "java"), 1, someKeys(1, 100)...)
	unkeyed := newTopic(3)
	unkeyed.put(1, nil, 10)
	empty := newTopic(3)
	for name, tp := range map[string]*topic{"one partition": one, "null keys": unkeyed, "empty topic": empty} {
		pl := tp.judge(t)
		if pl.Answer != TooFewKeys || len(pl.Writers) != 0 {
			t.Errorf("%s: %s; want too few keys", name, pl.summary())
		}
		if pt, why := pl.Best(parse(t, "java")); pt.ID() != parse(t, "java").ID() || why == "" {
			t.Errorf("%s: best %s (%q), want the fallback and why", name, pt.ID(), why)
		}
	}
}

// TestTooFewSentences: what cannot be told is said in whole sentences, of one placement and of several.
func TestTooFewSentences(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		partitions, keys int
		want             string
	}{
		{12, 1, "1 placement is too few to tell who placed them"},
		{12, 2, "2 placements are too few to tell who placed them"},
		{1, 2, "a topic of one partition tells nothing about its partitioner"},
	} {
		tp := newTopic(tc.partitions)
		for i, k := range someKeys(1, tc.keys) {
			tp.put(int32(i%tc.partitions), k, 1)
		}
		pl := tp.judge(t)
		if _, why := pl.Best(parse(t, "java")); why != "not told from the keys: "+tc.want {
			t.Errorf("%d keys at %d partitions: %q, want not told from the keys: %s", tc.keys, tc.partitions, why, tc.want)
		}
		if got, want := pl.text(finding.PlacementNotChecked), strings.ToUpper(tc.want[:1])+tc.want[1:]+"."; got != want {
			t.Errorf("%d keys at %d partitions: finding %q, want %q", tc.keys, tc.partitions, got, want)
		}
	}
}

// TestBestFollowsKeyRules: among the clients of a class the one is taken that treats null and empty keys as found.
func TestBestFollowsKeyRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		class string
		put   func(tp *topic)
		want  string // a partitioner that places null and empty keys alike
	}{
		{"no unkeyed records", "murmur2", func(*topic) {}, "murmur2"},
		{"null keys spread", "murmur2", func(tp *topic) { tp.put(1, nil, 50); tp.put(2, nil, 50) }, "murmur2"},
		{"null keys in partition 0", "crc32u", func(tp *topic) { tp.put(0, nil, 1000) }, "librdkafka:consistent"},
		{"one sticky run in partition 0", "murmur2", func(tp *topic) { tp.put(0, nil, 50) }, "java"},
		{"one sticky run of null and empty keys", "crc32u", func(tp *topic) { tp.put(3, nil, 50); tp.put(3, []byte{}, 50) }, "librdkafka"},
		{"empty keys spread", "crc32u", func(tp *topic) { tp.put(1, []byte{}, 50); tp.put(2, []byte{}, 50) }, "librdkafka"},
		// 275646681 % 12 = 9: librdkafka's murmur2 hashes the null key as empty.
		{"null keys hashed", "murmur2", func(tp *topic) { tp.put(9, nil, 1000) }, "librdkafka:murmur2"},
	} {
		tp := newTopic(12)
		tp.write(t, parse(t, c.class), 12, someKeys(1, 300)...)
		c.put(tp)
		pl := tp.judge(t)
		got, _ := pl.Best(parse(t, "none"))
		want := parse(t, c.want)
		for _, key := range [][]byte{nil, {}, []byte("k")} {
			a, b := []int32{-1}, []int32{-1}
			keyedA, errA := got.Place(key, []int32{12}, a)
			keyedB, errB := want.Place(key, []int32{12}, b)
			if keyedA != keyedB || a[0] != b[0] || (errA == nil) != (errB == nil) {
				t.Errorf("%s: best %s places %q as %v %d, %s as %v %d", c.name, got.ID(), key, keyedA, a[0], want.ID(), keyedB, b[0])
			}
		}
	}
}

// TestSameBytes: the answer does not depend on anything but the records.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	tp := newTopic(12)
	tp.write(t, parse(t, "java"), 12, someKeys(1, 3000)...)
	tp.write(t, parse(t, "sarama"), 12, someKeys(1, 1000)...)
	text := func() string {
		pl := tp.judge(t)
		return fmt.Sprintf("%+v %+v %+v %+v", pl.Findings(), pl.Several, pl.Keys, pl.Fits)
	}
	want := text()
	for range 5 {
		if got := text(); got != want {
			t.Fatalf("a second run says\n%s\nthe first said\n%s", got, want)
		}
	}
}
