package dump

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"keyspread/analyze/source"
	"keyspread/partitioner"
)

func parse(t testing.TB, name string) partitioner.Partitioner {
	t.Helper()
	p, err := partitioner.Parse(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// seen is a record as a test compares it.
type seen struct {
	partition    int32
	offset       int64
	key          string
	null         bool
	time         int64
	value, heads int32
}

// readAll reads text through a reader that returns at most step bytes at once.
func readAll(t testing.TB, format Format, n int32, name, text string, step int) ([]seen, []source.Coverage, error) {
	t.Helper()
	s, err := New(Config{
		Name: "keys", Format: format, NumPartitions: n, Partitioner: parse(t, name), Size: int64(len(text)),
		Open: func() (io.ReadCloser, error) {
			return io.NopCloser(&slow{strings.NewReader(text), step}), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := s.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []seen
	coverage, err := s.Read(t.Context(), plan, source.SinkFunc(func(b *source.Batch) error {
		for i, r := range b.Records {
			for j := range b.Count(i) {
				got = append(got, seen{b.Partition, r.Offset + j, string(r.Key), r.Key == nil, r.Timestamp, r.ValueSize, r.HeaderSize})
			}
		}
		return nil
	}))
	return got, coverage, err
}

type slow struct {
	r    io.Reader
	step int
}

func (s *slow) Read(p []byte) (int, error) { return s.r.Read(p[:min(len(p), s.step)]) }

func TestLines(t *testing.T) {
	// kafka 4 and foobar 6 at 12 partitions by murmur2 (partitioners.md 1.6); the empty key 275646681 % 12 = 9.
	got, coverage, err := readAll(t, Lines, 12, "java", "kafka\nfoobar\r\n\nkafka", 3)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(got, func(a, b seen) int { return int(a.partition-b.partition)*1000 + int(a.offset-b.offset) })
	want := []seen{
		{4, 0, "kafka", false, -1, 0, 0}, {4, 1, "kafka", false, -1, 0, 0}, {6, 0, "foobar", false, -1, 0, 0}, {9, 0, "", false, -1, 0, 0},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, c := range coverage {
		if !c.Complete() {
			t.Errorf("partition %d is not complete: %+v", c.Partition, c)
		}
	}
}

func TestNDJSON(t *testing.T) {
	text := `{"key":""}
{"key":"kafka","timestamp":17,"value_size":200,"header_size":3,"other":[1]}
{"key":null,"hex":"00ff","partition":2,"base64":null}

{"base64":"Zm9vYmFy","value_size":-1}
{"key":null,"partition":1,"hex":null}
{"key":"","hex":null}
`
	got, _, err := readAll(t, NDJSON, 12, "java", text, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(got, func(a, b seen) int { return int(a.partition-b.partition)*1000 + int(a.offset-b.offset) })
	want := []seen{
		{1, 0, "", true, -1, 0, 0},
		{2, 0, "\x00\xff", false, -1, 0, 0},
		{4, 0, "kafka", false, 17, 200, 3},
		{6, 0, "foobar", false, -1, -1, 0},
		{9, 0, "", false, -1, 0, 0}, // the first line: nothing came before it
		{9, 1, "", false, -1, 0, 0},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A bad line ends the reading, is named, and loses nothing that came before.
func TestBadLines(t *testing.T) {
	for _, tc := range []struct{ line, want string }{
		{`{"key":7}`, "neither a string nor null"},
		{`{"partition":1}`, "no key"},
		{`[1]`, "not a JSON object"},
		{`{"hex":"0"}`, `"hex" is not hexadecimal`},
		{`{"base64":"kafka"}`, `"base64" is not base64`},
		{`{"key":"a","partition":"0"}`, `"partition" is no whole number`},
		{`{"key":"a" "b"}`, "broken at byte 12"},
		{"{\"key\":\"a\xff\"}", `write it as "hex" or "base64"`},
		{`{"key":"\ud83d"}`, "not UTF-8"},
		{`{"key":"\ud83dx"}`, "not UTF-8"},
		{`{"key":"\ude00\ud83d"}`, "not UTF-8"},
		{`{"key":"\\ufffd\ud83d\ufffd"}`, "not UTF-8"},
		{`{"hex":"00","base64":"AA=="}`, "want one of them"},
		{`{"key":"a","hex":"61"}`, "want one of them"},
		{`{"key":"a","partition":12}`, "partition 12 of a topic of 12"},
		{`{"key":"a","partition":-1}`, "negative"},
		{`{"key":"a","value_size":4294967296}`, "value_size 4294967296"},
		{`{"key":"a","value_size":-2}`, "value_size -2"},
		{`{"key":"","header_size":-1}`, "header_size -1"},
	} {
		got, _, err := readAll(t, NDJSON, 12, "java", "{\"key\":\"kafka\"}\n"+tc.line+"\n{\"key\":\"x\"}\n", 1<<20)
		var line *LineError
		if !errors.As(err, &line) || line.Line != 2 || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want one of line 2 that says %q", tc.line, err, tc.want)
		}
		if len(got) != 1 || got[0].key != "kafka" {
			t.Errorf("%s: got %v, want the record before it", tc.line, got)
		}
	}
}

// Text that looks like what must be refused, and is none.
func TestNDJSONText(t *testing.T) {
	text := `{"key":"\ud83d\ude00"}
{"key":"\ufffd�"}
{"key":"\\ud83d\\"}
{"key":"a","other":"` + "\xff" + `\ud83d"}
{"key":"\u00e9\n\""}
`
	got, _, err := readAll(t, NDJSON, 1, "java", text, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"😀", "\ufffd\ufffd", `\ud83d\`, "a", "é\n\""} {
		if i >= len(got) || got[i].key != want {
			t.Errorf("line %d is not read as %q: %v", i+1, want, got)
		}
	}
}

// A byte order mark and blanks before the first record are not part of it, however little is read at once.
func TestStart(t *testing.T) {
	for _, tc := range []struct {
		text string
		want Format
		keys []string
	}{
		{"", Lines, nil},
		{"\ufeff", Lines, nil},
		{"\ufeffa\n\ufeffb\n", Lines, []string{"a", "\ufeffb"}},
		{"\ufeff\ufeff" + strings.Repeat("L", 2*chunkSize), Lines, []string{"\ufeff" + strings.Repeat("L", 2*chunkSize)}},
		{" a\n", Lines, []string{" a"}},
		{"\xef\xbba", Lines, []string{"\xef\xbba"}},
		{"\ufeff{\"key\":\"a\"}", NDJSON, []string{"a"}},
		{" \t{\"key\":\"a\"}\n \n{\"key\":\"b\"}", NDJSON, []string{"a", "b"}},
		{"\ufeff\r\n\n {\"key\":\"a\"}\n", NDJSON, []string{"a"}},
		{strings.Repeat(" ", 5000), Lines, []string{strings.Repeat(" ", 5000)}},
	} {
		for _, step := range []int{1, 1 << 20} {
			format, err := Detect(bufio.NewReader(&slow{strings.NewReader(tc.text), step}))
			if err != nil || format != tc.want {
				t.Errorf("%.20q: format %v, error %v, want %v", tc.text, format, err, tc.want)
			}
			got, _, err := readAll(t, tc.want, 1, "java", tc.text, step)
			var keys []string
			for _, r := range got {
				keys = append(keys, r.key)
			}
			slices.Sort(keys)
			if err != nil || !slices.Equal(keys, tc.keys) {
				t.Errorf("%.20q: keys %.20q, error %v, want %.20q", tc.text, keys, err, tc.keys)
			}
		}
	}
	if _, err := Detect(bufio.NewReader(iotest.ErrReader(io.ErrClosedPipe))); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a file that cannot be read: %v", err)
	}
}

// What is asked of a file of unknown size can be summed up, as memory is shared out by it.
func TestPlanOfUnknownSize(t *testing.T) {
	for _, n := range []int32{1, 5, 12, 1000} {
		s, err := New(Config{Name: "keys", NumPartitions: n, Partitioner: parse(t, "java"), Open: func() (io.ReadCloser, error) { return nil, io.EOF }})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := s.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var sum int64
		for _, span := range plan.Spans {
			if sum += span.End - span.Start; span.End <= 1<<40 || sum < 0 {
				t.Fatalf("%d partitions: span %+v, %d in sum", n, span, sum)
			}
		}
	}
}

// Lines longer than a chunk, and chunks that end anywhere in a line, change nothing.
func TestChunks(t *testing.T) {
	var text strings.Builder
	var want []string
	for i := range 300 {
		key := strings.Repeat(fmt.Sprint(i), 1+i*i/3)
		want = append(want, key)
		text.WriteString(key + "\n")
	}
	long := strings.Repeat("z", 3*chunkSize+17)
	want = append(want, long)
	text.WriteString(long)
	got, _, err := readAll(t, Lines, 1, "java", text.String(), 65_537)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for i, r := range got {
		if r.offset != int64(i) {
			t.Fatalf("record %d has offset %d", i, r.offset)
		}
		keys = append(keys, r.key)
	}
	slices.Sort(keys)
	slices.Sort(want)
	if !slices.Equal(keys, want) {
		t.Errorf("got %d keys, want those of the %d lines", len(keys), len(want))
	}
}

// Keys the partitioner spreads go round the partitions, the same way each time.
func TestUnkeyed(t *testing.T) {
	text := strings.Repeat("{\"key\":null}\n", 6)
	got, _, err := readAll(t, NDJSON, 3, "java", text, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	count := map[int32]int{}
	for _, r := range got {
		count[r.partition]++
	}
	for p := range int32(3) {
		if count[p] != 2 {
			t.Errorf("partition %d got %d of 6 null keys, want 2", p, count[p])
		}
	}
}

// FuzzNDJSON: no input panics; every record delivered is in range and in order.
func FuzzNDJSON(f *testing.F) {
	f.Add([]byte("{\"key\":\"a\"}\n{\"hex\":\"00\",\"partition\":2}\n"))
	f.Add([]byte("{\"base64\":\"!\"}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := New(Config{
			Name: "fuzz", Format: NDJSON, NumPartitions: 3, Partitioner: parse(t, "java"),
			Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		plan, _ := s.Plan(t.Context())
		next := map[int32]int64{}
		_, _ = s.Read(t.Context(), plan, source.SinkFunc(func(b *source.Batch) error {
			for _, r := range b.Records {
				if b.Partition < 0 || b.Partition > 2 || r.Offset != next[b.Partition] {
					t.Fatalf("partition %d offset %d, want offset %d", b.Partition, r.Offset, next[b.Partition])
				}
				next[b.Partition]++
			}
			return nil
		}))
	})
}

// BenchmarkLines reads 12-byte keys into 12 partitions with a sink that does nothing: what reading alone costs.
func BenchmarkLines(b *testing.B) {
	var text bytes.Buffer
	for i := range 1_000_000 {
		fmt.Fprintf(&text, "key-%08d\n", i)
	}
	s, err := New(Config{
		Name: "bench", NumPartitions: 12, Partitioner: parse(b, "java"),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text.Bytes())), nil },
	})
	if err != nil {
		b.Fatal(err)
	}
	plan, err := s.Plan(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Read(b.Context(), plan, source.SinkFunc(func(*source.Batch) error { return nil })); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1e6, "ns/record")
}

// What came before the reading ended in trouble was delivered, whole lines only.
func TestTrouble(t *testing.T) {
	s, err := New(Config{
		Name: "keys", NumPartitions: 1, Partitioner: parse(t, "java"),
		Open: func() (io.ReadCloser, error) {
			return io.NopCloser(io.MultiReader(strings.NewReader("a\nb\nhal"), iotest.ErrReader(io.ErrClosedPipe))), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := s.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	coverage, err := s.Read(t.Context(), plan, source.SinkFunc(func(b *source.Batch) error {
		for _, r := range b.Records {
			got = append(got, string(r.Key))
		}
		return nil
	}))
	slices.Sort(got)
	if !errors.Is(err, io.ErrClosedPipe) || !strings.Contains(err.Error(), "after line 2") {
		t.Errorf("error %v, want the reader's after line 2", err)
	}
	if !slices.Equal(got, []string{"a", "b"}) || coverage[0].Read != 2 {
		t.Errorf("got %q, coverage %+v; want the two whole lines", got, coverage)
	}
}

// A sink that refuses a batch ends the read, is not called again, and what it did not take is not counted as read.
func TestSinkRefuses(t *testing.T) {
	for _, format := range []Format{Lines, NDJSON} {
		for at := range 4 { // batches that are taken before
			line := map[Format]string{Lines: "%d\n", NDJSON: "{\"key\":\"%d\"}\n"}[format]
			var text strings.Builder
			for i := range 8 * batchRecords {
				fmt.Fprintf(&text, line, i)
			}
			s, err := New(Config{
				Name: "keys", Format: format, NumPartitions: 1, Partitioner: parse(t, "java"),
				Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text.String())), nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			plan, err := s.Plan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			calls, taken := 0, int64(0)
			coverage, err := s.Read(t.Context(), plan, source.SinkFunc(func(b *source.Batch) error {
				if calls++; calls > at {
					return io.ErrShortWrite
				}
				taken = b.Next
				return nil
			}))
			if !errors.Is(err, io.ErrShortWrite) || calls != at+1 {
				t.Errorf("%s: error %v after %d calls, want the sink's after %d", formatNames[format], err, calls, at+1)
			}
			if c := coverage[0]; c.Read != taken || c.Complete() {
				t.Errorf("%s: coverage %+v, want %d records read and more asked for", formatNames[format], c, taken)
			}
		}
	}
}

// An interrupt loses no line that was read, tallied or not.
func TestInterrupt(t *testing.T) {
	for _, format := range []Format{Lines, NDJSON} {
		line := map[Format]string{Lines: "key\n", NDJSON: "{\"key\":\"key\"}\n"}[format]
		ctx, stop := context.WithCancel(t.Context())
		in := &interrupting{line: line, left: 5, stop: stop}
		s, err := New(Config{
			Name: "keys", Format: format, NumPartitions: 3, Partitioner: parse(t, "java"),
			Open: func() (io.ReadCloser, error) { return io.NopCloser(in), nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := s.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var records int64
		coverage, err := s.Read(ctx, plan, source.SinkFunc(func(b *source.Batch) error {
			for i := range b.Records {
				records += b.Count(i)
			}
			return nil
		}))
		if want := int64(in.read / len(line)); !errors.Is(err, context.Canceled) || records != want || want == 0 {
			t.Errorf("%s: %d records, error %v; want the %d lines that were read", formatNames[format], records, err, want)
		}
		for _, c := range coverage {
			if c.Complete() {
				t.Errorf("%s: an interrupted read is said to be complete: %+v", formatNames[format], c)
			}
		}
	}
}

// interrupting repeats a line without end and calls stop after so many reads.
type interrupting struct {
	line string
	left int
	stop func()
	read int
}

func (r *interrupting) Read(p []byte) (int, error) {
	if r.left--; r.left == 0 {
		r.stop()
	}
	for i := range p {
		p[i] = r.line[(r.read+i)%len(r.line)]
	}
	r.read += len(p)
	return len(p), nil
}
