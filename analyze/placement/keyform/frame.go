package keyform

import (
	"encoding/binary"
	"encoding/hex"
)

// FrameBytes is the length of a Confluent frame's header.
const FrameBytes = 5

// frame splits a Confluent frame: 0x00, 4 bytes of schema id, payload. Registries count ids from 1.
//
// Source: confluentinc/schema-registry@794611bd schema-serializer PrefixSchemaIdSerializer.
func frame(key []byte) (id uint32, payload []byte, ok bool) {
	if len(key) <= FrameBytes || key[0] != 0 {
		return 0, nil, false
	}
	id = binary.BigEndian.Uint32(key[1:])
	return id, key[FrameBytes:], id > 0 && id < 1<<31
}

// Reframe returns key in a Confluent frame of another schema id; false when key is in none.
func Reframe(key []byte, id uint32) ([]byte, bool) {
	if _, _, ok := frame(key); !ok {
		return nil, false
	}
	out := append([]byte(nil), key...)
	binary.BigEndian.PutUint32(out[1:], id)
	return out, true
}

// framedKey recognises the payload of a frame. Without a payload that is understood it answers only when forced.
func framedKey(id uint32, payload []byte, forced bool) (Key, bool) {
	if id >= plausibleID && !forced {
		return Key{}, false
	}
	k := Key{Form: Confluent, SchemaID: id, Framed: true}
	if s, ok := avroString(payload); ok {
		k.Inner, k.Logical, k.Display = Text, logicalText(s), s
		return k, true
	}
	if n, size := zigzag(payload); size == len(payload) {
		in := number(Long, n)
		k.Inner, k.Logical, k.Display = Decimal, in.Logical, in.Display
		return k, true
	}
	if payload[0] == '{' || payload[0] == '"' || payload[0] == '[' {
		if in, ok := recogniseJSON(payload); ok {
			k.Inner, k.Logical, k.Display, k.Spelling = JSON, in.Logical, in.Display, in.Spelling
			return k, true
		}
	}
	if n := messageIndexes(payload); n > 0 && isMessage(payload[n:]) {
		k.Inner, k.Logical, k.Display = Protobuf, "\x00"+string(payload[n:]), "0x"+hex.EncodeToString(payload[n:])
		return k, true
	}
	k.Inner, k.Logical, k.Display = Binary, "\x00"+string(payload), "0x"+hex.EncodeToString(payload)
	if isMessage(payload) {
		// The same message with indexes has the same logical key: some clients leave the indexes out.
		k.Spelling = "no message indexes"
		return k, true
	}
	return k, forced
}

// avroString reads a payload that is one Avro string and nothing else: a zigzag length and printable text.
func avroString(payload []byte) (string, bool) {
	n, size := zigzag(payload)
	if size <= 0 || n < 1 || n != int64(len(payload)-size) || !isText(payload[size:]) {
		return "", false
	}
	return string(payload[size:]), true
}

// zigzag reads an Avro long; size is 0 when there is none.
func zigzag(b []byte) (n int64, size int) {
	n, size = binary.Varint(b)
	return n, max(0, size)
}

// messageIndexes returns the length of a Protobuf payload's message indexes: a zigzag count and as many indexes, or
// the single byte 0 for the first message. 0: there are none.
//
// Source: confluentinc/schema-registry MessageIndexes.toByteArray.
func messageIndexes(b []byte) int {
	const deepest = 16 // nested messages; more is no message type anyone writes
	count, at := zigzag(b)
	if at == 0 || count < 0 || count > deepest {
		return 0
	}
	for range count {
		i, n := zigzag(b[at:])
		if n == 0 || i < 0 || i > 1000 {
			return 0
		}
		at += n
	}
	return at
}

// isMessage reports whether b reads as a Protobuf message of at least one field.
//
// Source: protobuf.dev/programming-guides/encoding.
func isMessage(b []byte) bool {
	if len(b) == 0 {
		return false
	}
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		if n <= 0 || tag>>3 == 0 || tag>>3 >= 1<<29 {
			return false
		}
		b = b[n:]
		skip := 0
		switch tag & 7 {
		case 0:
			_, skip = binary.Uvarint(b)
		case 1:
			skip = 8
		case 2:
			size, m := binary.Uvarint(b)
			if m <= 0 || size > uint64(len(b)-m) {
				return false
			}
			skip = m + int(size)
		case 5:
			skip = 4
		default:
			return false
		}
		if skip <= 0 || skip > len(b) {
			return false
		}
		b = b[skip:]
	}
	return true
}
