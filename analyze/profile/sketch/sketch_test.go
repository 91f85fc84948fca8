package sketch

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/ours-*.sk")

// The key sets of testdata/compare.py: "key-0" to "key-<n-1>".
var sizes = []int{0, 1, 5, 50, 300, 50_000}

const lgK = 10 // as there

func hashes(n int) []Hash {
	var out []Hash
	for i := range n {
		out = append(out, HashOf(fmt.Appendf(nil, "key-%d", i)))
	}
	return out
}

// thetaOf samples n keys with theta a power of two, as profiles do.
func thetaOf(n int) Theta {
	t := Theta{Theta: MaxTheta}
	var ranks []uint64
	for _, h := range hashes(n) {
		ranks = append(ranks, h.Rank())
	}
	slices.Sort(ranks)
	for len(ranks) > 1<<lgK {
		t.Theta = (t.Theta + 1) / 2
		at, _ := slices.BinarySearch(ranks, t.Theta)
		ranks = ranks[:at]
	}
	t.Hashes = ranks
	return t
}

func hllOf(n int) *HLL {
	h := NewHLL(lgK)
	for _, x := range hashes(n) {
		h.Add(x)
	}
	return h
}

// theirs-*.sk are written by the DataSketches library for Python, version 5.2.0, through testdata/compare.py.
func TestReadDataSketches(t *testing.T) {
	for _, n := range sizes {
		theirs, err := ParseTheta(read(t, fmt.Sprintf("theirs-theta-%d.sk", n)))
		if err != nil {
			t.Fatalf("theta of %d keys: %v", n, err)
		}
		var want []uint64
		for _, h := range hashes(n) {
			if h.Rank() < theirs.Theta {
				want = append(want, h.Rank())
			}
		}
		slices.Sort(want)
		if !slices.Equal(theirs.Hashes, want) {
			t.Errorf("theta of %d keys: %d hashes are not our %d below the same theta", n, len(theirs.Hashes), len(want))
		}
		h, err := ParseHLL(read(t, fmt.Sprintf("theirs-hll-%d.sk", n)))
		if err != nil {
			t.Fatalf("HLL of %d keys: %v", n, err)
		}
		if want := hllOf(n); !slices.Equal(h.Regs, want.Regs) {
			t.Errorf("HLL of %d keys: registers %v, want %v", n, h.Regs, want.Regs)
		}
	}
}

// ours-*.sk is what testdata/compare.py check gives to DataSketches.
func TestWrittenAsChecked(t *testing.T) {
	for _, n := range sizes {
		theta, err := thetaOf(n).AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		hll, err := hllOf(n).AppendBinary(nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, got := range map[string][]byte{fmt.Sprintf("ours-theta-%d.sk", n): theta, fmt.Sprintf("ours-hll-%d.sk", n): hll} {
			if *update {
				if err := os.WriteFile(filepath.Join("testdata", name), got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := read(t, name); !bytes.Equal(got, want) {
				t.Errorf("%s: %d bytes differ from the %d that DataSketches was shown to read; if that is meant, "+
					"go test -update, then .ci/check-sketches", name, len(got), len(want))
			}
		}
		// exact theta sketches have one form only, so ours are theirs byte for byte
		if theirs := read(t, fmt.Sprintf("theirs-theta-%d.sk", n)); n <= 1<<lgK && !bytes.Equal(theta, theirs) {
			t.Errorf("theta of %d keys: % x, DataSketches writes % x", n, theta, theirs)
		}
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return b
}

// The estimators' errors over many key sets stay within four standard errors, and on average within a half of one.
func TestEstimates(t *testing.T) {
	for _, n := range []int{1, 100, 3000, 20_000} {
		var sumT, sumH float64
		const sets = 40
		for set := range sets {
			h := NewHLL(lgK)
			th := Theta{Theta: (MaxTheta + 1) / 16}
			for i := range n {
				x := HashOf(fmt.Appendf(nil, "%d/%d", set, i))
				h.Add(x)
				if x.Rank() < th.Theta {
					th.Hashes = append(th.Hashes, x.Rank())
				}
			}
			got, sd := h.Estimate()
			if math.Abs(got-float64(n)) > 4*sd+0.5 {
				t.Errorf("HLL of set %d of %d keys: %.1f +- %.1f", set, n, got, sd)
			}
			sumH += (got - float64(n)) / sd / sets
			est, _ := th.Estimate()
			sd = math.Sqrt(float64(n) * 15) // sqrt(n (1-theta)/theta)
			if math.Abs(est-float64(n)) > 4.5*sd {
				t.Errorf("theta of set %d of %d keys: %.1f", set, n, est)
			}
			sumT += (est - float64(n)) / sd / sets
		}
		// the mean of 40 has a standard error of 1/sqrt(40) = 0.16 in these units
		if math.Abs(sumH) > 0.64 || math.Abs(sumT) > 0.64 {
			t.Errorf("%d keys: estimates are off by %.2f (HLL) and %.2f (theta) standard errors on average", n, sumH, sumT)
		}
	}
}

func TestUnions(t *testing.T) {
	a, b := thetaOf(300), thetaOf(50_000)
	if u := a.Union(b); u.Theta != b.Theta || !slices.Equal(u.Hashes, b.Hashes) {
		t.Errorf("a union with a superset has theta %d and %d hashes, want %d and %d", u.Theta, len(u.Hashes), b.Theta, len(b.Hashes))
	}
	h, whole := hllOf(300), hllOf(50_000)
	if err := h.Merge(whole); err != nil || !slices.Equal(h.Regs, whole.Regs) {
		t.Errorf("merging a superset: %v, registers differ from the superset's", err)
	}
	if err := h.Merge(NewHLL(lgK + 1)); err == nil {
		t.Error("merging sketches of different sizes: no error")
	}
}

func TestRefused(t *testing.T) {
	theta, err := thetaOf(300).AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	hll, err := hllOf(300).AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	with := func(b []byte, at int, v byte) []byte {
		c := slices.Clone(b)
		c[at] = v
		return c
	}
	for _, tt := range []struct {
		name string
		b    []byte
		want string
	}{
		{"empty", nil, "too few"},
		{"version 2", with(theta, atVersion, 2), "version 2"},
		{"other seed", with(theta, 6, 0), "seed"},
		{"big-endian", with(theta, atFlags, theta[atFlags]|1), "big-endian"},
		{"cut", theta[:len(theta)-1], "hashes"},
		{"twice", append(theta[:len(theta)-8:len(theta)-8], theta[16:24]...), "twice"},
		{"zero hash", append(theta[:len(theta)-8:len(theta)-8], make([]byte, 8)...), "hash 299"},
	} {
		if _, err := ParseTheta(tt.b); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("theta, %s: error %v, want one with %q", tt.name, err, tt.want)
		}
	}
	for _, tt := range []struct {
		name string
		b    []byte
		want string
	}{
		{"empty", nil, "too few"},
		{"theta", theta, "family 3"},
		{"HLL_4", with(hll, atMode, modeHLL), "HLL_8"},
		{"lgK 30", with(hll, atLgK, 30), "2^30"},
		{"cut", hll[:len(hll)-1], "want 1064"},
		{"register", with(hll, hllPreamble+7, 64), "register 7"},
	} {
		if _, err := ParseHLL(tt.b); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("HLL, %s: error %v, want one with %q", tt.name, err, tt.want)
		}
	}
	if _, err := (Theta{}).AppendBinary(nil); err == nil {
		t.Error("the zero value was written")
	}
}

// Whatever is parsed can be written and parsed again with the same result, and an error comes without a value.
func FuzzParse(f *testing.F) {
	for _, kind := range []string{"theta", "hll"} {
		for _, n := range sizes[:5] {
			for _, by := range []string{"ours", "theirs"} {
				b, err := os.ReadFile(fmt.Sprintf("testdata/%s-%s-%d.sk", by, kind, n))
				if err != nil {
					f.Fatal(err)
				}
				f.Add(b)
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if th, err := ParseTheta(b); err != nil {
			if th.Theta != 0 || th.Hashes != nil {
				t.Errorf("error %v with a value", err)
			}
		} else {
			w, err := th.AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			again, err := ParseTheta(w)
			if err != nil || again.Theta != th.Theta || !slices.Equal(again.Hashes, th.Hashes) {
				t.Errorf("written and read again: %v %v, want %v", again, err, th)
			}
		}
		if h, err := ParseHLL(b); err != nil {
			if h != nil {
				t.Errorf("error %v with a value", err)
			}
		} else {
			w, err := h.AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			again, err := ParseHLL(w)
			if err != nil || !slices.Equal(again.Regs, h.Regs) {
				t.Errorf("written and read again: %v", err)
			}
		}
	})
}
