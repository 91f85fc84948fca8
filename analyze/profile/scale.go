package profile

import "math"

// Factor is what one sampled record, and one sampled byte, of a partition stands for; by [Unit].
type Factor [2]float64

// of scales a weight, each unit by its own factor, to whole records and bytes.
func (f Factor) of(w Weight) Weight {
	return Weight{scale(w.Records, f[Records]), scale(w.Bytes, f[Bytes])}
}

func scale(n int64, by float64) int64 { return int64(math.Round(float64(n) * by)) }

// Scale returns the profile of a sample as that of the range it was drawn from: every weight of a partition is
// multiplied by its factor, and the mode is [Sampled]. The result shares p's key bytes. Its counts are estimates, and
// package sample says how good they are; bounds of a [Bounded] sample are kept and scaled.
func (p *Profile) Scale(factor func(partition int32) Factor) *Profile {
	q := *p
	q.Candidates = append([]Candidate(nil), p.Candidates...)
	q.Partitions = append([]Partition(nil), p.Partitions...)
	q.cache = &cache{}
	for i := range q.Partitions {
		q.Partitions[i].scale(factor(q.Partitions[i].ID))
	}
	return &q
}

func (p *Partition) scale(f Factor) {
	p.factor, p.Mode = f, Sampled
	p.Total, p.NullKey, p.EmptyKey, p.Missing = f.of(p.Total), f.of(p.NullKey), f.of(p.EmptyKey), f.of(p.Missing)
	p.KeyBytes = scale(p.KeyBytes, f[Bytes])
	p.ValueBytes = scale(p.ValueBytes, f[Bytes])
	p.HeaderBytes = scale(p.HeaderBytes, f[Bytes])
	p.Tombstones = scale(p.Tombstones, f[Records])
	for i, n := range p.Sizes {
		p.Sizes[i] = scale(n, f[Records])
	}
	placed := make([]Placed, len(p.Placed))
	for i, c := range p.Placed {
		placed[i] = Placed{
			Loads: newLoads(c.Loads.n), Moved: f.of(c.Moved), Unkeyed: f.of(c.Unkeyed), Unplaced: f.of(c.Unplaced),
		}
		for to, w := range c.Loads.All() {
			placed[i].Loads.add(to, f.of(w))
		}
	}
	p.Placed = placed
	cells := make([]Weight, len(p.Grid.Cells))
	for i, w := range p.Grid.Cells {
		cells[i] = f.of(w)
	}
	p.Grid.Cells = cells
}

// weightOf returns an entry's weight, scaled when the partition is.
func (p *Partition) weightOf(e *entry) Weight {
	if p.Mode != Sampled {
		return e.weight()
	}
	return p.factor.of(e.weight())
}
