package partitioner

import (
	"math/bits"
	"slices"
)

// Class is one mapping from key bytes to a partition: a hash and a reduction. Many clients share a class; their rules for
// the null and the empty key still differ, and belong to a [Rule].
type Class struct {
	ID          string // "murmur2", "java_string:abs_min0"
	Hash        string // the hash, such as "MurmurHash2, seed 0x9747b28c"
	Formula     string // the reduction, such as "(h & 0x7fffffff) % n"
	Description string // what sets it apart from its neighbours
	Aliases     []string
	TextOnly    bool // it hashes text: keys that are not UTF-8 have no partition (a [KeyError])

	// Clients are the ids of the rules that place keys by this class, in the registry's order.
	Clients []string

	place  placeFunc
	family string    // what alike compares
	reduce reduction // what alike compares
}

// placeFunc hashes key and reduces it for every count. counts are positive, out has their length. It answers errNotText, an
// [OutsideError] without partitioner and key, or nil.
type placeFunc func(key []byte, counts, out []int32) error

type reduction int

const (
	reduceUnsigned reduction = iota
	reduceMask               // also with single hashes taken as another: sum_mask, kafka-node's 0
	reduceAbs                // |h| % n = |h % n|, however the one hash -2^31 is treated
	reduceConstant
)

// Partitioner returns the class as a partitioner: keys hashed by the class, the null key unkeyed and the empty key hashed.
func (c Class) Partitioner() Partitioner {
	return newRulePartitioner(classRule(c), c.place)
}

// Classes returns every keyed mapping known, in a fixed order. The slice is the caller's.
func Classes() []Class {
	out := slices.Clone(classes)
	for i := range out {
		for _, r := range rules {
			if r.Class == out[i].ID {
				out[i].Clients = append(out[i].Clients, r.ID)
			}
		}
	}
	return out
}

// Alike returns the ids of the classes that cannot be told from the named one by placement at n partitions: they give the
// same partition to every key but those of at most three single 32-bit hashes (about one key in 10^9). With ascii,
// keys are taken to be ASCII text, on which two more classes coincide. The class itself is not in the answer, and the order
// is that of [Classes]. It panics when n is not positive; an unknown id and "none" have nothing alike.
//
// At n = 1 every class places alike, at n = 2 every reduction of one hash does and some hashes are one, and where n is a power of two the mask
// and the unsigned remainder do.
func Alike(class string, n int32, ascii bool) []string {
	if n <= 0 {
		panic("partitioner: partition count is not positive")
	}
	c, ok := findClass(class)
	if !ok {
		return nil
	}
	var ids []string
	for _, other := range classes {
		if other.ID != c.ID && other.shape(n, ascii) == c.shape(n, ascii) {
			ids = append(ids, other.ID)
		}
	}
	return ids
}

// shape is a mapping with all removed that does not show at n partitions.
type shape struct {
	family string
	reduce reduction
}

func (c Class) shape(n int32, ascii bool) shape {
	s := shape{c.family, c.reduce}
	if n == 1 || s.reduce == reduceConstant {
		return shape{reduce: reduceConstant}
	}
	if ascii && s.family == "crc32 of low UTF-16 bytes" {
		s.family = "crc32"
	}
	if s.reduce == reduceUnsigned && bits.OnesCount32(uint32(n)) == 1 {
		s.reduce = reduceMask // n divides 2^31, so the top bit adds nothing
	}
	if s.reduce == reduceAbs && n == 2 {
		s.reduce = reduceMask // negation keeps parity
	}
	if n == 2 && slices.Contains(parityFamilies, s.family) {
		return shape{"parity", reduceMask}
	}
	return s
}

// parityFamilies start from an odd number and multiply by odd ones, so that their lowest bit is the parity of the key
// bytes' lowest bits, inverted: with two partitions they are one mapping.
var parityFamilies = []string{"fnv1a", "fnv1", "djb2rev", "java bytes"}

func findClass(id string) (Class, bool) {
	i := slices.IndexFunc(classes, func(c Class) bool { return c.ID == id })
	if i < 0 {
		return Class{}, false
	}
	return classes[i], true
}

const (
	hashMurmur2    = "MurmurHash2, seed 0x9747b28c"
	hashFNV1a      = "FNV-1a, 32 bits"
	hashCRC32      = "CRC-32 (IEEE)"
	hashJavaString = "Java String.hashCode of the key's text"
	hashJavaBytes  = "Java Arrays.hashCode of the key's bytes"

	formulaMask     = "(h & 0x7fffffff) % n"
	formulaUnsigned = "h % n, h unsigned"
	formulaAbs      = "|h % n|, h signed"
	formulaAbsFirst = "|h| % n in 32 bits, h signed; -2^31 stays negative"
	formulaAbsMin0  = "|h| % n, h signed, -2^31 taken as 0"
	formulaSumMask  = "(h & 0x7fffffff) % n, 2^31-1 taken as 0"
)

// classes is the table of mappings; partition counts are those of the whole topic. classes that only differ in the reduction
// stand together.
var classes = []Class{
	{
		ID: "murmur2", Hash: hashMurmur2, Formula: formulaMask, place: placeMurmur2, family: "murmur2", reduce: reduceMask,
		Description: "Java's built-in partitioner, unchanged since 0.8.1",
		Aliases:     []string{"murmur2-java"},
	},
	{
		ID: "murmur2u", Hash: hashMurmur2, Formula: formulaUnsigned, place: placeMurmur2Unsigned, family: "murmur2", reduce: reduceUnsigned,
		Description: "murmur2 without Java's mask: half of all keys elsewhere unless n is a power of two",
		Aliases:     []string{"murmur2-unsigned"},
	},
	{
		ID: "kafkajs_legacy", Hash: "murmur2 in double arithmetic, last block mixed twice", Formula: formulaMask, place: placeKafkajsLegacy, family: "kafkajs legacy", reduce: reduceMask,
		Description: "kafkajs 1.x: neither Java's nor librdkafka's",
		Aliases:     []string{"kafkajs-legacy"},
	},
	{
		ID: "fnv1a_abs", Hash: hashFNV1a, Formula: formulaAbs, place: placeFNV1aAbs, family: "fnv1a", reduce: reduceAbs,
		Description: "Sarama's default and librdkafka's fnv1a",
		Aliases:     []string{"fnv1a-signed-abs"},
	},
	{
		ID: "fnv1a_mask", Hash: hashFNV1a, Formula: formulaMask, place: placeFNV1aMask, family: "fnv1a", reduce: reduceMask,
		Description: "Sarama's reference hash, Beats: Java's mask over another hash, so not Java's placement",
	},
	{
		ID: "fnv1a_u", Hash: hashFNV1a, Formula: formulaUnsigned, place: placeFNV1aUnsigned, family: "fnv1a", reduce: reduceUnsigned,
		Description: "kafka-go before 0.3.1, franz-go's SaramaHasher on 64 bits",
		Aliases:     []string{"fnv1a-unsigned"},
	},
	{
		ID: "fnv1a_absfirst_broken", Hash: hashFNV1a, Formula: formulaAbsFirst, place: placeFNV1aAbsFirst, family: "fnv1a", reduce: reduceAbs,
		Description: "fnv1a_abs but for keys of hash 0x80000000, to which the client answers a negative partition",
		Aliases:     []string{"fnv1a-optiopay"},
	},
	{
		ID: "fnv1-signed-abs", Hash: "FNV-1, 32 bits", Formula: formulaAbs, place: placeFNV1Abs, family: "fnv1", reduce: reduceAbs,
		Description: "Sarama's custom hash partitioner given fnv.New32",
		Aliases:     []string{"fnv1_abs"},
	},
	{
		ID: "crc32u", Hash: hashCRC32, Formula: formulaUnsigned, place: placeCRC32Unsigned, family: "crc32", reduce: reduceUnsigned,
		Description: "librdkafka's default",
		Aliases:     []string{"crc32-unsigned"},
	},
	{
		ID: "crc32_abs", Hash: hashCRC32, Formula: formulaAbs, place: placeCRC32Abs, family: "crc32", reduce: reduceAbs,
		Description: "Sarama's custom hash partitioner given crc32: not librdkafka's placement",
		Aliases:     []string{"crc32-signed-abs"},
	},
	{
		ID: "crc32-mask", Hash: hashCRC32, Formula: formulaMask, place: placeCRC32Mask, family: "crc32", reduce: reduceMask,
		Description: "franz-go's KafkaHasher given crc32: not librdkafka's placement",
		Aliases:     []string{"crc32_mask"},
	},
	{
		ID: "no-kafka-crc32-utf16", Hash: "CRC-32 (IEEE) over the low byte of each UTF-16 unit", Formula: formulaAbs, place: placeCRC32UTF16, family: "crc32 of low UTF-16 bytes", reduce: reduceAbs, TextOnly: true,
		Description: "no-kafka's HashCRC32Partitioner: crc32_abs for ASCII keys",
		Aliases:     []string{"no_kafka_crc32_utf16"},
	},
	{
		ID: "phash2", Hash: "erlang:phash2 of a binary, 27 bits", Formula: "h % n", place: placePhash2, family: "phash2",
		Description: "brod's hash for binary keys; charlist and atom keys hash otherwise",
		Aliases:     []string{"brod-phash2"},
	},
	{
		ID: "xxh32", Hash: "XXH32, seed 0", Formula: formulaUnsigned, place: placeXXH32, family: "xxh32",
		Description: "kafka-rust",
	},
	{
		ID: "md5sum", Hash: "sum of the 16 bytes of the MD5 digest", Formula: "h % n", place: placeMD5Sum, family: "md5sum",
		Description: "kaffe; the sums crowd around 2040, so many partitions are filled unevenly",
	},
	{
		ID: "sha1", Hash: "SHA-1 digest as a number of 160 bits", Formula: "h % n over sorted partitions", place: placeSHA1, family: "sha1",
		Description: "pykafka's HashingPartitioner",
	},
	{
		ID: "djb2rev", Hash: "djb2 from the last byte to the first, bytes signed", Formula: formulaUnsigned, place: placeDJB2Reverse, family: "djb2rev",
		Description: "collectd on x86; then the next partition that has a leader",
	},
	{
		ID: "java_string:abs_min0", Hash: hashJavaString, Formula: formulaAbsMin0, place: placeJavaStringAbsMinZero, family: "java string", reduce: reduceAbs, TextOnly: true,
		Description: "Spring Cloud Stream, kt, the Scala producer from 0.8.2",
	},
	{
		ID: "java_string:mod_abs", Hash: hashJavaString, Formula: formulaAbs, place: placeJavaStringModAbs, family: "java string", reduce: reduceAbs, TextOnly: true,
		Description: "Maxwell's default",
	},
	{
		ID: "java_string:abs_raw", Hash: hashJavaString, Formula: formulaAbsFirst, place: placeJavaStringAbsRaw, family: "java string", reduce: reduceAbs, TextOnly: true,
		Description: "the Scala producer of 0.7",
	},
	{
		ID: "java_string:mask", Hash: hashJavaString, Formula: formulaMask, place: placeJavaStringMask, family: "java string", reduce: reduceMask, TextOnly: true,
		Description: "the Scala producer of 0.8.0 and 0.8.1",
	},
	{
		ID: "java_string:sum_mask", Hash: hashJavaString, Formula: formulaSumMask, place: placeJavaStringSumMask, family: "java string", reduce: reduceMask, TextOnly: true,
		Description: "Debezium's PartitionRouting over one payload field",
	},
	{
		ID: "kn31", Hash: "Java String.hashCode kept to 31 bits, 0 taken as 1; bad UTF-8 replaced", Formula: "h % n", place: placeKafkaNode31, family: "java string", reduce: reduceMask,
		Description: "kafka-node's KeyedPartitioner",
		Aliases:     []string{"kafka-node-31hash"},
	},
	{
		ID: "java_bytes:abs_min0", Hash: hashJavaBytes, Formula: formulaAbsMin0, place: placeJavaBytesAbsMinZero, family: "java bytes", reduce: reduceAbs,
		Description: "the Scala producer's ByteArrayPartitioner from 0.8.2",
	},
	{
		ID: "java_bytes:mask", Hash: hashJavaBytes, Formula: formulaMask, place: placeJavaBytesMask, family: "java bytes", reduce: reduceMask,
		Description: "the Scala producer's mask of 0.8.0 and 0.8.1 over bytes",
	},
	{
		ID: "maxwell_mm3", Hash: "MurmurHash3 x86_32, seed 25342, of the key's text", Formula: formulaAbs, place: placeMaxwell, family: "murmur3 25342", reduce: reduceAbs, TextOnly: true,
		Description: "Maxwell with kafka_partition_hash=murmur3",
	},
	{
		ID: "murmur3-seed0", Hash: "MurmurHash3 x86_32, seed 0, of the key's text", Formula: formulaUnsigned, place: placeMurmur3Seed0, family: "murmur3 0", TextOnly: true,
		Description: "node-sinek's default",
	},
	{
		ID: "dbz_mm3", Hash: "Debezium's 64-bit MurmurHash3, upper 32 bits", Formula: formulaSumMask, place: placeDebezium, family: "debezium", reduce: reduceMask,
		Description: "Debezium's PartitionRouting over one payload field, partition.hash.function=murmur",
	},
	{
		ID: "constant-0", Hash: "none", Formula: "0", place: placeZero, reduce: reduceConstant,
		Description: "every record to partition 0: kafka-node's and kt's default",
	},
}
