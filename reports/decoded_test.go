package reports

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"

	"keyspread/analyze"
	"keyspread/analyze/placement/keyform"
)

// unhex reads bytes written in hexadecimal.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The time 2026-01-02T03:04:05Z in 8 bytes: firstTime in hexadecimal; and 5 minutes later.
const firstTimeHex, laterHex = "0000019b7ca98c88", "0000019b7cae2068"

func TestDecodedKeys(t *testing.T) {
	if b := binary.BigEndian.AppendUint64(nil, firstTime); hex.EncodeToString(b) != firstTimeHex {
		t.Fatalf("firstTime is %x", b)
	}
	for _, c := range []struct {
		hex    string
		format keyform.Format
		want   string // shown
		fits   bool
	}{
		// Frames: magic 0, schema id 7, payload. An Avro string is its length in zigzag and its bytes.
		{"00 00000007 0e 6f726465722d31", "", "schema 7: order-1", true},
		{"00 00000007 06 61e280ae", "", "schema 7, raw: 0x0661e280ae", true}, // cut short: length 3 of 4 bytes
		{"00 00000007 08 61e280ae", "", `schema 7: "a\u202e"`, true},
		{"00 00000007 06 610a62", "", "schema 7: 0x610a62", true}, // a line break: in hex, as it is outside of a frame
		{"00 00000007 54", "", "schema 7: 42 (varint)", true},
		{"00 00000007 d400", "", "schema 7, raw: 0xd400", true}, // 42 in two bytes instead of one
		{"00 00000007 8e00 6f726465722d31", "", "schema 7, raw: 0x8e006f726465722d31", true},
		{"00 00000007 7b226964223a317d", "", `schema 7, JSON: {"id":1}`, true},
		// Protobuf: no message indexes (0), then field 1 (0a: number 1, wire type 2), its length, its bytes.
		{"00 00000007 00 0a03616263", "", "schema 7, Protobuf field 1: abc", true},
		{"00 00000007 00 0a8300616263", "", "schema 7, Protobuf: 0x000a8300616263", true}, // the length in two bytes
		{"00 00000007 00 0a03616263 1001", "", "schema 7, Protobuf: 0x000a036162631001", true},
		{"00 00000007 0e 1b5b33316d2d31", keyform.AsConfluent, "schema 7, raw: 0x0e1b5b33316d2d31", true}, // no text
		// Numbers.
		{"000000000000002a", "", "42 (long)", true},
		{"ffffffffffffffff", "", "-1 (long)", true},
		{"0000002a", "", "42 (int)", true},
		{"34 32", "", "42", true},
		{"343220286c6f6e6729", "", `"42 (long)"`, true}, // the text of it
		// UUIDs: RFC 9562, appendix A.4 (version 7).
		{"017f22e279b07cc398c4dc0c0c07398f", "", "017f22e2-79b0-7cc3-98c4-dc0c0c07398f (uuid)", true},
		{"000102030405060708090a0b0c0d0e0f", "", "0x000102030405060708090a0b0c0d0e0f", true},
		{"000102030405060708090a0b0c0d0e0f", keyform.AsUUID, "00010203-0405-0607-0809-0a0b0c0d0e0f (uuid)", true},
		// Windows.
		{"6b" + firstTimeHex, "", "k @2026-01-02T03:04:05Z", true},
		{"6b" + laterHex + firstTimeHex, "", "k @2026-01-02T03:04:05Z/2026-01-02T03:09:05Z", true},
		{"000000000000002a" + firstTimeHex, "", "42 (long) @2026-01-02T03:04:05Z", true},
		{"00 00000007 0e 6f726465722d31" + firstTimeHex, "", "schema 7: order-1 @2026-01-02T03:04:05Z", true},
		{"6b2040323032", "", `"k @202"`, true},
		{"6b2040206d65", "", "k @ me", true},
		{"6b 0000000000000000", keyform.AsTimeWindow, "k @1970-01-01T00:00:00Z", true},
		{"6b 7fffffffffffffff", keyform.AsTimeWindow, "0x6b7fffffffffffffff", false}, // no year of four digits
		// Bytes as bytes.
		{"6f7264657231", keyform.AsHex, "0x6f7264657231", true},
		{"6f7264657231", keyform.AsBase64, "base64:b3JkZXIx", true},
		{"6261736536343a", "", `"base64:"`, true},
		{"000000000000002a", keyform.AsText, "0x000000000000002a", false},
		// Formats that do not fit leave the key as it is.
		{"6f7264657231", keyform.AsLong, "order1", false},
		{"000000000000002a", keyform.AsInt, "0x000000000000002a", false},
		{"6f7264657231", keyform.AsUUID, "order1", false},
		{"6f7264657231", keyform.AsConfluent, "order1", false},
		{"6f7264657231", keyform.AsTimeWindow, "order1", false},
		{"6f7264657231", keyform.AsSessionWindow, "order1", false},
		{"6f7264657231", keyform.AsJSON, "order1", false},
	} {
		k := unhex(t, c.hex)
		w := keyWriter{width: 64, format: c.format}
		got := w.key(k)
		if got.shown() != c.want {
			t.Errorf("key %x as %q is shown as %q, want %q", k, c.format, got.shown(), c.want)
		}
		if _, fits := w.context.Show(k, c.format); fits != c.fits {
			t.Errorf("key %x as %q: fits = %v, want %v", k, c.format, fits, c.fits)
		}
		if got.Base64 == nil {
			t.Errorf("key %x: its bytes are not in the report", k)
		}
	}
}

// The payload of a JSON envelope is shown, and keys that differ in the schema around it do not look alike.
func TestEnvelope(t *testing.T) {
	w := keyWriter{width: 40}
	one := w.key([]byte(`{"schema":{"type":"int32"},"payload":7}`)).shown()
	two := w.key([]byte(`{"schema":{"type":"int64"},"payload":7}`)).shown()
	if !strings.HasPrefix(one, "payload 7 in envelope ") || !strings.HasPrefix(two, "payload 7 in envelope ") || one == two {
		t.Errorf("keys of two schemas are shown as %q and %q", one, two)
	}
}

func TestLongDecodedKeys(t *testing.T) {
	w := keyWriter{width: 32}
	long := strings.Repeat("a", 70) // its length in zigzag: 140, as a varint 8c 01
	got := w.key(append(unhex(t, "00 00000007 8c01"), long...)).shown()
	if want := "schema 7: aaaaaaaaaa…aaaa (77 B)"; got != want { // 32 columns in all, 5+2+70 bytes
		t.Errorf("a long framed key is shown as %q, want %q", got, want)
	}
	got = w.key(append([]byte(long), unhex(t, firstTimeHex)...)).shown()
	if want := "aaaaaa…aa (78 B) @2026-01-02T03:04:05Z"; got != want { // 16 columns and the window
		t.Errorf("a long windowed key is shown as %q, want %q", got, want)
	}
}

// decodedTopic has keys of every form, and hostile text inside frames and windows.
func decodedTopic(t testing.TB) *analyze.Result {
	tp := topic{name: "forms", partitions: 4, to: []int32{6}}
	add := func(k []byte) { tp.keys = append(tp.keys, keyed{k, 60 - len(tp.keys), 100, -1}) }
	for i := range 6 {
		n := byte('0' + i)
		add(append(unhex(t, "00 00000007 14"), append([]byte("customer-"), n)...))
		add(append(unhex(t, "00 00000009 14"), append([]byte("customer-"), n)...))
		add(binary.BigEndian.AppendUint64(nil, 424242420+uint64(i)))
		add(append(unhex(t, "017f22e279b07cc398c4dc0c0c0739"), n))
		add(append(append([]byte("customer-"), n), unhex(t, firstTimeHex)...))
	}
	for _, k := range hostileKeys() {
		if n := len(k.key); n > 0 && n < 64 {
			add(append([]byte{0, 0, 0, 0, 7, byte(2 * n)}, k.key...))
		}
	}
	return tp.run(t, nil)
}

func TestRedactionHidesDecodedKeys(t *testing.T) {
	redactor, err := NewRedactor([]byte("0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	res := decodedTopic(t)
	clear := string(write(t, Wide, New(res, Options{}), View{}))
	r := New(res, Options{Redact: redactor})
	// What the keys hold: text, numbers, UUIDs.
	for _, secret := range []string{"customer", "42424242", "017f22e2", "schema 7: "} {
		if !strings.Contains(clear, secret) {
			t.Errorf("in clear: does not hold %q, so its absence would prove nothing", secret)
		}
		for _, f := range Formats() {
			if out := string(write(t, f, r, View{})); strings.Contains(out, secret) {
				t.Errorf("%s, redacted: holds %q", f, secret)
			}
		}
	}
}

func TestDecodedKeysAreInert(t *testing.T) {
	r := New(decodedTopic(t), Options{})
	for _, f := range []Format{Text, Wide, Markdown} {
		for l := range strings.SplitSeq(string(write(t, f, r, View{})), "\n") {
			if i := strings.IndexFunc(l, invisible); i >= 0 {
				t.Errorf("%s: invisible character %q in line %q", f, l[i:min(len(l), i+4)], l)
			}
		}
	}
}

// FuzzDecodedKeys holds that two keys are never shown alike, unless both are shortened, and that no key is shown with
// a character that does not show itself.
func FuzzDecodedKeys(f *testing.F) {
	for _, seed := range []string{
		"00 00000007 0e 6f726465722d31", "00 00000007 54", "00 00000007 7b226964223a317d", "00 00000007 00 0a03616263",
		"000000000000002a", "0000002a", "017f22e279b07cc398c4dc0c0c07398f", "6b" + firstTimeHex, "6b" + laterHex + firstTimeHex,
		hex.EncodeToString([]byte(`{"schema":null,"payload":{"id":1}}`)), hex.EncodeToString([]byte("42 (long)")),
	} {
		k := unhex(f, seed)
		w := keyWriter{width: 1000}
		f.Add(k, []byte(w.key(k).shown()), byte(0))
		f.Add(k, append([]byte{0}, k...), byte(9))
	}
	f.Fuzz(func(t *testing.T, a, b []byte, format byte) {
		w := keyWriter{width: 1000, format: keyform.Formats[int(format)%len(keyform.Formats)]}
		x, y := w.key(a), w.key(b)
		if x.shown() == y.shown() && !bytes.Equal(a, b) && !strings.Contains(x.shown(), "…") {
			t.Errorf("as %s, keys %q and %q are both shown as %q", w.format, a, b, x.shown())
		}
		if z := w.key([]byte(x.shown())); z.shown() == x.shown() && x.shown() != string(a) {
			t.Errorf("as %s, key %q is shown as the text %q is", w.format, a, z.shown())
		}
		for _, k := range []Key{x, y} {
			if i := strings.IndexFunc(k.shown(), invisible); i >= 0 {
				t.Errorf("as %s, a key is shown with the invisible %q: %q", w.format, k.shown()[i:], k.shown())
			}
		}
	})
}
