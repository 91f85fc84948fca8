package custom

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"keyspread/partitioner"
)

// writeTable returns the name of a table:FILE of so much text.
func writeTable(tb testing.TB, text string) string {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "table")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return "table:" + file
}

func TestTableFormats(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		key        []byte
		n          int32
		want       int32
	}{
		{"csv", "key,partition\ncustomer-7,3\n", []byte("customer-7"), 12, 3},
		{"csv, other key", "key,partition\ncustomer-7,3\n", []byte("customer-8"), 12, -1},
		{"csv without a row for null", "key,partition\ncustomer-7,3\n", nil, 12, -1},
		{"csv, columns in another order", "partition, key\r\n3,customer-7\r\n", []byte("customer-7"), 12, 3},
		{"csv, quoted", "key,partition\n\"a,\"\"b\",3\n", []byte(`a,"b`), 12, 3},
		{"csv, empty key", "key,partition\n,3\n", []byte{}, 12, 3},
		{"csv, byte order mark", "\xef\xbb\xbfkey,partition\na,3\n", []byte("a"), 12, 3},
		{"csv, hex", "hex,partition\n00fF,3\n", []byte{0, 0xff}, 12, 3},
		{"csv, base64", "base64,partition\nAP8=,3\n", []byte{0, 0xff}, 12, 3}, // base64(00 ff)
		{"csv, its count", "key,partitions,partition\na,12,3\n", []byte("a"), 12, 3},
		{"csv, other count", "key,partitions,partition\na,12,3\n", []byte("a"), 24, -1},
		{"csv, its count before every count", "key,partitions,partition\na,,1\na,12,3\n", []byte("a"), 12, 3},
		{"csv, every count", "key,partitions,partition\na,12,3\na,,1\n", []byte("a"), 24, 1},
		{"json", `{"key":"customer-7","partition":3}`, []byte("customer-7"), 12, 3},
		{"json, blank lines", "\n \n{\"key\":\"a\",\"partition\":3}\r\n\n", []byte("a"), 12, 3},
		{"json, null key", `{"key":null,"partition":3}`, nil, 12, 3},
		{"json, null key as hex", `{"hex":null,"partition":3}`, nil, 12, 3},
		{"json, empty key", `{"key":"","partition":3}`, []byte{}, 12, 3},
		{"json, empty key is not null", `{"key":"","partition":3}`, nil, 12, -1},
		{"json, hex", `{"hex":"00ff","partitions":12,"partition":11}`, []byte{0, 0xff}, 12, 11},
		{"json, base64", `{"base64":"AP8=","partition":3}`, []byte{0, 0xff}, 12, 3},
		{"json, surrogate pair", `{"key":"\ud83d\ude00","partition":3}`, []byte("😀"), 12, 3},
		{"json, replacement character", `{"key":"\uFFFD","partition":3}`, []byte("\ufffd"), 12, 3},
	}
	for _, test := range tests {
		table, err := parseTable("t", strings.NewReader(test.text))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		got := int32(-1)
		if p := table.find(test.key); p != nil {
			got = p.of(test.n)
		}
		if got != test.want {
			t.Errorf("%s: key %s at %d partitions: got %d, want %d", test.name, quoteKey(test.key), test.n, got, test.want)
		}
	}
}

func TestTableRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"nothing", "", "reading t: it has no rows"},
		{"blanks", " \n\n", "reading t: "},
		{"header only", "key,partition\n", "it has no rows"},
		{"no header", "customer-7,3\n", "line 1: column 1 is not known"},
		{"no partition column", "key,partitions\na,3\n", `line 1: the header does not name`},
		{"two key columns", "key,hex,partition\na,61,3\n", "line 1: the header"},
		{"column twice", "key,partition,partition\na,1,1\n", `line 1: column "partition" comes twice`},
		{"missing field", "key,partition\na,1\nb\n", "line 3: wrong number of fields"},
		{"no number", "key,partition\na,1\nb,x\n", `line 3: partition: it is no whole number`},
		{"negative", "key,partition\na,-1\n", `line 2: partition: it is no whole number from 0`},
		{"fraction", "key,partition\na,1.5\n", `it is no whole number`},
		{"too large", "key,partition\na,2147483648\n", `it is no whole number from 0 to 2147483647`},
		{"count 0", "key,partitions,partition\na,0,0\n", `line 2: partitions: it is no whole number from 1`},
		{"outside its count", "key,partitions,partition\na,12,12\n", "line 2: partition 12 is outside [0, 12)"},
		{"no hex", "hex,partition\n0g,1\n", "line 2: hex: not hexadecimal"},
		{"no base64", "base64,partition\nA,1\n", "line 2: base64: not base64"},
		{"duplicate", "key,partition\na,1\nb,1\na,1\n", `line 4: its key is already placed by line 2`},
		{"duplicate after a line break in quotes", "key,partition\n\"a\nb\",1\nc,1\nc,2\n", `line 5: its key is already placed by line 4`},
		{"duplicate at one count", "key,partitions,partition\na,12,1\na,24,1\na,12,2\n", `line 4: its key is already placed by line 2`},
		{"duplicate in two forms", "{\"key\":\"a\",\"partition\":1}\n\n{\"hex\":\"61\",\"partition\":1}", `line 3: its key is already placed by line 1`},
		{"duplicate null", "{\"key\":null,\"partition\":1}\n{\"hex\":null,\"partition\":2}", "line 2: its key is already placed by line 1"},
		{"json, damaged", "{\"key\":\"a\",\"partition\":1}\n{\"key\":", "line 2: it is no JSON object"},
		{"json, no partition", `{"key":"a"}`, "line 1: it does not have a key column"},
		{"json, no key", `{"partition":1}`, "line 1: it does not have a key column"},
		{"json, two keys", `{"key":"a","hex":"61","partition":1}`, "line 1: it does not have a key column"},
		{"json, key is a number", `{"key":7,"partition":1}`, `line 1: "key": neither a string nor null`},
		{"json, partition is text", `{"key":"a","partition":"1"}`, `line 1: "partition": it is no whole number`},
		{"json, partition is null", `{"key":"a","partition":null}`, `it is no whole number`},
		{"json, typing error", `{"key":"a","partition":1,"partitons":12}`, `line 1: it has a member that is not known`},
		{"json, not UTF-8", "{\"key\":\"\xff\",\"partition\":1}", "line 1: it is not UTF-8; write such a key as hex"},
		{"json, half a pair", `{"key":"\ud83d","partition":1}`, "half a surrogate pair"},
	}
	for _, test := range tests {
		table, err := parseTable("t", strings.NewReader(test.text))
		if err == nil || !strings.Contains(err.Error(), test.want) || table != nil {
			t.Errorf("%s: got %v, %v, want an error with %q", test.name, table, err, test.want)
		}
	}
}

const testTable = `{"key":"everywhere","partition":3}
{"key":"high","partition":20}
{"key":"now","partitions":12,"partition":11}
{"key":"both","partitions":12,"partition":1}
{"key":"both","partition":2}
{"key":"","partition":4}
{"key":null,"partitions":24,"partition":5}
`

// fallbacks are places that a table can fall back to: one that takes a key at a time, and one that takes batches.
func fallbacks(t *testing.T) map[string]partitioner.Partitioner {
	spec, opt := testExec(t, "good") // spreads null and empty keys
	return map[string]partitioner.Partitioner{"batch": open(t, spec, opt), "single": single{crcPlace}}
}

// single is a Partitioner without PlaceBatch.
type single struct {
	place func(key []byte, n int32) int32
}

func (single) ID() string { return "single" }

func (s single) Place(key []byte, counts, out []int32) (bool, error) {
	for c, n := range counts {
		p := s.place(key, n)
		if p == cellSpread {
			return false, nil
		}
		out[c] = p
	}
	return true, nil
}

// endless repeats a text for ever, or the beginning of it.
type endless string

func (e endless) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], e)
	}
	return n, nil
}

// A file without an end is refused, before it fills the memory.
func TestTableEnds(t *testing.T) {
	for name, test := range map[string]struct {
		head, rest string
		want       string
	}{
		"one line":      {"", strings.Repeat("\x00", 1000), "it has a line of more than 16 MiB"},
		"one JSON line": {"{", strings.Repeat(" ", 1000), "it has a line of more than 16 MiB"},
	} {
		_, err := parseTable("t", io.MultiReader(strings.NewReader(test.head), endless(test.rest)))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, test.want)
		}
	}
	n, err := io.Copy(io.Discard, &bounded{Reader: endless(strings.Repeat("x\n", 1000))})
	if err == nil || !strings.Contains(err.Error(), "it has more than 256 MiB") || n > maxTable+1<<20 {
		t.Errorf("endless lines: got %v after %d bytes, want an error after %d", err, n, maxTable)
	}
}

func TestTablePlaces(t *testing.T) {
	t.Parallel()
	a, now := []byte("a"), []byte("now")
	tests := []struct {
		key    []byte
		counts []int32
		want   []int32 // nil: unkeyed
		err    string
	}{
		{a, []int32{12, 24}, []int32{crcPlace(a, 12), crcPlace(a, 24)}, ""},
		{[]byte("everywhere"), []int32{12, 24}, []int32{3, 3}, ""},
		{[]byte("everywhere"), []int32{2, 4}, []int32{-1, 3}, "answers 3 for this key at 2 partitions"},
		{[]byte("high"), []int32{12, 24}, []int32{-1, 20}, "answers 20 for this key at 12 partitions"},
		{now, []int32{12, 24}, []int32{11, crcPlace(now, 24)}, ""},
		{now, []int32{24}, []int32{crcPlace(now, 24)}, ""},
		{[]byte("both"), []int32{12, 24, 7}, []int32{1, 2, 2}, ""},
		{[]byte{}, []int32{12}, []int32{4}, ""},
		{nil, []int32{24}, []int32{5}, ""},
		{nil, []int32{12}, nil, ""},
		{nil, []int32{12, 24}, []int32{-1, 5}, "no row places it at 12 partitions, and"},
	}
	for name, fallback := range fallbacks(t) {
		p := open(t, writeTable(t, testTable), Options{Fallback: fallback})
		if !strings.HasSuffix(p.ID(), "/table+"+fallback.ID()) {
			t.Errorf("%s: ID() = %q", name, p.ID())
		}
		for _, test := range tests {
			out := slices.Repeat([]int32{77}, len(test.counts))
			keyed, err := p.Place(test.key, test.counts, out)
			want := test.want
			if want == nil {
				want = slices.Repeat([]int32{77}, len(test.counts))
			}
			if keyed != (test.want != nil) || !slices.Equal(out, want) {
				t.Errorf("%s: key %s at %d: got %d, keyed %t, want %d", name, quoteKey(test.key), test.counts, out, keyed, want)
			}
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: key %s at %d: error %v, want %q", name, quoteKey(test.key), test.counts, err, test.err)
			}
		}
	}
}

// A batch answers as single keys do.
func TestTableBatch(t *testing.T) {
	t.Parallel()
	for name, fallback := range fallbacks(t) {
		p := open(t, writeTable(t, testTable), Options{Fallback: fallback})
		keys := [][]byte{[]byte("a"), nil, []byte("now"), []byte("high"), {}, []byte("b"), []byte("everywhere"), []byte("both")}
		for _, counts := range [][]int32{{12}, {24}, {2, 12, 24}} {
			m := len(counts)
			out, keyed := make([]int32, len(keys)*m), make([]bool, len(keys))
			err := p.PlaceBatch(keys, counts, out, keyed)
			failed, isBatch := errors.AsType[*BatchError](err)
			if err != nil && !isBatch {
				t.Fatalf("%s at %d: %v", name, counts, err)
			}
			firstErr := make(map[int]string)
			if failed != nil {
				for _, f := range slices.Backward(failed.Failures) {
					if out[f.Key*m+f.Count] != -1 {
						t.Errorf("%s at %d: failure %+v of a placed cell", name, counts, f)
					}
					firstErr[f.Key] = f.Err.Error()
				}
			}
			for k, key := range keys {
				want := slices.Repeat([]int32{-1}, m)
				wantKeyed, err := p.Place(key, counts, want)
				wantErr := ""
				if err != nil {
					wantErr = err.Error()
				}
				if got := out[k*m : k*m+m]; keyed[k] != wantKeyed || !slices.Equal(got, want) || firstErr[k] != wantErr {
					t.Errorf("%s at %d: key %s: got %d, keyed %t, %q, want %d, keyed %t, %q",
						name, counts, quoteKey(key), got, keyed[k], firstErr[k], want, wantKeyed, wantErr)
				}
			}
		}
	}
}

// What the fallback cannot place is the table's failure, at the counts that no row places.
func TestTableFallbackFails(t *testing.T) {
	t.Parallel()
	spec, opt := testExec(t, "fails")
	table := writeTable(t, `{"key":"bad","partitions":12,"partition":3}`)
	noKey := refusing{&partitioner.KeyError{Partitioner: "refusing", Reason: "no"}}
	for name, fallback := range map[string]partitioner.Partitioner{"batch": open(t, spec, opt), "single": noKey} {
		p := open(t, table, Options{Fallback: fallback})
		out := make([]int32, 2)
		keyed, err := p.Place([]byte("bad"), []int32{12, 24}, out)
		if _, ok := errors.AsType[*partitioner.KeyError](err); !keyed || !ok || !slices.Equal(out, []int32{3, -1}) {
			t.Errorf("%s: got %d, keyed %t, %v, want [3 -1], keyed, a KeyError", name, out, keyed, err)
		}
		if keyed, err := p.Place([]byte("bad"), []int32{12}, out[:1]); !keyed || err != nil || out[0] != 3 {
			t.Errorf("%s at 12: got %d, keyed %t, %v, want 3", name, out[0], keyed, err)
		}
	}
	broken := errors.New("broken")
	p := open(t, table, Options{Fallback: refusing{broken}})
	if _, err := p.Place([]byte("other"), []int32{12}, make([]int32, 1)); !errors.Is(err, broken) {
		t.Errorf("got %v, want the fallback's error", err)
	}
}

// refusing takes no key.
type refusing struct{ err error }

func (refusing) ID() string { return "refusing" }

func (r refusing) Place(_ []byte, _, out []int32) (bool, error) {
	for c := range out {
		out[c] = -1
	}
	return true, r.err
}

// FuzzParseTable holds, for any bytes: it does not panic, never returns a table beside an error, and every row of a
// table is one that can be written down and read back.
func FuzzParseTable(f *testing.F) {
	f.Add([]byte(testTable))
	f.Add([]byte("key,partition\ncustomer-7,3\n"))
	f.Add([]byte("hex,partitions,partition\n00ff,,3\n00ff,12,11\n"))
	f.Add([]byte("\xef\xbb\xbf partition,base64\n1,AP8=\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		table, err := parseTable("t", strings.NewReader(string(text)))
		if err != nil {
			if table != nil {
				t.Fatalf("a table beside the error %v", err)
			}
			return
		}
		var again strings.Builder
		write := func(key string, p *placements) {
			if p.always >= 0 {
				fmt.Fprintf(&again, "{\"hex\":%s,\"partition\":%d}\n", key, p.always)
			}
			for _, at := range p.at {
				fmt.Fprintf(&again, "{\"hex\":%s,\"partition\":%d,\"partitions\":%d}\n", key, at.partition, at.count)
			}
		}
		if table.null != nil {
			write("null", table.null)
		}
		for key, p := range table.rows {
			write(fmt.Sprintf("\"%x\"", key), p)
		}
		back, err := parseTable("again", strings.NewReader(again.String()))
		if err != nil {
			t.Fatalf("reading back: %v\n%s", err, again.String())
		}
		if got, want := back.keys(), table.keys(); got != want {
			t.Fatalf("read back %d keys, want %d", got, want)
		}
		for key, p := range table.rows {
			for _, n := range []int32{1, 12, 24} {
				if got, want := back.rows[key].of(n), p.of(n); got != want {
					t.Fatalf("key %q at %d partitions: read back %d, want %d", key, n, got, want)
				}
			}
		}
	})
}
