// Package partitioner predicts the partition that a Kafka client gives a key.
//
// A partitioner is three things: a hash of the key's bytes, a reduction from the hash to a partition, and rules for the
// null key and the empty key. The first two make a [Class]; "murmur2" or "crc32" alone name none, because clients reduce
// the same hash in ways that disagree on half of all keys. All three together, for one client, one configured value and
// a span of its versions, make a [Rule].
//
// People name the client they use:
//
//	p, err := partitioner.Parse("librdkafka:murmur2_random") // CLIENT[@VERSION][:VALUE]
//	p, err := partitioner.Parse("kafka-go@0.3.0:hash")
//	p, err := partitioner.Parse("fnv1a_mask") // a class by its own id
//
// and ask where a key lands under one or many partition counts; the key is hashed once:
//
//	keyed, err := p.Place(key, counts, out)
//
// The mapping of every class and the rules of every client are pinned by what the clients themselves answered, kept in
// testdata/vectors. They are a promise: a changed answer means that keys of live topics are predicted in partitions where
// they are not.
package partitioner

import "fmt"

// Partitioner is a client's rule from key bytes to a partition. It is safe for concurrent use.
type Partitioner interface {
	// ID is the canonical name under which the registry knows it, such as "murmur2" or "librdkafka:consistent_random".
	ID() string

	// Place hashes key once and writes its partition under each of counts to out (len(out) == len(counts)).
	// key nil is the null key, empty non-nil the empty key. keyed is false when the client spreads such a key (sticky,
	// round robin, random); out is then untouched and err nil. An out value of -1 marks a count for which there is no
	// answer, and err says why: an [*OutsideError] when the client itself would answer outside [0, count), the other
	// counts being still answered, or a [*KeyError] when the client takes no such key, every count being -1.
	// Place panics when a count is not positive or the lengths differ.
	Place(key []byte, counts []int32, out []int32) (keyed bool, err error)
}

// OutsideError says that the client itself answers a partition outside [0, n) for a key. Its text does not hold the key.
type OutsideError struct {
	Partitioner string
	Key         []byte
	Partitions  int32
	Answer      int64
}

func (e *OutsideError) Error() string {
	return fmt.Sprintf("partitioner %s answers %d for this key at %d partitions: the client itself leaves the range, so the record cannot be produced",
		e.Partitioner, e.Answer, e.Partitions)
}

// KeyError says that a client takes no such key: it refuses the null key, or it hashes text and the bytes are not valid
// UTF-8, so that no record of this client can carry them. The error is the same value for every key of one partitioner
// and one reason; it does not hold the key.
type KeyError struct {
	Partitioner string
	Reason      string // what the client does with such a key, such as "not valid UTF-8: the client hashes the key as text"
}

func (e *KeyError) Error() string {
	return fmt.Sprintf("partitioner %s has no partition for this key: %s", e.Partitioner, e.Reason)
}
