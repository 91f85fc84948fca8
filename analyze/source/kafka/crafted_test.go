package kafka

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"keyspread/analyze/source"
	"keyspread/analyze/source/kafka/batch"
)

// craftedBatch is a record batch to be served, magic 2.
type craftedBatch struct {
	base      int64
	records   []craftedRecord
	lastDelta int32 // -1: of the last record
	miscount  int32 // added to the number of records that the header states
	attrs     int16
	maxTime   int64
	producer  int64
	lz4       bool
	badCRC    bool
}

type craftedRecord struct {
	delta      int32
	timeDelta  int64
	key, value []byte
	headers    []kmsg.Header
}

// plainBatch is a batch of records with consecutive offsets and the given keys.
func plainBatch(base int64, keys ...string) craftedBatch {
	b := craftedBatch{base: base, lastDelta: -1, producer: -1}
	for i, k := range keys {
		b.records = append(b.records, craftedRecord{delta: int32(i), key: []byte(k), value: []byte("v")})
	}
	return b
}

// emptyBatch is what compaction leaves of a batch: the offsets first to last and no records.
func emptyBatch(first, last int64) craftedBatch {
	return craftedBatch{base: first, lastDelta: int32(last - first), producer: -1}
}

const (
	logAppendTime = 0x08
	transactional = 0x10
	control       = 0x20
)

// marker is a transaction marker; kind 0 is abort, 1 commit (Kafka's ControlRecordType).
func marker(at, producer int64, kind byte) craftedBatch {
	return craftedBatch{
		base: at, lastDelta: -1, attrs: transactional | control, producer: producer,
		records: []craftedRecord{{key: []byte{0, 0, 0, kind}, value: make([]byte, 6)}},
	}
}

func (b craftedBatch) last() int64 {
	if b.lastDelta >= 0 {
		return b.base + int64(b.lastDelta)
	}
	return b.base + int64(b.records[len(b.records)-1].delta)
}

// bytes encodes the batch with franz-go's messages, which share no code with the scanner.
func (b craftedBatch) bytes(t testing.TB) []byte {
	t.Helper()
	var body []byte
	for _, r := range b.records {
		k := kmsg.Record{TimestampDelta64: r.timeDelta, OffsetDelta: r.delta, Key: r.key, Value: r.value, Headers: r.headers}
		k.Length = int32(len(k.AppendTo(nil)) - 1) // the length 0 takes one byte itself
		body = k.AppendTo(body)
	}
	attrs := b.attrs
	if b.lz4 {
		var out strings.Builder
		w := lz4.NewWriter(&out)
		if _, err := w.Write(body); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		body = []byte(out.String())
		attrs |= 3 // Kafka's number of lz4
	}
	k := kmsg.RecordBatch{
		FirstOffset: b.base, Magic: 2, Attributes: attrs, LastOffsetDelta: int32(b.last() - b.base),
		MaxTimestamp: b.maxTime, ProducerID: b.producer, FirstSequence: -1, NumRecords: int32(len(b.records)) + b.miscount, Records: body,
	}
	raw := k.AppendTo(nil)
	// Length counts what follows it, the CRC covers what follows it from the attributes on.
	binary.BigEndian.PutUint32(raw[8:], uint32(len(raw)-12))
	crc := crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli))
	if b.badCRC {
		crc++
	}
	binary.BigEndian.PutUint32(raw[17:], crc)
	return raw
}

// craftedTopic is a topic whose Fetch answers are made by the test.
type craftedTopic struct {
	cluster *kfake.Cluster
	logs    map[int32][]craftedBatch
	// answer, when set, changes what is answered for a partition; request counts from 0.
	answer func(request int, asked kmsg.FetchRequestTopicPartition, a *kmsg.FetchResponseTopicPartition)
	whole  func(request int, a *kmsg.FetchResponse) // the same for the answer as a whole
	// perAnswer bounds the batches of a partition in one answer; 0: all.
	perAnswer int
	requests  atomic.Int64
}

// craft makes a one-broker cluster that answers Fetch from logs. set changes the topic before it serves.
func craft(t testing.TB, logs map[int32][]craftedBatch, set ...func(*craftedTopic)) *craftedTopic {
	t.Helper()
	c := &craftedTopic{logs: logs}
	for _, f := range set {
		f(c)
	}
	c.cluster = newCluster(t, 1, kfake.SeedTopics(int32(len(logs)), "crafted"))
	c.cluster.ControlKey(int16(kmsg.Fetch), func(q kmsg.Request) (kmsg.Response, error, bool) {
		c.cluster.KeepControl()
		request := int(c.requests.Add(1)) - 1
		req := q.(*kmsg.FetchRequest)
		answer := req.ResponseKind().(*kmsg.FetchResponse)
		for _, rt := range req.Topics {
			at := kmsg.NewFetchResponseTopic()
			at.Topic = rt.Topic
			for _, rp := range rt.Partitions {
				ap := kmsg.NewFetchResponseTopicPartition()
				ap.Partition = rp.Partition
				ap.RecordBatches = c.set(t, rp)
				if c.answer != nil {
					c.answer(request, rp, &ap)
				}
				at.Partitions = append(at.Partitions, ap)
			}
			answer.Topics = append(answer.Topics, at)
		}
		if c.whole != nil {
			c.whole(request, answer)
		}
		return answer, nil, true
	})
	return c
}

// set returns the batches from the one that holds the offset asked for on.
func (c *craftedTopic) set(t testing.TB, asked kmsg.FetchRequestTopicPartition) []byte {
	set, n := []byte{}, 0
	for _, b := range c.logs[asked.Partition] {
		if b.last() < asked.FetchOffset || c.perAnswer > 0 && n == c.perAnswer {
			continue
		}
		set = append(set, b.bytes(t)...)
		n++
	}
	return set
}

// end is the offset after a log's last batch.
func (c *craftedTopic) end(partition int32) int64 {
	log := c.logs[partition]
	return log[len(log)-1].last() + 1
}

// read reads the spans, or without any the whole logs, with a plan made by hand.
func (c *craftedTopic) read(t testing.TB, config Config, spans ...source.Span) ([]source.Coverage, *delivered, error) {
	t.Helper()
	s := newSource(t, config)
	plan, err := s.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	plan.Spans = spans
	if len(spans) == 0 {
		for p := range int32(len(c.logs)) {
			plan.Spans = append(plan.Spans, source.Span{Partition: p, End: c.end(p)})
		}
	}
	d := newDelivered()
	coverage, err := s.Read(t.Context(), plan, d)
	for _, e := range d.errs {
		t.Error(e)
	}
	return coverage, d, err
}

func (c *craftedTopic) config() Config { return testConfig(c.cluster, "crafted") }

func one(log ...craftedBatch) map[int32][]craftedBatch { return map[int32][]craftedBatch{0: log} }

func TestReadCraftedBatches(t *testing.T) {
	t.Parallel()
	compacted := plainBatch(0, "a", "b", "c")
	compacted.records[2].delta = 4
	compacted.lastDelta = 9
	compactedLZ4 := compacted
	compactedLZ4.lz4 = true
	aborted := plainBatch(2, "x", "y")
	aborted.attrs, aborted.producer = transactional, 7
	committed := plainBatch(5, "k")
	committed.attrs, committed.producer = transactional, 8
	txns := []craftedBatch{plainBatch(0, "a", "b"), aborted, marker(4, 7, 0), committed, marker(6, 8, 1), plainBatch(7, "z")}

	for _, test := range []struct {
		name        string
		log         []craftedBatch
		perAnswer   int
		isolation   source.Isolation
		abortedList []kmsg.FetchResponseTopicPartitionAbortedTransaction
		span        source.Span
		want        []int64
		control     int64
		aborted     int64
	}{
		{name: "whole log", log: []craftedBatch{plainBatch(0, "a", "b"), plainBatch(2, "c")}, want: []int64{0, 1, 2}},
		{name: "start inside a batch", log: []craftedBatch{plainBatch(0, "a", "b", "c")}, span: source.Span{Start: 1, End: 3}, want: []int64{1, 2}},
		{name: "end inside a batch", log: []craftedBatch{plainBatch(0, "a", "b", "c")}, span: source.Span{Start: 0, End: 2}, want: []int64{0, 1}},
		{name: "end inside a gap", log: []craftedBatch{compacted, plainBatch(10, "d")}, span: source.Span{Start: 0, End: 7}, want: []int64{0, 1, 4}},
		{name: "gaps of compaction", log: []craftedBatch{compacted, plainBatch(10, "d")}, perAnswer: 1, want: []int64{0, 1, 4, 10}},
		{name: "gaps at the very end", log: []craftedBatch{compacted}, perAnswer: 1, want: []int64{0, 1, 4}},
		{name: "gaps of compaction, lz4", log: []craftedBatch{compactedLZ4, plainBatch(10, "d")}, perAnswer: 1, want: []int64{0, 1, 4, 10}},
		{name: "gaps at the very end, lz4", log: []craftedBatch{compactedLZ4}, want: []int64{0, 1, 4}},
		{name: "gap between batches", log: []craftedBatch{plainBatch(0, "a"), plainBatch(50, "b")}, perAnswer: 1, want: []int64{0, 50}},
		{name: "one empty batch alone", log: []craftedBatch{plainBatch(0, "a"), emptyBatch(1, 4), plainBatch(5, "b")}, perAnswer: 1, want: []int64{0, 5}},
		{name: "an empty batch at the end", log: []craftedBatch{plainBatch(0, "a"), emptyBatch(1, 4)}, want: []int64{0}},
		{name: "three empty batches", log: []craftedBatch{emptyBatch(0, 0), emptyBatch(1, 3), emptyBatch(4, 8), plainBatch(9, "b")}, want: []int64{9}},
		{
			name: "transactions, uncommitted", log: txns, isolation: source.ReadUncommitted,
			want: []int64{0, 1, 2, 3, 5, 7}, control: 2,
		},
		{
			name: "transactions, committed", log: txns, want: []int64{0, 1, 5, 7}, control: 2, aborted: 2,
			abortedList: []kmsg.FetchResponseTopicPartitionAbortedTransaction{{ProducerID: 7, FirstOffset: 2}},
		},
		{
			name: "transactions, committed, one batch an answer", log: txns, perAnswer: 1, want: []int64{0, 1, 5, 7}, control: 2, aborted: 2,
			abortedList: []kmsg.FetchResponseTopicPartitionAbortedTransaction{{ProducerID: 7, FirstOffset: 2}},
		},
		{
			name: "end inside an aborted batch", log: txns, span: source.Span{Start: 0, End: 3}, want: []int64{0, 1}, aborted: 1,
			abortedList: []kmsg.FetchResponseTopicPartitionAbortedTransaction{{ProducerID: 7, FirstOffset: 2}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := craft(t, one(test.log...), func(c *craftedTopic) {
				c.perAnswer = test.perAnswer
				c.answer = func(_ int, asked kmsg.FetchRequestTopicPartition, a *kmsg.FetchResponseTopicPartition) {
					if asked.FetchOffset <= 4 { // the abort marker's offset: later answers do not touch the transaction
						a.AbortedTransactions = test.abortedList
					}
				}
			})
			config := c.config()
			config.Isolation = test.isolation
			var spans []source.Span
			if test.span != (source.Span{}) {
				spans = append(spans, test.span)
			}
			coverage, d, err := c.read(t, config, spans...)
			if err != nil {
				t.Fatal(err)
			}
			wantComplete(t, coverage)
			if got := d.offsets(0); !slices.Equal(got, test.want) {
				t.Errorf("offsets %v, want %v", got, test.want)
			}
			if d.control != test.control || d.aborted != test.aborted {
				t.Errorf("%d control and %d aborted records, want %d and %d", d.control, d.aborted, test.control, test.aborted)
			}
		})
	}
}

func TestReadTellsNullFromEmpty(t *testing.T) {
	t.Parallel()
	b := craftedBatch{base: 0, lastDelta: -1, producer: -1, records: []craftedRecord{
		{delta: 0, key: nil, value: []byte("abc")},
		{delta: 1, key: []byte{}, value: []byte{}},
		{delta: 2, key: []byte("k"), value: nil},
		{delta: 3, key: nil, value: nil, headers: []kmsg.Header{{Key: "h1", Value: []byte("12345")}, {Key: "h", Value: nil}}},
	}}
	_, d, err := craft(t, one(b)).readPlain(t)
	if err != nil {
		t.Fatal(err)
	}
	want := []record{
		{Offset: 0, Null: true, Value: 3},
		{Offset: 1, Value: 0},
		{Offset: 2, Key: "k", Value: -1},
		{Offset: 3, Null: true, Value: -1, Header: 8}, // "h1" and 5 bytes, "h" and none
	}
	if got := d.records[0]; !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func (c *craftedTopic) readPlain(t testing.TB) ([]source.Coverage, *delivered, error) {
	t.Helper()
	return c.read(t, c.config())
}

func TestReadLogAppendTime(t *testing.T) {
	t.Parallel()
	first := plainBatch(0, "a", "b")
	first.attrs, first.maxTime = logAppendTime, 1_700_000_000_000
	second := plainBatch(2, "c")
	second.maxTime = 5
	second.records[0].timeDelta = 5
	_, d, err := craft(t, one(first, second)).readPlain(t)
	if err != nil {
		t.Fatal(err)
	}
	var times []int64
	for _, r := range d.records[0] {
		times = append(times, r.Timestamp)
	}
	if want := []int64{1_700_000_000_000, 1_700_000_000_000, 5}; !slices.Equal(times, want) {
		t.Errorf("timestamps %v, want %v", times, want)
	}
	if d.stamps[source.LogAppendTime] != 2 || d.stamps[source.CreateTime] != 1 {
		t.Errorf("records by timestamp type %v, want 2 LogAppendTime and 1 CreateTime", d.stamps)
	}
}

func TestReadCorruptBatchStopsOnlyItsPartition(t *testing.T) {
	t.Parallel()
	crc := plainBatch(3, "bad")
	crc.badCRC = true
	negative := plainBatch(3, "bad")
	negative.miscount = -2 // 1 record, stated as -1
	for _, test := range []struct {
		name string
		log  []craftedBatch
		want string
	}{
		{name: "CRC", log: []craftedBatch{plainBatch(0, "a", "b", "c"), crc, plainBatch(4, "d")}, want: "checksum"},
		{name: "count -1", log: []craftedBatch{plainBatch(0, "a", "b", "c"), negative, plainBatch(4, "d")}, want: "corrupt"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := craft(t, map[int32][]craftedBatch{0: test.log, 1: {plainBatch(0, "o"), plainBatch(1, "p")}})
			coverage, d, err := c.read(t, c.config(), source.Span{Partition: 0, End: 5}, source.Span{Partition: 1, End: 2})
			if err != nil {
				t.Fatalf("Read: %v, want the error in the partition's coverage only", err)
			}
			if got, want := d.offsets(0), []int64{0, 1, 2}; !slices.Equal(got, want) {
				t.Errorf("partition 0: offsets %v, want %v", got, want)
			}
			if got, want := d.offsets(1), []int64{0, 1}; !slices.Equal(got, want) {
				t.Errorf("partition 1: offsets %v, want %v", got, want)
			}
			if !coverage[1].Complete() {
				t.Errorf("partition 1: coverage %+v, want complete", coverage[1])
			}
			bad := coverage[0]
			if bad.Err == nil || !strings.Contains(bad.Err.Error(), test.want) || !strings.Contains(bad.Err.Error(), "offset 3") {
				t.Errorf("partition 0: error %v, want one with %q and offset 3", bad.Err, test.want)
			}
			if bad.Position != 3 || bad.Read != 3 || bad.Asked != 5 {
				t.Errorf("partition 0: coverage %+v, want position 3, read 3 of 5", bad)
			}
		})
	}
}

// The answer after the one with the corrupt batch is on its way already when the batch is met.
func TestReadCorruptBatchWithTheNextRequestUnderWay(t *testing.T) {
	t.Parallel()
	crc := plainBatch(1, "bad")
	crc.badCRC = true
	logs := map[int32][]craftedBatch{0: {plainBatch(0, "a"), crc, plainBatch(2, "c"), plainBatch(3, "d"), plainBatch(4, "e")}}
	var want []int64
	for i := range int64(10) {
		logs[1] = append(logs[1], plainBatch(i, "o"))
		want = append(want, i)
	}
	c := craft(t, logs, func(c *craftedTopic) { c.perAnswer = 1 })
	config := c.config()
	config.Connections = 1
	coverage, d, err := c.read(t, config)
	if err != nil {
		t.Fatal(err)
	}
	if got := d.offsets(0); !slices.Equal(got, []int64{0}) || coverage[0].Position != 1 || coverage[0].Err == nil {
		t.Errorf("partition 0: offsets %v and coverage %+v, want offset 0, position 1 and an error", got, coverage[0])
	}
	if got := d.offsets(1); !slices.Equal(got, want) || !coverage[1].Complete() {
		t.Errorf("partition 1: offsets %v and coverage %+v, want %v, complete", got, coverage[1], want)
	}
}

func TestReadCutOffBatch(t *testing.T) {
	t.Parallel()
	log := []craftedBatch{plainBatch(0, "a", "b"), plainBatch(2, "c"), plainBatch(3, "d")}
	c := craft(t, one(log...), func(c *craftedTopic) {
		c.answer = func(request int, _ kmsg.FetchRequestTopicPartition, a *kmsg.FetchResponseTopicPartition) {
			if request == 0 {
				a.RecordBatches = a.RecordBatches[:len(a.RecordBatches)-20]
			}
		}
	})
	coverage, d, err := c.readPlain(t)
	if err != nil {
		t.Fatal(err)
	}
	wantComplete(t, coverage)
	if got, want := d.offsets(0), []int64{0, 1, 2, 3}; !slices.Equal(got, want) {
		t.Errorf("offsets %v, want %v", got, want)
	}
}

// A broker that obeys PartitionMaxBytes to the byte sends the beginning of a batch only; asking for more is the way on.
func TestReadAsksForMoreWhenABatchDoesNotFit(t *testing.T) {
	t.Parallel()
	big := plainBatch(0, strings.Repeat("k", 300_000))
	c := craft(t, one(big, plainBatch(1, "b")), func(c *craftedTopic) {
		c.answer = func(_ int, asked kmsg.FetchRequestTopicPartition, a *kmsg.FetchResponseTopicPartition) {
			a.RecordBatches = a.RecordBatches[:min(len(a.RecordBatches), int(asked.PartitionMaxBytes))]
		}
	})
	config := c.config()
	config.PartitionMaxBytes = 16 << 10
	coverage, d, err := c.read(t, config)
	if err != nil {
		t.Fatal(err)
	}
	wantComplete(t, coverage)
	if got, want := d.offsets(0), []int64{0, 1}; !slices.Equal(got, want) {
		t.Errorf("offsets %v, want %v", got, want)
	}
	// One answer that is too small, one with the first batch, at most one for the second and one asked for in advance.
	if n := c.requests.Load(); n > 4 {
		t.Errorf("%d requests, want at most 4", n)
	}
}

func TestReadGivesUpWhenTheBrokerSendsNothing(t *testing.T) {
	t.Parallel()
	c := craft(t, one(plainBatch(0, "a", "b")))
	config := c.config()
	config.RetryFor = 300_000_000 // 300 ms
	coverage, d, err := c.read(t, config, source.Span{End: 10})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := d.offsets(0), []int64{0, 1}; !slices.Equal(got, want) {
		t.Errorf("offsets %v, want %v", got, want)
	}
	if e := coverage[0].Err; e == nil || !strings.Contains(e.Error(), "offset 2") {
		t.Errorf("error %v, want one that names offset 2", e)
	}
	if coverage[0].Read != 2 || coverage[0].Asked != 10 {
		t.Errorf("coverage %+v, want read 2 of 10", coverage[0])
	}
}

func TestReadSeveralSpans(t *testing.T) {
	t.Parallel()
	var log []craftedBatch
	for i := range int64(50) {
		log = append(log, plainBatch(2*i, "a", "b"))
	}
	for _, perAnswer := range []int{1, 3, 0} {
		c := craft(t, one(log...), func(c *craftedTopic) { c.perAnswer = perAnswer })
		coverage, d, err := c.read(t, c.config(),
			source.Span{Start: 1, End: 4}, source.Span{Start: 4, End: 5}, source.Span{Start: 40, End: 43}, source.Span{Start: 99, End: 100})
		if err != nil {
			t.Fatal(err)
		}
		wantComplete(t, coverage)
		if got, want := d.offsets(0), []int64{1, 2, 3, 4, 40, 41, 42, 99}; !slices.Equal(got, want) {
			t.Errorf("%d batches an answer: offsets %v, want %v", perAnswer, got, want)
		}
		if coverage[0].Asked != 8 || coverage[0].Read != 8 || coverage[0].Position != 100 {
			t.Errorf("%d batches an answer: coverage %+v, want 8 of 8 and position 100", perAnswer, coverage[0])
		}
	}
}

// Batches that decompress to much are read one at a time over all connections, and those of an absurd size not at all.
func TestReadLargeCompressedBatches(t *testing.T) {
	t.Parallel()
	large := func(base int64, bytes int) craftedBatch {
		b := plainBatch(base, "a", "b")
		b.lz4 = true
		b.records[0].value = make([]byte, bytes)
		return b
	}
	log := []craftedBatch{large(0, 20<<20), large(2, 20<<20), plainBatch(4, "c")}
	bomb := []craftedBatch{plainBatch(0, "a"), large(1, maxBatchBytes), plainBatch(3, "c")}
	c := craft(t, map[int32][]craftedBatch{0: log, 1: log, 2: bomb, 3: bomb})
	config := c.config()
	config.Connections = 4
	coverage, d, err := c.read(t, config)
	if err != nil {
		t.Fatal(err)
	}
	for p := range int32(2) {
		if got, want := d.offsets(p), []int64{0, 1, 2, 3, 4}; !slices.Equal(got, want) || !coverage[p].Complete() {
			t.Errorf("partition %d: offsets %v and coverage %+v, want %v, complete", p, got, coverage[p], want)
		}
	}
	for p := int32(2); p < 4; p++ {
		if got := d.offsets(p); !slices.Equal(got, []int64{0}) || coverage[p].Position != 1 {
			t.Errorf("partition %d: offsets %v and coverage %+v, want offset 0 and position 1", p, got, coverage[p])
		}
		if e := coverage[p].Err; !errors.Is(e, batch.ErrTooLarge) || !strings.Contains(e.Error(), "at offset 1") {
			t.Errorf("partition %d: error %v, want one of a batch too large at offset 1", p, e)
		}
	}
}
