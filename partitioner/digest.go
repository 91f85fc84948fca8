package partitioner

import (
	"crypto/md5"
	"crypto/sha1"
	"encoding/binary"
)

// md5Sum is the sum of the 16 bytes of the key's MD5 digest, 0 to 4080. Sums of 16 bytes crowd around 2040, so a topic with
// many partitions is filled unevenly by it.
//
// Source: spreedly/kaffe@1e0facb9 lib/kaffe/partition_selector.ex.
func md5Sum(key []byte) uint32 {
	digest := md5.Sum(key)
	sum := uint32(0)
	for _, b := range digest {
		sum += uint32(b)
	}
	return sum
}

func placeMD5Sum(key []byte, counts, out []int32) error {
	unsignedAll(md5Sum(key), counts, out)
	return nil
}

// placeSHA1 takes the key's SHA-1 digest as one number of 160 bits, modulo n.
//
// Source: Parsely/pykafka@e7665bf3 pykafka/partitioners.py, HashingPartitioner.
func placeSHA1(key []byte, counts, out []int32) error {
	digest := sha1.Sum(key)
	for i, n := range counts {
		rest := uint64(0) // of the words so far; below 2^31, so rest<<32 fits
		for w := 0; w < len(digest); w += 4 {
			rest = (rest<<32 | uint64(binary.BigEndian.Uint32(digest[w:]))) % uint64(n)
		}
		out[i] = int32(rest)
	}
	return nil
}
