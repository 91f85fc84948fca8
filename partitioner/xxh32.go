package partitioner

import (
	"encoding/binary"
	"math/bits"
)

// xxh32 is XXH32 with seed 0.
//
// Source: the xxHash specification, "XXH32 algorithm description"; used by kafka-rust@6c9c1f2c src/producer.rs.
func xxh32(key []byte) uint32 {
	const (
		prime1 = 0x9e3779b1
		prime2 = 0x85ebca77
		prime3 = 0xc2b2ae3d
		prime4 = 0x27d4eb2f
		prime5 = 0x165667b1
	)
	length := uint32(len(key))
	var h uint32
	if len(key) < 16 {
		h = prime5
	} else {
		lanes := [4]uint32{prime1, prime2, 0, 0}
		lanes[0] += prime2
		lanes[3] -= prime1
		for len(key) >= 16 {
			for i := range lanes {
				lanes[i] = bits.RotateLeft32(lanes[i]+binary.LittleEndian.Uint32(key[4*i:])*prime2, 13) * prime1
			}
			key = key[16:]
		}
		h = bits.RotateLeft32(lanes[0], 1) + bits.RotateLeft32(lanes[1], 7) + bits.RotateLeft32(lanes[2], 12) + bits.RotateLeft32(lanes[3], 18)
	}
	h += length
	for len(key) >= 4 {
		h = bits.RotateLeft32(h+binary.LittleEndian.Uint32(key)*prime3, 17) * prime4
		key = key[4:]
	}
	for _, b := range key {
		h = bits.RotateLeft32(h+uint32(b)*prime5, 11) * prime1
	}
	h = (h ^ h>>15) * prime2
	h = (h ^ h>>13) * prime3
	return h ^ h>>16
}

func placeXXH32(key []byte, counts, out []int32) error {
	unsignedAll(xxh32(key), counts, out)
	return nil
}
