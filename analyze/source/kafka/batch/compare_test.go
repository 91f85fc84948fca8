package batch

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/segmentio/kafka-go/protocol"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// franzGo reads a set with franz-go's parser, which read-committed clients trust, and returns what the scanner should.
func franzGo(set []byte, from int64, aborted []AbortedTxn, committed bool) ([]Record, int64, error) {
	rp := kmsg.FetchResponseTopicPartition{RecordBatches: set}
	for _, a := range aborted {
		rp.AbortedTransactions = append(rp.AbortedTransactions, kmsg.FetchResponseTopicPartitionAbortedTransaction{
			ProducerID: a.ProducerID, FirstOffset: a.FirstOffset,
		})
	}
	opts := kgo.ProcessFetchPartitionOpts{Offset: from}
	if committed {
		opts.IsolationLevel = kgo.ReadCommitted()
	}
	fp, next := kgo.ProcessFetchPartition(opts, &rp, kgo.DefaultDecompressor(), nil)
	var records []Record
	for _, r := range fp.Records {
		out := Record{Offset: r.Offset, Timestamp: r.Timestamp.UnixMilli(), Key: r.Key, ValueSize: int32(len(r.Value))}
		if r.Value == nil {
			out.ValueSize = -1
		}
		if r.Timestamp.IsZero() { // magic 0
			out.Timestamp = -1
		}
		for _, h := range r.Headers {
			out.HeaderSize += int32(len(h.Key) + len(h.Value))
		}
		records = append(records, out)
	}
	return records, next, fp.Err
}

// TestLikeFranzGo reads a log of all that a log may hold with both, from every offset.
func TestLikeFranzGo(t *testing.T) {
	rich := func(base int64, codec Codec) v2 {
		b := batchOf(base, 60)
		b.codec = codec
		b.records[3].key = nil
		b.records[4].key = []byte{}
		b.records[5].value = nil
		b.records[6].value = []byte{}
		b.records[7].headers = []hdr{{"a", []byte("bc")}, {"", nil}}
		b.records[8].time = -70_000
		b.records = slices.Delete(b.records, 20, 30)
		b.lastDelta = 99
		return b
	}
	appendTime := rich(700, Snappy)
	appendTime.attributes, appendTime.maxTime = appendTimeBit, 123_456
	xerial := rich(800, Snappy)
	xerial.compress = xerialFrame(512)
	log := concat(
		rich(0, None), rich(100, Gzip), rich(200, Snappy), rich(300, LZ4), rich(400, Zstd),
		transactional(rich(500, LZ4), 1), transactional(rich(600, None), 2), appendTime, xerial,
		marker(900, 1, 0), marker(901, 2, 1), v2{base: 902, lastDelta: 7, count: -1}, transactional(rich(910, Zstd), 1), marker(1010, 1, 1),
	)
	aborted := []AbortedTxn{{1, 500}}
	for _, committed := range []bool{true, false} {
		s := Scanner{Options: Options{ReadCommitted: committed}}
		for from := int64(0); from <= 1012; from += 1 + from%7 {
			list := aborted
			if from > 900 { // the broker lists those that reach from
				list = nil
			}
			want, wantNext, err := franzGo(log, from, list, committed)
			if err != nil {
				t.Fatalf("franz-go from %d: %v", from, err)
			}
			s.Reset(log, from, list, nil)
			got := scan(t, &s)
			if s.Err() != nil {
				t.Fatalf("from %d: %v", from, s.Err())
			}
			compareRecords(t, fmt.Sprintf("from %d, committed %v", from, committed), got, want)
			// franz-go does not move past a batch that is emptied at its end; the log's last entry is a marker, so both agree.
			if s.Position() != wantNext {
				t.Errorf("from %d: Position() = %d, franz-go %d", from, s.Position(), wantNext)
			}
		}
	}
}

// TestMessagesLikeFranzGo does the same for magic 0 and 1.
func TestMessagesLikeFranzGo(t *testing.T) {
	var inner0, inner1 []msg
	for i := range int64(20) {
		if i == 4 || i == 11 {
			continue // compacted away
		}
		inner0 = append(inner0, msg{magic: 0, offset: 100 + i, key: fmt.Appendf(nil, "k%d", i), value: []byte("v")})
		inner1 = append(inner1, msg{magic: 1, offset: i, time: 1000 + i, key: fmt.Appendf(nil, "k%d", i)})
	}
	for _, codec := range []Codec{Gzip, Snappy, LZ4} {
		log := concat(
			msg{magic: 0, offset: 7, value: []byte("v")}, msg{magic: 0, offset: 8, key: []byte{}},
			wrap(0, 119, codec, inner0...), wrap(1, 139, codec, inner1...),
			msg{magic: 1, offset: 140, time: 5, key: []byte("k")}, batchOf(141, 3))
		for from := int64(0); from <= 144; from += 3 {
			want, wantNext, err := franzGo(log, from, nil, false)
			if err != nil {
				t.Fatalf("%v, franz-go from %d: %v", codec, from, err)
			}
			var s Scanner
			s.Reset(log, from, nil, nil)
			got := scan(t, &s)
			compareRecords(t, fmt.Sprintf("%v from %d", codec, from), got, want)
			if s.Err() != nil || s.Position() != max(from, wantNext) {
				t.Errorf("%v from %d: Position() = %d, %v, franz-go %d", codec, from, s.Position(), s.Err(), wantNext)
			}
		}
	}
}

// TestKafkaGoWrites reads sets that kafka-go's protocol package wrote.
func TestKafkaGoWrites(t *testing.T) {
	at := time.UnixMilli(1_700_000_000_000)
	var want []Record
	var in []protocol.Record
	for i := range 500 {
		r := protocol.Record{Time: at.Add(time.Duration(i) * time.Millisecond), Value: protocol.NewBytes(make([]byte, i))}
		w := Record{Offset: int64(i), Timestamp: at.UnixMilli() + int64(i), ValueSize: int32(i)}
		if i%3 != 0 {
			w.Key = fmt.Appendf(nil, "key-%d", i)
			r.Key = protocol.NewBytes(w.Key)
		}
		r.Offset = int64(i)
		in = append(in, r)
		want = append(want, w)
	}
	for _, version := range []int8{1, 2} {
		for codec := None; codec <= Zstd; codec++ {
			if codec == Zstd && version == 1 {
				continue
			}
			for _, r := range in { // writing reads the keys and values
				for _, b := range []protocol.Bytes{r.Key, r.Value} {
					if s, ok := b.(io.Seeker); ok {
						if _, err := s.Seek(0, io.SeekStart); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			var buf bytes.Buffer
			rs := protocol.RecordSet{Version: version, Attributes: protocol.Attributes(codec), Records: protocol.NewRecordReader(in...)}
			if _, err := rs.WriteTo(&buf); err != nil {
				t.Fatalf("magic %d, %v: %v", version, codec, err)
			}
			set := buf.Bytes()[4:] // past the size of the set
			if version == 1 && codec != None {
				// A producer leaves the wrapper's offset to the broker; this is what the broker makes of it.
				binary.BigEndian.PutUint64(set, uint64(len(in)-1))
			}
			var s Scanner
			s.Reset(set, 0, nil, nil)
			got := scan(t, &s)
			if s.Err() != nil || s.Position() != int64(len(in)) {
				t.Errorf("magic %d, %v: Position() = %d, %v, want %d", version, codec, s.Position(), s.Err(), len(in))
			}
			compareRecords(t, fmt.Sprintf("magic %d, %v", version, codec), got, want)
		}
	}
}

// TestFranzGoWrites reads what a broker has stored of a franz-go producer's batches, one topic a codec.
func TestFranzGoWrites(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	codecs := []kgo.CompressionCodec{None: kgo.NoCompression(), Gzip: kgo.GzipCompression(), Snappy: kgo.SnappyCompression(), LZ4: kgo.Lz4Compression(), Zstd: kgo.ZstdCompression()}
	for codec, compression := range codecs {
		c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "t"))
		if err != nil {
			t.Fatal(err)
		}
		cl, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.DefaultProduceTopic("t"), kgo.ProducerBatchCompression(compression))
		if err != nil {
			t.Fatal(err)
		}
		var want []Record
		at := time.UnixMilli(1_700_000_000_000)
		for call := range 3 {
			var records []*kgo.Record
			for i := range 200 {
				r := &kgo.Record{Key: fmt.Appendf(nil, "key-%d", i%17), Value: make([]byte, i), Timestamp: at.Add(time.Duration(i) * time.Second)}
				if i%5 == 0 {
					r.Headers = []kgo.RecordHeader{{Key: "trace", Value: []byte("0123456789abcdef")}}
				}
				records = append(records, r)
				want = append(want, Record{int64(call*200 + i), r.Timestamp.UnixMilli(), r.Key, int32(i), 0})
				if i%5 == 0 {
					want[len(want)-1].HeaderSize = 21 // 5+16
				}
			}
			if err := cl.ProduceSync(ctx, records...).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		req := kmsg.NewFetchRequest()
		req.MaxBytes = 10 << 20
		topic := kmsg.NewFetchRequestTopic()
		topic.Topic = "t"
		topic.TopicID = c.TopicInfo("t").TopicID
		part := kmsg.NewFetchRequestTopicPartition()
		part.PartitionMaxBytes = 10 << 20
		topic.Partitions = append(topic.Partitions, part)
		req.Topics = append(req.Topics, topic)
		resp, err := req.RequestWith(ctx, cl)
		if err != nil {
			t.Fatal(err)
		}
		set := resp.Topics[0].Partitions[0].RecordBatches
		var s Scanner
		s.Reset(set, 0, nil, nil)
		got := scan(t, &s)
		if s.Err() != nil || s.Position() != int64(len(want)) || s.Batch().Codec != Codec(codec) {
			t.Errorf("%v: Position() = %d, %v, last batch %v, want %d", Codec(codec), s.Position(), s.Err(), s.Batch().Codec, len(want))
		}
		compareRecords(t, Codec(codec).String(), got, want)
		cl.Close()
		c.Close()
	}
}
