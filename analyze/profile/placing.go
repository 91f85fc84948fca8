package profile

import (
	"fmt"

	"keyspread/partitioner"
)

// placing computes the placement of keys under all candidates. It is shared by all partitions and does not change.
type placing struct {
	candidates []Candidate
	groups     []placeGroup
	widest     int // most counts of one group
}

// placeGroup is the candidates of one partitioner, so that it hashes a key once for all of them.
type placeGroup struct {
	partitioner partitioner.Partitioner
	counts      []int32
	candidate   []int // index of counts[i] in candidates
}

// newPlacing lists each candidate once, in the order of the specs.
func newPlacing(specs []CandidateSpec) *placing {
	pl := &placing{}
	seen := map[Candidate]bool{}
	group := map[string]int{}
	for _, s := range specs {
		c := Candidate{Partitioner: s.Partitioner.ID(), NumPartitions: s.NumPartitions}
		if seen[c] {
			continue
		}
		seen[c] = true
		g, ok := group[c.Partitioner]
		if !ok {
			g = len(pl.groups)
			group[c.Partitioner] = g
			pl.groups = append(pl.groups, placeGroup{partitioner: s.Partitioner})
		}
		at := &pl.groups[g]
		at.counts = append(at.counts, c.NumPartitions)
		at.candidate = append(at.candidate, len(pl.candidates))
		pl.candidates = append(pl.candidates, c)
		pl.widest = max(pl.widest, len(at.counts))
	}
	return pl
}

// checkSize refuses candidates whose loads would take more than MaxPlacedBytes for the partitions read.
func (pl *placing) checkSize(partitions int) error {
	var cells int64
	for _, c := range pl.candidates {
		cells += int64(c.NumPartitions) * int64(partitions)
		if size := cells * weightBytes; size > MaxPlacedBytes {
			return fmt.Errorf("candidate %s with %d partitions: the loads of all candidates over the %d partitions read "+
				"would take more than the limit of %d MiB: ask for fewer or smaller candidates",
				c.Partitioner, c.NumPartitions, partitions, MaxPlacedBytes>>20)
		}
	}
	return nil
}

const weightBytes = 16

// placed holds one partition's placements under all candidates.
type placed struct {
	*placing
	id  int32 // the partition
	sum []Placed
	out []int32

	spread bool // the first candidate gave some key no partition
}

func (pl *placing) partition(id int32) *placed {
	p := &placed{placing: pl, id: id, sum: make([]Placed, len(pl.candidates)), out: make([]int32, pl.widest)}
	for i, c := range pl.candidates {
		p.sum[i].Loads = make([]Weight, c.NumPartitions)
	}
	return p
}

// add places the records of one key (nil: the null key). home reports that the first candidate puts the key into the
// partition it is in.
func (p *placed) add(key []byte, w Weight) (home bool, err error) {
	for gi := range p.groups {
		g := &p.groups[gi]
		out := p.out[:len(g.counts)]
		keyed, err := g.partitioner.Place(key, g.counts, out)
		if err != nil {
			if !partitioner.Unplaced(err) {
				return false, fmt.Errorf("placing a key by %s: %w", g.partitioner.ID(), err)
			}
			keyed = true
		}
		for i, c := range g.candidate {
			s := &p.sum[c]
			p.spread = p.spread || c == 0 && (!keyed || out[i] < 0)
			switch to := out[i]; {
			case !keyed:
				s.Unkeyed = s.Unkeyed.Add(w)
			case to < 0 || int(to) >= len(s.Loads):
				s.Unplaced = s.Unplaced.Add(w)
			default:
				s.Loads[to] = s.Loads[to].Add(w)
				if to != p.id {
					s.Moved = s.Moved.Add(w)
				} else if c == 0 {
					home = true
				}
			}
		}
	}
	return home, nil
}
