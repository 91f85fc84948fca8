package partitioner

// goClients are the clients written in Go and the tools built on them.
var goClients = []Client{
	{
		Name: "sarama", Title: "IBM/sarama, Shopify/sarama", Source: "IBM/sarama@bd98b3ae partitioner.go",
		Rules: []Rule{
			{Value: "hash", To: "1.9", Default: true, Class: "fnv1a_absfirst_broken", Null: random, Empty: hashed, Evidence: Read, Notes: "a key of hash 0x80000000 got a negative partition (sarama#709)"},
			{Value: "hash", From: "1.10.0", Default: true, Class: "fnv1a_abs", Null: random, Empty: hashed, Over: saramaOver, Evidence: Run, Aliases: []string{":NewHashPartitioner", "sarama-hash"}, Notes: "only a nil interface is the null key: ByteEncoder(nil) and StringEncoder(\"\") are hashed as empty"},
			{Value: "reference", From: "1.18.0", Class: "fnv1a_mask", Null: random, Empty: hashed, Over: saramaOver, Evidence: Run, Aliases: []string{":NewReferenceHashPartitioner", "sarama-reference"}, Notes: "Java's mask over FNV-1a: not Java's placement"},
			{Value: "crc", From: "1.41.0", Class: "crc32u", Null: random, Empty: hashed, Over: saramaOver, Evidence: Run, Aliases: []string{":NewConsistentCRCHashPartitioner", "sarama-crc"}, Notes: "librdkafka's placement but for the empty key"},
			{Value: "murmur2", From: "1.50.0", Class: "murmur2", Null: random, Empty: hashed, Over: saramaOver, Evidence: Run, Aliases: []string{":NewMurmur2Partitioner"}, Notes: "Java's placement of keys"},
			{Value: "custom_crc32", From: "1.12.0", Class: "crc32_abs", Null: random, Empty: hashed, Over: saramaOver, Evidence: Run, Aliases: []string{"sarama-custom-crc32"}, Notes: "NewCustomHashPartitioner(crc32.NewIEEE): not librdkafka's placement (sarama#1213)"},
			{Value: "custom_crc32_absfirst", Class: "crc32-mask", Null: random, Empty: hashed, Over: saramaOver, Evidence: Run, Notes: "NewCustomPartitioner(WithCustomHashFunction(crc32.NewIEEE), WithAbsFirst())"},
			{Value: "custom_crc32_unsigned", Class: "crc32u", Null: random, Empty: hashed, Over: saramaOver, Evidence: Run, Notes: "NewCustomPartitioner(WithCustomHashFunction(crc32.NewIEEE), WithHashUnsigned())"},
			{Value: "custom_fnv1", From: "1.12.0", Class: "fnv1-signed-abs", Null: random, Empty: hashed, Over: saramaOver, Evidence: Run, Notes: "NewCustomHashPartitioner(fnv.New32)"},
			{Value: "custom_absfirst", Class: "fnv1a_mask", Null: random, Empty: hashed, Over: saramaOver, Evidence: Run, Notes: "NewCustomPartitioner(WithAbsFirst())"},
			{Value: "custom_unsigned", Class: "fnv1a_u", Null: random, Empty: hashed, Over: saramaOver, Evidence: Run, Notes: "NewCustomPartitioner(WithHashUnsigned())"},
			{Value: "random", Class: ClassNone, Null: random, Empty: random, Over: overAvail, Evidence: Run, Aliases: []string{":NewRandomPartitioner"}},
			{Value: "round_robin", Class: ClassNone, Null: roundRobin, Empty: roundRobin, Over: overAvail, Evidence: Run, Aliases: []string{":NewRoundRobinPartitioner"}},
			{Value: "manual", Class: ClassNone, Null: spread("by record"), Empty: spread("by record"), Evidence: Read, Aliases: []string{":NewManualPartitioner"}},
		},
	},
	{
		Name: "kafka-go", Title: "segmentio/kafka-go", Source: "segmentio/kafka-go@3ce29796 balancer.go",
		Rules: []Rule{
			{Value: "round_robin", Default: true, Class: ClassNone, Null: roundRobin, Empty: roundRobin, Evidence: Run, Aliases: []string{"kafka-go-default"}, Notes: "a Writer with no Balancer ignores keys"},
			{Value: "hash", From: "0.1.0", To: "0.3.0", Class: "fnv1a_u", Null: roundRobin, Empty: hashed, Evidence: Run, Aliases: []string{"kafka-go-hash-0.3.0"}, Notes: "on 64 bits; half of all keys moved when 0.3.1 matched Sarama (kafka-go#336)"},
			{Value: "hash", From: "0.3.1", Class: "fnv1a_abs", Null: roundRobin, Empty: hashed, Evidence: Run, Aliases: []string{"kafka-go-hash"}},
			{Value: "hash_crc32", From: "0.3.1", Class: "crc32_abs", Null: roundRobin, Empty: hashed, Evidence: Run, Notes: "&Hash{Hasher: crc32.NewIEEE()}: not librdkafka's placement"},
			{Value: "reference", From: "0.4.32", Class: "fnv1a_mask", Null: random, Empty: hashed, Evidence: Run, Aliases: []string{":ReferenceHash", "kafka-go-reference"}},
			{Value: "crc32", From: "0.3.1", Class: "crc32u", Null: random, Empty: random, Evidence: Run, Aliases: []string{":CRC32Balancer"}, Notes: "librdkafka's consistent_random"},
			{Value: "crc32_consistent", From: "0.3.1", Class: "crc32u", Null: hashed, Empty: hashed, Evidence: Run, Notes: "librdkafka's consistent: null and empty keys to partition 0"},
			{Value: "murmur2", From: "0.3.1", Class: "murmur2", Null: random, Empty: hashed, Evidence: Run, Aliases: []string{":Murmur2Balancer"}, Notes: "librdkafka's murmur2_random"},
			{Value: "murmur2_consistent", From: "0.3.1", Class: "murmur2", Null: hashed, Empty: hashed, Evidence: Run, Notes: "librdkafka's murmur2"},
			{Value: "least_bytes", Class: ClassNone, Null: spread("least bytes"), Empty: spread("least bytes"), Evidence: Run},
		},
	},
	{
		Name: "franz-go", Title: "twmb/franz-go", Aliases: []string{"franz", "kgo"}, Source: "twmb/franz-go@adb3a18a pkg/kgo/partitioner.go",
		Rules: []Rule{
			{Value: "sticky_key", To: "1.5", Default: true, Class: "murmur2", Null: sticky, Empty: hashed, Over: overSplit, Evidence: Run},
			{Value: "sticky_key", From: "1.6.0", Class: "murmur2", Null: sticky, Empty: hashed, Over: overSplit, Evidence: Run, Aliases: []string{":StickyKeyPartitioner", ":kafkahasher"}},
			{Value: "uniform_bytes", From: "1.6.0", Default: true, Class: "murmur2", Null: spread("uniform bytes"), Empty: hashed, Over: overSplit, Evidence: Run, Aliases: []string{":UniformBytesPartitioner"}, Notes: "KeyStringRecord(\"\", v) has the null key; RackAwarePartitioning narrows unkeyed records only"},
			{Value: "kafkahasher_fnv1a", Class: "fnv1a_mask", Null: sticky, Empty: hashed, Over: overSplit, Evidence: Run},
			{Value: "kafkahasher_crc32", Class: "crc32-mask", Null: sticky, Empty: hashed, Over: overSplit, Evidence: Run},
			{Value: "saramacompathasher", From: "1.16.0", Class: "fnv1a_abs", Null: sticky, Empty: hashed, Over: overSplit, Evidence: Run, Notes: "given FNV-1a: Sarama's default"},
			{Value: "saramacompathasher_crc32", From: "1.16.0", Class: "crc32_abs", Null: sticky, Empty: hashed, Over: overSplit, Evidence: Run},
			{Value: "saramahasher", Class: "fnv1a_u", Null: sticky, Empty: hashed, Over: overSplit, Evidence: Run, Aliases: []string{"franz-saramahasher"}, Notes: "given FNV-1a, on 64 bits: not Sarama's placement, kept because data depends on it (franz-go#669)"},
			{Value: "saramahasher_32bit", Class: "fnv1a_abs", Null: sticky, Empty: hashed, Over: overSplit, Evidence: Run, Notes: "given FNV-1a, on 32 bits"},
			{Value: "saramahasher_crc32", Class: "crc32u", Null: sticky, Empty: hashed, Over: overSplit, Evidence: Run, Notes: "on 64 bits"},
			{Value: "saramahasher_crc32_32bit", Class: "crc32_abs", Null: sticky, Empty: hashed, Over: overSplit, Evidence: Run, Notes: "on 32 bits"},
			{Value: "uniform_bytes_nokeys", From: "1.6.0", Class: ClassNone, Null: spread("uniform bytes"), Empty: spread("uniform bytes"), Over: overAvail, Evidence: Run},
			{Value: "round_robin", Class: ClassNone, Null: roundRobin, Empty: roundRobin, Over: overAvail, Evidence: Run},
			{Value: "sticky", Class: ClassNone, Null: sticky, Empty: sticky, Over: overAvail, Evidence: Run},
			{Value: "least_backup", Class: ClassNone, Null: spread("least backlog"), Empty: spread("least backlog"), Over: overAvail, Evidence: Read},
			{Value: "manual", Class: ClassNone, Null: spread("by record"), Empty: spread("by record"), Evidence: Read},
		},
	},
	{
		Name: "goka", Title: "lovoo/goka", Source: "lovoo/goka@b8856157 options.go, processor.go",
		Rules: []Rule{
			{Value: "emitter", Default: true, Class: "fnv1a_abs", Null: unstated, Empty: unstated, Evidence: Read},
			{Value: "processor", Class: "fnv1a_absfirst_broken", Null: unstated, Empty: unstated, Evidence: Read, Notes: "where a processor or view looks for a key; differs from the emitter at hash 0x80000000 only"},
		},
	},
	{
		Name: "optiopay", Title: "optiopay/kafka v2", Source: "optiopay/kafka@3fc0c996 v2/distributing_producer.go",
		Rules: []Rule{{Value: "hash", Default: true, Class: "fnv1a_absfirst_broken", Null: refused("the client answers an error"), Empty: hashed, Over: "the configured count", Evidence: Run, Notes: "all messages of one call must share a partition"}},
	},
	onSarama("watermill", "Watermill", "watermill-kafka publisher.go", unstated, unstated, ""),
	onSarama("dapr", "Dapr pubsub.kafka", "dapr/components-contrib common/component/kafka/partitioner.go", unstated, unstated, "over the partitionKey metadata; partitionNumber names the partition"),
	onSarama("telegraf", "Telegraf outputs.kafka", "influxdata/telegraf@b2726314 plugins/outputs/kafka/kafka.go", random, random, "an empty routing_key is sent as the null key; routing_key \"random\" is a new UUID per record"),
	{
		Name: "beats", Title: "Elastic Beats output.kafka", Aliases: []string{"filebeat", "metricbeat"}, Source: "elastic/beats@05989d10 libbeat/outputs/kafka/partition.go",
		Rules: []Rule{
			{Value: "hash", Default: true, Class: "fnv1a_mask", Null: random, Empty: hashed, Over: "all partitions unless reachable_only is set", Evidence: Read, Notes: "not Sarama's default, though built on Sarama; hash.hash may name fields in place of the key"},
			{Value: "random", Class: ClassNone, Null: random, Empty: random, Evidence: Read},
			{Value: "round_robin", Class: ClassNone, Null: roundRobin, Empty: roundRobin, Evidence: Read},
		},
	},
	{
		Name: "otel", Title: "OpenTelemetry Collector kafka exporter", Aliases: []string{"opentelemetry-collector", "otelcol"}, Source: "opentelemetry-collector-contrib@00168f3c internal/kafka/franz_client.go",
		Rules: []Rule{
			{Value: "sarama_compat", Default: true, Class: "fnv1a_abs", Null: sticky, Empty: unstated, Over: overSplit, Evidence: Read, Notes: "record_partitioner sticky_key with the default hasher; before 2026 Sarama itself"},
			{Value: "murmur2", Class: "murmur2", Null: sticky, Empty: unstated, Over: overSplit, Evidence: Read},
			{Value: "round_robin", Class: ClassNone, Null: roundRobin, Empty: roundRobin, Evidence: Read},
			{Value: "least_backup", Class: ClassNone, Null: spread("least backlog"), Empty: spread("least backlog"), Evidence: Read},
		},
	},
	{
		Name: "redpanda-connect", Title: "Redpanda Connect (Benthos)", Aliases: []string{"benthos"}, Source: "redpanda-data/connect@48a4b646 internal/impl/kafka",
		Rules: []Rule{
			{Value: "fnv1a_hash", Default: true, Class: "fnv1a_abs", Null: random, Empty: random, Evidence: Read, Aliases: []string{":kafka"}, Notes: "output kafka; an empty key is sent as the null key"},
			{Value: "murmur2_hash", Class: "murmur2", Null: random, Empty: random, Evidence: Read, Notes: "output kafka; an empty key is sent as the null key"},
			{Value: "kafka_franz", Class: "murmur2", Null: sticky, Empty: hashed, Evidence: Read, Aliases: []string{":redpanda", ":franz"}, Notes: "outputs kafka_franz and redpanda; an empty key is hashed, the opposite of output kafka (connect#2423)"},
			{Value: "random", Class: ClassNone, Null: random, Empty: random, Evidence: Read},
			{Value: "round_robin", Class: ClassNone, Null: roundRobin, Empty: roundRobin, Evidence: Read},
		},
	},
	{
		Name: "rpk", Title: "rpk, Redpanda Console", Aliases: []string{"redpanda-console"}, Source: "redpanda-data/console produce_records.go", Like: "franz-go",
		Rules: []Rule{{Default: true, Class: "murmur2", Null: sticky, Empty: hashed, Over: overSplit, Evidence: Read}},
	},
	{
		Name: "pandaproxy", Title: "Redpanda HTTP proxy", Source: "redpanda-data/redpanda@1c6cff34 src/v/kafka/client/partitioners.cc",
		Rules: []Rule{{Default: true, Class: "murmur2u", Null: roundRobin, Empty: roundRobin, Evidence: Read, Notes: "no mask: half of all keys differ from Java unless n is a power of two; as of December 2024"}},
	},
	{
		Name: "cockroachdb", Title: "CockroachDB changefeed, kafka v2 sink", Source: "cockroachdb/cockroach@0206d413 pkg/ccl/changefeedccl/sink_kafka_v2.go",
		Rules: []Rule{{Default: true, Class: "fnv1a_abs", Null: hashed, Empty: hashed, Evidence: Read, Notes: "a null key is sent as an empty one"}},
	},
	{
		Name: "ticdc", Title: "TiCDC", Source: "pingcap/tiflow cdc/sink/dmlsink/mq/dispatcher/partition",
		Rules: []Rule{{Default: true, Class: ClassNone, Null: spread("by columns"), Empty: spread("by columns"), Evidence: Read, Notes: "CRC-32 of table, index or column names and values combined with xor: not over the record's key"}},
	},
	{
		Name: "kaf", Title: "birdayz/kaf", Source: "birdayz/kaf@fd9c0ca1 cmd/kaf/produce.go",
		Rules: []Rule{
			{Value: "hash", Default: true, Class: "fnv1a_abs", Null: unstated, Empty: unstated, Evidence: Read},
			{Value: "jvm", Class: "murmur2", Null: unstated, Empty: unstated, Evidence: Read},
			{Value: "rand", Class: ClassNone, Null: random, Empty: random, Evidence: Read},
			{Value: "rr", Class: ClassNone, Null: roundRobin, Empty: roundRobin, Evidence: Read},
		},
	},
	{
		Name: "kafkactl", Title: "deviceinsight/kafkactl", Source: "deviceinsight/kafkactl@9005d01a internal/producer",
		Rules: []Rule{
			{Value: "murmur2", Default: true, Class: "murmur2", Null: unstated, Empty: unstated, Evidence: Read},
			{Value: "hash", Class: "fnv1a_abs", Null: unstated, Empty: unstated, Evidence: Read},
			{Value: "hash_ref", Class: "fnv1a_mask", Null: unstated, Empty: unstated, Evidence: Read},
			{Value: "random", Class: ClassNone, Null: random, Empty: random, Evidence: Read},
		},
	},
	{
		Name: "kt", Title: "fgeller/kt", Source: "fgeller/kt@e062ed5a produce.go",
		Rules: []Rule{
			{Default: true, Class: "constant-0", Null: zero, Empty: zero, Evidence: Read},
			{Value: "hashCode", Class: "java_string:abs_min0", Null: unstated, Empty: hashed, Evidence: Read, Notes: "-partitioner hashCode; hashCodeByValue hashes the value instead"},
		},
	},
}

const saramaOver = "keyed: all partitions; unkeyed: writable ones (before 1.18.0: all)"

// onSarama is a tool that leaves Sarama's default in place.
func onSarama(name, title, source string, null, empty KeyRule, notes string) Client {
	return Client{Name: name, Title: title, Source: source, Like: "sarama", Rules: []Rule{
		{Value: "hash", Default: true, Class: "fnv1a_abs", Null: null, Empty: empty, Over: saramaOver, Evidence: Read, Notes: notes},
	}}
}
