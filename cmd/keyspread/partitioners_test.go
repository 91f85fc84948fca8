package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"keyspread/partitioner"
)

func TestPartitionersText(t *testing.T) {
	got, talk := runInProcess(t, exitOK, "", "partitioners")
	if talk != "" {
		t.Errorf("got stderr %q", talk)
	}
	lines := strings.Split(got, "\n")
	for _, line := range lines {
		if n := len([]rune(line)); n > textColumns {
			t.Errorf("line of %d columns, want at most %d: %s", n, textColumns, line)
		}
	}
	for _, c := range partitioner.Clients() {
		for _, r := range c.Rules {
			mark := "  "
			if r.Default && r.To == "" {
				mark = "* "
			}
			want := mark + r.ID + " "
			if i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, want) }); i < 0 || !strings.Contains(lines[i], r.Class) {
				t.Errorf("no line %q with class %s", want, r.Class)
			}
		}
	}
	for _, c := range partitioner.Classes() {
		if i := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, c.ID+" ") }); i < 0 {
			t.Errorf("no line of class %s", c.ID)
		}
	}
}

func TestPartitionersExplain(t *testing.T) {
	// The facts are the table's in partitioner/clients_go.go; the layout is what is tested.
	got, _ := runInProcess(t, exitOK, "", "partitioners", "kafka-go@0.3.0:hash")
	want := `kafka-go@0.3.0:hash (segmentio/kafka-go)
class        fnv1a_u
hash         FNV-1a, 32 bits
partition    h % n, h unsigned
alike        fnv1a_mask where n is a power of two
null key     round robin
empty key    hashed
n counts     all partitions
versions     0.1.0 to 0.3.0
default      no
notes        on 64 bits; half of all keys moved when 0.3.1 matched Sarama (kafka-go#336)
known from   the client itself was run
source       segmentio/kafka-go@3ce29796 balancer.go
aliases      kafka-go-hash-0.3.0
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for _, c := range []struct {
		name string
		want []string
	}{
		{"librdkafka", []string{"  librdkafka:murmur2_random         murmur2    random    hashed\n", "\nlibrdkafka:consistent_random (librdkafka)\n"}},
		{"spring-cloud-stream", []string{"\nnull key     refused: the client asserts that a partition key is there\n", "keys that are not UTF-8 have no partition"}},
		{"node-rdkafka", []string{"\nalso takes   the values of librdkafka\n"}},
		{"murmur2u", []string{"\n             murmur2 without Java's mask", "\nclients      librdkafka@0.11.4:murmur2, "}},
		{"none", []string{"none\nclass        none\nnull key     unkeyed\n"}},
		{"crc32_abs", []string{"\nalike        no-kafka-crc32-utf16 on ASCII keys\n"}},
	} {
		got, _ := runInProcess(t, exitOK, "", "partitioners", c.name)
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("partitioners %s: no %q in\n%s", c.name, want, got)
			}
		}
	}
}

func TestPartitionersJSON(t *testing.T) {
	got, _ := runInProcess(t, exitOK, "", "partitioners", "-o", "json")
	var all struct {
		SchemaVersion int         `json:"schema_version"`
		Partitioners  []ruleLine  `json:"partitioners"`
		Classes       []classLine `json:"classes"`
	}
	if err := json.Unmarshal([]byte(got), &all); err != nil {
		t.Fatal(err)
	}
	rules := 0
	for _, c := range partitioner.Clients() {
		rules += len(c.Rules)
	}
	if all.SchemaVersion != 1 || len(all.Partitioners) != rules || len(all.Classes) != len(partitioner.Classes()) {
		t.Errorf("got schema %d, %d partitioners, %d classes, want 1, %d, %d",
			all.SchemaVersion, len(all.Partitioners), len(all.Classes), rules, len(partitioner.Classes()))
	}

	lines, _ := runInProcess(t, exitOK, "", "partitioners", "-o", "ndjson")
	if n := strings.Count(lines, "\n"); n != rules {
		t.Errorf("ndjson: got %d lines, want %d", n, rules)
	}
	one, _ := runInProcess(t, exitOK, "", "partitioners", "-o", "ndjson", "librdkafka@0.11.4:murmur2")
	want := `{"id":"librdkafka@0.11.4:murmur2","client":"librdkafka","title":"librdkafka","value":"murmur2","from":"0.11.4","to":"0.11.4","default":false,` +
		`"class":"murmur2u","null_key":"hashed","empty_key":"hashed","over":"all partitions","notes":"no mask in this one release: not Java's placement",` +
		`"evidence":"read","source":"confluentinc/librdkafka@4c3b017c src/rdkafka_msg.c, rdkafka_topic.c","aliases":["librdkafka-0.11.4"]}` + "\n"
	if one != want {
		t.Errorf("got\n%s\nwant\n%s", one, want)
	}
}

func TestPartitionersUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"sarma"}, `unknown partitioner "sarma": did you mean "sarama"`},
		{[]string{"a", "b"}, "takes one argument at most, got 2"},
		{[]string{"-o", "csv"}, "want text, json, ndjson"},
	} {
		got, talk := runInProcess(t, exitUsage, "", append([]string{"partitioners"}, c.args...)...)
		if got != "" || !strings.Contains(talk, c.want) {
			t.Errorf("partitioners %q: got stdout %q, stderr %q, want %q", c.args, got, talk, c.want)
		}
	}
}
