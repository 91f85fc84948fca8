package finding

import "slices"

// The findings keyspread can report.
const (
	IncompleteCoverage  ID = "incomplete-coverage"
	PartialRange        ID = "partial-range"
	HotKey              ID = "hot-key"
	HotPartition        ID = "hot-partition"
	Ceiling             ID = "ceiling"
	MovedHotKey         ID = "moved-hot-key"
	PartitionerMismatch ID = "partitioner-mismatch"
	NullKeys            ID = "null-keys"
	EmptyKeys           ID = "empty-keys"
	LowCardinality      ID = "low-cardinality"
	UnplaceableKeys     ID = "unplaceable-keys"
	BoundedCounts       ID = "bounded-counts"
	NoRecords           ID = "no-records"

	SeveralHeavyKeys  ID = "several-heavy-keys"
	FewKeys           ID = "few-keys"
	SkewByChance      ID = "skew-by-chance"
	NotHashed         ID = "not-hashed"
	UnkeyedTraffic    ID = "unkeyed-traffic"
	UnevenPartitioner ID = "uneven-partitioner"
	OrderLost         ID = "order-lost"
	SampleTooSmall    ID = "sample-too-small"
	Drift             ID = "drift"
	Burst             ID = "burst"
)

// Entry is the long form of a finding.
type Entry struct {
	ID      ID
	Title   string
	Meaning string // what was seen and why it matters
	Rule    string // when it is reported, with its formula
	Do      string // what to do, with the price of each way
}

// catalogue lists every finding in the order in which a report shows findings of one severity: what the loads do, who
// placed the keys, what the keys are.
var catalogue = slices.Concat(loadEntries, placementEntries, keyEntries)

var loadEntries = []Entry{
	{
		ID:    IncompleteCoverage,
		Title: "not everything that was asked for was read",
		Meaning: `Some offsets of the range were not read: a partition had no leader, a batch was damaged, retention removed
records before they could be read, or the run was stopped. Every figure describes only what was read.`,
		Rule: "Reported when a partition's position is short of the end offset fixed at the start of the run.",
		Do: `Look at the coverage lines: they name each partition, the position reached and the reason. Run again once the
partition is healthy. A damaged batch can be passed by reading around it: --offsets P:START-END for what lies on either side.`,
	},
	{
		ID:    PartialRange,
		Title: "a part of the topic was read",
		Meaning: `Not every partition was read, or not the same of each: its last so many offsets, chosen offsets, or what an
incomplete read came to. Loads of partitions then show how much of each was read, and a share of the part is no share of
the topic. Keys in several partitions, who placed them and keys that are missing show in a part as well, so they are told.`,
		Rule: `Reported when partitions are left out (--partitions, --shard, a merge of some shards), with --tail and --offsets, and
when partitions were read to depths that differ by more than 1 %. A time window (--since, --until) of all partitions is
judged as what it is. No finding then calls a key or a partition hot or says why loads are uneven, and no key is called hot.`,
		Do: `Merge the profiles of all shards; take a time window instead of a tail, as it is the same for every partition; or let
--sample blocks read a little of everything, with intervals.`,
	},
	{
		ID:    HotKey,
		Title: "one key has a large share of the topic",
		Meaning: `All records of a key are in one partition, and one partition is read by one member of a group. The key alone
lifts its partition well above the others, whatever the rest does.`,
		Rule: `A key is hot at n partitions when the lower bound of its share exceeds (r-1)/(n-1), r = 1.5 unless --hot-ratio says
otherwise: 4.5 % at 12 partitions, 1.1 % at 48. Such a key alone lifts its partition above r times the mean.`,
		Do: `Ask first whether the key is right: a constant, a country, a bot, a default tenant. If it is, make sure one consumer can
carry it at its peak. More partitions do not divide it. Splitting it (key#0 … key#7) does, and gives up the order between
the parts: every consumer must then be able to merge them.`,
	},
	{
		ID:    HotPartition,
		Title: "one partition carries much more than the mean",
		Meaning: `The hottest partition decides how far a group can fall behind and how long a replay takes: a group's useful
parallelism is total load over hottest load (1 / its share), however many members it has.`,
		Rule: "Reported when max/mean (PAR) of records or bytes exceeds r = 1.5 (--hot-ratio).",
		Do: `See which keys fill it: the finding names them. One heavy key: see hot-key. Several that met by chance: another partition
count separates them, "keyspread plan" shows which. No heavy key: see partitioner-mismatch, null-keys and low-cardinality.`,
	},
	{
		ID:    Ceiling,
		Title: "one key sets the least that the hottest partition can have",
		Meaning: `No partition can hold less than its heaviest key. With w1 the share of the topic's heaviest key, the hottest
partition stays at w1 or above whatever the count; partitions beyond N* = 1/w1 mostly make the others emptier.`,
		Rule: "Reported when the topic, or a planned candidate, has more partitions than N*.",
		Do: `Size the topic for the heaviest key: one consumer must carry w1 times the topic's peak rate. To go beyond, the key itself
must be split, which gives up its order.`,
	},
	{
		ID:    Burst,
		Title: "a key is hot for a while, not over the run",
		Meaning: `In some stretch of time the key has a share that makes it hot, although over the whole range it does not. For that
long its partition falls behind as if the key were hot. Share and rate are means of a time bucket, the least of 1, 2, 4, …
seconds of which few enough cover the range; for a part of the bucket the key can have had more.`,
		Rule: `Reported when, in a time bucket, the lower bound of the key's share exceeds (r-1)/(n-1), its peak is in a bucket that is
not nearly empty, it has at least 100 records there, and it is not hot over the run. Keys are not counted by time in topics
of more than 2,730 partitions.`,
		Do: "Size the consumer for the peak shown, or limit the key's rate at the producer; more partitions do not divide it.",
	},
	{
		ID:    MovedHotKey,
		Title: "a heavy key's future records would land in another partition",
		Meaning: `Records already written stay. After the change new records of the key go to another partition, and Kafka orders
records within one partition only: a consumer that has not finished the old one can see new records first, and a replay
always can until retention has removed the old ones. In a compacted topic the old last value stays for good.`,
		Rule: "Reported for each hot or undecided key whose planned partition is not the one that holds it.",
		Do: `Stop its producer, let every group drain the old partition (lag 0), then add partitions and start again; or write to
a new topic and cut over. Check readers that keep state by partition and sinks that use the offset as a version.`,
	},
	{
		ID:    OrderLost,
		Title: "a plan under which keys no longer choose a partition",
		Meaning: `The partitioner planned for spreads records whatever their key: round robin, random, sticky. Loads become level,
and the records of one key lie in all partitions, so no consumer sees them in order.`,
		Rule: "Reported when a plan leaves more records without a partition of their key than the topic has now.",
		Do: `Take it only where no consumer needs the order of a key, keeps state by key, or relies on compaction. Otherwise plan
with a partitioner that hashes keys.`,
	},
	{
		ID:    PartitionerMismatch,
		Title: "the topic was not written with the assumed partitioner",
		Meaning: `Keyed records are not where the assumed partitioner would put them at this partition count. Another client or
setting wrote them, the partition was chosen by hand, or the topic had another count when they were written. A plan made
with a partitioner that is not the producer's is wrong.`,
		Rule: "Reported when more than 0.1 % of keyed records are in another partition than the assumed partitioner gives.",
		Do: `Find out what the producers use ("keyspread partitioners" lists what each client does by default) and name it with
--partitioner; "keyspread locate --partitioner all -n N KEY" shows where each known partitioner puts a key you know.`,
	},
	{
		ID:    NotHashed,
		Title: "loads that no hash of these keys gives",
		Meaning: `Placing the same keys at random thousands of times hardly ever gives loads as uneven as these, and the assumed
partitioner does not explain them either. Something else chose the partition: another partitioner, a hash modulo an old
partition count, an explicit partition, or one client pinned to a few partitions.`,
		Rule: `Reported when PAR of the keyed records, or what is left of it without the hot keys, is reached in fewer than 0.2 % of
the rehashes, exceeds their median by 5 %, and fewer than 99.9 % of keyed records are where the partitioner puts them.`,
		Do: `Find the rule before planning: "keyspread locate --partitioner all -n N KEY" shows where each known partitioner puts a
key; look for a past increase of the partition count and for producers that set the partition themselves.`,
	},
	{
		ID:    UnevenPartitioner,
		Title: "a partitioner that spreads these keys badly",
		Meaning: `The keys are where the partitioner puts them, and it puts them far less evenly than a random hash would: one that
sends some keys to a partition of their own, or a weak hash (sums, String.hashCode) on keys of a regular shape.`,
		Rule: `Reported when at least 99.9 % of keyed records are where the partitioner puts them, PAR without the hot keys exceeds
r = 1.5 (--hot-ratio), and fewer than 0.2 % of the rehashes reach it.`,
		Do: `"keyspread plan --to-partitioner murmur2 --to N" shows what another hash makes of the same keys. Changing it moves
most keys, as a new partition count does; a rule made on purpose is best sized by its own hottest partition.`,
	},
	{
		ID:    SeveralHeavyKeys,
		Title: "many heavy keys, not one",
		Meaning: `Taking the heaviest keys away does not level the loads: the weight lies in many heavy keys, as in a steep Zipf
distribution. Any hash spreads them unevenly, another one differently.`,
		Rule: "Reported when a key is hot and PAR without the hot keys, three at most, still exceeds r = 1.5 (--hot-ratio).",
		Do: `No single key is to blame, so splitting one does not help. Plan for the hottest partition as it is, or assign the heavy
keys by hand with a custom partitioner, at the price of keeping that table.`,
	},
	{
		ID:    FewKeys,
		Title: "uneven because the keys are effectively few",
		Meaning: `The loads are about as uneven as any hash makes them for so few effective keys (1/sum of squared shares). It is
arithmetic, not a defect.`,
		Rule: "Reported when PAR exceeds r = 1.5, no hot key stands out from the others, and there are fewer than 20 effective keys per partition.",
		Do:   "A finer key levels it; another hash or another partition count only reshuffles it.",
	},
	{
		ID:    SkewByChance,
		Title: "unevenness that chance explains",
		Meaning: `The loads are as uneven as the same keys would be under any hash. The report shows the ratio that chance gives beside
the one observed. Where one to three keys that are not hot make most of that spread, they are named: chance is then where
these land.`,
		Rule: `Reported, for information, when PAR exceeds 1.1 and nothing else explains it. Keys make most of the spread when what the
median of random placements exceeds 1 by is less than half without them.`,
		Do: "Nothing is wrong with the partitioner, nor with the keys unless a burst is reported too.",
	},
	{
		ID:    UnkeyedTraffic,
		Title: "the records without a key make the loads uneven",
		Meaning: `Keyed records alone are level; records without a key lie in few partitions. A sticky client that ran briefly, one
client with a fixed partition for null keys, or few large batches do that.`,
		Rule: "Reported when PAR exceeds r = 1.5 and PAR of the keyed records does not.",
		Do: `Look at the null-key figures of each partition. Sticky clients level out over time; a client that sends every null key to
partition 0 does not.`,
	},
	{
		ID:    SampleTooSmall,
		Title: "the sample does not carry its intervals",
		Meaning: `Fewer than 30 blocks were read, or the precision asked for was not reached before a limit ended the sampling. With so
few blocks an interval can be far too narrow.`,
		Rule: "Reported when fewer than 30 blocks were read, or sampling ended by a limit.",
		Do:   "Allow more (--max-bytes, --max-records, --max-time), or read everything with --sample full.",
	},
	{
		ID:    Drift,
		Title: "a key's share differs between the earlier and the later half",
		Meaning: `The blocks of the earlier and the later half of the range give the key different shares, beyond what their own spread
explains. One figure for the whole range hides that.`,
		Rule: "Reported in sampled runs when the two shares differ at the 0.5 % level, corrected for the number of keys compared.",
		Do:   "Judge the later half by itself: --since, or --tail, describes what is coming.",
	},
}

var keyEntries = []Entry{
	{
		ID:    NullKeys,
		Title: "records without a key",
		Meaning: `A null key is not hashed: the client spreads such records (sticky, round robin or random), except for the few
clients that give them one fixed partition. They have no order to keep and take no part in key shares.`,
		Rule: "Reported when any record has a null key; a warning above 1 % of the records.",
		Do: `If they are meant to be unkeyed, nothing. If they should have a key, the producer loses it: look at the tombstones,
dead-letter copies and second writers of the topic first.`,
	},
	{
		ID:    EmptyKeys,
		Title: "records with an empty key",
		Meaning: `An empty key (0 bytes) is not a null key, and clients disagree about it: Java hashes it, so all such records share
one partition; librdkafka's default treats it like null and spreads it; others do either.`,
		Rule: "Reported when any record has an empty key.",
		Do: `It is nearly always a missing value turned into "". Make the producer send null or a real key; until then expect all
empty keys of a hashing client in one partition.`,
	},
	{
		ID:    LowCardinality,
		Title: "few distinct keys for this many partitions",
		Meaning: `With few keys any hash spreads unevenly: some partitions get two or three of them, others none. It is arithmetic,
not a defect of the partitioner. The chance spread (coefficient of variation) is sqrt((n-1)/K), K the effective number of keys.`,
		Rule: "Reported when there are fewer than 20 distinct keys per partition; a warning below 1 per partition.",
		Do: `Use a finer key if the order needed allows it, or fewer partitions. A custom partitioner that assigns each key by hand
can level a small fixed key set, at the price of keeping that table.`,
	},
	{
		ID:    UnplaceableKeys,
		Title: "keys for which the client itself fails",
		Meaning: `For these keys the partitioner answers a partition outside 0..n-1 (old absolute-value bugs) or cannot read the key
bytes as its key type. A real producer would fail or send the record elsewhere.`,
		Rule: "Reported when any record has such a key.",
		Do:   "Check that --partitioner names the producer's; the report keeps these records out of every load.",
	},
	{
		ID:    BoundedCounts,
		Title: "more keys than the memory budget holds",
		Meaning: `The key table passed --memory, so light keys were dropped on the way. Counts of the keys listed carry bounds [lo, hi];
loads, moved records and moved bytes stay exact. A key that was dropped has at most the share stated.`,
		Rule: "Reported when any partition's table overflowed.",
		Do: `Read again with --refine, which makes the listed keys exact by a second read, or with more --memory for all of them.
Or accept the bounds: they are guarantees, not estimates.`,
	},
	{
		ID:      NoRecords,
		Title:   "no records in the range",
		Meaning: "The range held no data record, so there is nothing to judge.",
		Rule:    "Reported when every partition was read and none delivered a record.",
		Do:      "Check --topic and the range (--since, --until, --tail, --offsets); retention or compaction may have removed everything.",
	},
}

// All returns the catalogue in report order.
func All() []Entry { return slices.Clone(catalogue) }

// Find returns the entry of an id.
func Find(id ID) (Entry, bool) {
	if i := rank(id); i < len(catalogue) {
		return catalogue[i], true
	}
	return Entry{}, false
}

// rank is the id's place in the catalogue; unknown ids come last.
func rank(id ID) int {
	i := slices.IndexFunc(catalogue, func(e Entry) bool { return e.ID == id })
	if i < 0 {
		return len(catalogue)
	}
	return i
}
