package kafka

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"keyspread/analyze/source"
	"keyspread/analyze/source/kafka/batch"
)

// sampleAnswer is a Fetch answer with every kind of field, of a version from 4 to 11.
func sampleAnswer(version int16) *kmsg.FetchResponse {
	r := &kmsg.FetchResponse{Version: version, ThrottleMillis: 17}
	first := kmsg.FetchResponseTopicPartition{
		Partition: 3, HighWatermark: 100, LastStableOffset: 90, LogStartOffset: -1, PreferredReadReplica: -1,
		AbortedTransactions: []kmsg.FetchResponseTopicPartitionAbortedTransaction{{ProducerID: 5, FirstOffset: 6}, {ProducerID: 7, FirstOffset: 8}},
		RecordBatches:       []byte("records"),
	}
	second := kmsg.FetchResponseTopicPartition{Partition: 4, ErrorCode: 6, HighWatermark: -1, LastStableOffset: -1, LogStartOffset: -1, PreferredReadReplica: -1}
	if version >= 5 {
		first.LogStartOffset = 12
	}
	if version >= 7 {
		r.ErrorCode, r.SessionID = 70, 1234
	}
	if version >= 11 {
		second.PreferredReadReplica = 2
	}
	r.Topics = []kmsg.FetchResponseTopic{{Topic: "t", Partitions: []kmsg.FetchResponseTopicPartition{first, second}}}
	return r
}

func TestParseAnswer(t *testing.T) {
	t.Parallel()
	for version := int16(4); version <= 11; version++ {
		want := sampleAnswer(version)
		body := want.AppendTo(nil)
		var a answer
		if err := a.parse(body, version, "t"); err != nil {
			t.Errorf("v%d: %v", version, err)
			continue
		}
		sameAnswer(t, &a, want)
		// Whatever is missing at the end, nothing is accepted; nor is anything added.
		for n := range body {
			if err := a.parse(body[:n], version, "t"); err == nil {
				t.Errorf("v%d: the first %d of %d bytes are accepted", version, n, len(body))
			}
		}
		if err := a.parse(append(slices.Clone(body), 0), version, "t"); err == nil {
			t.Errorf("v%d: a byte too many is accepted", version)
		}
		if err := a.parse(body, version, "u"); err == nil {
			t.Errorf("v%d: the answer for another topic is accepted", version)
		}
	}
}

// sameAnswer fails the test unless a says what franz-go's decoder says.
func sameAnswer(t testing.TB, a *answer, want *kmsg.FetchResponse) {
	t.Helper()
	if a.throttleMillis != want.ThrottleMillis || a.err != Code(want.ErrorCode) {
		t.Errorf("v%d: throttle %d and error %d, want %d and %d", want.Version, a.throttleMillis, a.err, want.ThrottleMillis, want.ErrorCode)
	}
	var parts []kmsg.FetchResponseTopicPartition
	for _, topic := range want.Topics {
		parts = append(parts, topic.Partitions...)
	}
	if len(a.parts) != len(parts) {
		t.Fatalf("v%d: %d partitions, want %d", want.Version, len(a.parts), len(parts))
	}
	for i, p := range parts {
		got := a.parts[i]
		if got.partition != p.Partition || got.err != Code(p.ErrorCode) || got.highWatermark != p.HighWatermark ||
			got.lastStableOffset != p.LastStableOffset || !bytes.Equal(got.set, p.RecordBatches) {
			t.Errorf("v%d: partition %+v, want %+v", want.Version, got, p)
		}
		if want.Version >= 5 && got.logStartOffset != p.LogStartOffset || want.Version >= 11 && got.preferredReplica != p.PreferredReadReplica {
			t.Errorf("v%d: log start %d and replica %d, want %d and %d", want.Version, got.logStartOffset, got.preferredReplica, p.LogStartOffset, p.PreferredReadReplica)
		}
		var txns []batch.AbortedTxn
		for _, x := range p.AbortedTransactions {
			txns = append(txns, batch.AbortedTxn{ProducerID: x.ProducerID, FirstOffset: x.FirstOffset})
		}
		if got := a.aborted[got.abortedFrom:got.abortedTo]; !slices.Equal(got, txns) {
			t.Errorf("v%d: aborted %v, want %v", want.Version, got, txns)
		}
	}
}

// FuzzParseAnswer holds for any body and version:
//   - no panic, and no more memory than a small multiple of the body;
//   - what is accepted, franz-go's decoder accepts too, and says the same;
//   - record sets lie inside the body.
func FuzzParseAnswer(f *testing.F) {
	for version := int16(4); version <= 11; version++ {
		f.Add(sampleAnswer(version).AppendTo(nil), version)
	}
	f.Add([]byte{0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff}, int16(4))
	f.Fuzz(func(t *testing.T, body []byte, version int16) {
		version = 4 + (version%8+8)%8
		var a answer
		if err := a.parse(body, version, "t"); err != nil {
			return
		}
		// A partition's answer takes at least 30 bytes, an aborted transaction 16.
		if len(a.parts) > len(body)/30 || len(a.aborted) > len(body)/16 {
			t.Fatalf("%d partitions and %d transactions in %d bytes", len(a.parts), len(a.aborted), len(body))
		}
		total := 0
		for _, p := range a.parts {
			total += len(p.set)
		}
		if total > len(body) {
			t.Fatalf("%d bytes of records in %d bytes", total, len(body))
		}
		want := kmsg.FetchResponse{Version: version}
		if err := want.ReadFrom(body); err != nil {
			t.Fatalf("accepted, but franz-go says %v", err)
		}
		sameAnswer(t, &a, &want)
	})
}

func TestReadFrame(t *testing.T) {
	t.Parallel()
	long := append([]byte{0, 0x60, 0, 0}, make([]byte, 0x600000)...) // 6 MiB, more than one step
	for _, test := range []struct {
		name  string
		in    []byte
		limit int
		want  string // in the error; "": none
	}{
		{"small", []byte{0, 0, 0, 5, 1, 2, 3, 4, 5}, 5, ""},
		{"several steps", long, 8 << 20, ""},
		{"over the limit", []byte{0, 0, 0, 6, 1, 2, 3, 4, 5, 6}, 5, "not a Kafka listener"},
		{"too small", []byte{0, 0, 0, 3, 1, 2, 3}, 5, "not a Kafka listener"},
		{"negative", []byte{0xff, 0xff, 0xff, 0xff, 1, 2, 3}, 5, "not a Kafka listener"},
		{"cut off", []byte{0, 0, 0, 5, 1, 2}, 5, "unexpected EOF"},
		{"nothing", nil, 5, "EOF"},
		{"TLS alert", []byte{0x15, 3, 1, 0, 2, 2, 40}, 1 << 30, "TLS"},
		{"lying about 1 GB", []byte{0x3f, 0xff, 0xff, 0xff, 1, 2}, maxFetchFrame, "unexpected EOF"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			frame, err := readFrame(iotest.HalfReader(bytes.NewReader(test.in)), nil, test.limit)
			if cap(frame) > 2*readStep+len(test.in) {
				t.Errorf("buffer of %d bytes for %d that came", cap(frame), len(test.in))
			}
			switch {
			case test.want != "":
				wantError(t, err, test.want)
			case err != nil || !bytes.Equal(frame, test.in):
				t.Errorf("%d bytes, %v, want the %d that came", len(frame), err, len(test.in))
			}
		})
	}
	if _, err := readFrame(iotest.ErrReader(io.ErrClosedPipe), nil, 10); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error %v, want the reader's", err)
	}
}

func TestBucket(t *testing.T) {
	t.Parallel()
	b := bucket{rate: 1000}
	now := time.Unix(100, 0)
	at := func(ms int) time.Time { return now.Add(time.Duration(ms) * time.Millisecond) }
	if got := b.wait(now); got != 0 {
		t.Errorf("nothing received: wait %v, want none", got)
	}
	b.pay(500, now) // half a second's worth
	b.pay(250, at(100))
	for _, test := range []struct{ ms, want int }{{100, 650}, {700, 50}, {750, 0}, {2000, 0}} {
		if got, want := b.wait(at(test.ms)), time.Duration(test.want)*time.Millisecond; got != want {
			t.Errorf("after %d ms: wait %v, want %v", test.ms, got, want)
		}
	}
	b.pay(100, at(5000)) // the pause before is not saved up
	if got, want := b.wait(at(5000)), 100*time.Millisecond; got != want {
		t.Errorf("after a pause: wait %v, want %v", got, want)
	}
	unlimited := bucket{}
	unlimited.pay(1e9, now)
	if got := unlimited.wait(now); got != 0 {
		t.Errorf("without a rate: wait %v, want none", got)
	}
	for _, test := range []struct {
		rate        int64
		connections int
		want        int32
	}{{0, 1, 1 << 20}, {100 << 20, 1, 1 << 20}, {2_000_000, 1, 200_000}, {2_000_000, 4, 50_000}, {1000, 1, 16 << 10}} {
		if got := (&bucket{rate: test.rate}).answerBytes(1<<20, test.connections); got != test.want {
			t.Errorf("rate %d over %d connections: answers of %d bytes, want %d", test.rate, test.connections, got, test.want)
		}
	}
}

func TestConnections(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		load map[int32]int
		want int
		get  map[int32]int
	}{
		{"one broker", map[int32]int{1: 12}, 4, map[int32]int{1: 4}},
		{"few partitions", map[int32]int{1: 2}, 4, map[int32]int{1: 2}},
		{"more brokers than wanted", map[int32]int{1: 5, 2: 5, 3: 5}, 2, map[int32]int{1: 1, 2: 1, 3: 1}},
		{"by load", map[int32]int{1: 2, 2: 9}, 4, map[int32]int{1: 1, 2: 3}},
		{"ties go to the smaller id", map[int32]int{2: 4, 1: 4}, 3, map[int32]int{1: 2, 2: 1}},
		{"none", nil, 4, map[int32]int{}},
	} {
		got := connections(test.load, test.want)
		for id := range test.load {
			if got[id] != test.get[id] {
				t.Errorf("%s: %v, want %v", test.name, got, test.get)
				break
			}
		}
	}
}

func TestScanAllocatesNothingPerRecord(t *testing.T) {
	keys := strings.Fields(strings.Repeat("some-key ", 2000))
	for _, compressed := range []bool{false, true} {
		var set []byte
		for i := range int64(5) {
			b := plainBatch(2000*i, keys...)
			b.lz4 = compressed
			set = append(set, b.bytes(t)...)
		}
		records := 0
		f := &fetcher{
			r: &read{sink: source.SinkFunc(func(b *source.Batch) error {
				records += len(b.Records)
				return nil
			})},
			records: make([]source.Record, recordsPerBatch),
		}
		spans := []source.Span{{End: 10_000}}
		p := newPartition(0, spans, 1<<20)
		w := &ready{p: p, set: set}
		scan := func() {
			p.span, p.position = 0, 0
			if _, _, err := f.scan(w); err != nil || !p.done() {
				t.Fatalf("scan: %v, done %v", err, p.done())
			}
		}
		scan() // warm the scanner's buffers
		records = 0
		const runs = 10
		if allocs := testing.AllocsPerRun(runs, scan); allocs > 0 {
			t.Errorf("compressed %v: %v allocations for 10,000 records, want none", compressed, allocs)
		}
		if want := 10_000 * (runs + 1); records != want { // AllocsPerRun runs once more to warm up
			t.Errorf("compressed %v: %d records, want %d", compressed, records, want)
		}
	}
}
