package reports

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/rivo/uniseg"
)

func TestKeyForms(t *testing.T) {
	for _, c := range []struct {
		key  []byte
		text string
		form KeyForm
	}{
		{nil, "<null>", NullKey},
		{[]byte{}, "<empty>", EmptyKey},
		{[]byte("customer-42"), "customer-42", PlainKey},
		{[]byte("日本語"), "日本語", PlainKey},
		{[]byte("a b"), "a b", PlainKey},
		// Would be read as something else.
		{[]byte("null"), `"null"`, QuotedKey},
		{[]byte("<null>"), `"<null>"`, QuotedKey},
		{[]byte("<empty>"), `"<empty>"`, QuotedKey},
		{[]byte("0x00"), `"0x00"`, QuotedKey},
		{[]byte("key:3f9a01c2d4"), `"key:3f9a01c2d4"`, QuotedKey},
		{[]byte(`"x"`), `"\"x\""`, QuotedKey},
		{[]byte("a…b"), `"a…b"`, QuotedKey},
		{[]byte(" a"), `"\u0020a"`, QuotedKey},
		{[]byte("a "), `"a\u0020"`, QuotedKey},
		{[]byte("a  b"), `"a \u0020b"`, QuotedKey}, // wrapping and Markdown would make one space of two
		{[]byte("-"), `"-"`, QuotedKey},
		// Do not show, or change what is beside them.
		{[]byte("\u202eabc"), `"\u202eabc"`, QuotedKey},
		{[]byte("a\u200bb"), `"a\u200bb"`, QuotedKey},
		{[]byte("a\u00a0b"), `"a\u00a0b"`, QuotedKey},
		{[]byte("\u3164"), `"\u3164"`, QuotedKey},
		{[]byte("\u2800"), `"\u2800"`, QuotedKey},
		{[]byte("\u0301a"), `"\u0301a"`, QuotedKey},
		{[]byte("x\U000e0041"), `"x\U000e0041"`, QuotedKey},
		{[]byte("a" + strings.Repeat("\u0301", 6)), "\"a\u0301\u0301\u0301\u0301\\u0301\\u0301\"", QuotedKey},
		{[]byte("e\u0301"), "e\u0301", PlainKey}, // é, decomposed
		// Controls and bytes that are no text.
		{[]byte("\x1b[31m"), "0x1b5b33316d", HexKey},
		{[]byte("a\nb"), "0x610a62", HexKey},
		{[]byte("\u009b31m"), "0xc29b33316d", HexKey}, // C1 control: CSI in one character
		{[]byte{0, 0, 0, 10}, "0x0000000a", HexKey},
		{[]byte{0xff}, "0xff", HexKey},
	} {
		got := keyWriter{width: 32}.key(c.key)
		if got.Text != c.text || got.Form != c.form {
			t.Errorf("key %q is shown as %q (%s), want %q (%s)", c.key, got.Text, got.Form, c.text, c.form)
		}
		if (got.Base64 == nil) != (c.key == nil) || got.Base64 != nil && *got.Base64 != base64.StdEncoding.EncodeToString(c.key) {
			t.Errorf("key %q: wrong base64 %v", c.key, got.Base64)
		}
	}
}

func TestLongKeysAreShortened(t *testing.T) {
	for _, c := range []struct {
		key  string
		want string
	}{
		{strings.Repeat("a", 32), strings.Repeat("a", 32)},
		// 32 columns less the ellipsis and " (33 B)": 24, of which two thirds are the beginning.
		{strings.Repeat("a", 25) + "bcdefghi", strings.Repeat("a", 16) + "…bcdefghi (33 B)"},
		// Characters of two columns: 8 and 4 of them fit.
		{strings.Repeat("長", 20), strings.Repeat("長", 8) + "…" + strings.Repeat("長", 4) + " (60 B)"},
		{strings.Repeat("\x00", 30) + "\xff", "0x00000000000000…000000ff (31 B)"},
	} {
		got, _ := printable([]byte(c.key), 32)
		if got != c.want {
			t.Errorf("key %q is shown as %q, want %q", c.key, got, c.want)
		}
	}
	for _, k := range hostileKeys() {
		for _, long := range []int{1, 100, 5000} {
			if len(k.key) == 0 {
				continue
			}
			text, _ := printable([]byte(strings.Repeat(string(k.key), long)), 32)
			if w := uniseg.StringWidth(text); w > 32 {
				t.Errorf("%d times key %q takes %d columns, want at most 32: %q", long, k.key, w, text)
			}
		}
	}
}

// FuzzKey holds that a key of any bytes is shown on one line, visibly, in the columns it is given, and never as
// another thing is shown: the null key, the empty key or a tag.
func FuzzKey(f *testing.F) {
	for _, k := range hostileKeys() {
		f.Add(k.key)
	}
	f.Fuzz(func(t *testing.T, k []byte) {
		got := keyWriter{width: 24}.key(k)
		if w := uniseg.StringWidth(got.Text); w > 24 {
			t.Errorf("key %q takes %d columns, want at most 24: %q", k, w, got.Text)
		}
		if i := strings.IndexFunc(got.Text, invisible); i >= 0 {
			t.Errorf("key %q is shown with the invisible %q", k, got.Text[i:])
		}
		if strings.HasPrefix(got.Text, "<") != (len(k) == 0) {
			t.Errorf("key %q is shown as %q", k, got.Text)
		}
		if got.Form == PlainKey && got.Text != string(k) && !strings.Contains(got.Text, "…") {
			t.Errorf("key %q is shown as the plain text %q", k, got.Text)
		}
	})
}

func TestRedactor(t *testing.T) {
	if _, err := NewRedactor([]byte("short")); err == nil || !strings.Contains(err.Error(), "use at least 16") {
		t.Errorf("a secret of 5 bytes is taken: %v", err)
	}
	secret := []byte("0123456789abcdef")
	r, err := NewRedactor(secret)
	if err != nil {
		t.Fatal(err)
	}
	// printf customer-42 | openssl dgst -sha256 -hmac 0123456789abcdef | cut -c1-10 (of the digest)
	if got, want := r.Tag([]byte("customer-42")), "key:08784800cc"; got != want {
		t.Errorf("tag of customer-42 is %q, want %q", got, want)
	}
	other, err := NewRedactor([]byte("another secret of enough bytes"))
	if err != nil {
		t.Fatal(err)
	}
	if a, b := r.Tag([]byte("k")), other.Tag([]byte("k")); a == b {
		t.Errorf("two secrets give the same tag %s", a)
	}
	secret[0] = 'x' // the redactor keeps its own copy
	if got, want := r.Tag([]byte("customer-42")), "key:08784800cc"; got != want {
		t.Errorf("tag changed with the caller's slice: %q, want %q", got, want)
	}
	if got := (keyWriter{width: 32, redact: r}).key(nil); got.Text != "<null>" || got.Form != NullKey {
		t.Errorf("the null key is shown as %+v", got)
	}
	if got := (keyWriter{width: 32, redact: r}).key([]byte("k")); got.Base64 != nil || got.Form != RedactedKey {
		t.Errorf("a redacted key is shown as %+v", got)
	}
}
