package batch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/segmentio/kafka-go/protocol"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// benchSet returns 1 MiB of records, or 5000 when they compress better, of 12-byte keys and 200-byte values, in batches of
// 16 KiB before compression, Java's default batch.size. Values are JSON with a random id and one of 1000 names.
func benchSet(codec Codec) (set []byte, records int) {
	rng := rand.New(rand.NewPCG(1, 2))
	const perBatch = 72 // records of 223 bytes
	for base := int64(0); len(set) < 1<<20 && base < 5000; base += perBatch {
		b := v2{base: base, lastDelta: -1, count: -1, codec: codec, baseTime: 1_700_000_000_000}
		for i := range perBatch {
			value := make([]byte, 0, 200)
			for len(value) < 200 {
				value = append(value, fmt.Sprintf(`{"id":%08x,"name":"n%03d","state":"active"},`, rng.Uint32(), rng.IntN(1000))...)
			}
			b.records = append(b.records, rec{
				delta: i, time: int64(i),
				key: fmt.Appendf(nil, "user-%07d", rng.IntN(1e7)), value: value[:200],
			})
		}
		set = append(set, b.bytes()...)
		records += perBatch
	}
	return set, records
}

func BenchmarkScan(b *testing.B) {
	for codec := None; codec <= Zstd; codec++ {
		set, records := benchSet(codec)
		run := func(reader string, read func() int) {
			b.Run(fmt.Sprintf("codec=%v/reader=%s", codec, reader), func(b *testing.B) {
				b.SetBytes(int64(len(set)))
				b.ReportAllocs()
				for b.Loop() {
					if n := read(); n != records {
						b.Fatalf("read %d of %d records", n, records)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(records), "ns/record")
			})
		}
		var s Scanner
		run("next", func() (n int) {
			for s.Reset(set, 0, nil, nil); s.NextBatch(); {
				for s.Next() {
					n++
				}
			}
			return n
		})
		dst := make([]Record, 512)
		run("fill", func() (n int) {
			for s.Reset(set, 0, nil, nil); s.NextBatch(); {
				for k := Fill(&s, dst); k > 0; k = Fill(&s, dst) {
					n += k
				}
			}
			return n
		})
		decompressor := kgo.DefaultDecompressor()
		run("franz-go", func() int {
			rp := kmsg.FetchResponseTopicPartition{RecordBatches: set}
			fp, _ := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{}, &rp, decompressor, nil)
			return len(fp.Records)
		})
		run("kafka-go", func() int { return kafkaGoCount(set) })
	}
}

// kafkaGoCount reads a set the way kafka-go's Client.Fetch does.
func kafkaGoCount(set []byte) (n int) {
	var rs protocol.RecordSet
	framed := binary.BigEndian.AppendUint32(nil, uint32(len(set)))
	if _, err := rs.ReadFrom(bytes.NewReader(append(framed, set...))); err != nil {
		return -1
	}
	for {
		_, err := rs.Records.ReadRecord()
		if err == io.EOF {
			return n
		}
		if err != nil {
			return -1
		}
		n++
	}
}
