package reports

import (
	"math"
	"testing"

	"keyspread/analyze/skew"
)

// What is known of the keys is said with its doubt, and what is not known is said to be so.
func TestKeysText(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		name string
		of   skew.KeyMeasures
		want string
	}{
		{"exact", skew.KeyMeasures{
			Gini:      skew.Figure{Est: 0.91904, Lo: 0.91904, Hi: 0.91904},
			Effective: skew.Figure{Est: 43.68, Lo: 43.68, Hi: 43.68},
			Entropy:   skew.Figure{Est: 1854.4, Lo: 1854.4, Hi: 1854.4},
		}, "as uneven as 43.7 equal keys, by entropy as 1,854; Gini 0.919"},
		{"a last bit is no doubt", skew.KeyMeasures{
			Gini:      skew.Figure{Est: 0, Lo: 0, Hi: 0},
			Effective: skew.Figure{Est: 50, Lo: math.Nextafter(50, 0), Hi: 50},
			Entropy:   skew.Figure{Est: 50, Lo: 50, Hi: math.Nextafter(50, 60)},
		}, "as uneven as 50.0 equal keys, by entropy as 50.0; Gini 0.000"},
		{"bounded", skew.KeyMeasures{
			Gini:      skew.Figure{Est: 0.9189, Lo: 0.9162, Hi: 0.9216, SE: 0.0014},
			Effective: skew.Figure{Est: 43.681, Lo: 43.679, Hi: 43.683, SE: 0.001},
			Entropy:   skew.Figure{Est: 1855, Lo: 1822, Hi: 1888, SE: 17},
		}, "as uneven as ~43.7 equal keys, by entropy as 1,855 (1,822–1,888); Gini 0.919 (0.916–0.922)"},
		{"blocks", skew.KeyMeasures{
			Gini:      skew.Figure{Est: nan, Lo: 0, Hi: 1},
			Effective: skew.Figure{Est: 100, Lo: 80, Hi: 125, SE: 11},
			Entropy:   skew.Figure{Est: nan, Lo: 80, Hi: inf},
		}, "as uneven as 100.0 (80.0–125.0) equal keys, by entropy cannot tell; Gini cannot tell"},
		{"blocks with little in common", skew.KeyMeasures{
			Gini:      skew.Figure{Est: nan, Lo: 0, Hi: 1},
			Effective: skew.Figure{Est: nan, Lo: 5000, Hi: inf},
			Entropy:   skew.Figure{Est: nan, Lo: 5000, Hi: inf},
		}, "as uneven as at least 5,000 equal keys (how many, cannot tell), by entropy cannot tell; Gini cannot tell"},
		{"nothing known", skew.KeyMeasures{
			Gini:      skew.Figure{Est: nan, Lo: 0, Hi: 1},
			Effective: skew.Figure{Est: nan, Lo: 1, Hi: inf},
			Entropy:   skew.Figure{Est: nan, Lo: 1, Hi: inf},
		}, "effective number cannot tell, by entropy cannot tell; Gini cannot tell"},
	} {
		k := keyMeasures(&skew.Skew{Keys: c.of, Top: make([]skew.Key, 1)})
		if got := keysText(k); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		for _, m := range []Measured{k.Gini, k.Effective, k.Entropy} {
			if (m.Estimate == nil) != (m.StdErr == nil) || m.Estimate != nil && (m.Hi == nil || *m.Estimate < m.Lo || *m.Estimate > *m.Hi) {
				t.Errorf("%s: %+v, want an estimate inside its limits with a standard error, or none", c.name, m)
			}
		}
	}
	if k := keyMeasures(&skew.Skew{}); k != nil {
		t.Errorf("no key: %+v, want null", *k)
	}
}
