package analyze

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"keyspread/analyze/finding"
	"keyspread/analyze/plan"
	"keyspread/analyze/profile"
	"keyspread/analyze/skew"
	"keyspread/analyze/source"
)

// ranged is a topic of which a range is read: cut makes its plan of the whole one.
type ranged struct {
	*memory
	text string
	cut  func(p *source.Plan)
	read bool
}

func (r *ranged) Plan(ctx context.Context) (*source.Plan, error) {
	p, err := r.memory.Plan(ctx)
	p.Range = r.text
	r.cut(p)
	return p, err
}

func (r *ranged) Read(ctx context.Context, p *source.Plan, sink source.Sink) ([]source.Coverage, error) {
	r.read = true
	return r.memory.Read(ctx, p, sink)
}

func tailOf(n int64) func(p *source.Plan) {
	return func(p *source.Plan) {
		for i := range p.Spans {
			p.Spans[i].Start = max(0, p.Spans[i].End-n)
		}
	}
}

func only(ids ...int32) func(p *source.Plan) {
	return func(p *source.Plan) {
		p.Partitions = slices.DeleteFunc(p.Partitions, func(x source.Partition) bool { return !slices.Contains(ids, x.ID) })
		p.Spans = slices.DeleteFunc(p.Spans, func(x source.Span) bool { return !slices.Contains(ids, x.Partition) })
	}
}

// aboutTopic are the findings that a part of a topic cannot have.
var aboutTopic = []finding.ID{
	finding.HotKey, finding.HotPartition, finding.Ceiling, finding.Burst, finding.LowCardinality, finding.NotHashed, finding.UnevenPartitioner,
	finding.SeveralHeavyKeys, finding.FewKeys, finding.SkewByChance, finding.UnkeyedTraffic,
}

// What was read says what can be concluded: of every partition read alike the topic is judged, and of anything else only
// that it is a part.
func TestPartsAreNotTheTopic(t *testing.T) {
	pt := parse(t, "java")
	counts := customers(4000, 2)
	counts["tenant-hot"] = 2000 // of 10,000 in 12 partitions
	for _, tc := range []struct {
		name      string
		text      string
		cut       func(p *source.Plan)
		shard     Shard
		stopAfter int
		want      string // of the finding; "" where the topic is judged
	}{
		{name: "everything", text: "earliest..latest"},
		{name: "a window", text: "2026-01-01T00:00:00Z..latest", cut: tailOf(600)},
		{name: "a file", text: "the whole of ../keys.ndjson"},
		{name: "a tail longer than any partition", text: "tail 100000", cut: tailOf(100_000)},
		{
			name: "a tail", text: "tail 400", cut: tailOf(400),
			want: "Of each partition only the end was read (tail 400). Shares",
		},
		{
			name: "offsets", text: "offsets 0:100-200,3:50-", cut: func(p *source.Plan) {
				only(0, 3)(p)
				p.Spans[0].Start, p.Spans[0].End, p.Spans[1].Start = 100, 200, 50
			}, want: "2 of 12 partitions were read; only chosen offsets were read (offsets 0:100-200,3:50-).",
		},
		{
			name: "partitions", text: "earliest..latest of partitions 0,3-5", cut: only(0, 3, 4, 5),
			want: "4 of 12 partitions were read. Shares",
		},
		{name: "a shard", text: "earliest..latest", shard: Shard{1, 4}, want: "3 of 12 partitions were read. Shares"},
		{
			name: "an interrupted read", text: "earliest..latest", stopAfter: 300,
			want: "Partitions were read to different depths. Shares",
		},
	} {
		src := &ranged{memory: topicOf(t, pt, 12, counts), text: tc.text, cut: tc.cut}
		if src.cut == nil {
			src.cut = func(*source.Plan) {}
		}
		src.stopAfter = tc.stopAfter
		cfg := DefaultConfig(pt)
		cfg.Shard = tc.shard
		res, err := Run(t.Context(), src, cfg)
		if err != nil && tc.stopAfter == 0 {
			t.Fatalf("%s: %v", tc.name, err)
		}
		hot, part := has(res.Findings, finding.HotKey), has(res.Findings, finding.PartialRange)
		if tc.want == "" {
			if hot == nil || part != nil || res.Records.Top[0].Verdict != skew.Hot {
				t.Errorf("%s: findings %v, top key %v; want the topic judged", tc.name, ids(res.Findings), res.Records.Top[0].Verdict)
			}
			continue
		}
		severity := finding.Info
		if tc.stopAfter > 0 { // not what was asked for
			severity = finding.Warning
		}
		if part == nil || !strings.Contains(part.What, tc.want) || part.Severity != severity {
			t.Errorf("%s: %+v, want %q", tc.name, part, tc.want)
		}
		for _, id := range aboutTopic {
			if f := has(res.Findings, id); f != nil {
				t.Errorf("%s: %s: %s", tc.name, id, f.What)
			}
		}
		for _, s := range []skew.Skew{res.Records, res.Bytes} {
			if s.Explanation.Cause != skew.NothingToExplain {
				t.Errorf("%s: %v explained as %v", tc.name, s.Unit, s.Explanation.Cause)
			}
			for _, k := range s.Top {
				if k.Verdict == skew.Hot {
					t.Errorf("%s: key %q is hot by %v", tc.name, k.Key, s.Unit)
				}
			}
		}
	}
}

// Partitions that differ in how much of them was read by less than loads differ anyway are judged.
func TestAFewOffsetsLostAreNoPart(t *testing.T) {
	pt := parse(t, "java")
	counts := customers(4000, 2)
	counts["tenant-hot"] = 2000
	res, err := Run(t.Context(), topicOf(t, pt, 12, counts), DefaultConfig(pt))
	if err != nil {
		t.Fatal(err)
	}
	c := &res.Profile.Partitions[2].Coverage
	c.Lost = c.Asked / 200
	c.Read -= c.Lost
	if again, err := Conclude(res.Profile, DefaultConfig(pt)); err != nil || has(again.Findings, finding.PartialRange) != nil ||
		has(again.Findings, finding.HotKey) == nil {
		t.Errorf("findings %v, %v; want the topic judged", ids(again.Findings), err)
	}
	c.Read -= c.Asked / 50
	if again, err := Conclude(res.Profile, DefaultConfig(pt)); err != nil || has(again.Findings, finding.PartialRange) == nil {
		t.Errorf("findings %v, %v; want the depths told", ids(again.Findings), err)
	}
}

// A plan of some partitions is refused before anything is read, and of shards until all are joined.
func TestPlanNeedsEveryPartition(t *testing.T) {
	pt := parse(t, "java")
	counts := customers(2000, 2)
	counts["tenant-hot"] = 1000
	cfg := DefaultConfig(pt)
	whole, err := Run(t.Context(), topicOf(t, pt, 12, counts), cfg)
	if err != nil {
		t.Fatal(err)
	}
	var shards []*profile.Profile
	for i := range int32(4) {
		cfg.Shard = Shard{i + 1, 4}
		res, err := Run(t.Context(), topicOf(t, pt, 12, counts), cfg)
		if err != nil {
			t.Fatal(err)
		}
		shards = append(shards, res.Counted)
	}
	cfg.Plans = []plan.To{{NumPartitions: 24}}
	var part *PartError
	src := &ranged{memory: topicOf(t, pt, 12, counts), text: "earliest..latest", cut: func(*source.Plan) {}}
	if _, err := Run(t.Context(), src, cfg); !errors.As(err, &part) || part.Read != 3 || part.Of != 12 || src.read {
		t.Errorf("a shard: %v, read %v; want a *PartError of 3 of 12 before reading", err, src.read)
	}
	cfg.Shard = Shard{}
	two, err := profile.Merge(shards[:2]...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Conclude(two, cfg); !errors.As(err, &part) || part.Read != 6 {
		t.Errorf("two shards joined: %v, want a *PartError of 6", err)
	}
	all, err := profile.Merge(shards...)
	if err != nil {
		t.Fatal(err)
	}
	res, err := Conclude(all, cfg)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Conclude(whole.Counted, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if all.Range != "earliest..latest" || !slices.Equal(ids(res.Findings), ids(want.Findings)) || has(res.Findings, finding.HotKey) == nil {
		t.Errorf("all shards joined (%s): findings %v, want those of the whole, %v", all.Range, ids(res.Findings), ids(want.Findings))
	}
}

// Joined profiles are the topic's when each partition has the same ranges.
func TestMergedWindows(t *testing.T) {
	pt := parse(t, "java")
	counts := customers(2000, 2)
	counts["tenant-hot"] = 1000
	read := func(text string, shard Shard, from, to float64) *profile.Profile {
		t.Helper()
		src := &ranged{memory: topicOf(t, pt, 12, counts), text: text, cut: func(p *source.Plan) {
			for i := range p.Spans {
				n := float64(p.Spans[i].End)
				p.Spans[i].Start, p.Spans[i].End = int64(from*n), int64(to*n)
			}
		}}
		cfg := DefaultConfig(pt)
		cfg.Shard = shard
		res, err := Run(t.Context(), src, cfg)
		if err != nil {
			t.Fatal(err)
		}
		return res.Counted
	}
	const early, late = "earliest..2026-01-02T00:00:00Z", "2026-01-02T00:00:00Z..latest"
	for _, tc := range []struct {
		name  string
		parts []*profile.Profile
		topic bool
	}{
		{"two windows", []*profile.Profile{read(early, Shard{}, 0, 0.5), read(late, Shard{}, 0.5, 1)}, true},
		{"another window of each shard", []*profile.Profile{read(early, Shard{1, 2}, 0, 0.5), read(late, Shard{2, 2}, 0.5, 1)}, false},
		{"lists of partitions", []*profile.Profile{
			read("earliest..latest of partitions 0,2,4,6,8,10", Shard{1, 2}, 0, 1), read("earliest..latest of partitions 1,3,5,7,9,11", Shard{2, 2}, 0, 1),
		}, true},
	} {
		m, err := profile.Merge(tc.parts...)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Extent(); got.OfTopic() != tc.topic {
			t.Errorf("%s: %s: %+v, want of the topic %v", tc.name, m.Range, got, tc.topic)
		}
		res, err := Conclude(m, DefaultConfig(pt))
		if err != nil || (has(res.Findings, finding.PartialRange) == nil) != tc.topic {
			t.Errorf("%s: findings %v, %v", tc.name, ids(res.Findings), err)
		}
	}
}
