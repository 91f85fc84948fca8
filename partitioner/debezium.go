package partitioner

import (
	"encoding/binary"
	"math/bits"
)

// debeziumMurmur3 is the 64-bit MurmurHash3 that Debezium took from Infinispan, cut to its upper 32 bits. It is no standard
// MurmurHash3: it comes from a draft whose constants change with every block, and the bytes of a partial last block
// are sign-extended.
//
// Source: debezium/debezium@aad55199 debezium-util/src/main/java/io/debezium/util/MurmurHash3.java.
func debeziumMurmur3(key []byte) uint32 {
	const seed = 9001
	s := debeziumState{
		h1: 0x9368e53c2f6af274 ^ seed,
		h2: 0x586dcd208f7cd3fd ^ seed,
		c1: 0x87c37b91114253d5,
		c2: 0x4cf5ad432745937f,
	}
	length := uint64(len(key))
	for len(key) >= 16 {
		s.mix(binary.LittleEndian.Uint64(key), binary.LittleEndian.Uint64(key[8:]))
		key = key[16:]
	}
	if len(key) > 0 {
		var k [2]uint64
		for i, b := range key {
			k[i/8] ^= uint64(int64(int8(b))) << (8 * (i % 8))
		}
		s.mix(k[0], k[1])
	}
	s.h2 ^= length
	s.h1 += s.h2
	s.h2 += s.h1
	s.h1 = murmur3Finish(s.h1)
	s.h2 = murmur3Finish(s.h2)
	s.h1 += s.h2
	return uint32(s.h1 >> 32)
}

type debeziumState struct{ h1, h2, c1, c2 uint64 }

func (s *debeziumState) mix(k1, k2 uint64) {
	s.h1 ^= bits.RotateLeft64(k1*s.c1, 23) * s.c2
	s.h1 += s.h2
	s.h2 = bits.RotateLeft64(s.h2, 41)
	s.h2 ^= bits.RotateLeft64(k2*s.c2, 23) * s.c1
	s.h2 += s.h1
	s.h1 = s.h1*3 + 0x52dce729
	s.h2 = s.h2*3 + 0x38495ab5
	s.c1 = s.c1*5 + 0x7b7d159c
	s.c2 = s.c2*5 + 0x6bce6396
}

func murmur3Finish(k uint64) uint64 {
	k = (k ^ k>>33) * 0xff51afd7ed558ccd
	k = (k ^ k>>33) * 0xc4ceb9fe1a85ec53
	return k ^ k>>33
}

func placeDebezium(key []byte, counts, out []int32) error {
	sumMaskAll(debeziumMurmur3(key), counts, out)
	return nil
}
