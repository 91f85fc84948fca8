package dump

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"keyspread/analyze/source"
)

// readTallied reads lines in one partition with a tally made by newTally, and calls handed with what is handed on.
func readTallied(t *testing.T, text []byte, made func() *tally, handed func(key string, count int64)) {
	t.Helper()
	s, err := New(Config{
		Name: "keys", NumPartitions: 1, Partitioner: parse(t, "java"),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	s.newTally = made
	plan, err := s.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Read(t.Context(), plan, source.SinkFunc(func(b *source.Batch) error {
		for i, r := range b.Records {
			handed(string(r.Key), b.Count(i))
		}
		return nil
	})); err != nil {
		t.Fatal(err)
	}
}

// Slots are handed on at the end of a window once as many lines wait as came before them: after windows 1, 2, 4, 8 and so on,
// and at the end.
func TestTallyHandsOn(t *testing.T) {
	const line = "key-abc\n"
	const inChunk = int64(chunkSize / len(line))
	if chunkSize%(blockLen*len(line)) != 0 {
		t.Fatalf("chunks of %d bytes hold no whole number of blocks of lines", chunkSize)
	}
	for _, tc := range []struct {
		chunks int   // in the file
		window int64 // lines
		want   []int64
	}{
		{20, 1, []int64{1, 1, 2, 4, 8, 4}}, // chunks: each is a window
		{8, 1, []int64{1, 1, 2, 4}},        // nothing is left at the end
		{3, 1, []int64{1, 1, 1}},
		{20, 3 * inChunk, []int64{3, 3, 6, 8}}, // windows of 3 chunks: after 1 and 2, 4, and what is left of 20 chunks
	} {
		var got []int64
		readTallied(t, bytes.Repeat([]byte(line), tc.chunks*int(inChunk)), func() *tally { return newTally(tc.window, 4, 4) },
			func(key string, count int64) {
				if count%inChunk != 0 || key != strings.TrimSpace(line) {
					t.Errorf("%d lines of %q are handed on", count, key)
				}
				got = append(got, count/inChunk)
			})
		if !slices.Equal(got, tc.want) {
			t.Errorf("%d chunks in windows of %d lines: handed on are %v chunks, want %v", tc.chunks, tc.window, got, tc.want)
		}
	}
}

// A key that takes a slot withstands three lines of others, and one more for every further line of its own; then the next
// other one has the slot.
func TestSlotWithstands(t *testing.T) {
	for _, tc := range []struct {
		first int64 // lines that come together when the key takes the slot
		more  int   // lines that come one by one thereafter
		most  int   // lines of another key that pass
	}{{1, 0, 3}, {10, 0, 12}, {1, 9, 12}, {5, 5, 12}, {1000, 0, credits - 1}, {1, 1000, credits - 1}} {
		l := newLevel(1, textKey)
		var own, other []byte
		for i := range 100 { // two keys that contend for one slot
			key := fmt.Append(nil, i)
			switch {
			case own == nil:
				own = key
			case other == nil && voteOf(key)>>l.shift == voteOf(own)>>l.shift:
				other = key
			}
		}
		var out lines
		take := func(key []byte, count int64) (passed int) {
			out.reset()
			l.take(lines{[][]byte{key}, []uint64{voteOf(key)}, []int64{count}}, &out)
			return len(out.keys)
		}
		if take(own, tc.first) != 0 {
			t.Fatal("a key passes a free slot")
		}
		for range tc.more {
			if take(own, 1) != 0 {
				t.Fatal("a key passes its own slot")
			}
		}
		passed := 0
		for ; passed <= credits && take(other, 1) == 1 && bytes.Equal(out.keys[0], other); passed++ {
		}
		if passed != tc.most {
			t.Errorf("%d lines and %d: another key passes %d times before it has the slot, want %d", tc.first, tc.more, passed, tc.most)
		}
		// the one that lost it is handed on with all of its lines
		if len(out.keys) != 1 || !bytes.Equal(out.keys[0], own) || out.counts[0] != tc.first+int64(tc.more) {
			t.Errorf("%d lines and %d: %q with %v lines passes when the slot is lost", tc.first, tc.more, out.keys, out.counts)
		}
		// lines that come together take as much credit
		if tc.first == 10 {
			l := newLevel(1, textKey)
			l.take(lines{[][]byte{own}, []uint64{voteOf(own)}, []int64{10}}, &out) // credit 13
			out.reset()
			l.take(lines{[][]byte{other, other}, []uint64{voteOf(other), voteOf(other)}, []int64{12, 1}}, &out)
			if len(out.keys) != 2 || !bytes.Equal(out.keys[0], other) || !bytes.Equal(out.keys[1], own) {
				t.Errorf("12 lines and one against 13: %q pass, want the other key and then the first", out.keys)
			}
		}
	}
}

// Keys too long for a slot's text are kept by the near level alone: the far one has no memory for them, whatever passes.
func TestFarLevelTakesNoLongKeys(t *testing.T) {
	var tallied *tally
	want, got := map[string]int64{}, map[string]int64{}
	var text bytes.Buffer
	for i := 0; text.Len() < 3*chunkSize; i++ {
		key := fmt.Sprintf("%0*d", textKey+i%(longestKey-textKey), i%700) // textKey bytes to all but longestKey
		want[key]++
		text.WriteString(key + "\n")
	}
	readTallied(t, text.Bytes(), func() *tally {
		tallied = newTally(1, 4, 6)
		return tallied
	}, func(key string, count int64) { got[key] += count })
	if tallied.near.long == nil {
		t.Fatal("the near level held no long key: this tests nothing")
	}
	if tallied.far.long != nil {
		t.Errorf("the far level has room for %d long keys", len(tallied.far.long))
	}
	for key, n := range want {
		if got[key] != n {
			t.Fatalf("key %q has %d lines, want %d", key, got[key], n)
		}
	}
}
