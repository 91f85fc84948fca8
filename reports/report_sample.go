package reports

// Sample says how much of a range was read and how far that carries. Blocks are runs of consecutive offsets, drawn at
// random in each partition.
type Sample struct {
	Seed         uint64  `json:"seed"`       // the same seed draws the same blocks
	Confidence   float64 `json:"confidence"` // of every interval
	BlockOffsets int64   `json:"block_offsets"`
	BlocksDrawn  int64   `json:"blocks_drawn"`
	Blocks       int64   `json:"blocks"` // of the range
	OffsetsDrawn int64   `json:"offsets_drawn"`
	Offsets      int64   `json:"offsets"`         // of the range
	RecordsRead  int64   `json:"records_read"`    // before they were taken for the range
	WireBytes    int64   `json:"wire_bytes_read"` // as stored
	Stopped      string  `json:"stopped"`         // why no more was read
	HalfWidth    float64 `json:"half_width"`      // widest half interval of a share in records, among keys that may be hot
	RecordsExact bool    `json:"records_exact"`   // no gap was seen: records of partitions are their offsets

	// UnseenShare is the share below which a key can have escaped the sample altogether, if its records lie together;
	// null when every block was read.
	UnseenShare *float64 `json:"unseen_share"`

	KeysSeen          int64   `json:"keys_seen"`            // distinct; a lower bound for certain
	KeysAtLeastAbout  int64   `json:"keys_at_least_about"`  // Chao's estimate of a lower bound; not of their number
	KeyCoverage       float64 `json:"key_coverage"`         // about the share of keyed records whose key was seen (Good-Turing)
	SeveralPartitions int64   `json:"keys_seen_in_several"` // seen in more than one partition; a lower bound
	NullKey           Shares  `json:"null_key"`             // of the range; Contents has the estimate as a count
	EmptyKey          Shares  `json:"empty_key"`
}

// whole reports whether the sample grew to the whole range: then nothing is left to chance.
func (s *Sample) whole() bool { return s.Stopped == everythingRead && s.BlocksDrawn >= s.Blocks }

// everythingRead is why a sample stops that has grown to the whole range.
const everythingRead = "everything read"

// Shares is a share in both weights.
type Shares struct {
	Records ShareRange `json:"records"`
	Bytes   ShareRange `json:"bytes"`
}

// KeySample is how well a sample knows one key.
type KeySample struct {
	Records   int64     `json:"records"` // of it in the sample
	ByRecords Precision `json:"by_records"`
	ByBytes   Precision `json:"by_bytes"`
	Earlier   *float64  `json:"earlier_share"` // of records in the first half of the range; null with too few to compare
	Later     *float64  `json:"later_share"`
	Drifts    bool      `json:"drifts"` // the halves differ beyond chance
}

// Precision says how many independent records would tell as much as the sample does.
type Precision struct {
	EffectiveRecords float64  `json:"effective_records"`
	DesignEffect     *float64 `json:"design_effect"` // records read over effective ones; null when not defined
}

// PartitionSample says how a partition's weight was estimated.
type PartitionSample struct {
	Offsets      int64   `json:"offsets"`       // of the range
	Live         float64 `json:"live_ratio"`    // records an offset in the blocks drawn
	RecordsExact bool    `json:"records_exact"` // no gap was seen: Records are the offsets
}
