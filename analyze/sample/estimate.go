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

// Estimator estimates shares of the weight of the same strata, many times. It does not change once built.
type Estimator struct {
	strata  []Stratum
	records float64 // behind the sample
	alpha   float64
	total   float64 // sum_p (M_p/m_p) sum_i n_pi
	blocks  float64 // sampled
	df      float64
	shrink  float64 // (z/t_df)^2
	census  bool    // every stratum was read whole
}

// NewEstimator prepares estimates at confidence 1 - alpha. records is the number of records behind the sample: the
// upper bound of an effective sample size, and what a design effect is relative to.
func NewEstimator(strata []Stratum, records, alpha float64) *Estimator {
	x := &Estimator{strata: strata, records: records, alpha: alpha, shrink: 1, census: true}
	for _, st := range strata {
		if st.Sampled == 0 {
			continue // nothing was drawn from it: it is not described
		}
		x.total += float64(st.Blocks) / float64(st.Sampled) * st.Size
		x.blocks += float64(st.Sampled)
		if st.Sampled < st.Blocks {
			x.df += float64(st.Sampled - 1) // a stratum read whole is no source of doubt
			x.census = false
		}
	}
	if x.df >= 1 {
		z := distuv.UnitNormal.Quantile(1 - alpha/2)
		t := distuv.StudentsT{Sigma: 1, Nu: x.df}.Quantile(1 - alpha/2)
		x.shrink = (z / t) * (z / t)
	}
	return x
}

// Share estimates the share of one thing in the weight of all strata by the combined ratio estimator
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
// Source: Cochran, Sampling Techniques, 1977, ch. 6 and 9; Korn and Graubard, Survey Methodology 24 (1998).
func (x *Estimator) Share(parts []Part) Estimate {
	e, known := x.point(parts)
	switch {
	case x.total <= 0:
		return Estimate{Hi: 1}
	case x.census:
		e.Lo, e.Hi, e.Size = e.Share, e.Share, x.records
	default:
		x.limits(&e, known)
	}
	return e
}

// point is Share without limits. known is false when no stratum has two sampled blocks.
func (x *Estimator) point(parts []Part) (e Estimate, known bool) {
	if x.total <= 0 {
		return e, false
	}
	by := make([]Part, len(x.strata))
	for _, p := range parts {
		by[p.Stratum] = p
	}
	var sum float64
	for i, st := range x.strata {
		if st.Sampled > 0 {
			sum += float64(st.Blocks) / float64(st.Sampled) * by[i].Sum
		}
	}
	e = Estimate{Share: math.Min(1, math.Max(0, sum/x.total)), DF: x.df}
	variance, known := x.variance(e.Share, by)
	e.SE = math.Sqrt(variance)
	return e, known
}

// variance is Var(s); it is not known when no stratum has two sampled blocks.
func (x *Estimator) variance(s float64, by []Part) (v float64, known bool) {
	residual := func(i int) float64 { // S^2_e of stratum i
		st, p := x.strata[i], by[i]
		m := float64(st.Sampled)
		sum := p.Sum - s*st.Size
		squares := p.Squares - 2*s*p.Cross + s*s*st.Squares
		return math.Max(0, (squares-sum*sum/m)/(m-1))
	}
	var pooled, pooledDF float64
	for i, st := range x.strata {
		if st.Sampled > 1 {
			pooled += float64(st.Sampled-1) * residual(i)
			pooledDF += float64(st.Sampled - 1)
		}
	}
	if pooledDF > 0 {
		pooled /= pooledDF
	}
	for i, st := range x.strata {
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
	return v / (x.total * x.total), pooledDF > 0
}

// limits sets the Korn-Graubard limits, the effective size and the design effect.
func (x *Estimator) limits(e *Estimate, known bool) {
	s, variance := e.Share, e.SE*e.SE
	size := x.blocks
	if known && variance > 0 {
		size = s * (1 - s) / variance
		e.Deff = x.records / size
		size *= x.shrink
	}
	size = math.Min(size, x.records)
	e.Size = size
	hits := s * size
	e.Lo, e.Hi = 0, 1
	if size <= 0 {
		return
	}
	if s > 0 && hits > 0 {
		e.Lo = mathext.InvRegIncBeta(hits, size-hits+1, x.alpha/2)
	}
	if s < 1 && size-hits > 0 {
		e.Hi = mathext.InvRegIncBeta(hits+1, size-hits, 1-x.alpha/2)
	}
}
