// Package custom holds the partitioners that are not built in: a program of the user's, a Java class of the user's, and
// a table of keys that are placed by hand.
//
//	exec:CMD     a child process that speaks the protocol below
//	jvm:CLASS    an org.apache.kafka.clients.producer.Partitioner, run by the user's JDK through a shim that speaks it too
//	table:FILE   overrides for some keys, any other partitioner for the rest
//
// [Open] takes such a name and returns a [P]. One child serves one P; it is asked once per distinct key, never once per
// record, and many keys at a time: [P.PlaceBatch] keeps the next requests on their way while an answer is awaited.
//
// # Starting a child
//
// CMD is split into words at blanks; no shell runs. 'single quotes' keep everything, "double quotes" keep everything but
// \" and \\, and outside quotes a backslash keeps the next character. $, *, | and the like mean nothing; who wants a
// shell asks for one: exec:sh -c 'zcat map.gz | ./place'. The child works in keyspread's folder and environment unless
// [Options] says otherwise, and is the leader of its own process group, which is killed as a whole.
//
// # The protocol, version 1
//
// The child reads requests from stdin and writes answers to stdout, which therefore carries nothing else; stderr is the
// child's own, and its end is shown when something fails. Both directions carry frames:
//
//	frame    int32 length of what follows, uint8 kind, the rest as the kind says
//	string   int32 length, that many bytes (text is UTF-8)
//
// Integers are big-endian two's complement, as in Java's DataInput and Python's struct ">i".
//
// keyspread begins; the child answers once:
//
//	H hello  keyspread → child
//	         4 bytes  "KSPP"
//	         int32    version, 1
//	         string   topic; empty when none is known
//	         int32    partitions that the topic has today; 0 when not known
//	         int32    brokers that the cluster has
//	         int32    number of configuration entries, then for each, sorted by name:
//	                  string name, string value
//	R ready  child → keyspread
//	         4 bytes  "KSPP"
//	         int32    version that the child speaks, 1
//
// Then any number of requests. The child answers each, in the order in which they came; up to four are on their way
// before the first is answered, so a child must read a request whole before it writes, and flush after each answer:
//
//	Q request  keyspread → child
//	           int32    id, to be repeated in the answer
//	           int32    number m of partition counts, then m × int32 counts, each ≥ 1
//	           int32    number k of keys, at most 1024, then for each:
//	                    int32 length, -1 for the null key, 0 for the empty key; the key's bytes
//	A answer   child → keyspread
//	           int32    id of the request
//	           int32    number of cells, k × m
//	           k × m × int32: first key at every count, second key at every count, …
//	                    0 ≤ p < count  the partition
//	                    -1             unkeyed: the client spreads such a key (sticky, round robin, random)
//	                    -2             failed: the client cannot place this key at this count
//	           int32    number of failures, as many as there are cells of -2, then for each, ascending:
//	                    int32 index of the cell, string reason, at most 1024 bytes
//
// A key that is unkeyed at one of the counts is unkeyed. A failure costs one key at one count and nothing else. A child
// that cannot go on says why instead of an answer, at the handshake or later, and all ends there:
//
//	E error  child → keyspread
//	         string  the reason, at most 1024 bytes
//
// When stdin ends the child ends, with status 0. Every other end, a frame that is not as described, a partition out of
// range, an answer that was not asked for, and an answer that does not come within the time limit is a [ChildError]; the
// child is killed then, as it is when it outlives its stdin by the same time.
//
// testdata/reference.py is a complete child, to start from.
//
// # A Java partitioner
//
// jvm:CLASS writes Shim.java, which this package carries, to a temporary folder, has the user's JDK (11 or later, as
// kafka-clients 4 needs) compile and run it in one go, and removes it again. [Options.Classpath] must hold the class, its
// dependencies, kafka-clients and slf4j-api. The class is treated as the Java producer would treat it:
//
//   - made by its constructor without parameters, then configure with [Options.Config], whose values are strings;
//   - partition(topic, key, keyBytes, null, null, cluster): the value is not known, so a partitioner that looks at it
//     cannot be simulated and fails, or places as if every record were a tombstone;
//   - the key object is keyBytes itself, as under ByteArraySerializer; with the entry key.deserializer=CLASS in the
//     configuration it is what that Deserializer makes of them, such as a String;
//   - the cluster has [Options.Brokers] nodes and one topic, of as many partitions as asked for, each with a leader and up
//     to three replicas in sync, leaders taking turns; listeners are named and do not exist;
//   - an answer outside [0, count) and an exception are failures of that key, with the exception's text; the producer
//     would not send such a record either;
//   - what it prints goes to stderr; close is called at the end.
//
// Whether a Java partitioner spreads a key can only be seen by asking again. Each key is asked for four times at each
// count, the null key 64 times, and so is every key once any has been answered differently; answers that differ make the
// key unkeyed. A partitioner that changes its mind more rarely than that (by the clock, say) is taken to be keyed.
//
// # A table
//
// table:FILE places some keys by hand and leaves the rest to [Options.Fallback]. The file is CSV with a header, or one
// JSON object a line (it begins with a brace then), with these columns or members:
//
//	key | hex | base64   the key: as text, or its bytes; exactly one of them. In JSON null is the null key.
//	partition            where it goes, ≥ 0
//	partitions           optional: the partition count for which this row speaks
//
//	key,partition              {"key":"customer-7","partition":3}
//	customer-7,3               {"hex":"00ff","partitions":12,"partition":11}
//	customer-9,11              {"key":null,"partition":0}
//
// A row with a partition count speaks for that count alone. A row without one speaks for every count that has no row of
// its own, and the partition stays the same under all of them: it is no hash that could be reduced, and a producer that
// names a partition goes on naming it after an increase. At a count that has no such partition the producer fails, which
// is a [keyspread/partitioner.OutsideError]. A key without a row for a count is the fallback's at that count. Such a key that the
// fallback spreads is unkeyed when no asked count has a row; otherwise it has no answer at the counts without, a
// [keyspread/partitioner.KeyError].
//
// Two rows for one key and count are refused with both lines, as is everything else that is not as described, a line of
// more than 16 MiB and a file of more than 256 MiB.
package custom
