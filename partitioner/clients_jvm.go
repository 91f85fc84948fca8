package partitioner

// jvmClients are Java's own producer and what is built on it, and the selectors of JVM frameworks that choose the partition
// before the producer is asked.
var jvmClients = []Client{
	{
		Name: "java", Title: "Apache Kafka Java producer", Aliases: []string{"kafka-clients", "kafka", "jvm", "default", "java-default"},
		Source: "apache/kafka@1eb76443 and confluentinc/kafka@06d492d8 clients/src/main/java/org/apache/kafka/clients/producer",
		Rules: []Rule{
			{
				From: "0.8.1", To: "2.3", Default: true, Class: "murmur2", Null: roundRobin, Empty: hashed, Over: overSplit, Evidence: Run,
				Notes: "DefaultPartitioner; unkeyed records take turns from a random start",
			},
			{
				From: "2.4", To: "3.2", Default: true, Class: "murmur2", Null: sticky, Empty: hashed, Over: overSplit, Evidence: Run,
				Notes: "DefaultPartitioner (KIP-480): unkeyed records change partition with each batch",
			},
			{
				From: "3.3", Default: true, Class: "murmur2", Null: sticky, Empty: hashed, Over: overSplit, Evidence: Run,
				Aliases: []string{":DefaultPartitioner", ":BuiltInPartitioner", ":org.apache.kafka.clients.producer.internals.DefaultPartitioner"},
				Notes:   "built-in partitioner: unkeyed records change partition every batch.size bytes, preferring short queues; setting partitioner.class=DefaultPartitioner fails from 4.0",
			},
			{
				Value: "ignore_keys", From: "3.3", Class: ClassNone, Null: sticky, Empty: sticky, Over: overAvail, Evidence: Read,
				Aliases: []string{":partitioner.ignore.keys"},
				Notes:   "partitioner.ignore.keys=true: every record as if it had no key",
			},
			{
				Value: "rack_aware", From: "4.4", Class: "murmur2", Null: sticky, Empty: hashed, Over: "keyed: all partitions; unkeyed: leaders in the client's rack", Evidence: Read,
				Notes: "partitioner.rack.aware=true (KIP-1123) narrows unkeyed records only",
			},
			{
				Value: "round_robin", From: "2.4", Class: ClassNone, Null: roundRobin, Empty: roundRobin, Over: overAvail, Evidence: Run,
				Aliases: []string{":RoundRobinPartitioner", ":org.apache.kafka.clients.producer.RoundRobinPartitioner"},
				Notes:   "keys ignored; up to 3.8 partitions are skipped, with an even count half of them may stay empty (KAFKA-9965)",
			},
			{
				Value: "uniform_sticky", From: "2.4", To: "3.9", Class: ClassNone, Null: sticky, Empty: sticky, Over: overAvail, Evidence: Run,
				Aliases: []string{":UniformStickyPartitioner", ":org.apache.kafka.clients.producer.UniformStickyPartitioner"},
				Notes:   "keys ignored; removed in 4.0",
			},
		},
	},
	{
		Name: "kafka-scala", Title: "old Scala producer of Kafka 0.7 to 1.x", Aliases: []string{"scala-producer"},
		Source: "apache/kafka tags 0.7.2 to 1.1.1 core/src/main/scala/kafka/producer",
		Rules: []Rule{
			{From: "0.7", To: "0.7", Default: true, Class: "java_string:abs_raw", Null: random, Empty: unstated, Evidence: Read, Notes: "hashCode of the key object: this holds for String keys"},
			{From: "0.8.0", To: "0.8.1", Default: true, Class: "java_string:mask", Null: random, Empty: hashed, Evidence: Read, Notes: "hashCode of the key object: this holds for String keys; one random partition is kept for null keys until metadata is refreshed"},
			{From: "0.8.2", To: "1", Default: true, Class: "java_string:abs_min0", Null: random, Empty: hashed, Evidence: Read, Notes: "negative hash codes moved when 0.8.2 replaced the mask by the absolute value"},
			{Value: "byte_array", From: "0.8.2", To: "1", Class: "java_bytes:abs_min0", Null: random, Empty: hashed, Evidence: Read, Aliases: []string{":ByteArrayPartitioner"}},
		},
	},
	onJava("kafka-streams", "Kafka Streams", "streams/src/main/java/org/apache/kafka/streams/processor/internals/DefaultStreamPartitioner.java", Read,
		"windowed keys are placed by the key without its window, foreign-key subscription topics by the foreign key alone: other bytes than the record's key", "streams"),
	onJava("kafka-connect", "Kafka Connect source connectors", "connect/runtime AbstractWorkerSourceTask.java", Read,
		"hashed after the converter, so a JSON envelope or a schema id is part of the key; a connector may name the partition itself", "connect"),
	{
		Name: "mirrormaker2", Title: "MirrorMaker 2", Aliases: []string{"mirror-maker-2", "mm2"}, Source: "apache/kafka@1eb76443 connect/mirror MirrorSourceTask.java",
		Rules: []Rule{{Default: true, Class: ClassNone, Null: spread("as source"), Empty: spread("as source"), Evidence: Read, Notes: "keeps the source's partition number, never hashes"}},
	},
	{
		Name: "debezium", Title: "Debezium connectors", Source: "debezium/debezium@aad55199 debezium-connect-plugins PartitionRouting.java",
		Rules: []Rule{
			{Default: true, Class: "murmur2", Null: sticky, Empty: hashed, Over: overSplit, Evidence: Read, Notes: "Kafka Connect's rule over the converter's bytes; metadata in the JSON envelope moves keys"},
			{
				Value: "partition_routing", Class: "java_string:sum_mask", Null: unstated, Empty: hashed, Over: "the configured partition.topic.num", Evidence: Extracted,
				Aliases: []string{":java", "debezium-java", "debezium-partition-routing"},
				Notes:   "PartitionRouting transform over one String field of the payload, not over the record's key; several fields are summed; tombstones are not routed",
			},
			{
				Value: "partition_routing_murmur", Class: "dbz_mm3", Null: unstated, Empty: hashed, Over: "the configured partition.topic.num", Evidence: Extracted,
				Aliases: []string{":murmur", "debezium-murmur"},
				Notes:   "as partition_routing with partition.hash.function=murmur, from Debezium 2.3",
			},
		},
	},
	{
		Name: "flink", Title: "Apache Flink Kafka sink", Source: "apache/flink-connector-kafka@eb8ff700",
		Rules: []Rule{
			{Default: true, Class: "murmur2", Null: sticky, Empty: hashed, Over: overSplit, Evidence: Read, Notes: "KafkaSink without partitioner, sink.partitioner=default: the Java producer's rule"},
			{Value: "fixed", Class: ClassNone, Null: spread("by subtask"), Empty: spread("by subtask"), Evidence: Read, Aliases: []string{":FlinkFixedPartitioner", ":legacy"}, Notes: "subtask number modulo n; keys ignored. The default of FlinkKafkaProducer, removed in connector 4.0"},
		},
	},
	onJava("spark", "Apache Spark Kafka sink", "apache/spark@8e71b450 KafkaWriteTask.scala", Read, "a column named partition wins"),
	onJava("spring-kafka", "Spring for Apache Kafka", "spring-projects/spring-kafka@3f3cf7d8", Read, "dead-letter records keep the partition number of their source"),
	{
		Name: "spring-cloud-stream", Title: "Spring Cloud Stream with a partition key", Aliases: []string{"scst"}, Source: "spring-cloud/spring-cloud-stream@472a0fae PartitionHandler.java",
		Rules: []Rule{{
			Default: true, Class: "java_string:abs_min0", Null: refused("the client asserts that a partition key is there"), Empty: hashed, Over: "the larger of the configured and the topic's count", Evidence: Read,
			Notes: "hashCode of the partition key object, which need not be the record's key; byte[] keys have an identity hash and are not repeatable",
		}},
	},
	onJava("smallrye", "SmallRye Reactive Messaging, Quarkus", "smallrye-reactive-messaging@d22275a6", Read, "", "quarkus"),
	onJava("vertx", "Vert.x Kafka client", "vertx-kafka-client@e200274b", Read, ""),
	onJava("alpakka", "Alpakka Kafka, Pekko Connectors Kafka", "alpakka-kafka@a3950849, pekko-connectors-kafka@e5307adb", Read, "cluster sharding hashes the entity id in the platform's charset", "pekko"),
	onJava("kafka-rest", "Confluent REST Proxy", "confluentinc/kafka-rest@985d0e05 ProduceControllerImpl.java", Read, "a JSON key keeps its quotes"),
	onJava("strimzi-bridge", "Strimzi HTTP Bridge", "strimzi-kafka-bridge@363992bf HttpJsonMessageConverter.java", Read, "a JSON key keeps its quotes"),
	{
		Name: "logstash", Title: "Logstash Kafka output", Source: "logstash-integration-kafka@41f1d0dd lib/logstash/outputs/kafka.rb",
		Rules: []Rule{
			{Default: true, Class: "murmur2", Null: sticky, Empty: hashed, Over: overSplit, Evidence: Read},
			{Value: "round_robin", Class: ClassNone, Null: roundRobin, Empty: roundRobin, Over: overAvail, Evidence: Read},
		},
	},
	{
		Name: "nifi", Title: "Apache NiFi PublishKafka", Source: "apache/nifi PartitionStrategy.java",
		Rules: []Rule{
			{Default: true, Class: "murmur2", Null: sticky, Empty: hashed, Over: overSplit, Evidence: Read, Notes: "an expression may name the partition"},
			{Value: "round_robin", Class: ClassNone, Null: roundRobin, Empty: roundRobin, Evidence: Read},
		},
	},
	{
		Name: "maxwell", Title: "Maxwell's daemon", Source: "zendesk/maxwell@b600e519 producer/partitioners",
		Rules: []Rule{
			{Default: true, Class: "java_string:mod_abs", Null: unstated, Empty: hashed, Evidence: Extracted, Notes: "over the text chosen by producer_partition_by (database, table, primary_key, ...), which is the record's key only by chance"},
			{Value: "murmur3", Class: "maxwell_mm3", Null: unstated, Empty: hashed, Evidence: Extracted, Notes: "kafka_partition_hash=murmur3"},
		},
	},
	{
		Name: "canal", Title: "Alibaba Canal", Source: "alibaba/canal connector/core MQMessageUtils.java",
		Rules: []Rule{{Default: true, Class: "java_string:mod_abs", Null: unstated, Empty: unstated, Over: "the configured count", Evidence: Read, Notes: "hashCode of a table name or of one column's value; several columns are combined with xor; unmatched rows go to partition 0"}},
	},
	onJava("venice", "LinkedIn Venice", "linkedin/venice AdminTool", Issue, "a store may have its own partitioner class"),
	onJava("zio-kafka", "fs2-kafka, zio-kafka", "their documentation", Issue, "", "fs2-kafka"),
}

// onJava is a client that leaves the choice to the Java producer's default.
func onJava(name, title, source string, e Evidence, notes string, aliases ...string) Client {
	return Client{Name: name, Title: title, Source: source, Aliases: aliases, Like: "java", Rules: []Rule{
		{Default: true, Class: "murmur2", Null: sticky, Empty: hashed, Over: overSplit, Evidence: e, Notes: notes},
	}}
}
