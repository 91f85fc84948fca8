package dump

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"keyspread/analyze/source"
	"keyspread/partitioner"
)

// counted is what a sink got of a file of lines.
type counted struct {
	keys    map[string]int64
	home    map[string]int32 // of each key
	handed  int64            // records, however many lines they stand for
	records int64
	bytes   int64
	err     error
}

// countLines reads lines by a tally with 2^bits slots near and as many far.
func countLines(t testing.TB, pt partitioner.Partitioner, bits int, text []byte) counted {
	t.Helper()
	s, err := New(Config{
		Name: "keys", NumPartitions: 12, Partitioner: pt,
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	s.newTally = func() *tally { return newTally(1, bits, bits) } // few lines fill many windows: each chunk is one
	plan, err := s.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := counted{keys: map[string]int64{}, home: map[string]int32{}}
	next := map[int32]int64{}
	var coverage []source.Coverage
	coverage, c.err = s.Read(t.Context(), plan, source.SinkFunc(func(b *source.Batch) error {
		c.bytes += b.WireBytes
		for i, r := range b.Records {
			if r.Offset != next[b.Partition] || r.Timestamp != -1 {
				t.Fatalf("partition %d: offset %d and time %d, want offset %d and no time", b.Partition, r.Offset, r.Timestamp, next[b.Partition])
			}
			next[b.Partition] += b.Count(i)
			key := string(r.Key)
			if was, ok := c.home[key]; ok && was != b.Partition {
				t.Fatalf("key %q is in partition %d and in %d", key, was, b.Partition)
			}
			c.home[key] = b.Partition
			c.keys[key] += b.Count(i)
			c.records += b.Count(i)
			c.handed++
		}
		if b.Next != next[b.Partition] {
			t.Fatalf("partition %d: next %d after offset %d", b.Partition, b.Next, next[b.Partition])
		}
		return nil
	}))
	for _, cov := range coverage {
		if cov.Read != next[cov.Partition] {
			t.Errorf("partition %d: coverage %d of %d records", cov.Partition, cov.Read, next[cov.Partition])
		}
	}
	return c
}

// Tallied or not, every line is counted once, under its own key and in its partition, over several windows and whatever the
// keys: many or few, longer than a slot, equal but for their last byte, and coming late.
func TestTallyCountsEveryLine(t *testing.T) {
	java := parse(t, "java")
	rng := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rng, 1.1, 1, 1<<20)
	for _, tc := range []struct {
		name   string
		chunks int
		key    func(i int) string
		most   float64 // records handed on, a line
		less   float64
	}{
		{"zipf", 21, func(int) string { return fmt.Sprintf("customer-%08d", zipf.Uint64()) }, 0.6, 0.2},
		{"one key", 6, func(int) string { return "k" }, 0.001, 0},
		{"all distinct", 21, func(i int) string { return fmt.Sprintf("customer-%08d", i) }, 1, 1},
		{"long keys", 6, func(int) string { return strings.Repeat("x", longestKey-4) + fmt.Sprint(1+zipf.Uint64()%2_000_000) }, 1, 0.2},
		{"turning", 6, func(i int) string { return fmt.Sprintf("%d-%d", i/100_000, i%7) }, 0.001, 0},
		{"distinct, then few", 21, func(i int) string { return fmt.Sprintf("customer-%08d", i%(1_000_000/(1+i/100_000*1000))) }, 0.8, 0.5},
	} {
		var text bytes.Buffer
		want := map[string]int64{}
		n := 0
		for ; text.Len() < tc.chunks*chunkSize; n++ {
			key := tc.key(n)
			want[key]++
			text.WriteString(key + "\n")
		}
		got := countLines(t, java, nearBits, text.Bytes())
		if got.err != nil || got.records != int64(n) || got.bytes != int64(text.Len()) || len(got.keys) != len(want) {
			t.Errorf("%s: error %v, %d records and %d bytes of %d keys, want %d, %d and %d", tc.name, got.err, got.records, got.bytes,
				len(got.keys), n, text.Len(), len(want))
		}
		for key, count := range want {
			if got.keys[key] != count {
				t.Errorf("%s: key %q has %d lines, want %d", tc.name, key, got.keys[key], count)
				break
			}
		}
		var out [1]int32
		for key, home := range got.home {
			if _, err := java.Place([]byte(key), []int32{12}, out[:]); err != nil || out[0] != home {
				t.Errorf("%s: key %q is in partition %d, want %d (error %v)", tc.name, key, home, out[0], err)
				break
			}
		}
		if handed := float64(got.handed) / float64(n); handed > tc.most || handed < tc.less {
			t.Errorf("%s: %.4f records handed on a line, want %v to %v", tc.name, handed, tc.less, tc.most)
		}
	}
}

// spreading spreads the key "spread", fails for keys that begin with "bad", and puts others into partition 3.
type spreading struct{ partitioner.Partitioner }

var errBad = errors.New("cannot place it")

func (spreading) Place(key []byte, _, out []int32) (bool, error) {
	out[0] = 3
	if bytes.HasPrefix(key, []byte("bad")) {
		return false, errBad
	}
	return string(key) != "spread", nil
}

// A key that does not decide goes round the partitions, however often it comes.
func TestTallySpreads(t *testing.T) {
	s, err := New(Config{
		Name: "keys", NumPartitions: 12, Partitioner: spreading{},
		Open: func() (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(strings.Repeat("spread\nkey\n", 1205))), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := s.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	coverage, err := s.Read(t.Context(), plan, source.SinkFunc(func(*source.Batch) error { return nil }))
	if err != nil {
		t.Fatal(err)
	}
	more := 0
	for _, c := range coverage {
		if c.Partition == 3 {
			c.Read -= 1205
		}
		if c.Read != 100 && c.Read != 101 {
			t.Errorf("partition %d has %d records of the key, want a twelfth of 1205", c.Partition, c.Read)
		}
		more += int(c.Read - 100)
	}
	if more != 5 {
		t.Errorf("%d records of the key, want 1205", 1200+more)
	}
}

// Lines that cannot be placed are named, those that were placed together and no more, and all before them count: a heavy key
// too, of which a tally would hold most lines.
func TestUnplacedLines(t *testing.T) {
	for format, line := range map[Format]string{Lines: "%s\n", NDJSON: "{\"key\":\"%s\"}\n"} {
		for _, at := range []int64{1, 2, blockLen, mostTogether, 3*mostTogether + 1, 5 * mostTogether} {
			var text strings.Builder
			for i := range 5 * mostTogether {
				key := "heavy"
				switch {
				case int64(i+1) == at:
					key = "bad"
				case i%3 == 0:
					key = fmt.Sprint(i)
				}
				fmt.Fprintf(&text, line, key)
			}
			s, err := New(Config{
				Name: "keys", Format: format, NumPartitions: 12, Partitioner: batching{asked: new(int)},
				Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text.String())), nil },
			})
			if err != nil {
				t.Fatal(err)
			}
			plan, err := s.Plan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var records int64
			_, err = s.Read(t.Context(), plan, source.SinkFunc(func(b *source.Batch) error {
				for i := range b.Records {
					records += b.Count(i)
				}
				return nil
			}))
			var from, to int64
			if !errors.Is(err, errBad) {
				t.Fatalf("%s, line %d is bad: error %v, want %v", formatNames[format], at, err, errBad)
			}
			if _, err := fmt.Sscanf(err.Error(), "keys: placing the keys of lines %d to %d:", &from, &to); err != nil {
				t.Fatalf("%s, line %d is bad: error %q names no lines", formatNames[format], at, err)
			}
			if at < from || at > to || to-from >= mostTogether {
				t.Errorf("%s, line %d is bad: lines %d to %d are named", formatNames[format], at, from, to)
			}
			if records != from-1 {
				t.Errorf("%s, lines %d to %d failed: %d lines count, want those before", formatNames[format], from, to, records)
			}
		}
	}
}

// batching places many keys at once and counts how often it is asked.
type batching struct {
	spreading
	asked *int
}

func (batching) Place([]byte, []int32, []int32) (bool, error) { panic("asked for one key") }

func (b batching) PlaceBatch(keys [][]byte, counts, out []int32, keyed []bool) error {
	*b.asked++
	return partitioner.PlaceAll(b.spreading, keys, counts, out, keyed)
}

// A partitioner that can place many keys at once is asked for many.
func TestAskedForManyKeys(t *testing.T) {
	const lines = 20 * mostTogether
	for format, line := range map[Format]string{Lines: "%d\n", NDJSON: "{\"key\":\"%d\"}\n"} {
		var text strings.Builder
		for i := range lines {
			fmt.Fprintf(&text, line, i)
		}
		asked := 0
		s, err := New(Config{
			Name: "keys", Format: format, NumPartitions: 12, Partitioner: batching{asked: &asked},
			Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text.String())), nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		plan, err := s.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		coverage, err := s.Read(t.Context(), plan, source.SinkFunc(func(*source.Batch) error { return nil }))
		if err != nil || coverage[3].Read != lines {
			t.Errorf("%s: %d lines in partition 3, error %v; want all %d", formatNames[format], coverage[3].Read, err, lines)
		}
		if chunks := text.Len()/chunkSize + 1; asked > lines/mostTogether+chunks {
			t.Errorf("%s: asked %d times for %d keys in %d chunks", formatNames[format], asked, lines, chunks)
		}
	}
}

// After a window of keys that hardly come again the next ones are spared the look at their slots: what comes often then is
// handed on line by line too, for as long as the rest lasts and no longer.
func TestTallyRests(t *testing.T) {
	const lineLen = len("key-000000\n")
	var text strings.Builder
	keys := 0
	for ; text.Len() < 2*chunkSize; keys++ { // the first chunk is judged, the second one begins the rest
		fmt.Fprintf(&text, "key-%06d\n", keys)
	}
	text.WriteString(strings.Repeat("key-again-\n", 2*restWindows*chunkSize/lineLen))
	got := countLines(t, parse(t, "java"), 4, []byte(text.String()))
	if got.err != nil || len(got.keys) != keys+1 {
		t.Fatalf("%d keys, error %v; want %d", len(got.keys), got.err, keys+1)
	}
	chunks := float64(got.handed-int64(keys)) / float64(chunkSize/lineLen)
	if chunks < restWindows-1.1 || chunks > restWindows-0.9 {
		t.Errorf("%.2f chunks were handed on line by line, want %d", chunks, restWindows-1)
	}
}

// Slots are handed on by lines, however large chunks have become for a long one, so that none counts without end.
func TestTallyWindowsEnd(t *testing.T) {
	text := strings.Repeat("x", 12*chunkSize) + strings.Repeat("\n", 100*chunkSize)
	s, err := New(Config{
		Name: "keys", NumPartitions: 1, Partitioner: parse(t, "java"),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := s.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var records int64
	_, err = s.Read(t.Context(), plan, source.SinkFunc(func(b *source.Batch) error {
		for i := range b.Records {
			records += b.Count(i)
			if most := int64(mostWaiting + windowLines + 16*chunkSize); b.Count(i) > most {
				t.Errorf("%d lines were handed on at once, want at most %d", b.Count(i), most)
			}
		}
		return nil
	}))
	if err != nil || records != 100*chunkSize {
		t.Errorf("%d records, error %v; want %d", records, err, 100*chunkSize)
	}
}
