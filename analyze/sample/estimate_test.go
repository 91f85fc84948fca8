package sample

import (
	"flag"
	"math"
	"math/rand/v2"
	"testing"
)

// full makes the coverage simulation run at its full size: go test ./analyze/sample -run Coverage -full -v
var full = flag.Bool("full", false, "run the coverage simulation at full size and print its table")

// stream is a log cut into blocks: how many records of the key each block of blockSize records holds, by partition.
type stream struct {
	blockSize int
	hits      [][]int // by partition, by block
	truth     float64
}

// burstStream draws a two-state process: the key comes in runs of mean length burst and has the given share of the
// partition it lives in, partition 0; share is of the whole log. burst 1 draws independent records. drift, when set,
// lets the share swing from 0.2 to 1.8 of its mean over the log.
func burstStream(rng *rand.Rand, partitions, blocks, blockSize int, share, burst float64, drift bool) stream {
	st := stream{blockSize: blockSize}
	inside := share * float64(partitions)
	var total float64
	for p := range partitions {
		hits := make([]int, blocks)
		if p == 0 {
			on := rng.Float64() < inside
			for b := range hits {
				target := inside
				if drift {
					target *= 1 + 0.8*math.Sin(2*math.Pi*float64(b)/float64(blocks))
				}
				// Leaving a run has probability 1/burst, entering one keeps the share: leave*s/(1-s).
				leave := 1 / burst
				enter := leave * target / (1 - target)
				for range blockSize {
					if burst <= 1 {
						on = rng.Float64() < target
					} else if on {
						on = rng.Float64() >= leave
					} else {
						on = rng.Float64() < enter
					}
					if on {
						hits[b]++
					}
				}
				total += float64(hits[b])
			}
		}
		st.hits = append(st.hits, hits)
	}
	st.truth = total / float64(partitions*blocks*blockSize)
	return st
}

// draw samples m blocks a partition without replacement and estimates the key's share.
func (st stream) draw(rng *rand.Rand, m int) (Estimate, float64, float64) {
	var strata []Stratum
	var parts []Part
	n := float64(st.blockSize)
	hits, records := 0.0, 0.0
	for p, blocks := range st.hits {
		s := Stratum{Blocks: int64(len(blocks)), Sampled: int64(m), Size: float64(m) * n, Squares: float64(m) * n * n}
		part := Part{Stratum: p}
		for _, b := range rng.Perm(len(blocks))[:m] {
			y := float64(blocks[b])
			part.Sum += y
			part.Squares += y * y
			part.Cross += y * n
		}
		hits += part.Sum
		records += s.Size
		strata = append(strata, s)
		if part.Sum > 0 {
			parts = append(parts, part)
		}
	}
	return NewEstimator(strata, records, 0.05).Share(parts), hits, records
}

// wilson is the interval that takes records as independent: what a naive tool prints.
func wilson(hits, n float64) (lo, hi float64) {
	const z = 1.959964 // normal quantile of 0.975
	p := hits / n
	mid := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return mid - half, mid + half
}

// TestCoverage draws samples from bursty, drifting and independent streams and counts how often the 95 % interval of a
// 10 % key holds the truth. Required at 100 blocks and more: coverage of at least 92 %, and the lower limit above the
// truth in at most 2.6 % of the samples. The simulation's own noise (three standard errors) is allowed for. The naive
// binomial interval must be shown failing on bursts.
func TestCoverage(t *testing.T) {
	streams, samples := 10, 200
	if *full {
		streams, samples = 60, 500
	}
	for _, tc := range []struct {
		name       string
		partitions int
		m          int // blocks a partition
		burst      float64
		drift      bool
	}{
		{"independent", 1, 100, 1, false},
		{"bursts of 10", 1, 100, 10, false},
		{"bursts of 100", 1, 100, 100, false},
		{"bursts of 100, 300 blocks", 1, 300, 100, false},
		{"drift", 1, 100, 1, true},
		{"drift and bursts of 10", 1, 100, 10, true},
		{"four partitions, bursts of 10", 4, 50, 10, false},
	} {
		covered, above, naive, runs := 0, 0, 0, 0
		for seed := range uint64(streams) {
			rng := rand.New(rand.NewPCG(seed, 17))
			st := burstStream(rng, tc.partitions, 2000, 500, 0.1, tc.burst, tc.drift)
			for range samples {
				e, hits, n := st.draw(rng, tc.m)
				runs++
				if e.Lo <= st.truth && st.truth <= e.Hi {
					covered++
				}
				if e.Lo > st.truth {
					above++
				}
				if lo, hi := wilson(hits, n); lo <= st.truth && st.truth <= hi {
					naive++
				}
			}
		}
		r := float64(runs)
		cover, false_, plain := float64(covered)/r, float64(above)/r, float64(naive)/r
		t.Logf("%-30s m=%-3d coverage %.3f  P(lo > truth) %.4f  naive binomial %.3f  (%d samples)",
			tc.name, tc.m*tc.partitions, cover, false_, plain, runs)
		if noise := 3 * math.Sqrt(0.92*0.08/r); cover < 0.92-noise {
			t.Errorf("%s: coverage %.3f, want at least 0.92", tc.name, cover)
		}
		if noise := 3 * math.Sqrt(0.026*0.974/r); false_ > 0.026+noise {
			t.Errorf("%s: the lower limit is above the truth in %.4f of samples, want at most 0.026", tc.name, false_)
		}
		if tc.burst >= 10 && plain > 0.75 {
			t.Errorf("%s: the naive interval covers in %.3f; the stream is not bursty enough to show anything", tc.name, plain)
		}
	}
}

func TestShareEdges(t *testing.T) {
	whole := []Stratum{{Blocks: 4, Sampled: 4, Size: 400, Squares: 40000}}
	if e := NewEstimator(whole, 400, 0.05).Share([]Part{{Sum: 100, Squares: 5000, Cross: 10000}}); e.Share != 0.25 || e.Lo != 0.25 || e.Hi != 0.25 {
		t.Errorf("everything read: %+v, want exactly 0.25", e)
	}
	some := []Stratum{{Blocks: 1000, Sampled: 100, Size: 10_000, Squares: 1e6}}
	// Nothing seen in 100 blocks: the upper limit is 1 - 0.025^(1/100) = 0.0362 with blocks as observations.
	if e := NewEstimator(some, 10_000, 0.05).Share(nil); e.Share != 0 || e.Lo != 0 || math.Abs(e.Hi-0.03622) > 1e-4 {
		t.Errorf("key not seen: %+v, want [0, 0.0362]", e)
	}
	if e := NewEstimator(some, 10_000, 0.05).Share([]Part{{Sum: 10_000, Squares: 1e6, Cross: 1e6}}); e.Share != 1 || e.Hi != 1 || e.Lo < 0.9 || e.Lo >= 1 {
		t.Errorf("key in every record: %+v, want share 1 with a lower limit below it", e)
	}
	if e := NewEstimator(nil, 0, 0.05).Share(nil); e.Lo != 0 || e.Hi != 1 {
		t.Errorf("nothing read: %+v, want the limits [0, 1]", e)
	}
	one := []Stratum{{Blocks: 50, Sampled: 1, Size: 100, Squares: 1e4}}
	if e := NewEstimator(one, 100, 0.05).Share([]Part{{Sum: 30, Squares: 900, Cross: 3000}}); e.Lo > 0.05 || e.Hi < 0.95 {
		t.Errorf("one block only: %+v, want limits that admit to knowing nothing", e)
	}
}

// One stratum of equal blocks is a plain mean: its standard error has a closed form to check against.
func TestShareClosedForm(t *testing.T) {
	// Blocks of 100 with 5, 15, 10, 20, 0 hits out of 20 blocks: share 0.1, S^2 of y is 62.5, so
	// Var = (1-5/20) * 62.5/5 / 100^2 = 9.375e-4 and SE = 0.0306186.
	st := []Stratum{{Blocks: 20, Sampled: 5, Size: 500, Squares: 50_000}}
	e := NewEstimator(st, 500, 0.05).Share([]Part{{Sum: 50, Squares: 750, Cross: 5000}})
	if e.Share != 0.1 || math.Abs(e.SE-0.0306186) > 1e-6 || e.DF != 4 {
		t.Errorf("got %+v, want share 0.1, SE 0.0306186, df 4", e)
	}
}
