package reports

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"keyspread/analyze"
	"keyspread/analyze/finding"
	"keyspread/analyze/plan"
	"keyspread/analyze/profile"
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
	pt := murmur2(t)
	cfg := profile.DefaultConfig()
	cfg.Partitioner, cfg.Memory = pt, 16<<20
	byPlan := make([]partitioner.Partitioner, len(tp.to))
	for i, n := range tp.to {
		byPlan[i] = pt
		if tp.toHash != "" && i == len(tp.to)-1 {
			byPlan[i] = parsePartitioner(t, tp.toHash)
		}
		cfg.Candidates = append(cfg.Candidates, profile.CandidateSpec{Partitioner: byPlan[i], NumPartitions: n})
	}

	records := make([][]source.Record, tp.partitions)
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
			records[p] = append(records[p], source.Record{
				Offset: int64(len(records[p])), Timestamp: firstTime + 1000*int64(len(records[p])), Key: k.key, ValueSize: k.size,
			})
		}
	}
	reading := &source.Plan{Topic: tp.name, NumPartitions: int(tp.partitions), Range: "earliest..latest"}
	var coverage []source.Coverage
	for p := range tp.partitions {
		n := int64(len(records[p]))
		reading.Partitions = append(reading.Partitions, source.Partition{ID: p, HighWatermark: n, LastStableOffset: n})
		if n > 0 {
			reading.Spans = append(reading.Spans, source.Span{Partition: p, Start: 0, End: n})
		}
		coverage = append(coverage, source.Coverage{Partition: p, Asked: n, Read: n, Position: n})
	}
	builder, err := profile.NewBuilder(reading, cfg)
	if err != nil {
		t.Fatal(err)
	}
	for p := range tp.partitions {
		if len(records[p]) == 0 {
			continue
		}
		err := builder.Batch(&source.Batch{
			Partition: p, Next: int64(len(records[p])), Records: records[p], LeaderEpoch: 1, WireBytes: 40 * int64(len(records[p])),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	p, err := builder.Profile(coverage)
	if err != nil {
		t.Fatal(err)
	}
	judging := analyze.Config{Partitioner: pt, Skew: skew.DefaultConfig()}
	for i, n := range tp.to {
		judging.Plans = append(judging.Plans, plan.To{Partitioner: byPlan[i], NumPartitions: n})
	}
	res, err := analyze.Conclude(p, judging)
	if err != nil {
		t.Fatal(err)
	}
	res.Findings = nil
	return res
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
		{"plan", planTopic, opt},
	}
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
		s.CeilingLo = 1 / s.Top[0].Share.Hi
	}
	res.Findings = []finding.Finding{{
		ID: finding.BoundedCounts, Severity: finding.Info,
		What: "The key table overflowed; counts of keys carry bounds.", Do: "Raise --memory for exact counts.",
	}}
	return res
}

func incompleteTopic(t testing.TB) *analyze.Result {
	res := topic{name: "payments", partitions: 5, keys: evenKeys(300)}.result(t)
	res.Complete, res.Partial, res.Why = false, true, "interrupted"
	p := res.Profile.Partitions
	p[1].Coverage.Asked += 4000
	p[2].Coverage.Asked += 1000
	p[2].Coverage.Lost = 1000
	p[3].Coverage.Asked += 812
	p[3].Coverage.Err = errors.New("reading partition 3 at offset 812: batch CRC 0x1 does not match 0x2; read around it with --offsets\x1b[2J")
	res.Findings = []finding.Finding{{
		ID: finding.IncompleteCoverage, Severity: finding.Critical, What: "2,700 of 8,512 offsets asked for were read (interrupted).",
		Do: "The figures below describe only what was read; the coverage lines give each partition's reason.",
	}}
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
