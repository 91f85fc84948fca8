package reports

import (
	"math"
	"testing"
)

func TestNumbersForPeople(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{count(0), "0"},
		{count(1_234_567), "1,234,567"},
		{count(9_999_999), "9,999,999"},
		{count(12_345_678), "12.35 M"},
		{count(1_999_999_999), "2.00 G"}, // 1999.999999 M rounds up to the next unit's 2
		{count(math.MaxInt64), "9.22 E"},
		{sizeText(0), "0 B"},
		{sizeText(1023), "1023 B"},
		{sizeText(1024), "1.00 KiB"},
		{sizeText(1<<20 - 1), "1.00 MiB"}, // 1023.999 KiB
		{sizeText(200_000_000), "190.7 MiB"},
		{rangeText(Range{9, 9}, count), "9"},
		{rangeText(Range{900, 1100}, count), "900–1,100"},
		{rangeText(Range{1 << 20, 3 << 20}, sizeText), "1.00–3.00 MiB"},
		{rangeText(Range{1 << 30, 1<<30 + 1}, sizeText), "~1.00 GiB"},
		{figure(2.594), "2.59"},
		{figure(0.001), "<0.01"},
		{figure(0), "0.00"},
		{figure(1234.5), "1,235"},
		{partitionsText(nil), "no limit"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestPercentRange(t *testing.T) {
	for _, c := range []struct {
		lo, hi float64
		want   string
	}{
		{0.18, 0.18, "18.0 %"},
		{0.1793, 0.1804, "17.9–18.1 %"}, // outwards: 17.93 down, 18.04 up
		{0.179, 0.181, "17.9–18.1 %"},   // the ends are figures of their own: not 17.8
		{0.18001, 0.18003, "18.001–18.003 %"},
		{0, 0.0012, "0–0.12 %"},
		{0.99, 0.9999, "99.0–<100 %"}, // 99.99 rounds up to what it is not
		{0.9, 0.99999, "90.0–<100 %"},
		{0.9, 1, "90.0–100 %"},
	} {
		if got := percentRange(ShareRange{Lo: c.lo, Hi: c.hi}); got != c.want {
			t.Errorf("percentRange(%v, %v) = %q, want %q", c.lo, c.hi, got, c.want)
		}
	}
}

// TestPercentRangeOfSample checks that an estimate never stands without its interval, unless nothing is left to chance.
func TestPercentRangeOfSample(t *testing.T) {
	for _, c := range []struct {
		estimate, lo, hi float64
		want             string
	}{
		{0.102, 0.094, 0.111, "10.2 % (9.4–11.1 %)"},
		{0.0015, 0.0002, 0.0042, "0.15 % (0.02–0.42 %)"},
		{0, 0, 0.029, "0 % (0–2.9 %)"},
		{0.5, 0.2, 1, "50.0 % (20.0–100 %)"},
		{0.102, 0.102, 0.102, "10.2 %"}, // every block was read
	} {
		if got := percentRange(ShareRange{Estimate: &c.estimate, Lo: c.lo, Hi: c.hi}); got != c.want {
			t.Errorf("percentRange(%v in [%v, %v]) = %q, want %q", c.estimate, c.lo, c.hi, got, c.want)
		}
	}
}

// TestSharesNeverReachTheEnds checks that rounding does not turn nearly all into all, nor something into nothing.
func TestSharesNeverReachTheEnds(t *testing.T) {
	if got := share(math.Nextafter(1, 0)); got >= 1 {
		t.Errorf("share(1-) = %v, want less than 1", got)
	}
	if got := share(math.SmallestNonzeroFloat64); got <= 0 {
		t.Errorf("share(0+) = %v, want more than 0", got)
	}
	if got := share(1); got != 1 {
		t.Errorf("share(1) = %v, want 1", got)
	}
}

// TestRoundingOutwards checks that rounded bounds hold what they held, and that figures of six digits stay themselves
// although their last bits are noise.
func TestRoundingOutwards(t *testing.T) {
	for _, x := range []float64{1.0 / 3, 2.0 / 3, 0.1234565, 0.9999999, 1e-9 / 7, 17.123456789, 1} {
		if lo := outwards(x, false); lo > x {
			t.Errorf("outwards(%v, down) = %v, which is above it", x, lo)
		}
		if hi := outwards(x, true); hi < x {
			t.Errorf("outwards(%v, up) = %v, which is below it", x, hi)
		}
	}
	for _, x := range []float64{0.18, 0.1 + 0.2, 0, 1, 123456} { // 0.1 + 0.2 is 0.30000000000000004
		if lo, hi := outwards(x, false), outwards(x, true); lo != hi {
			t.Errorf("outwards(%v) = %v, %v; want one figure", x, lo, hi)
		}
	}
}

// What is left without hot keys is called by the comparison with chance, not by a ratio of its own.
func TestWithoutText(t *testing.T) {
	for _, c := range []struct {
		observed, median, p float64
		want                string
	}{
		{1.05, 1.02, 0.001, "level"},
		{1.39, 1.41, 0.6, "as uneven as chance makes it"},
		{1.53, 1.54, 0.5, "as uneven as chance makes it"},
		{1.21, 1.19, 0.04, "as uneven as chance makes it"}, // by so little that nobody asks
		{1.4, 1.2, 0.01, "less even than chance makes it"},
	} {
		w := &ChancePAR{Observed: c.observed, Random: &RandomPAR{Median: c.median, P: c.p}}
		if got := withoutText(w); got != c.want {
			t.Errorf("%v, at random %v (p = %v): %q, want %q", c.observed, c.median, c.p, got, c.want)
		}
	}
}
