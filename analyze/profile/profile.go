// Package profile holds what was seen of a topic: facts per partition and per key, no judgement.
//
// A [Builder] is the [source.Sink] that fills it. Every input becomes a [Profile], every conclusion starts from one.
//
// Each partition has a table of its keys with its share of the memory. It counts exactly until the next key would not
// fit; from then on light keys leave it, and counts carry bounds ([Bounded]). Exact at any cardinality are the counts
// of [Partition], the placements of the candidates fixed before the run, and the keys of the sample
// ([Profile.EachSampled]).
//
// [Profile.Save] and [Load] keep a profile in a Parquet file, [Merge] joins profiles of disjoint ranges, and a [Refiner]
// makes a few keys exact by a second read.
package profile

import (
	"keyspread/analyze/source"
)

// Weight is the size of a set of records in both units keyspread judges.
// Bytes are key, value and header bytes, uncompressed and without framing.
type Weight struct {
	Records int64
	Bytes   int64
}

// Add returns w + v.
func (w Weight) Add(v Weight) Weight { return Weight{w.Records + v.Records, w.Bytes + v.Bytes} }

// Sub returns w - v.
func (w Weight) Sub(v Weight) Weight { return Weight{w.Records - v.Records, w.Bytes - v.Bytes} }

// Mode says whether a key table holds every key seen.
type Mode uint8

// The modes of a key table.
const (
	Exact   Mode = iota // every key, every count exact
	Bounded             // the memory budget was passed: counts carry bounds, light keys may be missing
	Sampled             // blocks of the range were read and weights scaled up: counts are estimates, light keys missing
)

// String returns "exact", "bounded" or "sampled".
func (m Mode) String() string {
	switch m {
	case Bounded:
		return "bounded"
	case Sampled:
		return "sampled"
	}
	return "exact"
}

// Key is what was counted of one key in one partition. The true weight w satisfies Lo <= w <= Hi in both units;
// in exact mode Lo == Hi. Key is never nil (null keys are counted apart); an empty key is a key of length 0.
type Key struct {
	Key         []byte
	Partition   int32
	Lo, Hi      Weight
	First, Last int64 // timestamps of the first and last record counted, in offset order, ms; -1: none had one
}

// Candidate names a placement that is computed for every key while the topic is read.
type Candidate struct {
	Partitioner   string `json:"partitioner"` // its ID
	NumPartitions int32  `json:"num_partitions"`
}

// Placed is how one partition's records would be placed under a [Candidate]. It is exact at any cardinality.
type Placed struct {
	Loads    Loads  // by destination partition; keyed records only
	Moved    Weight // of those, the records whose destination is another partition than the one they are in
	Unkeyed  Weight // records whose key (null, or empty for some clients) the client spreads
	Unplaced Weight // records for which the client itself answers outside [0, n)
}

// Partition is what was seen of one partition.
type Partition struct {
	ID       int32
	Spans    []source.Span // asked for
	Coverage source.Coverage

	Total       Weight // every data record
	KeyBytes    int64
	ValueBytes  int64
	HeaderBytes int64
	NullKey     Weight // records with a null key
	EmptyKey    Weight // records with an empty key; EachKey names the empty key too
	Tombstones  int64  // keyed records with a null value
	Control     int64  // control records passed
	Aborted     int64  // aborted records left out
	Assigned    int64  // records that the source has put here by itself, see [source.Batch]
	WireBytes   int64  // as stored

	FirstOffset, LastOffset int64                // of the first and last record; -1: no record
	MinTime, MaxTime        int64                // smallest and largest timestamp, ms; -1: none had one
	TimestampType           source.TimestampType // of the last record

	// Sizes[i] counts records whose size in bytes has bit length i: size 0 for i = 0, otherwise 2^(i-1) <= size < 2^i.
	// The last one also holds those that are larger still.
	Sizes [32]int64

	Mode    Mode
	Missing Weight // largest weight here of a key that EachKey does not name; zero in exact mode

	Placed []Placed // by the profile's Candidates
	Grid   Grid

	keys   *table      // nil: none
	tops   []closedTop // heavy keys by cell of Grid; nil: not kept
	factor Factor      // of a scaled sample; see Scale
	share  float64     // of the memory for all tables that this one had; 0: not known, or exact
	spread bool        // Candidates[0] gives some key of this partition no partition
}

// Grid counts a partition's records over time in buckets [Start + i*Width, Start + (i+1)*Width).
type Grid struct {
	Start, Width int64 // ms; Width 0: no record had a timestamp
	Cells        []Weight
}

// Profile is what was seen of a topic. It does not change once built; its methods may be called at the same time.
type Profile struct {
	Topic         string
	NumPartitions int32  // of the topic, those not read included
	Partitioner   string // ID of the partitioner assumed for the topic
	Isolation     source.Isolation
	Range         string      // as asked for
	Candidates    []Candidate // Candidates[0] is the assumed partitioner at NumPartitions
	Partitions    []Partition // those read, by ID

	buckets int      // most cells of the topic's grid
	refined [][]byte // keys that a second pass has counted exactly in every partition; sorted
	cache   *cache   // nil: nothing is kept
}

// Assigned returns how many records the source has put into their partitions by itself.
func (p *Profile) Assigned() int64 {
	var n int64
	for i := range p.Partitions {
		n += p.Partitions[i].Assigned
	}
	return n
}

// Total returns the weight of all data records.
func (p *Profile) Total() Weight {
	var w Weight
	for i := range p.Partitions {
		w = w.Add(p.Partitions[i].Total)
	}
	return w
}

// Mode returns the weakest mode of the partitions: [Sampled] before [Bounded] before [Exact].
func (p *Profile) Mode() Mode {
	m := Exact
	for i := range p.Partitions {
		m = max(m, p.Partitions[i].Mode)
	}
	return m
}
