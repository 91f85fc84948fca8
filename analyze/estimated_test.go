package analyze

import (
	"strings"
	"testing"

	"keyspread/analyze/finding"
	"keyspread/analyze/placement"
	"keyspread/analyze/profile"
	"keyspread/analyze/sample"
)

// unkeyedTopic is a bursty topic in which one record of 20 has no key, in turn over the partitions, and one of 50 an
// empty one.
func unkeyedTopic(t testing.TB) (src *memory, null, empty float64) {
	t.Helper()
	src = burstTopic(t, 200_000, 0.10, 5)
	var all float64
	for _, records := range src.partitions {
		for i := range records {
			all++
			switch {
			case i%20 == 7:
				records[i].Key = nil
				null++
			case i%50 == 3:
				records[i].Key = []byte{}
				empty++
			}
		}
	}
	return src, null / all, empty / all
}

// What a sample says of records without a key, or with an empty one, comes with its interval in findings too, and it does
// not say how they are spread.
func TestUnkeyedRecordsOfASample(t *testing.T) {
	src, null, empty := unkeyedTopic(t)
	cfg := DefaultConfig(parse(t, "java"))
	whole, err := Run(t.Context(), src, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if f := has(whole.Findings, finding.NullKeys); f == nil || !strings.Contains(f.What, " records (5.0 %) have no key:") {
		t.Errorf("everything read: %+v, want a count", f)
	}
	coveredNull, coveredEmpty := 0, 0
	const runs = 10
	for seed := range uint64(runs) {
		sc := sample.DefaultConfig()
		sc.Seed = seed
		cfg.Sample = &sc
		res, err := Run(t.Context(), src, cfg)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			id      finding.ID
			of      [2]sample.Estimate
			truth   float64
			covered *int
		}{{finding.NullKeys, res.Sample.Null, null, &coveredNull}, {finding.EmptyKeys, res.Sample.Empty, empty, &coveredEmpty}} {
			e := c.of[profile.Records]
			if e.Lo >= e.Hi || e.Lo > e.Share || e.Share > e.Hi {
				t.Errorf("seed %d: %s: %+v is no estimate in its interval", seed, c.id, e)
			}
			if e.Lo <= c.truth && c.truth <= e.Hi {
				*c.covered++
			}
			want := finding.PercentRange(e.Lo, e.Hi) + " of records have "
			if f := has(res.Findings, c.id); f == nil || !strings.HasPrefix(f.What, want) {
				t.Errorf("seed %d: %+v, want %q", seed, f, want)
			}
		}
		if p := res.Placement.Null.Pattern; p != placement.TooFew {
			t.Errorf("seed %d: a sample says that null keys are spread %s", seed, p)
		}
	}
	// Nominal 95 %: fewer than 8 of 10 has a probability of 1.2 %.
	if coveredNull < 8 || coveredEmpty < 8 {
		t.Errorf("%d and %d of %d intervals cover", coveredNull, coveredEmpty, runs)
	}
}

// Findings about a hot partition use the estimate of the key that the lists have, and say which loads are estimates.
func TestHotPartitionOfASample(t *testing.T) {
	src, _, _ := unkeyedTopic(t)
	cfg := DefaultConfig(parse(t, "java"))
	sc := sample.DefaultConfig()
	cfg.Sample = &sc
	res, err := Run(t.Context(), src, cfg)
	if err != nil {
		t.Fatal(err)
	}
	f := has(res.Findings, finding.HotPartition)
	if f == nil || !isEstimated(res.Sample) {
		t.Fatalf("findings %v of %d of %d blocks, want a hot partition of a sample", ids(res.Findings), res.Sample.Blocks, res.Sample.BlocksAll)
	}
	k := res.Records.Top[0]
	by := float64(res.Records.Total) / float64(res.Records.Loads[k.Where[0].Partition])
	if want := finding.PercentRange(k.Share.Lo*by, k.Share.Hi*by) + " of it"; k.Share.Lo == k.Share.Hi || !strings.Contains(f.Do, want) {
		t.Errorf("%q does not say %q", f.Do, want)
	}
	// Without gaps the records of a partition are its offsets, and exact; its bytes are not.
	if !strings.Contains(f.What, "; about ") || strings.Contains(f.What, "takes about") {
		t.Errorf("%q: want about for bytes, and not for records", f.What)
	}
}
