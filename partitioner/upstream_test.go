package partitioner

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// TestMurmur2Checksum is Kafka's own UtilsTest.testMurmur2Checksum: the sum of the hashes of 100 arrays of each length 0 to
// 1000 out of java.util.SplittableRandom with seed 0, which fills an array from the low byte of each long upwards.
func TestMurmur2Checksum(t *testing.T) {
	state := uint64(0)
	nextLong := func() uint64 { // SplitMix64
		state += 0x9e3779b97f4a7c15
		z := state
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return z ^ z>>31
	}
	sum := uint64(0)
	for length := range 1001 {
		key := make([]byte, length)
		for range 100 {
			i := 0
			for ; i+8 <= length; i += 8 {
				r := nextLong()
				for b := range 8 {
					key[i+b] = byte(r >> (8 * b))
				}
			}
			if i < length {
				for r := nextLong(); i < length; i++ {
					key[i] = byte(r)
					r >>= 8
				}
			}
			sum += uint64(murmur2(key))
		}
	}
	if want := uint64(0xc3b8cf7c99fc); sum != want { // the constant of that test
		t.Errorf("got %#x, want %#x", sum, want)
	}
}

func TestUpstreamHashes(t *testing.T) {
	for _, c := range []struct {
		source, key string
		want        uint32
	}{
		// apache/kafka UtilsTest.testMurmur2
		{"Kafka UtilsTest", "21", sign(-973932308)},
		{"Kafka UtilsTest", "foobar", sign(-790332482)},
		{"Kafka UtilsTest", "a-little-bit-long-string", sign(-985981536)},
		{"Kafka UtilsTest", "a-little-bit-longer-string", sign(-1486304829)},
		{"Kafka UtilsTest", "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", sign(-58897971)},
		{"Kafka UtilsTest", "abc", 479470107},
		// librdkafka rdmurmur2.c, unittest_murmur2
		{"librdkafka", "kafka", 0xd067cf64},
		{"librdkafka", "giberish123456789", 0x8f552b0c},
		{"librdkafka", "1234", 0x9fc97b14},
		{"librdkafka", "234", 0xe7c009ca},
		{"librdkafka", "34", 0x873930da},
		{"librdkafka", "4", 0x5a4b5ca1},
		{"librdkafka", "", 0x106e08d9},
	} {
		if got := murmur2([]byte(c.key)); got != c.want {
			t.Errorf("murmur2(%q) = %#x, want %#x (%s)", c.key, got, c.want, c.source)
		}
	}
}

func sign(v int32) uint32 { return uint32(v) }

// TestDebeziumNumbers checks numbers, which Debezium hashes through the 4 little-endian bytes of their hashCode. The values are
// the compiled Java's, as given in the specification of the vectors.
func TestDebeziumNumbers(t *testing.T) {
	for _, c := range []struct {
		value    string
		hashCode int32
		want     int32
	}{
		{"Integer 0", 0, 1805505889},
		{"Integer 1", 1, -1931162451},
		{"Integer 42", 42, -1311320038},
		{"Integer 128", 128, 2094871050},
		{"Integer -1", -1, 171705313},
		{"Long 1", 1, -1931162451},
		{"Long -1", 0, 1805505889},
	} {
		u := uint32(c.hashCode)
		key := []byte{byte(u), byte(u >> 8), byte(u >> 16), byte(u >> 24)}
		if got := int32(debeziumMurmur3(key)); got != c.want {
			t.Errorf("%s: got %d, want %d", c.value, got, c.want)
		}
	}
}

// TestPublicCases are placements that people reported in public threads, with every class that a thread disputes.
func TestPublicCases(t *testing.T) {
	ids := []string{"murmur2", "murmur2u", "fnv1a_abs", "fnv1a_mask", "fnv1a_u", "crc32u", "crc32_abs"}
	for _, c := range []struct {
		thread, key string
		n           int32
		want        []int32
	}{
		{"node-rdkafka#817", "fd7af248-ce5c-46a5-93d7-1c0c9005b99d", 32, []int32{26, 26, 19, 19, 19, 23, 9}},
		{"node-rdkafka#616", "354afe16-939a-4ea8-8e17-8bb0840b6886", 10, []int32{4, 4, 5, 3, 1, 9, 7}},
		{"node-rdkafka#616", "f562ac3b-2224-4e25-a0ab-56094e10c239", 10, []int32{5, 3, 0, 0, 0, 6, 0}},
		{"kafkajs#1154 (stories U19)", "TT0124", 15, []int32{10, 3, 2, 2, 2, 9, 7}},
		{"kafkajs#357 (stories U20)", "100:48069", 12, []int32{9, 9, 3, 3, 3, 6, 10}},
		{"sarama#1213", "593b1335-381e-4281-b339-6c85cf06266a", 9, []int32{3, 5, 4, 4, 4, 5, 5}},
		{"sarama#1213", "53aaab45-67b3-468a-a9a7-b74c46868bd1", 9, []int32{4, 4, 1, 1, 3, 0, 0}},
		{"sarama#1213", "d4eeeb1b-8c45-4250-9c2c-131b38208ee8", 9, []int32{6, 6, 8, 8, 8, 5, 8}},
		{"franz-go#669", "test", 840, []int32{479, 479, 251, 717, 5, 76, 180}},
		{"node-sinek#39", "wu", 10, []int32{0, 0, 3, 3, 3, 1, 1}},
		{"confluent-kafka-python#1481 (stories U18)", `Struct{documentKey={"_id": "638d1b94ce8def06be68b439"}}`, 50, []int32{40, 38, 6, 42, 40, 36, 10}},
		{"Confluent blog", "my_key_1", 6, []int32{0, 0, 1, 1, 3, 2, 2}},
		{"Confluent blog", "my_key_2", 6, []int32{4, 0, 2, 0, 2, 2, 2}},
		{"Confluent blog", "my_key_3", 6, []int32{5, 1, 3, 5, 1, 2, 2}},
		{"Confluent blog", "my_key_4", 6, []int32{2, 2, 2, 0, 2, 5, 5}},
	} {
		got := make([]int32, len(ids))
		for i, id := range ids {
			got[i] = placeOne(t, id, []byte(c.key), c.n)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: key %q at %d partitions: got %d, want %d for %q", c.thread, c.key, c.n, got, c.want, ids)
		}
	}
	for _, c := range []struct {
		thread, partitioner, key string
		n, want                  int32
	}{
		// stories U17: the .NET producer "with Murmur2Random" was on librdkafka's default.
		{"confluent-kafka-dotnet#1729", "java", "UFJPRDAuQVNTRVQuMzEwMQ.002.AC000HN.01_RMSVel", 30, 13},
		{"confluent-kafka-dotnet#1729", "confluent-kafka-dotnet", "UFJPRDAuQVNTRVQuMzEwMQ.002.AC000HN.01_RMSVel", 30, 12},
		// stories U18 to U20, by the clients' names.
		{"confluent-kafka-python#1481", "kafka-connect", `Struct{documentKey={"_id": "638d1b94ce8def06be68b439"}}`, 50, 40},
		{"confluent-kafka-python#1481", "confluent-kafka-python", `Struct{documentKey={"_id": "638d1b94ce8def06be68b439"}}`, 50, 36},
		{"kafkajs#1154", "kafkajs", "TT0124", 15, 10},
		{"kafkajs#1154", "node-rdkafka", "TT0124", 15, 9},
		{"kafkajs#357", "java", "100:48069", 12, 9},
		{"kafkajs#357", "kafkajs@1", "100:48069", 12, 6},
		{"node-rdkafka#616", "librdkafka", "354afe16-939a-4ea8-8e17-8bb0840b6886", 10, 9},
		{"sarama#1213", "librdkafka", "d4eeeb1b-8c45-4250-9c2c-131b38208ee8", 9, 5},
		{"sarama#1213", "sarama:custom_crc32", "d4eeeb1b-8c45-4250-9c2c-131b38208ee8", 9, 8},
	} {
		if got := placeOne(t, c.partitioner, []byte(c.key), c.n); got != c.want {
			t.Errorf("%s: %s places %q at %d partitions in %d, want %d", c.thread, c.partitioner, c.key, c.n, got, c.want)
		}
	}
}

// TestSignStep pins the reductions at the one hash that has no absolute value: FNV-1a of "aflcgier" is 0x80000000.
func TestSignStep(t *testing.T) {
	key := []byte("aflcgier")
	if h := fnv1a(key); h != 0x80000000 {
		t.Fatalf("fnv1a(%q) = %#x, want 0x80000000", key, h)
	}
	for _, c := range []struct {
		n, abs, mask int32
		broken       int64
	}{
		{3, 2, 0, -2},  // -2^31 = -715827882*3 - 2
		{10, 8, 0, -8}, // last digit of 2147483648
		{12, 8, 0, -8}, // 2147483648 = 178956970*12 + 8
		{16, 0, 0, 0},  // a power of two divides it
	} {
		for id, want := range map[string]int32{"fnv1a_abs": c.abs, "sarama": c.abs, "librdkafka:fnv1a": c.abs, "fnv1a_mask": c.mask} {
			if got := placeOne(t, id, key, c.n); got != want {
				t.Errorf("%s at %d partitions: got %d, want %d", id, c.n, got, want)
			}
		}
		out := []int32{0, 0}
		keyed, err := parse(t, "sarama@1.9").Place(key, []int32{c.n, 1}, out)
		outside, ok := errors.AsType[*OutsideError](err)
		switch {
		case !keyed || out[1] != 0:
			t.Errorf("at %d and 1 partitions: got keyed=%v, %d; the second count has an answer", c.n, keyed, out)
		case c.broken == 0 && (err != nil || out[0] != 0):
			t.Errorf("at %d partitions: got %d, error %v, want 0", c.n, out[0], err)
		case c.broken != 0 && (!ok || outside.Answer != c.broken || outside.Partitions != c.n || out[0] != -1):
			t.Errorf("at %d partitions: got %d, error %v, want -1 and the answer %d", c.n, out[0], err, c.broken)
		}
	}
	_, err := parse(t, "sarama@1.9").Place(key, []int32{10}, make([]int32, 1))
	const want = `partitioner sarama@1.9:hash answers -8 for this key at 10 partitions: the client itself leaves the range, so the record cannot be produced`
	if err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
}

// TestJavaReductions pins the variants of String.hashCode where they part: "polygenelubricants" has hash code -2^31 (a
// known example), and "a" and "foobar" are on either side of zero (97 and -1268878963, from more-hashes.tsv).
func TestJavaReductions(t *testing.T) {
	const smallest = "polygenelubricants"
	if h, ok := javaString([]byte(smallest)); !ok || h != 1<<31 {
		t.Fatalf("hash code of %q: got %d", smallest, int32(h))
	}
	for _, c := range []struct {
		variant, key string
		want         int32 // at 10 partitions; -1 for an answer outside
	}{
		{"abs_min0", "a", 7},
		{"mask", "a", 7},
		{"abs_raw", "a", 7},
		{"mod_abs", "a", 7},
		{"sum_mask", "a", 7},
		// |-1268878963| ends in 3; masked it is 2147483648-1268878963 = 878604685
		{"abs_min0", "foobar", 3},
		{"mask", "foobar", 5},
		{"abs_raw", "foobar", 3},
		{"mod_abs", "foobar", 3},
		{"sum_mask", "foobar", 5},
		{"abs_min0", smallest, 0},
		{"mask", smallest, 0},
		{"abs_raw", smallest, -1},
		{"mod_abs", smallest, 8},
		{"sum_mask", smallest, 0},
	} {
		out := []int32{0}
		_, err := parse(t, "java_string:"+c.variant).Place([]byte(c.key), []int32{10}, out)
		if out[0] != c.want || (err != nil) != (c.want < 0) {
			t.Errorf("java_string:%s of %q: got %d, error %v, want %d", c.variant, c.key, out[0], err, c.want)
		}
	}
	// 2^31-1 is the other hash a reduction treats apart; the function is pinned as no short key is known for it.
	out := []int32{0}
	if sumMaskAll(1<<31-1, []int32{10}, out); out[0] != 0 {
		t.Errorf("sum_mask of 2^31-1: got %d, want 0", out[0])
	}
	if maskAll(1<<31-1, []int32{10}, out); out[0] != 7 {
		t.Errorf("mask of 2^31-1: got %d, want 7", out[0])
	}
}

// TestPinnedPlacement pins one default per ecosystem on plain keys at 12 partitions, so that a change is seen without the
// vectors. Values computed from the hashes in testdata/vectors/more-hashes.tsv.
func TestPinnedPlacement(t *testing.T) {
	keys := []string{"kafka", "foobar", "Straße", "100:48069"}
	for _, c := range []struct {
		partitioner string
		want        []int32
	}{
		{"java", []int32{4, 6, 1, 9}},
		{"platformatic", []int32{0, 2, 1, 9}},
		{"librdkafka", []int32{11, 5, 5, 6}},
		{"sarama", []int32{5, 0, 8, 3}},
		{"beats", []int32{5, 8, 8, 3}},
		{"kafkajs@1", []int32{7, 5, 7, 6}},
		{"brod", []int32{9, 5, 7, 3}},
		{"kafka-rust", []int32{5, 7, 4, 11}},
		{"spring-cloud-stream", []int32{6, 7, 2, 10}},
		{"maxwell:murmur3", []int32{7, 6, 8, 11}},
	} {
		got := make([]int32, len(keys))
		for i, key := range keys {
			got[i] = placeOne(t, c.partitioner, []byte(key), 12)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s places %q at 12 partitions in %d, was %d: if this is on purpose, keys of live topics are now predicted elsewhere",
				c.partitioner, keys, got, c.want)
		}
	}
}

func TestPlacePanics(t *testing.T) {
	for _, c := range []struct {
		name        string
		counts, out []int32
	}{
		{"count 0", []int32{12, 0}, make([]int32, 2)},
		{"negative count", []int32{-3}, make([]int32, 1)},
		{"lengths differ", []int32{12}, make([]int32, 2)},
	} {
		for _, key := range [][]byte{nil, []byte("k")} {
			for _, id := range []string{"murmur2", "none"} {
				t.Run(fmt.Sprintf("%s/%s/null=%v", c.name, id, key == nil), func(t *testing.T) {
					defer func() {
						if recover() == nil {
							t.Error("no panic")
						}
					}()
					_, _ = parse(t, id).Place(key, c.counts, c.out)
				})
			}
		}
	}
}

// placeOne is the partition of a key that must have one.
func placeOne(t testing.TB, name string, key []byte, n int32) int32 {
	t.Helper()
	return placeKeyed(t, parse(t, name), key, n)
}

func placeKeyed(t testing.TB, p Partitioner, key []byte, n int32) int32 {
	t.Helper()
	out := []int32{-7}
	keyed, err := p.Place(key, []int32{n}, out)
	if !keyed || err != nil {
		t.Fatalf("%s: key %q at %d partitions: keyed=%v, error %v", p.ID(), key, n, keyed, err)
	}
	return out[0]
}
