package placement

import "encoding/binary"

// Over is the part of a key that a partitioner hashes.
type Over uint8

// The parts of a key.
const (
	WholeKey        Over = iota
	WithoutWindow        // Kafka Streams' time-windowed keys: all but the last 8 bytes, the window's start
	WithoutSession       // its session-windowed keys: all but the last 16 bytes, the window's end and start
	WithoutSchemaID      // all but the 5 bytes of Confluent's frame, as Materialize's stable strategy hashes
	ForeignKey           // the foreign key of a Streams foreign-key join's combined key
)

// String returns what is hashed, as "the key without its window".
func (o Over) String() string {
	switch o {
	case WithoutWindow:
		return "the key without its time window"
	case WithoutSession:
		return "the key without its session window"
	case WithoutSchemaID:
		return "the key without its schema id"
	case ForeignKey:
		return "the foreign key"
	}
	return "the whole key"
}

// Of returns the part of key; false when key has no such part. The result aliases key.
//
// Source: apache/kafka TimeWindowedSerializer, SessionWindowedSerializer, foreignkeyjoin/CombinedKeySchema.
func (o Over) Of(key []byte) ([]byte, bool) {
	switch o {
	case WithoutWindow:
		if len(key) <= 8 {
			return nil, false
		}
		return key[: len(key)-8 : len(key)-8], true
	case WithoutSession:
		if len(key) <= 16 {
			return nil, false
		}
		return key[: len(key)-16 : len(key)-16], true
	case WithoutSchemaID:
		if len(key) <= 5 || key[0] != 0 {
			return nil, false
		}
		return key[5:], true
	case ForeignKey:
		if len(key) < 4 {
			return nil, false
		}
		n := uint64(binary.BigEndian.Uint32(key))
		if n == 0 || n >= uint64(len(key)-4) {
			return nil, false
		}
		return key[4 : 4+n : 4+n], true
	}
	return key, true
}
