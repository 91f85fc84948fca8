// Package fetchtest serves stored record batches to consumers the way a Kafka broker does, with sendfile and nothing
// else to do, so that a benchmark measures the consumer and not the broker. An embedded broker written for correctness
// answers about 3 million records a second from one goroutine, which is less than what is measured here.
//
// [Build] writes a topic's files, [Start] serves a folder of topics, and [StartChild] does so in a process of its own,
// whose CPU time does not count as the consumer's.
//
// The server speaks ApiVersions, Metadata up to version 8, ListOffsets 1 to 5 and Fetch 4 to 11, without sessions, for
// one broker, in plaintext. It is for tests only: nothing of the product may import it.
package fetchtest
