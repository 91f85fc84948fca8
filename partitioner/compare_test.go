package partitioner

import (
	"hash/crc32"
	"hash/fnv"
	"math/rand/v2"
	"testing"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/murmur3"
)

// sampleKeys are random keys of 1 to 40 bytes, half of them ASCII, from a fixed seed.
func sampleKeys(n int) [][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	keys := make([][]byte, n)
	for i := range keys {
		key := make([]byte, 1+r.IntN(40))
		for j := range key {
			key[j] = byte(r.Uint32())
			if i%2 == 0 {
				key[j] = ' ' + key[j]%95
			}
		}
		keys[i] = key
	}
	return keys
}

var compareCounts = []int32{1, 2, 3, 7, 12, 16, 100, 1000}

// TestAgainstKafkaGo asks kafka-go's balancers themselves.
func TestAgainstKafkaGo(t *testing.T) {
	for name, b := range map[string]kafka.Balancer{
		"kafka-go:hash":               &kafka.Hash{},
		"kafka-go:hash_crc32":         &kafka.Hash{Hasher: crc32.NewIEEE()},
		"kafka-go:reference":          &kafka.ReferenceHash{},
		"kafka-go:crc32":              kafka.CRC32Balancer{},
		"kafka-go:crc32_consistent":   kafka.CRC32Balancer{Consistent: true},
		"kafka-go:murmur2":            kafka.Murmur2Balancer{},
		"kafka-go:murmur2_consistent": kafka.Murmur2Balancer{Consistent: true},
	} {
		p := parse(t, name)
		keys := append(sampleKeys(3000), []byte{})
		if name == "kafka-go:crc32" {
			keys = keys[:3000] // it spreads the empty key
		}
		if p.ID() == "kafka-go:crc32_consistent" || p.ID() == "kafka-go:murmur2_consistent" {
			keys = append(keys, nil)
		}
		for _, n := range compareCounts {
			partitions := make([]int, n)
			for i := range partitions {
				partitions[i] = i
			}
			for _, key := range keys {
				want := b.Balance(kafka.Message{Key: key}, partitions...)
				if got := placeKeyed(t, p, key, n); int(got) != want {
					t.Fatalf("%s: key %q at %d partitions: got %d, kafka-go answers %d", name, key, n, got, want)
				}
			}
		}
	}
}

// TestAgainstFranzGo asks franz-go's hashers and partitioners themselves. Where int has 32 bits SaramaHasher places otherwise;
// the rule for that is another.
func TestAgainstFranzGo(t *testing.T) {
	fnv32a := func(b []byte) uint32 { h := fnv.New32a(); h.Write(b); return h.Sum32() }
	for name, h := range map[string]kgo.PartitionerHasher{
		"franz-go:sticky_key":               nil, // its own murmur2
		"franz-go:kafkahasher_fnv1a":        kgo.KafkaHasher(fnv32a),
		"franz-go:kafkahasher_crc32":        kgo.KafkaHasher(crc32.ChecksumIEEE),
		"franz-go:saramacompathasher":       kgo.SaramaCompatHasher(fnv32a),
		"franz-go:saramacompathasher_crc32": kgo.SaramaCompatHasher(crc32.ChecksumIEEE),
		"franz-go:saramahasher":             kgo.SaramaHasher(fnv32a),
		"franz-go:saramahasher_crc32":       kgo.SaramaHasher(crc32.ChecksumIEEE),
	} {
		p := parse(t, name)
		topic := kgo.StickyKeyPartitioner(h).ForTopic("t")
		for _, n := range compareCounts {
			for _, key := range append(sampleKeys(3000), []byte{}) {
				want := topic.Partition(&kgo.Record{Key: key}, int(n))
				if got := placeKeyed(t, p, key, n); int(got) != want {
					t.Fatalf("%s: key %q at %d partitions: got %d, franz-go answers %d", name, key, n, got, want)
				}
			}
		}
	}
}

// TestAgainstMurmur3 checks MurmurHash3, of which only short keys are in the vectors, against another implementation.
func TestAgainstMurmur3(t *testing.T) {
	for _, seed := range []uint32{0, maxwellSeed} {
		for _, key := range append(sampleKeys(3000), []byte{}) {
			if got, want := murmur3Hash(key, seed), murmur3.SeedSum32(seed, key); got != want {
				t.Fatalf("seed %d, key %q: got %#x, want %#x", seed, key, got, want)
			}
		}
	}
}
