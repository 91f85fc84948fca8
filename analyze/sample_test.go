package analyze

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"keyspread/analyze/finding"
	"keyspread/analyze/plan"
	"keyspread/analyze/profile"
	"keyspread/analyze/sample"
	"keyspread/analyze/skew"
	"keyspread/analyze/source"
)

// burstTopic is a topic of n records in 12 partitions: "hot" has the share given, in runs of mean length 10; the rest
// is spread over 50,000 keys.
func burstTopic(t testing.TB, n int, share float64, seed uint64) *memory {
	t.Helper()
	pt := parse(t, "java")
	rng := rand.New(rand.NewPCG(seed, 23))
	m := &memory{topic: "bursts", partitions: make([][]source.Record, 12)}
	out := make([]int32, 1)
	const leave = 1.0 / 10
	enter := leave * share / (1 - share)
	on := false
	for i := range n {
		if on {
			on = rng.Float64() >= leave
		} else {
			on = rng.Float64() < enter
		}
		key := []byte("hot")
		if !on {
			key = fmt.Appendf(nil, "key-%05d", rng.IntN(50_000))
		}
		if _, err := pt.Place(key, []int32{12}, out); err != nil {
			t.Fatal(err)
		}
		p := &m.partitions[out[0]]
		*p = append(*p, source.Record{Offset: int64(len(*p)), Timestamp: int64(i), Key: key, ValueSize: int32(50 + rng.IntN(100))})
	}
	return m
}

// A sample of a bursty topic, over many seeds: the interval of the hot key covers the truth, the key is called hot,
// moved shares cover theirs, and a fraction of the topic was read. Nominal 95 %: of 25 runs at least 21 must cover
// (fewer has probability 0.7 %).
func TestRunSampled(t *testing.T) {
	src := burstTopic(t, 800_000, 0.10, 1)
	cfg := DefaultConfig(parse(t, "java"))
	cfg.Plans = []plan.To{{NumPartitions: 18}}
	truth, err := Run(t.Context(), src, cfg)
	if err != nil {
		t.Fatal(err)
	}
	want := truth.Records.Top[0].Share.Est
	wantMoved := truth.Plans[0].Records.MovedShare

	covered, coveredMoved, coveredBytes, runs := 0, 0, 0, 25
	for seed := range uint64(runs) {
		sc := sample.DefaultConfig()
		sc.Seed = seed
		cfg.Sample = &sc
		res, err := Run(t.Context(), src, cfg)
		if err != nil {
			t.Fatal(err)
		}
		top := res.Records.Top[0]
		if string(top.Key) != "hot" || top.Verdict != skew.Hot {
			t.Fatalf("seed %d: top key %q is %v (%+v)", seed, top.Key, top.Verdict, top.Share)
		}
		if top.Share.Lo <= want && want <= top.Share.Hi {
			covered++
		}
		if b := res.Bytes.Top[0].Share; b.Lo <= truth.Bytes.Top[0].Share.Est && truth.Bytes.Top[0].Share.Est <= b.Hi {
			coveredBytes++
		}
		if m := res.Plans[0].Records.MovedRange; m.Lo <= wantMoved && wantMoved <= m.Hi {
			coveredMoved++
		}
		e := res.Sample
		if e.Stopped != "precision" || e.HalfWidth > 1.25*sc.Precision {
			t.Errorf("seed %d: stopped by %s at half-width %.4f, want precision %.2f", seed, e.Stopped, e.HalfWidth, sc.Precision)
		}
		if read := float64(e.Offsets) / float64(e.OffsetsAll); read > 0.2 {
			t.Errorf("seed %d: %.1f %% of the topic was read", seed, 100*read)
		}
		if res.Profile.Mode() != profile.Sampled || res.Plans[0].KeysKnown {
			t.Errorf("seed %d: mode %v, moved keys known %v; want a sample that does not know", seed, res.Profile.Mode(), res.Plans[0].KeysKnown)
		}
		// Partition loads come from offsets: on a topic without gaps they are exact.
		for p, load := range res.Records.Loads {
			if load != truth.Records.Loads[p] {
				t.Errorf("seed %d: partition %d has load %d, offsets say %d", seed, p, load, truth.Records.Loads[p])
			}
		}
		if math.Abs(float64(res.Bytes.Total)/float64(truth.Bytes.Total)-1) > 0.02 {
			t.Errorf("seed %d: bytes estimated %d, true %d", seed, res.Bytes.Total, truth.Bytes.Total)
		}
	}
	for _, c := range []struct {
		what    string
		covered int
	}{{"share in records", covered}, {"share in bytes", coveredBytes}, {"moved share", coveredMoved}} {
		t.Logf("%s: %d of %d intervals cover", c.what, c.covered, runs)
		if c.covered < 21 {
			t.Errorf("%s: only %d of %d intervals cover", c.what, c.covered, runs)
		}
	}
}

// A sample of a small topic ends by reading it all, and then says so and is exact.
func TestRunSampledWhole(t *testing.T) {
	src := burstTopic(t, 20_000, 0.10, 2)
	cfg := DefaultConfig(parse(t, "java"))
	truth, err := Run(t.Context(), src, cfg)
	if err != nil {
		t.Fatal(err)
	}
	sc := sample.DefaultConfig()
	sc.Precision = 0.0001
	cfg.Sample = &sc
	res, err := Run(t.Context(), src, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if res.Sample.Stopped != "everything read" {
		t.Errorf("stopped by %s, want everything read", res.Sample.Stopped)
	}
	if got, want := res.Records.Top[0].Share, truth.Records.Top[0].Share; !got.Exact() || math.Abs(got.Est-want.Est) > 1e-12 {
		t.Errorf("share %+v, want exactly %v", got, want.Est)
	}
	if got := res.Records.Total; got != truth.Records.Total {
		t.Errorf("records %d, want %d", got, truth.Records.Total)
	}
}

// Limits end a sample and are named. They hold for its first round too, but for two blocks of each partition, and a
// sample of fewer than 30 blocks warns.
func TestRunSampledLimits(t *testing.T) {
	src := burstTopic(t, 400_000, 0.10, 3)
	for _, tc := range []struct {
		name   string
		change func(*sample.Config)
		want   string
	}{
		{"records", func(c *sample.Config) { c.MaxRecords = 25_000 }, "max-records"},
		{"few records", func(c *sample.Config) { c.MaxRecords = 5_000 }, "max-records"},
		{"time", func(c *sample.Config) { c.Expired = func() bool { return true } }, "max-time"},
	} {
		cfg := DefaultConfig(parse(t, "java"))
		sc := sample.DefaultConfig()
		sc.Precision = 0.001
		tc.change(&sc)
		cfg.Sample = &sc
		res, err := Run(t.Context(), src, cfg)
		if err != nil {
			t.Fatal(err)
		}
		if res.Sample.Stopped != tc.want {
			t.Errorf("%s: stopped by %q, want %q", tc.name, res.Sample.Stopped, tc.want)
		}
		if sc.MaxRecords > 0 && res.Sample.Records > max(sc.MaxRecords+12*sc.BlockSize, 12*2*sc.BlockSize) {
			t.Errorf("%s: %d records read, want about %d", tc.name, res.Sample.Records, sc.MaxRecords)
		}
		if !slices.ContainsFunc(res.Findings, func(f finding.Finding) bool { return f.ID == finding.SampleTooSmall }) {
			t.Errorf("%s: %d blocks, no finding says that they are few", tc.name, res.Sample.Blocks)
		}
	}
}
