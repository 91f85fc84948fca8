package partitioner

import "math"

// The reductions from a 32-bit hash to a partition. Each writes the partition of h under every count. They are the part
// in which clients with the same hash differ, so each names who uses it.

// maskAll drops the sign bit: (h & 0x7fffffff) % n. Java's Utils.toPositive; librdkafka's murmur2 since 0.11.5.
func maskAll(h uint32, counts, out []int32) {
	h &= math.MaxInt32
	for i, n := range counts {
		out[i] = int32(h % uint32(n))
	}
}

// unsignedAll takes h as it is: h % n. librdkafka's crc32, @platformatic/kafka's murmur2.
func unsignedAll(h uint32, counts, out []int32) {
	for i, n := range counts {
		out[i] = int32(h % uint32(n))
	}
}

// absAll takes the signed remainder and negates a negative one: |s32(h) % n|. Sarama's hash partitioner, librdkafka's
// fnv1a, Maxwell.
func absAll(h uint32, counts, out []int32) {
	for i, n := range counts {
		p := int32(h) % n
		if p < 0 {
			p = -p
		}
		out[i] = p
	}
}

// absFirstAll takes the absolute value before the remainder, in 32 bits: |s32(h)| % n. The one hash without an absolute
// value, -2^31, stays negative, and so does its remainder unless n divides it: the client then answers a negative
// partition. optiopay/kafka, Sarama before 1.10.0, the Scala producer of Kafka 0.7.
func absFirstAll(h uint32, counts, out []int32) error {
	v := int32(h)
	if v == math.MinInt32 {
		return minAll(counts, out)
	}
	absMinZeroAll(h, counts, out)
	return nil
}

// minAll answers for the hash -2^31, of which no client can take the absolute value.
func minAll(counts, out []int32) error {
	var outside *OutsideError
	for i, n := range counts {
		p := int32(math.MinInt32) % n
		out[i] = p
		if p < 0 {
			out[i] = -1
			if outside == nil {
				outside = &OutsideError{Partitions: n, Answer: int64(p)}
			}
		}
	}
	if outside != nil {
		return outside
	}
	return nil
}

// absMinZeroAll is absFirstAll with -2^31 taken as 0. Kafka's Utils.abs since 0.8.2, Spring Cloud Stream.
func absMinZeroAll(h uint32, counts, out []int32) {
	v := int32(h)
	switch {
	case v == math.MinInt32:
		v = 0
	case v < 0:
		v = -v
	}
	for i, n := range counts {
		out[i] = v % n
	}
}

// sumMaskAll drops the sign bit and takes 2^31-1 as 0. Debezium's PartitionRouting, for one payload field.
func sumMaskAll(h uint32, counts, out []int32) {
	h &= math.MaxInt32
	if h == math.MaxInt32 {
		h = 0
	}
	maskAll(h, counts, out)
}
