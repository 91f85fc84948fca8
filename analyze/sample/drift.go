package sample

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"keyspread/analyze/profile"
)

// half is the earlier or the later blocks of every partition, by index in the frame.
type half struct {
	strata  []Stratum
	blocked []bool  // too few blocks to tell a variance: keys seen there cannot be compared
	total   float64 // expanded records
}

// leastInHalf is how many blocks of a partition each half must have for keys that live there to be compared.
const leastInHalf = 2

// halves returns the strata of records of the earlier and of the later blocks. A partition with too few blocks in one
// half counts there by its blocks as a whole, so that the shares of all other keys are shares of the same traffic.
func (c *Collector) halves() (early, late half) {
	for i := range c.frame.partitions {
		pf := &c.frame.partitions[i]
		ce := c.cells[pf.id]
		var sampledLate int64
		for b := range pf.drawn {
			if pf.later(b) {
				sampledLate++
			}
		}
		size, squares := ce.size.y[profile.Records], ce.size.yy[profile.Records]
		l := Stratum{
			Blocks: pf.blocks - pf.blocks/2, Sampled: sampledLate,
			Size: ce.late.y[profile.Records], Squares: ce.late.yy[profile.Records],
		}
		e := Stratum{
			Blocks: pf.blocks / 2, Sampled: int64(len(pf.drawn)) - sampledLate, Size: size - l.Size, Squares: squares - l.Squares,
		}
		whole := Stratum{Sampled: int64(len(pf.drawn)), Size: size, Squares: squares}
		early.add(e, whole)
		late.add(l, whole)
	}
	return early, late
}

func (h *half) add(st, whole Stratum) {
	few := st.Sampled < leastInHalf
	if few {
		whole.Blocks = st.Blocks
		st = whole
	}
	h.strata, h.blocked = append(h.strata, st), append(h.blocked, few)
	if st.Sampled > 0 {
		h.total += float64(st.Blocks) / float64(st.Sampled) * st.Size
	}
}

// share estimates a key's share of the half's records. Its variance is that of a process that goes on, not of the blocks
// that are there: no finite-population correction, or a large sample would call any difference a drift. Most keys live
// in one partition, whose blocks alone tell the variance: the degrees of freedom are Satterthwaite's. ok is false when
// the key was seen where the half has too few blocks.
func (h *half) share(parts []Part) (e Estimate, ok bool) {
	if h.total <= 0 {
		return e, false
	}
	for _, p := range parts {
		if h.blocked[p.Stratum] {
			return e, false
		}
		st := h.strata[p.Stratum]
		e.Share += float64(st.Blocks) / float64(st.Sampled) * p.Sum / h.total
	}
	var variance, df float64
	for _, p := range parts {
		st := h.strata[p.Stratum]
		m, blocks := float64(st.Sampled), float64(st.Blocks)
		sum := p.Sum - e.Share*st.Size
		squares := p.Squares - 2*e.Share*p.Cross + e.Share*e.Share*st.Squares
		v := blocks / h.total * blocks / h.total / m * math.Max(0, (squares-sum*sum/m)/(m-1))
		variance += v
		df += v * v / (m - 1)
	}
	e.SE = math.Sqrt(variance)
	if df > 0 {
		e.DF = variance * variance / df
	}
	return e, true
}

// differ reports whether two shares from independent blocks differ beyond chance (Welch's t).
func differ(a, b Estimate, alpha float64) bool {
	va, vb := a.SE*a.SE, b.SE*b.SE
	if va == 0 || vb == 0 { // a half without the key tells no variance
		return false
	}
	df := (va + vb) * (va + vb) / (va*va/a.DF + vb*vb/b.DF)
	return math.Abs(a.Share-b.Share) > math.Sqrt(va+vb)*distuv.StudentsT{Sigma: 1, Nu: math.Max(1, df)}.Quantile(1-alpha/2)
}
