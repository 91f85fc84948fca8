package source

import "testing"

func TestDiskBytes(t *testing.T) {
	p := &Plan{
		Partitions: []Partition{
			{ID: 0, LogStartOffset: 1000, HighWatermark: 3000, LastStableOffset: 2500, DiskBytes: 8000},
			{ID: 1, LogStartOffset: 0, HighWatermark: -1, LastStableOffset: 400},
			{ID: 2},
		},
		Spans: []Span{{0, 1000, 1500}, {0, 2000, 2500}, {1, 0, 100}},
	}
	// Partition 0: 1,000 of the 2,000 offsets held, half of 8,000 bytes; partition 1: 100 offsets of 256 bytes.
	if got, want := p.DiskBytes(), int64(4000+25_600); got != want {
		t.Errorf("DiskBytes() = %d, want %d", got, want)
	}
}

func TestCoverageComplete(t *testing.T) {
	for _, tc := range []struct {
		c    Coverage
		want bool
	}{
		{Coverage{Asked: 10, Read: 10}, true},
		{Coverage{}, true},
		{Coverage{Asked: 10, Read: 9}, false},
		{Coverage{Asked: 10, Read: 9, Lost: 1}, false},
		{Coverage{Asked: 10, Read: 10, Err: errTest{}}, false},
	} {
		if got := tc.c.Complete(); got != tc.want {
			t.Errorf("%+v.Complete() = %v, want %v", tc.c, got, tc.want)
		}
	}
}

type errTest struct{}

func (errTest) Error() string { return "broken" }
