// Package batch reads the record sets of Kafka: what a Fetch answer holds for one partition, and what a log segment
// file holds on disk. It does no I/O.
//
// A record set is a run of entries in offset order. An entry is a record batch (magic 2, since Kafka 0.11) or a message
// of the older formats (magic 1 and 0), whose value is itself a set of messages when it is compressed; a set may mix them.
// One entry of any format is called a batch here.
//
//	base offset   int64                       last offset for a compressed message of magic 0 and 1
//	length        int32                       of all that follows
//	leader epoch  int32   magic 2             crc int32 for magic 0 and 1
//	magic         int8
//
// The pipeline is
//
//	Walk          how far a set reaches, from the headers alone
//	Reset         point a Scanner at a set and at the first offset wanted
//	NextBatch     header, checksum, transaction state, decompression
//	Next, Fill    records: one at a time, or many into the caller's slice
//	Position      the offset to go on from
//
// Offsets are positions, not counts. Compaction, transaction markers and aborted transactions leave gaps, and a batch
// may end after its last record or hold none at all, so Position follows the offset range that the batch's header states.
//
// Every count and length is checked against the bytes that are there. No input makes the package panic or loop, and none
// makes a [Scanner] keep more than one buffer of [Options.MaxBatchBytes], or of LargeBatchBytes with [Options.Large].
//
// Format: https://kafka.apache.org/documentation/#messageformat, and for the older ones Kafka's
// AbstractLegacyRecordBatch and LegacyRecord.
package batch
