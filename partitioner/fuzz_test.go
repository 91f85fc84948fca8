package partitioner

import (
	"errors"
	"testing"
	"unicode/utf8"
)

// FuzzPlace holds for every class and every key:
//   - a partition is in [0, n), or it is -1 and an error says why;
//   - an OutsideError comes from the two reductions without a defence for -2^31 only, a KeyError from text classes on bytes
//     that are not UTF-8 only;
//   - one call with many counts answers what many calls with one count do;
//   - murmur2 equals a slow one that was written from the description alone.
func FuzzPlace(f *testing.F) {
	f.Add([]byte("kafka"), int32(12))
	f.Add([]byte("aflcgier"), int32(10)) // FNV-1a 0x80000000
	f.Add([]byte("polygenelubricants"), int32(10))
	f.Add([]byte{0xff, 0xe2, 0x82, 0x28}, int32(7))
	f.Add([]byte("😀key"), int32(1<<31-1))
	f.Add([]byte{}, int32(1))
	all := Classes()
	f.Fuzz(func(t *testing.T, key []byte, n int32) {
		if n <= 0 {
			n = 1 + n&(1<<30-1)
		}
		if key == nil {
			key = []byte{}
		}
		if got, want := murmur2(key), slowMurmur2(key); got != want {
			t.Fatalf("murmur2(%q) = %#x, want %#x", key, got, want)
		}
		counts := []int32{n, 1, 7, 16}
		for _, c := range all {
			p := c.Partitioner()
			out, one := make([]int32, len(counts)), make([]int32, 1)
			keyed, err := p.Place(key, counts, out)
			if !keyed {
				t.Fatalf("%s: key %q is unkeyed", c.ID, key)
			}
			_, outside := errors.AsType[*OutsideError](err)
			_, refused := errors.AsType[*KeyError](err)
			if outside && c.ID != "fnv1a_absfirst_broken" && c.ID != "java_string:abs_raw" {
				t.Fatalf("%s: key %q: %v", c.ID, key, err)
			}
			if refused != (c.TextOnly && !utf8.Valid(key)) || err != nil && !outside && !refused {
				t.Fatalf("%s: key %q: %v", c.ID, key, err)
			}
			unanswered := false
			for i, n := range counts {
				if out[i] < -1 || out[i] >= n {
					t.Fatalf("%s: key %q at %d partitions: got %d", c.ID, key, n, out[i])
				}
				unanswered = unanswered || out[i] == -1
				if _, _ = p.Place(key, counts[i:i+1], one); one[0] != out[i] {
					t.Fatalf("%s: key %q at %d partitions: got %d alone, %d among others", c.ID, key, n, one[0], out[i])
				}
			}
			if unanswered != (err != nil) {
				t.Fatalf("%s: key %q: got %d, error %v", c.ID, key, out, err)
			}
		}
	})
}

// slowMurmur2 is murmur2 a byte and a bit at a time, in 64-bit arithmetic cut to 32 bits where the description says so.
func slowMurmur2(key []byte) uint32 {
	const m, cut = uint64(1540483477), uint64(1) << 32
	h := uint64(2538058380) ^ uint64(len(key))
	whole := len(key) - len(key)%4
	for at := 0; at < whole; at += 4 {
		k := uint64(0)
		for i := 3; i >= 0; i-- {
			k = k*256 + uint64(key[at+i])
		}
		k = k * m % cut
		k ^= k / (1 << 24)
		k = k * m % cut
		h = h*m%cut ^ k
	}
	if whole < len(key) {
		tail := uint64(0)
		for i := len(key) - 1; i >= whole; i-- {
			tail = tail*256 + uint64(key[i])
		}
		h = (h ^ tail) * m % cut
	}
	h ^= h / (1 << 13)
	h = h * m % cut
	h ^= h / (1 << 15)
	return uint32(h)
}

// FuzzLookup holds that no name panics, and that an id found leads to the same rule again.
func FuzzLookup(f *testing.F) {
	for _, name := range []string{"librdkafka@0.11.4:murmur2", "@platformatic/kafka@1", "java@", ":", "@:", "kafka-go@0.3:hash"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		r, err := Lookup(name)
		if err != nil {
			return
		}
		again, err := Lookup(r.ID)
		if err != nil || again.ID != r.ID || again.Class != r.Class {
			t.Fatalf("Lookup(%q) is %s, which leads to %s, %v", name, r.ID, again.ID, err)
		}
	})
}

// TestReplacing pins how bad UTF-8 becomes U+FFFD: one per maximal subpart. The cases are of Unicode 16.0 table 3-8, with the
// ranges of table 3-7 that it leaves out.
func TestReplacing(t *testing.T) {
	for _, c := range []struct {
		key  string
		want []uint16
	}{
		{"a\xf1\x80\x80\xe1\x80\xc2b\x80c\x80\xbfd", []uint16{'a', 0xfffd, 0xfffd, 0xfffd, 'b', 0xfffd, 'c', 0xfffd, 0xfffd, 'd'}}, // table 3-8
		{"\xc0\xaf\xe0\x80\xbf", []uint16{0xfffd, 0xfffd, 0xfffd, 0xfffd, 0xfffd}},                                                 // overlong
		{"\xed\xa0\x80", []uint16{0xfffd, 0xfffd, 0xfffd}},                                                                         // a surrogate
		{"\xf4\x90\x80\x80", []uint16{0xfffd, 0xfffd, 0xfffd, 0xfffd}},                                                             // above U+10FFFF
		{"\xf0\x90\x80", []uint16{0xfffd}},
		{"\xf0\x8f\xbf\xbf", []uint16{0xfffd, 0xfffd, 0xfffd, 0xfffd}},
		{"\xe6\x97", []uint16{0xfffd}},
		{"😀", []uint16{0xd83d, 0xde00}},
		{"\xef\xbf\xbd", []uint16{0xfffd}}, // the character itself
	} {
		var got []uint16
		for key := []byte(c.key); len(key) > 0; {
			first, second, size := utf16UnitsReplacing(key)
			got = append(got, first)
			if second != 0 {
				got = append(got, second)
			}
			key = key[size:]
		}
		if len(got) != len(c.want) {
			t.Errorf("%q: got %x, want %x", c.key, got, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%q: got %x, want %x", c.key, got, c.want)
				break
			}
		}
	}
}
