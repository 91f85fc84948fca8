package placement

import (
	"math"

	"keyspread/analyze/profile"
)

// Pattern is how records that are not placed by their key are spread.
type Pattern uint8

// The patterns.
const (
	NoRecords    Pattern = iota
	OnePartition         // all in one
	Even                 // more even than chance: round robin
	Random               // as chance would have it
	Uneven               // less even than chance: sticky runs, or a partitioner that prefers some partitions
	TooFew               // fewer than 5 records a partition, or blocks of a sample: the pattern cannot be told
)

// String returns the pattern's name in reports and JSON.
func (p Pattern) String() string {
	switch p {
	case OnePartition:
		return "one-partition"
	case Even:
		return "even"
	case Random:
		return "random"
	case Uneven:
		return "uneven"
	case TooFew:
		return "too-few"
	}
	return "none"
}

// Spread is how the records of the null key, or of the empty key, lie.
type Spread struct {
	Records    int64
	Bytes      int64
	Pattern    Pattern
	Partition  int32 // that holds them all; -1: there are several
	Partitions int   // that hold any
	Z          float64
}

const (
	leastPerPartition = 5    // records expected in each partition for a pattern to be judged
	spreadZ           = 3.09 // standard normal quantile of 99.9 %
)

// spreadOf describes how records lie over the partitions that were read. Z is that of Pearson's chi-square against
// equal shares, made normal by Wilson and Hilferty's cube root: below -3.09 too even for chance, above 3.09 too uneven.
// sampled says that counts are those of blocks: round robin looks like chance in them, and they tell no pattern.
//
// Source: Wilson and Hilferty, PNAS 17 (1931).
func spreadOf(counts []int64, sampled bool) Spread {
	s := Spread{Partition: -1}
	most, least := int64(0), int64(math.MaxInt64)
	for _, c := range counts {
		s.Records += c
		most, least = max(most, c), min(least, c)
		if c > 0 {
			s.Partitions++
		}
	}
	n := float64(len(counts))
	mean := float64(s.Records) / max(1, n)
	switch {
	case s.Records == 0:
		return s
	case s.Partitions == 1 && (s.Records > 1 || n == 1):
		s.Pattern = OnePartition
		return s
	case sampled || mean < leastPerPartition:
		s.Pattern = TooFew
		return s
	case most-least <= 1 && mean >= 100:
		s.Pattern = Even // chi-square of two partitions can never be too small to be chance
		return s
	}
	chi := 0.0
	for _, c := range counts {
		chi += (float64(c) - mean) * (float64(c) - mean) / mean
	}
	s.Z = chiZ(chi, n-1)
	switch {
	case s.Z < -spreadZ:
		s.Pattern = Even
	case s.Z > spreadZ:
		s.Pattern = Uneven
	default:
		s.Pattern = Random
	}
	return s
}

// chiZ is a chi-square of df degrees of freedom as a standard normal deviate, by Wilson and Hilferty's cube root.
func chiZ(chi, df float64) float64 {
	return (math.Cbrt(chi/df) - (1 - 2/(9*df))) / math.Sqrt(2/(9*df))
}

// spreads describes the records without a key and those with an empty one.
func (pl *Placement) spreads(p *profile.Profile, sampled bool) {
	var null, empty []int64
	var nullBytes, emptyBytes int64
	for i := range p.Partitions {
		null = append(null, p.Partitions[i].NullKey.Records)
		empty = append(empty, p.Partitions[i].EmptyKey.Records)
		nullBytes += p.Partitions[i].NullKey.Bytes
		emptyBytes += p.Partitions[i].EmptyKey.Bytes
	}
	at := func(s Spread, counts []int64) Spread {
		if s.Partitions == 1 {
			for i, c := range counts {
				if c > 0 {
					s.Partition = p.Partitions[i].ID
				}
			}
		}
		return s
	}
	pl.Null, pl.Empty = at(spreadOf(null, sampled), null), at(spreadOf(empty, sampled), empty)
	pl.Null.Bytes, pl.Empty.Bytes = nullBytes, emptyBytes
}
