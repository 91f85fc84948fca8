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

	"keyspread/analyze/sample"
	"keyspread/analyze/source"
)

// realTopic creates a topic on the real Kafka that KEYSPREAD_TEST_BROKER names and writes so many records to each of its
// partitions, in batches of 64 whose bytes are the same in every run. It skips the test without one, or fails it where
// one must be there.
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
		kgo.ManualFlushing(), kgo.ProducerBatchCompression(kgo.NoCompression()))
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
	for i := range perPartition {
		for p := range partitions {
			r := &kgo.Record{Topic: topic, Partition: p, Key: []byte(key(i)), Value: value, Timestamp: time.UnixMilli(1767323045000 + int64(i))}
			client.Produce(t.Context(), r, func(_ *kgo.Record, err error) {
				if err != nil {
					t.Error(err)
				}
			})
		}
		if i%64 < 63 && i < perPartition-1 {
			continue
		}
		if err := client.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
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

// noted is a source that notes which spans it is asked for. Rounds of a sample go back and forth in a partition, so the
// order that d checks is that of one round.
type noted struct {
	source.Source
	d     *delivered
	spans []source.Span
}

func (n *noted) Read(ctx context.Context, plan *source.Plan, sink source.Sink) ([]source.Coverage, error) {
	n.spans = append(n.spans, plan.Spans...)
	n.d.next = map[int32]int64{}
	return n.Source.Read(ctx, plan, sink)
}

// Compaction leaves gaps, so that a block may hold few records or none, and a dense end. Of the topic's records one in ten
// is of a hot key and six are of keys that come again and again, which compaction removes; three are of keys that come
// once, which it leaves. For each of 20 seeds a sample as the command line takes it has, in its blocks, the records that
// full reads before and after it have there; and in at least 19 the interval of the hot key's share, at 95 %, holds the
// share of the full read.
func TestIntegrationSampledReadOfACompactedTopic(t *testing.T) {
	setting := func(s string) *string { return &s }
	const partitions, perPartition, seeds = 2, 60_000, 20
	addr, topic, _ := realTopic(t, "sampled-compacted", partitions, perPartition, map[string]*string{
		"cleanup.policy": setting("compact"), "min.cleanable.dirty.ratio": setting("0.01"),
		"segment.bytes": setting("5242880"), "min.compaction.lag.ms": setting("0"),
	}, func(i int) string {
		switch {
		case i%10 == 0:
			return "hot"
		case i%10 < 4:
			return fmt.Sprint("once-", i)
		}
		return fmt.Sprint("again-", i%1009)
	})
	// The last segment, of which a partition has two and a half of 5 MiB, is not compacted: about half is left.
	var full *delivered
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(500 * time.Millisecond) {
		_, full, _ = readReal(t, addr, topic, nil)
		if full.count() < partitions*perPartition*6/10 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of %d records are left after two minutes: compaction has not run", full.count(), partitions*perPartition)
		}
	}
	held := 0
	for seed := range uint64(seeds) {
		before := full
		config := DefaultConfig()
		config.BootstrapServers, config.Topic = []string{addr}, topic
		src := &noted{Source: newSource(t, config), d: newDelivered()}
		plan, err := src.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		how := sample.DefaultConfig()
		how.Seed = seed + 1
		e, coverage, err := sample.Read(t.Context(), src, plan, how, nil, 0.01, src.d)
		if err != nil {
			t.Fatal(err)
		}
		wantComplete(t, coverage)
		for _, problem := range src.d.errs {
			t.Error(problem)
		}
		// Compaction may go on meanwhile: what it takes away was there before, and what it leaves was there all the time.
		_, full, _ = readReal(t, addr, topic, nil)
		for p := range int32(partitions) {
			wantAmong(t, "the full read before", src.d.records[p], within(before.records[p], p, src.spans))
			wantAmong(t, "the sample", within(full.records[p], p, src.spans), src.d.records[p])
		}
		i := slices.IndexFunc(e.Keys, func(k sample.KeyEstimate) bool { return string(k.Key) == "hot" })
		if i < 0 {
			t.Errorf("seed %d: the hot key is not in the sample", how.Seed)
			continue
		}
		share, want := e.Keys[i].Share[0], full.share("hot")
		holds := share.Lo <= want && want <= share.Hi
		if holds {
			held++
		}
		t.Logf("seed %d: %d of %d records in %d blocks, ended by %s; hot %.4f (%.4f to %.4f), in the full read %.4f: holds %v", how.Seed,
			src.d.count(), full.count(), e.Blocks, e.Stopped, share.Share, share.Lo, share.Hi, want, holds)
	}
	t.Logf("%d of %d intervals hold the share of the full read", held, seeds)
	if held < 19 {
		t.Errorf("%d of %d intervals hold the share of the full read, want at least 19", held, seeds)
	}
}

// wantAmong checks that every record is in a list.
func wantAmong(t *testing.T, list string, records, in []record) {
	t.Helper()
	there := make(map[record]bool, len(in))
	for _, r := range in {
		there[r] = true
	}
	for _, r := range records {
		if !there[r] {
			t.Errorf("record %+v is not in %s", r, list)
		}
	}
}

// count is the number of records of all partitions.
func (d *delivered) count() (n int) {
	for _, list := range d.records {
		n += len(list)
	}
	return n
}

// share is the share of the records that have a key.
func (d *delivered) share(key string) float64 {
	n := 0
	for _, list := range d.records {
		for _, r := range list {
			if r.Key == key {
				n++
			}
		}
	}
	return float64(n) / float64(d.count())
}
