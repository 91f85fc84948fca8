package profile

import "github.com/twmb/murmur3"

// sketchSeed is the seed under which DataSketches hashes by default, so that its libraries read our sketches.
const sketchSeed = 9001

// sampleKeys is the most keys that one partition's sample holds: a relative standard error of 1/sqrt(65536) = 0.39 %.
const sampleKeys = 1 << 16

// sample is the coordinated key sample of a table that has passed its budget. Each key has a rank, 63 bits of its
// MurmurHash3; the sample is all keys whose rank is below 2^(63-level), and the level rises when they become too many.
// Its keys are pinned in the table: they never leave, so their counts are exact. The same key has the same rank in
// every partition, so that samples of several partitions cut to their highest level are one sample of the topic.
//
// The level depends on the set of keys seen and on nothing else.
type sample struct {
	level    uint32
	maxBytes int64
	keys     [64]int64 // pinned keys by their own level; below sample.level no longer kept up
	bytes    [64]int64 // and what they take in the table
	sumKeys  int64     // over the levels that are pinned
	sumBytes int64
	hll      *hll
}

// newSample returns the sample of a table with the given budget: at most a quarter of it may be pinned, or purges
// would free too little.
func newSample(budget int64) *sample {
	return &sample{maxBytes: budget / 4, hll: newHLL(hllBits)}
}

// rankOf returns a key's rank and the second half of its hash.
func rankOf(key []byte) (rank, h1, h2 uint64) {
	h1, h2 = murmur3.SeedSum128(sketchSeed, sketchSeed, key)
	return h1 >> 1, h1, h2
}

// enter takes a key that enters the table and notes its level in the entry. A pinned key cannot have left before, so
// its epoch is 0: nothing was lost of it.
func (s *sample) enter(e *entry, key []byte) {
	rank, h1, h2 := rankOf(key)
	s.hll.add(h1, h2)
	l := min(level(rank), metaLevel)
	e.meta = e.meta&^metaLevel | l
	if l < s.level {
		return
	}
	e.meta &= 1<<metaEpoch - 1
	cost := int64(entryBytes+2*8) + int64(len(key)) // with slots half full
	s.keys[l]++
	s.bytes[l] += cost
	s.sumKeys++
	s.sumBytes += cost
	for s.level < metaLevel && s.sumKeys > 0 && (s.sumKeys > sampleKeys || s.sumBytes > s.maxBytes) {
		s.sumKeys -= s.keys[s.level]
		s.sumBytes -= s.bytes[s.level]
		s.level++
	}
}

// pins reports whether an entry is in the sample.
func (s *sample) pins(e *entry) bool { return e.meta&metaLevel >= s.level }
