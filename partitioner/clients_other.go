package partitioner

// otherClients are the native clients of JavaScript, Python, Rust, the BEAM, Ruby, .NET, PHP and Lua.
var otherClients = []Client{
	{
		Name: "kafkajs", Title: "kafkajs", Source: "tulios/kafkajs@55b0b416 src/producer/partitioners",
		Rules: []Rule{
			{To: "1", Default: true, Class: "kafkajs_legacy", Null: roundRobin, Empty: hashed, Over: overSplit, Evidence: Run, Aliases: []string{"kafkajs-v1"}, Notes: "neither Java's nor librdkafka's placement (kafkajs#357)"},
			{From: "2.0.0", Default: true, Class: "murmur2", Null: roundRobin, Empty: hashed, Over: overSplit, Evidence: Run, Aliases: []string{":DefaultPartitioner"}, Notes: "2.0.0 changed the default: keys written by 1.x are elsewhere"},
			{Value: "legacy", From: "2.0.0", Class: "kafkajs_legacy", Null: roundRobin, Empty: hashed, Over: overSplit, Evidence: Run, Aliases: []string{":LegacyPartitioner"}, Notes: "the default of 1.x"},
			{Value: "java", From: "1.8.0", Class: "murmur2", Null: roundRobin, Empty: hashed, Over: overSplit, Evidence: Run, Aliases: []string{":JavaCompatiblePartitioner", "JavaCompatiblePartitioner"}},
		},
	},
	{
		Name: "platformatic", Title: "@platformatic/kafka", Aliases: []string{"@platformatic/kafka", "platformatic-kafka"}, Source: "platformatic/kafka@f84b496d src/clients/producer/partitioners.ts",
		Rules: []Rule{
			{Default: true, Class: "murmur2u", Null: roundRobin, Empty: hashed, Evidence: Run, Notes: "no mask: half of all keys differ from Java unless n is a power of two (#121); an explicit partition is taken modulo n"},
			{Value: "compatibility", From: "1.32.0", Class: "murmur2", Null: zero, Empty: hashed, Evidence: Run, Aliases: []string{":compatibilityPartitioner"}, Notes: "every unkeyed record to partition 0"},
		},
	},
	{
		Name: "kafka-node", Title: "kafka-node", Source: "SOHU-Co/kafka-node@fcc8aefc lib/partitioner.js",
		Rules: []Rule{
			{Default: true, Class: "constant-0", Null: zero, Empty: zero, Evidence: Run, Notes: "partitionerType 0: the first partition, whatever the key"},
			{Value: "keyed", Class: "kn31", Null: hashed, Empty: hashed, Evidence: Run, Aliases: []string{":KeyedPartitioner", "kafka-node-keyed"}, Notes: "partitionerType 3; an empty key is sent as the null key"},
			{Value: "random", Class: ClassNone, Null: random, Empty: random, Evidence: Read, Notes: "partitionerType 1"},
			{Value: "cyclic", Class: ClassNone, Null: roundRobin, Empty: roundRobin, Evidence: Run, Notes: "partitionerType 2, the default of HighLevelProducer"},
		},
	},
	{
		Name: "no-kafka", Title: "no-kafka", Source: "oleksiyk/kafka@c36bdeb2 lib/assignment/partitioners",
		Rules: []Rule{
			{Default: true, Class: "murmur2", Null: roundRobin, Empty: hashed, Evidence: Run},
			{Value: "crc32", Class: "no-kafka-crc32-utf16", Null: hashed, Empty: hashed, Evidence: Run, Aliases: []string{":HashCRC32Partitioner", "no-kafka-crc32"}, Notes: "over the low byte of each UTF-16 unit; Buffer keys throw"},
		},
	},
	{
		Name: "node-sinek", Title: "node-sinek", Aliases: []string{"sinek"}, Source: "nodefluent/node-sinek 9.1.0",
		Rules: []Rule{
			{Value: "murmur3", Default: true, Class: "murmur3-seed0", Null: refused("the key must be a string"), Empty: hashed, Evidence: Run},
			{Value: "murmur2", From: "7", Class: "murmur2", Null: refused("the key must be a string"), Empty: hashed, Evidence: Run, Notes: "wrong before 6.12 and 7 (no seed; node-sinek#33)"},
		},
	},
	{
		Name: "kafka-ts", Title: "kafka-ts", Source: "priitkaard/kafka-ts src/distributors/partitioner.ts",
		Rules: []Rule{
			{From: "1.5.0", Default: true, Class: "murmur2", Null: roundRobin, Empty: hashed, Evidence: Run, Notes: "Buffer keys; up to 1.3.2 the hash was a broken murmur2 that no class here predicts"},
			{Value: "string", From: "1.5.0", Class: "murmur2", Null: roundRobin, Empty: roundRobin, Evidence: Run, Notes: "string keys: '' counts as none"},
		},
	},
	{
		Name: "murmur2-partitioner", Title: "murmur2-partitioner (npm)", Source: "murmur2-partitioner 1.0.0",
		Rules: []Rule{{Default: true, Class: "murmur2", Null: refused("the key must be a string or a Buffer"), Empty: hashed, Evidence: Run}},
	},
	{
		Name: "kafka-python", Title: "kafka-python", Aliases: []string{"kafka-python-ng"}, Source: "dpkp/kafka-python@a3b3836f kafka/partitioner/default.py",
		Rules: []Rule{{From: "1.0.0", Default: true, Class: "murmur2", Null: random, Empty: hashed, Over: overSplit, Evidence: Run, Notes: "before 1.3.2 the partition list was not sorted (#905)"}},
	},
	{
		Name: "aiokafka", Title: "aiokafka, Faust", Aliases: []string{"faust"}, Source: "aio-libs/aiokafka@672947af aiokafka/partitioner.py",
		Rules: []Rule{{Default: true, Class: "murmur2", Null: random, Empty: hashed, Over: overSplit, Evidence: Run, Notes: "an index into an unsorted set of partitions: Java's placement only while the set iterates in order (#1127)"}},
	},
	{
		Name: "pykafka", Title: "pykafka", Source: "Parsely/pykafka@e7665bf3 pykafka/partitioners.py",
		Rules: []Rule{
			{Value: "random", Default: true, Class: ClassNone, Null: roundRobin, Empty: roundRobin, Evidence: Read, Notes: "named random, takes turns"},
			{Value: "hashing", Class: "sha1", Null: refused("ValueError"), Empty: hashed, Evidence: Read, Aliases: []string{":HashingPartitioner", "pykafka-hashing"}, Notes: "hash_func may be replaced"},
		},
	},
	{
		Name: "kafka-rust", Title: "kafka-rust", Source: "kafka-rust/kafka-rust@6c9c1f2c src/producer.rs",
		Rules: []Rule{{Default: true, Class: "xxh32", Null: roundRobin, Empty: roundRobin, Evidence: Read, Notes: "an empty key counts as none; the hasher may be replaced; since 0.6.0"}},
	},
	{
		Name: "rskafka", Title: "rskafka, samsa", Aliases: []string{"samsa"}, Source: "influxdata/rskafka@9e0dad67, CallistoLabsNYC/samsa@33062fce",
		Rules: []Rule{{Default: true, Class: ClassNone, Null: spread("by caller"), Empty: spread("by caller"), Evidence: Read}},
	},
	{
		Name: "brod", Title: "brod", Source: "kafka4beam/brod@33075eb5 src/brod_utils.erl",
		Rules: []Rule{
			{Value: "hash", Default: true, Class: "phash2", Null: refused("undefined would be hashed as an atom"), Empty: hashed, Evidence: Run, Aliases: []string{"brod-hash"}, Notes: "the caller always names a partitioner; this holds for binary keys, a charlist of the same text hashes otherwise"},
			{Value: "random", Class: ClassNone, Null: random, Empty: random, Evidence: Read},
		},
	},
	{
		Name: "wolff", Title: "wolff", Source: "kafka4beam/wolff@4feffa65 wolff_producers.erl",
		Rules: []Rule{
			{Value: "random", Default: true, Class: ClassNone, Null: random, Empty: random, Evidence: Read},
			{Value: "first_key_dispatch", Class: "phash2", Null: unstated, Empty: unstated, Evidence: Read, Notes: "the first record's key decides for its whole batch"},
		},
	},
	{
		Name: "ekaf", Title: "ekaf", Source: "helpshift/ekaf@8967b8a0 ekaf_callbacks.erl",
		Rules: []Rule{{Default: true, Class: ClassNone, Null: spread("by message"), Empty: spread("by message"), Evidence: Read, Notes: "phash2 of the whole message unless a callback is given"}},
	},
	{
		Name: "kaffe", Title: "kaffe", Source: "spreedly/kaffe@1e0facb9 partition_selector.ex",
		Rules: []Rule{
			{Value: "md5", Default: true, Class: "md5sum", Null: unstated, Empty: hashed, Evidence: Extracted, Notes: "sums of digest bytes crowd around 2040: uneven with many partitions"},
			{Value: "random", Class: ClassNone, Null: random, Empty: random, Evidence: Read},
			{Value: "round_robin", Class: ClassNone, Null: roundRobin, Empty: roundRobin, Evidence: Read},
		},
	},
	{
		Name: "kafka_ex", Title: "kafka_ex", Source: "kafkaex/kafka_ex@7f51188c lib/kafka_ex/producer",
		Rules: []Rule{
			{To: "0.10", Default: true, Class: "murmur2u", Null: random, Empty: hashed, Evidence: Extracted, Notes: "no mask: not Java's placement (#398)"},
			{From: "0.11.0", Default: true, Class: "murmur2", Null: random, Empty: hashed, Evidence: Run, Notes: "1.x places a whole batch by its first key; before, a batch of mixed keys went to one random partition"},
			{Value: "legacy", From: "0.11.0", Class: "murmur2u", Null: random, Empty: hashed, Evidence: Run, Aliases: []string{":Partitioner.Legacy", "kafka_ex-legacy"}, Notes: "the default up to 0.10"},
		},
	},
	{
		Name: "ruby-kafka", Title: "ruby-kafka, racecar, delivery_boy", Aliases: []string{"racecar", "delivery_boy"}, Source: "zendesk/ruby-kafka@de2ac2aa lib/kafka/partitioner.rb",
		Rules: []Rule{
			{Value: "crc32", Default: true, Class: "crc32u", Null: random, Empty: hashed, Evidence: Run, Notes: "over partition_key, else key; librdkafka's placement but for the empty key"},
			{Value: "murmur2", From: "1.3", Class: "murmur2", Null: random, Empty: hashed, Evidence: Read},
		},
	},
	{
		Name: "fluentd", Title: "fluent-plugin-kafka out_kafka2", Aliases: []string{"fluent-plugin-kafka"}, Source: "fluent-plugin-kafka@b7246263 lib/fluent/plugin/out_kafka2.rb",
		Rules: []Rule{
			{Value: "crc32", Default: true, Class: "crc32u", Null: unstated, Empty: unstated, Evidence: Read, Notes: "ruby-kafka's; the rdkafka2 output uses librdkafka"},
			{Value: "murmur2", From: "0.17.0", Class: "murmur2", Null: unstated, Empty: unstated, Evidence: Read},
		},
	},
	{
		Name: "kafka-net", Title: "Jroland/kafka-net", Source: "Jroland/kafka-net@c9bbbe61 Default/DefaultPartitionSelector.cs",
		Rules: []Rule{{Default: true, Class: "crc32u", Null: roundRobin, Empty: unstated, Evidence: Read}},
	},
	{
		Name: "kafka-sharp", Title: "criteo/kafka-sharp", Source: "criteo/kafka-sharp Routing/PartitionSelection",
		Rules: []Rule{{Default: true, Class: "crc32u", Null: unstated, Empty: unstated, Over: "all partitions; a blacklisted one is replaced by round robin", Evidence: Read}},
	},
	{
		Name: "dekaf", Title: "Dekaf (.NET)", Source: "thomhurst/Dekaf@b294b56e src/Dekaf/Producer/Partitioner.cs",
		Rules: []Rule{
			{To: "1.0.2497", Default: true, Class: "murmur2u", Null: sticky, Empty: sticky, Evidence: Read, Notes: "no mask: not Java's placement (#1336)"},
			{From: "1.0.2498", Default: true, Class: "murmur2", Null: sticky, Empty: sticky, Evidence: Read, Notes: "an empty key counts as none, unlike in Java"},
			{Value: "consistent", Class: "crc32u", Null: unstated, Empty: unstated, Evidence: Read, Aliases: []string{":ConsistentPartitioner"}},
		},
	},
	{
		Name: "csharpclient", Title: "Microsoft/CSharpClient-for-Kafka", Source: "Microsoft/CSharpClient-for-Kafka",
		Rules: []Rule{{Default: true, Class: ClassNone, Null: unstated, Empty: unstated, Evidence: Read, Notes: ".NET's GetHashCode, which depends on the runtime: not predictable"}},
	},
	{
		Name: "kafka-php", Title: "weiboad/kafka-php", Source: "weiboad/kafka-php@c7ab2684 src/Producer/Process.php",
		Rules: []Rule{{Default: true, Class: ClassNone, Null: random, Empty: random, Evidence: Read, Notes: "keys ignored (#228)"}},
	},
	{
		Name: "phpkafka", Title: "swoole/phpkafka", Source: "swoole/phpkafka Partitioner/DefaultPartitioner.php",
		Rules: []Rule{{Default: true, Class: "crc32u", Null: roundRobin, Empty: unstated, Evidence: Read}},
	},
	{
		Name: "lua-resty-kafka", Title: "lua-resty-kafka", Source: "doujiang24/lua-resty-kafka lib/resty/kafka/producer.lua",
		Rules: []Rule{{Default: true, Class: "crc32u", Null: spread("by request"), Empty: hashed, Evidence: Run}},
	},
}
