package partitioner

import "unicode/utf8"

// javaString is Java's String.hashCode of the key's text: 31*h + unit over UTF-16 units. ok is false when key is not
// valid UTF-8.
func javaString(key []byte) (h uint32, ok bool) {
	for len(key) > 0 {
		if b := key[0]; b < utf8.RuneSelf { // nearly every key, and a call per byte costs more than the hash
			h = 31*h + uint32(b)
			key = key[1:]
			continue
		}
		first, second, size := utf16Units(key)
		if size == 0 {
			return 0, false
		}
		h = 31*h + uint32(first)
		if second != 0 {
			h = 31*h + uint32(second)
		}
		key = key[size:]
	}
	return h, true
}

// javaBytes is Java's Arrays.hashCode(byte[]): 31*h + signed byte, from 1.
func javaBytes(key []byte) uint32 {
	h := uint32(1)
	for _, b := range key {
		h = 31*h + uint32(int32(int8(b)))
	}
	return h
}

func placeJavaStringAbsMinZero(key []byte, counts, out []int32) error {
	h, ok := javaString(key)
	if !ok {
		return errNotText
	}
	absMinZeroAll(h, counts, out)
	return nil
}

func placeJavaStringMask(key []byte, counts, out []int32) error {
	h, ok := javaString(key)
	if !ok {
		return errNotText
	}
	maskAll(h, counts, out)
	return nil
}

func placeJavaStringAbsRaw(key []byte, counts, out []int32) error {
	h, ok := javaString(key)
	if !ok {
		return errNotText
	}
	return absFirstAll(h, counts, out)
}

func placeJavaStringModAbs(key []byte, counts, out []int32) error {
	h, ok := javaString(key)
	if !ok {
		return errNotText
	}
	absAll(h, counts, out)
	return nil
}

func placeJavaStringSumMask(key []byte, counts, out []int32) error {
	h, ok := javaString(key)
	if !ok {
		return errNotText
	}
	sumMaskAll(h, counts, out)
	return nil
}

func placeJavaBytesAbsMinZero(key []byte, counts, out []int32) error {
	absMinZeroAll(javaBytes(key), counts, out)
	return nil
}

func placeJavaBytesMask(key []byte, counts, out []int32) error {
	maskAll(javaBytes(key), counts, out)
	return nil
}
