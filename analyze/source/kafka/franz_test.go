package kafka

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"keyspread/analyze/source"
)

// transactions writes, to one partition, plain records and two producers' transactions of which one is aborted and one
// is left open at the end.
func transactions(t testing.TB, c *kfake.Cluster, topic string) {
	t.Helper()
	plain := newProducer(t, c)
	begin := func(id string) *kgo.Client {
		client := newProducer(t, c, kgo.TransactionalID(id), kgo.ProducerBatchCompression(kgo.NoCompression()))
		if err := client.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		return client
	}
	end := func(client *kgo.Client, commit kgo.TransactionEndTry) {
		if err := client.EndTransaction(context.Background(), commit); err != nil {
			t.Fatal(err)
		}
	}
	produce(t, plain, numbered(topic, 0, "plain", 2)...)
	a, b := begin("a"), begin("b")
	produce(t, a, numbered(topic, 0, "a", 2)...)
	produce(t, b, numbered(topic, 0, "b", 2)...)
	produce(t, a, numbered(topic, 0, "aa", 1)...)
	end(a, kgo.TryAbort)
	produce(t, plain, numbered(topic, 0, "more", 2)...)
	end(b, kgo.TryCommit)
	open := begin("open")
	produce(t, open, numbered(topic, 0, "open", 2)...)
	produce(t, plain, numbered(topic, 0, "behind", 2)...)
	t.Cleanup(func() { _ = open.EndTransaction(context.Background(), kgo.TryAbort) })
}

// readFranz reads a partition with franz-go, until it gives the record at the offset last.
func readFranz(t testing.TB, c *kfake.Cluster, topic string, last int64, level kgo.IsolationLevel) []record {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.FetchIsolationLevel(level),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var list []record
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for len(list) == 0 || list[len(list)-1].Offset < last {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			t.Fatalf("franz-go: %v after %d records", err, len(list))
		}
		fetches.EachRecord(func(r *kgo.Record) {
			list = append(list, record{Offset: r.Offset, Timestamp: r.Timestamp.UnixMilli(), Key: string(r.Key), Value: int32(len(r.Value))})
		})
	}
	return list
}

func TestReadTransactionsAsFranzGoDoes(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, kfake.SeedTopics(1, "txn"))
	transactions(t, c, "txn")
	for _, test := range []struct {
		isolation source.Isolation
		franz     kgo.IsolationLevel
		// plain 2, a 2, b 2, aa 1, abort marker, more 2, commit marker, open 2, behind 2: offsets 0 to 14
		end, last        int64
		records          int
		control, aborted int64
	}{
		{source.ReadCommitted, kgo.ReadCommitted(), 11, 9, 6, 2, 3},
		{source.ReadUncommitted, kgo.ReadUncommitted(), 15, 14, 13, 2, 0},
	} {
		t.Run(test.isolation.String(), func(t *testing.T) {
			config := testConfig(c, "txn")
			config.Isolation = test.isolation
			for _, config := range []Config{config, trickle(config)} {
				plan, coverage, d := readAll(t, config)
				wantComplete(t, coverage)
				if got := plan.Spans[0].End; got != test.end {
					t.Errorf("end %d, want %d", got, test.end)
				}
				if plan.Partitions[0].HighWatermark != 15 {
					t.Errorf("high watermark %d, want 15", plan.Partitions[0].HighWatermark)
				}
				if want := readFranz(t, c, "txn", test.last, test.franz); !slices.Equal(d.records[0], want) || len(want) != test.records {
					t.Errorf("records %+v, franz-go has %+v, want %d", d.records[0], want, test.records)
				}
				if d.control != test.control || d.aborted != test.aborted {
					t.Errorf("%d control and %d aborted records, want %d and %d", d.control, d.aborted, test.control, test.aborted)
				}
			}
		})
	}
}

func TestReadCompactedTopic(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	admin := kadm.NewClient(newProducer(t, c))
	compact := "compact"
	tiny := "200"
	if _, err := admin.CreateTopic(t.Context(), 1, 1, map[string]*string{"cleanup.policy": &compact, "segment.bytes": &tiny}, "compacted"); err != nil {
		t.Fatal(err)
	}
	client := newProducer(t, c)
	for i := range 60 {
		produce(t, client, &kgo.Record{Topic: "compacted", Key: fmt.Appendf(nil, "k%d", i%7), Value: make([]byte, 50)})
	}
	c.Compact()
	_, coverage, d := readAll(t, testConfig(c, "compacted"))
	wantComplete(t, coverage)
	want := readFranz(t, c, "compacted", 59, kgo.ReadUncommitted())
	if !slices.Equal(d.records[0], want) || len(want) == 60 || len(want) < 7 {
		t.Errorf("%d records, franz-go has %d, want the same, at least 7 and fewer than 60", len(d.records[0]), len(want))
	}
}
