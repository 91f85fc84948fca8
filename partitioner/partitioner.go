// Package partitioner predicts the partition that a Kafka client gives a key.
package partitioner

// Partitioner is a client's rule from key bytes to a partition. It is safe for concurrent use.
type Partitioner interface {
	// ID is the canonical name under which the registry knows it, such as "murmur2" or "librdkafka:consistent_random".
	ID() string

	// Place hashes key once and writes its partition under each of counts to out (len(out) == len(counts)).
	// key nil is the null key, empty non-nil the empty key. keyed is false when the client spreads such a key (sticky,
	// round robin, random); out is then untouched. An out value of -1 marks a count for which the client itself would
	// answer outside [0, count); err is then an [*OutsideError], and the other counts are still answered.
	// Place panics when a count is not positive.
	Place(key []byte, counts []int32, out []int32) (keyed bool, err error)
}

// OutsideError says that the client itself answers a partition outside [0, n) for a key.
type OutsideError struct {
	Partitioner string
	Key         []byte
	Partitions  int32
	Answer      int64
}
