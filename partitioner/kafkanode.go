package partitioner

import "unicode/utf8"

// kafkaNode31 is kafka-node's hash of the key as a JavaScript string: String.hashCode kept to 31 bits, 0 taken as 1. Bytes
// that are not UTF-8 become U+FFFD first, because the client calls toString on a Buffer.
//
// Source: SOHU-Co/kafka-node@fcc8aefc lib/partitioner.js, KeyedPartitioner.
func kafkaNode31(key []byte) uint32 {
	h := uint32(0)
	for len(key) > 0 {
		if b := key[0]; b < utf8.RuneSelf {
			h = 31*h + uint32(b)
			key = key[1:]
			continue
		}
		first, second, size := utf16UnitsReplacing(key)
		h = 31*h + uint32(first)
		if second != 0 {
			h = 31*h + uint32(second)
		}
		key = key[size:]
	}
	// The client masks after every unit; the low 31 bits do not depend on the higher ones, so once is enough.
	h &= 1<<31 - 1
	if h == 0 {
		return 1
	}
	return h
}

func placeKafkaNode31(key []byte, counts, out []int32) error {
	unsignedAll(kafkaNode31(key), counts, out)
	return nil
}

// placeZero is kafka-node's default, whatever the key: partition 0.
func placeZero(_ []byte, counts, out []int32) error {
	clear(out[:len(counts)])
	return nil
}
