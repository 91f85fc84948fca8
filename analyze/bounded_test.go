package analyze

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"keyspread/analyze/finding"
	"keyspread/analyze/plan"
	"keyspread/analyze/profile"
	"keyspread/analyze/source"
	"keyspread/partitioner"
)

// crowded is a topic with more keys than small tables hold: each of many keys comes a few times, in random order, and 40
// heavier ones come only in the second half, when tables have let keys go. It returns the topic and the true counts.
func crowded(t testing.TB, pt partitioner.Partitioner, n, keys int) (*memory, map[string]int64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, uint64(n)))
	var early, late []string
	for i := range keys {
		early = append(early, fmt.Sprintf("customer-%07d", i))
		if i%3 == 0 {
			late = append(late, fmt.Sprintf("customer-%07d", i))
		}
	}
	for i := range 40 {
		for range 60 + 5*i {
			late = append(late, fmt.Sprintf("late-%02d", i))
		}
	}
	m := &memory{topic: "orders", partitions: make([][]source.Record, n)}
	counts := map[string]int64{}
	out := make([]int32, 1)
	for _, list := range [][]string{early, late} {
		rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		for _, key := range list {
			if _, err := pt.Place([]byte(key), []int32{int32(n)}, out); err != nil {
				t.Fatal(err)
			}
			p := &m.partitions[out[0]]
			*p = append(*p, source.Record{Offset: int64(len(*p)), Timestamp: -1, Key: []byte(key), ValueSize: 10})
			counts[key]++
		}
	}
	return m, counts
}

// tight is a config whose tables hold a few thousand keys.
func tight(pt partitioner.Partitioner) Config {
	cfg := DefaultConfig(pt)
	cfg.Profile.Memory = profile.MinMemory
	return cfg
}

// With Refine every key listed is exact though the first read gave bounds.
func TestRunRefine(t *testing.T) {
	pt := parse(t, "java")
	src, counts := crowded(t, pt, 2, 30_000)
	cfg := tight(pt)
	first, err := Run(t.Context(), src, cfg)
	if err != nil {
		t.Fatal(err)
	}
	unsure := 0
	for _, k := range first.Records.Top {
		if k.Lo != k.Hi {
			unsure++
		}
	}
	if first.Profile.Mode() != profile.Bounded || unsure < 10 {
		t.Fatalf("%v, %d of %d keys with bounds: refining has nothing to do", first.Profile.Mode(), unsure, len(first.Records.Top))
	}
	cfg.Refine = true
	res, err := Run(t.Context(), src, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, top := range [][]profile.TopKey{res.Profile.Top(cfg.Skew.Top, profile.Records), res.Profile.Top(cfg.Skew.Top, profile.Bytes)} {
		for _, k := range top {
			n := counts[string(k.Key)]
			if want := (profile.Weight{Records: n, Bytes: n * int64(len(k.Key)+10)}); k.Lo != want || k.Hi != want {
				t.Errorf("key %q has %v to %v, want %v", k.Key, k.Lo, k.Hi, want)
			}
		}
	}
	for i, k := range res.Records.Top {
		if want := int64(60 + 5*(39-i)); i < cfg.Skew.Top && (k.Lo.Records != want || k.Hi.Records != want || !k.Share.Exact()) {
			t.Errorf("listed key %d is %q with %v to %v, want %d records", i, k.Key, k.Lo, k.Hi, want)
		}
	}
	if len(res.Records.Top) < cfg.Skew.Top {
		t.Errorf("%d keys are listed, want %d", len(res.Records.Top), cfg.Skew.Top)
	}
}

// Of a bounded profile that was saved, candidates named before the read can be planned for, with every record in its
// place, and others cannot; also when the keys showed only then who had placed them.
func TestCandidatesOfABoundedProfile(t *testing.T) {
	for _, tc := range []struct {
		wrote string
		auto  bool
	}{{"java", false}, {"java", true}, {"librdkafka", true}} {
		pt := parse(t, tc.wrote)
		src, counts := crowded(t, pt, 2, 30_000)
		cfg := tight(parse(t, "java"))
		cfg.Auto = tc.auto
		cfg.Candidates = []plan.To{{NumPartitions: 5}}
		res, err := Run(t.Context(), src, cfg)
		if err != nil {
			t.Fatal(err)
		}
		saved := reload(t, saveProfile(t, res.Counted))
		if saved.Mode() != profile.Bounded {
			t.Fatalf("mode %v, want bounded", saved.Mode())
		}
		later := DefaultConfig(parse(t, saved.Partitioner))
		later.Auto = tc.auto
		later.Plans = []plan.To{{NumPartitions: 5}}
		planned, err := Conclude(saved, later)
		if err != nil {
			t.Fatalf("written by %s, auto %v: %v", tc.wrote, tc.auto, err)
		}
		want, moved := make([]float64, 5), int64(0)
		out := make([]int32, 2)
		for key, n := range counts {
			if _, err := pt.Place([]byte(key), []int32{2, 5}, out); err != nil {
				t.Fatal(err)
			}
			want[out[1]] += float64(n)
			if out[0] != out[1] {
				moved += n
			}
		}
		if got := planned.Plans[0].Records; !slices.Equal(got.Loads, want) || got.Moved != moved {
			t.Errorf("written by %s, auto %v: loads %v, %d moved; want %v, %d", tc.wrote, tc.auto, got.Loads, got.Moved, want, moved)
		}
		later.Plans = []plan.To{{NumPartitions: 6}}
		if _, err := Conclude(saved, later); err == nil {
			t.Errorf("written by %s, auto %v: 6 partitions, which were no candidate: no error", tc.wrote, tc.auto)
		}
	}
}

// Shards read under one memory are cut off where the whole read is: bounded, merged they are its profile byte for byte.
func TestBoundedShards(t *testing.T) {
	pt := parse(t, "java")
	const n = 6
	src, _ := crowded(t, pt, n, 120_000)
	cfg := DefaultConfig(pt)
	cfg.Profile.Memory = n * (600 << 10) // above the least that a table gets, so that the whole memory counts
	whole, err := Run(t.Context(), src, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole.Counted.Partitions {
		if p := &whole.Counted.Partitions[i]; p.Mode != profile.Bounded {
			t.Fatalf("partition %d is %v: this tests too little", p.ID, p.Mode)
		}
	}
	var shards []*profile.Profile
	for i := range int32(3) {
		cfg.Shard = Shard{i + 1, 3}
		res, err := Run(t.Context(), src, cfg)
		if err != nil {
			t.Fatal(err)
		}
		shards = append(shards, reload(t, saveProfile(t, res.Counted)))
	}
	m, err := profile.Merge(shards[2], shards[0], shards[1])
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(saveProfile(t, m), saveProfile(t, whole.Counted)) {
		t.Errorf("merged, the shards' profile has other bytes than the whole: a missing key has at most %v, want %v",
			m.Missing(), whole.Counted.Missing())
	}
}

func saveProfile(t *testing.T, p *profile.Profile) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := p.Save(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func reload(t *testing.T, b []byte) *profile.Profile {
	t.Helper()
	p, err := profile.Load(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A topic of thousands of partitions is read under auto without room for their number squared. What wrote it is told; its
// common mappings are not kept for all of that count, so plans under another than the assumed need every key.
func TestThousandsOfPartitions(t *testing.T) {
	const n = 4500
	wrote := parse(t, "librdkafka")
	src, _ := crowded(t, wrote, n, 400_000)
	for _, memory := range []int64{1 << 30, 36 << 20} {
		cfg := DefaultConfig(parse(t, "java"))
		cfg.Auto, cfg.Profile.Memory = true, memory
		res, err := Run(t.Context(), src, cfg)
		if err != nil {
			t.Fatal(err)
		}
		if bounded := res.Profile.Mode() == profile.Bounded; bounded != (memory < 1<<30) {
			t.Errorf("memory %d: %s", memory, res.Profile.Mode())
		}
		if writers := res.Placement.Writers; len(writers) != 1 || writers[0].Partitioner != "crc32u" {
			t.Errorf("memory %d: %+v, want one writer, crc32u", memory, writers)
		}
		told := slices.ContainsFunc(res.Findings, func(f finding.Finding) bool {
			return f.ID == finding.PartitionerMismatch && f.Severity == finding.Critical && strings.Contains(f.Do, "--partitioner crc32u,")
		})
		if bounded := memory < 1<<30; told != bounded {
			t.Errorf("memory %d: findings say that loads are not crc32u's: %v", memory, told)
		}
		if d := res.Profile.Distinct(); math.Abs(float64(d.Keys)/400_040-1) > 3*d.StdErr || d.StdErr > 0.01 {
			t.Errorf("memory %d: distinct keys %+v, want 400,040 within three standard errors", memory, d)
		}
		if got := len(res.Profile.Candidates); got > 2 {
			t.Errorf("memory %d: candidates %v, want the assumed and the one found at most", memory, res.Profile.Candidates)
		}
	}
	cfg := tight(wrote)
	if _, err := Run(t.Context(), src, cfg); err == nil || !strings.Contains(err.Error(), "too little for 4500 partitions: give at least 36 MiB") {
		t.Errorf("1 MiB: error %v, want one with what is needed", err)
	}
}
