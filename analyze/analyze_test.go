package analyze

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"keyspread/analyze/finding"
	"keyspread/analyze/plan"
	"keyspread/analyze/skew"
	"keyspread/analyze/source"
	"keyspread/partitioner"
)

// memory is a topic held in memory: its records by partition, with a failure that can be set for one partition.
type memory struct {
	topic      string
	partitions [][]source.Record
	failing    map[int32]error
	stopAfter  int // batches, then the context's error; 0: never
}

func (m *memory) Plan(context.Context) (*source.Plan, error) {
	p := &source.Plan{Topic: m.topic, NumPartitions: len(m.partitions), Range: "earliest..latest"}
	for id, records := range m.partitions {
		p.Partitions = append(p.Partitions, source.Partition{ID: int32(id), HighWatermark: int64(len(records))})
		if len(records) > 0 {
			p.Spans = append(p.Spans, source.Span{Partition: int32(id), End: int64(len(records))})
		}
	}
	return p, nil
}

func (m *memory) Read(_ context.Context, p *source.Plan, sink source.Sink) ([]source.Coverage, error) {
	var coverage []source.Coverage
	var err error
	batches := 0
	for id, records := range m.partitions {
		c := source.Coverage{Partition: int32(id), Err: m.failing[int32(id)]}
		for _, span := range p.Spans {
			if span.Partition != int32(id) {
				continue
			}
			c.Asked += span.End - span.Start
			for chunk := range slices.Chunk(records[span.Start:span.End], 10) {
				if c.Err != nil && c.Read >= 10 {
					break
				}
				if m.stopAfter > 0 && batches == m.stopAfter {
					err = context.Canceled
				}
				if err != nil {
					break
				}
				batches++
				c.Read += int64(len(chunk))
				c.Position = chunk[len(chunk)-1].Offset + 1
				if err := sink.Batch(&source.Batch{Partition: int32(id), Next: c.Position, Records: chunk}); err != nil {
					return nil, err
				}
			}
		}
		if c.Err == nil && c.Read < c.Asked {
			c.Err = err
		}
		coverage = append(coverage, c)
	}
	return coverage, err
}

// topicOf places n records a key as the partitioner does and returns the topic; values have 100 bytes.
func topicOf(t testing.TB, pt partitioner.Partitioner, n int, counts map[string]int) *memory {
	t.Helper()
	m := &memory{topic: "orders", partitions: make([][]source.Record, n)}
	keys := make([]string, 0, len(counts))
	for k := range counts {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	out := make([]int32, 1)
	for _, k := range keys {
		keyed, err := pt.Place([]byte(k), []int32{int32(n)}, out)
		if err != nil || !keyed {
			t.Fatalf("placing %q: keyed %v, %v", k, keyed, err)
		}
		for range counts[k] {
			p := &m.partitions[out[0]]
			*p = append(*p, source.Record{Offset: int64(len(*p)), Timestamp: 1_700_000_000_000 + int64(len(*p)), Key: []byte(k), ValueSize: 100})
		}
	}
	return m
}

func parse(t testing.TB, name string) partitioner.Partitioner {
	t.Helper()
	pt, err := partitioner.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return pt
}

func ids(fs []finding.Finding) []finding.ID {
	var out []finding.ID
	for _, f := range fs {
		out = append(out, f.ID)
	}
	return out
}

func has(fs []finding.Finding, id finding.ID) *finding.Finding {
	for i := range fs {
		if fs[i].ID == id {
			return &fs[i]
		}
	}
	return nil
}

// customers is a key set without a hot key: n keys with r records each.
func customers(n, r int) map[string]int {
	counts := make(map[string]int, n)
	for i := range n {
		counts[fmt.Sprintf("customer-%05d", i)] = r
	}
	return counts
}

func TestRunHotKey(t *testing.T) {
	pt := parse(t, "java")
	counts := customers(4000, 2)
	counts["tenant-hot"] = 2000 // of 10,000: share 0.2, N* 5
	src := topicOf(t, pt, 12, counts)
	cfg := DefaultConfig(pt)
	cfg.Plans = []plan.To{{NumPartitions: 24}, {NumPartitions: 18}}
	res, err := Run(t.Context(), src, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if !res.Complete || res.Partial {
		t.Errorf("complete %v, partial %v; want a whole read", res.Complete, res.Partial)
	}
	if got := res.Profile.Total(); got.Records != 10_000 {
		t.Errorf("records %d, want 10000", got.Records)
	}
	top := res.Records.Top[0]
	if string(top.Key) != "tenant-hot" || top.Share.Lo != 0.2 || !top.Share.Exact() || top.Verdict != skew.Hot {
		t.Errorf("top key %q share %v verdict %v, want tenant-hot exactly 0.2 and hot", top.Key, top.Share, top.Verdict)
	}
	if res.Records.Top[1].Verdict != skew.NotHot {
		t.Errorf("second key %q is %v, want not hot", res.Records.Top[1].Key, res.Records.Top[1].Verdict)
	}
	if got := res.Records.Ceiling; got != 5 {
		t.Errorf("N* = %v, want 1/0.2 = 5", got)
	}
	if res.Distinct.Keys != 4001 {
		t.Errorf("distinct keys %d, want 4001", res.Distinct.Keys)
	}
	for _, id := range []finding.ID{finding.HotKey, finding.HotPartition, finding.Ceiling} {
		if has(res.Findings, id) == nil {
			t.Errorf("findings %v lack %s", ids(res.Findings), id)
		}
	}
	for _, id := range []finding.ID{finding.PartitionerMismatch, finding.IncompleteCoverage, finding.NullKeys, finding.LowCardinality} {
		if f := has(res.Findings, id); f != nil {
			t.Errorf("unexpected finding %s: %s", id, f.What)
		}
	}
	checkPlans(t, pt, counts, res)
}

// A key that has 60 seconds of an hour only: the finding says by how much the mean of a bucket can mislead, how fast the
// key came and where.
func TestRunShortBurst(t *testing.T) {
	const start = int64(1_700_000_000_000)
	m := &memory{topic: "orders", partitions: make([][]source.Record, 12)}
	add := func(p int, ms int64, key string) {
		m.partitions[p] = append(m.partitions[p], source.Record{Offset: int64(len(m.partitions[p])), Timestamp: start + ms, Key: []byte(key), ValueSize: 10})
	}
	for s := range int64(36_000) { // 10 hours of 12 records a second; buckets are of 256 s then
		for p := range 12 {
			add(p, 1000*s, fmt.Sprint("customer-", p, "-", s%50))
			if p == 11 && s >= 20_000 && s < 20_060 {
				for i := range int64(40) {
					add(p, 1000*s+25*i, "burst")
				}
			}
		}
	}
	cfg := DefaultConfig(parse(t, "java"))
	res, err := Run(t.Context(), m, cfg)
	if err != nil {
		t.Fatal(err)
	}
	f := has(res.Findings, finding.Burst)
	if f == nil {
		t.Fatalf("findings %v, want a burst", ids(res.Findings))
	}
	// 2400 of 256*12 + 2400 records, 43.9 %; 2400 in 256 s; 2400 of 434,400. The last is 59.975 s after the first.
	for _, want := range []string{
		"Key {key} has 43.9 % of records (9.4 records/s) in the 256 s from 2023-11-15 03:", ", partition 11; over the whole range 0.55 %.",
		"These are means of 256 s, within which it can have been higher: its first and last record lie within 1 min.",
	} {
		if !strings.Contains(f.What, want) {
			t.Errorf("%s\nlacks %q", f.What, want)
		}
	}
	if res.Peaks.Keys["burst"].Share[0].Lo < 0.43 {
		t.Errorf("the burst has no peak: %+v", res.Peaks.Keys["burst"])
	}
	if f.Subject != "partition 11" {
		t.Errorf("subject %q, want partition 11", f.Subject)
	}
}

// Fifty even keys on fifty partitions are all above what one key may have. The reason comes first, not a list of them.
func TestRunFewKeys(t *testing.T) {
	t.Parallel()
	pt := parse(t, "java")
	res, err := Run(t.Context(), topicOf(t, pt, 50, customers(50, 200)), DefaultConfig(pt))
	if err != nil {
		t.Fatal(err)
	}
	few := has(res.Findings, finding.FewKeys)
	if few == nil || few.Severity != finding.Warning || !strings.Contains(few.What, "50 effective keys") {
		t.Errorf("finding %+v of %v, want a warning of 50 effective keys", few, ids(res.Findings))
	}
	var hot []finding.Finding
	for _, f := range res.Findings {
		if f.ID == finding.HotKey {
			hot = append(hot, f)
		}
	}
	if len(hot) != 1 || hot[0].Severity != finding.Info || !strings.Contains(hot[0].What, "49 more keys are above it as well") {
		t.Errorf("hot keys %+v, want one remark", hot)
	}
}

// A plan that levels the loads by giving up keys says what that costs; one that hashes them has nothing to say.
func TestRunOrderLost(t *testing.T) {
	t.Parallel()
	pt := parse(t, "java")
	cfg := DefaultConfig(pt)
	cfg.Plans = []plan.To{{NumPartitions: 24, Partitioner: parse(t, "java:round_robin")}, {NumPartitions: 24}}
	res, err := Run(t.Context(), topicOf(t, pt, 12, customers(300, 4)), cfg)
	if err != nil {
		t.Fatal(err)
	}
	var lost []finding.Finding
	for _, f := range res.Findings {
		if f.ID == finding.OrderLost {
			lost = append(lost, f)
		}
	}
	if len(lost) != 1 || !strings.Contains(lost[0].What, "100 % of records") || !strings.Contains(lost[0].Subject, "24 partitions under java:round_robin") {
		t.Errorf("findings %+v, want one for round robin", lost)
	}
}

// checkPlans recomputes every figure of the plans from the counts, key by key.
func checkPlans(t *testing.T, pt partitioner.Partitioner, counts map[string]int, res *Result) {
	t.Helper()
	for _, p := range res.Plans {
		n := p.Candidate.NumPartitions
		loads := make([]float64, n)
		var moved, movedKeys, total int64
		out := make([]int32, 2)
		for k, c := range counts {
			if _, err := pt.Place([]byte(k), []int32{12, n}, out); err != nil {
				t.Fatal(err)
			}
			loads[out[1]] += float64(c)
			total += int64(c)
			if out[0] != out[1] {
				moved += int64(c)
				movedKeys++
			}
		}
		if !slices.Equal(p.Records.Loads, loads) {
			t.Errorf("%d partitions: loads %v, want %v", n, p.Records.Loads, loads)
		}
		if p.Records.Moved != moved || !p.KeysKnown || p.MovedKeys != movedKeys || p.Keys != int64(len(counts)) {
			t.Errorf("%d partitions: moved %d records, %d of %d keys (known %v); want %d, %d of %d",
				n, p.Records.Moved, p.MovedKeys, p.Keys, p.KeysKnown, moved, movedKeys, len(counts))
		}
		if got, want := p.Records.MovedShare, float64(moved)/float64(total); got != want {
			t.Errorf("%d partitions: moved share %v, want %v", n, got, want)
		}
		var cells int64
		for _, c := range p.Matrix {
			cells += c.Weight.Records
		}
		if cells != total {
			t.Errorf("%d partitions: matrix holds %d records, want %d", n, cells, total)
		}
		if len(p.HotKeys) != 1 || string(p.HotKeys[0].Key) != "tenant-hot" {
			t.Fatalf("%d partitions: hot keys %+v, want tenant-hot alone", n, p.HotKeys)
		}
		if p.Records.Measures.Hottest != p.HotKeys[0].To || string(p.Records.HottestKeys[0].Key) != "tenant-hot" {
			t.Errorf("%d partitions: hottest %d (first key %q), want tenant-hot's partition %d",
				n, p.Records.Measures.Hottest, p.Records.HottestKeys[0].Key, p.HotKeys[0].To)
		}
		if !p.Limit.CannotHelp {
			t.Errorf("%d partitions: not told that more than N* = 5 cannot help", n)
		}
		// Graham: no placement of whole keys brings the hottest below w1 = 0.2.
		if want := 0.2 * float64(n); math.Abs(p.Limit.BestPAR-want) > 1e-9 || p.Records.Measures.PAR < want-1e-9 {
			t.Errorf("%d partitions: best PAR %v, PAR %v; want %v and at least that", n, p.Limit.BestPAR, p.Records.Measures.PAR, want)
		}
	}
}

// Unkeyed records are spread evenly in a plan, and never move.
func TestRunNullAndEmptyKeys(t *testing.T) {
	for _, tc := range []struct {
		partitioner string
		emptyKeyed  bool // Java hashes the empty key, librdkafka's default spreads it (partitioners.md section 3)
	}{{"java", true}, {"librdkafka", false}} {
		pt := parse(t, tc.partitioner)
		src := topicOf(t, pt, 2, customers(100, 10))
		for i := range 200 {
			p := &src.partitions[i%2]
			*p = append(*p, source.Record{Offset: int64(len(*p)), Timestamp: -1, ValueSize: 10})
		}
		for range 50 {
			p := &src.partitions[275646681%2] // where Java puts the empty key
			*p = append(*p, source.Record{Offset: int64(len(*p)), Timestamp: -1, Key: []byte{}, ValueSize: 10})
		}
		cfg := DefaultConfig(pt)
		cfg.Plans = []plan.To{{NumPartitions: 4}}
		res, err := Run(t.Context(), src, cfg)
		if err != nil {
			t.Fatal(err)
		}
		p := res.Plans[0]
		wantUnkeyed := int64(200)
		if !tc.emptyKeyed {
			wantUnkeyed += 50
		}
		if p.Unkeyed.Records != wantUnkeyed {
			t.Errorf("%s: %d unkeyed records, want %d", tc.partitioner, p.Unkeyed.Records, wantUnkeyed)
		}
		var sum float64
		for _, l := range p.Records.Loads {
			sum += l
		}
		if sum != 1250 {
			t.Errorf("%s: planned loads sum to %v, want all 1250 records", tc.partitioner, sum)
		}
		if has(res.Findings, finding.NullKeys) == nil || has(res.Findings, finding.EmptyKeys) == nil {
			t.Errorf("%s: findings %v lack null-keys or empty-keys", tc.partitioner, ids(res.Findings))
		}
	}
}

func TestRunWrongPartitionerIsTold(t *testing.T) {
	src := topicOf(t, parse(t, "librdkafka"), 12, customers(2000, 2))
	res, err := Run(t.Context(), src, DefaultConfig(parse(t, "java")))
	if err != nil {
		t.Fatal(err)
	}
	f := has(res.Findings, finding.PartitionerMismatch)
	if f == nil || f.Severity != finding.Critical {
		t.Fatalf("findings %v lack a critical partitioner-mismatch", ids(res.Findings))
	}
	// Unrelated hashes agree on 1/12 of the keys (partitioners.md 1.8); 2,000 keys leave 8.3 +- 1.9 % at 3 sigma.
	if !strings.Contains(f.What, "java gives 8.") || !strings.Contains(f.What, "crc32u") {
		t.Errorf("finding %q does not say how little agrees with which partitioner", f.What)
	}
}

func TestRunOnePartitionFails(t *testing.T) {
	src := topicOf(t, parse(t, "java"), 3, customers(300, 1))
	src.failing = map[int32]error{1: errors.New("batch at offset 10: crc mismatch")}
	res, err := Run(t.Context(), src, DefaultConfig(parse(t, "java")))
	if err != nil {
		t.Fatalf("Run: %v; one partition's trouble is no failure of the run", err)
	}
	if res.Complete || has(res.Findings, finding.IncompleteCoverage) == nil {
		t.Errorf("complete %v, findings %v; want incomplete-coverage", res.Complete, ids(res.Findings))
	}
	if res.Findings[0].ID != finding.IncompleteCoverage {
		t.Errorf("first finding is %s, want what was not read", res.Findings[0].ID)
	}
	if got := res.Profile.Partitions[1].Total.Records; got != 10 {
		t.Errorf("partition 1 reports %d records, want the 10 read before the damage", got)
	}
}

func TestRunInterruptedKeepsWhatWasLearnt(t *testing.T) {
	src := topicOf(t, parse(t, "java"), 3, customers(300, 1))
	src.stopAfter = 5
	res, err := Run(t.Context(), src, DefaultConfig(parse(t, "java")))
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want context.Canceled", err)
	}
	if res == nil || !res.Partial || res.Why != "interrupted" || res.Profile.Total().Records != 50 {
		t.Fatalf("result %+v, want a partial one of 50 records", res)
	}
	if f := has(res.Findings, finding.IncompleteCoverage); f == nil || !strings.Contains(f.What, "interrupted") {
		t.Errorf("findings %v do not say that the run was interrupted", ids(res.Findings))
	}
}

func TestRunEmptyTopic(t *testing.T) {
	src := &memory{topic: "empty", partitions: make([][]source.Record, 3)}
	cfg := DefaultConfig(parse(t, "java"))
	cfg.Plans = []plan.To{{NumPartitions: 6}}
	res, err := Run(t.Context(), src, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(res.Findings); !slices.Equal(got, []finding.ID{finding.NoRecords}) {
		t.Errorf("findings %v, want no-records alone", got)
	}
}

func TestRunOnePartition(t *testing.T) {
	pt := parse(t, "java")
	src := topicOf(t, pt, 1, map[string]int{"a": 90, "b": 10})
	cfg := DefaultConfig(pt)
	cfg.Plans = []plan.To{{NumPartitions: 2}}
	res, err := Run(t.Context(), src, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if f := has(res.Findings, finding.HotKey); f != nil {
		t.Errorf("hot key in a topic of one partition: %s", f.What)
	}
	if !math.IsInf(res.Records.Tau, 1) {
		t.Errorf("tau %v, want +Inf", res.Records.Tau)
	}
}

func TestValidate(t *testing.T) {
	pt := parse(t, "java")
	for _, tc := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"a million partitions", func(c *Config) { c.Plans = []plan.To{{NumPartitions: 1_000_000}} }, "between 1 and 100000"},
		{"no candidate", func(c *Config) { c.Plans = []plan.To{{}} }, "partition count or a partitioner"},
		{"negative count", func(c *Config) { c.Candidates = []plan.To{{NumPartitions: -3}} }, "-3 partitions"},
		{"hot ratio 1", func(c *Config) { c.Skew.HotRatio = 1 }, "greater than 1"},
		{"hot ratio NaN", func(c *Config) { c.Skew.HotRatio = math.NaN() }, "greater than 1"},
		{"no partitioner", func(c *Config) { c.Partitioner = nil }, "without a partitioner"},
	} {
		cfg := DefaultConfig(pt)
		tc.change(&cfg)
		_, err := Run(t.Context(), &memory{partitions: make([][]source.Record, 1)}, cfg)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want one that says %q", tc.name, err, tc.want)
		}
	}
}

// With Auto the partitioner is taken from the keys, and every figure is as if it had been named.
func TestRunAuto(t *testing.T) {
	counts := customers(3000, 2)
	counts["tenant-hot"] = 1500
	for _, tc := range []struct{ wrote, taken string }{{"java", "java"}, {"librdkafka", "crc32u"}, {"sarama", "fnv1a_abs"}, {"beats", "fnv1a_mask"}} {
		src := topicOf(t, parse(t, tc.wrote), 12, counts)
		cfg := DefaultConfig(parse(t, "java"))
		cfg.Auto = true
		cfg.Plans = []plan.To{{NumPartitions: 24}, {NumPartitions: 18}}
		auto, err := Run(t.Context(), src, cfg)
		if err != nil {
			t.Fatal(err)
		}
		if auto.Profile.Partitioner != tc.taken || auto.Reason == "" {
			t.Errorf("written by %s: taken is %s (%q), want %s", tc.wrote, auto.Profile.Partitioner, auto.Reason, tc.taken)
		}
		cfg.Auto, cfg.Partitioner = false, parse(t, tc.taken)
		named, err := Run(t.Context(), src, cfg)
		if err != nil {
			t.Fatal(err)
		}
		for i := range named.Plans {
			if got, want := auto.Plans[i].Records, named.Plans[i].Records; got.Moved != want.Moved || !slices.Equal(got.Loads, want.Loads) {
				t.Errorf("written by %s, plan %d: moved %d, want %d as with the partitioner named", tc.wrote, i, got.Moved, want.Moved)
			}
			if got, want := auto.Plans[i].MovedKeys, named.Plans[i].MovedKeys; got != want {
				t.Errorf("written by %s, plan %d: %d keys move, want %d", tc.wrote, i, got, want)
			}
		}
		if f := has(auto.Findings, finding.PartitionerMismatch); f != nil {
			t.Errorf("written by %s: %s", tc.wrote, f.What)
		}
	}
}

// Findings never hold the key itself, only its placeholder, so that redaction has one place.
func TestFindingsHoldNoKey(t *testing.T) {
	pt := parse(t, "java")
	counts := customers(100, 1)
	counts["secret-person"] = 500
	cfg := DefaultConfig(pt)
	cfg.Plans = []plan.To{{NumPartitions: 16}, {NumPartitions: 13}}
	res, err := Run(t.Context(), topicOf(t, pt, 6, counts), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if has(res.Findings, finding.MovedHotKey) == nil {
		t.Fatalf("findings %v lack moved-hot-key; the test needs one", ids(res.Findings))
	}
	for _, f := range res.Findings {
		if strings.Contains(f.What+f.Do+f.Subject, "secret-person") {
			t.Errorf("%s holds the key: %s %s", f.ID, f.What, f.Do)
		}
		if strings.Contains(f.What+f.Do, "{key}") != (f.HasKey && bytes.Equal(f.Key, []byte("secret-person"))) {
			t.Errorf("%s: placeholder and key disagree: %+v", f.ID, f)
		}
		if _, ok := finding.Find(f.ID); !ok {
			t.Errorf("%s is not in the catalogue", f.ID)
		}
	}
}

// A million-key profile that the plan may not fit is not needed here; the modulo formula is checked on real hashes.
func TestModuloMoved(t *testing.T) {
	pt := parse(t, "java")
	counts := customers(60_000, 1)
	cfg := DefaultConfig(pt)
	for _, n := range []int32{24, 18, 16, 13} {
		cfg.Plans = append(cfg.Plans, plan.To{NumPartitions: n})
	}
	res, err := Run(t.Context(), topicOf(t, pt, 12, counts), cfg)
	if err != nil {
		t.Fatal(err)
	}
	// statistics.md B6: 12->24 50 %, 12->18 66.7 %, 12->16 75 %, 12->13 92.3 %.
	for i, want := range []float64{1.0 / 2, 2.0 / 3, 3.0 / 4, 12.0 / 13} {
		p := res.Plans[i]
		if math.Abs(p.FormulaMoved-want) > 1e-12 {
			t.Errorf("12->%d: formula %v, want %v", p.Candidate.NumPartitions, p.FormulaMoved, want)
		}
		// 60,000 keys: the binomial standard error is at most 0.2 points; allow five.
		if got := float64(p.MovedKeys) / float64(p.Keys); math.Abs(got-want) > 0.01 {
			t.Errorf("12->%d: measured %v of keys moved, formula %v", p.Candidate.NumPartitions, got, want)
		}
	}
}

// A partitioner change at the same count: crc32 and murmur2 agree on 1/n of the keys only.
func TestPlanOtherPartitioner(t *testing.T) {
	cfg := DefaultConfig(parse(t, "java"))
	cfg.Plans = []plan.To{{Partitioner: parse(t, "librdkafka")}}
	res, err := Run(t.Context(), topicOf(t, cfg.Partitioner, 12, customers(20_000, 1)), cfg)
	if err != nil {
		t.Fatal(err)
	}
	p := res.Plans[0]
	if p.HasFormula || p.Candidate.NumPartitions != 12 {
		t.Errorf("plan %+v, want 12 partitions and no modulo formula", p.Candidate)
	}
	if got := p.Records.MovedShare; math.Abs(got-11.0/12) > 0.01 {
		t.Errorf("moved share %v, want 11/12", got)
	}
}

// A key that is too light to be hot can be all that is uneven: it is named, and where it came in a burst the keys are not
// called sound.
func TestRunChanceOfOneKey(t *testing.T) {
	counts := customers(20_000, 1)
	counts["big"] = 800 // 3.8 %; hot above 4.5 %
	for _, burst := range []bool{false, true} {
		src := topicOf(t, parse(t, "java"), 12, counts)
		for _, records := range src.partitions {
			for i := range records {
				at := int64(i) * 1000 * 1700 / int64(len(records))
				if burst && string(records[i].Key) == "big" {
					at = 1000 * 800
				}
				if !burst {
					at = 0
				}
				records[i].Timestamp = 1_700_000_000_000 + at
			}
		}
		res, err := Run(t.Context(), src, DefaultConfig(parse(t, "java")))
		if err != nil {
			t.Fatal(err)
		}
		f := has(res.Findings, finding.SkewByChance)
		if f == nil || string(f.Key) != "big" || !strings.Contains(f.What, "Most of what is uneven is the weight of key {key}") {
			t.Fatalf("burst %v: %+v, want chance and the key", burst, res.Findings)
		}
		if (has(res.Findings, finding.Burst) != nil) != burst || strings.Contains(f.Do, "see burst") != burst || strings.Contains(f.Do, "the keys") {
			t.Errorf("burst %v: %q, want it said with the burst and the keys not called sound", burst, f.Do)
		}
	}
}

// What is left without the hot keys is set beside what it was with them, and beside chance.
func TestSeveralHeavyKeysText(t *testing.T) {
	for _, c := range []struct {
		with, without float64
		want          string
	}{
		{6.9, 4.4, "max/mean of keyed bytes is still 4.40x (6.90x with them), where chance gives 4.10x."},
		{1.71, 4, "max/mean of keyed bytes rises to 4.00x (1.71x with them), where chance gives 4.10x."},
	} {
		r := &Result{Bytes: skew.Skew{Unit: 1, Explanation: skew.Explanation{
			Cause: skew.SeveralHeavyKeys, Observed: c.with, Removed: 2, ObservedWithout: c.without,
			ExpectedWithout: skew.Chance{Spread: skew.Spread{Median: 4.1}},
		}}}
		if fs := causeFinding(r, false); len(fs) != 1 || !strings.HasSuffix(fs[0].What, c.want) {
			t.Errorf("%v with, %v without: %+v, want %q", c.with, c.without, fs, c.want)
		}
	}
}
