package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// runInProcess runs a command line and checks its exit code.
func runInProcess(t *testing.T, wantCode int, stdin string, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, talk strings.Builder
	if code := run(args, strings.NewReader(stdin), &out, &talk); code != wantCode {
		t.Fatalf("keyspread %q: got exit %d, want %d\nstdout: %s\nstderr: %s", args, code, wantCode, out.String(), talk.String())
	}
	return out.String(), talk.String()
}

func TestLocateText(t *testing.T) {
	// Partitions: hashes of partitioner/testdata/vectors/more-hashes.tsv, by hand. 100:48069 is kafkajs#357 (9 and 6 at 12);
	// empty key 275646681 % 12 = 9, % 16 = 9. crc32(100:48069) = 3292536894, % 16 = 14; murmur2 1009543857 % 16 = 1.
	got, talk := runInProcess(t, exitOK, "", "locate", "-n", "12,16", "--partitioner", "java,librdkafka", "--null", "100:48069", "")
	want := `key        partitioner                     n=12    n=16
100:48069  java                               9       1
100:48069  librdkafka:consistent_random       6      14
<empty>    java                               9       9
<empty>    librdkafka:consistent_random  random  random
<null>     java                          sticky  sticky
<null>     librdkafka:consistent_random  random  random

at 16: murmur2 has the same placement as murmur2u
at 16: crc32u has the same placement as crc32-mask
`
	if got != want || talk != "" {
		t.Errorf("got\n%s%s\nwant\n%s", got, talk, want)
	}
}

func TestLocateTextNotes(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string
		want []string // lines of the output
	}{
		{"refused key", []string{"-n", "12", "--partitioner", "maxwell:murmur3", "--hex", "ff"}, []string{
			"0xff  maxwell:murmur3     -",
			"- 0xff: partitioner maxwell:murmur3 has no partition for this key: not valid UTF-8, and the client",
		}},
		// FNV-1a of aflcgier is 0x80000000; -2^31 % 10 = -8
		{"outside", []string{"-n", "10,16", "--partitioner", "sarama@1.9", "aflcgier"}, []string{
			"aflcgier  sarama@1.9:hash     -     0",
			"- aflcgier: partitioner sarama@1.9:hash answers -8 for this key at 10 partitions: the client itself",
			"at 10, 16: fnv1a_absfirst_broken has the same placement as fnv1a_abs",
		}},
		{"one partition", []string{"-n", "1", "k"}, []string{"at 1: every partitioner places alike"}},
		{"ascii", []string{"-n", "12", "--partitioner", "crc32_abs", "k"}, []string{"at 12 for ASCII keys: crc32_abs has the same placement as no-kafka-crc32-utf16"}},
		{"keys ignored", []string{"-n", "12", "--partitioner", "kafka-go", "k", ""}, []string{
			"k        kafka-go:round_robin  round robin",
			"<empty>  kafka-go:round_robin  round robin",
		}},
		{"base64", []string{"-n", "12", "--base64", "MTAwOjQ4MDY5"}, []string{"100:48069  java            9"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _ := runInProcess(t, exitOK, "", append([]string{"locate"}, c.args...)...)
			lines := strings.Split(got, "\n")
			for _, want := range c.want {
				if !slices.Contains(lines, want) {
					t.Errorf("no line %q in\n%s", want, got)
				}
			}
			for _, line := range lines {
				if n := len([]rune(line)); n > textColumns {
					t.Errorf("line of %d columns, want at most %d: %s", n, textColumns, line)
				}
			}
		})
	}
	got, _ := runInProcess(t, exitOK, "", "locate", "-n", "12", "--partitioner", "crc32_abs", "é")
	if strings.Contains(got, "same placement") {
		t.Errorf("a key that is not ASCII tells crc32_abs apart, yet:\n%s", got)
	}
}

func TestLocateAll(t *testing.T) {
	got, _ := runInProcess(t, exitOK, "", "locate", "-n", "12", "--partitioner", "all", "k", "-o", "ndjson")
	seen := make(map[string]bool)
	for line := range strings.Lines(got) {
		var l locatedLine
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		seen[l.Partitioner] = true
		if l.Partition == nil || *l.Partition < 0 || *l.Partition >= 12 {
			t.Errorf("%q: want a partition", line)
		}
	}
	for _, id := range []string{"murmur2", "murmur2u", "fnv1a_abs", "crc32u", "java_string:mask", "dbz_mm3"} {
		if !seen[id] {
			t.Errorf("%s is missing of %d classes", id, len(seen))
		}
	}
}

func TestLocateKeysFile(t *testing.T) {
	const keys = `{"i":7,"hex":"616263","name":"abc of the vectors"}
{"base64":"YWJj"}

{"key":"abc"}
{"key":""}
{"key":null}
{"hex":null}
{"hex":"80"}
`
	// murmur2(abc) = 479470107, % 12 = 3; murmur2(80) = 857690492, % 12 = 8; both of more-hashes.tsv.
	want := `{"key_hex":"616263","partitioner":"java","partitions":12,"partition":3}
{"key_hex":"616263","partitioner":"java","partitions":12,"partition":3}
{"key_hex":"616263","partitioner":"java","partitions":12,"partition":3}
{"key_hex":"","partitioner":"java","partitions":12,"partition":9}
{"key_hex":null,"partitioner":"java","partitions":12,"unkeyed":true}
{"key_hex":null,"partitioner":"java","partitions":12,"unkeyed":true}
{"key_hex":"80","partitioner":"java","partitions":12,"partition":8}
`
	name := filepath.Join(t.TempDir(), "keys.ndjson")
	if err := os.WriteFile(name, []byte(keys), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ file, stdin string }{{name, ""}, {"-", keys}, {"-", strings.TrimSuffix(keys, "\n")}} {
		got, talk := runInProcess(t, exitOK, c.stdin, "locate", "--keys", c.file, "-n", "12", "-o", "ndjson")
		if got != want || talk != "" {
			t.Errorf("--keys %s: got\n%s%s\nwant\n%s", c.file, got, talk, want)
		}
	}
}

// Lines without a key are told with their number, the others are answered, and the exit code is not 0.
func TestLocateKeysFileErrors(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{`abc`, `no JSON object such as {"key":"order-101"} or {"hex":"00ff"}`},
		{`null`, `no JSON object such as {"key":"order-101"} or {"hex":"00ff"}`},
		{`{"name":"abc"}`, `no "key", "hex" or "base64"`},
		{`{"key":"a","hex":"61"}`, `both "key" and "hex": give one`},
		{`{"key":12}`, `"key" is 12, want a string or null`},
		{`{"hex":"6"}`, `"hex": encoding/hex: odd length hex string`},
		{`{"base64":"!"}`, `"base64": illegal base64 data at input byte 0`},
		{`{"key":"\ud800"}`, `"key": half a surrogate pair, which UTF-8 cannot hold`},
		{"{\"key\":\"\xff\"}", `not UTF-8: write the key as "hex" or "base64"`},
	} {
		got, talk := runInProcess(t, exitFailed, "{\"key\":\"abc\"}\n"+c.line+"\n{\"key\":\"\\ufffd\"}\n", "locate", "--keys", "-", "-n", "12", "-o", "ndjson")
		if want := "keyspread: error: standard input:2: " + c.want + "\n"; !strings.HasPrefix(talk, want) {
			t.Errorf("%s: got stderr %q, want %q", c.line, talk, want)
		}
		if want := "standard input: 1 of 3 lines hold no key and were passed over"; !strings.Contains(talk, want) {
			t.Errorf("%s: got stderr %q, want %q", c.line, talk, want)
		}
		if n := strings.Count(got, "\n"); n != 2 || !strings.Contains(got, `"efbfbd"`) {
			t.Errorf("%s: got %d lines, want 2:\n%s", c.line, n, got)
		}
	}
}

func TestLocateRefusals(t *testing.T) {
	got, _ := runInProcess(t, exitOK, "", "locate", "-n", "10,16", "--partitioner", "sarama@1.9,node-sinek", "-o", "ndjson", "aflcgier", "--null")
	for _, want := range []string{
		`{"key_hex":"61666c6367696572","partitioner":"sarama@1.9:hash","partitions":10,"error":"partitioner sarama@1.9:hash answers -8 `,
		`{"key_hex":"61666c6367696572","partitioner":"sarama@1.9:hash","partitions":16,"partition":0}`,
		`{"key_hex":null,"partitioner":"node-sinek:murmur3","partitions":16,"error":"partitioner node-sinek:murmur3 has no partition for this key: null key: the key must be a string"}`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

func TestLocateUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"k"}, "no partition count named: give -n COUNT"},
		{[]string{"-n", "0", "k"}, `-n: "0" is not a partition count between 1 and 100000`},
		{[]string{"-n", "12,x", "k"}, `-n: "x" is not a partition count`},
		{[]string{"-n", "12"}, "no key named: give keys as arguments, --null or --keys FILE"},
		{[]string{"-n", "12", "--partitioner", "librdkafak", "k"}, `did you mean "librdkafka"`},
		{[]string{"-n", "12", "--partitioner", "", "k"}, "no partitioner named"},
		{[]string{"-n", "12", "--hex", "xyz"}, `key "xyz": encoding/hex: invalid byte`},
		{[]string{"-n", "12", "--hex", "--base64", "00"}, "--hex and --base64 exclude each other"},
		{[]string{"-n", "12", "-o", "yaml", "k"}, "want text, ndjson"},
	} {
		got, talk := runInProcess(t, exitUsage, "", append([]string{"locate"}, c.args...)...)
		if got != "" || !strings.Contains(talk, c.want) {
			t.Errorf("locate %q: got stdout %q, stderr %q, want %q", c.args, got, talk, c.want)
		}
	}
	_, talk := runInProcess(t, exitFailed, "", "locate", "-n", "12", "--keys", filepath.Join(t.TempDir(), "missing"))
	if !strings.Contains(talk, "missing: no such file") {
		t.Errorf("got stderr %q", talk)
	}
}

func TestKeyText(t *testing.T) {
	for _, c := range []struct{ key, want string }{
		{"order-101", "order-101"},
		{"", "<empty>"},
		{"<null>", `"<null>"`},
		{"0x00", `"0x00"`},
		{" a", `" a"`},
		{"a\u200bb", `"a\u200bb"`},
		{"日本語", "日本語"},
		{"a\x00", "0x6100"},
		{"\xff", "0xff"},
		{strings.Repeat("é", 41), strings.Repeat("é", 40) + "…(82 bytes)"},
	} {
		if got := keyText([]byte(c.key)); got != c.want {
			t.Errorf("keyText(%q) = %s, want %s", c.key, got, c.want)
		}
	}
	if got := keyText(nil); got != "<null>" {
		t.Errorf("keyText(nil) = %s", got)
	}
}
