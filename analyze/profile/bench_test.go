package profile

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
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

// BenchmarkNearlyDistinct counts 20 million records of 16.5 million keys in 12 partitions within 64 MiB, which is made
// as it is read, so that the process holds little else. It prints the error bound and how far the estimate of distinct
// keys is off, in standard errors.
func BenchmarkNearlyDistinct(b *testing.B) {
	const (
		n          = 20_000_000
		partitions = 12
	)
	for b.Loop() {
		plan := &source.Plan{Topic: "t", NumPartitions: partitions}
		for id := range int32(partitions) {
			plan.Partitions = append(plan.Partitions, source.Partition{ID: id})
			plan.Spans = append(plan.Spans, source.Span{Partition: id, Start: 0, End: n / partitions})
		}
		cfg := benchConfig(64 << 20)
		bl, err := NewBuilder(plan, cfg)
		if err != nil {
			b.Fatal(err)
		}
		r := rand.New(rand.NewPCG(5, 6))
		seen := make([]uint64, 50_000_000/64+1) // which of 50 million keys have come
		distinct := 0
		var batches [partitions]source.Batch
		var bufs [partitions][]byte
		for i := range n {
			k := r.Uint64N(50_000_000)
			if seen[k/64]>>(k%64)&1 == 0 {
				seen[k/64] |= 1 << (k % 64)
				distinct++
			}
			var scratch [32]byte
			key := fmt.Appendf(scratch[:0], "user-%x", k*0x9E3779B97F4A7C15)
			id, _ := one(testPartitioner, key, partitions)
			from := len(bufs[id])
			bufs[id] = append(bufs[id], key...)
			at := &batches[id]
			at.Partition = id
			at.Records = append(at.Records, source.Record{Timestamp: 1_700_000_000_000 + int64(i)/10, Key: bufs[id][from:len(bufs[id]):len(bufs[id])], ValueSize: int32(100 + k%500)})
			if len(at.Records) == 500 {
				if err := bl.Batch(at); err != nil {
					b.Fatal(err)
				}
				at.Records, bufs[id] = at.Records[:0], bufs[id][:0]
			}
		}
		p, err := bl.Profile(nil)
		if err != nil {
			b.Fatal(err)
		}
		d := p.Distinct()
		b.ReportMetric(float64(p.Missing().Records)/n*1e6, "E_ppm")
		b.ReportMetric((float64(d.Keys)/float64(distinct)-1)/d.StdErr, "distinct_off_se")
		var held, keys int64
		for i := range p.Partitions {
			held += p.Partitions[i].keys.memory()
			keys += int64(p.Partitions[i].NumKeys())
		}
		b.ReportMetric(float64(held)/(1<<20), "tables_MiB")
		b.ReportMetric(peakMiB(), "peak_rss_MiB")
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/record")
}

// peakMiB is the most memory the process has had resident; 0 where the system does not tell.
func peakMiB() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		var kb float64
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kb); err == nil {
			return kb / 1024
		}
	}
	return 0
}

// BenchmarkSaveLoad writes and reads the profile of a million keys.
func BenchmarkSaveLoad(b *testing.B) {
	const n = 4_000_000
	bl, err := NewBuilder(benchPlan(n), benchConfig(1<<30))
	if err != nil {
		b.Fatal(err)
	}
	for _, batch := range benchBatches("uniform1M", n) {
		if err := bl.Batch(&batch); err != nil {
			b.Fatal(err)
		}
	}
	p, err := bl.Profile(nil)
	if err != nil {
		b.Fatal(err)
	}
	keys := float64(p.Partitions[0].NumKeys())
	var file []byte
	b.Run("op=save", func(b *testing.B) {
		for b.Loop() {
			file = save(b, p)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/keys, "ns/key")
		b.ReportMetric(float64(len(file))/keys, "B/key")
	})
	b.Run("op=load", func(b *testing.B) {
		for b.Loop() {
			load(b, file)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/keys, "ns/key")
	})
}
