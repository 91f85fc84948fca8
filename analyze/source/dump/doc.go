// Package dump reads keys from a file or a pipe: one key a line, or one JSON object a line. It is a [source.Source] like a
// topic, so that a key set can be judged before there is a topic, and away from the cluster.
//
// A line without a partition is given the one that the assumed partitioner gives its key; keys that it spreads go round
// the partitions in turn. Offsets are the records' places within their partition.
package dump
