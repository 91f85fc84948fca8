package partitioner

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// vectorClasses are the names of testdata/vectors for our classes.
var vectorClasses = map[string]string{
	"murmur2-java": "murmur2", "murmur2-unsigned": "murmur2u", "kafkajs-legacy": "kafkajs_legacy",
	"fnv1a-signed-abs": "fnv1a_abs", "fnv1a-mask": "fnv1a_mask", "fnv1a-unsigned": "fnv1a_u", "fnv1a-optiopay": "fnv1a_absfirst_broken",
	"fnv1-signed-abs": "fnv1-signed-abs", "crc32-unsigned": "crc32u", "crc32-signed-abs": "crc32_abs", "crc32-mask": "crc32-mask",
	"no-kafka-crc32-utf16": "no-kafka-crc32-utf16", "brod-phash2": "phash2", "kafka-node-31hash": "kn31",
	"murmur3-seed0": "murmur3-seed0", "constant-0": "constant-0", "unkeyed": "none",
}

type vectorKey struct {
	I    int     `json:"i"`
	Name string  `json:"name"`
	Hex  *string `json:"hex"`
	UTF8 bool    `json:"utf8"`
}

type vectorRow struct {
	I int     `json:"i"`
	P []int32 `json:"p"`
}

type vectorClass struct {
	Class  string  `json:"class"`
	Counts []int32 `json:"counts"`
	rows   []vectorRow
}

type vectorClient struct {
	Client          string      `json:"client"`
	Class           string      `json:"class"`
	Null            string      `json:"null"`
	Empty           string      `json:"empty"`
	NullPartitions  []int32     `json:"null_partitions"`
	EmptyPartitions []int32     `json:"empty_partitions"`
	Exceptions      []vectorRow `json:"exceptions"`
}

func readLines(t *testing.T, name string, line func(number int, b []byte)) {
	t.Helper()
	f, err := os.Open(filepath.Join("testdata", "vectors", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	s.Buffer(nil, 1<<20) // one key is 64 KiB, in hex
	for n := 1; s.Scan(); n++ {
		line(n, s.Bytes())
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
}

func decode[T any](t *testing.T, b []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("%v: %.80s", err, b)
	}
	return v
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// vectorKeys returns the bytes of each key by row id; the null key is nil. utf8 tells which are valid.
func vectorKeys(t *testing.T) (keys map[int][]byte, utf8 map[int]bool) {
	t.Helper()
	keys, utf8 = map[int][]byte{}, map[int]bool{}
	readLines(t, "keys.ndjson", func(_ int, b []byte) {
		k := decode[vectorKey](t, b)
		keys[k.I] = nil
		if k.Hex != nil {
			keys[k.I] = append([]byte{}, unhex(t, *k.Hex)...)
		}
		utf8[k.I] = k.UTF8
	})
	if len(keys) != 419 {
		t.Fatalf("keys.ndjson: got %d keys, want 419", len(keys))
	}
	return keys, utf8
}

func readClass(t *testing.T, name string) vectorClass {
	t.Helper()
	var c vectorClass
	readLines(t, "class-"+name+".ndjson", func(n int, b []byte) {
		if n == 1 {
			c = decode[vectorClass](t, b)
			return
		}
		c.rows = append(c.rows, decode[vectorRow](t, b))
	})
	return c
}

func readClients(t *testing.T) []vectorClient {
	t.Helper()
	var all []vectorClient
	readLines(t, "clients.ndjson", func(_ int, b []byte) { all = append(all, decode[vectorClient](t, b)) })
	if len(all) != 159 {
		t.Fatalf("clients.ndjson: got %d clients, want 159", len(all))
	}
	return all
}

func parse(t testing.TB, name string) Partitioner {
	t.Helper()
	p, err := Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// checkPlaced compares p's answer for key with what a client answered. Where the client left the range, want is negative and
// p must say so.
func checkPlaced(t *testing.T, p Partitioner, key []byte, counts, want []int32) {
	t.Helper()
	got := make([]int32, len(counts))
	keyed, err := p.Place(key, counts, got)
	if !keyed {
		t.Errorf("%s: key %q is unkeyed, the client answers %d", p.ID(), key, want)
		return
	}
	outside := false
	for i, n := range counts {
		if want[i] >= 0 && got[i] == want[i] {
			continue
		}
		if want[i] >= 0 || got[i] != -1 {
			t.Errorf("%s: key %q at %d partitions: got %d, the client answers %d: keys of live topics would be predicted in partitions where they are not",
				p.ID(), key, n, got[i], want[i])
			continue
		}
		outside = true
		_, err := p.Place(key, counts[i:i+1], make([]int32, 1))
		oe, ok := errors.AsType[*OutsideError](err)
		if !ok || oe.Answer != int64(want[i]) || oe.Partitions != n || !bytes.Equal(oe.Key, key) || oe.Partitioner != p.ID() {
			t.Errorf("%s: key %q at %d partitions: got error %v, the client answers %d", p.ID(), key, n, err, want[i])
		}
	}
	if (err != nil) != outside {
		t.Errorf("%s: key %q: got error %v, the client leaves the range: %v", p.ID(), key, err, outside)
	}
}

func TestClassVectors(t *testing.T) {
	keys, utf8 := vectorKeys(t)
	total := 0
	for name, id := range vectorClasses {
		if id == ClassNone {
			continue
		}
		t.Run(name, func(t *testing.T) {
			c := readClass(t, name)
			p := parse(t, id)
			for _, row := range c.rows {
				checkPlaced(t, p, keys[row.I], c.Counts, row.P)
			}
			total += len(c.rows)
			class, _ := findClass(id)
			if want := map[bool]int{false: 417, true: 270}[class.TextOnly]; len(c.rows) != want {
				t.Errorf("got %d rows, want %d", len(c.rows), want)
			}
			// A client that takes text only has no row for bytes that are not UTF-8, and no answer is made up for them.
			for i, key := range keys {
				if !class.TextOnly || utf8[i] || len(key) == 0 {
					continue
				}
				out := []int32{0, 0}
				_, err := p.Place(key, []int32{7, 8}, out)
				if _, ok := errors.AsType[*KeyError](err); !ok || out[0] != -1 || out[1] != -1 {
					t.Errorf("%s: key %x: got %d and error %v, want -1 and a KeyError", id, key, out, err)
				}
			}
		})
	}
	if want := 14*417 + 2*270; total != want {
		t.Errorf("checked %d rows, want %d", total, want)
	}
	files, err := filepath.Glob("testdata/vectors/class-*.ndjson")
	if err != nil || len(files) != len(vectorClasses)-1 {
		t.Errorf("%d class files, %d classes mapped (%v)", len(files), len(vectorClasses)-1, err)
	}
}

// vectorClients are the names of testdata/vectors/clients.ndjson for our rules. A name with -386 stands for the one without,
// unless it is listed; librdkafka-VERSION-VALUE is librdkafka@VERSION:VALUE.
var vectorClients = map[string]string{
	"aiokafka-default":                              "aiokafka",
	"brod-hash":                                     "brod",
	"confluent-kafka-go-default":                    "confluent-kafka-go",
	"confluent-kafka-go-fnv1a_random":               "confluent-kafka-go:fnv1a_random",
	"confluent-kafka-go-murmur2_random":             "confluent-kafka-go:murmur2_random",
	"confluent-kafka-javascript-kafkajs-api":        "confluent-kafka-javascript",
	"confluent-kafka-javascript-kafkajs-api-string": "confluent-kafka-javascript:string",
	"confluent-kafka-javascript-rdkafka-api":        "confluent-kafka-javascript:rdkafka",
	"confluent-kafka-python-default":                "confluent-kafka-python",
	"franz-go-1.0.0-stickykey":                      "franz-go@1.0.0",
	"franz-go-1.0.0-stickykey-saramahasher-crc32":   "franz-go@1.0.0:saramahasher_crc32",
	"franz-go-1.0.0-stickykey-saramahasher-fnv1a":   "franz-go@1.0.0:saramahasher",
	"franz-go-386-stickykey-saramahasher-crc32":     "franz-go:saramahasher_crc32_32bit",
	"franz-go-386-stickykey-saramahasher-fnv1a":     "franz-go:saramahasher_32bit",
	"franz-go-default-uniformbytes":                 "franz-go",
	"franz-go-roundrobin":                           "franz-go:round_robin",
	"franz-go-sticky":                               "franz-go:sticky",
	"franz-go-stickykey":                            "franz-go:sticky_key",
	"franz-go-stickykey-kafkahasher-crc32":          "franz-go:kafkahasher_crc32",
	"franz-go-stickykey-kafkahasher-fnv1a":          "franz-go:kafkahasher_fnv1a",
	"franz-go-stickykey-saramacompat-crc32":         "franz-go:saramacompathasher_crc32",
	"franz-go-stickykey-saramacompat-fnv1a":         "franz-go:saramacompathasher",
	"franz-go-stickykey-saramahasher-crc32":         "franz-go:saramahasher_crc32",
	"franz-go-stickykey-saramahasher-fnv1a":         "franz-go:saramahasher",
	"franz-go-uniformbytes-nokeys":                  "franz-go:uniform_bytes_nokeys",
	"java-0.8.2.2-old":                              "java@0.8.2.2",
	"java-0.9.0.1-default":                          "java@0.9.0.1",
	"java-1.1.1-default":                            "java@1.1.1",
	"java-2.3.1-default":                            "java@2.3.1",
	"java-2.4.1-RoundRobinPartitioner":              "java@2.4.1:RoundRobinPartitioner",
	"java-2.4.1-UniformStickyPartitioner":           "java@2.4.1:UniformStickyPartitioner",
	"java-2.4.1-default":                            "java@2.4.1",
	"java-3.2.3-default":                            "java@3.2.3",
	"java-3.6.2-builtin":                            "java@3.6.2",
	"java-3.6.2-producer":                           "java@3.6.2",
	"java-3.9.0-rc3-builtin":                        "java@3.9.0",
	"kafka-go-0.2.1-hash":                           "kafka-go@0.2.1:hash",
	"kafka-go-crc32":                                "kafka-go:crc32",
	"kafka-go-crc32-consistent":                     "kafka-go:crc32_consistent",
	"kafka-go-hash":                                 "kafka-go:hash",
	"kafka-go-hash-crc32":                           "kafka-go:hash_crc32",
	"kafka-go-leastbytes":                           "kafka-go:least_bytes",
	"kafka-go-murmur2":                              "kafka-go:murmur2",
	"kafka-go-murmur2-consistent":                   "kafka-go:murmur2_consistent",
	"kafka-go-reference-hash":                       "kafka-go:reference",
	"kafka-go-roundrobin":                           "kafka-go",
	"kafka-node-cyclic":                             "kafka-node:cyclic",
	"kafka-node-default":                            "kafka-node",
	"kafka-node-keyed":                              "kafka-node:keyed",
	"kafka-node-keyed-string":                       "kafka-node:keyed",
	"kafka-python-default":                          "kafka-python",
	"kafka-ts-default":                              "kafka-ts",
	"kafka-ts-default-string":                       "kafka-ts:string",
	"kafka_ex-default":                              "kafka_ex",
	"kafka_ex-legacy":                               "kafka_ex:legacy",
	"kafkajs-default":                               "kafkajs",
	"kafkajs-default-string":                        "kafkajs",
	"kafkajs-javacompatible":                        "kafkajs:JavaCompatiblePartitioner",
	"kafkajs-legacy":                                "kafkajs:legacy",
	"kafkajs-legacy-string":                         "kafkajs:legacy",
	"kafkajs1-default":                              "kafkajs@1.16.0",
	"kafkajs1-default-string":                       "kafkajs@1.16.0",
	"kafkajs1-javacompatible":                       "kafkajs@1.16.0:java",
	"lua-resty-kafka-default":                       "lua-resty-kafka",
	"murmur2-partitioner-partition":                 "murmur2-partitioner",
	"murmur2-partitioner-partition-string":          "murmur2-partitioner",
	"no-kafka-default":                              "no-kafka",
	"no-kafka-default-string":                       "no-kafka",
	"no-kafka-hashcrc32-string":                     "no-kafka:crc32",
	"node-rdkafka-default":                          "node-rdkafka",
	"node-rdkafka-default-string":                   "node-rdkafka",
	"node-rdkafka-murmur2_random-globalconf":        "node-rdkafka", // ignored in the global configuration
	"node-rdkafka-murmur2_random-topicconf":         "node-rdkafka:murmur2_random",
	"optiopay-hash":                                 "optiopay",
	"platformatic-compatibility":                    "platformatic:compatibilityPartitioner",
	"platformatic-default":                          "platformatic",
	"platformatic1-default":                         "@platformatic/kafka@1.35.0",
	"ruby-kafka-crc32":                              "ruby-kafka",
	"sarama-1.22.1-hash":                            "sarama@1.22.1",
	"sarama-1.22.1-reference-hash":                  "sarama@1.22.1:reference",
	"sarama-consistent-crc":                         "sarama:crc",
	"sarama-custom-absfirst":                        "sarama:custom_absfirst",
	"sarama-custom-crc32-absfirst":                  "sarama:custom_crc32_absfirst",
	"sarama-custom-crc32-signed":                    "sarama:custom_crc32",
	"sarama-custom-crc32-unsigned":                  "sarama:custom_crc32_unsigned",
	"sarama-custom-fnv1-signed":                     "sarama:custom_fnv1",
	"sarama-custom-unsigned-fnv1a":                  "sarama:custom_unsigned",
	"sarama-hash":                                   "sarama",
	"sarama-murmur2":                                "sarama:murmur2",
	"sarama-random":                                 "sarama:random",
	"sarama-reference-hash":                         "sarama:reference",
	"sarama-roundrobin":                             "sarama:round_robin",
	"shopify-sarama-custom-crc32-signed":            "sarama@1.38.1:custom_crc32",
	"shopify-sarama-hash":                           "sarama@1.38.1:hash",
	"shopify-sarama-reference-hash":                 "sarama@1.38.1:reference",
	"sinek-murmur2-string":                          "node-sinek:murmur2",
	"sinek-murmur3-string":                          "node-sinek",
}

func vectorClientName(client string) (name string, ok bool) {
	if name, ok = vectorClients[client]; ok {
		return name, true
	}
	if versioned, ok := strings.CutPrefix(client, "librdkafka-"); ok {
		version, value, _ := strings.Cut(versioned, "-")
		return "librdkafka@" + version + ":" + value, true
	}
	name, ok = vectorClients[strings.Replace(client, "-386-", "-", 1)]
	return name, ok
}

func TestClientVectors(t *testing.T) {
	keys, _ := vectorKeys(t)
	classes := map[string]vectorClass{}
	for name, id := range vectorClasses {
		if id != ClassNone {
			classes[name] = readClass(t, name)
		}
	}
	counts := classes["murmur2-java"].Counts
	run := map[string]bool{}
	for _, c := range readClients(t) {
		t.Run(c.Client, func(t *testing.T) {
			name, ok := vectorClientName(c.Client)
			if !ok {
				t.Fatal("no rule is mapped to this client")
			}
			p := parse(t, name)
			rule, err := Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			if rule.Class != vectorClasses[c.Class] {
				t.Errorf("%s: got class %s, want %s", name, rule.Class, vectorClasses[c.Class])
			}
			run[rule.ID] = true
			if rule.Evidence != Run && rule.Client != "librdkafka" {
				t.Errorf("%s: evidence is %q, but the client was run", rule.ID, rule.Evidence)
			}

			null := c.Null
			if strings.HasSuffix(c.Client, "-builtin") {
				null = "unkeyed" // an inner function that the producer does not call for a null key; its error is no client's answer
			}
			checkUnkeyed(t, p, nil, null, counts, c.NullPartitions)
			checkUnkeyed(t, p, []byte{}, c.Empty, counts, c.EmptyPartitions)

			mangled := map[int]bool{}
			for _, e := range c.Exceptions {
				mangled[e.I] = true
			}
			if c.Class == "unkeyed" {
				for _, key := range keys {
					checkUnkeyed(t, p, key, "unkeyed", counts, nil)
				}
				return
			}
			for _, row := range classes[c.Class].rows {
				if !mangled[row.I] {
					checkPlaced(t, p, keys[row.I], counts, row.P)
				}
			}
		})
	}
	for _, r := range rules {
		if r.Evidence == Run && !run[r.ID] {
			t.Errorf("rule %s says that the client was run; it has no vectors", r.ID)
		}
	}
}

// checkUnkeyed checks a null or an empty key, or one of a client that spreads every key.
func checkUnkeyed(t *testing.T, p Partitioner, key []byte, rule string, counts, want []int32) {
	t.Helper()
	got := slices.Repeat([]int32{-7}, len(counts))
	keyed, err := p.Place(key, counts, got)
	_, isKeyError := errors.AsType[*KeyError](err)
	switch {
	case rule == "unkeyed":
		if keyed || err != nil || got[0] != -7 {
			t.Errorf("%s: key %#v: got keyed=%v, %d, error %v; the client spreads it", p.ID(), key, keyed, got, err)
		}
	case rule == "n/a", strings.HasPrefix(rule, "error: "):
		if !keyed || !isKeyError || got[0] != -1 {
			t.Errorf("%s: key %#v: got keyed=%v, %d, error %v; the client says %q", p.ID(), key, keyed, got, err, rule)
		}
	case want != nil:
		checkPlaced(t, p, key, counts, want)
	case !keyed || err != nil: // a client whose twin's line holds the partitions
		t.Errorf("%s: key %#v: got keyed=%v, error %v; the client hashes it", p.ID(), key, keyed, err)
	}
}

// TestStringKeyExceptions explains the exceptions of the two clients that have any: both take a JavaScript string and hand it
// to C, where it ends at the first NUL. What is then hashed is the text before it. The keys listed must be exactly
// those for which this makes a difference that can be seen: the client still places what is left, and elsewhere.
func TestStringKeyExceptions(t *testing.T) {
	keys, utf8 := vectorKeys(t)
	counts := readClass(t, "murmur2-java").Counts
	checked := 0
	for _, c := range readClients(t) {
		if c.Exceptions == nil {
			continue
		}
		name, _ := vectorClientName(c.Client)
		p := parse(t, name)
		listed := map[int][]int32{}
		for _, e := range c.Exceptions {
			listed[e.I] = e.P
		}
		for i, key := range keys {
			nul := bytes.IndexByte(key, 0)
			if nul < 0 || !utf8[i] {
				if listed[i] != nil {
					t.Errorf("%s: key %d is listed and has no NUL", c.Client, i)
				}
				continue
			}
			whole, cut := make([]int32, len(counts)), make([]int32, len(counts))
			if _, err := p.Place(key, counts, whole); err != nil {
				t.Fatal(err)
			}
			keyed, err := p.Place(key[:nul], counts, cut)
			if err != nil {
				t.Fatal(err)
			}
			if seen := keyed && !slices.Equal(whole, cut); seen != (listed[i] != nil) {
				t.Errorf("%s: key %d %q: the cut shows: %v, listed: %v", c.Client, i, key, seen, listed[i] != nil)
			}
			if listed[i] != nil {
				checkPlaced(t, p, key[:nul], counts, listed[i])
				checked++
			}
		}
	}
	if want := 8 + 43; checked != want {
		t.Errorf("checked %d exceptions, want %d", checked, want)
	}
}

func TestHashVectors(t *testing.T) {
	keys, _ := vectorKeys(t)
	rows := 0
	readLines(t, "hashes.ndjson", func(n int, b []byte) {
		if n == 1 {
			return // provenance
		}
		row := decode[struct {
			I                       int
			Murmur2, CRC32, FNV1a32 uint32
		}](t, b)
		rows++
		key := keys[row.I]
		for _, h := range []struct {
			name      string
			got, want uint32
		}{
			{"murmur2", murmur2(key), row.Murmur2},
			{"fnv1a", fnv1a(key), row.FNV1a32},
			{"crc32", crc(key), row.CRC32},
		} {
			if h.got != h.want {
				t.Errorf("%s of key %d %q: got %d, want %d", h.name, row.I, key, h.got, h.want)
			}
		}
	})
	if rows != 418 {
		t.Errorf("checked %d rows, want 418", rows)
	}
}

// crc is CRC-32 bit by bit: the package itself leaves the whole hash to hash/crc32.
func crc(key []byte) uint32 {
	h := ^uint32(0)
	for _, b := range key {
		h ^= uint32(b)
		for range 8 {
			h = h>>1 ^ 0xedb88320&-(h&1)
		}
	}
	return ^h
}

func TestMoreHashVectors(t *testing.T) {
	text := func(f func([]byte) (uint32, bool)) func([]byte) (int64, bool) {
		return func(key []byte) (int64, bool) { h, ok := f(key); return int64(int32(h)), ok }
	}
	signed := func(f func([]byte) uint32) func([]byte) (int64, bool) {
		return func(key []byte) (int64, bool) { return int64(int32(f(key))), true }
	}
	unsigned := func(f func([]byte) uint32) func([]byte) (int64, bool) {
		return func(key []byte) (int64, bool) { return int64(f(key)), true }
	}
	// Columns after key and text, with what computes them. "-" means that a hash of text does not exist for these bytes; two
	// of them have an answer of ours all the same: kafka-node replaces bad UTF-8 (see its class vectors), and Maxwell's
	// class refuses such keys before it hashes.
	columns := []func([]byte) (int64, bool){
		unsigned(murmur2), unsigned(fnv1a), unsigned(crc), signed(kafkajsLegacy), unsigned(phash2), unsigned(md5Sum), unsigned(xxh32),
		unsigned(kafkaNode31), unsigned(djb2Reverse), text(javaString), signed(javaBytes),
		signed(func(key []byte) uint32 { return murmur3Hash(key, maxwellSeed) }), signed(debeziumMurmur3),
	}
	rows, cells := 0, 0
	var header []string
	readLines(t, "more-hashes.tsv", func(n int, b []byte) {
		fields := strings.Split(string(b), "\t")
		if n == 1 {
			header = fields
			return
		}
		if len(fields) != 2+len(columns) {
			t.Fatalf("line %d: got %d fields, want %d", n, len(fields), 2+len(columns))
		}
		rows++
		key := unhex(t, fields[0])
		for i, hash := range columns {
			want := fields[2+i]
			got, ok := hash(key)
			switch {
			case want != "-":
				cells++
				if !ok || strconv.FormatInt(got, 10) != want {
					t.Errorf("line %d: %s of %q: got %d, want %s", n, header[2+i], key, got, want)
				}
			case header[2+i] == "java_string_hash" && ok:
				t.Errorf("line %d: %s of %q: got %d, want no answer", n, header[2+i], key, got)
			}
		}
	})
	if rows != 438 || cells != 5514 {
		t.Errorf("checked %d rows and %d cells, want 438 and 5514", rows, cells)
	}
}
