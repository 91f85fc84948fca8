package partitioner

// librdkafkaClients are librdkafka and what is built on it. A binding takes librdkafka's values, except where its own table
// says otherwise.
var librdkafkaClients = []Client{
	{
		Name: "librdkafka", Title: "librdkafka", Source: "confluentinc/librdkafka@4c3b017c src/rdkafka_msg.c, rdkafka_topic.c",
		Rules: []Rule{
			{Value: "random", To: "0.9.0", Default: true, Class: ClassNone, Null: random, Empty: random, Evidence: Read},
			{Value: "random", From: "0.9.1", Class: ClassNone, Null: random, Empty: random, Evidence: Run, Notes: "keys ignored; null keys stay on one partition while sticky.partitioning.linger.ms runs"},
			{Value: "consistent", From: "0.9.0", Class: "crc32u", Null: hashed, Empty: hashed, Evidence: Run, Aliases: []string{"consistent"}, Notes: "every null and empty key to partition 0"},
			{Value: "consistent_random", From: "0.9.1", Default: true, Class: "crc32u", Null: random, Empty: random, Evidence: Run, Aliases: []string{"consistent_random"}, Notes: "an empty key counts as none, unlike in Java and in murmur2_random (librdkafka#4510)"},
			{Value: "murmur2", From: "0.11.4", To: "0.11.4", Class: "murmur2u", Null: hashed, Empty: hashed, Evidence: Read, Aliases: []string{"librdkafka-0.11.4"}, Notes: "no mask in this one release: not Java's placement"},
			{Value: "murmur2", From: "0.11.5", Class: "murmur2", Null: hashed, Empty: hashed, Evidence: Run, Notes: "null keys all go to the empty key's partition"},
			{Value: "murmur2_random", From: "0.11.4", To: "0.11.4", Class: "murmur2u", Null: random, Empty: hashed, Evidence: Read, Notes: "no mask in this one release: not Java's placement"},
			{Value: "murmur2_random", From: "0.11.5", Class: "murmur2", Null: random, Empty: hashed, Evidence: Run, Aliases: []string{"murmur2_random"}, Notes: "Java's placement of keys"},
			{Value: "fnv1a", From: "1.4.0", Class: "fnv1a_abs", Null: hashed, Empty: hashed, Evidence: Run, Aliases: []string{"fnv1a", "librdkafka-fnv1a"}, Notes: "Sarama's placement of keys; null keys all go to the empty key's partition"},
			{Value: "fnv1a_random", From: "1.4.0", Class: "fnv1a_abs", Null: random, Empty: hashed, Evidence: Run, Aliases: []string{"fnv1a_random"}, Notes: "Sarama's placement of keys"},
		},
	},
	onLibrdkafka("confluent-kafka-python", "confluent-kafka-python", "confluent-kafka-python@8b1c7a61 src/confluent_kafka", Run, "None is the null key, '' and b'' the empty key"),
	onLibrdkafka("confluent-kafka-go", "confluent-kafka-go", "confluent-kafka-go@b88333d3 kafka/producer.go", Run, "a Partition left at its zero value names partition 0; PartitionAny asks the partitioner"),
	onLibrdkafka("confluent-kafka-dotnet", "confluent-kafka-dotnet", "confluent-kafka-dotnet@f96837a9 Config_gen.cs", Read, "fnv1a only as a configuration string"),
	{
		Name: "confluent-kafka-javascript", Title: "confluent-kafka-javascript", Like: "librdkafka", Source: "confluent-kafka-javascript@5969442d lib/kafkajs/_common.js",
		Rules: []Rule{
			{Default: true, Class: "murmur2", Null: random, Empty: random, Evidence: Run, Notes: "KafkaJS API, which sets murmur2_random; an empty Buffer arrives as the null key, an empty string does not (value string)"},
			{Value: "string", Class: "murmur2", Null: random, Empty: hashed, Evidence: Run, Notes: "KafkaJS API given string keys: a key is cut at its first NUL before it is hashed"},
			{Value: "rdkafka", Class: "crc32u", Null: random, Empty: random, Evidence: Run, Notes: "the node-rdkafka style API: librdkafka's default"},
		},
	},
	{
		Name: "node-rdkafka", Title: "node-rdkafka", Like: "librdkafka", Source: "node-rdkafka@7e050d67 lib/producer.js",
		Rules: []Rule{
			{Value: "consistent_random", Default: true, Class: "crc32u", Null: random, Empty: random, Evidence: Run, Notes: "a partitioner in the global configuration is ignored without a word, it belongs into the topic's (node-rdkafka#817); a string key is cut at its first NUL"},
			{Value: "murmur2_random", Class: "murmur2", Null: random, Empty: random, Evidence: Run, Notes: "an empty Buffer arrives as the null key"},
		},
	},
	onLibrdkafka("rust-rdkafka", "rust-rdkafka", "rust-rdkafka@cf08f6c1", Read, ""),
	onLibrdkafka("vector", "Vector kafka sink", "vector@c3445d42 src/sinks/kafka/request_builder.rs", Read, "the key is the text of the field: a number is hashed as its digits"),
	onLibrdkafka("fluent-bit", "Fluent Bit out_kafka", "fluent-bit@d55459d4 plugins/out_kafka/kafka.c", Read, "the key field must be a string"),
	onLibrdkafka("php-rdkafka", "php-rdkafka", "php-rdkafka@a5ddf70d conf.c", Read, "no constant for fnv1a"),
	onLibrdkafka("rdkafka-ruby", "rdkafka-ruby, karafka-rdkafka, WaterDrop, Karafka", "karafka-rdkafka@5bcbfde2 lib/rdkafka/bindings.rb", Read,
		"a partition_key is cut to as many bytes as it has characters, so one with multi-byte text is hashed on a prefix (rdkafka-ruby#629)", "karafka-rdkafka", "waterdrop", "karafka"),
	onLibrdkafka("erlkaf", "erlkaf", "erlkaf@ff82187b", Read, ""),
	onLibrdkafka("hw-kafka-client", "hw-kafka-client (Haskell)", "hw-kafka-client@d4b32fde", Read, ""),
	onLibrdkafka("swift-kafka-client", "swift-kafka-client", "swift-kafka-client@a6659526", Read, ""),
	onLibrdkafka("kcat", "kcat", "edenhill/kcat", Read, "another value with -X topic.partitioner=", "kafkacat"),
	onLibrdkafka("arroyo", "Sentry arroyo", "getsentry/arroyo@1fa57c44 arroyo/backends/kafka/configuration.py", Read, ""),
	onLibrdkafka("materialize", "Materialize Kafka sink", "MaterializeInc/materialize#26353", Issue, "librdkafka's default over the encoded key; the stable strategy leaves the schema id out, PARTITION BY is an expression of its own"),
	{
		Name: "bottledwater-pg", Title: "Bottled Water for PostgreSQL", Like: "librdkafka", Source: "confluentinc/bottledwater-pg#39",
		Rules: []Rule{{Value: "consistent", Default: true, Class: "crc32u", Null: hashed, Empty: hashed, Evidence: Issue, Notes: "with librdkafka 0.9.0 or later"}},
	},
	{
		Name: "syslog-ng", Title: "syslog-ng kafka()", Like: "librdkafka", Source: "syslog-ng@b55e8d0b kafka-dest-driver.c",
		Rules: []Rule{{Value: "murmur2_random", Default: true, Class: "murmur2", Null: random, Empty: random, Evidence: Read, Notes: "an empty key template is sent as the null key"}},
	},
	{
		Name: "rsyslog", Title: "rsyslog omkafka", Like: "librdkafka", Source: "rsyslog@ee72adcd plugins/omkafka/omkafka.c",
		Rules: []Rule{
			{Default: true, Class: ClassNone, Null: roundRobin, Empty: roundRobin, Over: "the configured partitions.number", Evidence: Read, Notes: "the key is data only; with the default partitions.number of 1 everything goes to partition 0"},
			{Value: "partitions_auto", Class: "crc32u", Null: random, Empty: random, Evidence: Read, Notes: "partitions.auto=on: librdkafka's default"},
		},
	},
	{
		Name: "collectd", Title: "collectd write_kafka", Source: "collectd@10d88917 src/write_kafka.c",
		Rules: []Rule{{
			Default: true, Class: "djb2rev", Null: spread("random key"), Empty: unstated, Over: "all partitions, then the next one with a leader", Evidence: Extracted,
			Notes: "without Key configured every record gets a random key; on ARM, where char is unsigned, keys with bytes of 0x80 and above go elsewhere",
		}},
	},
}

// onLibrdkafka is a binding or tool that leaves librdkafka's default in place.
func onLibrdkafka(name, title, source string, e Evidence, notes string, aliases ...string) Client {
	return Client{Name: name, Title: title, Source: source, Aliases: aliases, Like: "librdkafka", Rules: []Rule{
		{Value: "consistent_random", Default: true, Class: "crc32u", Null: random, Empty: random, Evidence: e, Notes: notes},
	}}
}
