package main_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"keyspread/partitioner"
)

// placementReport is what the tests of placement read of `keyspread analyze -o json`.
type placementReport struct {
	Topic     struct{ Partitioner string }
	Findings  []struct{ ID, What string }
	Placement struct {
		Answer        string
		Confidence    float64
		Compared      int64 `json:"placements_compared"`
		Writers       []placementWriter
		Other         struct{ Records shareRange }
		Changes       []placementChange
		NullKeys      *keySpread `json:"null_keys"`
		EmptyKeys     *keySpread `json:"empty_keys"`
		SeveralCauses []struct {
			Cause string
			Keys  int
		} `json:"several_causes"`
		Schemas    []schemaShare
		NextSchema *schemaShare `json:"next_schema"`
	}
}

type placementWriter struct {
	Partitioner    string
	Alike          []string
	NumPartitions  int32 `json:"num_partitions"`
	Hashes         string
	FixedPartition *int32 `json:"fixed_partition"`
	Records        shareRange
	Examples       []struct {
		Key       struct{ Base64 []byte }
		Partition int32
		Records   int
	}
}

type placementChange struct {
	Kind          string
	Before, After int
	From, To      struct{ MS int64 }
}

type shareRange struct{ Estimate, Lo, Hi float64 }

type keySpread struct {
	Records    int64
	Partition  *int32
	Partitions int
}

type schemaShare struct {
	ID         uint32
	Placements float64
}

// finding returns the text of the one finding of an id.
func (r *placementReport) finding(t *testing.T, id string) string {
	t.Helper()
	var what []string
	for _, f := range r.Findings {
		if f.ID == id {
			what = append(what, f.What)
		}
	}
	if len(what) != 1 {
		t.Fatalf("findings %+v, want one %s", r.Findings, id)
	}
	return what[0]
}

// names lists who the writer can be, sorted.
func (w *placementWriter) names() []string {
	return slices.Sorted(slices.Values(append([]string{w.Partitioner}, w.Alike...)))
}

// analyzePlacement has the built keyspread tell who wrote a topic; without flags nothing is said of the partitioner.
func (c *realKafka) analyzePlacement(t *testing.T, tool, topic string, flags ...string) *placementReport {
	t.Helper()
	out, _ := runTool(t, 0, tool, append([]string{"analyze", "-b", c.addr, "-t", topic, "-o", "json"}, flags...)...)
	r := new(placementReport)
	if err := json.Unmarshal(out, r); err != nil {
		t.Fatalf("analyze -o json wrote %.200q: %v", out, err)
	}
	return r
}

// placesAlike lists the classes that no key but one in 2^32 tells apart at any count, and the further ones that none
// tells apart where the count is a power of two.
var placesAlike = []struct{ always, powerOfTwo []string }{
	{[]string{"murmur2"}, []string{"murmur2u"}},
	{[]string{"murmur2u"}, []string{"murmur2"}},
	{[]string{"fnv1a_mask"}, []string{"fnv1a_u"}},
	{[]string{"fnv1a_u"}, []string{"fnv1a_mask"}},
	{[]string{"fnv1a_abs", "fnv1a_absfirst_broken"}, nil},
	{[]string{"crc32u"}, []string{"crc32-mask"}},
	{[]string{"crc32-mask"}, []string{"crc32u"}},
}

// namesOf lists what a writer of a class must be called at n partitions, sorted.
func namesOf(class string, n int) []string {
	names := []string{class}
	for _, a := range placesAlike {
		if a.always[0] == class {
			names = slices.Clone(a.always)
			if n&(n-1) == 0 {
				names = append(names, a.powerOfTwo...)
			}
		}
	}
	slices.Sort(names)
	return names
}

// TestIntegrationPlacementClients has every client of .ci/clients write the same keys with each of its partitioners,
// and wants analyze to name the partitioner, or the set of them that place alike, and to explain every keyed record.
func TestIntegrationPlacementClients(t *testing.T) {
	c := newRealKafka(t)
	tool := buildTool(t)
	keys := clientKeys()
	keysFile := writeKeys(t, keys)
	for _, test := range clientTests {
		t.Run(test.client+"/"+test.partitioner, func(t *testing.T) {
			t.Parallel()
			for _, n := range []int{7, 12, 16} {
				topic := c.topic(t, "placement-"+test.client, n)
				c.write(t, test.client, test.partitioner, topic, keysFile)
				r := c.analyzePlacement(t, tool, topic)
				p := &r.Placement
				told := fmt.Sprintf("n=%d: %s (%s) of %+v", n, p.Answer, r.Topic.Partitioner, p.Writers)
				if p.Compared < 1000 {
					t.Errorf("%s: compared %d placements, want 1000 or more", told, p.Compared)
				}
				// more when a client without idempotence sent a batch again
				if p.NullKeys == nil || p.NullKeys.Records < 5 || p.EmptyKeys == nil || p.EmptyKeys.Records < 5 {
					t.Errorf("%s: null keys %+v, empty keys %+v; want 5 records of each at least", told, p.NullKeys, p.EmptyKeys)
				}
				if test.class == "" {
					explained := p.Answer != "unexplained" && p.Answer != "ambiguous"
					if explained || len(p.Writers) != 0 || p.Other.Records.Estimate != 1 {
						t.Errorf("%s, other %+v; want no writer of keys that were ignored", told, p.Other.Records)
					}
					continue
				}
				if p.Answer != "explained" || len(p.Writers) != 1 || p.Confidence < 0.99 {
					t.Errorf("%s with confidence %v; want one writer who is certain", told, p.Confidence)
					continue
				}
				w := &p.Writers[0]
				if want := namesOf(test.class, n); !slices.Equal(w.names(), want) || w.FixedPartition != nil ||
					w.NumPartitions != int32(n) || w.Hashes != "the whole key" {
					t.Errorf("%s, want %v of the whole key at %d", told, want, n)
				}
				if w.Records.Lo != 1 || p.Other.Records.Hi != 0 {
					t.Errorf("%s, other %+v; want 100 %% of keyed records explained", told, p.Other.Records)
				}
				checkKeyRules(t, r.Topic.Partitioner, test.predict, int32(n), p.NullKeys, p.EmptyKeys)
			}
		})
	}
}

// checkKeyRules holds the partitioner that a report is drawn with against the client who wrote the topic. Both must place
// the null key and the empty key alike; where all of them lie in one partition, which a sticky client's may, either
// way of putting them there will do.
func checkKeyRules(t *testing.T, used, client string, n int32, null, empty *keySpread) {
	t.Helper()
	for _, k := range []struct {
		name string
		key  []byte
		lie  *keySpread
	}{{"null", nil, null}, {"empty", []byte{}, empty}} {
		var at [2]int32
		var keyed [2]bool
		for i, name := range []string{used, client} {
			pt, err := partitioner.Parse(name)
			if err != nil {
				t.Fatal(err)
			}
			if keyed[i], err = pt.Place(k.key, []int32{n}, at[i:i+1]); err != nil {
				t.Errorf("n=%d: %s has no place for the %s key: %v", n, name, k.name, err)
			}
			if keyed[i] && (k.lie.Partition == nil || *k.lie.Partition != at[i]) {
				t.Errorf("n=%d: %s places the %s key in %d, it lies in %+v", n, name, k.name, at[i], k.lie)
			}
		}
		if keyed[0] != keyed[1] && k.lie.Partitions != 1 {
			t.Errorf("n=%d: the report is drawn with %s, by which the %s key is keyed: %t; the client was %s, by which: %t",
				n, used, k.name, keyed[0], client, keyed[1])
		}
	}
}

// placed is one key in one partition.
type placed struct {
	key       string
	partition int32
}

// TestIntegrationPlacementMixed has the Java producer write 70 % of a topic and librdkafka with its default the rest, in
// three turns, so that there is no time at which one gave way to the other.
func TestIntegrationPlacementMixed(t *testing.T) {
	c := newRealKafka(t)
	tool := buildTool(t)
	topic := c.topic(t, "mixed", 12)
	rng := rand.New(rand.NewPCG(5, 2))
	by := make(map[placed]map[string]int) // records, by who wrote them
	seen := make(map[placed]int)
	for _, turn := range []struct {
		client, class string
		records       int
	}{{"java", "murmur2", 3500}, {"confluent-kafka-go", "crc32u", 3000}, {"java", "murmur2", 3500}} {
		keys := make([][]byte, turn.records)
		for i := range keys {
			keys[i] = fmt.Appendf(nil, "Müller-%d", rng.IntN(2000))
		}
		c.write(t, turn.client, "default", topic, writeKeys(t, keys))
		log, _ := c.readFranz(t, topic, kgo.ReadUncommitted())
		now := make(map[placed]int)
		for p, entries := range log {
			for _, e := range entries {
				now[placed{e.Key, p}]++
			}
		}
		for at, records := range now {
			if by[at] == nil {
				by[at] = make(map[string]int)
			}
			by[at][turn.class] += records - seen[at]
		}
		seen = now
	}

	r := c.analyzePlacement(t, tool, topic)
	p := &r.Placement
	if p.Answer != "mixture" || len(p.Writers) != 2 || len(p.Changes) != 0 || p.Other.Records.Lo != 0 {
		t.Fatalf("%s of %+v, changes %+v, other %+v; want two writers side by side", p.Answer, p.Writers, p.Changes, p.Other)
	}
	for i, want := range []struct {
		class string
		share float64
	}{{"murmur2", 0.7}, {"crc32u", 0.3}} {
		w := &p.Writers[i]
		if !slices.Equal(w.names(), []string{want.class}) || w.NumPartitions != 12 ||
			want.share < w.Records.Lo || want.share > w.Records.Hi || math.Abs(want.share-w.Records.Estimate) > 0.01 {
			t.Errorf("writer %d is %v at %d with %+v of records; want %s at 12 with %v", i, w.names(), w.NumPartitions, w.Records, want.class, want.share)
		}
		if len(w.Examples) < 10 {
			t.Errorf("%s: %d example keys, want 10 or more", want.class, len(w.Examples))
		}
		for _, e := range w.Examples {
			at := placed{string(e.Key.Base64), e.Partition}
			if wrote := by[at]; wrote[want.class] != e.Records || seen[at] != e.Records {
				t.Errorf("%s: example %q with %d records in partition %d, where records were written by %v", want.class, at.key, e.Records, at.partition, wrote)
			}
		}
	}
	several := make(map[string]int)
	for at := range seen {
		several[at.key]++
	}
	apart := 0
	for _, partitions := range several {
		if partitions > 1 {
			apart++
		}
	}
	if len(p.SeveralCauses) != 1 || p.SeveralCauses[0].Cause != "two-partitioners" || p.SeveralCauses[0].Keys != apart {
		t.Errorf("keys in several partitions %+v, want %d by two partitioners", p.SeveralCauses, apart)
	}
	if what := r.finding(t, "mixed-partitioners"); !strings.Contains(what, "murmur2 wrote about") || !strings.Contains(what, "crc32u wrote about") {
		t.Errorf("the finding %q does not name both", what)
	}
}

// TestIntegrationPlacementIncreased gives a topic of 6 partitions 6 more half way: a batch of 100 keys a second.
func TestIntegrationPlacementIncreased(t *testing.T) {
	c := newRealKafka(t)
	tool := buildTool(t)
	topic := c.topic(t, "increased", 6)
	const batches, half = 60, 30
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	rng := rand.New(rand.NewPCG(5, 3))
	cl := c.client(t)
	for b := range batches {
		if b == half {
			if _, err := c.admin.CreatePartitions(t.Context(), 6, topic); err != nil {
				t.Fatalf("adding partitions: %v", err)
			}
			c.awaitLeaders(t, topic, 12)
			cl = c.client(t) // as after a restart: the old one learns of new partitions within minutes
		}
		var records []*kgo.Record
		for _, i := range rng.Perm(1500)[:100] {
			at := start.Add(time.Duration(b) * time.Second)
			records = append(records, &kgo.Record{Topic: topic, Key: fmt.Appendf(nil, "order-%d", i), Timestamp: at})
		}
		send(t, cl, records)
	}

	r := c.analyzePlacement(t, tool, topic)
	p := &r.Placement
	if len(p.Writers) != 2 || len(p.Changes) != 1 || p.Other.Records.Hi != 0 {
		t.Fatalf("%s of %+v, changes %+v, other %+v; want two counts and one change", p.Answer, p.Writers, p.Changes, p.Other)
	}
	change := p.Changes[0]
	before, after := &p.Writers[change.Before], &p.Writers[change.After]
	if change.Kind != "partitions-added" || before.Partitioner != "murmur2" || before.NumPartitions != 6 ||
		after.Partitioner != "murmur2" || after.NumPartitions != 12 {
		t.Errorf("%s from %s at %d to %s at %d; want partitions-added, murmur2 from 6 to 12", change.Kind,
			before.Partitioner, before.NumPartitions, after.Partitioner, after.NumPartitions)
	}
	last, first := start.Add((half-1)*time.Second).UnixMilli(), start.Add(half*time.Second).UnixMilli()
	if change.From.MS != last || change.To.MS != first {
		t.Errorf("the change lies between %d and %d, want the batches of %d and %d", change.From.MS, change.To.MS, last, first)
	}
	if len(p.SeveralCauses) != 1 || p.SeveralCauses[0].Cause != "past-count" {
		t.Errorf("keys in several partitions %+v, want the past count as the one cause", p.SeveralCauses)
	}
	if what := r.finding(t, "partitions-added"); !strings.Contains(what, "The topic had 6 partitions") {
		t.Errorf("the finding %q does not name the old count", what)
	}
}

// TestIntegrationPlacementKeyBytes writes topics whose keys are more than what people take for the key, and wants the
// findings to say so.
func TestIntegrationPlacementKeyBytes(t *testing.T) {
	c := newRealKafka(t)
	tool := buildTool(t)
	// numbered returns 800 keys.
	numbered := func(format string) [][]byte {
		keys := make([][]byte, 800)
		for i := range keys {
			keys[i] = fmt.Appendf(nil, format, 1000+i)
		}
		return keys
	}
	explained := func(t *testing.T, id, word string) {
		t.Helper()
		if out, _ := runTool(t, 0, tool, "explain", id); !bytes.Contains(out, []byte(word)) {
			t.Errorf("explain %s does not speak of %q:\n%s", id, word, out)
		}
	}

	for _, windows := range []string{"time", "session"} {
		t.Run("Streams "+windows+" windows", func(t *testing.T) {
			t.Parallel()
			topic := c.topic(t, "windows", 12)
			c.write(t, "kafka-streams", windows, topic, writeKeys(t, numbered("customer-%d")))
			r := c.analyzePlacement(t, tool, topic)
			p := &r.Placement
			part := "the key without its " + windows + " window"
			if p.Answer != "explained" || len(p.Writers) != 1 || p.Writers[0].Partitioner != "murmur2" ||
				p.Writers[0].Hashes != part || p.Writers[0].Records.Lo != 1 || p.Compared != 1600 {
				t.Errorf("%s of %+v, %d placements; want murmur2 over %s, and both windows of 800 keys", p.Answer, p.Writers, p.Compared, part)
			}
			if what := r.finding(t, "placed-by-part-of-key"); !strings.Contains(what, part+" explains 100 %") {
				t.Errorf("the finding %q does not say that %s explains all", what, part)
			}
			explained(t, "placed-by-part-of-key", "Kafka Streams")
		})
	}

	t.Run("Avro with two schema ids", func(t *testing.T) {
		t.Parallel()
		// where returns the partition of each key, framed with a schema's id as Confluent's serializer of an Avro string does.
		where := func(topic string, id uint32, keys [][]byte) map[string]int32 {
			var records []*kgo.Record
			for _, key := range keys {
				framed := binary.AppendVarint(binary.BigEndian.AppendUint32([]byte{0}, id), int64(len(key)))
				records = append(records, &kgo.Record{Topic: topic, Key: append(framed, key...)})
			}
			send(t, c.client(t), records)
			partitions := make(map[string]int32)
			for i, r := range records {
				partitions[string(keys[i])] = r.Partition
			}
			return partitions
		}
		topic := c.topic(t, "avro", 12)
		keys := numbered("customer-%d")
		old, now := where(topic, 11, keys), where(topic, 12, keys[:400])
		next := where(c.topic(t, "avro-next", 12), 13, keys)
		split, moved := 0, 0
		for key, partition := range now {
			if partition != old[key] {
				split++
			}
			if partition != next[key] {
				moved++
			}
		}
		for key, partition := range old {
			if partition != next[key] {
				moved++
			}
		}
		r := c.analyzePlacement(t, tool, topic)
		p := &r.Placement
		if p.Answer != "explained" || len(p.Writers) != 1 || p.Writers[0].Partitioner != "murmur2" || p.Writers[0].Hashes != "the whole key" {
			t.Errorf("%s of %+v; want murmur2 over the whole key", p.Answer, p.Writers)
		}
		near := func(s schemaShare, id uint32, share float64) bool {
			return s.ID == id && math.Abs(s.Placements-share) < 1e-5
		}
		if len(p.Schemas) != 2 || !near(p.Schemas[0], 11, 800.0/1200) || !near(p.Schemas[1], 12, 400.0/1200) {
			t.Errorf("schemas %+v, want 11 with 2/3 and 12 with 1/3", p.Schemas)
		}
		if p.NextSchema == nil || !near(*p.NextSchema, 13, float64(moved)/1200) {
			t.Errorf("next schema %+v; want that 13 moves %d of 1200, as it did", p.NextSchema, moved)
		}
		what := r.finding(t, "schema-id-in-key")
		for _, part := range []string{
			"the schema ids 11 (", " and 12 (", "400 logical keys occur under several ids",
			fmt.Sprintf("%d of them in different partitions", split), "the next id would move",
		} {
			if !strings.Contains(what, part) {
				t.Errorf("the finding %q does not say %q", what, part)
			}
		}
		explained(t, "schema-id-in-key", "Confluent's frame")
	})

	for _, test := range []struct{ name, first, second, form string }{
		{"Debezium without schema since", "shop.public.orders.Key", "schemaless", "JSON"},
		{"Debezium with another prefix since", "shop.public.orders.Key", "store.public.orders.Key", "JSON with schema [0-9a-f]{8}"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			topic := c.topic(t, "debezium", 12)
			file := writeKeys(t, numbered("%d"))
			c.write(t, "kafka-connect", test.first, topic, file)
			c.write(t, "kafka-connect", test.second, topic, file)
			_, records := c.readFranz(t, topic, kgo.ReadUncommitted())
			where := make(map[string][]int32) // by row id, which is the value
			for _, r := range records {
				where[string(r.Value)] = append(where[string(r.Value)], r.Partition)
			}
			split := 0
			for id, partitions := range where {
				if len(partitions) != 2 {
					t.Fatalf("row %s has the partitions %v, want two records", id, partitions)
				}
				if partitions[0] != partitions[1] {
					split++
				}
			}
			r := c.analyzePlacement(t, tool, topic)
			if p := &r.Placement; p.Answer != "explained" || len(p.Writers) != 1 || p.Writers[0].Partitioner != "murmur2" {
				t.Errorf("%s of %+v; want murmur2", p.Answer, p.Writers)
			}
			what := r.finding(t, "key-drift")
			for _, part := range []string{
				"800 logical keys are written as different bytes, together with 100 % of records",
				fmt.Sprintf("%d of them in different partitions", split),
			} {
				if !strings.Contains(what, part) {
					t.Errorf("the finding %q does not say %q", what, part)
				}
			}
			forms := regexp.MustCompile(`(JSON with schema [0-9a-f]{8}|JSON) in partition \d+`).FindAllStringSubmatch(what, -1)
			second := regexp.MustCompile("^" + test.form + "$")
			if len(forms) != 2 || forms[0][1] == forms[1][1] ||
				!second.MatchString(forms[0][1]) && !second.MatchString(forms[1][1]) {
				t.Errorf("the finding %q names the forms %q; want two, one of them %s", what, forms, test.form)
			}
			explained(t, "key-drift", "serializer")
		})
	}
}
