package analyze

import (
	"fmt"
	"strings"
	"testing"

	"keyspread/analyze/finding"
	"keyspread/analyze/skew"
	"keyspread/analyze/source"
	"keyspread/partitioner"
)

const (
	burstStart = 1_700_000_000_000 // ms; a whole second
	perSecond  = 2000
)

// seconds is a topic of n partitions over 20 seconds of 2,000 records each and a later one of 300. light says how many
// records of each second, by its number, a key has; keys of 0.1 % fill the rest.
func seconds(t *testing.T, pt partitioner.Partitioner, n int, light map[string]map[int]int) *memory {
	t.Helper()
	m := &memory{topic: "orders", partitions: make([][]source.Record, n)}
	out := make([]int32, 1)
	add := func(key string, second int) {
		if _, err := pt.Place([]byte(key), []int32{int32(n)}, out); err != nil {
			t.Fatal(err)
		}
		p := &m.partitions[out[0]]
		*p = append(*p, source.Record{Offset: int64(len(*p)), Timestamp: burstStart + 1000*int64(second), Key: []byte(key), ValueSize: 100})
	}
	for second := range 20 {
		left := perSecond
		for key, in := range light {
			for range in[second] {
				add(key, second)
				left--
			}
		}
		for i := range left {
			add(fmt.Sprintf("customer-%05d", i%1000), second)
		}
	}
	for range 300 { // a key alone in an almost empty bucket
		add("alone", 30)
	}
	return m
}

// Told are the keys that are hot in a second and not over the run, with where and how much; not one that is hot all the
// time, one that is never, one of a handful of records, and one that is alone in an almost empty second.
func TestRunBurst(t *testing.T) {
	pt := parse(t, "java")
	always := map[int]int{}
	for second := range 20 {
		always[second] = 200 // a tenth
	}
	// A key is hot above tau = 0.5/11 = 4.5 % at 12 partitions.
	light := map[string]map[int]int{
		"always": always,
		"fifth":  {5: 400}, // 20 % of the second, 1 % of the run
		"slight": {9: 140}, // 7 %: above tau, below twice tau
		"below":  {12: 80}, // 4 %
	}
	cfg := DefaultConfig(pt)
	res, err := Run(t.Context(), seconds(t, pt, 12, light), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if k := res.Records.Top[0]; string(k.Key) != "always" || k.Verdict != skew.Hot {
		t.Fatalf("top key %q is %v, want always and hot; the test needs it", k.Key, k.Verdict)
	}
	got := map[string]string{}
	for _, f := range res.Findings {
		if f.ID == finding.Burst {
			got[string(f.Key)] = f.What
			if f.Severity != finding.Warning || !f.HasKey {
				t.Errorf("burst %+v, want a warning about a key", f)
			}
		}
	}
	for key, want := range map[string][2]string{
		"fifth":  {"(400 records/s) in the 1 s from 2023-11-14 22:13:25,", "; over the whole range 0.99 %."}, // 400 of 40,300
		"slight": {"(140 records/s) in the 1 s from 2023-11-14 22:13:29,", "; over the whole range 0.35 %."},
	} {
		for _, part := range want {
			if !strings.Contains(got[key], part) {
				t.Errorf("key %q: finding %q, want one with %q", key, got[key], part)
			}
		}
		delete(got, key)
	}
	if len(got) != 0 {
		t.Errorf("further bursts: %v", got)
	}
}

// Many bursts are listed up to a few and counted beyond.
func TestRunManyBursts(t *testing.T) {
	pt := parse(t, "java")
	light := map[string]map[int]int{}
	for i := range keysListed + 3 {
		light[fmt.Sprintf("burst-%d", i)] = map[int]int{2 * i: 300}
	}
	res, err := Run(t.Context(), seconds(t, pt, 12, light), DefaultConfig(pt))
	if err != nil {
		t.Fatal(err)
	}
	named, rest := 0, ""
	for _, f := range res.Findings {
		switch {
		case f.ID != finding.Burst:
		case f.HasKey:
			named++
		default:
			rest = f.What
		}
	}
	if named != keysListed || !strings.HasPrefix(rest, "3 more keys") {
		t.Errorf("%d keys are named and then %q, want %d and 3 more", named, rest, keysListed)
	}
}
