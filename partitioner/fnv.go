package partitioner

const (
	fnvOffset = 0x811c9dc5
	fnvPrime  = 0x01000193
)

// fnv1a is FNV-1a in 32 bits: for each byte, xor then multiply. Go's hash/fnv New32a without the interface.
func fnv1a(key []byte) uint32 {
	h := uint32(fnvOffset)
	for _, b := range key {
		h = (h ^ uint32(b)) * fnvPrime
	}
	return h
}

// fnv1 is FNV-1 in 32 bits: for each byte, multiply then xor. It enters where somebody hands Sarama fnv.New32 for fnv.New32a.
func fnv1(key []byte) uint32 {
	h := uint32(fnvOffset)
	for _, b := range key {
		h = h*fnvPrime ^ uint32(b)
	}
	return h
}

func placeFNV1aAbs(key []byte, counts, out []int32) error {
	absAll(fnv1a(key), counts, out)
	return nil
}

func placeFNV1aMask(key []byte, counts, out []int32) error {
	maskAll(fnv1a(key), counts, out)
	return nil
}

func placeFNV1aUnsigned(key []byte, counts, out []int32) error {
	unsignedAll(fnv1a(key), counts, out)
	return nil
}

func placeFNV1aAbsFirst(key []byte, counts, out []int32) error {
	return absFirstAll(fnv1a(key), counts, out)
}

func placeFNV1Abs(key []byte, counts, out []int32) error {
	absAll(fnv1(key), counts, out)
	return nil
}
