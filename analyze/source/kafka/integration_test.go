package kafka

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"keyspread/analyze/source"
)

// realTopic creates a topic on the real Kafka that KEYSPREAD_TEST_BROKER names and writes so many records to each of its
// partitions. It skips the test without one, or fails it where one must be there.
func realTopic(t *testing.T, name string, partitions int32, perPartition int, settings map[string]*string, key func(i int) string) (addr, topic string, admin *kadm.Client) {
	t.Helper()
	addr = os.Getenv("KEYSPREAD_TEST_BROKER")
	if addr == "" {
		const lacking = "no real Kafka: set KEYSPREAD_TEST_BROKER=host:port, or run under .ci/kafka --"
		if os.Getenv("KEYSPREAD_TEST_REQUIRE") == "1" {
			t.Fatal(lacking)
		}
		t.Skip(lacking)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchMaxBytes(16<<10), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	admin = kadm.NewClient(client)
	topic = fmt.Sprintf("keyspread-test-%s-%d", name, time.Now().UnixNano())
	if _, err := admin.CreateTopic(t.Context(), partitions, 1, settings, topic); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if _, err := admin.DeleteTopic(ctx, topic); err != nil {
			t.Errorf("deleting topic %s: %v", topic, err)
		}
	})
	value := make([]byte, 200)
	for p := range partitions {
		for i := range perPartition {
			client.Produce(t.Context(), &kgo.Record{Topic: topic, Partition: p, Key: []byte(key(i)), Value: value}, func(_ *kgo.Record, err error) {
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
	if err := client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return addr, topic, admin
}

// readReal reads a plan, or with change a changed one, and returns what came and how many bytes that were.
func readReal(t *testing.T, addr, topic string, change func(*source.Plan)) (plan *source.Plan, d *delivered, bytes int64) {
	t.Helper()
	config := DefaultConfig()
	config.BootstrapServers, config.Topic, config.AskSizes = []string{addr}, topic, true
	config.OnProgress = func(p Progress) { bytes = p.Bytes }
	s := newSource(t, config)
	plan, err := s.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(plan)
	}
	d = newDelivered()
	start := time.Now()
	coverage, err := s.Read(t.Context(), plan, d)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d spans: %d bytes in %v", len(plan.Spans), bytes, time.Since(start).Round(time.Millisecond))
	wantComplete(t, coverage)
	for _, e := range d.errs {
		t.Error(e)
	}
	return plan, d, bytes
}

// within returns the records of a partition in its spans.
func within(all []record, partition int32, spans []source.Span) []record {
	var list []record
	for _, s := range spans {
		for _, r := range all {
			if s.Partition == partition && r.Offset >= s.Start && r.Offset < s.End {
				list = append(list, r)
			}
		}
	}
	return list
}

func TestIntegrationSampledRead(t *testing.T) {
	const partitions, perPartition, blocks, block = 6, 50_000, 5, 500
	addr, topic, admin := realTopic(t, "sampled", partitions, perPartition, nil, func(i int) string { return fmt.Sprint("key-", i%1000) })
	_, full, all := readReal(t, addr, topic, nil)
	var spans []source.Span
	plan, sampled, bytes := readReal(t, addr, topic, func(plan *source.Plan) {
		rng := rand.New(rand.NewPCG(1, 1))
		for _, s := range plan.Spans {
			drawn := rng.Perm(int((s.End - s.Start) / block))[:blocks]
			slices.Sort(drawn)
			for _, n := range drawn {
				spans = append(spans, source.Span{Partition: s.Partition, Start: int64(n) * block, End: int64(n+1) * block})
			}
		}
		plan.Spans = spans
	})
	for p := range int32(partitions) {
		if n := len(full.records[p]); n != perPartition {
			t.Errorf("partition %d: %d records, want %d", p, n, perPartition)
		}
		if got, want := sampled.records[p], within(full.records[p], p, spans); !slices.Equal(got, want) {
			t.Errorf("partition %d: the blocks have %d records, want %d", p, len(got), len(want))
		}
	}
	// 5 % of the records. A block is 110 kB in batches of 16 KiB: a batch and the head room more are 1.3 times that, and
	// the first block of each partition is asked for by its size on disk.
	if share := float64(bytes) / float64(all); share > 0.05*1.6 {
		t.Errorf("the sample read %.4f of the bytes, want at most 0.08", share)
	}

	described, err := admin.DescribeAllLogDirs(t.Context(), kadm.TopicsSet{topic: map[int32]struct{}{0: {}, 1: {}, 2: {}, 3: {}, 4: {}, 5: {}}})
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[int32]int64{}
	for _, dirs := range described {
		dirs.EachPartition(func(p kadm.DescribedLogDirPartition) { sizes[p.Partition] = p.Size })
	}
	for _, part := range plan.Partitions {
		if part.DiskBytes != sizes[part.ID] || part.DiskBytes < perPartition*200 {
			t.Errorf("partition %d: %d bytes on disk, want the %d that franz-go reads", part.ID, part.DiskBytes, sizes[part.ID])
		}
	}
	if len(plan.Notes) > 0 {
		t.Errorf("notes %q, want none", plan.Notes)
	}
}

// Compaction leaves gaps, so that a block may hold few records or none, and a dense end.
func TestIntegrationSampledReadOfACompactedTopic(t *testing.T) {
	setting := func(s string) *string { return &s }
	const perPartition, block = 60_000, 500
	addr, topic, _ := realTopic(t, "sampled-compacted", 1, perPartition, map[string]*string{
		"cleanup.policy": setting("compact"), "min.cleanable.dirty.ratio": setting("0.01"),
		"segment.bytes": setting("1048576"), "min.compaction.lag.ms": setting("0"),
	}, func(i int) string { return fmt.Sprint("key-", i*i%1009) }) // about half of the residues of a prime, some often
	var full *delivered
	var fullPlan *source.Plan
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
		fullPlan, full, _ = readReal(t, addr, topic, nil)
		if n := len(full.records[0]); n < perPartition/4 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d records are left after a minute: compaction has not run", len(full.records[0]), perPartition)
		}
	}
	end := fullPlan.Spans[0].End
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 2))
		var spans []source.Span
		for _, n := range rng.Perm(int(end / block))[:30] {
			spans = append(spans, source.Span{Start: int64(n) * block, End: int64(n+1) * block})
		}
		slices.SortFunc(spans, func(a, b source.Span) int { return int(a.Start - b.Start) })
		_, sampled, _ := readReal(t, addr, topic, func(plan *source.Plan) { plan.Spans = spans })
		// Compaction may go on meanwhile: what it takes away was there before, and what it leaves was there all the time.
		_, after, _ := readReal(t, addr, topic, nil)
		before := within(full.records[0], 0, spans)
		for _, r := range sampled.records[0] {
			if !slices.Contains(before, r) {
				t.Errorf("seed %d: record %+v is not in the full read before", seed, r)
			}
		}
		for _, r := range within(after.records[0], 0, spans) {
			if !slices.Contains(sampled.records[0], r) {
				t.Errorf("seed %d: record %+v of the full read after is missing", seed, r)
			}
		}
		full = after
	}
}
