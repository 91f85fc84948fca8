package keyform

import (
	"encoding/base64"
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

// Display shows a key in a format; a key that is not of the format is shown in hex. The null key is the caller's.
// Texts are neither escaped nor shortened.
func (c Context) Display(key []byte, f Format) string {
	switch f {
	case Auto:
		k := c.Recognise(key)
		if k.Form == Confluent {
			return k.Display + " (schema " + strconv.FormatUint(uint64(k.SchemaID), 10) + ")"
		}
		return k.Display
	case AsText:
		if isText(key) {
			return string(key)
		}
	case AsBase64:
		return base64.StdEncoding.EncodeToString(key)
	case AsJSON:
		if k, ok := recogniseJSON(key); ok {
			return k.Display
		}
	case AsInt:
		if len(key) == 4 {
			return number(Int, int64(int32(binary.BigEndian.Uint32(key)))).Display
		}
	case AsLong:
		if len(key) == 8 {
			return number(Long, int64(binary.BigEndian.Uint64(key))).Display
		}
	case AsUUID:
		if len(key) == 16 {
			return uuidString(key)
		}
		if isUUIDText(string(key)) {
			return strings.ToLower(string(key))
		}
	case AsConfluent:
		if id, payload, ok := frame(key); ok {
			k, _ := framedKey(id, payload, true)
			return k.Display + " (schema " + strconv.FormatUint(uint64(id), 10) + ")"
		}
	case AsTimeWindow:
		if len(key) > 8 {
			start := int64(binary.BigEndian.Uint64(key[len(key)-8:]))
			return c.Recognise(key[:len(key)-8]).Display + " @" + shownTime(start)
		}
	case AsSessionWindow:
		if len(key) > 16 {
			end := int64(binary.BigEndian.Uint64(key[len(key)-16:]))
			start := int64(binary.BigEndian.Uint64(key[len(key)-8:]))
			return c.Recognise(key[:len(key)-16]).Display + " @" + shownTime(start) + "/" + shownTime(end)
		}
	}
	return "0x" + hex.EncodeToString(key)
}
