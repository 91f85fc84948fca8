// Package sketch holds the two sketches of distinct keys that a profile carries, in the binary form of Apache
// DataSketches, so that its libraries (and Spark, Druid or BigQuery through them) read ours and we read theirs.
//
// Keys are hashed as raw bytes by MurmurHash3-128 with seed 9001, DataSketches' default. Other systems' sketches are
// compatible only when they hash the same bytes; a string column is hashed as UTF-8 there.
package sketch

import "github.com/twmb/murmur3"

// Seed is DataSketches' default hash seed, DEFAULT_UPDATE_SEED.
const Seed = 9001

// Hash is a key's hash: the two halves of MurmurHash3-128 under [Seed].
type Hash struct{ H1, H2 uint64 }

// HashOf returns the hash of a key.
func HashOf(key []byte) Hash {
	h1, h2 := murmur3.SeedSum128(Seed, Seed, key)
	return Hash{h1, h2}
}

// Rank is what theta sketches order keys by: 63 bits, even over [0, 2^63).
func (h Hash) Rank() uint64 { return h.H1 >> 1 }

// seedHash identifies the seed inside a sketch: the low 16 bits of the seed's own hash under seed 0.
func seedHash() uint16 {
	h1, _ := murmur3.SeedSum128(0, 0, []byte{Seed & 0xff, Seed >> 8, 0, 0, 0, 0, 0, 0})
	return uint16(h1)
}

// The bytes that DataSketches' preambles share.
const (
	atPreamble = 0 // length of the preamble, in 8-byte words (theta) or 4-byte words (HLL)
	atVersion  = 1
	atFamily   = 2
	atFlags    = 5

	flagEmpty = 1 << 2
)
