package partitioner

// djb2Reverse is Bernstein's hash, h*33 + byte, from the last byte to the first, bytes being signed as plain char is on x86. On
// ARM, where char is unsigned, the same client places keys with bytes of 0x80 and above elsewhere.
//
// Source: collectd/collectd@10d88917 src/write_kafka.c, kafka_hash.
func djb2Reverse(key []byte) uint32 {
	h := uint32(5381)
	for i := len(key) - 1; i >= 0; i-- {
		h = 33*h + uint32(int32(int8(key[i])))
	}
	return h
}

func placeDJB2Reverse(key []byte, counts, out []int32) error {
	unsignedAll(djb2Reverse(key), counts, out)
	return nil
}
