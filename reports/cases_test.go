package reports

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"keyspread/analyze"
	"keyspread/analyze/finding"
	"keyspread/analyze/plan"
	"keyspread/analyze/profile"
	"keyspread/analyze/sample"
	"keyspread/analyze/skew"
	"keyspread/analyze/source"
	"keyspread/partitioner"
)

// topic is a topic small enough to be written down: counts of keys, placed by murmur2 unless a partition is given.
type topic struct {
	name       string
	partitions int32
	keys       []keyed
	to         []int32 // planned counts
	toHash     string  // partitioner of the last plan; "": murmur2
	mix        bool    // records of a partition in random order, as traffic has them, not key by key
	gaps       bool    // every other offset holds no record, as compaction leaves it
}

type keyed struct {
	key       []byte
	records   int
	size      int32 // of values
	partition int32 // -1: where murmur2 puts it
}

func key(k string, records int) keyed { return keyed{[]byte(k), records, 100, -1} }

// firstTime is 2026-01-02T03:04:05Z in milliseconds (date -u -d 2026-01-02T03:04:05Z +%s).
const firstTime = 1767323045000

// murmur2 is the Java client's partitioner.
func murmur2(t testing.TB) partitioner.Partitioner { return parsePartitioner(t, "murmur2") }

func parsePartitioner(t testing.TB, name string) partitioner.Partitioner {
	t.Helper()
	pt, err := partitioner.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return pt
}

// result counts and judges a topic. Findings are for the caller to add: their texts are not this package's.
func (tp topic) result(t testing.TB) *analyze.Result {
	t.Helper()
	return tp.run(t, nil)
}

// run is result by a sample, when how to draw it is given.
func (tp topic) run(t testing.TB, how *sample.Config) *analyze.Result {
	t.Helper()
	cfg := analyze.DefaultConfig(murmur2(t))
	cfg.Profile.Memory, cfg.Sample = 16<<20, how
	for i, n := range tp.to {
		to := plan.To{NumPartitions: n}
		if tp.toHash != "" && i == len(tp.to)-1 {
			to.Partitioner = parsePartitioner(t, tp.toHash)
		}
		cfg.Plans = append(cfg.Plans, to)
	}
	res, err := analyze.Run(t.Context(), tp.source(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	res.Findings = nil
	return res
}

// source returns the topic's records as a source.
func (tp topic) source(t testing.TB) *memory {
	t.Helper()
	pt := murmur2(t)
	m := &memory{topic: tp.name, partitions: make([][]source.Record, tp.partitions), step: 1}
	if tp.gaps {
		m.step = 2
	}
	for _, k := range tp.keys {
		p := k.partition
		if p < 0 {
			var out [1]int32
			if _, err := pt.Place(k.key, []int32{tp.partitions}, out[:]); err != nil {
				t.Fatal(err)
			}
			p = out[0]
		}
		for range k.records {
			m.partitions[p] = append(m.partitions[p], source.Record{Key: k.key, ValueSize: k.size})
		}
	}
	rng := rand.New(rand.NewPCG(1, 2)) // any fixed seed
	for _, records := range m.partitions {
		if tp.mix {
			shuffle(rng, records)
		}
		for i := range records {
			records[i].Offset, records[i].Timestamp = m.step*int64(i), firstTime+1000*int64(i)
		}
	}
	return m
}

// memory is a source of records at every step-th offset. Each takes 40 bytes as stored.
type memory struct {
	topic      string
	partitions [][]source.Record
	step       int64
}

func (m *memory) Plan(context.Context) (*source.Plan, error) {
	p := &source.Plan{Topic: m.topic, NumPartitions: len(m.partitions), Range: "earliest..latest"}
	for id, records := range m.partitions {
		end := m.step * int64(len(records))
		p.Partitions = append(p.Partitions, source.Partition{ID: int32(id), HighWatermark: end, LastStableOffset: end})
		if end > 0 {
			p.Spans = append(p.Spans, source.Span{Partition: int32(id), End: end})
		}
	}
	return p, nil
}

func (m *memory) Read(_ context.Context, p *source.Plan, sink source.Sink) ([]source.Coverage, error) {
	var coverage []source.Coverage
	for _, part := range p.Partitions {
		c := source.Coverage{Partition: part.ID}
		for _, span := range p.Spans {
			if span.Partition != part.ID {
				continue
			}
			c.Asked += span.End - span.Start
			c.Read, c.Position = c.Asked, span.End
			records := m.partitions[part.ID][(span.Start+m.step-1)/m.step : (span.End+m.step-1)/m.step]
			err := sink.Batch(&source.Batch{
				Partition: part.ID, Next: span.End, Records: records, LeaderEpoch: 1, WireBytes: 40 * int64(len(records)),
			})
			if err != nil {
				return nil, err
			}
		}
		coverage = append(coverage, c)
	}
	return coverage, nil
}

// evenKeys are n keys with a few records each, so that no key is heavy.
func evenKeys(n int) []keyed {
	var ks []keyed
	for i := range n {
		ks = append(ks, key(fmt.Sprintf("customer-%04d", i), 8+i%3))
	}
	return ks
}

// hostileKeys try to leave their cell, their line, their colour and their format.
func hostileKeys() []keyed {
	var ks []keyed
	for i, k := range []string{
		"a|b|c", "`code`", "``", "<b>bold</b>", "</details><script>alert(1)</script>", "@octocat", "#123", "octo/repo#7",
		"https://example.com/?a=1&b=2", "www.example.com", "someone@example.com", "![x](http://example.com/y.png)", "[link](javascript:1)",
		"\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "line\nbreak", "tab\there", "carriage\rreturn", "\u202eright-to-left", "zero\u200bwidth",
		"a\u0301\u0301\u0301\u0301\u0301\u0301", "\u0301leading mark", "日本語のキー", "👩‍👩‍👧‍👦", "\u3164filler", "non\u00a0breaking",
		"<null>", "null", "<empty>", "0x00", "key:3f9a01c2d4", `"quoted"`, `back\slash`, `back\|pipe`, " leading", "two  spaces", "-", "*bold* _it_ ~s~", "$x^2$",
		"-->", "{key}", "\xff\xfe", "\x00\x00\x00\x0a\x01", strings.Repeat("long-", 60), strings.Repeat("\x00\xff", 200), strings.Repeat("長", 80),
	} {
		ks = append(ks, key(k, 60-i))
	}
	ks = append(ks, keyed{[]byte{}, 11, 100, -1}, keyed{nil, 12, 100, 1})
	return ks
}

// A goldenCase is a report of testdata/golden, in every format.
type goldenCase struct {
	name string
	make func(t testing.TB) *analyze.Result
	opt  Options
}

// report returns the case's report, made once for all tests that only read it.
func (c goldenCase) report(t testing.TB) *Report {
	t.Helper()
	if r := made[c.name]; r != nil {
		return r
	}
	made[c.name] = New(c.make(t), c.opt)
	return made[c.name]
}

var made = make(map[string]*Report)

func goldenCases() []goldenCase {
	opt := Options{Version: "1.2.3"}
	redacted := opt
	redacted.Redact, _ = NewRedactor([]byte("0123456789abcdef")) // 16 bytes: long enough
	return []goldenCase{
		{"even", func(t testing.TB) *analyze.Result {
			return topic{name: "even.v1", partitions: 6, keys: evenKeys(900)}.result(t)
		}, opt},
		{"hot", hotTopic, opt},
		{"hot-redacted", hotTopic, redacted},
		{"bounded", boundedTopic, opt},
		{"incomplete", incompleteTopic, opt},
		{"empty", func(t testing.TB) *analyze.Result {
			res := topic{name: "empty.v1", partitions: 3}.result(t)
			res.Findings = []finding.Finding{{
				ID: finding.NoRecords, Severity: finding.Warning, What: "The range holds no record.", Do: "Check the topic and the range.",
			}}
			return res
		}, opt},
		{"one-partition", func(t testing.TB) *analyze.Result {
			return topic{name: "single", partitions: 1, keys: []keyed{key("a", 3), key("b", 1)}}.result(t)
		}, opt},
		{"many-partitions", func(t testing.TB) *analyze.Result {
			return topic{name: "wide.v1", partitions: 200, keys: append(evenKeys(2000), key("hot", 700))}.result(t)
		}, opt},
		{"hostile", hostileTopic, opt},
		{"decoded", decodedTopic, opt},
		{"plan", planTopic, opt},
		{"mixed-plan", mixedPlanTopic, opt},
		{"sampled", sampledTopic, opt},
		{"sampled-gaps", sampledGapsTopic, opt},
		{"sampled-plan", sampledPlanTopic, opt},
		{"sampled-whole", sampledWholeTopic, opt},
		{"chance", func(t testing.TB) *analyze.Result {
			return topic{name: "chance.v1", partitions: 24, keys: evenKeys(2000)}.result(t)
		}, opt},
		{"few-keys", func(t testing.TB) *analyze.Result { return devices(150).result(t) }, opt},
		{"as-many-keys", func(t testing.TB) *analyze.Result { return devices(50).result(t) }, opt},
		{"not-hashed", notHashedTopic, opt},
		{"tail", func(t testing.TB) *analyze.Result {
			res := topic{name: "orders.v1", partitions: 3, keys: evenKeys(300)}.result(t)
			return as(t, res, "tail 1000")
		}, opt},
		{"partitions", func(t testing.TB) *analyze.Result {
			res := topic{name: "orders.v1", partitions: 12, keys: append(evenKeys(600), key("customer-42", 1200))}.result(t)
			p := res.Profile // anew, as what it has found so far is of all partitions
			res.Profile = &profile.Profile{
				Topic: p.Topic, NumPartitions: p.NumPartitions, Partitioner: p.Partitioner, Candidates: p.Candidates, Partitions: p.Partitions[7:10],
			}
			return as(t, res, "earliest..latest of partitions 7-9")
		}, opt},
		{"tail-plan", func(t testing.TB) *analyze.Result {
			tp := topic{name: "orders.v1", partitions: 12, keys: append(evenKeys(600), key("customer-42", 1200)), to: []int32{24}}
			return as(t, tp.result(t), "tail 500", 24)
		}, opt},
	}
}

// heavyKeys are a hot key, one that a sample cannot tell to be hot or not, and many light ones.
func heavyKeys() []keyed {
	return append(evenKeys(3000),
		key("customer-42", 3600), key("customer-43", 1500), keyed{nil, 700, 100, 2}, keyed{[]byte("blob-7"), 250, 900, -1})
}

// sampleConfig asks for less precision than a user gets, so that a small topic is enough.
func sampleConfig(blockSize int64) sample.Config {
	how := sample.DefaultConfig()
	how.BlockSize, how.Precision = blockSize, 0.02
	return how
}

// sampledTopic was sampled until its precision was reached.
func sampledTopic(t testing.TB) *analyze.Result {
	how := sampleConfig(20)
	how.Seed = 7
	res := topic{name: "orders.v1", partitions: 12, keys: heavyKeys(), mix: true}.run(t, &how)
	res.Findings = []finding.Finding{{
		ID: finding.HotKey, Severity: finding.Warning, Unit: "records", Subject: "partition 9", Key: []byte("customer-42"), HasKey: true,
		What: "Key {key} has about a tenth of records.", Do: "One consumer must carry {key} at its peak.",
	}}
	return res
}

// sampledGapsTopic was sampled under a limit that ended it early, where half of the offsets hold no record.
func sampledGapsTopic(t testing.TB) *analyze.Result {
	how := sample.DefaultConfig()
	how.BlockSize, how.MaxRecords = 40, 1600
	return topic{name: "compacted.v1", partitions: 4, keys: append(evenKeys(2000), key("customer-42", 4000)), mix: true, gaps: true}.run(t, &how)
}

func sampledPlanTopic(t testing.TB) *analyze.Result {
	how := sampleConfig(20)
	return topic{name: "orders.v1", partitions: 12, keys: heavyKeys(), mix: true, to: []int32{24, 12}, toHash: "crc32u"}.run(t, &how)
}

// sampledWholeTopic is so small that its sample grew to all of it.
func sampledWholeTopic(t testing.TB) *analyze.Result {
	how := sample.DefaultConfig()
	return topic{name: "small.v1", partitions: 3, keys: append(evenKeys(300), key("customer-42", 400)), mix: true, to: []int32{6}}.run(t, &how)
}

// devices is a topic of few equal keys for its 50 partitions, which looks like a defect to many.
func devices(n int) topic {
	var ks []keyed
	for i := range n {
		ks = append(ks, key(fmt.Sprintf("device-%03d", i), 20))
	}
	return topic{name: "devices.v1", partitions: 50, keys: ks}
}

// notHashedTopic has keys that went to partitions of their own choice: three of ten to the first.
func notHashedTopic(t testing.TB) *analyze.Result {
	ks := evenKeys(2000)
	for i := range ks {
		ks[i].partition = int32(max(0, i%10-2))
	}
	return topic{name: "chosen.v1", partitions: 8, keys: ks}.result(t)
}

func hotTopic(t testing.TB) *analyze.Result {
	ks := append(evenKeys(600), key("customer-42", 1200), keyed{nil, 60, 100, 3}, keyed{[]byte("blob-7"), 40, 20_000, -1})
	res := topic{name: "orders.v1", partitions: 12, keys: ks}.result(t)
	res.Findings = []finding.Finding{
		{
			ID: finding.NullKeys, Severity: finding.Info,
			What: "60 records (0.90 %) have no key; their client spreads them.", Do: "If they should have one, a producer loses it.",
		},
		{
			ID: finding.HotKey, Severity: finding.Critical, Unit: "records", Subject: "partition 9", Key: []byte("customer-42"), HasKey: true,
			What: "Key {key} has 17.9 % of records; one key may have 4.5 % at 12 partitions.",
			Do:   "One consumer must carry {key} at its peak; more partitions do not divide it.",
		},
	}
	return res
}

func boundedTopic(t testing.TB) *analyze.Result {
	res := topic{name: "sessions.v3", partitions: 4, keys: append(evenKeys(400), key("customer-42", 900), key("customer-43", 660))}.result(t)
	// As a table that overflowed would have it: every count may be 25 records of 125 bytes higher.
	for i := range res.Profile.Partitions {
		p := &res.Profile.Partitions[i]
		p.Mode, p.Missing = profile.Bounded, profile.Weight{Records: 25, Bytes: 3125}
	}
	res.Distinct = profile.Distinct{Keys: 41_200, Low: 40_800, High: 41_600, SeveralPartitions: 12, SeveralLow: 9, SeveralHigh: 15}
	for _, s := range []*skew.Skew{&res.Records, &res.Bytes} {
		for i := range s.Top {
			k := &s.Top[i]
			k.Hi = k.Hi.Add(profile.Weight{Records: 25, Bytes: 3125})
			k.Share.Hi = float64(k.Hi.Of(s.Unit)) / float64(s.Total)
			for j := range k.Where {
				k.Where[j].Hi = k.Hi
			}
		}
		s.Top[1].Verdict = skew.CannotTell
		s.Keys = skew.KeyMeasures{
			Gini:      skew.Figure{Est: 0.3127, Lo: 0.3094, Hi: 0.3160, SE: 0.0017},
			Effective: skew.Figure{Est: 19.54, Lo: 19.53, Hi: 19.56, SE: 0.004},
			Entropy:   skew.Figure{Est: 161.3, Lo: 157.7, Hi: 164.9, SE: 1.8},
		}
		s.CeilingLo = 1 / s.Top[0].Share.Hi
		s.Explanation.Expected.Most = skew.Spread{Median: 1.44, P95: 1.98, P: 0.92}
	}
	b := &res.Bytes.Explanation // of which no estimate can be told
	for _, c := range []*skew.Chance{&b.Expected, &b.ExpectedWithout} {
		c.Most, c.OnlyMost = c.Spread, true
	}
	res.Findings = []finding.Finding{{
		ID: finding.BoundedCounts, Severity: finding.Info,
		What: "The key table overflowed; counts of keys carry bounds.", Do: "Raise --memory for exact counts.",
	}}
	return res
}

// as judges what was counted again, as if it had been read of a range.
func as(t testing.TB, res *analyze.Result, of string, to ...int32) *analyze.Result {
	t.Helper()
	res.Profile.Range = of
	cfg := analyze.DefaultConfig(murmur2(t))
	for _, n := range to {
		cfg.Plans = append(cfg.Plans, plan.To{NumPartitions: n})
	}
	again, err := analyze.Conclude(res.Profile, cfg)
	if err != nil {
		t.Fatal(err)
	}
	again.Findings = slices.DeleteFunc(again.Findings, func(f finding.Finding) bool { return f.ID != finding.PartialRange })
	return again
}

func incompleteTopic(t testing.TB) *analyze.Result {
	res := topic{name: "payments", partitions: 5, keys: evenKeys(300)}.result(t)
	p := res.Profile.Partitions
	p[1].Coverage.Asked += 4000
	p[2].Coverage.Asked += 1000
	p[2].Coverage.Lost = 1000
	p[3].Coverage.Asked += 812
	p[3].Coverage.Err = errors.New("reading partition 3 at offset 812: batch CRC 0x1 does not match 0x2; read around it with --offsets\x1b[2J")
	res = as(t, res, res.Profile.Range)
	res.Complete, res.Partial, res.Why = false, true, "interrupted"
	res.Findings = append(res.Findings, finding.Finding{
		ID: finding.IncompleteCoverage, Severity: finding.Critical, What: "2,700 of 8,512 offsets asked for were read (interrupted).",
		Do: "The figures below describe only what was read; the coverage lines give each partition's reason.",
	})
	return res
}

func hostileTopic(t testing.TB) *analyze.Result {
	res := topic{name: "a--b-->\x1b[1m|<i>`@team`", partitions: 3, keys: hostileKeys(), to: []int32{5}}.result(t)
	for _, k := range hostileKeys() {
		res.Findings = append(res.Findings, finding.Finding{
			ID: finding.HotKey, Severity: finding.Warning, Key: k.key, HasKey: true, What: "Key {key} is hot.", Do: "Look at {key}.",
		})
	}
	return res
}

func planTopic(t testing.TB) *analyze.Result {
	ks := append(evenKeys(600), key("customer-42", 1500), key("customer-43", 500), keyed{nil, 120, 100, 2})
	res := topic{name: "orders.v1", partitions: 12, keys: ks, to: []int32{24, 48, 12}, toHash: "crc32u"}.result(t)
	res.Findings = []finding.Finding{{
		ID: finding.MovedHotKey, Severity: finding.Warning, Subject: "12 partitions under crc32u", Key: []byte("customer-42"), HasKey: true,
		What: "At 12 partitions under crc32u, key {key} (19.9 % of records) moves from partition 9 to partition 5.",
		Do:   "Drain its old partition in every group before producers see the new count.",
	}}
	return res
}

// mixedPlanTopic is written by murmur2, and about a third of it by crc32u: most keys are in two partitions.
func mixedPlanTopic(t testing.TB) *analyze.Result {
	ks := append(evenKeys(600), key("customer-42", 1200))
	other := parsePartitioner(t, "crc32u")
	for _, k := range slices.Clone(ks) {
		out := make([]int32, 1)
		if _, err := other.Place(k.key, []int32{12}, out); err != nil {
			t.Fatal(err)
		}
		k.records, k.partition = (k.records+1)/2, out[0]
		ks = append(ks, k)
	}
	return topic{name: "mixed.v1", partitions: 12, keys: ks, to: []int32{24}}.result(t)
}
