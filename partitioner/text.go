package partitioner

import (
	"errors"
	"unicode/utf8"
)

// Some clients hash the key as text: Java's String.hashCode and JavaScript's charCodeAt walk UTF-16 units. The tool sees
// the record's bytes, which such a client wrote as UTF-8. A lone surrogate, which both languages allow in a string, has
// already become '?' (Java) or U+FFFD (JavaScript) in those bytes and cannot be told from a real one.

// errNotText is what a class that hashes text answers for bytes that are not UTF-8. [rulePartitioner] turns it into a [KeyError].
var errNotText = errors.New("not valid UTF-8")

// utf16Units returns the one or two UTF-16 units of the first character of key, and the bytes it takes in UTF-8. second is
// 0 for a character of one unit. size is 0 when key does not start with valid UTF-8. key must not be empty.
func utf16Units(key []byte) (first, second uint16, size int) {
	r, size := utf8.DecodeRune(key)
	if r == utf8.RuneError && size == 1 {
		return 0, 0, 0
	}
	first, second = units(r)
	return first, second, size
}

// utf16UnitsReplacing is utf16Units of a decoder that never fails: it answers U+FFFD for each maximal part of an ill-formed
// sequence, as Node's Buffer.toString does. (Go's own decoder answers one U+FFFD a byte.)
//
// Source: Unicode 16.0 chapter 3.9, "U+FFFD substitution of maximal subparts"; WHATWG Encoding, UTF-8 decoder.
func utf16UnitsReplacing(key []byte) (first, second uint16, size int) {
	first, second, size = utf16Units(key)
	if size == 0 {
		return utf8.RuneError, 0, maximalSubpart(key)
	}
	return first, second, size
}

func units(r rune) (first, second uint16) {
	if r < 0x10000 {
		return uint16(r), 0
	}
	r -= 0x10000
	return uint16(0xd800 + r>>10), uint16(0xdc00 + r&0x3ff)
}

// maximalSubpart returns how many bytes of ill-formed UTF-8 at the start of key belong to one replacement character: the
// longest beginning of some well-formed character, or 1.
func maximalSubpart(key []byte) int {
	low, high := byte(0x80), byte(0xbf) // of the second byte, by the first: Unicode table 3-7
	missing := 0                        // continuation bytes after the first
	switch b := key[0]; {
	case b >= 0xc2 && b <= 0xdf:
		missing = 1
	case b >= 0xe0 && b <= 0xef:
		missing = 2
		switch b {
		case 0xe0:
			low = 0xa0
		case 0xed:
			high = 0x9f
		}
	case b >= 0xf0 && b <= 0xf4:
		missing = 3
		switch b {
		case 0xf0:
			low = 0x90
		case 0xf4:
			high = 0x8f
		}
	}
	n := 1
	for n <= missing && n < len(key) && key[n] >= low && key[n] <= high {
		low, high = 0x80, 0xbf
		n++
	}
	return n
}
