package skew

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"keyspread/analyze/profile"
	"keyspread/analyze/sample"
	"keyspread/analyze/source"
	"keyspread/partitioner"
)

// profileOf counts keys, each with its records, placed by place; values have no bytes, so records and key bytes rule.
func profileOf(t *testing.T, n int32, keys [][]byte, records []int64, place func(i int) int32) *profile.Profile {
	t.Helper()
	pt, err := partitioner.Parse("murmur2")
	if err != nil {
		t.Fatal(err)
	}
	return profileUnder(t, pt, n, keys, records, place)
}

// profileUnder is profileOf with another partitioner assumed.
func profileUnder(t *testing.T, pt partitioner.Partitioner, n int32, keys [][]byte, records []int64, place func(i int) int32) *profile.Profile {
	t.Helper()
	parts := make([][]source.Record, n)
	for i, k := range keys {
		p := place(i)
		for range records[i] {
			parts[p] = append(parts[p], source.Record{Offset: int64(len(parts[p])), Timestamp: -1, Key: k})
		}
	}
	plan := &source.Plan{Topic: "t", NumPartitions: int(n)}
	for p := range n {
		plan.Partitions = append(plan.Partitions, source.Partition{ID: p})
		if len(parts[p]) > 0 {
			plan.Spans = append(plan.Spans, source.Span{Partition: p, End: int64(len(parts[p]))})
		}
	}
	cfg := profile.DefaultConfig()
	cfg.Partitioner = pt
	b, err := profile.NewBuilder(plan, cfg)
	if err != nil {
		t.Fatal(err)
	}
	var coverage []source.Coverage
	for p := range n {
		size := int64(len(parts[p]))
		if err := b.Batch(&source.Batch{Partition: p, Next: size, Records: parts[p]}); err != nil {
			t.Fatal(err)
		}
		coverage = append(coverage, source.Coverage{Partition: p, Asked: size, Read: size, Position: size})
	}
	prof, err := b.Profile(coverage)
	if err != nil {
		t.Fatal(err)
	}
	return prof
}

// TestExplainSettings draws the six settings of statistics.md B7 at 48 partitions, 20 topics each, and allows one wrong
// verdict in the 120. Record counts are scaled down where only shares matter.
func TestExplainSettings(t *testing.T) {
	const n, topics = 48, 20
	pt, err := partitioner.Parse("murmur2")
	if err != nil {
		t.Fatal(err)
	}
	random := func(seed uint64, count int) [][]byte {
		rng := rand.New(rand.NewPCG(seed, 99))
		keys := make([][]byte, count)
		for i := range keys {
			keys[i] = binary.BigEndian.AppendUint64(nil, rng.Uint64())
		}
		return keys
	}
	repeat := func(count int, each int64) []int64 {
		records := make([]int64, count)
		for i := range records {
			records[i] = each
		}
		return records
	}
	hashed := func(keys [][]byte, counts ...int32) func(int) int32 {
		out := make([]int32, 1)
		return func(i int) int32 {
			if _, err := pt.Place(keys[i], counts, out); err != nil {
				panic(err)
			}
			return out[0]
		}
	}
	settings := []struct {
		name string
		want Cause
		draw func(seed uint64) (keys [][]byte, records []int64, place func(int) int32)
	}{
		{"200k equal keys", ByChanceOnly, func(seed uint64) ([][]byte, []int64, func(int) int32) {
			keys := random(seed, 200_000)
			return keys, repeat(len(keys), 1), hashed(keys, n)
		}},
		{"300 keys", FewKeys, func(seed uint64) ([][]byte, []int64, func(int) int32) {
			keys := random(seed, 300)
			return keys, repeat(len(keys), 100), hashed(keys, n)
		}},
		{"one 8 % key", HotKeys, func(seed uint64) ([][]byte, []int64, func(int) int32) {
			keys := random(seed, 50_001)
			records := repeat(len(keys), 1)
			records[0] = 50_000 * 8 / 92
			return keys, records, hashed(keys, n)
		}},
		{"zipf 1.1", SeveralHeavyKeys, func(seed uint64) ([][]byte, []int64, func(int) int32) {
			keys := random(seed, 20_000)
			records := make([]int64, len(keys))
			for i := range records {
				records[i] = 1 + int64(40_000*math.Pow(float64(i+1), -1.1))
			}
			return keys, records, hashed(keys, n)
		}},
		{"mod 36 on 48", NotHashed, func(seed uint64) ([][]byte, []int64, func(int) int32) {
			keys := random(seed, 50_000)
			return keys, repeat(len(keys), 1), hashed(keys, 36)
		}},
		{"structured ids mod 48", NotHashed, func(seed uint64) ([][]byte, []int64, func(int) int32) {
			keys := make([][]byte, 50_000)
			for i := range keys {
				keys[i] = fmt.Appendf(nil, "%d", 1000*seed+uint64(i)*4) // ids handed out in steps of four
			}
			return keys, repeat(len(keys), 1), func(i int) int32 { return int32((1000*seed + uint64(i)*4) % n) }
		}},
	}
	wrong := 0
	for _, s := range settings {
		for seed := range uint64(topics) {
			keys, records, place := s.draw(seed + 1)
			judged := Judge(profileOf(t, n, keys, records, place), profile.Records, DefaultConfig(), nil)
			if e := judged.Explanation; e.Cause != s.want {
				wrong++
				t.Logf("%s, seed %d: %v, want %v (observed %.3f, expected %+v, %d removed, then %.3f, %+v)",
					s.name, seed, e.Cause, s.want, e.Observed, e.Expected, e.Removed, e.ObservedWithout, e.ExpectedWithout)
			}
		}
	}
	if wrong > 1 {
		t.Errorf("%d of %d verdicts are wrong, want at most 1", wrong, topics*len(settings))
	}
}

// shop gives every fifth key partition 0, as a rule for important customers does, and hashes the others.
type shop struct{ partitioner.Partitioner }

func (s shop) ID() string { return "exec:shop" }

func (s shop) Place(key []byte, counts, out []int32) (bool, error) {
	if key[len(key)-1]%5 == 0 {
		clear(out)
		return true, nil
	}
	return s.Partitioner.Place(key, counts, out)
}

// What the partitioner itself makes uneven is neither chance nor the work of another rule.
func TestExplainUnevenPartitioner(t *testing.T) {
	pt, err := partitioner.Parse("murmur2")
	if err != nil {
		t.Fatal(err)
	}
	own := shop{pt}
	keys, records := make([][]byte, 20_000), make([]int64, 20_000)
	for i := range keys {
		keys[i], records[i] = fmt.Appendf(nil, "customer-%d", i), 1
	}
	out := make([]int32, 1)
	place := func(i int) int32 {
		if _, err := own.Place(keys[i], []int32{12}, out); err != nil {
			panic(err)
		}
		return out[0]
	}
	for _, c := range []struct {
		assumed partitioner.Partitioner
		want    Cause
	}{{own, UnevenPartitioner}, {pt, NotHashed}} {
		s := Judge(profileUnder(t, c.assumed, 12, keys, records, place), profile.Records, DefaultConfig(), nil)
		if s.Explanation.Cause != c.want {
			t.Errorf("under %s: %v of PAR %.2f, want %v", c.assumed.ID(), s.Explanation.Cause, s.Explanation.Observed, c.want)
		}
	}
}

// Level keyed records and a pile of null-key records in one partition, as a sticky client that ran briefly leaves them.
func TestExplainUnkeyed(t *testing.T) {
	pt, err := partitioner.Parse("murmur2")
	if err != nil {
		t.Fatal(err)
	}
	var keys [][]byte
	for i := range 8000 {
		keys = append(keys, fmt.Appendf(nil, "key-%d", i))
	}
	for range 4000 {
		keys = append(keys, nil)
	}
	records := make([]int64, len(keys))
	for i := range records {
		records[i] = 1
	}
	out := make([]int32, 1)
	p := profileOf(t, 4, keys, records, func(i int) int32 {
		if keys[i] == nil {
			return 2
		}
		if _, err := pt.Place(keys[i], []int32{4}, out); err != nil {
			panic(err)
		}
		return out[0]
	})
	s := Judge(p, profile.Records, DefaultConfig(), nil)
	if s.Explanation.Cause != UnkeyedTraffic {
		t.Errorf("cause %v, want unkeyed traffic; PAR %v, keyed PAR %v", s.Explanation.Cause, s.Measures.PAR, s.Explanation.Observed)
	}
}

// A sample of a few records lists a hot key that it has not seen often enough to weigh: there is none to take away.
func TestExplainHotKeyUnweighed(t *testing.T) {
	p := profileOf(t, 2, [][]byte{[]byte("a"), []byte("a")}, []int64{1, 1}, func(i int) int32 { return int32(i) })
	s := Skew{Unit: profile.Records, Total: 2, Top: []Key{{Verdict: Hot}}}
	if x := Explain(p, &s, DefaultConfig(), &sample.Estimates{Records: 2}); x.Removed != 0 {
		t.Errorf("took %d keys away, want none", x.Removed)
	}
	for n := range 3 {
		if rest := (Keys{Heavy: []float64{1}, Rest: 2}).without(n); len(rest.Heavy) != max(0, 1-n) || rest.Rest != 2 {
			t.Errorf("one heavy key without %d: got %v", n, rest)
		}
	}
}

// Chance names the heaviest keys where the spread is their weight, and none where it is that of many.
func TestExplainHeaviest(t *testing.T) {
	for _, c := range []struct {
		name  string
		heavy []int64
		light int // keys of one record
		each  int64
		want  int
	}{
		{"one key of 4 %", []int64{4000}, 96_000, 1, 1},
		{"two keys", []int64{4000, 3900}, 96_000, 1, 2},
		{"level keys", nil, 500, 10, 0},
		{"many heavy keys", []int64{900, 900, 900, 900, 900, 900, 900, 900}, 60_000, 1, 0},
	} {
		keys, records := [][]byte{}, []int64{}
		for i, n := range c.heavy {
			keys, records = append(keys, fmt.Appendf(nil, "heavy-%d", i)), append(records, n)
		}
		for i := range c.light {
			keys, records = append(keys, fmt.Appendf(nil, "key-%d", i)), append(records, c.each)
		}
		pt, err := partitioner.Parse("murmur2")
		if err != nil {
			t.Fatal(err)
		}
		out := make([]int32, 1)
		s := Judge(profileOf(t, 12, keys, records, func(i int) int32 {
			if _, err := pt.Place(keys[i], []int32{12}, out); err != nil {
				panic(err)
			}
			return out[0]
		}), profile.Records, DefaultConfig(), nil)
		x := s.Explanation
		if x.Cause != ByChanceOnly || x.Heaviest != c.want || (x.ExpectedLighter.Rounds > 0) != (c.want > 0) {
			t.Errorf("%s: %v of PAR %.3f, %d keys (at random %.3f, without %.3f), want %d", c.name, x.Cause, x.Observed, x.Heaviest,
				x.Expected.Median, x.ExpectedLighter.Median, c.want)
		}
		if c.want > 0 && x.ExpectedLighter.Median-1 > (x.Expected.Median-1)/2 {
			t.Errorf("%s: at random %.3f, without the heaviest %.3f", c.name, x.Expected.Median, x.ExpectedLighter.Median)
		}
	}
}
