package keyform

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Format is how keys are to be shown.
type Format string

// The formats.
const (
	Auto            Format = "auto" // as recognised
	AsText          Format = "text"
	AsHex           Format = "hex"
	AsBase64        Format = "base64"
	AsJSON          Format = "json"
	AsInt           Format = "int"
	AsLong          Format = "long"
	AsUUID          Format = "uuid"
	AsConfluent     Format = "confluent"
	AsTimeWindow    Format = "windowed"
	AsSessionWindow Format = "session-windowed"
)

// Formats lists every format, the default first.
var Formats = []Format{Auto, AsText, AsHex, AsBase64, AsJSON, AsInt, AsLong, AsUUID, AsConfluent, AsTimeWindow, AsSessionWindow}

// ParseFormat returns the format of a name.
func ParseFormat(name string) (Format, error) {
	var names []string
	for _, f := range Formats {
		if string(f) == name {
			return f, nil
		}
		names = append(names, string(f))
	}
	return "", fmt.Errorf("unknown key format %q: want one of %s", name, strings.Join(names, ", "))
}

// Shown is a key taken apart for showing: Before, the bytes of Body, After. Before and After are printable ASCII; Body
// is bytes of the key, for the caller to escape and to shorten, and nil when the others say everything. Different keys
// never have the same parts.
type Shown struct {
	Before string
	Body   []byte
	After  string
}

// Decoded reports whether s says more than the key's own bytes.
func (s Shown) Decoded() bool { return s.Before != "" || s.After != "" }

// Show takes a key of at least one byte apart as a format has it; the empty Format is [Auto]. fits is false when the key
// is not of the format; it is then shown as it is, as it is under Auto where the topic's keys make a form doubtful.
// The result holds parts of key.
func (c Context) Show(key []byte, f Format) (s Shown, fits bool) {
	raw := Shown{Body: key}
	switch f {
	case AsHex, AsBase64:
		return raw, true
	case AsText:
		return raw, isText(key)
	case AsJSON:
		k, ok := recogniseJSON(key)
		if ok && k.Form == Envelope {
			return showEnvelope(key), true
		}
		return raw, ok
	case AsInt:
		if len(key) == 4 {
			return showInt(key), true
		}
	case AsLong:
		if len(key) == 8 {
			return showLong(key), true
		}
	case AsUUID:
		if len(key) == 16 {
			return showUUID(key), true
		}
		return raw, isUUIDText(string(key))
	case AsConfluent:
		if id, payload, ok := frame(key); ok {
			return showFrame(id, payload), true
		}
	case AsTimeWindow:
		if n := len(key) - 8; n > 0 {
			if start, ok := shownMS(key[n:]); ok {
				return c.showWindow(key[:n], start), true
			}
		}
	case AsSessionWindow:
		if n := len(key) - 16; n > 0 {
			end, endOK := shownMS(key[n:])
			start, startOK := shownMS(key[n+8:])
			if endOK && startOK {
				return c.showWindow(key[:n], start+"/"+end), true
			}
		}
	default:
		return c.showAuto(key), true
	}
	return raw, false
}

func (c Context) showAuto(key []byte) Shown {
	k := c.Recognise(key)
	switch k.Form {
	case Envelope:
		return showEnvelope(key)
	case Int:
		if !c.doubtNumbers {
			return showInt(key)
		}
	case Long:
		if !c.doubtNumbers {
			return showLong(key)
		}
	case UUIDBytes:
		if !c.doubtUUIDs {
			return showUUID(key)
		}
	case Confluent:
		if !c.doubtFrames {
			return showFrame(k.SchemaID, key[FrameBytes:])
		}
	case TimeWindow:
		return c.showWindow(key[:len(key)-8], shownTime(k.Start))
	case SessionWindow:
		return c.showWindow(key[:len(key)-16], shownTime(k.Start)+"/"+shownTime(k.End))
	}
	return Shown{Body: key}
}

func showInt(key []byte) Shown {
	return Shown{Before: strconv.Itoa(int(int32(binary.BigEndian.Uint32(key)))), After: " (int)"}
}

func showLong(key []byte) Shown {
	return Shown{Before: strconv.FormatInt(int64(binary.BigEndian.Uint64(key)), 10), After: " (long)"}
}

func showUUID(key []byte) Shown { return Shown{Before: uuidString(key), After: " (uuid)"} }

// showWindow shows the key of a window and when it is. The key inside is told from its own bytes.
func (c Context) showWindow(inner []byte, when string) Shown {
	s, _ := c.Show(inner, Auto)
	s.After += " @" + when
	return s
}

// showFrame shows a payload as what it was recognised as, if only one payload reads so.
func showFrame(id uint32, payload []byte) Shown {
	schema := "schema " + strconv.FormatUint(uint64(id), 10)
	k, _ := framedKey(id, payload, true)
	switch {
	case k.Inner == Text:
		if body, minimal := avroBody(payload); minimal {
			return Shown{Before: schema + ": ", Body: body}
		}
	case k.Inner == Decimal:
		if n, size := zigzag(payload); len(binary.AppendVarint(nil, n)) == size {
			return Shown{Before: schema + ": " + strconv.FormatInt(n, 10), After: " (varint)"}
		}
	case k.Inner == JSON:
		return Shown{Before: schema + ", JSON: ", Body: payload}
	case k.Inner == Protobuf, isMessage(payload):
		if field, body, ok := soleText(payload); ok {
			return Shown{Before: schema + ", Protobuf field " + strconv.FormatUint(field, 10) + ": ", Body: body}
		}
		return Shown{Before: schema + ", Protobuf: ", Body: payload}
	}
	return Shown{Before: schema + ", raw: ", Body: payload}
}

// soleText reads a payload that is the schema's first message with one field, a text, written in as few bytes as it can
// be: what most keys in Protobuf are.
func soleText(payload []byte) (field uint64, text []byte, ok bool) {
	if payload[0] != 0 {
		return 0, nil, false
	}
	tag, n := binary.Uvarint(payload[1:])
	if n <= 0 || tag&7 != 2 {
		return 0, nil, false
	}
	size, m := binary.Uvarint(payload[1+n:])
	if m <= 0 || size != uint64(len(payload)-1-n-m) {
		return 0, nil, false
	}
	text = payload[1+n+m:]
	least := binary.AppendUvarint(binary.AppendUvarint([]byte{0}, tag), size)
	return tag >> 3, text, bytes.HasPrefix(payload, least) && len(least) == 1+n+m && isText(text)
}

// avroBody returns the bytes of an Avro string, and whether its length is written in as few bytes as it can be.
func avroBody(payload []byte) (body []byte, minimal bool) {
	n, size := zigzag(payload)
	return payload[size:], len(binary.AppendVarint(nil, n)) == size
}

// showEnvelope shows the payload of a JSON envelope and a digest of what is around it, most of all the schema.
func showEnvelope(key []byte) Shown {
	_, payload, ok := connectEnvelope(bytes.TrimLeft(key, " \t\r\n"))
	at := bytes.LastIndex(key, payload)
	if !ok || at < 0 {
		return Shown{Body: key}
	}
	digest := sha256.New()
	digest.Write(binary.BigEndian.AppendUint64(nil, uint64(at)))
	digest.Write(key[:at])
	digest.Write(key[at+len(payload):])
	return Shown{
		Before: "payload ", Body: key[at : at+len(payload)],
		After: " in envelope " + hex.EncodeToString(digest.Sum(nil)[:4]),
	}
}

// latestShown is the last millisecond whose year has four digits.
const latestShown = 253_402_300_799_999

// shownMS shows a time that a format was forced on; ok is false when it is none that can be told from others.
func shownMS(b []byte) (text string, ok bool) {
	ms := int64(binary.BigEndian.Uint64(b))
	if ms < 0 || ms > latestShown {
		return "", false
	}
	return shownTime(ms), true
}

// LooksDecoded reports whether a printable key could be taken for one that [Context.Show] has decoded. A report quotes
// such a key.
func LooksDecoded(text string) bool {
	for _, before := range []string{"schema ", "payload "} {
		if strings.HasPrefix(text, before) {
			return true
		}
	}
	for _, after := range []string{" (int)", " (long)", " (uuid)", " (varint)"} {
		if strings.HasSuffix(text, after) {
			return true
		}
	}
	for rest, found := text, true; found; {
		if _, rest, found = strings.Cut(rest, " @"); rest != "" && rest[0] >= '0' && rest[0] <= '9' {
			return true
		}
	}
	return strings.Contains(text, " in envelope ")
}
