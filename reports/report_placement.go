package reports

// Placement says who wrote the topic, as far as its keys tell.
type Placement struct {
	Answer     string  `json:"answer"`     // explained, partly explained, mixture, …
	Confidence float64 `json:"confidence"` // of the least certain writer that matters
	Reason     *string `json:"reason"`     // why the report's partitioner was used; null when it was given

	PlacementsCompared int64   `json:"placements_compared"` // a key in one partition is one
	AllCompared        bool    `json:"all_compared"`
	RecordShare        float64 `json:"record_share"` // of the keyed records, the part that the key tables hold

	Writers   []PlacementWriter `json:"writers"` // largest share of records first
	Other     PlacedShares      `json:"other"`   // what no writer wrote
	Rivals    []PlacementRival  `json:"rivals"`  // not ruled out; empty when the answer is certain
	BestFits  []PlacementFit    `json:"best_fits"`
	Changes   []PlacementChange `json:"changes"`
	NullKeys  *KeySpread        `json:"null_keys"`  // null: there are none
	EmptyKeys *KeySpread        `json:"empty_keys"` // null: there are none

	SeveralCauses []SeveralCause `json:"several_causes"` // of the keys in more than one partition
	Several       []SeveralKey   `json:"several"`        // the heaviest of them

	KeyForms []KeyForms `json:"key_forms"` // what the keys' bytes spell, most keys first
	Schemas  []Schemas  `json:"schemas"`   // ids in framed keys; empty: no frames
	// NextSchema is what the next schema id would move; null when there are no frames or no partitioner was found.
	NextSchema *NextSchema `json:"next_schema"`
}

// PlacedShares is a share of the placements compared and of the keyed records.
type PlacedShares struct {
	Placements ShareRange `json:"placements"`
	Records    ShareRange `json:"records"`
}

// PlacementWriter is one explanation of a part of the topic.
type PlacementWriter struct {
	Partitioner    *string            `json:"partitioner"` // null: records in one partition whatever the key
	Alike          []string           `json:"alike"`       // others that place every key seen alike
	NumPartitions  int32              `json:"num_partitions"`
	Hashes         string             `json:"hashes"` // the whole key, or which part of it
	FixedPartition *int32             `json:"fixed_partition"`
	Confidence     float64            `json:"confidence"`
	Placements     ShareRange         `json:"placements"`
	Records        ShareRange         `json:"records"`
	First          *Time              `json:"first"` // of what only it explains
	Last           *Time              `json:"last"`
	Examples       []PlacementExample `json:"examples"`
}

// PlacementExample is a key in a partition.
type PlacementExample struct {
	Key       Key   `json:"key"`
	Partition int32 `json:"partition"`
	Records   int64 `json:"records"`
	First     *Time `json:"first"`
	Last      *Time `json:"last"`
}

// PlacementRival is an explanation that the keys do not rule out.
type PlacementRival struct {
	Partitioner   string  `json:"partitioner"`
	NumPartitions int32   `json:"num_partitions"`
	Hashes        string  `json:"hashes"`
	Odds          float64 `json:"odds"` // against the best explanation; 1 is as good
}

// PlacementFit is how well a partitioner fits at the topic's count, chance included.
type PlacementFit struct {
	Partitioner string  `json:"partitioner"`
	Placements  float64 `json:"placements"`
	Records     float64 `json:"records"`
}

// PlacementChange is a point in time at which one writer took over from another.
type PlacementChange struct {
	Kind   string `json:"kind"`
	Before int    `json:"before"` // index of writers
	After  int    `json:"after"`
	From   *Time  `json:"from"` // it lies after this
	To     *Time  `json:"to"`   // and not after this
}

// KeySpread is how records with a null or an empty key lie over the partitions.
type KeySpread struct {
	Records    int64  `json:"records"`   // in a sample an estimate
	Pattern    string `json:"pattern"`   // in a sample never told, unless all seen are in one partition
	Partition  *int32 `json:"partition"` // that holds them all; null: there are several
	Partitions int    `json:"partitions"`
}

// SeveralCause counts keys in more than one partition by cause.
type SeveralCause struct {
	Cause string `json:"cause"`
	Keys  int64  `json:"keys"`
}

// SeveralKey is a key in more than one partition.
type SeveralKey struct {
	Key     Key                `json:"key"`
	Records int64              `json:"records"`
	Cause   string             `json:"cause"`
	Where   []PlacementExample `json:"where"` // by partition
}

// KeyForms is a form of key bytes and how much of the topic has it.
type KeyForms struct {
	Form       string  `json:"form"`
	Placements float64 `json:"placements"`
	Records    float64 `json:"records"`
}

// Schemas is the share of framed keys with one schema id.
type Schemas struct {
	ID         uint32  `json:"id"`
	Name       *string `json:"name"` // as its registry has it; null when it was not asked or does not know
	Placements float64 `json:"placements"`
	Records    float64 `json:"records"`
}

// NextSchema is what framing the same keys with the next schema id would send elsewhere.
type NextSchema struct {
	ID         uint32  `json:"id"`
	Placements float64 `json:"placements"`
	Records    float64 `json:"records"`
}
