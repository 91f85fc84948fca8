package partitioner

// kafkajsLegacy is the hash of kafkajs 1.x: murmur2 with two faults that its data depends on. A last block of fewer than
// four bytes is mixed in as a whole block, padded with zeros, and then once more as the tail; and products are
// doubles, so bits below 2^-53 of a product are lost before it is cut to 32 bits.
//
// Source: tulios/kafkajs@55b0b416 src/producer/partitioners/legacy/murmur2.js.
func kafkajsLegacy(key []byte) uint32 {
	h := int32(uint32(murmur2Seed) ^ uint32(len(key)))
	for i := 0; i < len(key); i += 4 {
		var block [4]byte
		copy(block[:], key[i:])
		// The sum is one of doubles in the client, and exact; each term is an int32, so the top byte may make it negative.
		k := int64(block[0]) + int64(block[1])<<8 + int64(block[2])<<16 + int64(int32(uint32(block[3])<<24))
		m := doubleMul(k)
		m = doubleMul(int64(m ^ int32(uint32(m)>>24)))
		h = doubleMul(int64(h)) ^ m
	}
	tail := key[len(key)&^3:]
	switch len(tail) {
	case 3:
		h ^= int32(tail[2]) << 16
		fallthrough
	case 2:
		h ^= int32(tail[1]) << 8
		fallthrough
	case 1:
		h ^= int32(tail[0])
		h = doubleMul(int64(h))
	}
	h ^= int32(uint32(h) >> 13)
	h = doubleMul(int64(h))
	h ^= int32(uint32(h) >> 15)
	return uint32(h)
}

// doubleMul multiplies by the murmur2 constant as JavaScript does and cuts the product to an int32 (ECMAScript ToInt32). |k|
// is at most 2^31, so the product stays below 2^63 and the conversion to int64 is exact.
func doubleMul(k int64) int32 {
	product := float64(k) * murmur2Mul
	return int32(int64(product))
}

func placeKafkajsLegacy(key []byte, counts, out []int32) error {
	maskAll(kafkajsLegacy(key), counts, out)
	return nil
}
