package profile

import (
	"fmt"
	"sync"

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

// checkSize refuses candidates whose loads could take more than MaxPlacedBytes. keys is the most keys that each partition
// read can have: its records come no wider than that.
func checkSize(candidates []Candidate, keys []uint64) error {
	var size uint64
	for _, c := range candidates {
		for _, k := range keys {
			size += mostLoadBytes(c.NumPartitions, k)
		}
		if size > MaxPlacedBytes {
			return fmt.Errorf("candidate %s with %d partitions: the loads of all candidates over the %d partitions read "+
				"could take more than the limit of %d MiB: ask for fewer or smaller candidates",
				c.Partitioner, c.NumPartitions, len(keys), MaxPlacedBytes>>20)
		}
	}
	return nil
}

// placed holds one partition's placements under all candidates.
type placed struct {
	*placing
	id  int32 // the partition
	sum []Placed

	spread bool // the first candidate gave some key no partition
}

func (pl *placing) partition(id int32) *placed {
	p := &placed{placing: pl, id: id, sum: make([]Placed, len(pl.candidates))}
	for i, c := range pl.candidates {
		p.sum[i].Loads = newLoads(c.NumPartitions)
	}
	return p
}

// placeBlock is how many keys are placed together: a partitioner in another process is asked once for all of them.
const placeBlock = 1024

// answers is the memory for a partitioner's answers about several keys.
type answers struct {
	out   []int32 // by key and count
	keyed []bool  // by key
}

var answerPool = sync.Pool{New: func() any { return new(answers) }}

// addAll places the records of several keys (nil: the null key). home[i] is set when the first candidate puts keys[i]
// into the partition it is in.
func (p *placed) addAll(keys [][]byte, ws []Weight, home []bool) error {
	a := answerPool.Get().(*answers)
	defer answerPool.Put(a)
	if n := len(keys) * p.widest; n > len(a.out) {
		a.out = make([]int32, n)
	}
	if len(keys) > len(a.keyed) {
		a.keyed = make([]bool, len(keys))
	}
	for gi := range p.groups {
		g := &p.groups[gi]
		out, keyed := a.out[:len(keys)*len(g.counts)], a.keyed[:len(keys)]
		if err := partitioner.PlaceAll(g.partitioner, keys, g.counts, out, keyed); err != nil {
			return fmt.Errorf("placing keys by %s: %w", g.partitioner.ID(), err)
		}
		for k, w := range ws {
			for i, c := range g.candidate {
				s, to := &p.sum[c], out[k*len(g.counts)+i]
				p.spread = p.spread || c == 0 && (!keyed[k] || to < 0)
				switch {
				case !keyed[k]:
					s.Unkeyed = s.Unkeyed.Add(w)
				case to < 0 || to >= s.Loads.n:
					s.Unplaced = s.Unplaced.Add(w)
				default:
					s.Loads.add(to, w)
					if to != p.id {
						s.Moved = s.Moved.Add(w)
					} else if c == 0 {
						home[k] = true
					}
				}
			}
		}
	}
	return nil
}

// addNull places the records without a key.
func (p *placed) addNull(w Weight) error {
	if w.Records == 0 {
		return nil
	}
	return p.addAll([][]byte{nil}, []Weight{w}, make([]bool, 1))
}

// addTable places every key of a table, and reports those that are at home.
func (p *placed) addTable(t *table, home func(e *entry)) error {
	if t == nil {
		return nil
	}
	keys, ws, at := make([][]byte, 0, placeBlock), make([]Weight, 0, placeBlock), make([]bool, placeBlock)
	for start := 0; start < t.n; start += placeBlock {
		end := min(start+placeBlock, t.n)
		keys, ws = keys[:0], ws[:0]
		for i := start; i < end; i++ {
			e := t.entry(i)
			keys, ws = append(keys, t.keyOf(e)), append(ws, e.weight())
		}
		clear(at)
		if err := p.addAll(keys, ws, at[:len(keys)]); err != nil {
			return err
		}
		for i := start; i < end; i++ {
			if at[i-start] {
				home(t.entry(i))
			}
		}
	}
	return nil
}
