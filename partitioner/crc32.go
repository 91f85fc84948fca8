package partitioner

import (
	"hash/crc32"
	"unicode/utf8"
)

func placeCRC32Unsigned(key []byte, counts, out []int32) error {
	unsignedAll(crc32.ChecksumIEEE(key), counts, out)
	return nil
}

func placeCRC32Abs(key []byte, counts, out []int32) error {
	absAll(crc32.ChecksumIEEE(key), counts, out)
	return nil
}

func placeCRC32Mask(key []byte, counts, out []int32) error {
	maskAll(crc32.ChecksumIEEE(key), counts, out)
	return nil
}

// crc32UTF16 is CRC-32 over the low byte of each UTF-16 unit of the key's text, so it is the CRC-32 of the bytes for ASCII
// keys only. ok is false when key is not valid UTF-8.
//
// Source: oleksiyk/kafka@c36bdeb2 lib/assignment/partitioners/hash_crc32.js.
func crc32UTF16(key []byte) (h uint32, ok bool) {
	h = ^uint32(0)
	for len(key) > 0 {
		if b := key[0]; b < utf8.RuneSelf {
			h = crc32.IEEETable[byte(h)^b] ^ h>>8
			key = key[1:]
			continue
		}
		first, second, size := utf16Units(key)
		if size == 0 {
			return 0, false
		}
		h = crc32.IEEETable[byte(h)^byte(first)] ^ h>>8
		if second != 0 {
			h = crc32.IEEETable[byte(h)^byte(second)] ^ h>>8
		}
		key = key[size:]
	}
	return ^h, true
}

func placeCRC32UTF16(key []byte, counts, out []int32) error {
	h, ok := crc32UTF16(key)
	if !ok {
		return errNotText
	}
	absAll(h, counts, out)
	return nil
}
