package reports

// SchemaVersion is the version of [Report]'s JSON form. It rises when a field is added, removed or changes meaning.
const SchemaVersion = 1

// Report is everything a report can say, ready to be written or stored.
//
// Shares are numbers in [0, 1]. What is not known, or has no value, is null (a nil pointer), never -1. Figures that may
// carry doubt are ranges [Lo, Hi]; exact figures have Lo == Hi. Lists are never null.
//
// Ranges hold the true value for certain, unless the report is that of a sample (Sample is not null): then they are
// intervals at its confidence, shares have an estimate inside them, and every other figure of keys, bytes and plans is
// an estimate for the whole range.
//
// Figures that are not whole numbers are rounded to six significant digits, ranges outwards.
type Report struct {
	SchemaVersion int          `json:"schema_version"`
	Tool          Tool         `json:"tool"`
	Topic         Topic        `json:"topic"`
	Coverage      Coverage     `json:"coverage"`
	Sample        *Sample      `json:"sample"`   // null when everything asked for was read
	Findings      []Finding    `json:"findings"` // most urgent first
	Contents      Contents     `json:"contents"`
	Placement     *Placement   `json:"placement"` // null when there are no keys to tell it from
	Skew          Skews        `json:"skew"`
	TimeBuckets   *TimeBuckets `json:"time_buckets"` // null without peaks: a sample, or no times
	Partitions    []Partition  `json:"partitions"`   // those read, by index
	Plans         []Plan       `json:"plans"`        // in the order asked for
}

// Tool names what wrote the report.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Topic is what was analyzed and under which assumption.
type Topic struct {
	Name          string `json:"name"`
	NumPartitions int32  `json:"num_partitions"` // those not read included
	Partitioner   string `json:"partitioner"`    // the one assumed to have written the topic
}

// Coverage says what was read of what was asked for. Offsets are positions, not records: compaction, transaction
// markers and aborted records leave gaps.
type Coverage struct {
	Range          string  `json:"range"`    // as asked for
	Scope          string  `json:"scope"`    // what the range names: topic, partitions, tail, window, offsets or other
	OfTopic        bool    `json:"of_topic"` // shares and loads are the topic's, or a time window's of it; otherwise of what was read
	Isolation      string  `json:"isolation"`
	Complete       bool    `json:"complete"` // every offset asked for was read
	Partial        bool    `json:"partial"`  // the run was stopped before its end
	Reason         *string `json:"reason"`   // why it is partial
	PartitionsRead int     `json:"partitions_read"`
	OffsetsAsked   *int64  `json:"offsets_asked"` // of a sample, those of its blocks; null for a file not read to its end
	OffsetsRead    int64   `json:"offsets_read"`
	OffsetsLost    int64   `json:"offsets_lost"` // removed by retention before they could be read
}

// Contents is what the records read amount to; in a sample, what the range amounts to by estimate. Bytes as stored,
// control and aborted records are always those read.
type Contents struct {
	Records        int64  `json:"records"`
	Bytes          int64  `json:"bytes"` // keys, values and headers, uncompressed and without framing
	KeyBytes       int64  `json:"key_bytes"`
	ValueBytes     int64  `json:"value_bytes"`
	HeaderBytes    int64  `json:"header_bytes"`
	WireBytes      int64  `json:"wire_bytes"` // as stored: compressed, with framing
	NullKey        Weight `json:"null_key"`   // in a sample the estimate of Sample.NullKey, which has the interval
	EmptyKey       Weight `json:"empty_key"`
	Tombstones     int64  `json:"tombstones"`
	ControlRecords int64  `json:"control_records"` // transaction markers passed; in no other figure
	AbortedRecords int64  `json:"aborted_records"` // left out; in no other figure
	Assigned       int64  `json:"assigned"`        // records that name no partition, and were given one while they were read
	MinTime        *Time  `json:"min_time"`
	MaxTime        *Time  `json:"max_time"`

	CountMode string `json:"count_mode"` // "exact", "bounded" when the key table overflowed, or "sampled"

	// Null in a sample, which says what it can of them itself.
	DistinctKeys      *Estimate `json:"distinct_keys"`       // the empty key is one, the null key is none
	SeveralPartitions *Estimate `json:"several_partitions"`  // distinct keys seen in more than one partition
	MissingKey        *Weight   `json:"largest_missing_key"` // the most that a key in no table of the run can have
}

// Estimate is a count with its interval of 95 % confidence, cut at what is certain; when it is exact, both ends equal it.
type Estimate struct {
	Count  int64    `json:"count"`
	Exact  bool     `json:"exact"`
	Lo     int64    `json:"lo"`
	Hi     int64    `json:"hi"`
	StdErr *float64 `json:"std_err"` // standard error of Count; null where that is exact, or estimated from nothing
}

// Weight is the size of a set of records.
type Weight struct {
	Records int64 `json:"records"`
	Bytes   int64 `json:"bytes"`
}

// Range is a whole number known to lie in [Lo, Hi].
type Range struct {
	Lo int64 `json:"lo"`
	Hi int64 `json:"hi"`
}

// Exact reports whether r is one number.
func (r Range) Exact() bool { return r.Lo == r.Hi }

// ShareRange is a share known to lie in [Lo, Hi].
type ShareRange struct {
	Estimate *float64 `json:"estimate"` // in a sample only: Lo and Hi are its interval
	Lo       float64  `json:"lo"`
	Hi       float64  `json:"hi"`
}

// NumberRange is a figure known to lie in [Lo, Hi]; nil is no upper (or lower) limit.
type NumberRange struct {
	Lo *float64 `json:"lo"`
	Hi *float64 `json:"hi"`
}

// Time is an instant of a record's clock.
type Time struct {
	MS  int64  `json:"ms"`  // since the Unix epoch
	UTC string `json:"utc"` // the same in RFC 3339
}

// Finding is one conclusion. What and Do show its key, if it has one, as Key.Decoded does, or else Key.Text.
type Finding struct {
	ID       string  `json:"id"`
	Severity string  `json:"severity"` // critical, warning or info
	Unit     *string `json:"unit"`     // records or bytes, when it concerns one weight only
	Subject  *string `json:"subject"`  // the partition or candidate; null for the topic
	Key      *Key    `json:"key"`
	What     string  `json:"what"`
	Do       string  `json:"do"`
}

// Skews holds the judgement of both weights.
type Skews struct {
	Records   Skew       `json:"records"`
	Bytes     Skew       `json:"bytes"`
	Occupancy *Occupancy `json:"occupancy"` // null unless every partition was read and every key counted
}

// Occupancy sets the partitions without a keyed record beside how many of them as many keys leave empty when they are
// placed at random.
type Occupancy struct {
	Keys       int64   `json:"keys"`
	Partitions int     `json:"partitions"`
	Empty      int     `json:"empty"`
	Expected   float64 `json:"expected_empty"`
	SD         float64 `json:"sd_empty"` // standard deviation of the number that is expected
}

// Skew is how unevenly one weight is spread over the partitions read.
type Skew struct {
	Total    int64        `json:"total"`
	Measures *Measures    `json:"measures"`  // null without load
	Keys     *KeyMeasures `json:"keys"`      // null without a key
	Chance   *Chance      `json:"chance"`    // null where there is nothing to explain
	HotShare *float64     `json:"hot_share"` // the share above which one key is hot; null for one partition
	Ceiling  *NumberRange `json:"ceiling"`   // N*: more partitions than this cannot help; null without a key
	TopKeys  []TopKey     `json:"top_keys"`  // heaviest in this weight first
}

// Chance sets what was observed of the keyed records beside what hashing the same keys at random gives.
type Chance struct {
	Cause   string     `json:"cause"`
	All     ChancePAR  `json:"all"`
	Removed int        `json:"removed_hot_keys"`
	Without *ChancePAR `json:"without_hot_keys"` // null when none was taken away

	Heaviest int        `json:"heaviest_keys"`           // so many of the heaviest keys make most of the random spread; 0: no so few
	Lighter  *RandomPAR `json:"random_without_heaviest"` // null when there are none
}

// ChancePAR is an observed PAR beside its distribution under random placement.
type ChancePAR struct {
	Observed float64    `json:"observed"`
	Random   *RandomPAR `json:"random"` // null without a simulation
}

// RandomPAR is the distribution of PAR under random placement. Where not every key was counted it is an estimate.
type RandomPAR struct {
	Median float64  `json:"median"`
	P95    float64  `json:"p95"`
	P      float64  `json:"p"`       // how often random placement is at least as uneven as what was observed
	Most   *MostPAR `json:"at_most"` // null where every key was counted, and in a sample; equal where no estimate can be told
}

// MostPAR is what a [RandomPAR] can be at most, when the keys that were not counted are as heavy as they can be.
type MostPAR struct {
	Median float64 `json:"median"`
	P95    float64 `json:"p95"`
	P      float64 `json:"p"`
}

// Measures are the skew figures of one set of loads.
type Measures struct {
	PAR                 float64 `json:"par"` // largest load over mean load
	CV                  float64 `json:"cv"`  // standard deviation over mean
	EffectivePartitions float64 `json:"effective_partitions"`
	Gini                float64 `json:"gini"`
	HottestPartition    int32   `json:"hottest_partition"`
	HottestShare        float64 `json:"hottest_share"`
}

// TopKey is one of the heaviest keys, judged in the weight of its list.
type TopKey struct {
	Key            Key         `json:"key"`
	Verdict        string      `json:"verdict"` // hot, not hot or cannot tell
	Records        Range       `json:"records"`
	Bytes          Range       `json:"bytes"`
	RecordShare    ShareRange  `json:"record_share"` // of all records, those without a key included
	ByteShare      ShareRange  `json:"byte_share"`
	MainPartition  *int32      `json:"main_partition"`  // the one with most of it, in records
	PartitionShare *ShareRange `json:"partition_share"` // its share of the partition with most of it; null when not known
	Partitions     []KeyPart   `json:"partitions"`      // where it was seen, by index
	FirstTime      *Time       `json:"first_time"`      // null in a sample, which reads blocks in any order
	LastTime       *Time       `json:"last_time"`
	Peak           *Peak       `json:"peak"`    // null unless it is hot, if only for a while, or undecided
	Sampled        *KeySample  `json:"sampled"` // null unless a sample estimated its share
}

// KeyPart is a key's weight in one partition; null in a sample that saw the key in several.
type KeyPart struct {
	Partition int32  `json:"partition"`
	Records   *Range `json:"records"`
	Bytes     *Range `json:"bytes"`
}

// Partition is what was seen of one partition.
type Partition struct {
	Partition      int32             `json:"partition"`
	Records        int64             `json:"records"`
	Bytes          int64             `json:"bytes"`
	RecordShare    float64           `json:"record_share"`
	ByteShare      float64           `json:"byte_share"`
	KeyBytes       int64             `json:"key_bytes"`
	ValueBytes     int64             `json:"value_bytes"`
	HeaderBytes    int64             `json:"header_bytes"`
	WireBytes      int64             `json:"wire_bytes"`
	NullKey        Weight            `json:"null_key"`
	EmptyKey       Weight            `json:"empty_key"`
	Tombstones     int64             `json:"tombstones"`
	ControlRecords int64             `json:"control_records"`
	AbortedRecords int64             `json:"aborted_records"`
	FirstOffset    *int64            `json:"first_offset"` // null in a sample
	LastOffset     *int64            `json:"last_offset"`
	MinTime        *Time             `json:"min_time"`
	MaxTime        *Time             `json:"max_time"`
	TimestampType  *string           `json:"timestamp_type"` // of the last record; null where none has a time
	RecordSizes    []SizeBucket      `json:"record_sizes"`   // by size, empty buckets left out
	CountMode      string            `json:"count_mode"`
	DistinctKeys   *Estimate         `json:"distinct_keys"`       // null in a sample
	MissingKey     *Weight           `json:"largest_missing_key"` // null in a sample
	TopKey         *PartitionTopKey  `json:"top_key"`             // most records by their lower bound; null without a key
	Peak           *Peak             `json:"peak"`
	Sampled        *PartitionSample  `json:"sampled"` // null unless sampled
	Coverage       PartitionCoverage `json:"coverage"`
}

// SizeBucket counts the records whose size in bytes is in [Min, Max].
type SizeBucket struct {
	Min     int64 `json:"min"`
	Max     int64 `json:"max"`
	Records int64 `json:"records"`
}

// PartitionTopKey is the key of a partition with the most records by their lower bound. How heavy is null in a sample that
// cannot tell: the key was seen in other partitions too, or too seldom.
type PartitionTopKey struct {
	Key     Key         `json:"key"`
	Certain bool        `json:"certain"` // no other key of the partition can have more records; false in a sample
	Records *Range      `json:"records"`
	Bytes   *Range      `json:"bytes"`
	Share   *ShareRange `json:"share"`        // of the partition's records
	Most    *int64      `json:"most_records"` // that no key of the partition exceeds; null in a sample
}

// PartitionCoverage says what was read of one partition.
type PartitionCoverage struct {
	Spans    []Span  `json:"spans"` // asked for
	Asked    *int64  `json:"offsets_asked"`
	Read     int64   `json:"offsets_read"`
	Lost     int64   `json:"offsets_lost"`
	Position int64   `json:"position"` // next offset that would be read
	Complete bool    `json:"complete"`
	Error    *string `json:"error"` // why it is not
}

// Span is a half-open range of offsets [Start, End).
type Span struct {
	Start int64 `json:"start"`
	End   int64 `json:"end"`
}

// Candidate is a partitioner at a partition count.
type Candidate struct {
	Partitioner   string `json:"partitioner"`
	NumPartitions int32  `json:"num_partitions"`
}

// Plan is where future records of the keys seen would land. Records already written never move.
type Plan struct {
	From     Candidate `json:"from"`
	To       Candidate `json:"to"`
	Moved    Moved     `json:"moved"`
	Others   []Other   `json:"others"`   // who else wrote than To.Partitioner, and is taken for it; empty when that is to change
	Unkeyed  Weight    `json:"unkeyed"`  // spread by the client; even in the loads
	Unplaced Weight    `json:"unplaced"` // the client itself fails; in no load
	Records  PlanSide  `json:"records"`
	Bytes    PlanSide  `json:"bytes"`
	HotKeys  []KeyMove `json:"hot_keys"` // the topic's hot and undecided keys, heaviest in records first
	Limit    Limit     `json:"limit"`
	Matrix   []Cell    `json:"matrix"` // keyed records by current and future partition; empty cells left out
}

// Moved is what would land elsewhere than it is now, measured, beside what arithmetic expects.
type Moved struct {
	Keys            *MovedKeys `json:"keys"` // null unless counts are exact
	Records         Range      `json:"records"`
	RecordShare     ShareRange `json:"record_share"` // of the records that have a place
	Bytes           Range      `json:"bytes"`
	ByteShare       ShareRange `json:"byte_share"`
	FormulaKeyShare *float64   `json:"formula_key_share"` // 1 - gcd(n, m)/max(n, m); null when the partitioner changes too
}

// Other is keyed records that the partitioner planned with did not place. Their writer's future records are not simulated.
type Other struct {
	Writer  *int       `json:"writer"` // index of Placement.Writers; null: no known partitioner
	Records ShareRange `json:"records"`
}

// MovedKeys counts distinct keys. One moves when any of its records is in another partition than its future ones.
type MovedKeys struct {
	Moved int64   `json:"moved"`
	Of    int64   `json:"of"` // those that have a place
	Share float64 `json:"share"`
}

// PlanSide is a candidate judged in one weight.
type PlanSide struct {
	Measures    *Measures    `json:"measures"`     // null without load
	PARInterval *NumberRange `json:"par_interval"` // of Measures.PAR, by the doubt of the hottest load; null unless sampled
	Loads       []float64    `json:"loads"`        // by future partition, to two decimals
	LoadShares  []ShareRange `json:"load_shares"`  // the same as shares of the topic with their intervals; empty unless sampled
	HottestKeys []KeyMove    `json:"hottest_keys"` // heaviest keys of the hottest partition
}

// KeyMove is where one key is and where it would go.
type KeyMove struct {
	Key     Key        `json:"key"`
	Records Range      `json:"records"`
	Bytes   Range      `json:"bytes"`
	Share   ShareRange `json:"share"` // of the topic, in the weight of its list
	From    []int32    `json:"from"`
	To      *int32     `json:"to"` // null: the client itself fails for this key
	Moved   bool       `json:"moved"`
}

// Limit is what the heaviest key does to a candidate.
type Limit struct {
	CannotHelp bool     `json:"cannot_help"` // the topic is already at or beyond N*
	Ceiling    *float64 `json:"ceiling"`     // N*
	BestPAR    float64  `json:"best_par"`    // no placement of whole keys has a lower PAR in records
}

// Cell is one entry of a plan's matrix.
type Cell struct {
	From    int32 `json:"from"`
	To      int32 `json:"to"`
	Records int64 `json:"records"`
	Bytes   int64 `json:"bytes"`
}
