package profile

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"keyspread/analyze/source"
)

func save(t testing.TB, p *Profile) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := p.Save(&b); err != nil {
		t.Fatalf("Save: %v", err)
	}
	return b.Bytes()
}

func load(t testing.TB, b []byte) *Profile {
	t.Helper()
	p, err := Load(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return p
}

// Saving, loading and saving again loses nothing: the profile answers the same, and its file has the same bytes.
func TestSaveLoad(t *testing.T) {
	for i, s := range append(streams(), timedStreams()...) {
		if i%4 != 0 {
			continue
		}
		for _, memory := range []int64{MinMemory, 1 << 30} {
			t.Run(fmt.Sprintf("%s, %d MiB", s.name, memory>>20), func(t *testing.T) {
				t.Parallel()
				p := s.build(t, config(memory), 1)
				p.Partitions[0].Coverage.Err = errors.New("partition 0: leader not available")
				file := save(t, p)
				again := load(t, file)
				if got, want := dump(again), dump(p); !slices.Equal(got, want) {
					for i := range min(len(got), len(want)) {
						if got[i] != want[i] {
							t.Fatalf("loaded line %d:\n got %.300s\nwant %.300s", i, got[i], want[i])
						}
					}
					t.Fatalf("loaded %d lines, want %d", len(got), len(want))
				}
				if !bytes.Equal(save(t, again), file) {
					t.Error("saved again, the file has other bytes")
				}
			})
		}
	}
}

// Every engine can read the rows: here parquet-go's own generic reader, with nothing of ours but column names.
func TestRowsAreATable(t *testing.T) {
	s := keyed("zipf", 3, 5000, 1, zipf(200, 1))
	s.recs[0].Key, s.recs[1].Key = nil, []byte{}
	b := save(t, s.build(t, config(1<<30), 1))
	type r struct {
		Partition int32   `parquet:"partition"`
		Key       *[]byte `parquet:"key"`
		Records   int64   `parquet:"records"`
		Bytes     int64   `parquet:"bytes"`
	}
	rows, err := parquet.Read[r](bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	var nulls, empty, records, size int64
	for _, row := range rows {
		records += row.Records
		size += row.Bytes
		if row.Key == nil {
			nulls += row.Records
		} else if len(*row.Key) == 0 {
			empty += row.Records
		}
	}
	total := s.build(t, config(1<<30), 1).Total()
	if nulls != 1 || empty != 1 || records != total.Records || size != total.Bytes {
		t.Errorf("%d null, %d empty, %d records, %d bytes, want 1, 1, %v", nulls, empty, records, size, total)
	}
}

// split cuts a stream's plan and records in two at an offset of each partition.
func split(s *stream, at func(records int) int) (a, b *stream, pa, pb *source.Plan) {
	whole := s.plan()
	n := make([]int, s.partitions)
	a, b = &stream{name: s.name, partitions: s.partitions}, &stream{name: s.name, partitions: s.partitions}
	cut := make([]int, s.partitions)
	for _, span := range whole.Spans {
		cut[span.Partition] = at(int(span.End))
	}
	for i := range s.recs {
		r := s.recs[i]
		r.Offset = int64(n[r.partition])
		if n[r.partition]++; n[r.partition] <= cut[r.partition] {
			a.recs = append(a.recs, r)
		} else {
			b.recs = append(b.recs, r)
		}
	}
	pa, pb = s.plan(), s.plan()
	pa.Spans, pb.Spans, pa.Partitions, pb.Partitions = nil, nil, nil, nil
	for _, span := range whole.Spans {
		c := int64(cut[span.Partition])
		if c > 0 {
			pa.Spans = append(pa.Spans, source.Span{Partition: span.Partition, Start: 0, End: c})
			pa.Partitions = append(pa.Partitions, source.Partition{ID: span.Partition})
		}
		if c < span.End {
			pb.Spans = append(pb.Spans, source.Span{Partition: span.Partition, Start: c, End: span.End})
			pb.Partitions = append(pb.Partitions, source.Partition{ID: span.Partition})
		}
	}
	return a, b, pa, pb
}

// buildPlan profiles a part of a stream, whose records carry their offsets.
func buildPlan(t testing.TB, s *stream, plan *source.Plan, cfg Config) *Profile {
	t.Helper()
	b, err := NewBuilder(plan, cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.tighten(b)
	for i := range s.recs {
		if err := b.Batch(&source.Batch{Partition: s.recs[i].partition, Records: []source.Record{s.recs[i].Record}, WireBytes: 1}); err != nil {
			t.Fatal(err)
		}
	}
	p, err := b.Profile(coverage(plan))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Shards of whole partitions, merged, are the profile of the whole, byte for byte, in any order and by way of files.
func TestMergeShards(t *testing.T) {
	for i, s := range append(streams(), timedStreams()...) {
		if i%4 != 0 || s.partitions < 2 {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			cfg := config(MinMemory)
			want := save(t, buildPlan(t, withOffsets(s), s.plan(), cfg))
			var shards []*Profile
			for i := range 2 {
				mine := func(id int32) bool { return int(id)%2 == i }
				part := withOffsets(s)
				part.recs = slices.DeleteFunc(part.recs, func(r rec) bool { return !mine(r.partition) })
				p := buildPlan(t, part, s.plan(), cfg) // of all partitions, whoever reads them: it shares out the memory
				p.Partitions = slices.DeleteFunc(p.Partitions, func(p Partition) bool { return !mine(p.ID) })
				shards = append(shards, load(t, save(t, p)))
			}
			for _, order := range [][]*Profile{{shards[0], shards[1]}, {shards[1], shards[0]}} {
				m, err := Merge(order...)
				if err != nil {
					t.Fatal(err)
				}
				if got := save(t, m); !bytes.Equal(got, want) {
					t.Errorf("merged shards have other bytes than the whole:\n%s", firstDifference(load(t, want), m))
				}
			}
		})
	}
}

func firstDifference(want, got *Profile) string {
	a, b := dump(want), dump(got)
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d\nwhole  %.400s\nmerged %.400s", i, a[i], b[i])
		}
	}
	return fmt.Sprintf("%d lines and %d", len(a), len(b))
}

func withOffsets(s *stream) *stream {
	c := *s
	c.recs = slices.Clone(s.recs)
	n := make([]int64, s.partitions)
	for i := range c.recs {
		c.recs[i].Offset = n[c.recs[i].partition]
		n[c.recs[i].partition]++
	}
	return &c
}

// Ranges of the same partitions, merged, hold the bounds of the whole, and when they are exact are its profile.
func TestMergeRanges(t *testing.T) {
	for i, s := range append(streams(), timedStreams()...) {
		if i%4 != 1 {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			for _, memory := range []int64{1 << 30, MinMemory} {
				cfg := config(memory)
				a, b, pa, pb := split(s, func(n int) int { return n * 2 / 5 })
				x, y := buildPlan(t, a, pa, cfg), buildPlan(t, b, pb, cfg)
				m, err := Merge(y, x)
				if err != nil {
					t.Fatal(err)
				}
				o, err := Merge(x, load(t, save(t, y)))
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(save(t, m), save(t, o)) {
					t.Error("the order of merging changes the bytes")
				}
				tr := s.truth(specsOf(cfg, s.partitions))
				checkPlaced(t, m, tr)
				checkTotals(t, m, s)
				for k, w := range tr.total {
					if got, ok := m.Lookup([]byte(k)); ok {
						checkBounds(t, fmt.Sprintf("key %.20q", k), got.Lo, got.Hi, w)
					} else {
						checkBounds(t, fmt.Sprintf("missing key %.20q", k), Weight{}, m.Missing(), w)
					}
					if t.Failed() {
						return
					}
				}
				checkSeries(t, m, s)
			}
		})
	}
}

// Of ranges that lie between one another the earliest and the latest time of a key stay, and so they do in any order. Of
// others they are those of the first and the last offset, whatever the clocks of the producers said.
func TestMergeTimes(t *testing.T) {
	profileOf := func(spans []source.Span, times ...int64) *Profile {
		plan := &source.Plan{
			Topic: "orders", NumPartitions: 1, Partitions: []source.Partition{{ID: 0}}, Spans: spans, Range: "earliest..latest",
		}
		b, err := NewBuilder(plan, config(1<<30))
		if err != nil {
			t.Fatal(err)
		}
		for i, at := range times {
			span := spans[min(i, len(spans)-1)]
			r := source.Record{Offset: span.Start + int64(i/len(spans)), Timestamp: at, Key: []byte("key")}
			if err := b.Batch(&source.Batch{Records: []source.Record{r}, Next: r.Offset + 1}); err != nil {
				t.Fatal(err)
			}
		}
		p, err := b.Profile(coverage(plan))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, tt := range []struct {
		name        string
		a, b        *Profile
		first, last int64
	}{
		{
			"between", profileOf([]source.Span{{Start: 0, End: 30}, {Start: 50, End: 60}}, 100, 900),
			profileOf([]source.Span{{Start: 30, End: 50}}, 500), 100, 900,
		},
		{
			"apart", profileOf([]source.Span{{Start: 0, End: 30}}, 700, 900),
			profileOf([]source.Span{{Start: 30, End: 50}}, 500), 700, 500,
		},
	} {
		for _, order := range [][]*Profile{{tt.a, tt.b}, {tt.b, tt.a}} {
			m, err := Merge(order...)
			if err != nil {
				t.Fatal(err)
			}
			if k := m.Partitions[0].key(0); k.First != tt.first || k.Last != tt.last {
				t.Errorf("%s: first %d, last %d, want %d and %d", tt.name, k.First, k.Last, tt.first, tt.last)
			}
		}
	}
}

func TestMergeRefused(t *testing.T) {
	s := keyed("a", 2, 1000, 1, uniform(50))
	p := func(change func(cfg *Config, plan *source.Plan)) *Profile {
		cfg, plan := config(1<<30), s.plan()
		change(&cfg, plan)
		b, err := NewBuilder(plan, cfg)
		if err != nil {
			t.Fatal(err)
		}
		prof, err := b.Profile(nil)
		if err != nil {
			t.Fatal(err)
		}
		return prof
	}
	base := p(func(_ *Config, plan *source.Plan) {
		plan.Spans = []source.Span{{Partition: 1, Start: 10, End: 20}, {Partition: 1, Start: 30, End: 40}}
	})
	for _, tt := range []struct {
		want   string
		change func(cfg *Config, plan *source.Plan)
	}{
		{"topics (orders and payments)", func(_ *Config, plan *source.Plan) { plan.Topic = "payments" }},
		{"partition counts (2 and 3)", func(_ *Config, plan *source.Plan) { plan.NumPartitions = 3 }},
		{"isolation", func(_ *Config, plan *source.Plan) { plan.Isolation = source.ReadUncommitted }},
		{"partitioners", func(cfg *Config, _ *source.Plan) { cfg.Partitioner = fnvPartitioner{id: "other"} }},
		{"candidates", func(cfg *Config, _ *source.Plan) { cfg.Candidates = cfg.Candidates[:1] }},
		{`topic "orders": the offsets 30..40 and 39..50 of partition 1 overlap`, func(_ *Config, plan *source.Plan) {
			plan.Spans = []source.Span{{Partition: 1, Start: 39, End: 50}}
		}},
		{"10..20 and 12..14 of partition 1", func(_ *Config, plan *source.Plan) {
			plan.Spans = []source.Span{{Partition: 1, Start: 12, End: 14}}
		}},
	} {
		if _, err := Merge(base, p(tt.change)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want one with %q", err, tt.want)
		}
	}
	if _, err := Merge(); err == nil {
		t.Error("merging nothing: no error")
	}
	between := p(func(_ *Config, plan *source.Plan) { plan.Spans = []source.Span{{Partition: 1, Start: 20, End: 30}} })
	m, err := Merge(base, between)
	if want := []source.Span{{Partition: 1, Start: 10, End: 40}}; err != nil || !slices.Equal(m.Partitions[1].Spans, want) {
		t.Errorf("ranges that touch: %v, spans %v, want %v", err, m.Partitions[1].Spans, want)
	}
}

func TestLoadRefused(t *testing.T) {
	good := save(t, keyed("a", 2, 3000, 1, uniform(500)).build(t, config(1<<30), 1))
	var foreign bytes.Buffer
	if err := parquet.Write(&foreign, []struct{ Key string }{{"a"}, {"b"}}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, want string
		b          []byte
		foreign    bool
	}{
		{"nothing", "no Parquet file", nil, true},
		{"text", "no Parquet file", []byte(strings.Repeat("key,records\n", 100)), true},
		{"another table", "did not write", foreign.Bytes(), true},
		{"another table, sealed", metaProfile, sealed(t, foreign.Bytes()), true},
		{"cut", "cut short", good[:len(good)/2], false},
		{"a footer beyond the file", "footer of 4294967295 bytes", []byte("PAR1\xff\xff\xff\xffPAR1"), false},
		{"a later version", "its version is 2", resealed(t, good, `"version":1`, `"version":2`), false},
		{"an earlier version", "its version is 0", resealed(t, good, `"version":1`, `"version":0`), false},
		{"another format", "its format is", resealed(t, good, `"format":"keyspread profile"`, `"format":"keyspread profilf"`), true},
		{"a broken document", "document is damaged", resealed(t, good, `"tombstones":`, `"tombstones" `), false},
		{"an unknown member", "document is damaged", resealed(t, good, `"tombstones":`, `"tombstonez":`), false},
		{"a changed count", "footer is damaged", bytes.Replace(good, []byte(`"tombstones":`), []byte(`"tombstonez":`), 1), false},
		{"a changed row", "rows are damaged", flip(good, 100), false},
	} {
		p, err := Load(bytes.NewReader(tt.b), int64(len(tt.b)))
		if p != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want an error with %q", tt.name, err, tt.want)
		}
		if errors.Is(err, ErrNotProfile) != tt.foreign {
			t.Errorf("%s: %v: is ErrNotProfile: %v, want %v", tt.name, err, !tt.foreign, tt.foreign)
		}
	}
	// no single changed byte goes unnoticed
	r := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		at := r.IntN(len(good))
		p, err := Load(bytes.NewReader(flip(good, at)), int64(len(good)))
		if err == nil && !bytes.Equal(save(t, p), good) {
			t.Errorf("byte %d of %d changed: another profile was loaded", at, len(good))
		}
	}
}

// An exact profile whose keys have fewer records than its partition is refused, a bounded one is not.
func TestLoadOfLostRecords(t *testing.T) {
	for _, bounded := range []bool{false, true} {
		p := smallProfile(t, bounded)
		part := &p.Partitions[1]
		e := part.keys.entry(0)
		e.records, e.bytes = e.records-1, e.bytes-1
		file := save(t, p)
		_, err := Load(bytes.NewReader(file), int64(len(file)))
		want := "its keys do not add up to its records"
		if bounded {
			want = ""
		}
		checkError(t, err, want)
	}
}

// sealed is a Parquet file of another writer with the seal of a profile.
func sealed(t *testing.T, b []byte) []byte {
	t.Helper()
	end, err := seal(b[len(parquetMagic):])
	if err != nil {
		t.Fatal(err)
	}
	return append([]byte(parquetMagic), end...)
}

// resealed is a profile's file with another text in its footer, of the same length, and the seal of that.
func resealed(t *testing.T, b []byte, old, new string) []byte {
	t.Helper()
	b = bytes.Clone(b)
	at, err := footerAt(int64(len(b)), b)
	if err != nil || len(old) != len(new) || !bytes.Contains(b[at:], []byte(old)) {
		t.Fatalf("%q cannot be put in place of %q: %v", new, old, err)
	}
	copy(b[at:], bytes.Replace(b[at:], []byte(old), []byte(new), 1))
	copy(b[at-int64(sealSize):], sealOf(b[at:]))
	return b
}

// Whatever byte of a file's end is damaged, little memory is taken before that is known: the Parquet reader would believe
// what it reads of lengths.
func TestDamageTakesNoMemory(t *testing.T) {
	good := save(t, smallProfile(t, true))
	at, err := footerAt(int64(len(good)), good)
	if err != nil {
		t.Fatal(err)
	}
	for i := at - int64(sealSize); i < int64(len(good)); i++ {
		for _, b := range []byte{0, 0x7f, 0xff, good[i] + 1} {
			if b == good[i] {
				continue
			}
			bad := bytes.Clone(good)
			bad[i] = b
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			p, err := Load(bytes.NewReader(bad), int64(len(bad)))
			runtime.ReadMemStats(&after)
			if took := after.TotalAlloc - before.TotalAlloc; p != nil || err == nil || took > 64<<10 {
				t.Fatalf("byte %d of %d is %#x: error %v after %d bytes of memory", i, len(good), b, err, took)
			}
		}
	}
}

func flip(b []byte, at int) []byte {
	c := bytes.Clone(b)
	c[at] ^= 0x10
	return c
}

// smallProfile has few keys and candidates, so that fuzzing is fast; bounded, it has also lost some.
func smallProfile(t testing.TB, bounded bool) *Profile {
	t.Helper()
	s := keyed("small", 2, 40, 1, uniform(15))
	s.recs[3].Key = nil
	cfg := Config{Partitioner: testPartitioner, Candidates: []CandidateSpec{{testPartitioner, 3}}, Memory: 1 << 30, Buckets: 4}
	plan := s.plan()
	b, err := NewBuilder(plan, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if bounded {
		b.parts[1].table.budget = 64*8 + 8*entryBytes
	}
	s.feed(t, b, 1)
	p, err := b.Profile(coverage(plan))
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Mode() == Bounded; got != bounded {
		t.Fatalf("bounded is %v, want %v", got, bounded)
	}
	return p
}

// Whatever loads can be saved and loaded again with the same bytes, and an error comes without a profile.
func FuzzLoad(f *testing.F) {
	for _, bounded := range []bool{false, true} {
		f.Add(save(f, smallProfile(f, bounded)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := Load(bytes.NewReader(b), int64(len(b)))
		checkLoaded(t, p, err)
	})
}

// The same for the document alone, with its checksum right, beside rows that stay as they are.
func FuzzDocument(f *testing.F) {
	file := save(f, smallProfile(f, true))
	rows, err := parquet.OpenFile(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		f.Fatal(err)
	}
	text, _ := rows.Lookup(metaProfile)
	f.Add([]byte(text))
	f.Fuzz(func(t *testing.T, b []byte) {
		doc, err := parseDocument(b)
		if err != nil {
			return
		}
		p, err := doc.profile(rows)
		checkLoaded(t, p, err)
	})
}

func checkLoaded(t *testing.T, p *Profile, err error) {
	t.Helper()
	if err != nil {
		if p != nil {
			t.Fatalf("error %v with a profile", err)
		}
		return
	}
	file := save(t, p)
	again := load(t, file)
	if !bytes.Equal(save(t, again), file) {
		t.Error("saved, loaded and saved again, the file has other bytes")
	}
	// what is there can be asked for
	_ = dump(again)
	for _, k := range again.Top(3, Bytes) {
		_ = again.KeySeries(k, Records)
	}
	_ = again.Bursts(Records, 0.1, 1)
}

func TestRefine(t *testing.T) {
	for i, s := range streams() {
		if i%3 != 2 {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := s.build(t, config(MinMemory), 1)
			tr := s.truth(nil)
			var keys [][]byte
			for _, k := range tr.ranked(Records)[:min(40, len(tr.total))] {
				keys = append(keys, []byte(k))
			}
			r, err := NewRefiner(p, keys)
			if err != nil {
				t.Fatal(err)
			}
			s.feed(t, r, 2)
			if err := r.Apply(); err != nil {
				t.Fatal(err)
			}
			p = load(t, save(t, p))
			for _, k := range keys {
				got, ok := p.Lookup(k)
				if want := tr.total[string(k)]; !ok || got.Lo != want || got.Hi != want {
					t.Errorf("key %q: %v..%v, want %v", k, got.Lo, got.Hi, want)
				}
			}
		})
	}
}

// A second read of other records than the first, fewer or as many with other bytes, changes nothing.
func TestRefineOtherRecords(t *testing.T) {
	s := keyed("all distinct", 1, 20_000, 1, func(_ *rand.Rand, i int) uint64 { return uint64(i) })
	p := s.build(t, config(MinMemory), 1)
	top := p.Top(5, Records)
	fewer, larger := *s, *s
	fewer.recs = s.recs[1:]
	larger.recs = slices.Clone(s.recs)
	larger.recs[0].ValueSize++
	for name, other := range map[string]*stream{"fewer records": &fewer, "one more byte": &larger} {
		r, err := NewRefiner(p, [][]byte{top[0].Key, top[1].Key})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Partitions(); !slices.Equal(got, []int32{0}) {
			t.Errorf("partitions %v need a second read, want [0]", got)
		}
		other.feed(t, r, 1)
		if err := r.Apply(); err == nil || !strings.Contains(err.Error(), "partitions [0]") {
			t.Errorf("a second read that saw %s: error %v", name, err)
		}
		if got, _ := p.Lookup(top[0].Key); got.Lo != top[0].Lo || got.Hi != top[0].Hi {
			t.Errorf("%s: its key has %v..%v, want %v..%v as before", name, got.Lo, got.Hi, top[0].Lo, top[0].Hi)
		}
	}
}
