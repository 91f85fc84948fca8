package main_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/twmb/franz-go/pkg/kgo"
)

// clientKeys returns the keys that every client writes: 700 ASCII, 400 non-ASCII, 600 binary ones, and 5 null and
// 5 empty keys among them.
func clientKeys() [][]byte {
	var keys [][]byte
	add := func(key []byte) { keys = append(keys, key) }
	for i := range 400 {
		add(fmt.Appendf(nil, "customer-%d", i))
	}
	for i := range 300 { // every remainder of the length by 4, which is a hash's block
		add([]byte(strings.Repeat("k", i%60) + strconv.Itoa(i)))
	}
	for i := range 200 {
		add(fmt.Appendf(nil, "Straße %d, Köln", i))
	}
	for i := range 200 {
		add(fmt.Appendf(nil, "注文😀%d", i))
	}
	for i := range 300 { // Java's LongSerializer, negative ones too
		add(binary.BigEndian.AppendUint64(nil, uint64(int64(i-150)*1_234_567_891)))
	}
	for i := range 300 { // 1 to 17 bytes, top bits set and zero bytes at the ends
		key := bytes.Repeat([]byte{0x00, 0xff, byte(i), 0x80}, 5)
		add(key[i%4 : i%4+1+i%17])
	}
	for range 5 {
		add(nil)
		add([]byte{})
	}
	return keys
}

// writeKeys writes the keys in the form that the clients and locate read.
func writeKeys(t *testing.T, keys [][]byte) string {
	t.Helper()
	var b bytes.Buffer
	for _, key := range keys {
		if key == nil {
			b.WriteString("{\"hex\":null}\n")
		} else {
			fmt.Fprintf(&b, "{\"hex\":\"%x\"}\n", key)
		}
	}
	name := filepath.Join(t.TempDir(), "keys.ndjson")
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// located is a line of `keyspread locate -o ndjson`.
type located struct {
	KeyHex     *string `json:"key_hex"` // nil: null key
	Partitions int32   `json:"partitions"`
	Partition  *int32  `json:"partition"`
	Unkeyed    bool    `json:"unkeyed"`
}

// locate returns what the built keyspread predicts for each key at each count.
func locate(t *testing.T, tool, keysFile, partitioner string, counts string) map[string]located {
	t.Helper()
	out, _ := runTool(t, 0, tool, "locate", "--keys", keysFile, "-n", counts, "--partitioner", partitioner, "-o", "ndjson")
	predicted := make(map[string]located)
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		var l located
		if err := json.Unmarshal(s.Bytes(), &l); err != nil {
			t.Fatalf("locate wrote %q: %v", s.Bytes(), err)
		}
		if l.Unkeyed == (l.Partition != nil) {
			t.Fatalf("locate wrote %q, want either a partition or unkeyed", s.Bytes())
		}
		key := "null"
		if l.KeyHex != nil {
			key = *l.KeyHex
		}
		predicted[fmt.Sprint(l.Partitions, " ", key)] = l
	}
	return predicted
}

// textKey reports whether a line of text that ends its key with a tab can carry the key.
func textKey(key []byte) bool { return utf8.Valid(key) && !bytes.ContainsAny(key, "\t\r\n") }

// What a client does with a key.
const (
	spread = "unkeyed"
	keyed  = "keyed"
)

// clientTests are the clients of .ci/clients with their partitioners. What they do with keys is as the clients' sources,
// documents and runs say, in the partitioner tables' own words.
var clientTests = []struct {
	client      string
	partitioner string // the client's argument
	predict     string // locate's --partitioner
	class       string // that places keys; "": it ignores them
	null, empty string
}{
	{"java", "default", "java", "murmur2", spread, keyed},
	{"java", "org.apache.kafka.clients.producer.RoundRobinPartitioner", "java:round_robin", "", spread, spread},
	{"kafka-console-producer", "default", "java", "murmur2", spread, keyed},

	{"confluent-kafka-go", "default", "confluent-kafka-go", "crc32u", spread, spread},
	{"confluent-kafka-go", "consistent_random", "librdkafka:consistent_random", "crc32u", spread, spread},
	{"confluent-kafka-go", "consistent", "librdkafka:consistent", "crc32u", keyed, keyed},
	{"confluent-kafka-go", "murmur2", "librdkafka:murmur2", "murmur2", keyed, keyed},
	{"confluent-kafka-go", "murmur2_random", "librdkafka:murmur2_random", "murmur2", spread, keyed},
	{"confluent-kafka-go", "fnv1a", "librdkafka:fnv1a", "fnv1a_abs", keyed, keyed},
	{"confluent-kafka-go", "fnv1a_random", "librdkafka:fnv1a_random", "fnv1a_abs", spread, keyed},
	{"confluent-kafka-go", "random", "librdkafka:random", "", spread, spread},
	{"confluent-kafka-python", "default", "confluent-kafka-python", "crc32u", spread, spread},
	{"confluent-kafka-python", "murmur2_random", "confluent-kafka-python:murmur2_random", "murmur2", spread, keyed},
	{"confluent-kafka-python", "consistent", "confluent-kafka-python:consistent", "crc32u", keyed, keyed},
	{"confluent-kafka-python", "murmur2", "confluent-kafka-python:murmur2", "murmur2", keyed, keyed},
	{"confluent-kafka-python", "fnv1a", "confluent-kafka-python:fnv1a", "fnv1a_abs", keyed, keyed},
	{"confluent-kafka-python", "fnv1a_random", "confluent-kafka-python:fnv1a_random", "fnv1a_abs", spread, keyed},

	{"sarama", "default", "sarama", "fnv1a_abs", spread, keyed},
	{"sarama", "hash", "sarama:hash", "fnv1a_abs", spread, keyed},
	{"sarama", "reference", "sarama:reference", "fnv1a_mask", spread, keyed},
	{"sarama", "consistent-crc", "sarama:crc", "crc32u", spread, keyed},
	{"sarama", "murmur2", "sarama:murmur2", "murmur2", spread, keyed},
	{"sarama", "custom-crc32", "sarama:custom_crc32", "crc32_abs", spread, keyed},
	{"sarama", "custom-crc32-absfirst", "sarama:custom_crc32_absfirst", "crc32-mask", spread, keyed},
	{"sarama", "custom-crc32-unsigned", "sarama:custom_crc32_unsigned", "crc32u", spread, keyed},
	{"sarama", "custom-fnv1", "sarama:custom_fnv1", "fnv1-signed-abs", spread, keyed},
	{"sarama", "custom-absfirst", "sarama:custom_absfirst", "fnv1a_mask", spread, keyed},
	{"sarama", "custom-unsigned", "sarama:custom_unsigned", "fnv1a_u", spread, keyed},
	{"sarama", "random", "sarama:random", "", spread, spread},
	{"sarama", "round-robin", "sarama:round_robin", "", spread, spread},

	{"kafka-go", "default", "kafka-go", "", spread, spread},
	{"kafka-go", "hash", "kafka-go:hash", "fnv1a_abs", spread, keyed},
	{"kafka-go", "reference-hash", "kafka-go:reference", "fnv1a_mask", spread, keyed},
	{"kafka-go", "murmur2", "kafka-go:murmur2", "murmur2", spread, keyed},
	{"kafka-go", "murmur2-consistent", "kafka-go:murmur2_consistent", "murmur2", keyed, keyed},
	{"kafka-go", "crc32", "kafka-go:crc32", "crc32u", spread, spread},
	{"kafka-go", "crc32-consistent", "kafka-go:crc32_consistent", "crc32u", keyed, keyed},
	{"kafka-go", "hash-crc32", "kafka-go:hash_crc32", "crc32_abs", spread, keyed},
	{"kafka-go", "least-bytes", "kafka-go:least_bytes", "", spread, spread},

	{"franz-go", "default", "franz-go", "murmur2", spread, keyed},
	{"franz-go", "sarama-hasher", "franz-go:saramahasher", "fnv1a_u", spread, keyed},
	{"franz-go", "sarama-compat-hasher", "franz-go:saramacompathasher", "fnv1a_abs", spread, keyed},
	{"franz-go", "kafka-hasher-fnv1a", "franz-go:kafkahasher_fnv1a", "fnv1a_mask", spread, keyed},
	{"franz-go", "sticky-key", "franz-go:sticky_key", "murmur2", spread, keyed},
	{"franz-go", "sarama-hasher-crc32", "franz-go:saramahasher_crc32", "crc32u", spread, keyed},
	{"franz-go", "sarama-compat-hasher-crc32", "franz-go:saramacompathasher_crc32", "crc32_abs", spread, keyed},
	{"franz-go", "kafka-hasher-crc32", "franz-go:kafkahasher_crc32", "crc32-mask", spread, keyed},
	{"franz-go", "round-robin", "franz-go:round_robin", "", spread, spread},

	{"kafka-python", "default", "kafka-python", "murmur2", spread, keyed},
	{"aiokafka", "default", "aiokafka", "murmur2", spread, keyed},

	{"kafkajs", "default", "kafkajs", "murmur2", spread, keyed},
	{"kafkajs", "java-compatible", "kafkajs:java", "murmur2", spread, keyed},
	{"kafkajs", "legacy", "kafkajs:legacy", "kafkajs_legacy", spread, keyed},
	{"platformatic-kafka", "default", "platformatic", "murmur2u", spread, keyed},
	{"platformatic-kafka", "compatibility", "platformatic:compatibility", "murmur2", keyed, keyed},
}

// write has a client of .ci/clients write the keys of a file to a topic.
func (c *realKafka) write(t *testing.T, client, partitioner, topic, keysFile string) {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../.ci/clients/bin", client))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		lacking(t, "client %s is not built; .ci/clients/build builds it", client)
	}
	if out, err := exec.Command(path, c.addr, topic, keysFile, partitioner).CombinedOutput(); err != nil {
		t.Fatalf("%s with %s: %v\n%s", client, partitioner, err, out)
	}
}

// TestIntegrationClients has every client of .ci/clients write the same keys with each of its partitioners, and holds
// where they came to lie against what locate says.
func TestIntegrationClients(t *testing.T) {
	c := newRealKafka(t)
	tool := buildTool(t)
	keys := clientKeys()
	keysFile := writeKeys(t, keys)
	for _, test := range clientTests {
		t.Run(test.client+"/"+test.partitioner, func(t *testing.T) {
			predicted := locate(t, tool, keysFile, test.predict, "7,12,16")
			// 7 tells a mask from an unsigned remainder, as 12 does; at 16 they place alike
			for _, n := range []int{7, 12, 16} {
				topic := c.topic(t, "client-"+test.client, n)
				c.write(t, test.client, test.partitioner, topic, keysFile)
				_, records := c.readFranz(t, topic, kgo.ReadUncommitted())
				seen, wrong, checked := make(map[int]bool), 0, 0
				for _, r := range records {
					i, err := strconv.Atoi(string(r.Value))
					if err != nil || i < 0 || i >= len(keys) || seen[i] {
						t.Fatalf("n=%d: unexpected record with key %x and value %q", n, r.Key, r.Value)
					}
					seen[i] = true
					key, want := hex.EncodeToString(keys[i]), keyed
					switch {
					case keys[i] == nil:
						key, want = "null", test.null
					case len(keys[i]) == 0:
						want = test.empty
					case test.class == "":
						want = spread
					}
					if (r.Key == nil) != (keys[i] == nil) || !bytes.Equal(r.Key, keys[i]) {
						t.Errorf("n=%d: record %d has key %#v, want %#v", n, i, r.Key, keys[i])
					}
					l, found := predicted[fmt.Sprint(n, " ", key)]
					if !found {
						t.Fatalf("n=%d: locate says nothing of key %s", n, key)
					}
					if l.Unkeyed != (want == spread) {
						t.Errorf("n=%d: locate says of key %s that it is unkeyed: %t; want %q", n, key, l.Unkeyed, want)
					}
					if l.Unkeyed {
						continue
					}
					checked++
					if *l.Partition != r.Partition {
						if wrong++; wrong <= 5 {
							t.Errorf("n=%d: key %s is in partition %d, locate says %d", n, key, r.Partition, *l.Partition)
						}
					}
				}
				for i, key := range keys {
					if want := test.client != "kafka-console-producer" || textKey(key); seen[i] != want {
						t.Errorf("n=%d: key %d, %x, was written: %t, want %t", n, i, key, seen[i], want)
					}
				}
				if test.class != "" && checked < 1000 {
					t.Errorf("n=%d: checked %d keyed records, want 1000 or more", n, checked)
				}
				t.Logf("n=%d: %d records, %d keyed, %d not where locate says", n, len(records), checked, wrong)
			}
		})
	}
}
