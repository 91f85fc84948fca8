package custom

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

// The bytes of a request are those of doc.go, counted out by hand.
func TestAppendRequest(t *testing.T) {
	t.Parallel()
	got := appendRequest([]byte("before"), 7, [][]byte{nil, {}, []byte("k1")}, []int32{12, 256})
	want := "before" +
		"\x00\x00\x00\x23" + "Q" + "\x00\x00\x00\x07" +
		"\x00\x00\x00\x02" + "\x00\x00\x00\x0c" + "\x00\x00\x01\x00" +
		"\x00\x00\x00\x03" + "\xff\xff\xff\xff" + "\x00\x00\x00\x00" + "\x00\x00\x00\x02k1"
	if string(got) != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestRequestLen(t *testing.T) {
	t.Parallel()
	key := func(size int) []byte { return make([]byte, size) }
	tests := []struct {
		name   string
		keys   [][]byte
		counts int
		want   int
	}{
		{"one", [][]byte{nil}, 1, 1},
		{"as many as there are", slices.Repeat([][]byte{key(10)}, 50), 3, 50},
		{"most keys", slices.Repeat([][]byte{key(10)}, 5000), 3, 1024},
		{"most cells", slices.Repeat([][]byte{key(10)}, 5000), 1000, 65},      // 64 Ki / 1000
		{"more counts than cells", slices.Repeat([][]byte{nil}, 5), 70000, 1}, // one key always goes
		{"most bytes", slices.Repeat([][]byte{key(64 << 10)}, 9), 1, 4},       // 4 × 64 KiB are 256 KiB
		{"a large key goes alone", [][]byte{key(1 << 20), key(1)}, 1, 1},
	}
	for _, test := range tests {
		if got := requestLen(test.keys, make([]int32, test.counts)); got != test.want {
			t.Errorf("%s: got %d keys, want %d", test.name, got, test.want)
		}
	}
}

// What is wrong within an answer of the right kind, id and size; the rest is in TestChildGoesWrong.
func TestParseAnswerRefuses(t *testing.T) {
	t.Parallel()
	keys, counts := [][]byte{[]byte("a"), []byte("b")}, []int32{12}
	const cells = "A" + "\x00\x00\x00\x05" + "\x00\x00\x00\x02" + "\x00\x00\x00\x01" + "\xff\xff\xff\xfe" // 1, failed
	tests := []struct {
		name, payload, want string
	}{
		{"nothing", "", "instead of an answer"},
		{"no cells", cells[:9], "fewer than its 2 cells take"},
		{"no number of failures", cells, "fewer than its 2 cells take"},
		{"no reason", cells + "\x00\x00\x00\x00", "it gave 0 reasons for 1 failed cells"},
		{"too many reasons", cells + "\x00\x00\x00\x02", "it gave 2 reasons for 1 failed cells"},
		{"end within a reason's head", cells + "\x00\x00\x00\x01" + "\x00\x00\x00\x01", "its answer ends within a failure"},
		{"end within a reason", cells + "\x00\x00\x00\x01" + "\x00\x00\x00\x01" + "\x00\x00\x00\x03no", "a reason of 3 bytes"},
		{"a reason of negative size", cells + "\x00\x00\x00\x01" + "\x00\x00\x00\x01" + "\xff\xff\xff\xff", "a reason of -1 bytes"},
		{"a long reason", cells + "\x00\x00\x00\x01" + "\x00\x00\x00\x01" + "\x00\x00\x04\x01" + strings.Repeat("x", 1025), "a reason of 1025 bytes"},
		{"a reason for a good cell", cells + "\x00\x00\x00\x01" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00", "a reason for cell 0"},
		{"a reason for no cell", cells + "\x00\x00\x00\x01" + "\x00\x00\x00\x02" + "\x00\x00\x00\x00", "a reason for cell 2"},
		{"bytes at the end", cells + "\x00\x00\x00\x01" + "\x00\x00\x00\x01" + "\x00\x00\x00\x02no!", "1 bytes too many"},
		{"an error", "E\x00\x00\x00\x02no", "it gave up: no"},
		{"half an error", "E\x00\x00\x00\x03no", "instead of an answer"},
	}
	for _, test := range tests {
		failures, err := parseAnswer([]byte(test.payload), 5, "exec:p", keys, counts, make([]int32, 2), make([]bool, 2))
		if err == nil || !strings.Contains(err.Error(), test.want) || failures != nil {
			t.Errorf("%s: got %v, %v, want an error with %q", test.name, failures, err, test.want)
		}
	}
}

// FuzzParseAnswer holds, for any bytes:
//   - it does not panic, nor reads beyond the cells of its request;
//   - without an error every cell is in [0, count) or -1; a key that is not keyed has -1 only and no failure; a keyed
//     key has a failure, with a reason of its own and in ascending order, for the cells that failed;
//   - what was accepted is the answer that those cells and reasons make.
func FuzzParseAnswer(f *testing.F) {
	f.Add([]byte(answer(5, []int32{0, 1, 2, 3, 4, 5})[4:]))
	f.Add([]byte(answer(5, []int32{0, -2, -1, -1, -2, -1})[4:]))
	f.Add([]byte(answer(5, []int32{11, 24, 0, 0, 0, 0})[4:]))
	f.Add([]byte("E\x00\x00\x00\x02no"))
	f.Add([]byte("A\x00\x00\x00\x05\x7f\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, payload []byte) {
		keys, counts := [][]byte{nil, {}, []byte("k")}, []int32{12, 24}
		out, keyed := make([]int32, 7), make([]bool, 4)
		out[6], keyed[3] = 77, true
		before := bytes.Clone(payload)
		failures, err := parseAnswer(payload, 5, "exec:p", keys, counts, out[:6], keyed[:3])
		if out[6] != 77 || !keyed[3] || !bytes.Equal(payload, before) {
			t.Fatal("wrote outside its cells")
		}
		if err != nil {
			if failures != nil {
				t.Fatalf("failures %v beside the error %v", failures, err)
			}
			return
		}
		if got, want := int(binary.BigEndian.Uint32(payload[9+24:])), len(failures); got != want {
			t.Fatalf("%d failures for %d that the answer has", want, got)
		}
		failed := make(map[int]bool)
		last := -1
		for _, fail := range failures {
			cell := fail.Key*len(counts) + fail.Count
			if cell <= last || fail.Err == nil || out[cell] != -1 || !keyed[fail.Key] {
				t.Fatalf("failure %+v after cell %d, cell %d, keyed %t", fail, last, out[cell], keyed[fail.Key])
			}
			failed[cell] = true
			last = cell
		}
		for k := range keys {
			anyFailed := failed[2*k] || failed[2*k+1]
			for c, n := range counts {
				cell := 2*k + c
				said := int32(binary.BigEndian.Uint32(payload[9+4*cell:]))
				switch p := out[cell]; {
				case p < -1 || p >= n:
					t.Fatalf("partition %d at %d partitions", p, n)
				case p >= 0 && (!keyed[k] || said != p):
					t.Fatalf("partition %d where the answer says %d, keyed %t", p, said, keyed[k])
				case p < 0 && keyed[k] && !anyFailed:
					t.Fatalf("key %d is keyed and has neither a partition nor a failure at %d", k, n)
				}
			}
		}
	})
}
