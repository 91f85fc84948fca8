package profile

import (
	"errors"
	"testing"

	"keyspread/analyze/source"
)

// A profile is of the topic when every partition was read, of one range that is the same for all, and to the same depth.
func TestExtent(t *testing.T) {
	const all = 0
	for _, tc := range []struct {
		of      string
		read    int // of 3 partitions of 900 offsets; 0: all
		scope   Scope
		ofTopic bool
	}{
		{"earliest..latest", all, Topic, true},
		{"earliest..latest", 2, SomeOfTopic, false},
		{"earliest..latest of partitions 0-1", 2, SomeOfTopic, false},
		{"earliest..latest of partitions 0; earliest..latest of partitions 1-2", all, Topic, true},
		{"2026-01-02T00:00:00Z..latest", all, Window, true},
		{"2026-01-02T00:00:00Z..latest", 2, Window, false},
		{"earliest..2026-01-02T00:00:00Z", all, Window, true},
		{"tail 900", all, Tail, false},
		{"tail 901", all, Topic, true}, // as no partition has so many
		{"tail 901 of partitions 0-1", 2, SomeOfTopic, false},
		{"tail 99999999999999999999", all, Tail, false},
		{"offsets 0:10-20", all, ChosenOffsets, false},
		{"earliest..latest; tail 10", all, Tail, false},
		{"1..2; 2..3", all, Window, true},
		{"1..2; 2..3" + differ, all, Window, false},
		{"the whole of ../keys.csv", all, Other, true},
		{"", all, Other, true},
	} {
		p := &Profile{Range: tc.of, NumPartitions: 3}
		if tc.read == all {
			tc.read = 3
		}
		for id := range int32(tc.read) {
			p.Partitions = append(p.Partitions, Partition{
				ID: id, Spans: []source.Span{{Partition: id, End: 900}}, Coverage: source.Coverage{Asked: 900, Read: 900},
			})
		}
		if e := p.Extent(); e.Scope != tc.scope || e.OfTopic() != tc.ofTopic {
			t.Errorf("%q: %+v, of the topic %v; want %s, %v", tc.of, e, e.OfTopic(), tc.scope, tc.ofTopic)
		}
	}
}

// How deep partitions were read decides, not whether they were read to the end.
func TestExtentDepth(t *testing.T) {
	for _, tc := range []struct {
		name  string
		parts []source.Coverage
		level bool
	}{
		{"to the end", []source.Coverage{{Asked: 100, Read: 100}, {Asked: 5, Read: 5}}, true},
		{"half of each", []source.Coverage{{Asked: 1000, Read: 500}, {Asked: 2000, Read: 1000}}, true},
		{"one that holds nothing", []source.Coverage{{Asked: 1000, Read: 1000}, {}}, true},
		{"all that hold nothing", []source.Coverage{{}, {}}, true},
		{"half of one", []source.Coverage{{Asked: 1000, Read: 500}, {Asked: 2000, Read: 2000}}, false},
		{"a hundredth short", []source.Coverage{{Asked: 1000, Read: 990}, {Asked: 2000, Read: 2000}}, true},
		{"one without a leader", []source.Coverage{{Asked: 1000, Read: 1000}, {Err: errors.New("no leader")}}, false},
		{"nothing of any", []source.Coverage{{Asked: 10}, {Asked: 10}}, false},
	} {
		p := &Profile{Range: "earliest..latest", NumPartitions: 2}
		for i, c := range tc.parts {
			p.Partitions = append(p.Partitions, Partition{ID: int32(i), Coverage: c})
		}
		if e := p.Extent(); e.Level != tc.level {
			t.Errorf("%s: %+v, want level %v", tc.name, e, tc.level)
		}
	}
}
