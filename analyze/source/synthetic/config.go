package synthetic

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// KeyFormat is the form of the numbered keys.
type KeyFormat uint8

// The key formats.
const (
	KeyDecimal KeyFormat = iota // prefix, then the key's number in KeyDigits digits: "customer-0000042"
	KeyUUID                     // prefix, then a version 4 UUID in lower case, derived from the key's number
	KeyInt64                    // prefix, then the key's number as 8 bytes, big-endian
)

var keyFormatNames = []string{"decimal", "uuid", "int64"}

// String returns the format's name on the command line.
func (f KeyFormat) String() string { return name(keyFormatNames, int(f)) }

// ParseKeyFormat returns the format of that name: decimal, uuid or int64.
func ParseKeyFormat(s string) (KeyFormat, error) {
	i, err := parseName("key format", keyFormatNames, s)
	return KeyFormat(i), err
}

// Rate is how the record rate changes over the stream's time.
type Rate uint8

// The rate shapes.
const (
	RateFlat  Rate = iota // the same all the time
	RateDaily             // 1 - 0.75 cos(2π (h-3)/24) at hour h UTC: least at 03:00, seven times as much at 15:00
	RateBurst             // the middle 2 % of the time has 20 times the rate of the rest
)

var rateNames = []string{"flat", "daily", "burst"}

// String returns the shape's name on the command line.
func (r Rate) String() string { return name(rateNames, int(r)) }

// ParseRate returns the shape of that name: flat, daily or burst.
func ParseRate(s string) (Rate, error) {
	i, err := parseName("rate shape", rateNames, s)
	return Rate(i), err
}

func name(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%d", i)
}

func parseName(what string, names []string, s string) (int, error) {
	for i, n := range names {
		if n == s {
			return i, nil
		}
	}
	return 0, fmt.Errorf("unknown %s %q; known: %s", what, s, strings.Join(names, ", "))
}

// HotKey is a key with a share of its own.
type HotKey struct {
	Key   string
	Share float64 // of all records, in (0, 1]
}

// Config describes a stream. [DefaultConfig] holds the values that the command line starts from.
type Config struct {
	Seed    uint64
	Records int64 // > 0

	Keys      int64     // numbered keys, beside the hot ones; 0: none
	Zipf      float64   // exponent s >= 0: the key of rank k is drawn with a chance proportional to k^-s; 0: all alike
	KeyPrefix string    // before every numbered key
	KeyFormat KeyFormat // of every numbered key
	KeyDigits int       // of KeyDecimal, padded with zeros; 0: as many as the largest number has

	Hot        []HotKey // keys with a share of their own; a numbered key never takes such a name
	HotRun     int64    // mean length of the runs in which a hot key's records come, geometric; 0 and 1: no runs
	NullShare  float64  // of all records, [0, 1]
	EmptyShare float64  // of all records, [0, 1]

	ValueMin, ValueMax int32 // bytes, 0 <= ValueMin <= ValueMax; sizes are uniform in [ValueMin, ValueMax]

	Rate     Rate
	Start    int64         // milliseconds since the Unix epoch, of the first moment
	Duration time.Duration // from Start to the end of the stream; 0: all records at Start
}

// DefaultConfig returns a stream of a million records over ten thousand Zipf(1) keys within an hour, values of 200 bytes.
func DefaultConfig() Config {
	return Config{
		Seed:      1,
		Records:   1_000_000,
		Keys:      10_000,
		Zipf:      1,
		KeyPrefix: "key-",
		KeyDigits: 8,
		ValueMin:  200,
		ValueMax:  200,
		Duration:  time.Hour,
	}
}

// The largest values a Config takes. Above 2^53 a Zipf rank is no longer exact as a float64.
const (
	maxRecords   = 1 << 53
	maxKeys      = 1 << 53
	maxValueSize = 1 << 30
	maxDigits    = 64
)

// Validate reports the first value that no stream can have.
func (c Config) Validate() error {
	switch {
	case c.Records <= 0 || c.Records > maxRecords:
		return fmt.Errorf("records %d: want 1 to 2^53", c.Records)
	case c.HotRun < 0 || c.HotRun > maxRecords:
		return fmt.Errorf("hot run %d: want a mean length of 1 or more", c.HotRun)
	case c.Keys < 0 || c.Keys > maxKeys:
		return fmt.Errorf("keys %d: want 0 to 2^53", c.Keys)
	case !(c.Zipf >= 0) || math.IsInf(c.Zipf, 0):
		return fmt.Errorf("zipf exponent %v: want a finite number >= 0", c.Zipf)
	case int(c.KeyFormat) >= len(keyFormatNames):
		return fmt.Errorf("unknown key format %d", c.KeyFormat)
	case c.KeyDigits < 0 || c.KeyDigits > maxDigits:
		return fmt.Errorf("key digits %d: want 0 to %d", c.KeyDigits, maxDigits)
	case c.ValueMin < 0 || c.ValueMax < c.ValueMin || c.ValueMax > maxValueSize:
		return fmt.Errorf("value sizes %d-%d: want 0 <= least <= most <= 2^30", c.ValueMin, c.ValueMax)
	case int(c.Rate) >= len(rateNames):
		return fmt.Errorf("unknown rate shape %d", c.Rate)
	case c.Duration < 0:
		return fmt.Errorf("duration %s: want 0 or more", c.Duration)
	}
	return c.validateShares()
}

func (c Config) validateShares() error {
	sum := 0.0
	add := func(what string, share float64) error {
		if !(share >= 0 && share <= 1) {
			return fmt.Errorf("%s: share %v: want 0 to 1", what, share)
		}
		sum += share
		return nil
	}
	seen := make(map[string]bool, len(c.Hot))
	for _, h := range c.Hot {
		if h.Key == "" {
			return errors.New("a hot key needs a name; the empty key has a share of its own")
		}
		if seen[h.Key] {
			return fmt.Errorf("hot key %q: named twice", h.Key)
		}
		seen[h.Key] = true
		if err := add(fmt.Sprintf("hot key %q", h.Key), h.Share); err != nil {
			return err
		}
	}
	if err := add("null keys", c.NullShare); err != nil {
		return err
	}
	if err := add("empty keys", c.EmptyShare); err != nil {
		return err
	}
	const slack = 1e-9 // ten shares of 0.1 add up to a little less or more than 1
	if sum > 1+slack {
		return fmt.Errorf("the shares of hot, null and empty keys add up to %.6g, which is more than 1", sum)
	}
	if c.Keys == 0 && sum < 1-slack {
		return fmt.Errorf("no numbered keys, but hot, null and empty keys have a share of %.6g only; want 1 or more than 0 keys", sum)
	}
	return nil
}
