package kafka

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"keyspread/analyze/source"
	"keyspread/analyze/source/kafka/encode"
	"keyspread/analyze/source/kafka/fetchtest"
)

// BenchmarkSampled reads a topic of 20M records in batches of 16 KiB in full and, in the same process, random blocks of
// 500 offsets of it, from a server process that only sends files. It prints for each number of blocks the share of the
// offsets and of the bytes, and how many times sooner and with how much less CPU time the sample ends. Run it with
// -benchtime=1x: one iteration is one full read and three of each sample, of which the median counts.
func BenchmarkSampled(b *testing.B) {
	const block = 500
	dir := b.TempDir()
	topic := benchTopic(encode.None)
	topic.Partitions, topic.BatchBytes, topic.Passes = 8, 16<<10, 20 // of 125,000 records
	if err := fetchtest.Build(dir, topic); err != nil {
		b.Fatal(err)
	}
	server, err := fetchtest.StartChild(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := server.Stop(); err != nil {
			b.Error(err)
		}
	}()
	for _, c := range []struct {
		name   string
		blocks int
	}{{"blocks=100", 100}, {"blocks=300", 300}, {"blocks=1200", 1200}} {
		b.Run(c.name, func(b *testing.B) {
			var fullCost, sampleCost cost
			for b.Loop() {
				fullCost = readCost(b, server.Addr, topic, nil)
				var runs []cost
				for range 3 {
					runs = append(runs, readCost(b, server.Addr, topic, func(plan *source.Plan) {
						plan.Spans = randomBlocks(plan, c.blocks, block)
					}))
				}
				slices.SortFunc(runs, func(a, b cost) int { return int(a.wall - b.wall) })
				sampleCost = runs[1]
			}
			b.ReportMetric(100*float64(sampleCost.records)/float64(fullCost.records), "%records")
			b.ReportMetric(100*float64(sampleCost.bytes)/float64(fullCost.bytes), "%bytes")
			b.ReportMetric(float64(fullCost.wall)/float64(sampleCost.wall), "x-sooner")
			b.ReportMetric(float64(fullCost.cpu)/float64(sampleCost.cpu), "x-less-cpu")
			b.ReportMetric(sampleCost.wall.Seconds()*1000, "sample-ms")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// cost is what one read took.
type cost struct {
	records, bytes int64
	wall, cpu      time.Duration
}

// readCost connects, plans and reads a topic, with the plan changed by change.
func readCost(b *testing.B, addr string, topic fetchtest.Topic, change func(*source.Plan)) cost {
	b.Helper()
	var c cost
	config := DefaultConfig()
	config.BootstrapServers, config.Topic = []string{addr}, topic.Name
	config.OnProgress = func(p Progress) { c.bytes = p.Bytes }
	before, start := cpu(b), time.Now()
	src, err := New(config)
	if err != nil {
		b.Fatal(err)
	}
	defer src.Close()
	plan, err := src.Plan(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	if change != nil {
		change(plan)
	}
	var n atomic.Int64
	coverage, err := src.Read(b.Context(), plan, source.SinkFunc(func(batch *source.Batch) error {
		n.Add(int64(len(batch.Records)))
		return nil
	}))
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range coverage {
		if !p.Complete() {
			b.Fatalf("partition %d: %+v", p.Partition, p)
		}
	}
	c.records, c.wall, c.cpu = n.Load(), time.Since(start), cpu(b)-before
	return c
}

// randomBlocks draws about n blocks of so many offsets, as many from each span of the plan.
func randomBlocks(plan *source.Plan, n int, size int64) []source.Span {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	var spans []source.Span
	for _, s := range plan.Spans {
		drawn := rng.Perm(int((s.End - s.Start) / size))[:n/len(plan.Spans)]
		slices.Sort(drawn)
		for _, d := range drawn {
			start := s.Start + int64(d)*size
			spans = append(spans, source.Span{Partition: s.Partition, Start: start, End: start + size})
		}
	}
	return spans
}
