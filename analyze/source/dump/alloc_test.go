package dump

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"keyspread/analyze/source"
)

// Reading lines allocates nothing a record, only what hands a batch on. NDJSON takes what encoding/json does: 6 for an
// object and its key and 1 for each number, give or take one.
func TestAllocations(t *testing.T) {
	for _, tc := range []struct {
		name    string
		format  Format
		n, keys int
		line    string // of a number
		most    float64
	}{
		{"lines", Lines, 200_000, 600_000, "key-%08d\n", 0.001},
		{"lines of few keys", Lines, 200_000, 1000, "key-%08d\n", 0.001},
		{"ndjson", NDJSON, 30_000, 90_000, "{\"key\":\"key-%08d\"}\n", 7},
		{"ndjson, all members", NDJSON, 30_000, 90_000, "{\"key\":\"key-%08d\",\"partition\":3,\"timestamp\":17,\"value_size\":200,\"header_size\":3}\n", 11},
	} {
		allocs := func(n int) float64 {
			var text bytes.Buffer
			for i := range n {
				fmt.Fprintf(&text, tc.line, i%tc.keys)
			}
			s, err := New(Config{
				Name: "keys", Format: tc.format, NumPartitions: 12, Partitioner: parse(t, "java"),
				Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text.Bytes())), nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			plan, err := s.Plan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return testing.AllocsPerRun(3, func() {
				if _, err := s.Read(t.Context(), plan, source.SinkFunc(func(*source.Batch) error { return nil })); err != nil {
					t.Fatal(err)
				}
			})
		}
		// What a Read allocates once, and while its buffers grow, is in both.
		if got := (allocs(3*tc.n) - allocs(tc.n)) / float64(2*tc.n); got > tc.most {
			t.Errorf("%s: %v allocations a record, want at most %v", tc.name, got, tc.most)
		}
	}
}
