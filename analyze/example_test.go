package analyze_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"strings"

	"keyspread/analyze"
	"keyspread/analyze/plan"
	"keyspread/analyze/source/dump"
	"keyspread/partitioner"
)

// The steps of the package comment, on a key set in memory that stands for a topic of 12 partitions.
func Example() {
	pt, err := partitioner.Parse("java")
	if err != nil {
		log.Fatal(err)
	}
	var keys strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&keys, "customer-%d\n", i)
		if i%4 == 0 {
			keys.WriteString("tenant-hot\n")
		}
	}
	// 1. A source says what there is to read, and reads it.
	src, err := dump.New(dump.Config{
		Name: "orders", NumPartitions: 12, Partitioner: pt,
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(keys.String())), nil },
	})
	if err != nil {
		log.Fatal(err)
	}
	// 2. to 5. Count, judge, simulate, conclude.
	cfg := analyze.DefaultConfig(pt)
	cfg.Plans = []plan.To{{NumPartitions: 24}}
	res, err := analyze.Run(context.Background(), src, cfg)
	if err != nil {
		log.Fatal(err)
	}
	top := res.Records.Top[0]
	fmt.Printf("%s: %.0f %% of the records, %s; N* = %.0f\n", top.Key, 100*top.Share.Est, top.Verdict, res.Records.Ceiling)
	fmt.Printf("12 to 24: %.1f %% of the keys move\n", 100*float64(res.Plans[0].MovedKeys)/float64(res.Plans[0].Keys))
	// Output:
	// tenant-hot: 20 % of the records, hot; N* = 5
	// 12 to 24: 49.6 % of the keys move
}
