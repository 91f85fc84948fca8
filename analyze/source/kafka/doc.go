// Package kafka reads the keys of a topic from a Kafka cluster: [New] makes a [source.Source] of a [Config].
//
//  1. [Source.Plan] asks one broker for the topic's partitions and each leader for the offsets, and fixes what is read.
//  2. [Source.Read] fetches every span of the plan, as many partitions at once as there are connections, and delivers
//     the records in offset order per partition.
//  3. [ParseProperties] and [Config.Apply] take a Java client.properties, a kcat configuration or -X settings.
//
// A [Source] only ever reads: the requests it can send are ApiVersions, SaslHandshake, SaslAuthenticate, Metadata (never
// creating a topic), ListOffsets and Fetch. It joins no consumer group and commits no offset. Writing is what a [Producer]
// is for.
//
// kafka-go gives the messages and the SASL mechanisms. The connection, the Fetch answer's parser and the batch scanner
// ([keyspread/analyze/source/kafka/batch]) are our own, because kafka-go's Reader, Conn and Client mix null with empty
// keys, deliver aborted records and markers, stop at compaction gaps and do not check the CRC.
//
// The clock is used for deadlines, back-off and throttling only; nothing delivered depends on it.
package kafka
