package main_test

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The tests named TestIntegration… need a real Apache Kafka, of which KEYSPREAD_TEST_BROKER=host:port names a broker:
//
//	.ci/kafka -- go test -count=1 -run '^TestIntegration' ./cmd/keyspread
//
// Without it they skip; with KEYSPREAD_TEST_REQUIRE=1, as in CI, they fail instead.

// lacking skips the test for want of something outside the repository, or fails it where everything must be there.
func lacking(t *testing.T, format string, args ...any) {
	t.Helper()
	if os.Getenv("KEYSPREAD_TEST_REQUIRE") == "1" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// realKafka is the real Kafka of a test.
type realKafka struct {
	addr  string
	cl    *kgo.Client
	admin *kadm.Client
}

// newRealKafka returns the cluster that the environment names.
func newRealKafka(t *testing.T) *realKafka {
	t.Helper()
	addr := os.Getenv("KEYSPREAD_TEST_BROKER")
	if addr == "" {
		lacking(t, "no real Kafka: set KEYSPREAD_TEST_BROKER=host:port, or run under .ci/kafka --")
	}
	c := &realKafka{addr: addr}
	c.cl = c.client(t)
	c.admin = kadm.NewClient(c.cl)
	return c
}

// client returns a franz-go client of the cluster that ends with the test.
func (c *realKafka) client(t *testing.T, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(c.addr), kgo.MetadataMinAge(100*time.Millisecond))...)
	if err != nil {
		t.Fatalf("making a franz-go client of %s: %v", c.addr, err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// topic creates a topic of one replica that goes with the test; config holds "name=value". Its name tells it from those
// of other runs against the same broker.
func (c *realKafka) topic(t *testing.T, name string, partitions int, config ...string) string {
	t.Helper()
	return c.replicated(t, name, partitions, 1, config...)
}

// replicated is topic with more replicas than one.
func (c *realKafka) replicated(t *testing.T, name string, partitions, replicas int, config ...string) string {
	t.Helper()
	topic := fmt.Sprintf("keyspread-test-%s-%d", name, time.Now().UnixNano())
	// the records' times are fixed ones of the past, so a retention by time would remove them
	configs := map[string]*string{"retention.ms": new("-1")}
	for _, entry := range config {
		name, value, _ := strings.Cut(entry, "=")
		configs[name] = &value
	}
	if _, err := c.admin.CreateTopic(t.Context(), int32(partitions), int16(replicas), configs, topic); err != nil {
		t.Fatalf("creating topic %s with %v: %v", topic, config, err)
	}
	t.Cleanup(func() {
		if _, err := c.admin.DeleteTopic(cleanupContext(t), topic); err != nil {
			t.Errorf("deleting topic %s: %v", topic, err)
		}
	})
	c.awaitLeaders(t, topic, partitions)
	return topic
}

// awaitLeaders waits until every broker knows the leaders of so many partitions. A client that asks for them too early
// waits for seconds before it asks again, or gives up.
func (c *realKafka) awaitLeaders(t *testing.T, topic string, partitions int) {
	t.Helper()
	brokers, err := c.admin.ListBrokers(t.Context())
	if err != nil {
		t.Fatalf("listing brokers: %v", err)
	}
	c.await(t, "every broker to know the leaders of "+topic, func() (any, bool) {
		led := make(map[int32]int)
		for _, b := range brokers {
			asked := kmsg.NewMetadataRequestTopic()
			asked.Topic = &topic
			req := kmsg.NewPtrMetadataRequest()
			req.Topics = append(req.Topics, asked)
			answer, err := c.cl.Broker(int(b.NodeID)).Request(t.Context(), req)
			if err != nil {
				t.Fatalf("describing topic %s: %v", topic, err)
			}
			for _, p := range answer.(*kmsg.MetadataResponse).Topics[0].Partitions {
				if p.ErrorCode == 0 && p.Leader >= 0 {
					led[b.NodeID]++
				}
			}
		}
		return led, !slices.ContainsFunc(brokers, func(b kadm.BrokerDetail) bool { return led[b.NodeID] != partitions })
	})
}

// await calls reached until it says so, and fails the test with what it saw last when that takes too long.
func (c *realKafka) await(t *testing.T, what string, reached func() (saw any, ok bool)) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		saw, ok := reached()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited a minute for %s, at last saw %v", what, saw)
		}
	}
}

// cleanupContext returns a context for use in a cleanup, where the test's own has ended.
func cleanupContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// logEntry is what two readers must agree on of a record.
type logEntry struct {
	Offset     int64
	Timestamp  int64
	Type       string // of the timestamp
	Null       bool   // the key is null
	Key        string
	ValueSize  int32 // -1: null value
	HeaderSize int32
}

// topicLog is a topic as one reader sees it: per partition, in the order in which the records came.
type topicLog map[int32][]logEntry

func (l topicLog) records() (n int) {
	for _, entries := range l {
		n += len(entries)
	}
	return n
}

// diffLogs fails the test at the first entry of each partition in which got differs from want.
func diffLogs(t *testing.T, gotName string, got topicLog, wantName string, want topicLog) {
	t.Helper()
	partitions := make(map[int32]bool)
	for p := range got {
		partitions[p] = true
	}
	for p := range want {
		partitions[p] = true
	}
	for p := range partitions {
		g, w := got[p], want[p]
		if slices.Equal(g, w) {
			continue
		}
		for i := range max(len(g), len(w)) {
			switch {
			case i >= len(g):
				t.Errorf("partition %d: %s ends after %d records, %s goes on with %s", p, gotName, i, wantName, w[i])
			case i >= len(w):
				t.Errorf("partition %d: %s ends after %d records, %s goes on with %s", p, wantName, i, gotName, g[i])
			case g[i] != w[i]:
				t.Errorf("partition %d, record %d:\n%s: %s\n%s: %s", p, i, gotName, g[i], wantName, w[i])
			default:
				continue
			}
			break
		}
	}
}

// String shortens long keys.
func (e logEntry) String() string {
	key := fmt.Sprintf("%.40q", e.Key)
	if e.Null {
		key = "null"
	}
	return fmt.Sprintf("offset %d, %s %d, key %s (%d bytes), value %d, headers %d",
		e.Offset, e.Type, e.Timestamp, key, len(e.Key), e.ValueSize, e.HeaderSize)
}

// entryOf is a franz-go record as an entry.
func entryOf(r *kgo.Record) logEntry {
	e := logEntry{
		Offset:    r.Offset,
		Timestamp: r.Timestamp.UnixMilli(),
		Type:      "CreateTime",
		Null:      r.Key == nil,
		Key:       string(r.Key),
		ValueSize: int32(len(r.Value)),
	}
	if r.Value == nil {
		e.ValueSize = -1
	}
	if r.Attrs.TimestampType() == 1 {
		e.Type = "LogAppendTime"
	}
	for _, h := range r.Headers {
		e.HeaderSize += int32(len(h.Key) + len(h.Value))
	}
	return e
}

// readFranz reads the whole topic with franz-go's decoding of Fetch answers, and returns the log and its records. It
// asks for the answers itself because franz-go's consumer does not say when its position has reached an end behind
// which no record is left to deliver: markers, aborted records, compacted offsets.
func (c *realKafka) readFranz(t *testing.T, topic string, isolation kgo.IsolationLevel) (topicLog, []*kgo.Record) {
	t.Helper()
	topics, err := c.admin.ListTopics(t.Context(), topic)
	if err != nil {
		t.Fatalf("describing topic %s: %v", topic, err)
	}
	starts, err := c.admin.ListStartOffsets(t.Context(), topic)
	if err != nil {
		t.Fatalf("listing start offsets of %s: %v", topic, err)
	}
	list, level := c.admin.ListEndOffsets, int8(0)
	if isolation == kgo.ReadCommitted() {
		list, level = c.admin.ListCommittedOffsets, 1
	}
	ends, err := list(t.Context(), topic)
	if err != nil {
		t.Fatalf("listing end offsets of %s: %v", topic, err)
	}
	cl := c.client(t)
	got, records := make(topicLog), []*kgo.Record(nil)
	for p, detail := range topics[topic].Partitions {
		start, _ := starts.Lookup(topic, p)
		end, _ := ends.Lookup(topic, p)
		for next := start.Offset; next < end.Offset; {
			part := kmsg.NewFetchRequestTopicPartition()
			part.Partition, part.FetchOffset, part.PartitionMaxBytes = p, next, 1<<20
			part.CurrentLeaderEpoch = -1
			asked := kmsg.NewFetchRequestTopic()
			asked.Topic, asked.TopicID = topic, topics[topic].ID
			asked.Partitions = append(asked.Partitions, part)
			req := kmsg.NewPtrFetchRequest()
			req.MaxWaitMillis, req.MinBytes, req.MaxBytes = 500, 1, 1<<20
			req.IsolationLevel, req.SessionEpoch = level, -1
			req.Topics = append(req.Topics, asked)
			answer, err := cl.Broker(int(detail.Leader)).Request(t.Context(), req)
			if err != nil {
				t.Fatalf("fetching %s partition %d at %d: %v", topic, p, next, err)
			}
			rp := &answer.(*kmsg.FetchResponse).Topics[0].Partitions[0]
			fetched, position := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
				Offset: next, IsolationLevel: isolation, Topic: topic, Partition: p,
			}, rp, kgo.DefaultDecompressor(), nil)
			if fetched.Err != nil {
				t.Fatalf("decoding %s partition %d at %d: %v", topic, p, next, fetched.Err)
			}
			for _, r := range fetched.Records {
				if r.Offset < end.Offset {
					got[p] = append(got[p], entryOf(r))
					records = append(records, r)
				}
			}
			next = position
		}
	}
	return got, records
}

// awaitEnds waits until the partitions' high watermarks are what ends says: a broker answers the end of a transaction
// before all its markers are written.
func (c *realKafka) awaitEnds(t *testing.T, topic string, ends map[int32]int64) {
	t.Helper()
	c.await(t, fmt.Sprintf("the ends %v of %s", ends, topic), func() (any, bool) {
		listed, err := c.admin.ListEndOffsets(t.Context(), topic)
		if err != nil {
			t.Fatalf("listing end offsets of %s: %v", topic, err)
		}
		got := make(map[int32]int64)
		for p := range ends {
			end, _ := listed.Lookup(topic, p)
			got[p] = end.Offset
		}
		return got, maps.Equal(got, ends)
	})
}

// buildTool builds keyspread and returns the program's path.
func buildTool(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keyspread")
	if out, err := exec.Command("go", "build", "-o", path, ".").CombinedOutput(); err != nil {
		t.Fatalf("building keyspread: %v\n%s", err, out)
	}
	return path
}

// runTool runs the built program, which must end with the exit code given, and returns what it wrote to standard output
// and to standard error.
func runTool(t *testing.T, wantExit int, path string, args ...string) (stdout, stderr []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	var out, talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &talk
	if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != wantExit {
		t.Fatalf("keyspread %q: %v, want exit code %d\nstdout:\n%.2000s\nstderr:\n%.2000s", args, err, wantExit, &out, &talk)
	}
	return out.Bytes(), talk.Bytes()
}
