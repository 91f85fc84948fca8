package finding

import (
	"math"
	"testing"
)

func TestPercent(t *testing.T) {
	for _, c := range []struct {
		share float64
		want  string
	}{
		{-0.1, "0 %"},
		{0, "0 %"},
		{math.SmallestNonzeroFloat64, "<0.001 %"},
		{0.0000099, "<0.001 %"}, // 0.00099 %
		{0.00001, "0.001 %"},
		{0.0004567, "0.046 %"},
		{0.001, "0.10 %"},
		{0.0099, "0.99 %"},
		{0.01, "1.0 %"},
		{0.12345, "12.3 %"},
		{0.9994, "99.9 %"},
		{0.99949, "99.9 %"},
		{0.9995, ">99.9 %"}, // one decimal would be 100.0
		{0.99951, ">99.9 %"},
		{math.Nextafter(1, 0), ">99.9 %"},
		{1, "100 %"},
		{1.5, "100 %"},
	} {
		if got := Percent(c.share); got != c.want {
			t.Errorf("Percent(%v) = %q, want %q", c.share, got, c.want)
		}
	}
}

func TestAtMost(t *testing.T) {
	for share, want := range map[float64]string{0: "at most 0 %", 0.000001: "less than 0.001 %", 0.0091: "at most 0.91 %", 0.9999: "less than 100 %", 1: "at most 100 %"} {
		if got := AtMost(share); got != want {
			t.Errorf("AtMost(%v) = %q, want %q", share, got, want)
		}
	}
}

func TestPercentRange(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		want   string
	}{
		{0.1, 0.1, "10.0 %"},
		{0.1001, 0.1002, "10.0 %"}, // the same figure at this precision
		{0.094, 0.111, "9.4 % to 11.1 %"},
		{0, 1, "0 % to 100 %"},
		{0.9994, 0.9996, "99.9 % to >99.9 %"},
	} {
		if got := PercentRange(c.lo, c.hi); got != c.want {
			t.Errorf("PercentRange(%v, %v) = %q, want %q", c.lo, c.hi, got, c.want)
		}
	}
}

func TestCount(t *testing.T) {
	for _, c := range []struct {
		n    int64
		want string
	}{
		{0, "0"},
		{999, "999"},
		{1000, "1,000"},
		{-1000, "-1,000"},
		{-999, "-999"},
		{1234567, "1,234,567"},
		{math.MinInt64, "-9,223,372,036,854,775,808"},
		{math.MaxInt64, "9,223,372,036,854,775,807"},
	} {
		if got := Count(c.n); got != c.want {
			t.Errorf("Count(%d) = %q, want %q", c.n, got, c.want)
		}
	}
}

func TestPlural(t *testing.T) {
	for _, c := range []struct {
		n    int64
		want string
	}{{0, "0 keys"}, {1, "1 key"}, {2, "2 keys"}, {3000, "3,000 keys"}} {
		if got := Plural(c.n, "key", "keys"); got != c.want {
			t.Errorf("Plural(%d) = %q, want %q", c.n, got, c.want)
		}
	}
}
