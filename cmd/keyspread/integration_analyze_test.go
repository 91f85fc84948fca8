package main_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// jsonReport is what the tests read of `keyspread analyze -o json`.
type jsonReport struct {
	Coverage struct {
		Complete bool `json:"complete"`
	} `json:"coverage"`
	Contents struct {
		Records        int64                    `json:"records"`
		Bytes          int64                    `json:"bytes"`
		NullKey        struct{ Records int64 }  `json:"null_key"`
		EmptyKey       struct{ Records int64 }  `json:"empty_key"`
		Tombstones     int64                    `json:"tombstones"`
		ControlRecords int64                    `json:"control_records"`
		AbortedRecords int64                    `json:"aborted_records"`
		DistinctKeys   struct{ Lo, Hi float64 } `json:"distinct_keys"`
	} `json:"contents"`
	Skew struct {
		Records struct {
			TopKeys []struct {
				Key        struct{ Base64 *string }
				Records    struct{ Lo, Hi int64 }
				Partitions []struct {
					Partition int32
					Records   struct{ Lo, Hi int64 }
				}
			} `json:"top_keys"`
		} `json:"records"`
	} `json:"skew"`
	Partitions []struct {
		Partition int32 `json:"partition"`
		Records   int64 `json:"records"`
	} `json:"partitions"`
}

func parseReport(t *testing.T, out []byte) jsonReport {
	t.Helper()
	var r jsonReport
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("analyze -o json wrote %.200q: %v", out, err)
	}
	return r
}

// TestIntegrationAnalyze holds the report of the built tool against what was produced: records of each key and
// partition, null and empty keys, tombstones, bytes, aborted records.
func TestIntegrationAnalyze(t *testing.T) {
	c := newRealKafka(t)
	tool := buildTool(t)
	topic := c.topic(t, "analyze", 6)
	cl := c.client(t, kgo.TransactionalID(topic)) // with franz-go's own partitioner
	transaction := func(how kgo.TransactionEndTry, records []*kgo.Record) {
		if err := cl.BeginTransaction(); err != nil {
			t.Fatalf("beginning a transaction: %v", err)
		}
		send(t, cl, records)
		if err := cl.EndTransaction(t.Context(), how); err != nil {
			t.Fatalf("ending a transaction: %v", err)
		}
	}
	var records []*kgo.Record
	for i := range 5000 {
		r := &kgo.Record{Topic: topic, Key: fmt.Appendf(nil, "customer-%d", i*i%317), Value: make([]byte, i%100)}
		switch {
		case i%4 == 0:
			r.Key = []byte("hot")
		case i%50 == 1:
			r.Key = nil
		case i%50 == 2:
			r.Key = []byte{}
		case i%50 == 3:
			r.Value = nil
		case i%50 == 5:
			r.Headers = []kgo.RecordHeader{{Key: "header", Value: []byte("value")}}
		}
		records = append(records, r)
	}
	transaction(kgo.TryCommit, records)
	transaction(kgo.TryAbort, []*kgo.Record{
		{Topic: topic, Key: []byte("hot"), Value: []byte("aborted")},
		{Topic: topic, Key: []byte("never"), Value: []byte("aborted")},
	})

	type spot struct {
		key       string
		partition int32
	}
	var (
		wantKeys              = make(map[spot]int64)
		wantPartitions        = make([]int64, 6)
		nulls, empties, tombs int64
		size                  int64
		distinct              = make(map[string]bool)
	)
	for _, r := range records {
		e := entryOf(r)
		size += int64(len(e.Key)+int(e.HeaderSize)) + int64(max(e.ValueSize, 0))
		wantPartitions[r.Partition]++
		switch {
		case e.Null:
			nulls++
			continue
		case e.Key == "":
			empties++
		}
		if e.ValueSize < 0 {
			tombs++
		}
		distinct[e.Key] = true
		wantKeys[spot{e.Key, r.Partition}]++
	}
	// the broker answers the end of a transaction before its markers are written, and until then the last stable offset
	// is where the transaction began
	c.await(t, "the markers of both transactions", func() (any, bool) {
		stable, err := c.admin.ListCommittedOffsets(t.Context(), topic)
		if err != nil {
			t.Fatal(err)
		}
		ends, err := c.admin.ListEndOffsets(t.Context(), topic)
		if err != nil {
			t.Fatal(err)
		}
		_, got := c.readFranz(t, topic, kgo.ReadCommitted())
		return len(got), len(got) == len(records) && maps.Equal(stable.KOffsets()[topic], ends.KOffsets()[topic])
	})

	out, _ := runTool(t, 0, tool, "analyze", "-b", c.addr, "-t", topic, "-o", "json", "--top", "1000")
	got := parseReport(t, out)
	gotKeys := make(map[spot]int64)
	for _, k := range got.Skew.Records.TopKeys {
		if k.Key.Base64 == nil {
			t.Errorf("the null key is among the keys")
			continue
		}
		key, err := base64.StdEncoding.DecodeString(*k.Key.Base64)
		if err != nil {
			t.Errorf("key %q: %v", *k.Key.Base64, err)
		}
		var sum int64
		for _, p := range k.Partitions {
			if p.Records.Lo != p.Records.Hi {
				t.Errorf("key %q, partition %d: records %+v, want an exact count", key, p.Partition, p.Records)
			}
			gotKeys[spot{string(key), p.Partition}] = p.Records.Lo
			sum += p.Records.Lo
		}
		if k.Records.Lo != sum || k.Records.Hi != sum {
			t.Errorf("key %q: records %+v, want those of its partitions, %d", key, k.Records, sum)
		}
	}
	for at := range wantKeys {
		if gotKeys[at] != wantKeys[at] {
			t.Errorf("key %q, partition %d: %d records, want %d", at.key, at.partition, gotKeys[at], wantKeys[at])
		}
	}
	if len(gotKeys) != len(wantKeys) {
		t.Errorf("%d pairs of key and partition, want %d", len(gotKeys), len(wantKeys))
	}
	gotPartitions := make([]int64, 6)
	for _, p := range got.Partitions {
		gotPartitions[p.Partition] = p.Records
	}
	if !slices.Equal(gotPartitions, wantPartitions) {
		t.Errorf("records by partition %d, want %d", gotPartitions, wantPartitions)
	}
	for _, figure := range []struct {
		name      string
		got, want int64
	}{
		{"records", got.Contents.Records, int64(len(records))},
		{"bytes", got.Contents.Bytes, size},
		{"null keys", got.Contents.NullKey.Records, nulls},
		{"empty keys", got.Contents.EmptyKey.Records, empties},
		{"tombstones", got.Contents.Tombstones, tombs},
		{"aborted records", got.Contents.AbortedRecords, 2},
		{"distinct keys, at least", int64(got.Contents.DistinctKeys.Lo), int64(len(distinct))},
		{"distinct keys, at most", int64(got.Contents.DistinctKeys.Hi), int64(len(distinct))},
	} {
		if figure.got != figure.want {
			t.Errorf("%s: %d, want %d", figure.name, figure.got, figure.want)
		}
	}
	// one marker for each transaction and partition written to: all by the first, one or two by the second
	if n := got.Contents.ControlRecords; n < 7 || n > 8 {
		t.Errorf("%d control records, want 7 or 8", n)
	}
	if !got.Coverage.Complete {
		t.Error("the report says that it is not complete")
	}
}

// traces is what a reader could leave behind on a cluster.
type traces struct {
	topics  []string
	groups  []string
	offsets string
}

func (c *realKafka) traces(t *testing.T, group string) traces {
	t.Helper()
	topics, err := c.admin.ListTopicsWithInternal(t.Context())
	if err != nil {
		t.Fatalf("listing topics: %v", err)
	}
	groups, err := c.admin.ListGroups(t.Context())
	if err != nil {
		t.Fatalf("listing groups: %v", err)
	}
	offsets, err := c.admin.FetchOffsets(t.Context(), group)
	if err != nil {
		t.Fatalf("fetching the offsets of %s: %v", group, err)
	}
	var committed []string
	for _, o := range offsets.Sorted() {
		committed = append(committed, fmt.Sprintf("%s/%d@%d", o.Topic, o.Partition, o.At))
	}
	return traces{topics.Names(), groups.Groups(), fmt.Sprint(committed)}
}

// TestIntegrationLeavesNoTrace runs the reading commands on a topic, and on one that is not there, on a broker that
// would create it for whoever asks in Kafka's usual way.
func TestIntegrationLeavesNoTrace(t *testing.T) {
	c := newRealKafka(t)
	tool := buildTool(t)
	topic := c.topic(t, "trace", 3)
	c.produce(t, mixedRecords(topic, 3, 300))
	// a group of somebody else's, half way through the topic
	group := topic + "-group"
	var offsets kadm.Offsets
	for p := range int32(3) {
		offsets.AddOffset(topic, p, 50, -1)
	}
	if err := c.admin.CommitAllOffsets(t.Context(), group, offsets); err != nil {
		t.Fatalf("committing offsets: %v", err)
	}
	t.Cleanup(func() {
		if _, err := c.admin.DeleteGroup(cleanupContext(t), group); err != nil {
			t.Errorf("deleting group %s: %v", group, err)
		}
	})

	before := c.traces(t, group)
	missing := topic + "-missing"
	runTool(t, 0, tool, "analyze", "-b", c.addr, "-t", topic)
	runTool(t, 0, tool, "plan", "-b", c.addr, "-t", topic, "--to", "6")
	for _, command := range [][]string{{"analyze"}, {"plan", "--to", "6"}} {
		_, talk := runTool(t, 1, tool, append(command, "-b", c.addr, "-t", missing)...)
		if !bytes.Contains(talk, []byte(missing)) {
			t.Errorf("%s of a missing topic says %q, want its name", command[0], talk)
		}
	}
	after := c.traces(t, group)
	if !slices.Equal(after.topics, before.topics) {
		t.Errorf("topics %q, before it ran %q", after.topics, before.topics)
	}
	if !slices.Equal(after.groups, before.groups) {
		t.Errorf("groups %q, before it ran %q", after.groups, before.groups)
	}
	if after.offsets != before.offsets {
		t.Errorf("committed offsets %s, before it ran %s", after.offsets, before.offsets)
	}
	if len(before.groups) == 0 || before.offsets == "[]" {
		t.Errorf("traces before %+v: want the other group and its offsets", before)
	}

	// the same question, asked as most clients ask it, creates the topic: so the above shows something
	req := kmsg.NewPtrMetadataRequest()
	asked := kmsg.NewMetadataRequestTopic()
	asked.Topic = &missing
	req.Topics, req.AllowAutoTopicCreation = append(req.Topics, asked), true
	if _, err := c.client(t).Request(t.Context(), req); err != nil {
		t.Fatalf("asking for %s: %v", missing, err)
	}
	c.await(t, missing+" to be created (auto.create.topics.enable)", func() (any, bool) {
		topics := c.traces(t, group).topics
		return topics, slices.Contains(topics, missing)
	})
	if _, err := c.admin.DeleteTopic(t.Context(), missing); err != nil {
		t.Errorf("deleting topic %s: %v", missing, err)
	}
}
