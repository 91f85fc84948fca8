package finding

// The findings about who placed a topic's keys, and what their bytes are.
const (
	MixedPartitioners   ID = "mixed-partitioners"
	PartitionerChanged  ID = "partitioner-changed"
	PartitionsAdded     ID = "partitions-added"
	UnexplainedKeys     ID = "unexplained-placement"
	KeysIgnored         ID = "keys-ignored"
	KeysInSeveral       ID = "keys-in-several-partitions"
	KeyDrift            ID = "key-drift"
	SchemaIDInKey       ID = "schema-id-in-key"
	KeyFormatMisfit     ID = "key-format-misfit"
	PlacedByPart        ID = "placed-by-part-of-key"
	PartitionerFound    ID = "partitioner-found"
	PartitionersAlike   ID = "partitioners-alike"
	AmbiguousPlacement  ID = "ambiguous-placement"
	PlacementNotChecked ID = "placement-not-checked"
)

// placementEntries are the long forms, in the order in which a report shows findings of one severity.
var placementEntries = []Entry{
	{
		ID:    MixedPartitioners,
		Title: "several partitioners wrote the topic",
		Meaning: `Clients with different partitioners put the same key into different partitions. Its records have no order between
them, a compacted topic keeps one last value in each partition, joins by key miss what lies elsewhere, and a consumer's
state of the key is split between members.`,
		Rule: `Reported when at least two partitioners each explain placements that no other known one does, by odds of 1000 to 1
over chance, and a share of 0.1 % of records or placements. A share's limits are what only that partitioner explains and
what it explains at all.`,
		Do: `Look at the example keys and the times of each writer to find the producer, and configure all of them alike: Java's
placement is partitioner=murmur2_random in librdkafka; "keyspread partitioners" lists the names in other clients.`,
	},
	{
		ID:    PartitionerChanged,
		Title: "the partitioner changed at a point in time",
		Meaning: `Up to one time all records fit one partitioner, after it another: a client library was exchanged, upgraded or
configured differently. Keys written on both sides are in two partitions.`,
		Rule: `Reported when a point in time parts the placements of two writers with at most 2 % on the wrong side. Only first and
last times per key and partition are known, so the change is bracketed, not dated.`,
		Do: `If the change was not meant, set the old partitioner in the new client. If it was, treat it like added partitions: old
records are in the old place until retention removes them.`,
	},
	{
		ID:    PartitionsAdded,
		Title: "records lie where a smaller partition count put them",
		Meaning: `The topic had fewer partitions when these records were written, or a producer is configured to a smaller count.
Records never move: such a key's old records are in one partition and its new ones in another.`,
		Rule: "Reported when a known partitioner under a smaller count explains placements that it does not explain under today's.",
		Do: `Expect two partitions for each key written on both sides until retention has removed the old records. In a compacted
topic it never does: rewrite the keys, or write tombstones to the old partitions by hand.`,
	},
	{
		ID:    UnexplainedKeys,
		Title: "no known partitioner put these keys where they are",
		Meaning: `Every known partitioner was tried under today's partition count and smaller ones, and agrees no more often than
chance. The partition was chosen explicitly, by a partitioner of your own, or from other bytes than the key.`,
		Rule: "Reported when more than 0.1 % of the keyed records or placements fit no writer.",
		Do: `Ask the producer's owner. A partitioner of your own can be named: --partitioner exec:CMD, jvm:CLASS or table:FILE.
Until then no figure about future placement holds for these records.`,
	},
	{
		ID:    KeysIgnored,
		Title: "a key's partition is no function of the key",
		Meaning: `The same key is found in many partitions and no partitioner explains any of them: the producer spreads records
round robin or at random although they have keys. There is no order per key.`,
		Rule: "Reported when no known partitioner explains half of the records and over half of the keys with several records are in several partitions.",
		Do: `Check the producer: kafka-go's default balancer, Java's RoundRobinPartitioner and partitioner.ignore.keys, Flink's
fixed partitioner and several tools ignore the key.`,
	},
	{
		ID:    KeysInSeveral,
		Title: "keys with records in more than one partition",
		Meaning: `Records of one key are ordered within each of its partitions only. The cause is named where the placements tell it:
a past partition count, two partitioners, or a partition chosen explicitly.`,
		Rule: "Reported when any key was counted in more than one partition.",
		Do:   "See the cause: partitions-added, mixed-partitioners or unexplained-placement says what to do about it.",
	},
	{
		ID:    KeyDrift,
		Title: "one logical key is written as different bytes",
		Meaning: `Partitioners hash bytes. The number 42 as text, as 8 bytes or in a schema frame, JSON with and without spaces, a
UUID in text or in 16 bytes are different keys to Kafka: they land in different partitions, compaction keeps each of them,
and joins do not match them.`,
		Rule: `Reported when keys that read as the same number, text, UUID, JSON value or message occur in more than one spelling.
Spellings that differ in a schema id only are schema-id-in-key.`,
		Do: `Agree on one serializer for the key in every producer. Bytes are recognised by their looks: check an example before
acting on it.`,
	},
	{
		ID:    SchemaIDInKey,
		Title: "keys carry a schema id, and it is hashed",
		Meaning: `Confluent's frame puts 4 bytes of schema id before the key, and the partitioner hashes them. Every new version of
the key's schema, even a changed comment, another registry or subject gives every key new bytes, and so nearly every key
another partition.`,
		Rule: `Reported when keys are Confluent frames: a warning when several ids occur. What the next id would move is computed
with the topic's own keys, framed with the highest id plus one, under the partitioner found.`,
		Do: `Keep the key's schema for good (READONLY subject), or use a key without a frame: text or an integer.`,
	},
	{
		ID:    KeyFormatMisfit,
		Title: "keys are not of the format they were to be shown in",
		Meaning: `--key-format says how keys are to be shown; it changes no figure. Keys that cannot be read in that format are
shown as they are: text as text, other bytes in hex.`,
		Rule: "Reported when a format was asked for and any key looked at is not of it. Integers have 4 bytes, longs 8, UUIDs 16 or 36 characters.",
		Do:   "Use auto, which shows each key as it is recognised, or hex to see bytes.",
	},
	{
		ID:    PlacedByPart,
		Title: "the partition comes from a part of the key",
		Meaning: `A partitioner explains the placement only when it hashes a part of the key: Kafka Streams places windowed keys by
the key without its window, foreign-key joins by the foreign key. Any other client that writes the same bytes puts them
elsewhere.`,
		Rule: "Reported when a writer was found over a part of the key.",
		Do:   "Nothing, as long as only that application writes the topic. Do not copy it with a tool that hashes the whole key.",
	},
	{
		ID:    PartitionerFound,
		Title: "the topic was written with another partitioner than Java's",
		Meaning: `The placement of the keys fits one known partitioner, which is not the Java client's murmur2. A second producer
with Java's default would put the same keys elsewhere.`,
		Rule: "Reported when one writer explains at least 99.9 % of records and placements and murmur2 does not.",
		Do:   "Give every producer, stream application and copy of this topic that partitioner.",
	},
	{
		ID:    PartitionersAlike,
		Title: "several partitioners place these keys alike",
		Meaning: `At this partition count, or on these keys, the partitioners named give every key the same partition. So the data
cannot tell which one the producer uses. At another count they may differ on half of the keys: a power of two hides a
missing mask.`,
		Rule: "Reported when the writer found cannot be told from another class by any key seen.",
		Do: `Find out which client writes the topic before adding partitions to a count that is no power of two, and name it with
--partitioner.`,
	},
	{
		ID:    AmbiguousPlacement,
		Title: "the keys do not tell who placed them",
		Meaning: `Several explanations fit, and the keys seen are too few, or agree too often by chance, to decide. Each key agrees
with an unrelated partitioner once in as many times as there are partitions.`,
		Rule: "Reported when the best explanation has a probability below 99 %.",
		Do:   "Read a longer range with more keys, or name the producer's partitioner with --partitioner.",
	},
	{
		ID:      PlacementNotChecked,
		Title:   "too few keys to tell who placed them",
		Meaning: "Even if one partitioner had placed every key seen, chance would be a likely explanation too.",
		Rule:    "Reported when a perfect fit would not reach odds of 1000 to 1. At 12 partitions that takes 4 to 5 keys, at 2 about 15.",
		Do:      "Name the producer's partitioner with --partitioner; the keys cannot confirm it.",
	},
}
