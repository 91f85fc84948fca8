package kafka

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"keyspread/analyze/source"
)

// newCluster starts a fake cluster of so many brokers on loopback, ended with the test.
func newCluster(t testing.TB, brokers int, options ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(brokers)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// spreadLeaders gives the brokers of c the partitions of a topic in turn. kfake draws leaders at random, so that one broker
// of two has all of four partitions in one run of eight.
func spreadLeaders(t testing.TB, c *kfake.Cluster, topic string, partitions int) {
	t.Helper()
	brokers := int32(len(c.ListenAddrs()))
	for p := range int32(partitions) {
		if err := c.MoveTopicPartition(topic, p, p%brokers); err != nil {
			t.Fatal(err)
		}
	}
}

// newProducer returns a franz-go client that writes records to the partition they name.
func newProducer(t testing.TB, c *kfake.Cluster, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	all := append([]kgo.Opt{
		kgo.SeedBrokers(c.ListenAddrs()...),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
	}, options...)
	client, err := kgo.NewClient(all...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func produce(t testing.TB, client *kgo.Client, records ...*kgo.Record) {
	t.Helper()
	if err := client.ProduceSync(context.Background(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// numbered returns n records for one partition with keys "<prefix>0", "<prefix>1", … and values of 10 bytes.
func numbered(topic string, partition int32, prefix string, n int) []*kgo.Record {
	list := make([]*kgo.Record, n)
	for i := range list {
		list[i] = &kgo.Record{
			Topic: topic, Partition: partition, Key: fmt.Appendf(nil, "%s%d", prefix, i), Value: make([]byte, 10),
		}
	}
	return list
}

// testConfig is a Config with timeouts short enough for tests.
func testConfig(c *kfake.Cluster, topic string) Config {
	return Config{
		BootstrapServers: c.ListenAddrs(), ClientID: "keyspread/test", Topic: topic,
		ConnectTimeout: 5 * time.Second, RequestTimeout: 5 * time.Second, RetryFor: 5 * time.Second,
		MaxWait: 50 * time.Millisecond,
	}
}

func newSource(t testing.TB, c Config) *Source {
	t.Helper()
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// delivered is what a test sink was given, with its own copies of keys.
type delivered struct {
	mu      sync.Mutex
	records map[int32][]record
	next    map[int32]int64
	control int64
	aborted int64
	wire    int64
	stamps  map[source.TimestampType]int
	errs    []string
}

// record is a source.Record in a form that can be compared.
type record struct {
	Offset, Timestamp int64
	Key               string
	Null              bool
	Value, Header     int32
}

func newDelivered() *delivered {
	return &delivered{
		records: map[int32][]record{}, next: map[int32]int64{}, stamps: map[source.TimestampType]int{},
	}
}

// Batch notes a batch and what is wrong with its order.
func (d *delivered) Batch(b *source.Batch) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	position := d.next[b.Partition]
	if b.Next < position {
		d.errs = append(d.errs, fmt.Sprintf("partition %d: position went from %d to %d", b.Partition, position, b.Next))
	}
	for _, r := range b.Records {
		if r.Offset < position || r.Offset >= b.Next {
			d.errs = append(d.errs, fmt.Sprintf("partition %d: record at %d in a batch from %d to %d", b.Partition, r.Offset, position, b.Next))
		}
		position = r.Offset + 1
		d.records[b.Partition] = append(d.records[b.Partition], record{
			r.Offset, r.Timestamp, string(r.Key), r.Key == nil, r.ValueSize, r.HeaderSize,
		})
	}
	if len(b.Records) > 0 {
		d.stamps[b.TimestampType] += len(b.Records)
	}
	d.next[b.Partition] = b.Next
	d.control += b.ControlRecords
	d.aborted += b.AbortedRecords
	d.wire += b.WireBytes
	return nil
}

func (d *delivered) offsets(partition int32) []int64 {
	var list []int64
	for _, r := range d.records[partition] {
		list = append(list, r.Offset)
	}
	return list
}

func (d *delivered) keys(partition int32) []string {
	var list []string
	for _, r := range d.records[partition] {
		list = append(list, r.Key)
	}
	return list
}

// readAll plans and reads, and fails the test when that fails or the batches are out of order.
func readAll(t testing.TB, c Config) (*source.Plan, []source.Coverage, *delivered) {
	t.Helper()
	s := newSource(t, c)
	plan, err := s.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d := newDelivered()
	coverage, err := s.Read(t.Context(), plan, d)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range d.errs {
		t.Error(e)
	}
	return plan, coverage, d
}

// wantComplete fails the test when a partition was not read in full.
func wantComplete(t testing.TB, coverage []source.Coverage) {
	t.Helper()
	for _, c := range coverage {
		if !c.Complete() {
			t.Errorf("partition %d: coverage %+v, want complete", c.Partition, c)
		}
	}
}

func TestReadDeliversEveryRecordInOrder(t *testing.T) {
	t.Parallel()
	const topic, partitions, n = "orders", 4, 5000
	c := newCluster(t, 3, kfake.SeedTopics(partitions, topic))
	for name, codec := range map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	} {
		client := newProducer(t, c, kgo.ProducerBatchCompression(codec))
		for p := range int32(partitions) {
			produce(t, client, numbered(topic, p, name, n/5)...)
		}
	}
	plan, coverage, d := readAll(t, testConfig(c, topic))
	wantComplete(t, coverage)
	if plan.NumPartitions != partitions || len(plan.Spans) != partitions {
		t.Fatalf("plan has %d partitions and spans %v, want %d and as many", plan.NumPartitions, plan.Spans, partitions)
	}
	for p := range int32(partitions) {
		got := d.offsets(p)
		want := make([]int64, n)
		for i := range want {
			want[i] = int64(i)
		}
		if !slices.Equal(got, want) {
			t.Errorf("partition %d: %d offsets %v…, want 0 to %d", p, len(got), got[:min(5, len(got))], n-1)
		}
	}
}
