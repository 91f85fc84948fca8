package reports

import (
	"fmt"
	"math"

	"keyspread/analyze/finding"
	"keyspread/analyze/skew"
)

// KeyMeasures say how unevenly one weight is spread over the keys themselves, wherever they are placed: of the records
// that have a key. A sample of blocks tells neither Gini nor Entropy, which hang on the keys it has not seen.
type KeyMeasures struct {
	Gini      Measured `json:"gini"`
	Effective Measured `json:"effective"`         // 1 over the sum of squared shares: as many equal keys are as uneven
	Entropy   Measured `json:"effective_entropy"` // e to the power of the shares' entropy; never below Effective
}

// Measured is a figure with its 95 % interval (a sample's, at its confidence). Exact figures have Lo == Estimate == Hi.
type Measured struct {
	Estimate *float64 `json:"estimate"` // null when it cannot be told
	Lo       float64  `json:"lo"`
	Hi       *float64 `json:"hi"`      // null is no limit
	StdErr   *float64 `json:"std_err"` // of Estimate; null when that is, or the interval is no multiple of it
}

// exact reports whether m carries no doubt.
func (m Measured) exact() bool { return m.Hi != nil && m.Lo == *m.Hi }

// keyMeasures are those of one weight; null without a key.
func keyMeasures(s *skew.Skew) *KeyMeasures {
	if len(s.Top) == 0 {
		return nil
	}
	return &KeyMeasures{measured(s.Keys.Gini), measured(s.Keys.Effective), measured(s.Keys.Entropy)}
}

func measured(f skew.Figure) Measured {
	m := Measured{Estimate: finite(f.Est), Lo: round(f.Lo), Hi: finite(f.Hi)}
	exact := f.Known() && f.Hi-f.Lo <= 1e-9*f.Est
	if f.Known() && (f.SE > 0 || exact) {
		m.StdErr = finite(f.SE)
	}
	if exact {
		m.Lo, m.Hi = *m.Estimate, m.Estimate // as one number, whatever the last bits of the limits are
		return m
	}
	m.Lo = outwards(f.Lo, false)
	if m.Hi != nil {
		*m.Hi = outwards(f.Hi, true)
	}
	return m
}

// keysText says in one line how uneven the keys are.
func keysText(k *KeyMeasures) string {
	s := "effective number cannot tell"
	if text := effectiveKeysText(k.Effective); text != "" {
		s = "as uneven as " + text
	}
	switch {
	case k.Entropy.Estimate != nil:
		s += ", by entropy as " + measuredText(k.Entropy, wholeText)
	case k.Entropy.Hi != nil:
		s += ", by entropy as " + wholeText(k.Entropy.Lo) + " to " + wholeText(*k.Entropy.Hi)
	default:
		s += ", by entropy cannot tell"
	}
	s += "; Gini "
	if k.Gini.Estimate == nil {
		return s + "cannot tell"
	}
	return s + measuredText(k.Gini, figure3)
}

// effectiveKeysText is the effective number of keys in words, with its interval or limit; empty when nothing is known.
func effectiveKeysText(m Measured) string {
	switch {
	case m.Estimate != nil:
		return measuredText(m, wholeText) + " equal keys"
	case m.Hi != nil:
		return wholeText(m.Lo) + " to " + wholeText(*m.Hi) + " equal keys"
	case m.Lo > 1:
		return "at least " + wholeText(m.Lo) + " equal keys (how many, cannot tell)"
	}
	return ""
}

// measuredText is an estimate with its interval in brackets.
func measuredText(m Measured, form func(float64) string) string {
	s := form(*m.Estimate)
	if m.exact() {
		return s
	}
	lo, hi := form(m.Lo), "no limit"
	if m.Hi != nil {
		hi = form(*m.Hi)
	}
	if lo == hi {
		return "~" + s // the ends differ by less than what is shown
	}
	return fmt.Sprintf("%s (%s–%s)", s, lo, hi)
}

// wholeText writes a number of things that need not be whole.
func wholeText(x float64) string {
	if x < 1000 {
		return effectiveText(x)
	}
	return finding.Count(int64(math.Round(x)))
}

// figure3 writes a Gini index with the decimals its interval needs.
func figure3(x float64) string { return fmt.Sprintf("%.3f", x) }
