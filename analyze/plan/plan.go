// Package plan simulates where future records of the keys seen would land under another partition count or partitioner.
package plan

import (
	"keyspread/analyze/placement"
	"keyspread/analyze/profile"
	"keyspread/analyze/skew"
)

// Plan is the simulation of one candidate. Records already written never move: "moved" counts records of the profile
// whose key would send its future records to another partition than the one that holds them now.
type Plan struct {
	Candidate profile.Candidate
	From      profile.Candidate // the topic as it is

	Records, Bytes Side

	// MovedKeys of Keys distinct keys have records in another partition than the one for their future records. A key in
	// several partitions always has. Known only in exact mode (KeysKnown).
	KeysKnown       bool
	Keys, MovedKeys int64

	// FormulaMoved is 1 - gcd(n, m)/max(n, m): the share of keys that a modulo partitioner moves on average.
	// HasFormula is false when the partitioner changes too.
	HasFormula   bool
	FormulaMoved float64

	// Others is who else wrote the topic, when the partitioner stays: the plan takes all future records for those of
	// Candidate.Partitioner and does not simulate where another's would go. Set by [keyspread/analyze.Conclude].
	Others []placement.Other

	Unkeyed  profile.Weight // records that the client spreads: assumed even over all partitions in Loads
	Unplaced profile.Weight // records for which the client itself fails; in no load

	// Matrix holds the keyed records by [current partition][future partition], cells without records left out;
	// by From, then To.
	Matrix []Cell

	HotKeys []KeyMove // the hot and undecided keys of the topic, heaviest first, with where their records would go
	Limit   Limit
}

// Side is a candidate judged in one weight.
type Side struct {
	Unit         profile.Unit
	Total        int64
	Loads        []float64 // by future partition; unkeyed weight is spread evenly, hence fractions
	Measures     skew.Measures
	Moved        int64      // weight of the records that move
	MovedShare   float64    // of the keyed and placed weight
	MovedRange   skew.Share // the same with its doubt; Lo == Hi unless the profile is a sample
	PARLo, PARHi float64    // Measures.PAR with the doubt of the hottest load; equal unless the profile is a sample
	HottestKeys  []KeyMove  // heaviest known keys of the hottest partition
	HottestLoad  float64    // share of the topic in the hottest partition
}

// Cell is one from→to entry of a plan's matrix.
type Cell struct {
	From, To int32
	Weight   profile.Weight
}

// KeyMove says where one key's records are and where future ones would go.
type KeyMove struct {
	Key    []byte
	Lo, Hi profile.Weight
	Share  skew.Share // of the unit judged (records, unless in Side.HottestKeys of bytes)
	From   []int32    // partitions that hold it now
	To     int32      // -1: the client itself fails for this key
	Moved  bool       // To is not the only partition in From
}

// Limit says what the heaviest key does to this candidate.
type Limit struct {
	CannotHelp bool    // the current count is already at or beyond N*: adding partitions cannot lower the hottest
	Ceiling    float64 // N* = 1/w1
	BestPAR    float64 // no placement without splitting keys has a lower PAR: n * max(w1, wn + wn+1, 1/n)
}
