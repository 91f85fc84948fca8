package profile

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"keyspread/analyze/profile/sketch"
	"keyspread/analyze/source"
)

// shard profiles the records of one partition of the stream.
func shard(t *testing.T, s *stream, id int32, cfg Config) *Profile {
	t.Helper()
	plan := s.plan()
	plan.Partitions = slices.DeleteFunc(plan.Partitions, func(p source.Partition) bool { return p.ID != id })
	plan.Spans = slices.DeleteFunc(plan.Spans, func(s source.Span) bool { return s.Partition != id })
	part := withOffsets(s)
	part.recs = slices.DeleteFunc(part.recs, func(r rec) bool { return r.partition != id })
	return buildPlan(t, part, plan, cfg)
}

// A key that the assumed partitioner gives no partition has none where it is at home: what may be missing of it adds up over
// all partitions, in a profile that was read, loaded or merged.
func TestMissingOfUnplaceableKeys(t *testing.T) {
	const partitions, each = 6, 40
	s := &stream{name: "unplaceable", partitions: partitions}
	want := map[string]int64{}
	for i := range 10 {
		key := string([]byte{0xff, byte(i)})
		for range each {
			for id := range int32(partitions) {
				s.timedKeys(id, key, 1, 1000)
				want[key]++
			}
		}
	}
	fill := keyed("all distinct", partitions, 60_000, 12, func(_ *rand.Rand, i int) uint64 { return uint64(i) })
	for i := range fill.recs {
		fill.recs[i].ValueSize = 100
	}
	s.recs = append(s.recs, fill.recs...)
	cfg := config(MinMemory)
	a, b, pa, pb := split(s, func(n int) int { return n * 4 / 5 })
	early, late := buildPlan(t, a, pa, cfg), buildPlan(t, b, pb, cfg)
	merged, err := Merge(early, late)
	if err != nil {
		t.Fatal(err)
	}
	swapped, err := Merge(late, early)
	if err != nil {
		t.Fatal(err)
	}
	whole := s.build(t, cfg, 1)
	for _, tt := range []struct {
		name string
		p    *Profile
	}{{"read", whole}, {"loaded", load(t, save(t, whole))}, {"merged", merged}, {"merged the other way round", swapped}} {
		gone := 0
		var most int64 // what may be missing in one partition
		for i := range tt.p.Partitions {
			most = max(most, tt.p.Partitions[i].Missing.Records)
		}
		for key, n := range want {
			if _, ok := tt.p.Lookup([]byte(key)); ok {
				continue
			}
			gone++
			if tt.p.Missing().Records < n {
				t.Errorf("%s: a missing key has at most %v, but %x has %d records", tt.name, tt.p.Missing(), key, n)
				break
			}
		}
		if gone == 0 || most >= partitions*each {
			t.Errorf("%s: %d keys are gone, up to %d records in a partition: this tests too little", tt.name, gone, most)
		}
	}
}

// A key that was counted again in every partition of one profile only has bounds in the merged one; one that was in all is
// exact.
func TestMergeRefined(t *testing.T) {
	s := &stream{name: "refined", partitions: 2}
	for id := range int32(2) { // in both partitions, at home in one
		s.timedKeys(id, "one", 10, 1000)
		s.timedKeys(id, "both", 10, 1000)
	}
	s.timedKeys(0, "one", 100, 1000)
	fill := keyed("all distinct", 2, 20_000, 13, func(_ *rand.Rand, i int) uint64 { return uint64(i) })
	s.recs = append(s.recs, fill.recs...)
	s.timedKeys(0, "one", 100, 1000)
	s.timedKeys(0, "both", 100, 1000)
	s.timedKeys(1, "both", 100, 1000)
	truth := s.truth(nil)
	cfg := config(MinMemory)
	var shards []*Profile
	for id, keys := range [][][]byte{{[]byte("one"), []byte("both")}, {[]byte("both")}} {
		p := shard(t, s, int32(id), cfg)
		if _, ok := p.Lookup([]byte("one")); p.Mode() != Bounded || id == 1 && ok {
			t.Fatalf("shard %d: %v, holds the key that it is to forget: %v", id, p.Mode(), ok)
		}
		r, err := NewRefiner(p, keys)
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range withOffsets(s).recs {
			if rec.partition == int32(id) {
				if err := r.Batch(&source.Batch{Partition: rec.partition, Records: []source.Record{rec.Record}}); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := r.Apply(); err != nil {
			t.Fatal(err)
		}
		shards = append(shards, p)
	}
	for _, order := range [][]*Profile{{shards[0], shards[1]}, {shards[1], shards[0]}} {
		m, err := Merge(order...)
		if err != nil {
			t.Fatal(err)
		}
		one, _ := m.Lookup([]byte("one"))
		if checkBounds(t, "the key refined in one shard", one.Lo, one.Hi, truth.total["one"]); one.Lo == one.Hi {
			t.Errorf("the key refined in one shard is said to have exactly %v", one.Lo)
		}
		both, _ := m.Lookup([]byte("both"))
		if want := truth.total["both"]; both.Lo != want || both.Hi != want {
			t.Errorf("the key refined in both shards has %v to %v, want %v", both.Lo, both.Hi, want)
		}
	}
}

// The sketch of a merged partition is that of all of its keys, of whichever parts and in whichever order.
func TestMergedSketch(t *testing.T) {
	s := keyed("all distinct", 2, 30_000, 14, func(_ *rand.Rand, i int) uint64 { return uint64(i) })
	want := []*sketch.HLL{sketch.NewHLL(hllBits), sketch.NewHLL(hllBits)}
	for i := range s.recs {
		want[s.recs[i].partition].Add(sketch.HashOf(s.recs[i].Key))
	}
	a, b, pa, pb := split(s, func(n int) int { return n / 2 })
	x, y := buildPlan(t, a, pa, config(MinMemory)), buildPlan(t, b, pb, config(MinMemory))
	exact := buildPlan(t, b, pb, config(1<<30))
	for _, parts := range [][]*Profile{{x, y}, {y, x}, {x, exact}} {
		m, err := Merge(parts...)
		if err != nil {
			t.Fatal(err)
		}
		for i := range m.Partitions {
			if m.Partitions[i].Mode != Bounded || !slices.Equal(m.Partitions[i].HLL().Regs, want[i].Regs) {
				t.Errorf("partition %d, %v: the registers are not those of its keys", i, m.Partitions[i].Mode)
			}
		}
	}
}

// The same range twice is an overlap like any other.
func TestMergeTheSameTwice(t *testing.T) {
	p := smallProfile(t, false)
	m, err := Merge(p, load(t, save(t, p)))
	if m != nil || err == nil || !strings.Contains(err.Error(), "overlap: their records would count twice") {
		t.Errorf("merged: %v, error %v; want the overlap told", m != nil, err)
	}
}

// Any damage to the rows is found by their checksum, before anything is made of them.
func TestDamagedRows(t *testing.T) {
	good := save(t, smallProfile(t, true))
	f, err := parquet.OpenFile(bytes.NewReader(good), int64(len(good)))
	if err != nil {
		t.Fatal(err)
	}
	text, _ := f.Lookup(metaProfile)
	doc, err := parseDocument([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	magic := 4 // bytes at the start of any Parquet file
	if doc.DataSize <= int64(magic) || doc.DataSize >= int64(len(good)) {
		t.Fatalf("%d bytes of rows in a file of %d", doc.DataSize, len(good))
	}
	for at := magic; at < int(doc.DataSize); at++ {
		p, err := Load(bytes.NewReader(flip(good, at)), int64(len(good)))
		if p != nil || err == nil || !strings.Contains(err.Error(), "its rows are damaged: the checksum is another") {
			t.Fatalf("byte %d of %d: error %v, want the checksum's", at, doc.DataSize, err)
		}
	}
}

// The standard error of distinct keys is the size of the errors made: over many topics, their quotients have mean square 1.
func TestDistinctStdErr(t *testing.T) {
	const topics, keys = 150, 2000
	var sum float64
	for seed := range uint64(topics) {
		s := keyed("all distinct", 1, keys, seed, func(_ *rand.Rand, i int) uint64 { return seed<<32 + uint64(i) })
		d := s.build(t, config(MinMemory), 1).Distinct()
		if d.Exact || d.StdErr <= 0 {
			t.Fatalf("seed %d: %+v is no estimate", seed, d)
		}
		z := (float64(d.Keys) - keys) / (d.StdErr * float64(d.Keys))
		sum += z * z
	}
	// The mean of 150 squares of normal values has the standard error sqrt(2/150) = 0.12.
	if got := sum / topics; math.Abs(got-1) > 0.5 {
		t.Errorf("the mean square of errors by their standard error is %.2f, want 1 +- 0.5", got)
	}
}

// Parts of different partitions, bounded ones too, make one profile however their merges are nested.
func TestNestedMerges(t *testing.T) {
	s := keyed("zipf", 3, 60_000, 21, zipf(30_000, 1))
	var parts []*Profile
	for id := range int32(3) {
		p := shard(t, s, id, config(MinMemory))
		if p.Range = []string{"3..4", "1..2", "2..3"}[id]; p.Mode() != Bounded {
			t.Fatalf("partition %d is %v, want it bounded", id, p.Mode())
		}
		parts = append(parts, p)
	}
	merge := func(profiles ...*Profile) *Profile {
		m, err := Merge(profiles...)
		if err != nil {
			t.Fatal(err)
		}
		return load(t, save(t, m))
	}
	want := save(t, merge(parts...))
	for i, m := range []*Profile{
		merge(merge(parts[0], parts[1]), parts[2]),
		merge(parts[0], merge(parts[1], parts[2])),
		merge(merge(parts[2], parts[0]), parts[1]),
	} {
		if !bytes.Equal(save(t, m), want) {
			t.Errorf("nesting %d: range %q, other bytes than one merge of all: %s", i, m.Range, firstDifference(load(t, want), m))
		}
	}
}
