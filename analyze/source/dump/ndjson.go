package dump

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"keyspread/analyze/source"
)

// objects reads lines of NDJSON. The keys it makes live in its arena until reset.
type objects struct {
	arena []byte // not nil, or an empty key would be
	line  object
}

// object is a line's members that are looked at.
type object struct {
	Key        json.RawMessage `json:"key"`
	Hex        json.RawMessage `json:"hex"`
	Base64     json.RawMessage `json:"base64"`
	Partition  *int32          `json:"partition"`
	Timestamp  *int64          `json:"timestamp"`
	ValueSize  *int64          `json:"value_size"`
	HeaderSize *int64          `json:"header_size"`
}

// parse reads one line and returns its record and the partition it names, -1 when it names none. Its errors quote
// nothing of the line, which may be a key.
func (o *objects) parse(line []byte) (r source.Record, partition int32, err error) {
	r.Timestamp = -1
	members := &o.line
	*members = object{}
	if err := json.Unmarshal(line, members); err != nil {
		return r, -1, jsonError(err)
	}
	if r.Key, err = o.key(members); err != nil {
		return r, -1, err
	}
	for _, size := range []struct {
		name  string
		from  *int64
		least int64 // -1 is the null value's, a tombstone
		to    *int32
	}{{"value_size", members.ValueSize, -1, &r.ValueSize}, {"header_size", members.HeaderSize, 0, &r.HeaderSize}} {
		if size.from == nil {
			continue
		}
		if *size.from < size.least || *size.from > math.MaxInt32 {
			return r, -1, fmt.Errorf("%s %d is not the size of anything Kafka stores", size.name, *size.from)
		}
		*size.to = int32(*size.from)
	}
	if members.Timestamp != nil {
		r.Timestamp = *members.Timestamp
	}
	if members.Partition == nil {
		return r, -1, nil
	}
	if *members.Partition < 0 {
		return r, -1, fmt.Errorf("partition %d is negative", *members.Partition)
	}
	return r, *members.Partition, nil
}

// key decodes the one member that holds the key. The others may be there as null, as writers with a fixed set of members
// have it; where all are, it is the null key.
func (o *objects) key(line *object) ([]byte, error) {
	raw, decode := line.Key, func(dst, text []byte) ([]byte, error) { return append(dst, text...), nil }
	holds := 0
	for _, member := range []json.RawMessage{line.Key, line.Hex, line.Base64} {
		if member != nil && string(member) != "null" {
			holds++
		}
	}
	switch {
	case holds == 0 && line.Key == nil && line.Hex == nil && line.Base64 == nil:
		return nil, errors.New(`no key: want "key", "hex" or "base64", null for the null key`)
	case holds == 0:
		return nil, nil
	case holds > 1:
		return nil, errors.New(`"key", "hex" and "base64" are one key in different forms: want one of them`)
	case line.Hex != nil && string(line.Hex) != "null":
		raw, decode = line.Hex, func(dst, text []byte) ([]byte, error) {
			if dst, err := hex.AppendDecode(dst, text); err == nil {
				return dst, nil
			}
			return nil, errors.New(`"hex" is not hexadecimal, two digits a byte`) // the cause quotes the key
		}
	case line.Base64 != nil && string(line.Base64) != "null":
		raw, decode = line.Base64, func(dst, text []byte) ([]byte, error) {
			if dst, err := base64.StdEncoding.AppendDecode(dst, text); err == nil {
				return dst, nil
			}
			return nil, errors.New(`"base64" is not base64 with padding`)
		}
	case !isText(raw):
		return nil, errors.New(`the key is not UTF-8, so it would be read as another one: write it as "hex" or "base64"`)
	}
	if raw[0] != '"' {
		return nil, errors.New("the key is neither a string nor null")
	}
	text := []byte(raw[1 : len(raw)-1])
	if bytes.IndexByte(text, '\\') >= 0 {
		var unescaped string
		if err := json.Unmarshal(raw, &unescaped); err != nil {
			return nil, jsonError(err)
		}
		text = []byte(unescaped)
	}
	start := len(o.arena)
	arena, err := decode(o.arena, text)
	if err != nil {
		return nil, err
	}
	o.arena = arena
	return arena[start:len(arena):len(arena)], nil
}

// jsonError says where or in which member a line is wrong.
func jsonError(err error) error {
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("not a JSON object of a record: broken at byte %d", syntax.Offset)
	}
	if member, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && member.Field != "" {
		return fmt.Errorf("not a JSON object of a record: %q is no whole number, or out of range", member.Field)
	}
	return errors.New("not a JSON object of a record")
}

// isText reports whether a JSON value holds text as it was meant: UTF-8, and no half of a surrogate pair. Decoding it
// would replace what is neither.
func isText(raw []byte) bool {
	if !utf8.Valid(raw) {
		return false
	}
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 {
			return true
		}
		r, size := escaped(raw[i:])
		if utf16.IsSurrogate(r) {
			low, more := escaped(raw[i+size:])
			if utf16.DecodeRune(r, low) == utf8.RuneError {
				return false
			}
			size += more
		}
		raw = raw[i+size:]
	}
}

// escaped returns the code unit that raw begins with as \uXXXX and the bytes it takes; 0 for any other beginning, of
// which at most two bytes are taken: an escape of one character.
func escaped(raw []byte) (unit rune, size int) {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0, min(2, len(raw))
	}
	n, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	if err != nil {
		return 0, 2
	}
	return rune(n), 6
}

func (o *objects) reset() { o.arena = o.arena[:0] }
