package partitioner

import "encoding/binary"

// phash2 is erlang:phash2/1 of a binary: Bob Jenkins's lookup2, cut to 27 bits. A charlist or an atom of the same text
// hashes otherwise; brod hashes whatever term it is given, and only a binary can be seen in a record.
//
// Source: erlang/otp@04092bce erts/emulator/beam/erl_term_hashing.c, block_hash and make_hash2.
func phash2(key []byte) uint32 {
	const (
		golden   = 0x9e3779b9
		binaryID = 0x08d12e65 // the constant OTP mixes in for binaries
		mask     = 1<<27 - 1
	)
	if len(key) == 0 {
		return binaryID & mask
	}
	a, b, c := uint32(golden), uint32(golden), uint32(binaryID)
	length := uint32(len(key))
	for len(key) >= 12 {
		a += binary.LittleEndian.Uint32(key)
		b += binary.LittleEndian.Uint32(key[4:])
		c += binary.LittleEndian.Uint32(key[8:])
		a, b, c = jenkinsMix(a, b, c)
		key = key[12:]
	}
	// The low byte of c is kept for the length.
	var tail [12]byte
	copy(tail[:8], key)
	if len(key) > 8 {
		copy(tail[9:], key[8:])
	}
	a += binary.LittleEndian.Uint32(tail[:])
	b += binary.LittleEndian.Uint32(tail[4:])
	c += length + binary.LittleEndian.Uint32(tail[8:])
	_, _, c = jenkinsMix(a, b, c)
	return c & mask
}

func jenkinsMix(a, b, c uint32) (_, _, _ uint32) {
	a = (a - b - c) ^ c>>13
	b = (b - c - a) ^ a<<8
	c = (c - a - b) ^ b>>13
	a = (a - b - c) ^ c>>12
	b = (b - c - a) ^ a<<16
	c = (c - a - b) ^ b>>5
	a = (a - b - c) ^ c>>3
	b = (b - c - a) ^ a<<10
	c = (c - a - b) ^ b>>15
	return a, b, c
}

func placePhash2(key []byte, counts, out []int32) error {
	unsignedAll(phash2(key), counts, out)
	return nil
}
