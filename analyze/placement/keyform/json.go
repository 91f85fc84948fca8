package keyform

import (
	"bytes"
	"encoding/json"
	"hash/crc32"
	"strings"
)

// mostJSON is the longest key that is parsed as JSON, bytes.
const mostJSON = 64 << 10

// recogniseJSON recognises an object, an array or a string.
func recogniseJSON(key []byte) (Key, bool) {
	trimmed := bytes.TrimLeft(key, " \t\r\n")
	if len(trimmed) == 0 || len(key) > mostJSON || !strings.ContainsRune(`{["`, rune(trimmed[0])) {
		return Key{}, false
	}
	if schema, payload, ok := connectEnvelope(trimmed); ok {
		canonical, ok := canonicalJSON(payload)
		if !ok {
			return Key{}, false
		}
		k := Key{Form: Envelope, Inner: JSON, Logical: logicalJSON(canonical), Display: compactJSON(payload)}
		k.Spelling, k.SchemaSum = spelling(key, nil), crc32.ChecksumIEEE(schema)
		return k, true
	}
	canonical, ok := canonicalJSON(key)
	if !ok {
		return Key{}, false
	}
	return Key{Form: JSON, Logical: logicalJSON(canonical), Display: compactJSON(key), Spelling: spelling(key, canonical)}, true
}

// connectEnvelope returns the parts of what Kafka Connect's JsonConverter writes with schemas.enable=true: an object of
// exactly schema and payload.
func connectEnvelope(key []byte) (schema, payload json.RawMessage, ok bool) {
	if key[0] != '{' || !bytes.Contains(key, []byte(`"payload"`)) || !bytes.Contains(key, []byte(`"schema"`)) {
		return nil, nil, false
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(key, &fields) != nil || len(fields) != 2 {
		return nil, nil, false
	}
	schema, hasSchema := fields["schema"]
	payload, hasPayload := fields["payload"]
	ok = hasSchema && hasPayload && (schema[0] == '{' || string(schema) == "null")
	return schema, payload, ok
}

// canonicalJSON writes a JSON text with sorted fields, no spaces and no needless escapes. Of a field that is given
// twice the last counts. Numbers stay as they are written.
func canonicalJSON(text []byte) ([]byte, bool) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil || dec.More() || len(bytes.TrimSpace(text[dec.InputOffset():])) > 0 {
		return nil, false
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return nil, false
	}
	return bytes.TrimRight(b.Bytes(), "\n"), true
}

// logicalJSON is the logical key of a canonical JSON text: that of a string is the string.
func logicalJSON(canonical []byte) string {
	var s string
	if canonical[0] == '"' && json.Unmarshal(canonical, &s) == nil {
		return logicalText(s)
	}
	return string(canonical)
}

func compactJSON(text []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return string(text)
	}
	return b.String()
}

// spelling tells how a JSON text differs from the canonical one; canonical nil: only whether it has spaces.
func spelling(text, canonical []byte) string {
	switch {
	case len(compactJSON(text)) != len(text):
		return "with spaces"
	case canonical != nil && !bytes.Equal(text, canonical):
		return "other order or escapes"
	}
	return ""
}
