package profile

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"keyspread/analyze/source"
)

// benchKeys are the key numbers of a million records.
func benchKeys(kind string) func() uint64 {
	r := rand.New(rand.NewPCG(1, 2))
	switch kind {
	case "zipf1M":
		z := rand.NewZipf(r, 1.1, 1, 1<<20)
		return z.Uint64
	case "uniform1M":
		return func() uint64 { return r.Uint64N(1 << 20) }
	case "uniform10k":
		return func() uint64 { return r.Uint64N(10_000) }
	}
	n := uint64(0)
	return func() uint64 { n++; return n }
}

// benchBatches returns n records of one partition in batches of 500, keys of 12 to 24 bytes.
func benchBatches(kind string, n int) []source.Batch {
	next := benchKeys(kind)
	var out []source.Batch
	buf := make([]byte, 0, n*18)
	for done := 0; done < n; done += 500 {
		b := source.Batch{}
		for i := range 500 {
			k := next()
			from := len(buf)
			buf = fmt.Appendf(buf, "customer-%d", k*0x9E3779B97F4A7C15>>uint(8+k%24))
			b.Records = append(b.Records, source.Record{
				Offset: int64(done + i), Timestamp: 1_700_000_000_000 + int64(done+i)/100, Key: buf[from:len(buf):len(buf)], ValueSize: int32(100 + k%500),
			})
		}
		out = append(out, b)
	}
	return out
}

func benchPlan(n int) *source.Plan {
	return &source.Plan{
		Topic: "t", NumPartitions: 1, Partitions: []source.Partition{{ID: 0}},
		Spans: []source.Span{{Partition: 0, Start: 0, End: int64(n)}},
	}
}

func benchConfig(memory int64) Config {
	cfg := DefaultConfig()
	cfg.Memory, cfg.Partitioner = memory, testPartitioner
	for n := int32(2); n <= 30; n += 2 {
		cfg.Candidates = append(cfg.Candidates, CandidateSpec{testPartitioner, n})
	}
	return cfg
}

// BenchmarkCount reads a stream of 4 million records, growth and final placement under 16 candidates included, and
// counts the same stream in a Go map beside it.
func BenchmarkCount(b *testing.B) {
	const n = 4_000_000
	for _, kind := range []string{"uniform10k", "zipf1M", "uniform1M", "distinct"} {
		batches := benchBatches(kind, n)
		for _, memory := range []int64{1 << 30, 20 << 20} {
			b.Run(fmt.Sprintf("keys=%s/table=%dMiB", kind, memory>>20), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					bl, err := NewBuilder(benchPlan(n), benchConfig(memory))
					if err != nil {
						b.Fatal(err)
					}
					for i := range batches {
						if err := bl.Batch(&batches[i]); err != nil {
							b.Fatal(err)
						}
					}
					p, err := bl.Profile(nil)
					if err != nil {
						b.Fatal(err)
					}
					b.ReportMetric(float64(p.Partitions[0].keys.memory())/float64(p.Partitions[0].NumKeys()), "B/key")
					b.ReportMetric(float64(p.Missing().Records)/n*1e6, "E_ppm")
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/record")
			})
		}
		b.Run(fmt.Sprintf("keys=%s/table=map", kind), func(b *testing.B) {
			type agg struct{ records, bytes, first, last int64 }
			b.ReportAllocs()
			for b.Loop() {
				m := map[string]*agg{}
				for i := range batches {
					for j := range batches[i].Records {
						r := &batches[i].Records[j]
						a := m[string(r.Key)]
						if a == nil {
							a = &agg{first: r.Timestamp}
							m[string(r.Key)] = a
						}
						a.records++
						a.bytes += size(r)
						a.last = r.Timestamp
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/record")
		})
	}
}

// Counting must not allocate per record: the reader delivers millions a second.
func TestNoAllocationPerRecord(t *testing.T) {
	batches := benchBatches("uniform10k", 100_000)
	b, err := NewBuilder(benchPlan(100_000), benchConfig(1<<30))
	if err != nil {
		t.Fatal(err)
	}
	feed := func() {
		for i := range batches {
			if err := b.Batch(&batches[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	feed() // all keys enter
	if got := testing.AllocsPerRun(5, feed); got != 0 {
		t.Errorf("%v allocations for 100000 records of known keys, want 0", got)
	}
}
