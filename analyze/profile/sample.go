package profile

import (
	"slices"

	"keyspread/analyze/profile/sketch"
)

// hllBits is the base-2 logarithm of the registers that one partition's HyperLogLog sketch has: 4 KiB, relative
// standard error 1.6 %.
const hllBits = 12

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
	hll      *sketch.HLL
}

// newSample returns the sample of a table with the given budget: at most a quarter of it may be pinned, or purges
// would free too little.
func newSample(budget int64) *sample {
	return &sample{maxBytes: budget / 4, hll: sketch.NewHLL(hllBits)}
}

// enter takes a key that enters the table and notes its level in the entry. A pinned key cannot have left before, so
// its epoch is 0: nothing was lost of it.
func (s *sample) enter(e *entry, key []byte) {
	h := sketch.HashOf(key)
	s.hll.Add(h)
	l := level(h.Rank())
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

// Theta returns the partition's key set as a theta sketch of at most 65,536 keys.
func (p *Partition) Theta() sketch.Theta {
	level := p.sampleLevel()
	return thetaOf(p.appendRanks(nil, level), level)
}

// sampleLevel is 0 when the table is exact.
func (p *Partition) sampleLevel() uint32 {
	if p.keys == nil || p.keys.sample == nil {
		return 0
	}
	return p.keys.sample.level
}

// appendRanks appends the ranks of the keys in the sample of the given level, which is not below the partition's own.
func (p *Partition) appendRanks(ranks []uint64, level uint32) []uint64 {
	for i := range p.NumKeys() {
		if p.keys.sample != nil && p.keys.entry(i).meta&metaLevel < level {
			continue // before its key is hashed
		}
		if r := sketch.HashOf(p.keys.keyOf(p.keys.entry(i))).Rank(); r > 0 && r < thetaAt(level) {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

// thetaOf returns the sketch of the given ranks below thetaAt(level).
func thetaOf(ranks []uint64, level uint32) sketch.Theta {
	slices.Sort(ranks)
	ranks = slices.Compact(ranks)
	for len(ranks) > sampleKeys {
		level++
		n, _ := slices.BinarySearch(ranks, thetaAt(level))
		ranks = ranks[:n]
	}
	return sketch.Theta{Theta: thetaAt(level), Hashes: ranks}
}

// thetaAt is the theta of a level.
func thetaAt(level uint32) uint64 { return min(sketch.MaxTheta, uint64(1)<<(63-level)) }

// HLL returns the partition's key set as a HyperLogLog sketch.
func (p *Partition) HLL() *sketch.HLL {
	h := sketch.NewHLL(hllBits)
	if p.keys == nil {
		return h
	}
	if p.keys.sample != nil {
		copy(h.Regs, p.keys.sample.hll.Regs)
		return h
	}
	for i := range p.NumKeys() {
		h.Add(sketch.HashOf(p.keys.keyOf(p.keys.entry(i))))
	}
	return h
}

// Distinct returns the number of distinct keys of one partition, or in bounded mode its estimate by HyperLogLog.
func (p *Partition) Distinct() Distinct {
	held := int64(p.NumKeys())
	if p.Mode == Exact {
		return Distinct{Exact: true, Keys: held, Low: held, High: held, SampleKeys: held}
	}
	n, sd := p.HLL().Estimate()
	var sum Weight
	for i := range p.NumKeys() {
		sum = sum.Add(p.weightOf(p.keys.entry(i)))
	}
	d := Distinct{StdErr: sd / n}
	d.Keys, d.Low, d.High = within(n, n-z95*sd, n+z95*sd, held, held+p.uncounted(sum).Records)
	return d
}

// Theta returns the topic's key set as a theta sketch of at most 65,536 keys.
func (p *Profile) Theta() sketch.Theta {
	level := p.sampleLevel()
	var ranks []uint64
	for i := range p.Partitions {
		ranks = p.Partitions[i].appendRanks(ranks, level)
	}
	return thetaOf(ranks, level)
}

// HLL returns the topic's key set as a HyperLogLog sketch.
func (p *Profile) HLL() *sketch.HLL {
	h := sketch.NewHLL(hllBits)
	for i := range p.Partitions {
		_ = h.Merge(p.Partitions[i].HLL()) // all have the same number of registers
	}
	return h
}
