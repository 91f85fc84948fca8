package synthetic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"keyspread/analyze/source"
)

func newStream(t testing.TB, change func(*Config)) *Stream {
	t.Helper()
	c := DefaultConfig()
	c.Start = 1_767_225_600_000 // 2026-01-01T00:00:00Z
	change(&c)
	s, err := New(c)
	if err != nil {
		t.Fatalf("New(%+v): %v", c, err)
	}
	return s
}

// countKeys drains the stream; the null key counts under "null", the empty key under "".
func countKeys(s *Stream) map[string]int {
	counts := make(map[string]int)
	var r source.Record
	for s.Next(&r) {
		if r.Key == nil {
			counts["null"]++
			continue
		}
		counts[string(r.Key)]++
	}
	return counts
}

func TestShares(t *testing.T) {
	const records = 100_000
	for _, seed := range []uint64{0, 1, 2, math.MaxUint64} {
		s := newStream(t, func(c *Config) {
			c.Seed, c.Records, c.Keys = seed, records, 1000
			c.Hot = []HotKey{{"tenant-7", 0.18}, {"key-00000001", 0.02}} // the second is the first numbered key's name
			c.NullShare, c.EmptyShare = 0.05, 0.001
		})
		got := countKeys(s)
		want := map[string]int{"tenant-7": 18_000, "key-00000001": 2_000, "null": 5_000, "": 100}
		for key, n := range want {
			if got[key] != n {
				t.Errorf("seed %d: %d records of key %q, want exactly %d", seed, got[key], key, n)
			}
		}
		if len(got) > len(want)+1000 {
			t.Errorf("seed %d: %d distinct keys, want at most %d", seed, len(got), len(want)+1000)
		}
		// Rank 1 moved on to the next free number and has the largest share of the rest: 1/H(1000) = 0.1336.
		if share := float64(got["key-00000002"]) / (records - 25_100); math.Abs(share-0.1336) > 0.005 {
			t.Errorf("seed %d: the first numbered key has share %.4f of the numbered records, want 0.1336", seed, share)
		}
	}
}

func TestSharesAreSpreadOverTheStream(t *testing.T) {
	const records, blocks = 200_000, 20
	s := newStream(t, func(c *Config) { c.Records, c.Hot = records, []HotKey{{"hot", 0.3}} })
	var perBlock [blocks]float64
	var r source.Record
	for s.Next(&r) {
		if string(r.Key) == "hot" {
			perBlock[r.Offset*blocks/records]++
		}
	}
	// A block of 10,000 records holds 3000 hot ones with a standard deviation of sqrt(10000*0.3*0.7) = 46.
	for b, n := range perBlock {
		if math.Abs(n-3000) > 5*46 {
			t.Errorf("block %d of %d holds %v hot records, want 3000 within five standard deviations of 46", b, blocks, n)
		}
	}
}

func TestSharesWithoutNumberedKeys(t *testing.T) {
	s := newStream(t, func(c *Config) {
		c.Records, c.Keys = 1000, 0
		c.Hot = []HotKey{{"a", 1.0 / 3}, {"b", 1.0 / 3}, {"c", 1.0 / 3}}
	})
	got := countKeys(s)
	// round(1000/3) = 333 each; the record that is left over goes to the first.
	for key, n := range map[string]int{"a": 334, "b": 333, "c": 333} {
		if got[key] != n {
			t.Errorf("%d records of key %q, want %d", got[key], key, n)
		}
	}
	if len(got) != 3 {
		t.Errorf("keys %v, want a, b and c only", got)
	}
}

// TestZipfRanks compares the drawn ranks with the exact chances k^-s/sum, for exponents on both sides of 1, at 1 and at
// 0. Under the right law the chi-square statistic exceeds its 1-1e-6 quantile once in a million draws of a seed; the
// seeds are fixed, so the test is stable.
func TestZipfRanks(t *testing.T) {
	const draws = 400_000
	for _, n := range []int64{1, 2, 50, 3000} {
		for _, s := range []float64{0, 0.3, 0.99, 1, 1 + 1e-12, 1.01, 1.5, 2, 6} {
			chance := make([]float64, n+1)
			sum := 0.0
			for k := int64(1); k <= n; k++ {
				chance[k] = math.Pow(float64(k), -s)
				sum += chance[k]
			}
			z := newZipf(n, s)
			draw := rand.New(rand.NewPCG(uint64(n), math.Float64bits(s)))
			seen := make([]float64, n+1)
			for range draws {
				k := z.rank(draw)
				if k < 1 || k > n {
					t.Fatalf("n=%d s=%v: rank %d outside [1, %d]", n, s, k, n)
				}
				seen[k]++
			}
			// Ranks that expect fewer than 10 draws are joined from the tail, as the test's approximation needs.
			var statistic, classes, expected, observed float64
			for k := n; k >= 1; k-- {
				expected += draws * chance[k] / sum
				observed += seen[k]
				if expected >= 10 || k == 1 {
					statistic += (observed - expected) * (observed - expected) / expected
					classes++
					expected, observed = 0, 0
				}
			}
			if classes == 1 {
				continue
			}
			if limit := (distuv.ChiSquared{K: classes - 1}).Quantile(1 - 1e-6); statistic > limit {
				t.Errorf("n=%d s=%v: chi-square %.1f over %v classes, want at most %.1f", n, s, statistic, classes, limit)
			}
		}
	}
}

func TestTimes(t *testing.T) {
	const records, hour = 240_000, 3_600_000
	tests := []struct {
		rate     Rate
		duration time.Duration
		bucket   int64   // ms
		at       int64   // bucket
		want     float64 // share of that bucket
	}{
		{RateFlat, 24 * time.Hour, hour, 3, 1.0 / 24},
		// Integral of 1 - 0.75 cos(2π(h-3)/24) over [3, 4], against 24: (1 - 0.75*(24/2π)*sin(2π/24))/24 = 0.01077.
		{RateDaily, 24 * time.Hour, hour, 3, 0.01077},
		// Twelve hours later the cosine has turned: (1 + 0.75*0.98862)/24 = 0.07256.
		{RateDaily, 24 * time.Hour, hour, 15, 0.07256},
		// The middle 2 % at 20 times the rate: 0.02*20/(0.98+0.02*20) = 0.28986.
		{RateBurst, 50 * time.Hour, 1 * hour, -1, 0.28986},
	}
	for _, tt := range tests {
		s := newStream(t, func(c *Config) { c.Records, c.Rate, c.Duration = records, tt.rate, tt.duration })
		start, end := s.config.Start, s.config.Start+tt.duration.Milliseconds()
		low, high := start+tt.at*tt.bucket, start+(tt.at+1)*tt.bucket
		if tt.rate == RateBurst {
			low, high = start+49*hour/2, start+51*hour/2 // 49 % to 51 % of 50 hours
		}
		var inside int
		last := start
		var r source.Record
		for s.Next(&r) {
			if r.Timestamp < last || r.Timestamp >= end {
				t.Fatalf("%v: record %d at %d, want in [%d, %d)", tt.rate, r.Offset, r.Timestamp, last, end)
			}
			last = r.Timestamp
			if r.Timestamp >= low && r.Timestamp < high {
				inside++
			}
		}
		if share := float64(inside) / records; math.Abs(share-tt.want) > 1e-4 {
			t.Errorf("%v: share %.5f of the records in [%d, %d), want %.5f", tt.rate, share, low, high, tt.want)
		}
	}
}

// TestPinned holds the bytes of a stream: generated data must not change between releases without notice. A uniform
// stream of flat rate uses no function whose last bit differs between architectures.
func TestPinned(t *testing.T) {
	digest := func() (uint64, string) {
		s := newStream(t, func(c *Config) {
			c.Seed, c.Records, c.Zipf = 42, 10_000, 0
			c.Hot, c.NullShare, c.EmptyShare = []HotKey{{"hot", 0.1}}, 0.01, 0.01
			c.ValueMin, c.ValueMax = 50, 300
		})
		h := fnv.New64a()
		var first string
		var value []byte
		for r := new(source.Record); s.Next(r); {
			value = s.AppendValue(value[:0], r)
			line := fmt.Sprintf("%d %d %q %v %s\n", r.Offset, r.Timestamp, r.Key, r.Key == nil, value)
			if first == "" {
				first = line
			}
			h.Write([]byte(line))
		}
		return h.Sum64(), first
	}
	got, first := digest()
	if again, _ := digest(); again != got {
		t.Errorf("two streams of one configuration differ: %#x and %#x", got, again)
	}
	const want = 0x2803291e68569a1e // printed by this test when the stream was first released
	if got != want {
		t.Errorf("digest %#x, want %#x; the first record is %s", got, uint64(want), first)
	}
}

func TestKeysDoNotDependOnValues(t *testing.T) {
	with := newStream(t, func(c *Config) { c.Records = 1000 })
	without := newStream(t, func(c *Config) { c.Records = 1000 })
	var a, b source.Record
	for with.Next(&a) {
		with.AppendValue(nil, &a)
		if !without.Next(&b) || !bytes.Equal(a.Key, b.Key) {
			t.Fatalf("record %d: key %q with values made, %q without", a.Offset, a.Key, b.Key)
		}
	}
}

func TestKeyFormats(t *testing.T) {
	tests := []struct {
		format KeyFormat
		prefix string
		digits int
		number int64
		want   string
	}{
		{KeyDecimal, "key-", 8, 42, "key-00000042"},
		{KeyDecimal, "", 1, 9007199254740992, "9007199254740992"},
		{KeyInt64, "", 0, 258, "\x00\x00\x00\x00\x00\x00\x01\x02"},
		{KeyInt64, "p", 0, 1, "p\x00\x00\x00\x00\x00\x00\x00\x01"},
		// mix(1) = 0x5692161d100b05e5 and mix(^1) = 0xda26e52fa3730902, computed in Python from the published constants;
		// the version nibble becomes 4, the variant bits 10.
		{KeyUUID, "", 0, 1, "5692161d-100b-45e5-9a26-e52fa3730902"},
	}
	for _, tt := range tests {
		s := newStream(t, func(c *Config) { c.KeyFormat, c.KeyPrefix, c.KeyDigits = tt.format, tt.prefix, tt.digits })
		got := string(s.numberedKey(tt.number))
		if got != tt.want {
			t.Errorf("%v: key of number %d is %q, want %q", tt.format, tt.number, got, tt.want)
		}
		if tt.format == KeyUUID {
			continue
		}
		if n, ok := s.number([]byte(got)); !ok || n != tt.number {
			t.Errorf("%v: number of key %q is %d (%v), want %d", tt.format, got, n, ok, tt.number)
		}
	}
}

func TestValues(t *testing.T) {
	for _, size := range []int32{0, 1, 79, 80, 81, 200, 5000} {
		s := newStream(t, func(c *Config) { c.Records, c.ValueMin, c.ValueMax = 200, size, size })
		var r source.Record
		for s.Next(&r) {
			value := s.AppendValue([]byte("before"), &r)[len("before"):]
			if len(value) != int(size) {
				t.Fatalf("value of %d bytes, want %d: %s", len(value), size, value)
			}
			if size >= 80 && !json.Valid(value) {
				t.Fatalf("value of %d bytes is not JSON: %s", size, value)
			}
		}
	}
}

func TestValueSizes(t *testing.T) {
	s := newStream(t, func(c *Config) { c.Records, c.ValueMin, c.ValueMax = 60_000, 100, 105 })
	var seen [6]int
	var r source.Record
	for s.Next(&r) {
		seen[r.ValueSize-100]++
	}
	// 10,000 of each size, standard deviation sqrt(60000*(1/6)*(5/6)) = 91.
	for i, n := range seen {
		if math.Abs(float64(n)-10_000) > 5*91 {
			t.Errorf("%d values of %d bytes, want 10000 within five standard deviations of 91", n, 100+i)
		}
	}
}

func TestValidate(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Config)
		want   string // "" for none
	}{
		{"default", func(*Config) {}, ""},
		{"ten tenths", func(c *Config) {
			c.Keys = 0
			for i := range 10 {
				c.Hot = append(c.Hot, HotKey{fmt.Sprint(i), 0.1})
			}
		}, ""},
		{"no records", func(c *Config) { c.Records = 0 }, "records 0: want 1 to 2^53"},
		{"negative exponent", func(c *Config) { c.Zipf = -1 }, "zipf exponent -1: want a finite number >= 0"},
		{"exponent not a number", func(c *Config) { c.Zipf = math.NaN() }, "zipf exponent NaN: want a finite number >= 0"},
		{"share not a number", func(c *Config) { c.NullShare = math.NaN() }, "null keys: share NaN: want 0 to 1"},
		{"sum above 1", func(c *Config) { c.NullShare, c.EmptyShare = 0.6, 0.5 }, "the shares of hot, null and empty keys add up to 1.1, which is more than 1"},
		{"named twice", func(c *Config) { c.Hot = []HotKey{{"a", 0.1}, {"a", 0.1}} }, `hot key "a": named twice`},
		{"hot key without name", func(c *Config) { c.Hot = []HotKey{{"", 0.1}} }, "a hot key needs a name; the empty key has a share of its own"},
		{"nothing to fill up with", func(c *Config) { c.Keys, c.NullShare = 0, 0.5 }, "no numbered keys, but hot, null and empty keys have a share of 0.5 only; want 1 or more than 0 keys"},
		{"sizes turned", func(c *Config) { c.ValueMin = 300 }, "value sizes 300-200: want 0 <= least <= most <= 2^30"},
	}
	for _, tt := range tests {
		c := DefaultConfig()
		tt.change(&c)
		got := ""
		if _, err := New(c); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: error %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestNextAllocatesNothing(t *testing.T) {
	s := newStream(t, func(c *Config) { c.Hot, c.Rate, c.ValueMax = []HotKey{{"hot", 0.1}}, RateDaily, 300 })
	var r source.Record
	value := make([]byte, 0, 300)
	if n := testing.AllocsPerRun(10_000, func() {
		s.Next(&r)
		value = s.AppendValue(value[:0], &r)
	}); n != 0 {
		t.Errorf("%v allocations a record, want 0", n)
	}
}

func BenchmarkNext(b *testing.B) {
	for _, s := range []float64{0, 1, 1.5} {
		for _, values := range []bool{false, true} {
			b.Run(fmt.Sprintf("zipf=%v/values=%v", s, values), func(b *testing.B) {
				stream := newStream(b, func(c *Config) { c.Records, c.Keys, c.Zipf = 1<<40, 1_000_000, s })
				value := make([]byte, 0, 200)
				var r source.Record
				b.ReportAllocs()
				for b.Loop() {
					stream.Next(&r)
					if values {
						value = stream.AppendValue(value[:0], &r)
					}
				}
			})
		}
	}
}

// Runs keep every count exact and have the mean length asked for; the hot key is spread over the whole stream.
func TestHotRuns(t *testing.T) {
	c := DefaultConfig()
	c.Records, c.Keys, c.Hot, c.HotRun, c.NullShare = 200_000, 1000, []HotKey{{"acme", 0.1}, {"hooli", 0.05}}, 10, 0.01
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	runs, half, last := 0, 0, ""
	var r source.Record
	for s.Next(&r) {
		key := string(r.Key)
		if r.Key == nil {
			key = "null"
		}
		count[key]++
		if key == "acme" && r.Offset < c.Records/2 {
			half++
		}
		if key == "acme" && last != "acme" {
			runs++
		}
		last = key
	}
	if count["acme"] != 20_000 || count["hooli"] != 10_000 || count["null"] != 2000 {
		t.Errorf("acme %d, hooli %d, null %d records; want 20000, 10000 and 2000", count["acme"], count["hooli"], count["null"])
	}
	// Runs of mean 10, some of which touch: 2,000 drawn, 5 standard deviations of the geometric lengths are 0.9.
	if mean := float64(count["acme"]) / float64(runs); mean < 9.1 || mean > 12.5 {
		t.Errorf("runs of mean length %.2f, want about 10 and a little more where two touch", mean)
	}
	// Half of the 2,000 runs within five standard deviations of their weight: 10,000 +- 5*sqrt(2000*0.25*200).
	if half < 8400 || half > 11_600 {
		t.Errorf("%d of 20000 records of acme in the first half, want about half", half)
	}
}
