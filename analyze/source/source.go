// Package source defines what every reader of records delivers: a [Plan] of the offsets to read, [Batch]es of
// [Record]s in offset order, and [Coverage] that says what was read of what was asked.
//
// It holds no reader itself and imports none; see its sub-packages.
package source

import "context"

// Record is one entry of a partition, without its value: keyspread needs the value's size only.
//
// Key is nil for a null key and non-nil with length 0 for an empty key; the two place differently in most clients.
// Key aliases the reader's buffer and is valid until the [Sink] that received it returns.
type Record struct {
	Offset     int64
	Timestamp  int64  // milliseconds since the Unix epoch, UTC; -1 when the record has none (magic 0)
	Key        []byte // nil: null key
	ValueSize  int32  // bytes; -1: null value (a tombstone when keyed)
	HeaderSize int32  // bytes of header keys and header values
}

// TimestampType says who set a record's timestamp.
type TimestampType uint8

// The timestamp types of Kafka's record batches.
const (
	CreateTime    TimestampType = iota // the producer
	LogAppendTime                      // the broker; all records of a batch share it
)

// String returns Kafka's name of the type.
func (t TimestampType) String() string {
	if t == LogAppendTime {
		return "LogAppendTime"
	}
	return "CreateTime"
}

// Batch is a run of records of one partition, in offset order, that follows the batch delivered before it.
// Records may be empty: a batch then only moves the position (control records, aborted records, compacted offsets).
// Its slices belong to the reader and are valid until the [Sink] returns.
//
// A source whose records have neither a time nor an order, a file of keys, may count equal ones and hand them on once:
// Records[i] then stands for Counts[i] >= 1 records like it, the first of them at its Offset and the others at the ones
// that follow. None of them has a Timestamp.
type Batch struct {
	Partition      int32
	Next           int64 // position after this batch: every offset of the span below it is settled
	Records        []Record
	Counts         []int64 // see below; nil: each of Records stands for itself
	TimestampType  TimestampType
	LeaderEpoch    int32 // of the batch; -1 when unknown
	ControlRecords int64 // transaction markers passed on the way
	AbortedRecords int64 // records of aborted transactions left out (read_committed) on the way
	WireBytes      int64 // bytes as stored (compressed, with batch headers)

	// Assigned is how many of the records the source has put into this partition by itself, as what it reads names none:
	// where they are says nothing of who wrote them.
	Assigned int64
}

// Count is how many records Records[i] stands for.
func (b *Batch) Count(i int) int64 {
	if b.Counts == nil {
		return 1
	}
	return b.Counts[i]
}

// Sink takes batches. A reader calls it for several partitions at once, but for one partition never at the same time
// and always in offset order, so a Sink may keep state per partition without a lock. An error stops the whole read.
type Sink interface {
	Batch(b *Batch) error
}

// SinkFunc makes a function a [Sink].
type SinkFunc func(b *Batch) error

// Batch calls f(b).
func (f SinkFunc) Batch(b *Batch) error { return f(b) }

// Isolation is the consumer's view of transactions.
type Isolation uint8

// The isolation levels of Kafka's consumer.
const (
	ReadCommitted   Isolation = iota // end is the last stable offset; aborted records are left out
	ReadUncommitted                  // end is the high watermark; every data record is delivered
)

// String returns Kafka's configuration value.
func (i Isolation) String() string {
	if i == ReadUncommitted {
		return "read_uncommitted"
	}
	return "read_committed"
}

// Span is the half-open range of offsets [Start, End) of one partition. Its length is not a record count: compaction,
// control records and aborted records leave gaps.
type Span struct {
	Partition  int32
	Start, End int64
}

// Partition is what is known of one partition before the first record is read.
type Partition struct {
	ID               int32
	LogStartOffset   int64
	HighWatermark    int64 // -1: not asked for
	LastStableOffset int64 // -1: not asked for (read_uncommitted)
	Leader           int32 // broker id; -1: none
	DiskBytes        int64 // of the leader's log, compressed as stored; 0: not known
	Err              error // why this partition cannot be read; nil otherwise
}

// Plan fixes what a run reads. Ends are fixed here, before the first record, so that a run on a live topic is finite.
type Plan struct {
	Topic         string
	NumPartitions int         // all partitions of the topic, those left out of the run included
	Partitions    []Partition // those of the run, by ID
	Spans         []Span      // by Partition, then Start; disjoint; none empty
	Isolation     Isolation
	Range         string   // the range as the user asked for it, for the report: "earliest..latest", "tail 1000", …
	Notes         []string // what could not be learnt and is no error, such as sizes on disk the user may not see

	// EndUnknown says that spans end where the source ends at the latest: only a read to its end tells how many records
	// it has, and where a [Coverage] says that it stopped is then the end of what was asked for.
	EndUnknown bool
}

// assumedSize is taken for an offset whose partition's size on disk is not known: a small record, compressed or not.
const assumedSize = 256

// DiskBytes is about what the plan's spans take on disk: each partition's log in proportion to the offsets asked for,
// or 256 bytes an offset where the cluster does not tell.
func (p *Plan) DiskBytes() int64 {
	asked := make(map[int32]float64, len(p.Partitions))
	for _, s := range p.Spans {
		asked[s.Partition] += float64(s.End - s.Start)
	}
	var total float64
	for _, part := range p.Partitions {
		end := max(part.HighWatermark, part.LastStableOffset)
		if held := end - part.LogStartOffset; part.DiskBytes > 0 && held > 0 {
			total += float64(part.DiskBytes) * min(1, asked[part.ID]/float64(held))
		} else {
			total += assumedSize * asked[part.ID]
		}
	}
	return int64(total)
}

// Coverage says what was read of one partition.
type Coverage struct {
	Partition int32
	Asked     int64 // offsets asked for: sum of End-Start over the partition's spans; -1: not known, see [Plan].EndUnknown
	Read      int64 // offsets settled of them
	Position  int64 // next offset that would be read
	Lost      int64 // offsets that retention removed before they could be read; not in Read
	Err       error // why the partition is incomplete; nil when Read+Lost == Asked
}

// Complete reports whether every offset asked for was settled.
func (c Coverage) Complete() bool { return c.Err == nil && c.Lost == 0 && c.Read == c.Asked }

// Source is a topic, or what stands for one.
//
// Plan fails when nothing can be read at all (unknown topic, no broker reached); a single partition's trouble is that
// [Partition]'s Err.
//
// Read delivers every record of the plan's spans to the sink and returns one Coverage per partition of the plan, by
// partition. It goes on with the other partitions when one fails. Its error is the sink's, the context's, or one that
// concerns every partition; the coverage is valid in each case, so nothing already learnt is lost.
type Source interface {
	Plan(ctx context.Context) (*Plan, error)
	Read(ctx context.Context, p *Plan, sink Sink) ([]Coverage, error)
}
