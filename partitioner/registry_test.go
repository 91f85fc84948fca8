package partitioner

import (
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct{ name, id, class string }{
		{"java", "java", "murmur2"},
		{"java@3.3", "java", "murmur2"},
		{"java@3", "java", "murmur2"}, // changed within 3, but only how unkeyed records are spread
		{"java@v2.8.1", "java@3.2", "murmur2"},
		{"java:DefaultPartitioner", "java", "murmur2"},
		{"java:round-robin", "java:round_robin", "none"},
		{"java:UniformStickyPartitioner", "java@3.9:uniform_sticky", "none"},
		{"kafka-scala@0.8.1", "kafka-scala@0.8.1", "java_string:mask"},
		{"kafka-scala@0.8.2", "kafka-scala@1", "java_string:abs_min0"},
		{"librdkafka", "librdkafka:consistent_random", "crc32u"},
		{"librdkafka@0.8.6", "librdkafka@0.9.0:random", "none"},
		{"librdkafka@2.11.1", "librdkafka:consistent_random", "crc32u"},
		{"librdkafka:murmur2_random", "librdkafka:murmur2_random", "murmur2"},
		{"librdkafka:murmur2-random", "librdkafka:murmur2_random", "murmur2"},
		{"librdkafka@0.11.4:murmur2", "librdkafka@0.11.4:murmur2", "murmur2u"},
		{"librdkafka@0.11.5:murmur2", "librdkafka:murmur2", "murmur2"},
		{"murmur2_random", "librdkafka:murmur2_random", "murmur2"},
		{"consistent", "librdkafka:consistent", "crc32u"},
		{"confluent-kafka-go", "confluent-kafka-go:consistent_random", "crc32u"},
		{"confluent-kafka-go@2.11:murmur2_random", "librdkafka:murmur2_random", "murmur2"},
		{"confluent-kafka-python:fnv1a", "librdkafka:fnv1a", "fnv1a_abs"},
		{"confluent-kafka-dotnet", "confluent-kafka-dotnet:consistent_random", "crc32u"},
		{"confluent-kafka-javascript", "confluent-kafka-javascript", "murmur2"},
		{"node-rdkafka", "node-rdkafka:consistent_random", "crc32u"},
		{"sarama", "sarama:hash", "fnv1a_abs"},
		{"sarama:default", "sarama:hash", "fnv1a_abs"},
		{"sarama:hash", "sarama:hash", "fnv1a_abs"},
		{"Sarama:NewReferenceHashPartitioner", "sarama:reference", "fnv1a_mask"},
		{"sarama:crc", "sarama:crc", "crc32u"},
		{"sarama:murmur2", "sarama:murmur2", "murmur2"},
		{"sarama@1.9:hash", "sarama@1.9:hash", "fnv1a_absfirst_broken"},
		{"sarama@1.10:hash", "sarama:hash", "fnv1a_abs"},
		{"kafkajs", "kafkajs", "murmur2"},
		{"kafka-js", "kafkajs", "murmur2"},
		{"kafkajs@1", "kafkajs@1", "kafkajs_legacy"},
		{"kafkajs@1.x", "kafkajs@1", "kafkajs_legacy"},
		{"kafkajs@1.16.0", "kafkajs@1", "kafkajs_legacy"},
		{"kafkajs@2", "kafkajs", "murmur2"},
		{"kafkajs:legacy", "kafkajs:legacy", "kafkajs_legacy"},
		{"JavaCompatiblePartitioner", "kafkajs:java", "murmur2"},
		{"kafka-go", "kafka-go:round_robin", "none"},
		{"kafka-go:hash", "kafka-go:hash", "fnv1a_abs"},
		{"kafka-go@0.3.0:hash", "kafka-go@0.3.0:hash", "fnv1a_u"},
		{"kafka-go-hash-0.3.0", "kafka-go@0.3.0:hash", "fnv1a_u"},
		{"kafka-go@0.3.1:hash", "kafka-go:hash", "fnv1a_abs"},
		{"kafka-go:reference", "kafka-go:reference", "fnv1a_mask"},
		{"kafka-go:murmur2", "kafka-go:murmur2", "murmur2"},
		{"kafka-go:murmur2_consistent", "kafka-go:murmur2_consistent", "murmur2"},
		{"kafka-go:crc32", "kafka-go:crc32", "crc32u"},
		{"franz-go", "franz-go:uniform_bytes", "murmur2"},
		{"franz-go@1.5", "franz-go@1.5:sticky_key", "murmur2"},
		{"franz-go:saramahasher", "franz-go:saramahasher", "fnv1a_u"},
		{"franz-go:SaramaCompatHasher", "franz-go:saramacompathasher", "fnv1a_abs"},
		{"beats", "beats:hash", "fnv1a_mask"},
		{"filebeat", "beats:hash", "fnv1a_mask"},
		{"otel", "otel:sarama_compat", "fnv1a_abs"},
		{"kafka-python", "kafka-python", "murmur2"},
		{"aiokafka", "aiokafka", "murmur2"},
		{"ruby-kafka", "ruby-kafka:crc32", "crc32u"},
		{"brod", "brod:hash", "phash2"},
		{"kaffe", "kaffe:md5", "md5sum"},
		{"kafka-rust", "kafka-rust", "xxh32"},
		{"pykafka", "pykafka:random", "none"},
		{"pykafka:hashing", "pykafka:hashing", "sha1"},
		{"kafka_ex", "kafka_ex", "murmur2"},
		{"kafka_ex@0.10", "kafka_ex@0.10", "murmur2u"},
		{"kafka_ex:legacy", "kafka_ex:legacy", "murmur2u"},
		{"platformatic", "platformatic", "murmur2u"},
		{"@platformatic/kafka", "platformatic", "murmur2u"},
		{"@platformatic/kafka@2.12.1:compatibilityPartitioner", "platformatic:compatibility", "murmur2"},
		{"kafka-node:keyed", "kafka-node:keyed", "kn31"},
		{"maxwell", "maxwell", "java_string:mod_abs"},
		{"maxwell:murmur3", "maxwell:murmur3", "maxwell_mm3"},
		{"debezium", "debezium", "murmur2"},
		{"debezium:partition_routing", "debezium:partition_routing", "java_string:sum_mask"},
		{"debezium:murmur", "debezium:partition_routing_murmur", "dbz_mm3"},
		{"spring-cloud-stream", "spring-cloud-stream", "java_string:abs_min0"},
		{"canal", "canal", "java_string:mod_abs"},
		{"kt", "kt", "constant-0"},
		{"kt:hashCode", "kt:hashCode", "java_string:abs_min0"},
		{"collectd", "collectd", "djb2rev"},
		{"pandaproxy", "pandaproxy", "murmur2u"},
		{"redpanda-connect", "redpanda-connect:fnv1a_hash", "fnv1a_abs"},
		{"redpanda-connect:kafka_franz", "redpanda-connect:kafka_franz", "murmur2"},
		{"telegraf", "telegraf:hash", "fnv1a_abs"},
		{"goka", "goka:emitter", "fnv1a_abs"},
		{"vector", "vector:consistent_random", "crc32u"},
		{"fluent-bit", "fluent-bit:consistent_random", "crc32u"},
		{"syslog-ng", "syslog-ng:murmur2_random", "murmur2"},
		{"dekaf@1.0.2497", "dekaf@1.0.2497", "murmur2u"},
		{"dekaf", "dekaf", "murmur2"},
		{"murmur2", "murmur2", "murmur2"},
		{"MURMUR2-java", "murmur2", "murmur2"},
		{"java_string:abs_min0", "java_string:abs_min0", "java_string:abs_min0"},
		{"none", "none", "none"},
		{"rr", "none", "none"},
	} {
		r, err := Lookup(c.name)
		if err != nil {
			t.Errorf("Lookup(%q): %v", c.name, err)
			continue
		}
		if r.ID != c.id || r.Class != c.class {
			t.Errorf("Lookup(%q) = %s, class %s, want %s, class %s", c.name, r.ID, r.Class, c.id, c.class)
		}
		if p := parse(t, c.name); p.ID() != c.id {
			t.Errorf("Parse(%q).ID() = %s, want %s", c.name, p.ID(), c.id)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ name, want string }{
		{"librdkafak", `unknown partitioner "librdkafak": did you mean "librdkafka"`},
		{"murmer2", `unknown partitioner "murmer2": did you mean "murmur2"`},
		{"", `unknown partitioner ""`},
		{"zzzzzzzzzzzzzz", `unknown partitioner "zzzzzzzzzzzzzz": "keyspread partitioners" lists the known ones`},
		{"java_string", `unknown partitioner "java_string"`}, // ambiguous: a variant is needed
		{"sarama:murmur3", `unknown partitioner "sarama:murmur3": sarama is known with hash, reference, crc, murmur2,`},
		{"vector:murmur3", `unknown partitioner "vector:murmur3": vector is known with consistent_random, and with the values of librdkafka`},
		{"librdkafka@0.11:murmur2", `partitioner "librdkafka@0.11:murmur2" changed within version 0.11: librdkafka@0.11.4:murmur2 is murmur2u from 0.11.4 to 0.11.4, librdkafka:murmur2 is murmur2 from 0.11.5`},
		{"kafka-go@0.3:hash", `partitioner "kafka-go@0.3:hash" changed within version 0.3: kafka-go@0.3.0:hash is fnv1a_u from 0.1.0 to 0.3.0, kafka-go:hash is fnv1a_abs from 0.3.1`},
		{"librdkafka@0.9:murmur2", `unknown partitioner "librdkafka@0.9:murmur2": librdkafka@0.11.4:murmur2 is murmur2u from 0.11.4 to 0.11.4, librdkafka:murmur2 is murmur2 from 0.11.5`},
		{"kafka-ts@1.3.2", `unknown partitioner "kafka-ts@1.3.2": kafka-ts is murmur2 from 1.5.0`},
		{"java@new", `partitioner "java@new": version "new" is not numbers with dots, such as 2.11.1`},
		{"java@", `partitioner "java@": version "" is not numbers with dots`},
	} {
		_, err := Parse(c.name)
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("Parse(%q): got error %v, want %s", c.name, err, c.want)
		}
	}
}

// TestNames checks that every listed name leads somewhere, and that two rules never share one.
func TestNames(t *testing.T) {
	names := Names()
	if !slices.IsSorted(names) {
		t.Error("Names is not sorted")
	}
	for _, name := range names {
		if _, err := Parse(name); err != nil {
			t.Errorf("listed, but %v", err)
		}
	}

	owner := map[string]string{}
	claim := func(name, by string) {
		name = fold(name)
		if other, taken := owner[name]; taken && other != by {
			t.Errorf("%q names both %s and %s", name, other, by)
		}
		owner[name] = by
	}
	claimAll := func(by string, names ...string) {
		for _, name := range names {
			claim(name, by)
		}
	}
	claimAll("none", append(noneRule.Aliases, "none")...)
	for _, c := range classes {
		claimAll("class "+c.ID, append(c.Aliases, c.ID)...)
	}
	for _, c := range clients {
		claimAll("client "+c.Name, append(c.Aliases, c.Name)...)
		for _, r := range c.Rules {
			for _, a := range r.Aliases {
				if !strings.HasPrefix(a, ":") {
					claim(a, "rule "+r.ID)
				}
			}
		}
	}
}

// TestTables checks what a row of the client tables must have.
func TestTables(t *testing.T) {
	ids := map[string]bool{}
	for _, c := range Clients() {
		if c.Name == "" || c.Title == "" || c.Source == "" || len(c.Rules) == 0 {
			t.Errorf("client %q lacks a field", c.Name)
		}
		if _, ok := findClient(c.Like); c.Like != "" && !ok {
			t.Errorf("client %s is like %q, which is no client", c.Name, c.Like)
		}
		newest := 0
		for i, r := range c.Rules {
			if ids[r.ID] {
				t.Errorf("rule %s is listed twice", r.ID)
			}
			ids[r.ID] = true
			if got, err := Lookup(r.ID); err != nil || got.ID != r.ID {
				t.Errorf("Lookup(%q) = %q, %v", r.ID, got.ID, err)
			}
			class, ok := findClass(r.Class)
			if !ok && r.Class != ClassNone {
				t.Errorf("rule %s: no class %q", r.ID, r.Class)
			}
			if ok && class.ID == "constant-0" && r.Null != zero {
				t.Errorf("rule %s: null key %v, want partition 0 like every key", r.ID, r.Null)
			}
			if !slices.Contains([]Evidence{Run, Extracted, Read, Issue}, r.Evidence) {
				t.Errorf("rule %s: evidence %q", r.ID, r.Evidence)
			}
			for _, k := range []KeyRule{r.Null, r.Empty} {
				if (k.Kind == Spread || k.Kind == Refused) != (k.How != "") {
					t.Errorf("rule %s: key rule %+v", r.ID, k)
				}
				if r.Class == ClassNone && (k.Kind == Hashed || k.Kind == Zero) {
					t.Errorf("rule %s: keys are ignored, yet the null or empty key is placed: %v", r.ID, k)
				}
			}
			if r.From != "" && r.To != "" && compareVersions(r.From, r.To) > 0 {
				t.Errorf("rule %s: from %s to %s", r.ID, r.From, r.To)
			}
			if i > 0 && c.Rules[i-1].Value == r.Value && (c.Rules[i-1].To == "" || compareVersions(c.Rules[i-1].To, r.From) > 0) {
				t.Errorf("rule %s: follows a rule of the same value that has not ended", r.ID)
			}
			if r.Default && r.To == "" {
				newest++
			}
		}
		if newest > 1 || newest == 0 && c.Name != "kafka-scala" { // which ended with Kafka 1.x
			t.Errorf("client %s: %d defaults in the newest version, want 1", c.Name, newest)
		}
	}
}

func TestKeyRules(t *testing.T) {
	for _, c := range []struct{ name, null, empty string }{
		{"java", "sticky", "hashed"},
		{"librdkafka", "random", "random"},
		{"librdkafka:consistent", "hashed", "hashed"},
		{"murmur2_random", "random", "hashed"},
		{"platformatic:compatibility", "partition 0", "hashed"},
		{"pykafka:hashing", "refused: ValueError", "hashed"},
		{"kafka-sharp", "not known", "not known"},
		{"murmur2", "unkeyed", "hashed"},
	} {
		r, err := Lookup(c.name)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := r.Null.String(); got != c.null {
			t.Errorf("%s: null key: got %q, want %q", c.name, got, c.null)
		}
		if got := r.Empty.String(); got != c.empty {
			t.Errorf("%s: empty key: got %q, want %q", c.name, got, c.empty)
		}
	}
	_, err := parse(t, "pykafka:hashing").Place(nil, []int32{3}, make([]int32, 1))
	if want := "partitioner pykafka:hashing has no partition for this key: null key: ValueError"; err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
}
