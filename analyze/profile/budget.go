package profile

import (
	"fmt"
	"math/bits"
)

// floorBytes is the least a partition's key table gets, unless that would be more than half of all memory: room for
// 4096 keys of 24 bytes.
const floorBytes = 4096 * (entryBytes + 2*8 + 24)

// leastTable is the bytes below which a partition's table and key sample tell next to nothing.
const leastTable = 8 << 10

// MemoryError says that a [Config] sets less Memory than the tables of a topic's partitions need, or than any need.
type MemoryError struct {
	Memory     int64 // set
	Partitions int   // read; 0: too little for any number
	Least      int64 // bytes, whole MiB
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("memory of %d bytes for key tables is too little%s: give at least %d MiB", e.Memory, e.For(), e.Least>>20)
}

// For is " for N partitions", or empty when it is too little for any number.
func (e *MemoryError) For() string {
	switch e.Partitions {
	case 0:
		return ""
	case 1:
		return " for 1 partition"
	}
	return fmt.Sprintf(" for %d partitions", e.Partitions)
}

// checkMemory refuses a memory that is too little for that many tables, with a [*MemoryError].
func checkMemory(memory int64, partitions int) error {
	if least := int64(partitions) * leastTable; memory < least {
		return &MemoryError{memory, partitions, (least + 1<<20 - 1) &^ (1<<20 - 1)}
	}
	return nil
}

// keyBytes is about what a key takes in a table beside its own length, with room for the estimate of their number.
const keyBytes = 100

// shares divides the memory of all tables among partitions by the offsets asked of each, above a floor that is the same
// for all. The shares add up to no more than the memory.
func shares(memory int64, asked []uint64) []int64 {
	if len(asked) == 0 {
		return nil
	}
	floor := min(floorBytes, memory/2/int64(len(asked)))
	rest := uint64(memory - floor*int64(len(asked)))
	var all uint64
	for _, n := range asked {
		all += n
	}
	out := make([]int64, len(asked))
	for i, n := range asked {
		out[i] = floor
		if all > 0 {
			hi, lo := bits.Mul64(rest, n)
			q, _ := bits.Div64(hi, lo, all) // n <= all, so q <= rest
			out[i] += int64(q)
		}
	}
	return out
}

// MemoryForAll estimates the [Config] memory under which the profile's records would be counted exactly; 0 when that is not
// known, or they were. A table's part of the memory stays about the same when there is more of it, so the bounded
// partition with the most keys for its part decides. It is an estimate as the number of keys is one.
func (p *Profile) MemoryForAll() float64 {
	var most float64
	for i := range p.Partitions {
		part := &p.Partitions[i]
		keyed := part.Total.Records - part.NullKey.Records
		if part.Mode != Bounded || keyed == 0 {
			continue
		}
		if part.share == 0 {
			return 0
		}
		need := float64(part.Distinct().Keys) * (keyBytes + float64(part.KeyBytes)/float64(keyed))
		most = max(most, need/part.share)
	}
	return most
}
