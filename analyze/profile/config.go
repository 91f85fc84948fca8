package profile

import (
	"errors"
	"fmt"

	"keyspread/partitioner"
)

// CandidateSpec names a placement to compute for every key.
type CandidateSpec struct {
	Partitioner   partitioner.Partitioner
	NumPartitions int32
}

// Limits of a [Config].
const (
	// MaxPlacedBytes bounds the memory that all candidates' loads can take: every candidate holds one [Weight] for each
	// pair of a partition read and a candidate partition, where the records of that partition come that wide.
	MaxPlacedBytes = 4 << 30
	// MinMemory is the least a [Config] may set as Memory.
	MinMemory = 1 << 20
	// MaxBuckets is the most time buckets a grid may have.
	MaxBuckets = 1 << 16
)

// Config says how a topic is counted.
type Config struct {
	Partitioner partitioner.Partitioner // assumed for the topic
	Candidates  []CandidateSpec         // computed beside the topic as it is; fixed before the first record
	Memory      int64                   // bytes of all key tables together; divided among partitions by the offsets asked of them, above a floor
	VerifyKeys  bool                    // tell keys apart by their bytes, not by their 128-bit hash alone
	Buckets     int                     // most time buckets of a partition's grid
}

// DefaultConfig returns 1 GiB of key tables (about 10 million keys of 24 bytes) and 256 time buckets. The caller adds
// the Partitioner.
func DefaultConfig() Config { return Config{Memory: 1 << 30, Buckets: 256} }

// Validate reports the first value out of range, Memory with a [*MemoryError].
func (c Config) Validate() error {
	if c.Partitioner == nil {
		return errors.New("profiling without a partitioner: name the one the producers use")
	}
	if c.Memory < MinMemory {
		return &MemoryError{Memory: c.Memory, Least: MinMemory}
	}
	if c.Buckets < 1 || c.Buckets > MaxBuckets {
		return fmt.Errorf("%d time buckets: want 1 to %d", c.Buckets, MaxBuckets)
	}
	for _, s := range c.Candidates {
		if s.Partitioner == nil {
			return fmt.Errorf("candidate of %d partitions names no partitioner", s.NumPartitions)
		}
		if s.NumPartitions < 1 {
			return fmt.Errorf("candidate %s: %d partitions: want at least 1", s.Partitioner.ID(), s.NumPartitions)
		}
	}
	return nil
}
