package batch

import "encoding/binary"

// parseMessageHeader reads the fixed part of a message of magic 0 or 1.
func parseMessageHeader(entry []byte) Header {
	// offset 0, size 8, crc 12, magic 16, attributes 17, timestamp 18 (magic 1), key, value
	h := Header{
		BaseOffset:   int64(binary.BigEndian.Uint64(entry)),
		LastOffset:   int64(binary.BigEndian.Uint64(entry)),
		MaxTimestamp: -1,
		ProducerID:   -1,
		LeaderEpoch:  -1,
		WireSize:     len(entry),
		Magic:        int8(entry[magicAt]),
		Codec:        Codec(entry[17] & codecBits),
	}
	if h.Magic == 1 {
		h.MaxTimestamp = int64(binary.BigEndian.Uint64(entry[18:]))
		h.LogAppendTime = entry[17]&appendTimeBit != 0
	}
	if h.Codec == None {
		h.Count = 1
	}
	return h
}

// message is what a message of magic 0 or 1 holds beside its offset. A nil key or value is null.
type message struct {
	key, value []byte
}

// parseMessage reads key and value of a whole entry of magic 0 or 1.
func parseMessage(entry []byte) (m message, err error) {
	p := 18
	if entry[magicAt] == 1 {
		p += 8
	}
	field := func(name string) []byte {
		if err != nil {
			return nil
		}
		if len(entry)-p < 4 {
			err = corrupt("message at offset %d ends before its %s", binary.BigEndian.Uint64(entry), name)
			return nil
		}
		size := int32(binary.BigEndian.Uint32(entry[p:]))
		p += 4
		if size < -1 || int64(size) > int64(len(entry)-p) {
			err = corrupt("message at offset %d: %s of %d bytes with %d left", binary.BigEndian.Uint64(entry), name, size, len(entry)-p)
			return nil
		}
		if size == -1 {
			return nil
		}
		f := entry[p : p+int(size) : p+int(size)]
		p += int(size)
		return f
	}
	m.key = field("key")
	m.value = field("value")
	if err == nil && p != len(entry) {
		err = corrupt("message at offset %d has %d bytes after its value", binary.BigEndian.Uint64(entry), len(entry)-p)
	}
	return m, err
}

// openMessage makes the messages of a magic 0 or 1 entry the scanner's body: the entry itself, or the set inside a
// compressed one. It completes the header with the offsets found there.
func (s *Scanner) openMessage(entry []byte) error {
	s.shift = 0
	if s.head.Codec == None {
		s.body = entry
		return nil
	}
	if s.head.Codec == Zstd {
		return corrupt("zstd in a message of magic %d", s.head.Magic)
	}
	m, err := parseMessage(entry)
	if err != nil {
		return err
	}
	if m.value == nil {
		return corrupt("compressed message without a value")
	}
	if s.body, err = s.decompress(s.head.Codec, m.value); err != nil {
		return err
	}
	// Inner offsets are only known to be right once the last one is seen, so all are walked before the first is used.
	first, last := int64(-1), int64(-1)
	for set := s.body; len(set) > 0; {
		inner, _, err := cutEntry(set)
		if err != nil {
			return corrupt("inner %v", err)
		}
		if inner == nil {
			return corrupt("inner message cut off after offset %d", last)
		}
		if inner[magicAt] > 1 || inner[17]&codecBits != 0 {
			return corrupt("inner message of magic %d and codec %d", inner[magicAt], inner[17]&codecBits)
		}
		offset := int64(binary.BigEndian.Uint64(inner))
		if err := checkCRC(inner); err != nil {
			return err
		}
		if offset <= last {
			return corrupt("inner offset %d after %d", offset, last)
		}
		if first < 0 {
			first = offset
		}
		last = offset
		s.head.Count++
		set = set[len(inner):]
	}
	// Magic 0 stores inner offsets as they are, magic 1 relative to a base it does not tell: in both the outer offset is
	// that of the last inner message, also after compaction.
	outer := s.head.LastOffset
	switch {
	case s.head.Count == 0:
		return corrupt("compressed message without messages")
	case last > outer, s.head.Magic == 0 && last != outer:
		return corrupt("inner offsets end at %d, the outer one is %d", last, outer)
	case s.head.Magic == 1:
		s.shift = outer - last
	}
	s.head.BaseOffset = first + s.shift
	return nil
}

// decodeMessages is decode for magic 0 and 1.
func (s *Scanner) decodeMessages(dst []Record) int {
	n := 0
	for n < len(dst) && s.left > 0 {
		entry, _, err := cutEntry(s.body[s.at:])
		if err != nil || entry == nil {
			s.fail(corrupt("message after offset %d is cut off", s.prev))
			break
		}
		m, err := parseMessage(entry)
		if err != nil {
			s.fail(err)
			break
		}
		offset := int64(binary.BigEndian.Uint64(entry)) + s.shift
		s.prev = offset
		s.at += len(entry)
		s.left--
		if offset < s.pos {
			continue
		}
		time := int64(-1)
		switch {
		case s.head.LogAppendTime:
			time = s.head.MaxTimestamp
		case entry[magicAt] == 1:
			time = int64(binary.BigEndian.Uint64(entry[18:]))
		}
		r := Record{Offset: offset, Timestamp: time, Key: m.key, ValueSize: -1}
		if m.value != nil {
			r.ValueSize = int32(len(m.value))
		}
		dst[n] = r
		n++
	}
	return n
}
