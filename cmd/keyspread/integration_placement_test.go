package main_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"keyspread/partitioner"
)

// placementReport is what the tests of placement read of `keyspread analyze -o json`.
type placementReport struct {
	Topic     struct{ Partitioner string }
	Findings  []placementFinding
	Placement struct {
		Answer     string
		Confidence float64
		Compared   int64 `json:"placements_compared"`
		Writers    []placementWriter
		Other      struct{ Records shareRange }
		NullKeys   *keySpread `json:"null_keys"`
		EmptyKeys  *keySpread `json:"empty_keys"`
	}
}

type placementFinding struct{ ID, What string }

type placementWriter struct {
	Partitioner    string
	Alike          []string
	NumPartitions  int32 `json:"num_partitions"`
	Hashes         string
	FixedPartition *int32 `json:"fixed_partition"`
	Records        shareRange
}

type shareRange struct{ Estimate, Lo, Hi float64 }

type keySpread struct {
	Records    int64
	Partition  *int32
	Partitions int
}

// names lists who the writer can be, sorted.
func (w *placementWriter) names() []string {
	return slices.Sorted(slices.Values(append([]string{w.Partitioner}, w.Alike...)))
}

// analyzePlacement has the built keyspread tell who wrote a topic, with nothing said of the partitioner.
func (c *realKafka) analyzePlacement(t *testing.T, tool, topic string) *placementReport {
	t.Helper()
	out, _ := runTool(t, 0, tool, "analyze", "-b", c.addr, "-t", topic, "-o", "json")
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
				if p.NullKeys == nil || p.NullKeys.Records != 5 || p.EmptyKeys == nil || p.EmptyKeys.Records != 5 {
					t.Errorf("%s: null keys %+v, empty keys %+v; want 5 records of each", told, p.NullKeys, p.EmptyKeys)
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
