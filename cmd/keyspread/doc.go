// Keyspread tells, before a Kafka topic is launched or given more partitions, where its keys land, which keys are hot, and
// what will move.
//
// It reads a topic once, or a file that stands for one, prints one report and exits. It writes nothing to the cluster of a
// topic it reads.
//
// # The main job
//
// analyze reports findings first, each with its numbers and the next step, then what was read, how uneven the loads are
// and why, the heaviest keys, and every partition. plan adds what other partition counts or another partitioner would do.
// Here a made-up key set stands for a topic of 12 partitions; with a cluster, -b HOST:PORT -t TOPIC takes its place:
//
//	$ keyspread generate -o ndjson=keys.ndjson --records 10000 --keys 500 --hot acme=0.2
//	$ keyspread plan keys.ndjson --topic-partitions 12 --to 16 --partitioner java
//	keys.ndjson: 12 partitions, 10,000 records, 2.01 MiB, 486 keys
//	…
//	warning   hot-key: Key acme has 20.0 % of records and 19.4 % of bytes; a key is hot above 4.5 % at
//	          12 partitions.
//	          → One consumer of partition 0 must carry it at its peak; more partitions do not divide it.
//	…
//	PLAN
//	  partitions   PAR  byte PAR    hottest  moved keys  records   bytes  formula
//	      12 now  4.29      4.23  0: 35.7 %           -        -       -        -
//	      16      5.57      5.49  4: 34.8 %      75.1 %   81.6 %  81.4 %   75.0 %
//	…
//
// PAR is the largest load over the mean. Moved counts what would go elsewhere from now on; records already written stay.
//
// # Which partitioner
//
// By default the partitioner is told from where the topic's keys are. locate and partitioners answer for every known
// client, without a cluster:
//
//	$ keyspread locate -n 12,24 acme
//	key   partitioner  n=12  n=24
//	acme  java            0    12
//	…
//	$ keyspread partitioners librdkafka:murmur2_random
//	librdkafka:murmur2_random (librdkafka)
//	…
//
// A partitioner of your own can be a command (exec:CMD), a Java class (jvm:CLASS) or a table (table:FILE); package
// partitioner/custom describes the protocol.
//
// # How much is read
//
// Everything, or a range of it (--since, --until, --tail, --partitions, --offsets). A range larger than --full-under on
// disk, or read with --max-records, --max-bytes or --max-time, is sampled: random blocks of offsets, and every figure
// comes with its interval. --memory bounds the key tables: beyond it counts carry bounds that hold, and --refine reads
// again to make listed keys exact. --save-profile keeps what was counted; a saved profile can be analyzed in place of
// the topic, and merge joins the profiles of shards.
//
// # What the findings mean
//
//	$ keyspread explain ceiling
//	ceiling: one key sets the least that the hottest partition can have
//	…
//
// # Exit codes
//
// 0 fine; 1 could not do it, or not all of it; 2 wrong usage; 130 interrupted, with the partial report written; 143 the
// same by SIGTERM.
package main
