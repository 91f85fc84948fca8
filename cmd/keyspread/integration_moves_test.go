package main_test

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"keyspread/analyze/source"
	"keyspread/analyze/source/kafka"
)

// TestIntegrationReadLeaderMoves moves every partition while it is being read: first its leader to the other replica,
// then the whole partition to the brokers that had no replica of it. No record may be lost or come twice.
func TestIntegrationReadLeaderMoves(t *testing.T) {
	c := newRealKafka(t)
	brokers, err := c.admin.ListBrokers(t.Context())
	if err != nil {
		t.Fatalf("listing brokers: %v", err)
	}
	if len(brokers) < 3 {
		lacking(t, "moving leaders takes 3 brokers, %s has %d", c.addr, len(brokers))
	}
	const partitions, records = 6, 18_000
	topic := c.replicated(t, "moves", partitions, 2)
	var sent []*kgo.Record
	for i := range records {
		sent = append(sent, &kgo.Record{
			Topic: topic, Partition: int32(i % partitions), Key: fmt.Appendf(nil, "key-%d", i), Value: bytes.Repeat([]byte("v"), 500),
			Timestamp: time.UnixMilli(1_750_000_000_000 + int64(i)),
		})
	}
	want := c.produce(t, sent, kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerBatchMaxBytes(32<<10))

	// reassign gives every partition the replicas that pick chooses and makes the first of them its leader.
	reassign := func(pick func(replicas []int32) []int32) {
		var req kadm.AlterPartitionAssignmentsReq
		leaders := make(map[int32]int32)
		for p, detail := range c.partitions(t, topic) {
			replicas := pick(detail.Replicas)
			if replicas[0] == detail.Leader {
				t.Errorf("partition %d stays on broker %d, want a move", p, detail.Leader)
			}
			req.Assign(topic, p, replicas)
			leaders[p] = replicas[0]
		}
		altered, err := c.admin.AlterPartitionAssignments(t.Context(), req)
		if err == nil {
			err = altered.Error()
		}
		if err != nil {
			t.Fatalf("moving the partitions of %s: %v", topic, err)
		}
		c.await(t, fmt.Sprintf("the leaders %v", leaders), func() (any, bool) {
			// the election answers an error for a partition that needs none, or cannot have it yet
			_, _ = c.admin.ElectLeaders(t.Context(), kadm.ElectPreferredReplica, nil)
			led := 0
			for p, detail := range c.partitions(t, topic) {
				if detail.Leader == leaders[p] && len(detail.Replicas) == len(detail.ISR) {
					led++
				}
			}
			return led, led == partitions
		})
	}
	moves := []func(){
		func() { reassign(func(r []int32) []int32 { return []int32{r[1], r[0]} }) },
		func() {
			reassign(func(r []int32) []int32 {
				for id := range int32(len(brokers)) + 1 {
					if id > 0 && id != r[0] && id != r[1] {
						return []int32{id}
					}
				}
				return r
			})
		},
	}

	src, err := kafka.New(kafka.Config{
		BootstrapServers: []string{c.addr}, Topic: topic, MaxBytes: 64 << 10, PartitionMaxBytes: 32 << 10,
	})
	if err != nil {
		t.Fatalf("making a source of %s: %v", topic, err)
	}
	plan, err := src.Plan(t.Context())
	if err != nil {
		t.Fatalf("planning %s: %v", topic, err)
	}
	var (
		mu   sync.Mutex
		got  = make(topicLog)
		read int
		next int // of moves

		due, done = make(chan int), make(chan bool) // a move
		coverage  []source.Coverage
		readErr   error
	)
	sink := source.SinkFunc(func(b *source.Batch) error {
		mu.Lock()
		defer mu.Unlock()
		for _, r := range b.Records {
			got[b.Partition] = append(got[b.Partition], logEntry{
				Offset: r.Offset, Timestamp: r.Timestamp, Type: b.TimestampType.String(),
				Null: r.Key == nil, Key: string(r.Key), ValueSize: r.ValueSize, HeaderSize: r.HeaderSize,
			})
		}
		read += len(b.Records)
		// at a third and at two thirds; the reader waits meanwhile, its requests out
		if next < len(moves) && read >= (next+1)*records/3 {
			select {
			case due <- next:
				<-done
			case <-t.Context().Done():
			}
			next++
		}
		return nil
	})
	go func() {
		defer close(due)
		coverage, readErr = src.Read(t.Context(), plan, sink)
	}()
	for move := range due {
		moves[move]()
		done <- true
	}
	if readErr != nil {
		t.Fatalf("reading %s: %v", topic, readErr)
	}
	for _, cov := range coverage {
		if !cov.Complete() {
			t.Errorf("partition not complete: %+v", cov)
		}
	}
	if next != len(moves) {
		t.Errorf("made %d moves while reading, want %d", next, len(moves))
	}
	diffLogs(t, "keyspread", got, "produced", want)
}

// partitions returns what the cluster says of the topic's partitions.
func (c *realKafka) partitions(t *testing.T, topic string) kadm.PartitionDetails {
	t.Helper()
	topics, err := c.admin.ListTopics(t.Context(), topic)
	if err != nil {
		t.Fatalf("describing topic %s: %v", topic, err)
	}
	return topics[topic].Partitions
}
