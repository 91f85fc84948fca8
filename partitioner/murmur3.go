package partitioner

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// murmur3Hash is MurmurHash3 x86_32.
//
// Source: aappleby/smhasher src/MurmurHash3.cpp, MurmurHash3_x86_32.
func murmur3Hash(key []byte, seed uint32) uint32 {
	const (
		c1 = 0xcc9e2d51
		c2 = 0x1b873593
	)
	h, length := seed, uint32(len(key))
	for len(key) >= 4 {
		h ^= bits.RotateLeft32(binary.LittleEndian.Uint32(key)*c1, 15) * c2
		h = bits.RotateLeft32(h, 13)*5 + 0xe6546b64
		key = key[4:]
	}
	if len(key) > 0 {
		var tail [4]byte
		copy(tail[:], key)
		h ^= bits.RotateLeft32(binary.LittleEndian.Uint32(tail[:])*c1, 15) * c2
	}
	h ^= length
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return h ^ h>>16
}

// maxwellSeed is the one of Maxwell, zendesk/maxwell@b600e519 producer/partitioners.
const maxwellSeed = 25342

func placeMaxwell(key []byte, counts, out []int32) error {
	if !utf8.Valid(key) {
		return errNotText
	}
	absAll(murmur3Hash(key, maxwellSeed), counts, out)
	return nil
}

// placeMurmur3Seed0 is node-sinek's default: it takes strings only.
func placeMurmur3Seed0(key []byte, counts, out []int32) error {
	if !utf8.Valid(key) {
		return errNotText
	}
	unsignedAll(murmur3Hash(key, 0), counts, out)
	return nil
}
