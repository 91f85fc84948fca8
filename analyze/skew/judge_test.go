package skew

import (
	"fmt"
	"testing"

	"keyspread/analyze/profile"
	"keyspread/analyze/sample"
	"keyspread/analyze/source"
	"keyspread/partitioner"
)

// Of bounded counts a key that comes when tables have let keys go is judged by what is certain: one whose bounds hold tau
// is undecided, one that is above or below it with both is not.
func TestJudgeBounded(t *testing.T) {
	pt, err := partitioner.Parse("java")
	if err != nil {
		t.Fatal(err)
	}
	const background = 40_000 // distinct keys in 2 partitions; tables of the least memory hold about 5,000 each
	cfg := DefaultConfig()
	cfg.HotRatio = 1.05
	tau := Tau(cfg.HotRatio, 2) // 5 %
	// With c records more, c = tau/(1-tau) of the others are exactly tau of all.
	for _, tc := range []struct {
		more int // records above that, or below
		want Verdict
	}{{0, CannotTell}, {-1, CannotTell}, {1, Hot}, {-200, NotHot}} {
		count := int(tau/(1-tau)*background) + tc.more
		parts := make([][]source.Record, 2)
		out := make([]int32, 1)
		add := func(key string) {
			if _, err := pt.Place([]byte(key), []int32{2}, out); err != nil {
				t.Fatal(err)
			}
			p := &parts[out[0]]
			*p = append(*p, source.Record{Offset: int64(len(*p)), Key: []byte(key), Timestamp: -1})
		}
		for i := range background {
			add(fmt.Sprintf("customer-%07d", i))
		}
		for range count {
			add("late")
		}
		plan := &source.Plan{Topic: "t", NumPartitions: 2, Range: "earliest..latest"}
		var coverage []source.Coverage
		for id, records := range parts {
			n := int64(len(records))
			plan.Partitions = append(plan.Partitions, source.Partition{ID: int32(id)})
			plan.Spans = append(plan.Spans, source.Span{Partition: int32(id), End: n})
			coverage = append(coverage, source.Coverage{Partition: int32(id), Asked: n, Read: n, Position: n})
		}
		counting := profile.DefaultConfig()
		counting.Partitioner, counting.Memory = pt, profile.MinMemory
		b, err := profile.NewBuilder(plan, counting)
		if err != nil {
			t.Fatal(err)
		}
		for id, records := range parts {
			if err := b.Batch(&source.Batch{Partition: int32(id), Next: int64(len(records)), Records: records}); err != nil {
				t.Fatal(err)
			}
		}
		p, err := b.Profile(coverage)
		if err != nil {
			t.Fatal(err)
		}
		k := Judge(p, profile.Records, cfg, nil).Top[0]
		if string(k.Key) != "late" || k.Hi.Records <= int64(count)+1 {
			t.Fatalf("%+d: top key %q with %d to %d records: this tests no bounds", tc.more, k.Key, k.Lo.Records, k.Hi.Records)
		}
		if k.Verdict != tc.want {
			t.Errorf("%d records, shares %.6f to %.6f about tau %.6f: %v, want %v", count, k.Share.Lo, k.Share.Hi, tau, k.Verdict, tc.want)
		}
	}
}

// Of a sample the limits of the stricter level decide, the lower one for hot, whatever the limits shown are.
func TestJudgeSampled(t *testing.T) {
	weights := []float64{60, 20, 20} // keys by falling weight
	p := countKeys(t, 2, 1<<30, 3, weights)
	cfg := DefaultConfig()
	tau := Tau(cfg.HotRatio, 2) // 0.5
	for _, tc := range []struct {
		lo, hi float64 // that decide
		want   Verdict
	}{{0.51, 0.7, Hot}, {0.5, 0.7, CannotTell}, {0.3, 0.51, CannotTell}, {0.3, 0.5, NotHot}} {
		e := &sample.Estimates{Blocks: 100, BlocksAll: 1000}
		k := sample.KeyEstimate{Key: p.Top(1, profile.Records)[0].Key}
		k.Share[profile.Records] = sample.Estimate{Share: 0.55, Lo: 0.54, Hi: 0.56}
		k.Hot[profile.Records] = sample.Estimate{Share: 0.55, Lo: tc.lo, Hi: tc.hi}
		e.Keys = []sample.KeyEstimate{k}
		if got := Judge(p, profile.Records, cfg, e).Top[0]; got.Verdict != tc.want || got.Share != (Share{0.55, 0.54, 0.56}) {
			t.Errorf("%v to %v about tau %v: %v with %v, want %v", tc.lo, tc.hi, tau, got.Verdict, got.Share, tc.want)
		}
	}
}
