package sample

import (
	"math"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// Stratum is what the sampled blocks of one partition hold in all. Blocks are drawn without replacement.
type Stratum struct {
	Blocks  int64   // in the range to be described (M)
	Sampled int64   // of them, read (m); a stratum with none is left out
	Size    float64 // sum over the sampled blocks of n_i, the weight a share is taken of
	Squares float64 // sum of n_i^2
}

// Part is what the sampled blocks of one partition hold of one thing (a key, the records that move, …).
type Part struct {
	Stratum int     // index into the strata
	Sum     float64 // sum of y_i
	Squares float64 // sum of y_i^2
	Cross   float64 // sum of y_i * n_i
}

// Estimate is a share estimated from blocks, with its doubt.
type Estimate struct {
	Share  float64
	Lo, Hi float64 // Korn-Graubard limits at the confidence asked for
	SE     float64 // standard error of Share by clusters within strata; 0 when nothing was left to chance
	DF     float64 // degrees of freedom of SE
	Size   float64 // effective sample size: independent records that would tell as much
	Deff   float64 // design effect: records sampled / effective ones; 0 when not defined
}

// Shares estimates the share of one thing in the weight of all strata by the combined ratio estimator
//
//	s = sum_p (M_p/m_p) sum_i y_pi / sum_p (M_p/m_p) sum_i n_pi
//
// with the variance of its linearised residuals e_pi = y_pi - s n_pi between blocks within strata
//
//	Var(s) = R^-2 sum_p M_p^2 (1 - m_p/M_p) S^2_e,p / m_p,   R the denominator above,   df = sum (m_p - 1)
//
// and Korn-Graubard limits at confidence 1 - alpha: Clopper-Pearson limits for the effective sample size
// n* = min(n, (s(1-s)/Var) (z/t_df)^2). For a share of 0 or 1 the variance says nothing, and each block counts as one
// observation. Strata sampled whole add no variance. parts holds at most one entry a stratum; a stratum with a single
// sampled block of several takes the mean residual variance of the others, as it has none of its own.
//
// records is the number of records behind the sample, for Deff and as the upper bound of n*.
//
// Source: Cochran, Sampling Techniques, 1977, ch. 6 and 9; Korn and Graubard, Survey Methodology 24 (1998).
func Shares(strata []Stratum, parts []Part, records, alpha float64) Estimate {
	var total, sum, df float64
	blocks := 0.0
	by := make([]Part, len(strata))
	for _, p := range parts {
		by[p.Stratum] = p
	}
	for i, st := range strata {
		if st.Sampled == 0 {
			continue // nothing was drawn from it: it is not described
		}
		weight := float64(st.Blocks) / float64(st.Sampled)
		total += weight * st.Size
		sum += weight * by[i].Sum
		blocks += float64(st.Sampled)
		if st.Sampled < st.Blocks {
			df += float64(st.Sampled - 1) // a stratum read whole is no source of doubt
		}
	}
	if total <= 0 {
		return Estimate{Hi: 1}
	}
	e := Estimate{Share: math.Min(1, math.Max(0, sum/total)), DF: df}
	variance, known := e.variance(strata, by, total)
	if known && variance == 0 && e.census(strata) {
		e.Lo, e.Hi, e.Size = e.Share, e.Share, records
		return e
	}
	e.SE = math.Sqrt(variance)
	e.limits(blocks, records, alpha, known)
	return e
}

// census reports whether every stratum was read whole.
func (e *Estimate) census(strata []Stratum) bool {
	for _, st := range strata {
		if st.Sampled < st.Blocks {
			return false
		}
	}
	return true
}

// variance is Var(s); it is not known when no stratum has two sampled blocks.
func (e *Estimate) variance(strata []Stratum, by []Part, total float64) (v float64, known bool) {
	s := e.Share
	residual := func(i int) float64 { // S^2_e of stratum i
		st, p := strata[i], by[i]
		m := float64(st.Sampled)
		sum := p.Sum - s*st.Size
		squares := p.Squares - 2*s*p.Cross + s*s*st.Squares
		return math.Max(0, (squares-sum*sum/m)/(m-1))
	}
	var pooled, pooledDF float64
	for i, st := range strata {
		if st.Sampled > 1 {
			pooled += float64(st.Sampled-1) * residual(i)
			pooledDF += float64(st.Sampled - 1)
		}
	}
	if pooledDF > 0 {
		pooled /= pooledDF
	}
	for i, st := range strata {
		if st.Sampled >= st.Blocks || st.Sampled == 0 {
			continue
		}
		between := pooled
		if st.Sampled > 1 {
			between = residual(i)
		}
		m, blocks := float64(st.Sampled), float64(st.Blocks)
		v += blocks * blocks * (1 - m/blocks) * between / m
	}
	return v / (total * total), pooledDF > 0
}

// limits sets the Korn-Graubard limits, the effective size and the design effect.
func (e *Estimate) limits(blocks, records, alpha float64, known bool) {
	s := e.Share
	variance := e.SE * e.SE
	size := blocks
	if known && variance > 0 {
		size = s * (1 - s) / variance
		e.Deff = records / size
		if e.DF >= 1 {
			z := distuv.UnitNormal.Quantile(1 - alpha/2)
			t := distuv.StudentsT{Sigma: 1, Nu: e.DF}.Quantile(1 - alpha/2)
			size *= (z / t) * (z / t)
		}
	}
	size = math.Min(size, records)
	e.Size = size
	hits := s * size
	e.Lo, e.Hi = 0, 1
	if size <= 0 {
		return
	}
	if s > 0 && hits > 0 {
		e.Lo = mathext.InvRegIncBeta(hits, size-hits+1, alpha/2)
	}
	if s < 1 && size-hits > 0 {
		e.Hi = mathext.InvRegIncBeta(hits+1, size-hits, 1-alpha/2)
	}
}
