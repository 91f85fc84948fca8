package profile

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/zeebo/xxh3"

	"keyspread/analyze/profile/sketch"
	"keyspread/analyze/source"
	"keyspread/partitioner"
)

func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		want   string
		change func(c *Config)
	}{
		{"", func(*Config) {}},
		{"without a partitioner", func(c *Config) { c.Partitioner = nil }},
		{"at least 1 MiB", func(c *Config) { c.Memory = 1 << 19 }},
		{"0 time buckets", func(c *Config) { c.Buckets = 0 }},
		{"names no partitioner", func(c *Config) { c.Candidates = []CandidateSpec{{nil, 3}} }},
		{"fnv: 0 partitions", func(c *Config) { c.Candidates = []CandidateSpec{{testPartitioner, 0}} }},
	} {
		c := config(1 << 30)
		tt.change(&c)
		checkError(t, c.Validate(), tt.want)
	}
}

func checkError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("error %v, want none", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("error %v, want one with %q", err, want)
	}
}

func TestNewBuilderRefuses(t *testing.T) {
	for _, tt := range []struct {
		want   string
		change func(p *source.Plan, c *Config)
	}{
		{"", func(*source.Plan, *Config) {}},
		{"0 partitions", func(p *source.Plan, _ *Config) { p.NumPartitions = 0 }},
		{"partition 4 of 4", func(p *source.Plan, _ *Config) { p.Partitions[0].ID = 4 }},
		{"partition 1 twice", func(p *source.Plan, _ *Config) { p.Partitions[0].ID = 1 }},
		{"bad span 5..5 of partition 2", func(p *source.Plan, _ *Config) { p.Spans = []source.Span{{Partition: 2, Start: 5, End: 5}} }},
		// 4 partitions times 70 million loads of 16 bytes are more than 4 GiB
		{"fnv with 70000000 partitions: the loads of all candidates over the 4 partitions read could take more than the limit of 4096 MiB", func(p *source.Plan, c *Config) {
			c.Candidates = []CandidateSpec{{testPartitioner, 70_000_000}}
			for i := range int32(4) {
				p.Spans = append(p.Spans, source.Span{Partition: i, End: 1 << 40})
			}
		}},
		// but of a thousand records none can be in more than a thousand of them
		{"", func(p *source.Plan, c *Config) {
			c.Candidates = []CandidateSpec{{testPartitioner, 70_000_000}}
			for i := range int32(4) {
				p.Spans = append(p.Spans, source.Span{Partition: i, End: 1000})
			}
		}},
	} {
		p := &source.Plan{Topic: "t", NumPartitions: 4, Partitions: []source.Partition{{ID: 0}, {ID: 1}, {ID: 2}, {ID: 3}}}
		c := config(1 << 30)
		tt.change(p, &c)
		_, err := NewBuilder(p, c)
		checkError(t, err, tt.want)
	}
	b, err := NewBuilder(&source.Plan{Topic: "t", NumPartitions: 4, Partitions: []source.Partition{{ID: 2}}}, config(1<<30))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []int32{-1, 0, 3} {
		checkError(t, b.Batch(&source.Batch{Partition: id}), fmt.Sprintf("a batch of partition %d", id))
	}
}

// Memory goes by offsets asked for, with a floor, and adds up to no more than was given.
func TestShares(t *testing.T) {
	many := make([]uint64, 5000)
	for i := range many {
		many[i] = uint64(i)
	}
	for _, tt := range []struct {
		memory int64
		asked  []uint64
		want   []int64 // of the first partitions
	}{
		{1 << 30, []uint64{1, 3}, []int64{1<<28 + floorBytes/2, 3<<28 - floorBytes/2}},
		{1 << 30, []uint64{1}, []int64{1 << 30}},
		{1 << 30, []uint64{0, 10}, []int64{floorBytes, 1<<30 - floorBytes}},
		{1 << 30, []uint64{0, 0}, []int64{floorBytes, floorBytes}},
		{1 << 20, []uint64{0, 7}, []int64{1 << 18, 3 << 18}},                                                // two floors are more than half
		{1 << 62, []uint64{1 << 61, 1 << 61, 1 << 62}, []int64{1<<60 + floorBytes/4, 1<<60 + floorBytes/4}}, // products do not fit 64 bits
		{1 << 30, many, []int64{107374, 107374 + 42}},
		{1 << 30, nil, nil},
	} {
		got := shares(tt.memory, tt.asked)
		var sum int64
		for _, n := range got {
			sum += n
		}
		if len(got) != len(tt.asked) || sum > tt.memory {
			t.Errorf("shares(%d, %d partitions): %d shares of %d in sum", tt.memory, len(tt.asked), len(got), sum)
		}
		for i, want := range tt.want {
			if got[i] != want {
				t.Errorf("shares(%d, %v)[%d] = %d, want %d", tt.memory, tt.asked[:min(3, len(tt.asked))], i, got[i], want)
			}
		}
	}
}

func TestCandidatesOnce(t *testing.T) {
	cfg := config(1 << 30)
	cfg.Candidates = append(cfg.Candidates, cfg.Candidates[0], CandidateSpec{testPartitioner, 4})
	b, err := NewBuilder(&source.Plan{Topic: "t", NumPartitions: 4}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	p, err := b.Profile(nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []Candidate{{"fnv", 4}, {"fnv", 18}, {"other", 12}, {"fnv", 24}}
	if !slices.Equal(p.Candidates, want) {
		t.Errorf("candidates %v, want %v", p.Candidates, want)
	}
	if p.Mode() != Exact || p.Total() != (Weight{}) || p.Distinct().Keys != 0 || p.Top(3, Records) != nil && len(p.Top(3, Records)) != 0 {
		t.Errorf("an empty profile says %v %v %v", p.Mode(), p.Total(), p.Distinct())
	}
}

// Two keys under one 128-bit hash, forged here as nobody can find any, are one key unless bytes are compared.
func TestVerifyKeys(t *testing.T) {
	h := xxh3.Uint128{Hi: 1, Lo: 2}
	for _, verify := range []bool{false, true} {
		tab := newTable(1<<20, verify)
		if _, err := tab.enter(h, []byte("a")); err != nil {
			t.Fatal(err)
		}
		if got := tab.find(h, []byte("b")); (got < 0) != verify {
			t.Errorf("verify %v: key b is found at %d", verify, got)
		}
		if got := tab.find(h, []byte("a")); got != 0 {
			t.Errorf("verify %v: key a is found at %d, want 0", verify, got)
		}
	}
	s := keyed("zipf", 3, 20_000, 1, zipf(3000, 1))
	cfg := config(1 << 30)
	want := dump(s.build(t, cfg, 1))
	cfg.VerifyKeys = true
	if !slices.Equal(dump(s.build(t, cfg, 1)), want) {
		t.Error("comparing key bytes changes the profile")
	}
}

// In exact mode any candidate can be asked for afterwards.
func TestPlace(t *testing.T) {
	for i, s := range streams() {
		if i%6 != 0 && !strings.HasPrefix(s.name, "odd") {
			continue
		}
		cfg := config(1 << 30)
		p := s.build(t, cfg, 1)
		for c, spec := range specsOf(cfg, s.partitions) {
			got, err := p.Place(spec)
			if err != nil {
				t.Fatal(err)
			}
			for i := range got {
				want := &p.Partitions[i].Placed[c]
				if !slices.Equal(got[i].Loads.list(), want.Loads.list()) || got[i].Moved != want.Moved || got[i].Unkeyed != want.Unkeyed || got[i].Unplaced != want.Unplaced {
					t.Errorf("%s: candidate %d, partition %d: %v, want %v", s.name, c, i, got[i], want)
				}
			}
		}
	}
	p := smallProfile(t, true)
	_, err := p.Place(CandidateSpec{testPartitioner, 5})
	checkError(t, err, "only the candidates fixed before the run are known (fnv:2, fnv:3)")
	p = smallProfile(t, false)
	wide, err := p.Place(CandidateSpec{testPartitioner, 1 << 30}) // its few keys come nowhere near as wide
	checkError(t, err, "")
	for i := range wide {
		var got Weight
		for _, w := range wide[i].Loads.All() {
			got = got.Add(w)
		}
		if part := &p.Partitions[i]; got != part.Total.Sub(part.NullKey) {
			t.Errorf("partition %d of 2^30: loads sum to %v, want %v", i, got, part.Total.Sub(part.NullKey))
		}
	}
}

// failing is a partitioner whose process has died.
type failing struct{ fnvPartitioner }

func (failing) Place([]byte, []int32, []int32) (bool, error) {
	return false, errors.New("exit status 2")
}

var _ partitioner.Partitioner = failing{}

func TestPartitionerFails(t *testing.T) {
	s := keyed("all distinct", 1, 5000, 1, uniform(1<<40))
	cfg := config(1 << 30)
	cfg.Candidates = []CandidateSpec{{failing{fnvPartitioner{id: "exec:mine"}}, 3}}
	b, err := NewBuilder(s.plan(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	s.feed(t, b, 1)
	_, err = b.Profile(nil)
	checkError(t, err, "by exec:mine: exit status 2")
	// and when a key has to leave the table
	if b, err = NewBuilder(s.plan(), cfg); err != nil {
		t.Fatal(err)
	}
	b.parts[0].table.budget = 50 << 10
	recs := s.byPartition()[0]
	err = b.Batch(&source.Batch{Records: recs})
	checkError(t, err, "by exec:mine: exit status 2")
}

// Estimates of distinct keys are within four standard errors, over many streams; 95 % intervals hold for most.
func TestDistinctEstimates(t *testing.T) {
	outside, all := 0, 0
	for _, s := range streams() {
		p := s.build(t, config(MinMemory), 1)
		if p.Mode() == Exact {
			continue
		}
		all++
		tr := s.truth(nil)
		several := int64(0)
		for _, in := range tr.keys {
			if len(in) > 1 {
				several++
			}
		}
		d := p.Distinct()
		if n := float64(len(tr.keys)); d.Exact || math.Abs(float64(d.Keys)-n) > 4*d.StdErr*n {
			t.Errorf("%s: %d keys +- %.1f %%, want %d", s.name, d.Keys, 100*d.StdErr, len(tr.keys))
		}
		if n := int64(len(tr.keys)); n < d.Low || n > d.High || several < d.SeveralLow || several > d.SeveralHigh {
			outside++
			t.Logf("%s: %+v, truth %d, several %d", s.name, d, n, several)
		}
		for i := range p.Partitions {
			n := 0.0
			for _, in := range tr.keys {
				if _, ok := in[int32(i)]; ok {
					n++
				}
			}
			if d := p.Partitions[i].Distinct(); math.Abs(float64(d.Keys)-n) > 4*d.StdErr*n+0.5 {
				t.Errorf("%s: partition %d: %d keys +- %.1f %%, want %.0f", s.name, i, d.Keys, 100*d.StdErr, n)
			}
		}
	}
	if all < 15/everyNth || outside > all/5 {
		t.Errorf("%d of %d intervals of 95 %% do not hold the truth", outside, all)
	}
}

// Estimates stay within what is certain: the keys that the tables hold, and the keyed records. Where nearly every record has
// a key of its own every other estimate and most upper limits would pass them.
func TestDistinctWithinCertain(t *testing.T) {
	for seed := range uint64(20) {
		s := keyed("distinct", 1+int(seed%3), 60_000, seed, func(_ *rand.Rand, i int) uint64 { return seed<<32 + uint64(i-i%50/49) })
		for i := range s.recs {
			if i%100 == 0 {
				s.recs[i].Key = nil
			}
		}
		p := s.build(t, config(MinMemory), 1)
		n, records, held := int64(len(s.truth(nil).keys)), int64(0), int64(0)
		check := func(what string, d Distinct, held, most int64) {
			if d.Low < held || d.High > most || d.Low > d.Keys || d.Keys > d.High || d.SeveralHigh > d.High {
				t.Errorf("seed %d, %s: %+v, want it within [%d, %d]", seed, what, d, held, most)
			}
		}
		for i := range p.Partitions {
			part := &p.Partitions[i]
			keyed := part.Total.Records - part.NullKey.Records
			records, held = records+keyed, held+int64(part.NumKeys())
			check(fmt.Sprintf("partition %d", i), part.Distinct(), int64(part.NumKeys()), keyed)
		}
		d := p.Distinct()
		check("topic", d, held, records)
		if p.Mode() != Bounded || d.Exact || n > d.High {
			t.Errorf("seed %d: %v, %+v, want at least %d keys", seed, p.Mode(), d, n)
		}
	}
}

// The sample's keys are whole, whatever has left the tables.
func TestSampleIsWhole(t *testing.T) {
	for _, s := range streams() {
		for _, memory := range []int64{MinMemory, 1 << 30} {
			p := s.build(t, config(memory), 1)
			tr := s.truth(nil)
			n := 0
			p.EachSampled(func(k TopKey) bool {
				n++
				if want := tr.total[string(k.Key)]; k.Lo != want || k.Hi != want || len(k.Where) != len(tr.keys[string(k.Key)]) {
					t.Errorf("%s: sampled key %q: %v..%v in %d partitions, want %v in %d", s.name, k.Key, k.Lo, k.Hi, len(k.Where), want, len(tr.keys[string(k.Key)]))
				}
				return !t.Failed()
			})
			if want := p.Distinct().SampleKeys; int64(n) != want || (p.SampleFraction() == 1) != (n == len(tr.total)) {
				t.Errorf("%s: %d sampled keys of %d at %v, want %d", s.name, n, len(tr.total), p.SampleFraction(), want)
			}
		}
	}
}

// Sketches of a profile are those of its key set, in exact and in bounded mode.
func TestProfileSketches(t *testing.T) {
	s := keyed("zipf", 3, 30_000, 1, zipf(60_000, 0.9))
	all := sketch.NewHLL(hllBits)
	ranks := map[uint64]bool{}
	for i := range s.recs {
		h := sketch.HashOf(s.recs[i].Key)
		all.Add(h)
		ranks[h.Rank()] = true
	}
	for _, memory := range []int64{MinMemory, 1 << 30} {
		p := s.build(t, config(memory), 1)
		if got := p.HLL(); !slices.Equal(got.Regs, all.Regs) {
			t.Errorf("%v: HLL registers are not the key set's", p.Mode())
		}
		theta := p.Theta()
		want := 0
		for r := range ranks {
			if r < theta.Theta {
				want++
				if _, ok := slices.BinarySearch(theta.Hashes, r); !ok {
					t.Fatalf("%v: rank %d is not in the theta sketch", p.Mode(), r)
				}
			}
		}
		if len(theta.Hashes) != want || (theta.Theta == sketch.MaxTheta) != (p.Mode() == Exact) {
			t.Errorf("%v: theta sketch has %d hashes below %d, want %d", p.Mode(), len(theta.Hashes), theta.Theta, want)
		}
	}
}

// The 100 heaviest keys of a skewed stream are exact though the table holds a fraction of the keys.
func TestHeavyKeysAreExact(t *testing.T) {
	for _, exponent := range []float64{1.1, 1.3} {
		s := keyed("zipf", 1, 300_000, 7, zipf(1_000_000, exponent))
		cfg := config(1 << 30)
		b, err := NewBuilder(s.plan(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		b.parts[0].table.budget = 1 << 20 // about 10,000 keys
		s.feed(t, b, 1)
		p, err := b.Profile(nil)
		if err != nil {
			t.Fatal(err)
		}
		tr := s.truth(nil)
		if p.Mode() != Bounded || len(tr.total) < 15_000 {
			t.Fatalf("zipf %.1f: %v with %d keys: this tests nothing", exponent, p.Mode(), len(tr.total))
		}
		ranked := tr.ranked(Records)
		for i, k := range p.Top(100, Records) {
			if string(k.Key) != ranked[i] || k.Lo != tr.total[ranked[i]] || k.Hi != k.Lo {
				t.Errorf("zipf %.1f: key %d is %q %v..%v, want %q %v", exponent, i, k.Key, k.Lo, k.Hi, ranked[i], tr.total[ranked[i]])
			}
		}
	}
}

// counting is a partitioner that counts how often it is asked.
type counting struct {
	partitioner.Partitioner
	calls, keys atomic.Int64
}

func (c *counting) PlaceBatch(keys [][]byte, counts, out []int32, keyed []bool) error {
	c.calls.Add(1)
	c.keys.Add(int64(len(keys)))
	return partitioner.PlaceAll(c.Partitioner, keys, counts, out, keyed)
}

// Keys that leave the table are placed together: a partitioner in another process would be asked for ages one by one.
func TestEvictedKeysArePlacedTogether(t *testing.T) {
	t.Parallel()
	java, err := partitioner.Parse("java")
	if err != nil {
		t.Fatal(err)
	}
	asked := &counting{Partitioner: java}
	cfg := DefaultConfig()
	cfg.Memory, cfg.Partitioner, cfg.Candidates = MinMemory, asked, nil
	plan := &source.Plan{
		Topic: "t", NumPartitions: 1, Partitions: []source.Partition{{ID: 0}}, Spans: []source.Span{{End: 300_000}},
	}
	b, err := NewBuilder(plan, cfg)
	if err != nil {
		t.Fatal(err)
	}
	batch := &source.Batch{Records: make([]source.Record, 300_000)}
	for i := range batch.Records {
		batch.Records[i] = source.Record{Offset: int64(i), Timestamp: int64(i), Key: fmt.Appendf(nil, "key-%d", i)}
	}
	if err := b.Batch(batch); err != nil {
		t.Fatal(err)
	}
	p, err := b.Profile(nil)
	if err != nil {
		t.Fatal(err)
	}
	if p.Mode() != Bounded || p.Partitions[0].Placed[0].Loads.list()[0].Records != 300_000 {
		t.Fatalf("%s mode, %v placed; want bounded with all records", p.Mode(), p.Partitions[0].Placed[0].Loads.list()[0])
	}
	if calls, keys := asked.calls.Load(), asked.keys.Load(); keys != 300_000 || calls > 2*keys/placeBlock {
		t.Errorf("asked %d times for %d keys, want 1000 keys at a time", calls, keys)
	}
}

// What a table has allocated is little more than its budget, be it small or large: the chunks that are being filled, and
// the one that a purge needs to move keys.
func TestTableStaysInBudget(t *testing.T) {
	for _, budget := range []int64{64 << 10, 416 << 10, 655 << 10, 10 << 20} {
		tab := newTable(budget, false)
		tab.evicted = func([][]byte, []Weight, []bool) error { return nil }
		var most int64
		for i := range budget / 16 { // twice to six times the keys that it holds
			key := fmt.Appendf(nil, "customer-%08d", i)
			e, err := tab.enter(xxh3.Hash128(key), key)
			if err != nil {
				t.Fatal(err)
			}
			e.records++
			if i%256 == 0 {
				most = max(most, tab.allocated())
			}
		}
		if tab.purges < 2 {
			t.Errorf("budget %d: %d purges, want some", budget, tab.purges)
		}
		if over := float64(most)/float64(budget) - 1; over > 0.16 {
			t.Errorf("budget %d: %d bytes allocated, %.0f %% more", budget, most, 100*over)
		}
	}
}

// allocated is the bytes that a table holds, in use or not.
func (t *table) allocated() int64 {
	size := int64(cap(t.slots)) * 8
	for _, c := range t.slab {
		size += int64(cap(c)) * entryBytes
	}
	for _, c := range append(t.arena.chunks[:len(t.arena.chunks):len(t.arena.chunks)], t.arena.spare...) {
		size += int64(cap(c))
	}
	return size
}

// The bytes of a long key, which has a chunk of the arena to itself, outlast purges, whatever size its memory was rounded up
// to: a chunk is filled again only when no key that stays is in it.
func TestLongKeysOutlastPurges(t *testing.T) {
	for _, budget := range []int64{128 << 10, 416 << 10, 1 << 20, 10 << 20} {
		chunk := newTable(budget, false).arena.chunk
		for _, n := range []int{chunk/ownShare + 1, chunk * 9 / 10, chunk - 1, chunk, chunk + 1} {
			tab := newTable(budget, false)
			tab.evicted = func([][]byte, []Weight, []bool) error { return nil }
			long := bytes.Repeat([]byte("L"), n)
			h := xxh3.Hash128(long)
			e, err := tab.enter(h, long)
			if err != nil {
				t.Fatal(err)
			}
			e.records, e.bytes = 1<<40, 1<<40
			for i := 0; tab.purges < 4; i++ {
				key := fmt.Appendf(nil, "customer-%08d", i)
				e, err := tab.enter(xxh3.Hash128(key), key)
				if err != nil {
					t.Fatal(err)
				}
				e.records++
			}
			at := tab.findHash(h)
			if at < 0 {
				t.Fatalf("budget %d: the key of %d bytes has left", budget, n)
			}
			if got := tab.keyOf(tab.entry(at)); !bytes.Equal(got, long) {
				t.Errorf("budget %d, chunks of %d: the key of %d bytes is now %.30q", budget, chunk, n, got)
			}
		}
	}
}
