package reports

import (
	"math"
	"strconv"
	"strings"

	"keyspread/analyze/finding"
)

// digits is how many significant digits a figure keeps in a report, few enough that the last bits of a float, which
// differ between machines that fuse multiplications and those that do not, never show.
const digits = 6

// round returns x to [digits] significant digits; x must be finite.
func round(x float64) float64 {
	r, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64) // cannot fail on its own output
	return r
}

// outwards rounds x to [digits] significant digits, down or up. Figures that need no rounding but for the noise of
// their last bits stay as they are.
func outwards(x float64, up bool) float64 {
	r := round(x)
	if math.Abs(r-x) <= 1e-12*math.Abs(x) {
		return r
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(x)))-digits+1)
	if up && r < x {
		return round(r + unit)
	}
	if !up && r > x {
		return round(r - unit)
	}
	return r
}

// share rounds a fraction; what is less than everything stays so.
func share(x float64) float64 {
	r := round(x)
	if r >= 1 && x < 1 {
		return 1 - math.Pow(10, -digits)
	}
	return r
}

// ratio returns part/whole as a share; 0 of nothing.
func ratio(part, whole int64) float64 {
	if whole == 0 {
		return 0
	}
	return share(float64(part) / float64(whole))
}

// ratios returns the share of a range, rounded outwards when it is not exact.
func ratios(r Range, whole int64) ShareRange {
	if r.Exact() || whole == 0 {
		s := ratio(r.Lo, whole)
		return ShareRange{Lo: s, Hi: s}
	}
	return shareRange(float64(r.Lo)/float64(whole), float64(r.Hi)/float64(whole))
}

func shareRange(lo, hi float64) ShareRange {
	if lo == hi {
		return ShareRange{Lo: share(lo), Hi: share(hi)}
	}
	return ShareRange{Lo: math.Max(0, outwards(lo, false)), Hi: math.Min(1, outwards(hi, true))}
}

// finite returns a pointer to x rounded, nil for an infinity or NaN.
func finite(x float64) *float64 {
	if math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	r := round(x)
	return &r
}

// percentRange writes a share with its bounds: "18.0 %", or "17.9–18.1 %" rounded outwards; that of a sample as its
// estimate and interval, "10.2 % (9.4–11.1 %)".
func percentRange(s ShareRange) string {
	if s.Lo == s.Hi {
		return finding.Percent(s.Lo)
	}
	if s.Estimate != nil {
		return finding.Percent(*s.Estimate) + " (" + percentRange(ShareRange{Lo: s.Lo, Hi: s.Hi}) + ")"
	}
	// As many decimals as tell the ends apart, and at least those that one share of this size has.
	decimals := 1
	for p := s.Hi * 100; p < 1 && decimals < 3; p *= 10 {
		decimals++
	}
	for ; decimals < digits; decimals++ {
		if (s.Hi-s.Lo)*100 >= 0.999*math.Pow10(-decimals) {
			break
		}
	}
	lo, hi := floorTo(s.Lo*100, decimals), ceilTo(s.Hi*100, decimals)
	high := strconv.FormatFloat(hi, 'f', decimals, 64)
	if hi >= 100 {
		high = "100"
		if s.Hi < 1 {
			high = "<100"
		}
	}
	low := strconv.FormatFloat(lo, 'f', decimals, 64)
	if lo == 0 {
		low = "0"
	}
	return low + "–" + high + " %"
}

func floorTo(x float64, decimals int) float64 {
	p := math.Pow10(decimals)
	return math.Floor(x*p+1e-6) / p // 1e-6: 17.9*10 must not fall below 179
}

func ceilTo(x float64, decimals int) float64 {
	p := math.Pow10(decimals)
	return math.Ceil(x*p-1e-6) / p
}

// count writes a whole number in at most nine columns: "9,999,999", then "12.35 M".
func count(n int64) string {
	if n < 10_000_000 {
		return finding.Count(n)
	}
	return scaled(float64(n), 1000, []string{"", " k", " M", " G", " T", " P", " E"})
}

// sizeText writes bytes: "512 B", "34.3 MiB".
func sizeText(n int64) string {
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	return scaled(float64(n), 1024, []string{" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"})
}

// scaled writes x with the largest unit that leaves at least 1: two decimals below 100, one from there on.
func scaled(x, base float64, units []string) string {
	i := 0
	for x >= base && i < len(units)-1 {
		x /= base
		i++
	}
	decimals := 2
	if x >= 100 {
		decimals = 1
	}
	text := strconv.FormatFloat(x, 'f', decimals, 64)
	if f, err := strconv.ParseFloat(text, 64); err == nil && f >= base && i < len(units)-1 { // 1023.99 KiB is 1 MiB
		return scaled(base, base, units[i:])
	}
	return text + units[i]
}

// rangeText writes a range with the given form of a number: "9" or "9–12".
func rangeText(r Range, form func(int64) string) string {
	if r.Exact() {
		return form(r.Lo)
	}
	lo, hi := form(r.Lo), form(r.Hi)
	if lo == hi {
		return "~" + lo // the ends differ by less than what is shown
	}
	if i := strings.LastIndexByte(lo, ' '); i >= 0 && strings.HasSuffix(hi, lo[i:]) {
		lo = lo[:i] // one unit is enough
	}
	return lo + "–" + hi
}

// figure writes a ratio such as PAR, CV or Gini.
func figure(x float64) string {
	switch {
	case x >= 100:
		return count(int64(math.Round(x)))
	case x > 0 && x < 0.01:
		return "<0.01"
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

// partitionsText writes a number of partitions that need not be whole: "5.6"; nil is no limit.
func partitionsText(x *float64) string {
	if x == nil {
		return "no limit"
	}
	if *x >= 1000 {
		return count(int64(math.Floor(*x)))
	}
	return strconv.FormatFloat(*x, 'f', 1, 64)
}
