package kafka_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"keyspread/analyze/source"
	"keyspread/analyze/source/kafka"
	"keyspread/analyze/source/kafka/encode"
)

// crcPlacement is a partitioner of the test: CRC-32 modulo the count; null and empty keys are spread.
type crcPlacement struct{}

func (crcPlacement) ID() string { return "test" }

func (crcPlacement) Place(key []byte, counts, out []int32) (bool, error) {
	if len(key) == 0 {
		return false, nil
	}
	for i, n := range counts {
		out[i] = int32(crc32.ChecksumIEEE(key) % uint32(n))
	}
	return true, nil
}

func newCluster(t *testing.T, opts ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func producerOf(t *testing.T, c *kfake.Cluster, topic string, pc kafka.ProducerConfig) (*kafka.Producer, error) {
	t.Helper()
	config := kafka.DefaultConfig()
	config.BootstrapServers, config.Topic = c.ListenAddrs(), topic
	pc.Partitioner = crcPlacement{}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return kafka.NewProducer(ctx, config, pc)
}

// fetchAll reads n records of a topic with franz-go, by partition in offset order.
func fetchAll(t *testing.T, c *kfake.Cluster, topic string, n int) map[int32][]*kgo.Record {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.ConsumeTopics(topic))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	got := make(map[int32][]*kgo.Record)
	for read := 0; read < n; {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("reading %s after %d of %d records: %v", topic, read, n, err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			got[r.Partition] = append(got[r.Partition], r)
			read++
		})
	}
	return got
}

func TestProducerWritesEveryRecordOnce(t *testing.T) {
	const records, partitions = 3000, 12
	cluster := newCluster(t)
	for _, codec := range encode.Codecs() {
		topic := "t-" + codec.String()
		p, err := producerOf(t, cluster, topic, kafka.ProducerConfig{
			Compression: codec, Create: true, NumPartitions: partitions, BatchBytes: 4096,
		})
		if err != nil {
			t.Fatalf("%v: %v", codec, err)
		}
		want := make(map[int32][]string)
		unkeyed := 0
		for i := range records {
			r := source.Record{Timestamp: 1_700_000_000_000 + int64(i)}
			switch i % 10 {
			case 0: // null
			case 1:
				r.Key = []byte{}
			default:
				r.Key = fmt.Appendf(nil, "key-%d", i%97)
			}
			partition := int32(unkeyed % partitions)
			if len(r.Key) > 0 {
				partition = int32(crc32.ChecksumIEEE(r.Key) % partitions)
			} else {
				unkeyed++
			}
			value := fmt.Appendf(nil, "value %d", i)
			want[partition] = append(want[partition], fmt.Sprintf("%v %q %s %d", r.Key == nil, r.Key, value, r.Timestamp))
			if err := p.Write(&r, value); err != nil {
				t.Fatalf("%v: record %d: %v", codec, i, err)
			}
		}
		if err := p.Close(); err != nil {
			t.Fatalf("%v: Close: %v", codec, err)
		}
		got := fetchAll(t, cluster, topic, records)
		for partition := range int32(partitions) {
			var lines []string
			for _, r := range got[partition] {
				lines = append(lines, fmt.Sprintf("%v %q %s %d", r.Key == nil, r.Key, r.Value, r.Timestamp.UnixMilli()))
			}
			if !slices.Equal(lines, want[partition]) {
				t.Errorf("%v: partition %d holds %d records, want the %d written to it, in order", codec, partition, len(lines), len(want[partition]))
			}
		}
	}
}

func TestProducerRefuses(t *testing.T) {
	cluster := newCluster(t, kfake.SeedTopics(3, "orders"))
	write := func(topic string, pc kafka.ProducerConfig, size int) error {
		p, err := producerOf(t, cluster, topic, pc)
		if err != nil {
			return err
		}
		if got := p.NumPartitions(); got != 3 {
			t.Errorf("NumPartitions() = %d, want 3", got)
		}
		err = p.Write(&source.Record{Key: []byte("k")}, bytes.Repeat([]byte("v"), size))
		return errors.Join(err, p.Close())
	}
	steps := []struct {
		name  string
		topic string
		pc    kafka.ProducerConfig
		size  int
		want  string // "" for success
	}{
		{"unknown topic", "order", kafka.ProducerConfig{}, 1, `topic "order" does not exist on this cluster: did you mean "orders"?`},
		{"wrong count", "orders", kafka.ProducerConfig{NumPartitions: 4}, 1, `topic "orders" has 3 partitions, not 4`},
		{"create without count", "new", kafka.ProducerConfig{Create: true}, 1, `creating topic "new": 0 partitions: want 1 or more`},
		{"empty topic", "orders", kafka.ProducerConfig{NumPartitions: 3}, 1, ""},
		{"topic with a record", "orders", kafka.ProducerConfig{Create: true}, 1, `topic "orders" is not empty: its partitions span 1 offsets; nothing was written`},
		{"append", "orders", kafka.ProducerConfig{Append: true}, 1, ""},
		{"too large", "orders", kafka.ProducerConfig{Append: true}, 2 << 20, "writing orders partition"},
	}
	for _, s := range steps {
		err := write(s.topic, s.pc, s.size)
		switch {
		case s.want == "" && err != nil:
			t.Errorf("%s: %v", s.name, err)
		case s.want != "" && (err == nil || !strings.Contains(err.Error(), s.want)):
			t.Errorf("%s: error %v, want %q", s.name, err, s.want)
		}
	}
	fetchAll(t, cluster, "orders", 2) // the two that were written, or it times out
}

func TestProducerStopsWithItsContext(t *testing.T) {
	cluster := newCluster(t, kfake.SeedTopics(1, "orders"))
	config := kafka.DefaultConfig()
	config.BootstrapServers, config.Topic = cluster.ListenAddrs(), "orders"
	ctx, cancel := context.WithCancelCause(t.Context())
	p, err := kafka.NewProducer(ctx, config, kafka.ProducerConfig{Partitioner: crcPlacement{}, BatchBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	stopped := errors.New("stopped by the test")
	cancel(stopped)
	for i := 0; err == nil; i++ {
		if i == 1000 {
			t.Fatal("1000 batches were taken after the context had ended")
		}
		err = p.Write(&source.Record{Key: []byte("k")}, nil)
	}
	if !errors.Is(err, stopped) {
		t.Errorf("Write: %v, want the context's cause", err)
	}
	if err := p.Close(); !errors.Is(err, stopped) {
		t.Errorf("Close: %v, want the context's cause", err)
	}
}

func TestProducerWaitsForALeader(t *testing.T) {
	cluster := newCluster(t, kfake.NumBrokers(3), kfake.SeedTopics(1, "orders"))
	p, err := producerOf(t, cluster, "orders", kafka.ProducerConfig{BatchBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	const records = 20
	for i := range records {
		if i == records/2 {
			leader := cluster.LeaderFor("orders", 0)
			if err := cluster.MoveTopicPartition("orders", 0, (leader+1)%3); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Write(&source.Record{Key: []byte("k")}, fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	for i, r := range fetchAll(t, cluster, "orders", records)[0] {
		if string(r.Value) != fmt.Sprint(i) {
			t.Errorf("record %d is %q, want its number", i, r.Value)
		}
	}
}
