package plan

import (
	"math"
	"testing"
)

// statistics.md B6: 12->24 50 %, 12->18 66.7 %, 12->16 75 %, 12->13 92.3 %, 50->60 83.3 %; stories.md 9: 6->8 75 %,
// 10->50 80 %. Going back moves the same share.
func TestModuloMoved(t *testing.T) {
	for _, tc := range []struct {
		n, m int32
		want float64
	}{
		{12, 24, 1.0 / 2},
		{12, 18, 2.0 / 3},
		{12, 16, 3.0 / 4},
		{12, 13, 12.0 / 13},
		{50, 60, 5.0 / 6},
		{6, 8, 3.0 / 4},
		{10, 50, 4.0 / 5},
		{24, 12, 1.0 / 2},
		{7, 7, 0},
		{1, 5, 4.0 / 5},
	} {
		if got := ModuloMoved(tc.n, tc.m); math.Abs(got-tc.want) > 1e-12 {
			t.Errorf("ModuloMoved(%d, %d) = %v, want %v", tc.n, tc.m, got, tc.want)
		}
	}
}

// The formula counts residues: of all hashes below lcm(n, m), those with h mod n != h mod m.
func TestModuloMovedByCounting(t *testing.T) {
	for n := int32(1); n <= 20; n++ {
		for m := int32(1); m <= 20; m++ {
			moved := 0
			for h := range n * m {
				if h%n != h%m {
					moved++
				}
			}
			if got, want := ModuloMoved(n, m), float64(moved)/float64(n*m); math.Abs(got-want) > 1e-12 {
				t.Errorf("ModuloMoved(%d, %d) = %v, counted %v", n, m, got, want)
			}
		}
	}
}

func TestToValidate(t *testing.T) {
	for _, tc := range []struct {
		to To
		ok bool
	}{{To{NumPartitions: 1}, true}, {To{NumPartitions: MaxPartitions}, true}, {To{NumPartitions: MaxPartitions + 1}, false}, {To{NumPartitions: -1}, false}, {To{}, false}} {
		if err := tc.to.Validate(); (err == nil) != tc.ok {
			t.Errorf("%+v.Validate() = %v, want ok %v", tc.to, err, tc.ok)
		}
	}
}
