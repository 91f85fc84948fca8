package partitioner

import "encoding/binary"

const (
	murmur2Seed = 0x9747b28c // Kafka's; MurmurHash2 itself has none
	murmur2Mul  = 0x5bd1e995
)

// murmur2 is MurmurHash2 with Kafka's seed, the hash of Java's built-in partitioner.
//
// Source: apache/kafka@1eb76443 clients/src/main/java/org/apache/kafka/common/utils/Utils.java, murmur2.
func murmur2(key []byte) uint32 {
	h := murmur2Seed ^ uint32(len(key))
	for len(key) >= 4 {
		k := binary.LittleEndian.Uint32(key) * murmur2Mul
		k ^= k >> 24
		h = h*murmur2Mul ^ k*murmur2Mul
		key = key[4:]
	}
	switch len(key) {
	case 3:
		h ^= uint32(key[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(key[1]) << 8
		fallthrough
	case 1:
		h ^= uint32(key[0])
		h *= murmur2Mul
	}
	h ^= h >> 13
	h *= murmur2Mul
	h ^= h >> 15
	return h
}

func placeMurmur2(key []byte, counts, out []int32) error {
	maskAll(murmur2(key), counts, out)
	return nil
}

func placeMurmur2Unsigned(key []byte, counts, out []int32) error {
	unsignedAll(murmur2(key), counts, out)
	return nil
}
