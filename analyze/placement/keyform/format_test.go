package keyform

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
)

func times(n int, key func(i int) []byte) [][]byte {
	var keys [][]byte
	for i := range n {
		keys = append(keys, key(i))
	}
	return keys
}

// A key is shown in a form only where the other keys of the topic do not make the form a matter of chance.
func TestShowTrustsTheTopic(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2)) // any fixed seed
	random := func(bytes int) func(int) []byte {
		return func(int) []byte {
			b := make([]byte, bytes)
			for i := range b {
				b[i] = 0x80 | byte(rng.Uint32()) // no text, no frame
			}
			return b
		}
	}
	long := func(i int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(i)) }
	uuid := func(int) []byte {
		b := random(16)(0)
		b[6], b[8] = 0x40|b[6]&0x0f, 0x80|b[8]&0x3f // version 4 and its variant, RFC 9562
		return b
	}
	framed := func(i int) []byte { return fmt.Appendf([]byte{0, 0, 0, 0, 7, 14}, "order-%d", i%10) }
	unread := func(i int) []byte { return append([]byte{0, 0, 0, 0, byte(i)}, random(9)(0)...) }
	text := func(i int) []byte { return fmt.Appendf(nil, "k%d", i) }
	for _, c := range []struct {
		name    string
		keys    [][]byte
		key     []byte
		decoded bool
	}{
		{"integers", times(50, long), long(42), true},
		{"integers beside text", append(times(5, long), times(500, text)...), long(42), true},
		{"one opaque key in twenty", append(times(57, long), times(3, random(11))...), long(42), true},
		{"8 bytes in a topic of opaque keys", append(times(10, long), times(50, random(11))...), long(42), false},
		{"UUIDs", times(50, uuid), uuid(0), true},
		{"16 bytes that are UUIDs by chance", append(times(10, uuid), times(50, random(16))...), uuid(0), false},
		{"frames", times(50, framed), framed(1), true},
		{"composite keys that begin like frames", append(times(10, framed), times(50, unread)...), framed(1), false},
	} {
		s, fits := Learn(c.keys).Show(c.key, Auto)
		if s.Decoded() != c.decoded || !fits {
			t.Errorf("%s: key %x is shown as %q, decoded = %v, want %v", c.name, c.key, s, s.Decoded(), c.decoded)
		}
	}
	// What is asked for is done.
	if s, fits := Learn(append(times(10, long), times(50, random(11))...)).Show(long(42), AsLong); s.Before != "42" || !fits {
		t.Errorf("a forced format gives way to doubt: %q", s)
	}
}

func TestParseFormat(t *testing.T) {
	for _, f := range Formats {
		if got, err := ParseFormat(string(f)); got != f || err != nil {
			t.Errorf("ParseFormat(%q) = %q, %v", f, got, err)
		}
	}
	if _, err := ParseFormat("avro"); err == nil {
		t.Error("ParseFormat takes a format that does not exist")
	}
}
