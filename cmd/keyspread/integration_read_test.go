package main_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"keyspread/analyze/source"
	"keyspread/analyze/source/kafka"
)

// passed is what keyspread's reader says beside the records.
type passed struct {
	control, aborted int64
}

// readOurs reads the whole topic with keyspread's reader. It fails the test when the reader says that it is not the
// whole.
func (c *realKafka) readOurs(t *testing.T, topic string, isolation source.Isolation) (topicLog, passed) {
	t.Helper()
	src, err := kafka.New(kafka.Config{BootstrapServers: []string{c.addr}, Topic: topic, Isolation: isolation})
	if err != nil {
		t.Fatalf("making a source of %s: %v", topic, err)
	}
	plan, err := src.Plan(t.Context())
	if err != nil {
		t.Fatalf("planning %s: %v", topic, err)
	}
	var (
		mu     sync.Mutex
		got    = make(topicLog)
		beside passed
	)
	coverage, err := src.Read(t.Context(), plan, source.SinkFunc(func(b *source.Batch) error {
		mu.Lock()
		defer mu.Unlock()
		beside.control += b.ControlRecords
		beside.aborted += b.AbortedRecords
		for _, r := range b.Records {
			got[b.Partition] = append(got[b.Partition], logEntry{
				Offset: r.Offset, Timestamp: r.Timestamp, Type: b.TimestampType.String(),
				Null: r.Key == nil, Key: string(r.Key), ValueSize: r.ValueSize, HeaderSize: r.HeaderSize,
			})
		}
		return nil
	}))
	if err != nil {
		t.Fatalf("reading %s: %v", topic, err)
	}
	if len(coverage) != plan.NumPartitions {
		t.Errorf("coverage of %d partitions, want %d", len(coverage), plan.NumPartitions)
	}
	for _, cov := range coverage {
		if !cov.Complete() {
			t.Errorf("reading %s: partition not complete: %+v", topic, cov)
		}
	}
	return got, beside
}

// isolations pairs the two readers' names of each level.
var isolations = []struct {
	ours  source.Isolation
	franz kgo.IsolationLevel
}{
	{source.ReadCommitted, kgo.ReadCommitted()},
	{source.ReadUncommitted, kgo.ReadUncommitted()},
}

// compare reads the topic with both readers in both isolation levels, and holds ours against franz-go's and against
// want, what was produced, unless that is nil for a level.
func (c *realKafka) compare(t *testing.T, topic string, want map[source.Isolation]topicLog) {
	t.Helper()
	for _, level := range isolations {
		ours, _ := c.readOurs(t, topic, level.ours)
		franz, _ := c.readFranz(t, topic, level.franz)
		if franz.records() == 0 {
			t.Errorf("%s: franz-go read no record of %s; the comparison shows nothing", level.ours, topic)
		}
		diffLogs(t, "keyspread "+level.ours.String(), ours, "franz-go", franz)
		if want[level.ours] != nil {
			diffLogs(t, "keyspread "+level.ours.String(), ours, "produced", want[level.ours])
		}
	}
}

// produce writes the records with franz-go, to the partition that each names, and returns the log that they make, the
// offsets being those that the broker answered.
func (c *realKafka) produce(t *testing.T, records []*kgo.Record, opts ...kgo.Opt) topicLog {
	t.Helper()
	defaults := []kgo.Opt{kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchMaxBytes(8 << 20)}
	return send(t, c.client(t, append(defaults, opts...)...), records)
}

func send(t *testing.T, cl *kgo.Client, records []*kgo.Record) topicLog {
	t.Helper()
	if err := cl.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatalf("producing to %s: %v", records[0].Topic, err)
	}
	made := make(topicLog)
	for _, r := range records { // in offset order per partition, as one client sent them
		made[r.Partition] = append(made[r.Partition], entryOf(r))
	}
	return made
}

// mixedRecords returns n records over the first partitions of a topic: keys from 1 byte to some hundreds, null keys and
// empty keys, null values and empty values, records with headers and without, times that go back and forth.
func mixedRecords(topic string, partitions int32, n int) []*kgo.Record {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	records := make([]*kgo.Record, n)
	for i := range records {
		r := &kgo.Record{
			Topic:     topic,
			Partition: int32(i) % partitions,
			Key:       fmt.Appendf(nil, "customer-%d", rng.IntN(n/4)),
			Value:     bytes.Repeat([]byte("v"), rng.IntN(300)),
			Timestamp: time.UnixMilli(1_750_000_000_000 + rng.Int64N(1_000_000)),
		}
		switch i % 10 {
		case 3:
			r.Key = nil
		case 4:
			r.Key = []byte{}
		case 5:
			r.Key = bytes.Repeat([]byte{0xff, 0x00, byte(i)}, 1+rng.IntN(200))
		case 6:
			r.Value = nil
		case 7:
			r.Value = []byte{}
		}
		if i%3 == 0 {
			r.Headers = []kgo.RecordHeader{
				{Key: "trace", Value: binary.BigEndian.AppendUint64(nil, uint64(i))},
				{Key: "", Value: nil},
				{Key: strings.Repeat("h", i%200), Value: []byte{}},
			}
		}
		records[i] = r
	}
	return records
}

// TestIntegrationReadCodecs reads every codec, as franz-go compresses and as the broker does: Java's snappy and LZ4 are
// framed in another way. The last partition stays empty.
func TestIntegrationReadCodecs(t *testing.T) {
	c := newRealKafka(t)
	codecs := []struct {
		name  string
		codec kgo.CompressionCodec
	}{
		{"none", kgo.NoCompression()},
		{"gzip", kgo.GzipCompression()},
		{"snappy", kgo.SnappyCompression()},
		{"lz4", kgo.Lz4Compression()},
		{"zstd", kgo.ZstdCompression()},
	}
	for _, codec := range codecs {
		for _, by := range []string{"producer", "broker"} {
			config, compression := "compression.type=producer", codec.codec
			if by == "broker" {
				config, compression = "compression.type="+codec.name, kgo.NoCompression()
				if codec.name == "none" {
					config, compression = "compression.type=uncompressed", kgo.GzipCompression()
				}
			}
			t.Run("codec="+codec.name+"/by="+by, func(t *testing.T) {
				topic := c.topic(t, "codec-"+codec.name+"-"+by, 4, config)
				made := c.produce(t, mixedRecords(topic, 3, 3000), kgo.ProducerBatchCompression(compression))
				if got := made.records(); got != 3000 {
					t.Fatalf("produced %d records, want 3000", got)
				}
				c.compare(t, topic, map[source.Isolation]topicLog{source.ReadCommitted: made, source.ReadUncommitted: made})
			})
		}
	}
}

// TestIntegrationReadLogAppendTime reads a topic whose times the broker sets: one for all records of a batch, whatever
// the producer wrote into them.
func TestIntegrationReadLogAppendTime(t *testing.T) {
	c := newRealKafka(t)
	for _, codec := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.ZstdCompression()} {
		before := time.Now().Add(-time.Minute).UnixMilli() // the broker's clock may not be ours
		topic := c.topic(t, "logappendtime", 1, "message.timestamp.type=LogAppendTime")
		c.produce(t, mixedRecords(topic, 1, 500), kgo.ProducerBatchCompression(codec))
		c.compare(t, topic, nil)
		ours, _ := c.readOurs(t, topic, source.ReadCommitted)
		for _, e := range ours[0] {
			if e.Type != "LogAppendTime" || e.Timestamp < before {
				t.Fatalf("got %s, want a LogAppendTime after %d, when it was produced", e, before)
			}
		}
	}
}

// TestIntegrationReadLarge reads records of 3 MB, three times what a Fetch answer holds by default, between small ones.
func TestIntegrationReadLarge(t *testing.T) {
	c := newRealKafka(t)
	noise := make([]byte, 3_000_000) // that no codec makes smaller
	seed := rand.NewChaCha8([32]byte{})
	seed.Read(noise)
	for _, codec := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.Lz4Compression()} {
		topic := c.topic(t, "large", 2, "max.message.bytes=8388608")
		var records []*kgo.Record
		for i := range 8 {
			records = append(records,
				&kgo.Record{Topic: topic, Partition: int32(i % 2), Key: fmt.Appendf(nil, "small-%d", i), Value: []byte("v")},
				&kgo.Record{Topic: topic, Partition: int32(i % 2), Key: fmt.Appendf(nil, "large-%d", i), Value: noise},
				&kgo.Record{Topic: topic, Partition: int32(i % 2), Key: noise[i : i+100_000], Value: noise[:1_000_000]},
			)
		}
		made := c.produce(t, records, kgo.ProducerBatchCompression(codec))
		c.compare(t, topic, map[source.Isolation]topicLog{source.ReadCommitted: made, source.ReadUncommitted: made})
	}
}

// TestIntegrationReadTransactions reads a committed, an aborted and an open transaction, interleaved with each other and
// with records outside of any.
func TestIntegrationReadTransactions(t *testing.T) {
	c := newRealKafka(t)
	topic := c.topic(t, "transactions", 2)
	transactional := func(id string) *kgo.Client {
		return c.client(t, kgo.TransactionalID(topic+id), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	}
	begin := func(cl *kgo.Client) {
		if err := cl.BeginTransaction(); err != nil {
			t.Fatalf("beginning a transaction: %v", err)
		}
	}
	end := func(cl *kgo.Client, how kgo.TransactionEndTry) {
		if err := cl.EndTransaction(t.Context(), how); err != nil {
			t.Fatalf("ending a transaction: %v", err)
		}
	}
	all, committed := make(topicLog), make(topicLog)
	// write appends 20 records a partition and says in which logs they must be found.
	write := func(cl *kgo.Client, key string, in ...topicLog) {
		var records []*kgo.Record
		for i := range 40 {
			records = append(records, &kgo.Record{
				Topic: topic, Partition: int32(i % 2), Key: fmt.Appendf(nil, "%s-%d", key, i), Value: []byte(key),
				Timestamp: time.UnixMilli(1_750_000_000_000 + int64(i)),
			})
		}
		for p, entries := range send(t, cl, records) {
			for _, l := range in {
				l[p] = append(l[p], entries...)
			}
		}
	}
	plain := c.client(t, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	one, two, three := transactional("-one"), transactional("-two"), transactional("-three")

	write(plain, "before", all, committed)
	begin(one)
	begin(two)
	write(one, "committed", all, committed)
	write(two, "aborted", all)
	write(plain, "between", all, committed)
	write(one, "committed-too", all, committed)
	end(two, kgo.TryAbort)
	end(one, kgo.TryCommit)
	// the same producer again, the other way round
	begin(two)
	write(two, "committed-after-abort", all, committed)
	end(two, kgo.TryCommit)
	// 6 writes of 20 records and 3 markers
	c.awaitEnds(t, topic, map[int32]int64{0: 6*20 + 3, 1: 6*20 + 3})
	// one begins to abort records before three's begin to stay open: the abort's marker lies behind the last stable
	// offset, its records before it
	begin(one)
	write(one, "aborted-late", all)
	begin(three)
	write(three, "open", all)
	end(one, kgo.TryAbort)
	write(plain, "behind-open", all)
	c.awaitEnds(t, topic, map[int32]int64{0: 9*20 + 4, 1: 9*20 + 4})
	// a fence for the end of the test: an open transaction would hold the topic's deletion
	t.Cleanup(func() {
		if err := three.EndTransaction(cleanupContext(t), kgo.TryAbort); err != nil {
			t.Errorf("aborting the open transaction: %v", err)
		}
	})

	c.compare(t, topic, map[source.Isolation]topicLog{source.ReadCommitted: committed, source.ReadUncommitted: all})

	// per partition: "aborted" and "aborted-late" of 20 records each, and the markers of the first three transactions;
	// the fourth marker lies behind the last stable offset
	if _, got := c.readOurs(t, topic, source.ReadCommitted); got != (passed{control: 2 * 3, aborted: 2 * 40}) {
		t.Errorf("read_committed passed %+v, want 6 control and 80 aborted records", got)
	}
	if _, got := c.readOurs(t, topic, source.ReadUncommitted); got != (passed{control: 2 * 4}) {
		t.Errorf("read_uncommitted passed %+v, want 8 control and no aborted records", got)
	}
}

// TestIntegrationReadCompacted reads a topic that the log cleaner has been over: offsets are missing within batches, at
// their ends, and as whole batches, of which an empty one may remain.
func TestIntegrationReadCompacted(t *testing.T) {
	c := newRealKafka(t)
	for _, codec := range []string{"none", "lz4"} {
		t.Run("codec="+codec, func(t *testing.T) {
			compression := kgo.NoCompression()
			if codec == "lz4" {
				compression = kgo.Lz4Compression()
			}
			topic := c.topic(t, "compacted-"+codec, 1, "cleanup.policy=compact", "min.cleanable.dirty.ratio=0.01",
				"segment.ms=50", "delete.retention.ms=1", "min.compaction.lag.ms=0")
			produced, last := 0, make(map[string]logEntry) // key to its last record
			// Each round is its own producer and so leaves its own last batch, which the cleaner keeps, empty, when
			// nothing in it is left.
			for round := range 20 {
				var records []*kgo.Record
				for i := range 100 {
					r := &kgo.Record{Topic: topic, Key: fmt.Appendf(nil, "key-%d", (i*7+round*13)%250), Value: []byte("value")}
					if i%25 == 24 {
						r.Value = nil
					}
					records = append(records, r)
				}
				for _, e := range c.produce(t, records, kgo.ProducerBatchCompression(compression))[0] {
					last[e.Key] = e
					produced++
				}
				time.Sleep(60 * time.Millisecond) // past segment.ms: the next append starts a segment
			}

			// The cleaner leaves the active segment, the last round's, alone. It has been over the others when they hold
			// no key twice.
			c.await(t, "compaction of "+topic, func() (any, bool) {
				franz, _ := c.readFranz(t, topic, kgo.ReadUncommitted())
				return franz.records(), franz.records() <= len(last)+100
			})

			c.compare(t, topic, nil)
			ours, _ := c.readOurs(t, topic, source.ReadCommitted)
			t.Logf("%d of %d records are left, of %d keys", ours.records(), produced, len(last))
			at := make(map[int64]string)
			for _, e := range ours[0] {
				at[e.Offset] = e.Key
			}
			for key, e := range last {
				got, found := at[e.Offset]
				// a tombstone may be gone as well
				if found && got != key || !found && e.ValueSize >= 0 {
					t.Errorf("offset %d holds key %q (found: %t), want %q, whose last record this is", e.Offset, got, found, key)
				}
			}
		})
	}
}
