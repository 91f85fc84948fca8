// Package keyform recognises what a record key's bytes spell: text, a number, a UUID, JSON, a Confluent frame, a Kafka
// Streams window.
//
// One key can be spelled in several ways, and every spelling is another key to Kafka: a partitioner hashes bytes. So
// recognition serves to show a key and to find spellings of the same thing; it never changes what is hashed.
// Everything here is a guess from bytes alone, and a pure function of them.
package keyform

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Form is how a key is spelled.
type Form uint8

// The forms.
const (
	Binary        Form = iota // none of the others
	Text                      // printable UTF-8
	Decimal                   // a whole number in decimal digits
	UUIDText                  // 36 characters
	JSON                      // a JSON object, array or string
	Envelope                  // Kafka Connect's JSON {"schema":…,"payload":…}
	Int                       // 4 bytes, big-endian, signed: Java's IntegerSerializer
	Long                      // 8 bytes, big-endian, signed: Java's LongSerializer
	UUIDBytes                 // 16 bytes
	Confluent                 // magic byte 0, 4 bytes of schema id, payload
	TimeWindow                // Kafka Streams: key, window start
	SessionWindow             // Kafka Streams: key, window end, window start
	Protobuf                  // payload of a Confluent frame only: message indexes and a message
)

var formNames = [...]string{
	Binary: "binary", Text: "text", Decimal: "decimal text", UUIDText: "UUID text", JSON: "JSON", Envelope: "JSON with schema",
	Int: "4-byte integer", Long: "8-byte integer", UUIDBytes: "16-byte UUID", Confluent: "Confluent frame",
	TimeWindow: "time window", SessionWindow: "session window", Protobuf: "Protobuf",
}

// String returns the form's name in reports, such as "8-byte integer".
func (f Form) String() string {
	if int(f) < len(formNames) {
		return formNames[f]
	}
	return "unknown"
}

// Key is what a key's bytes were recognised as.
type Key struct {
	Form     Form
	Inner    Form   // of what a frame or a window holds; of the payload's own form for an envelope
	Spelling string // tells spellings of one form apart, such as "with spaces" for JSON; "" where there is one
	SchemaID uint32 // of a frame, also of one inside a window
	Framed   bool   // SchemaID is set
	Start    int64  // of a window, ms
	End      int64  // of a session window, ms

	// SchemaSum is the CRC-32 of an envelope's schema as written. It tells schemas apart without showing them.
	SchemaSum uint32

	// Logical is one spelling for all keys that stand for the same thing: the number 42 in text, in 8 bytes and in a
	// frame of any schema. It is for comparing, not for showing.
	Logical string

	// Display shows the key to people, without limit of length: escape and shorten it before printing.
	Display string
}

// Label names the form with all that tells its spelling apart, such as "Confluent frame with schema 7, text".
func (k *Key) Label() string {
	var b strings.Builder
	b.WriteString(k.Form.String())
	if k.Framed && k.Form == Confluent {
		b.WriteString(" with schema ")
		b.WriteString(strconv.FormatUint(uint64(k.SchemaID), 10))
	}
	if k.Form == Envelope {
		fmt.Fprintf(&b, " %08x", k.SchemaSum)
	}
	if k.Form == Confluent || k.Form == TimeWindow || k.Form == SessionWindow {
		b.WriteString(" of ")
		b.WriteString(k.Inner.String())
	}
	if k.Spelling != "" {
		b.WriteString(", ")
		b.WriteString(k.Spelling)
	}
	return b.String()
}

// Context is what the keys of a topic together tell about bytes that could be two things. The zero value takes 8 bytes
// that could be either for an integer, and shows every form it recognises.
type Context struct {
	// Framed8 takes 8-byte keys for Confluent frames with a 3-byte payload: an Avro long between 8,192 and 1,048,575.
	Framed8 bool

	// Forms that other bytes of this topic have by chance. Keys are recognised in them, but not shown so.
	doubtNumbers, doubtUUIDs, doubtFrames bool
}

// Learn reads the context from some keys of one topic: where nearly all 8-byte keys are good frames they are frames,
// as the payload of an integer taken for one would be good once in eight times. A form is doubtful where more than one
// key in ten of those that could have it does not: opaque bytes beside numbers, 16 bytes that are no UUID beside UUIDs,
// payloads that read as nothing beside those that do.
func Learn(keys [][]byte) Context {
	candidates, good := 0, 0
	for _, k := range keys {
		if len(k) != 8 || isText(k) {
			continue
		}
		candidates++
		if id, payload, ok := frame(k); ok && id < plausibleID {
			if _, n := zigzag(payload); n == len(payload) {
				good++
			}
		}
	}
	c := Context{Framed8: candidates >= 4 && 20*good >= 19*candidates}
	var opaque, numbers, opaque16, uuids, unread, frames int
	for _, key := range keys {
		switch k := c.Recognise(key); k.Form {
		case Binary:
			opaque++
			if len(key) == 16 {
				opaque16++
			}
		case Int, Long:
			numbers++
		case UUIDBytes:
			uuids++
		case Confluent:
			frames++
			if k.Inner == Binary && k.Spelling == "" {
				unread++
			}
		}
	}
	c.doubtNumbers = 10*opaque > opaque+numbers
	c.doubtUUIDs = 10*opaque16 > opaque16+uuids
	c.doubtFrames = 10*unread > frames
	return c
}

// Recognise says what key spells. key must not be changed while the result is in use.
func (c Context) Recognise(key []byte) Key {
	if isText(key) {
		return recogniseText(key)
	}
	if w, ok := c.window(key); ok {
		return w
	}
	id, payload, framed := frame(key)
	if framed && (len(key) != 8 || c.Framed8) {
		if k, ok := framedKey(id, payload, false); ok {
			return k
		}
	}
	switch {
	case len(key) == 4:
		return number(Int, int64(int32(binary.BigEndian.Uint32(key))))
	case len(key) == 8:
		return number(Long, int64(binary.BigEndian.Uint64(key)))
	case len(key) == 16 && isUUID(key):
		s := uuidString(key)
		return Key{Form: UUIDBytes, Logical: s, Display: s}
	case framed && id < plausibleID:
		k, _ := framedKey(id, payload, true)
		return k
	}
	return opaque(key)
}

// plausibleID is above the schema ids of any registry that counts from 1.
const plausibleID = 1 << 24

func opaque(key []byte) Key {
	return Key{Form: Binary, Logical: "\x00" + string(key), Display: "0x" + hex.EncodeToString(key)}
}

func number(f Form, n int64) Key {
	s := strconv.FormatInt(n, 10)
	return Key{Form: f, Logical: s, Display: s}
}

// isText reports whether key is non-empty printable UTF-8.
func isText(key []byte) bool {
	if len(key) == 0 || !utf8.Valid(key) {
		return false
	}
	for _, r := range string(key) {
		if unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r' {
			return false
		}
	}
	return true
}

func recogniseText(key []byte) Key {
	s := string(key)
	switch {
	case isDecimal(s):
		return Key{Form: Decimal, Logical: s, Display: s}
	case isUUIDText(s):
		k := Key{Form: UUIDText, Logical: strings.ToLower(s), Display: s}
		if k.Logical != s {
			k.Spelling = "upper case"
		}
		return k
	}
	if k, ok := recogniseJSON(key); ok {
		return k
	}
	return Key{Form: Text, Logical: s, Display: s}
}

// logicalText is the logical key of a string that stands in some frame or quotes.
func logicalText(s string) string {
	if isUUIDText(s) {
		return strings.ToLower(s)
	}
	return s
}

// isDecimal reports whether s is a whole number of 64 bits as programs print it: no leading zeros, no plus.
func isDecimal(s string) bool {
	digit := func(c byte) bool { return '0' <= c && c <= '9' }
	// most keys end here, before ParseInt makes an error of them
	if len(s) == 0 || len(s) > 20 || s[0] != '-' && !digit(s[0]) || !digit(s[len(s)-1]) {
		return false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return err == nil && strconv.FormatInt(n, 10) == s
}

// isUUIDText reports whether s is the 36-character form of a UUID.
func isUUIDText(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (s[i] == '-') || !dash && !isHexDigit(s[i]) {
			return false
		}
	}
	return true
}

func isHexDigit(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'f' || b >= 'A' && b <= 'F'
}

// isUUID reports whether 16 bytes carry the version (1 to 8) and variant of RFC 9562.
func isUUID(b []byte) bool { return b[6]>>4 >= 1 && b[6]>>4 <= 8 && b[8]>>6 == 2 }

func uuidString(b []byte) string {
	h := hex.EncodeToString(b)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// Window starts that are taken for times: from 2000-01-01 to 2100-01-01, ms.
const (
	earliestWindow = 946_684_800_000
	latestWindow   = 4_102_444_800_000
)

func windowTime(b []byte) (int64, bool) {
	ms := int64(binary.BigEndian.Uint64(b))
	return ms, ms >= earliestWindow && ms < latestWindow
}

// window recognises a windowed key: its last 8 bytes, or its last two times 8, are times.
//
// Source: apache/kafka streams TimeWindowedSerializer (key, start) and SessionWindowedSerializer (key, end, start).
func (c Context) window(key []byte) (Key, bool) {
	if len(key) <= 8 {
		return Key{}, false
	}
	start, ok := windowTime(key[len(key)-8:])
	if !ok {
		return Key{}, false
	}
	k := Key{Form: TimeWindow, Start: start}
	inner := key[:len(key)-8]
	mark := "@" + shownTime(start)
	if len(key) > 16 {
		if end, ok := windowTime(key[len(key)-16:]); ok && end >= start {
			k.Form, k.End = SessionWindow, end
			inner = key[:len(key)-16]
			mark += "/" + shownTime(end)
		}
	}
	in := c.Recognise(inner)
	k.Inner, k.Spelling, k.Framed, k.SchemaID = in.Form, in.Spelling, in.Framed, in.SchemaID
	k.Logical = in.Logical + "\x00" + mark
	k.Display = in.Display + " " + mark
	return k, true
}

func shownTime(ms int64) string {
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.999Z07:00")
}
