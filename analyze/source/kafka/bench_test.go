package kafka

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"

	"keyspread/analyze/source"
	"keyspread/analyze/source/kafka/encode"
	"keyspread/analyze/source/kafka/fetchtest"
	"keyspread/analyze/source/synthetic"
)

func init() { fetchtest.ServeIfChild() }

// benchTopic is 5M records in 4 partitions: 12-byte keys, Zipf over 100,000, and 200-byte values that look like JSON,
// in batches of 64 KiB as a busy producer makes them.
func benchTopic(codec encode.Codec) fetchtest.Topic {
	s := synthetic.DefaultConfig()
	s.Records, s.Keys, s.KeyPrefix, s.KeyDigits = 125_000, 100_000, "key-", 8
	return fetchtest.Topic{Name: "bench", Partitions: 4, Codec: codec, BatchBytes: 64 << 10, Stream: s, Passes: 10}
}

// cpu is the processor time of this process so far, user and system.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRead reads the same topic with keyspread, franz-go and kafka-go's Reader in turn, from a server process that
// only sends files, and prints the CPU time of each in ns a record (median of the rounds) and its ratio to ours. All
// three check no more and no less than they do by default; kafka-go's Reader, the slowest, reads one partition of four.
// Run it with -benchtime=1x: one iteration is three rounds.
func BenchmarkRead(b *testing.B) {
	for _, codec := range []encode.Codec{encode.None, encode.LZ4, encode.Snappy, encode.Zstd, encode.Gzip} {
		b.Run("codec="+codec.String(), func(b *testing.B) {
			dir := b.TempDir()
			topic := benchTopic(codec)
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
			contenders := []struct {
				name string
				read func(*testing.B, string, fetchtest.Topic) int64
			}{{"ours", benchOurs}, {"franz-go", benchFranz}, {"kafka-go", benchKafkaGo}}
			spent := make([][]float64, len(contenders))
			for b.Loop() {
				for range 3 {
					for i, c := range contenders {
						before := cpu(b)
						records := c.read(b, server.Addr, topic)
						spent[i] = append(spent[i], float64(cpu(b)-before)/float64(records))
					}
				}
			}
			for _, s := range spent {
				slices.Sort(s)
			}
			median := func(i int) float64 { return spent[i][len(spent[i])/2] }
			for i, c := range contenders {
				b.ReportMetric(median(i), c.name+"-cpu-ns/rec")
				if i > 0 {
					b.ReportMetric(median(i)/median(0), c.name+"/ours")
				}
			}
			b.ReportMetric(0, "ns/op") // wall time says nothing here
		})
	}
}

func benchOurs(b *testing.B, addr string, topic fetchtest.Topic) int64 {
	b.Helper()
	cfg := DefaultConfig()
	cfg.BootstrapServers, cfg.Topic = []string{addr}, topic.Name
	src, err := New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	defer src.Close()
	plan, err := src.Plan(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	var n atomic.Int64
	coverage, err := src.Read(b.Context(), plan, source.SinkFunc(func(batch *source.Batch) error {
		n.Add(int64(len(batch.Records)))
		return nil
	}))
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range coverage {
		if !c.Complete() {
			b.Fatalf("partition %d: %+v", c.Partition, c)
		}
	}
	if n.Load() != topic.Records() {
		b.Fatalf("read %d records, want %d", n.Load(), topic.Records())
	}
	return n.Load()
}

func benchFranz(b *testing.B, addr string, topic fetchtest.Topic) int64 {
	b.Helper()
	offsets := map[int32]kgo.Offset{}
	for p := range topic.Partitions {
		offsets[p] = kgo.NewOffset().AtStart()
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic.Name: offsets}))
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	var n int64
	for n < topic.Records() {
		fetches := client.PollFetches(b.Context())
		if err := fetches.Err(); err != nil {
			b.Fatal(err)
		}
		fetches.EachRecord(func(*kgo.Record) { n++ })
	}
	return n
}

func benchKafkaGo(b *testing.B, addr string, topic fetchtest.Topic) int64 {
	b.Helper()
	r := kafkago.NewReader(kafkago.ReaderConfig{
		Brokers: []string{addr}, Topic: topic.Name, Partition: 0, MinBytes: 1, MaxBytes: 1 << 20, QueueCapacity: 1000,
	})
	defer r.Close()
	ctx, cancel := context.WithTimeout(b.Context(), 5*time.Minute)
	defer cancel()
	want := topic.Records() / int64(topic.Partitions)
	for n := range want {
		if _, err := r.ReadMessage(ctx); err != nil {
			b.Fatalf("after %d records: %v", n, err)
		}
	}
	return want
}

// TestBenchTopic holds the server's topic against what was built, so that the benchmark measures real reading: every key
// count of a small topic of each codec equals the stream's.
func TestBenchTopic(t *testing.T) {
	for _, codec := range []encode.Codec{encode.None, encode.LZ4, encode.Snappy, encode.Zstd, encode.Gzip} {
		topic := benchTopic(codec)
		topic.Partitions, topic.Passes, topic.Stream.Records = 2, 2, 2000
		dir := t.TempDir()
		if err := fetchtest.Build(dir, topic); err != nil {
			t.Fatal(err)
		}
		server, err := fetchtest.Start(dir)
		if err != nil {
			t.Fatal(err)
		}
		want, got := map[string]int{}, map[string]int{}
		for p := range topic.Partitions {
			c := topic.Stream
			c.Seed += uint64(p)
			stream, err := synthetic.New(c)
			if err != nil {
				t.Fatal(err)
			}
			for r := new(source.Record); stream.Next(r); {
				want[fmt.Sprintf("%d/%s", p, r.Key)] += topic.Passes
			}
		}
		cfg := DefaultConfig()
		cfg.BootstrapServers, cfg.Topic, cfg.Connections = []string{server.Addr()}, topic.Name, 1
		src, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := src.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, err = src.Read(t.Context(), plan, source.SinkFunc(func(b *source.Batch) error {
			for _, r := range b.Records {
				got[fmt.Sprintf("%d/%s", b.Partition, r.Key)]++
			}
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d keys, want %d", codec, len(got), len(want))
		}
		for k, n := range want {
			if got[k] != n {
				t.Errorf("%s: key %s read %d times, want %d", codec, k, got[k], n)
			}
		}
		if err := src.Close(); err != nil {
			t.Error(err)
		}
		server.Close()
		if err := os.RemoveAll(filepath.Join(dir, topic.Name)); err != nil {
			t.Error(err)
		}
	}
}
