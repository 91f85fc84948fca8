// Package dump reads keys from a file or a pipe: one key a line, or one JSON object a line. It is a [source.Source] like a
// topic, so that a key set can be judged before there is a topic, and away from the cluster.
//
// A line without a partition is given the one that the assumed partitioner gives its key; keys that it spreads go round
// the partitions in turn. Offsets are the records' places within their partition.
//
// Lines have neither times nor an order that means anything. They are handed on in another order than the file's, which the
// file alone decides, and equal ones often at once (see [source.Batch].Counts), from a table of 10 MiB that lives as long as
// the read, 12 MiB where keys have 25 bytes and more.
package dump
