package kafka

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"keyspread/analyze/source"
)

// Whatever a broker sends in place of the records asked for: it is not asked in a tight loop, and not for ever.
func TestReadEndsWhenNothingBringsItOn(t *testing.T) {
	t.Parallel()
	type partition = kmsg.FetchResponseTopicPartition
	each := func(f func(*partition)) func(*craftedTopic) {
		return func(c *craftedTopic) {
			c.answer = func(_ int, _ kmsg.FetchRequestTopicPartition, a *partition) { f(a) }
		}
	}
	whole := func(f func(*kmsg.FetchResponse)) func(*craftedTopic) {
		return func(c *craftedTopic) { c.whole = func(_ int, a *kmsg.FetchResponse) { f(a) } }
	}
	empty := func(a *kmsg.FetchResponse) {
		for i := range a.Topics[0].Partitions {
			a.Topics[0].Partitions[i].RecordBatches = nil
		}
	}
	below, above := plainBatch(0, "a").bytes(t), plainBatch(1, "b").bytes(t)
	for _, test := range []struct {
		name  string
		set   func(*craftedTopic)
		start int64
		want  string
	}{
		{"no topic", whole(func(a *kmsg.FetchResponse) { a.Topics = nil }), 0, "leaves the partition out"},
		{"no partition", whole(func(a *kmsg.FetchResponse) { a.Topics[0].Partitions = nil }), 0, "leaves the partition out"},
		{"other partitions", each(func(a *partition) { a.Partition += 50 }), 0, "leaves the partition out"},
		{"no records", whole(empty), 0, "sends no records"},
		{"no records, throttled", whole(func(a *kmsg.FetchResponse) { empty(a); a.ThrottleMillis = 1 }), 0, "brought no records"},
		{"no topic, throttled", whole(func(a *kmsg.FetchResponse) { a.Topics, a.ThrottleMillis = nil, 1 }), 0, "brought no records"},
		{"a batch without its end", each(func(a *partition) { a.RecordBatches = a.RecordBatches[:len(a.RecordBatches)-1] }), 0, "only a part of a batch"},
		{"a batch's first bytes", each(func(a *partition) { a.RecordBatches = above[:11] }), 0, "only the first bytes of a batch"},
		{"a batch that announces 2 GB", each(func(a *partition) {
			binary.BigEndian.PutUint32(a.RecordBatches[8:], math.MaxInt32)
		}), 0, "a batch of 2147483659 bytes is announced"},
		{"only records below", each(func(a *partition) { a.RecordBatches = below }), 1, "records that come before it"},
		{"records below and a part", each(func(a *partition) { a.RecordBatches = slices.Concat(below, below[:40]) }), 1, "only a part of a batch"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			log := []craftedBatch{plainBatch(0, "a", "b")}
			c := craft(t, map[int32][]craftedBatch{0: log, 1: log, 2: log}, test.set)
			config := c.config()
			config.RetryFor, config.Connections = 300*time.Millisecond, 1
			var spans []source.Span
			for p := range int32(3) {
				spans = append(spans, source.Span{Partition: p, Start: test.start, End: 2})
			}
			start := time.Now()
			coverage, _, err := c.read(t, config, spans...)
			if err != nil {
				t.Fatal(err)
			}
			for _, got := range coverage {
				if got.Err == nil || got.Read != 0 || got.Position != test.start {
					t.Errorf("partition %d: coverage %+v, want nothing read and an error", got.Partition, got)
				}
			}
			// Of three partitions the first in trouble is given up for its own reason, the others perhaps with it.
			if e := coverage[0].Err; e == nil || !strings.Contains(e.Error(), test.want) && !strings.Contains(e.Error(), "brought no records") {
				t.Errorf("error %v, want one with %q", e, test.want)
			}
			// Pauses of 100, 200, 400 and 800 ms, and up to 18 requests for twice as much in each partition.
			if n := c.requests.Load(); n > 4+3*18 {
				t.Errorf("%d requests", n)
			}
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("took %v, want little more than %v", took, config.RetryFor)
			}
		})
	}
}

// One partition that never comes ends, and only it.
func TestReadGivesUpAPartitionThatIsAlwaysLeftOut(t *testing.T) {
	t.Parallel()
	var log []craftedBatch
	for i := range int64(40) {
		log = append(log, plainBatch(i, "k"))
	}
	c := craft(t, map[int32][]craftedBatch{0: log, 1: log}, func(c *craftedTopic) {
		c.perAnswer = 1
		c.whole = func(_ int, a *kmsg.FetchResponse) {
			parts := a.Topics[0].Partitions
			a.Topics[0].Partitions = slices.DeleteFunc(parts, func(p kmsg.FetchResponseTopicPartition) bool { return p.Partition == 0 })
		}
	})
	config := c.config()
	config.RetryFor, config.Connections = 300*time.Millisecond, 1
	coverage, _, err := c.read(t, config)
	if err != nil {
		t.Fatal(err)
	}
	if e := coverage[0].Err; e == nil || !strings.Contains(e.Error(), "leaves the partition out") {
		t.Errorf("partition 0: error %v, want that it is left out", e)
	}
	if !coverage[1].Complete() {
		t.Errorf("partition 1: coverage %+v, want complete", coverage[1])
	}
}

// A quota that stops every second answer is no trouble, however long the run takes.
func TestReadGoesOnUnderAQuota(t *testing.T) {
	t.Parallel()
	var log []craftedBatch
	for i := range int64(6) {
		log = append(log, plainBatch(i, "k"))
	}
	c := craft(t, map[int32][]craftedBatch{0: log, 1: log}, func(c *craftedTopic) {
		c.perAnswer = 1
		c.whole = func(request int, a *kmsg.FetchResponse) {
			if request%2 == 0 {
				a.Topics, a.ThrottleMillis = nil, 1
			}
		}
	})
	config := c.config()
	config.RetryFor, config.Connections = 200*time.Millisecond, 1 // 6 or more pauses of 100 ms are to come
	coverage, _, err := c.read(t, config)
	if err != nil {
		t.Fatal(err)
	}
	wantComplete(t, coverage)
}

// Brokers that name each other as the replica to read from do not send a partition to and fro.
func TestReadIsNotSentToAndFro(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2, kfake.SeedTopics(1, "near"))
	produceBatches(t, newProducer(t, c), "near", 0, "k", 20)
	c.SetFollowers("near", 0, []int32{1 - c.LeaderFor("near", 0)})
	var requests atomic.Int64
	c.ControlKey(int16(kmsg.Fetch), func(q kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		requests.Add(1)
		return nearAnswer(q.(*kmsg.FetchRequest), codeNone, 1-c.CurrentNode())
	})
	config := testConfig(c, "near")
	config.Rack, config.RetryFor = "near-by", 300*time.Millisecond
	start := time.Now()
	_, coverage, _ := readAll(t, config)
	if coverage[0].Err == nil {
		t.Error("no error, want one")
	}
	if n := requests.Load(); n > 10 {
		t.Errorf("%d requests", n)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %v, want little more than %v", took, config.RetryFor)
	}
}
