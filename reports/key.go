package reports

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"keyspread/analyze/placement/keyform"
)

// KeyForm says how [Key.Text] is to be read.
type KeyForm string

// The forms of a key's text.
const (
	PlainKey    KeyForm = "plain"    // the key itself
	QuotedKey   KeyForm = "quoted"   // in double quotes, with backslash escapes
	HexKey      KeyForm = "hex"      // 0x and two digits a byte
	Base64Key   KeyForm = "base64"   // base64: and the key in it; only where that was asked for
	NullKey     KeyForm = "null"     // <null>: there is no key
	EmptyKey    KeyForm = "empty"    // <empty>: a key of no bytes, which clients do not treat as null
	RedactedKey KeyForm = "redacted" // a tag that stands for the key; see [Redactor]
)

const (
	nullText  = "<null>"
	emptyText = "<empty>"
)

// Key is a record key as a report shows it: decoded where Decoded is known, by its text elsewhere.
type Key struct {
	Base64  *string `json:"base64"` // the key's bytes; null for the null key and for redacted keys
	Text    string  `json:"text"`   // printable, shortened in the middle when long
	Form    KeyForm `json:"form"`
	Decoded *string `json:"decoded"` // what the bytes spell, such as "42 (long)"; null where they are shown by Text
}

// shown is the key as people read it.
func (k Key) shown() string {
	if k.Decoded != nil {
		return *k.Decoded
	}
	return k.Text
}

// keyWriter shows keys: whole or shortened, raw or decoded, in clear or redacted.
type keyWriter struct {
	width   int // display columns of a text; what is said around a decoded key comes on top, see decoded
	redact  *Redactor
	format  keyform.Format
	context keyform.Context
}

func (w keyWriter) key(k []byte) Key {
	switch {
	case k == nil:
		return Key{Text: nullText, Form: NullKey}
	case len(k) == 0:
		return Key{Base64: new(string), Text: emptyText, Form: EmptyKey}
	case w.redact != nil:
		return Key{Text: w.redact.Tag(k), Form: RedactedKey}
	}
	b := base64.StdEncoding.EncodeToString(k)
	out := Key{Base64: &b}
	switch w.format {
	case keyform.AsHex:
		out.Text, out.Form = hexText(k, w.width), HexKey
	case keyform.AsBase64:
		out.Text, out.Form = shorten(base64Prefix+b, w.width, len(k)), Base64Key
	default:
		out.Text, out.Form = printable(k, w.width)
	}
	if s, _ := w.context.Show(k, w.format); s.Decoded() {
		out.Decoded = new(w.decoded(s, len(k)))
	}
	return out
}

// minBody is the least number of columns for the bytes inside a decoded key.
const minBody = 16

// decoded puts a decoded key of size bytes together. The part that is bytes is escaped and shortened as a key is; it
// gives way to what is said around it down to minBody columns.
func (w keyWriter) decoded(s keyform.Shown, size int) string {
	if s.Body == nil {
		return s.Before + s.After
	}
	body, _ := printableOf(s.Body, max(minBody, w.width-len(s.Before)-len(s.After)), size)
	return s.Before + body + s.After
}

// printable shows a key of at least one byte in at most width columns, and never in a way that another key, the null
// key or a tag is shown: text is quoted where it would look like one of them, and a shortened text ends in its length.
func printable(k []byte, width int) (string, KeyForm) { return printableOf(k, width, len(k)) }

// printableOf is printable for a part of a key of size bytes.
func printableOf(k []byte, width, size int) (string, KeyForm) {
	s := string(k)
	if !utf8.Valid(k) || strings.ContainsFunc(s, unicode.IsControl) {
		return shorten(hexOf(k, width), width, size), HexKey
	}
	if quoted, odd := quote(s); odd || ambiguous(s) {
		return shorten(quoted, width, size), QuotedKey
	}
	return shorten(s, width, size), PlainKey
}

func hexText(k []byte, width int) string { return shorten(hexOf(k, width), width, len(k)) }

// hexOf writes as much of a key as is left of it in width columns.
func hexOf(k []byte, width int) string {
	text := "0x" + hex.EncodeToString(k[:min(len(k), width)])
	if len(k) > width {
		text += hex.EncodeToString(k[max(width, len(k)-width):])
	}
	return text
}

// base64Prefix starts a key that is shown in base64.
const base64Prefix = "base64:"

// ambiguous reports whether a key's own text could be read as something else.
func ambiguous(s string) bool {
	return strings.HasPrefix(s, "<") || strings.HasPrefix(s, `"`) || strings.HasPrefix(s, "0x") ||
		strings.HasPrefix(s, tagPrefix) || strings.HasPrefix(s, base64Prefix) || strings.Contains(s, "…") ||
		slices.Contains([]string{"null", "empty", "-"}, s) || keyform.LooksDecoded(s)
}

// invisible reports whether r does not show, or changes how its neighbours show: controls, bidirectional and zero-width
// characters, fillers, spaces other than U+0020, private and unassigned code points.
func invisible(r rune) bool {
	return !unicode.IsPrint(r) || r == '\u2800' || // braille pattern blank
		unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// marksInRow is how many combining marks may follow each other; no script's spelling needs more.
const marksInRow = 4

// quote returns s between double quotes with double quotes, backslashes and what does not show as itself escaped:
// what [invisible] names, spaces that are not between words, and combining marks with nothing to combine with or stacked
// on each other. [strconv.Quote] leaves fillers, selectors, spaces and marks as they are. odd reports whether anything but quotes and backslashes was escaped.
func quote(s string) (quoted string, odd bool) {
	var b strings.Builder
	b.WriteByte('"')
	marks := marksInRow // a mark at the start would change the quote
	last := ' '
	for i, r := range s {
		if unicode.IsMark(r) {
			marks++
		} else {
			marks = 0
		}
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case invisible(r), marks > marksInRow, r == ' ' && (last == ' ' || i == len(s)-1):
			odd = true
			writeEscape(&b, r)
		default:
			b.WriteRune(r)
		}
		last = r
	}
	b.WriteByte('"')
	return b.String(), odd
}

func writeEscape(b *strings.Builder, r rune) {
	if r > 0xffff {
		fmt.Fprintf(b, `\U%08x`, r)
		return
	}
	fmt.Fprintf(b, `\u%04x`, r)
}

// clean makes a text of unknown origin safe for one line of a terminal: invisible characters are escaped and invalid
// UTF-8 replaced. A clean text stays as it is.
func clean(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if !strings.ContainsFunc(s, invisible) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if invisible(r) {
			writeEscape(&b, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// shorten fits a text into columns: it keeps the beginning, where prefixes are, and the end, where keys that
// share a prefix differ, and says how many bytes the key has.
func shorten(text string, columns, size int) string {
	if most := 32 * columns; len(text) > 2*most { // keys can have megabytes
		text = strings.ToValidUTF8(text[:most]+text[len(text)-most:], "")
	} else if width(text) <= columns {
		return text
	}
	return middle(text, columns, fmt.Sprintf(" (%d B)", size))
}

// middle cuts the middle out of a text so that it and tail fit into columns. At least one column of either end
// is kept.
func middle(text string, columns int, tail string) string {
	room := max(2, columns-1-width(tail)) // 1 for the ellipsis
	var clusters []string
	var widths []int
	for state := -1; text != ""; {
		var c string
		var w int
		c, text, w, state = uniseg.FirstGraphemeClusterInString(text, state)
		clusters = append(clusters, c)
		widths = append(widths, w)
	}
	head, used := 0, 0
	for head < len(clusters) && used+widths[head] <= (room*2+2)/3 {
		used += widths[head]
		head++
	}
	end := len(clusters)
	for end > head && used+widths[end-1] <= room {
		used += widths[end-1]
		end--
	}
	return strings.Join(clusters[:head], "") + "…" + strings.Join(clusters[end:], "") + tail
}
