package plan

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"keyspread/analyze/profile"
	"keyspread/analyze/sample"
	"keyspread/analyze/skew"
	"keyspread/partitioner"
)

// To is a candidate as asked for: a partition count, a partitioner, or both.
type To struct {
	Partitioner   partitioner.Partitioner // nil: the one assumed for the topic
	NumPartitions int32                   // 0: as many as the topic has
}

// MaxPartitions is the largest partition count a plan takes. Kafka's own limits per cluster lie far below it for one
// topic; loads are kept per source and future partition, so the bound keeps their memory sane.
const MaxPartitions = 100_000

// Validate reports a count out of range.
func (t To) Validate() error {
	switch {
	case t.NumPartitions < 0 || t.NumPartitions > MaxPartitions:
		return fmt.Errorf("planning for %d partitions: a count must be between 1 and %d", t.NumPartitions, MaxPartitions)
	case t.Partitioner == nil && t.NumPartitions == 0:
		return errors.New("planning for nothing: a candidate needs a partition count or a partitioner")
	}
	return nil
}

// heavyKeys is how many of a topic's heaviest keys are placed one by one to name those of a candidate's hottest
// partition, and hottestKeys how many of them are named.
const (
	heavyKeys   = 1000
	hottestKeys = 5
)

// Simulate builds the plan of p.Candidates[i], placed by pt, from the profile's loads. records and bytes are the
// judgement of the topic as it is, e the estimates when the profile is a scaled sample (nil otherwise).
//
// Loads, moved weights and the matrix are exact at any cardinality. The count of moved keys needs every key and is
// known in exact mode only.
//
// It costs O(partitions * candidate partitions), and in exact mode one hash per distinct key.
func Simulate(p *profile.Profile, i int, pt partitioner.Partitioner, records, bytes *skew.Skew, e *sample.Estimates) (Plan, error) {
	c := p.Candidates[i]
	plan := Plan{Candidate: c, From: p.Candidates[0]}
	if c.Partitioner == plan.From.Partitioner {
		plan.HasFormula = true
		plan.FormulaMoved = ModuloMoved(plan.From.NumPartitions, c.NumPartitions)
	}

	loads := make([]profile.Weight, c.NumPartitions)
	var moved profile.Weight
	for pi := range p.Partitions {
		part := &p.Partitions[pi]
		placed := &part.Placed[i]
		for to, w := range placed.Loads.All() {
			loads[to] = loads[to].Add(w)
			plan.Matrix = append(plan.Matrix, Cell{From: part.ID, To: to, Weight: w})
		}
		moved = moved.Add(placed.Moved)
		plan.Unkeyed = plan.Unkeyed.Add(placed.Unkeyed)
		plan.Unplaced = plan.Unplaced.Add(placed.Unplaced)
	}

	if p.Mode() == profile.Exact {
		var err error
		if plan.Keys, plan.MovedKeys, err = movedKeys(p, pt, c.NumPartitions); err != nil {
			return Plan{}, err
		}
		plan.KeysKnown = true
	}
	var err error
	if plan.Records, err = side(p, profile.Records, pt, loads, plan.Unkeyed, moved, e); err != nil {
		return Plan{}, err
	}
	if plan.Bytes, err = side(p, profile.Bytes, pt, loads, plan.Unkeyed, moved, e); err != nil {
		return Plan{}, err
	}
	if e != nil {
		plan.Records.doubt(&e.Candidates[i])
		plan.Bytes.doubt(&e.Candidates[i])
	}
	if plan.HotKeys, err = hotKeys(pt, c.NumPartitions, records, bytes, e); err != nil {
		return Plan{}, err
	}
	plan.Limit = limit(p, c.NumPartitions, records)
	return plan, nil
}

// ModuloMoved is the share of keys that a modulo partitioner sends elsewhere when n partitions become m, for keys
// whose hash is uniform:
//
//	1 - gcd(n, m) / max(n, m)
//
// Of the lcm(n, m) residues of a hash, min(n, m) satisfy h mod n == h mod m, and min/lcm = gcd/max.
func ModuloMoved(n, m int32) float64 {
	g, r := n, m
	for r != 0 {
		g, r = r, g%r
	}
	return 1 - float64(g)/float64(max(n, m))
}

// placeBlock is how many keys are placed together: a partitioner in another process is asked once for all of them.
const placeBlock = 1024

// movedKeys counts the keys that pt places and those of them that have records in another partition than that.
func movedKeys(p *profile.Profile, pt partitioner.Partitioner, n int32) (keys, moved int64, err error) {
	block, where := make([][]byte, 0, placeBlock), make([][]profile.Key, 0, placeBlock)
	counts, out, keyed := []int32{n}, make([]int32, placeBlock), make([]bool, placeBlock)
	flush := func() error {
		if err := partitioner.PlaceAll(pt, block, counts, out[:len(block)], keyed[:len(block)]); err != nil {
			return fmt.Errorf("placing keys under %s at %d partitions: %w", pt.ID(), n, err)
		}
		for i := range block {
			if !keyed[i] || out[i] < 0 {
				continue
			}
			keys++
			if slices.ContainsFunc(where[i], func(in profile.Key) bool { return in.Partition != out[i] }) {
				moved++
			}
		}
		block, where = block[:0], where[:0]
		return nil
	}
	p.EachSampled(func(k profile.TopKey) bool { // in exact mode that is every key, with every partition it is in
		if block, where = append(block, k.Key), append(where, k.Where); len(block) == placeBlock {
			err = flush()
		}
		return err == nil
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return 0, 0, err
	}
	return keys, moved, nil
}

// place returns the future partition of one key; -1 when the client itself answers none inside [0, n).
func place(pt partitioner.Partitioner, key []byte, n int32) (to int32, keyed bool, err error) {
	counts, out := [1]int32{n}, [1]int32{-1}
	keyed, err = pt.Place(key, counts[:], out[:])
	if partitioner.Unplaced(err) {
		err, keyed = nil, true
	}
	if err != nil {
		return -1, false, fmt.Errorf("placing a key under %s at %d partitions: %w", pt.ID(), n, err)
	}
	return out[0], keyed, nil
}

// side judges the future loads in one unit.
func side(p *profile.Profile, unit profile.Unit, pt partitioner.Partitioner, loads []profile.Weight, unkeyed, moved profile.Weight, e *sample.Estimates) (Side, error) {
	s := Side{Unit: unit, Total: p.Total().Of(unit), Loads: make([]float64, len(loads)), Moved: moved.Of(unit)}
	spread := float64(unkeyed.Of(unit)) / float64(len(loads))
	var keyed int64
	for to, w := range loads {
		keyed += w.Of(unit)
		s.Loads[to] = float64(w.Of(unit)) + spread
	}
	if keyed > 0 {
		s.MovedShare = float64(s.Moved) / float64(keyed)
	}
	s.MovedRange = skew.Share{Est: s.MovedShare, Lo: s.MovedShare, Hi: s.MovedShare}
	s.Measures = skew.Measure(s.Loads)
	s.PARLo, s.PARHi = s.Measures.PAR, s.Measures.PAR
	if s.Measures.Hottest < 0 {
		return s, nil
	}
	s.HottestLoad = s.Loads[s.Measures.Hottest] / float64(s.Total)
	share := skew.ShareFunc(unit, s.Total, e)
	for _, t := range p.Top(heavyKeys, unit) {
		m, keyed, err := move(pt, int32(len(loads)), t, share)
		if err != nil {
			return Side{}, err
		}
		if keyed && m.To == s.Measures.Hottest {
			s.HottestKeys = append(s.HottestKeys, m)
			if len(s.HottestKeys) == hottestKeys {
				break
			}
		}
	}
	return s, nil
}

// doubt sets the intervals of a sampled side. Limits of a share of the whole are carried over to the share of what is
// keyed, and from the hottest load to PAR, in proportion: the other term is known far better.
func (s *Side) doubt(c *sample.CandidateEstimate) {
	if moved := c.Moved[s.Unit]; moved.Share > 0 {
		s.MovedRange.Lo = s.MovedShare * moved.Lo / moved.Share
		s.MovedRange.Hi = math.Min(1, s.MovedShare*moved.Hi/moved.Share)
	} else {
		s.MovedRange.Hi = moved.Hi
	}
	if s.Measures.Hottest < 0 {
		return
	}
	if load := c.Loads[s.Unit][s.Measures.Hottest]; load.Share > 0 {
		s.PARLo = math.Max(1, s.Measures.PAR*load.Lo/load.Share)
		s.PARHi = s.Measures.PAR * load.Hi / load.Share
	}
}

func move(pt partitioner.Partitioner, n int32, t profile.TopKey, share func(profile.TopKey) skew.Share) (KeyMove, bool, error) {
	to, keyed, err := place(pt, t.Key, n)
	if err != nil || !keyed {
		return KeyMove{}, false, err
	}
	m := KeyMove{Key: t.Key, Lo: t.Lo, Hi: t.Hi, To: to, Share: share(t)}
	for _, w := range t.Where {
		m.From = append(m.From, w.Partition)
		m.Moved = m.Moved || w.Partition != to
	}
	return m, true, nil
}

// hotKeys says where the keys that are hot or undecided in records or bytes would go, heaviest in records first.
func hotKeys(pt partitioner.Partitioner, n int32, records, bytes *skew.Skew, e *sample.Estimates) ([]KeyMove, error) {
	share := skew.ShareFunc(profile.Records, records.Total, e)
	var moves []KeyMove
	seen := make(map[string]bool)
	for _, s := range []*skew.Skew{records, bytes} {
		for _, k := range s.Top {
			if k.Verdict == skew.NotHot || seen[string(k.Key)] {
				continue
			}
			seen[string(k.Key)] = true
			t := profile.TopKey{Key: k.Key, Lo: k.Lo, Hi: k.Hi, Where: k.Where}
			m, keyed, err := move(pt, n, t, share)
			if err != nil {
				return nil, err
			}
			if keyed {
				moves = append(moves, m)
			}
		}
	}
	return moves, nil
}

// limit says what the heaviest keys allow at n partitions. For any assignment of whole keys
//
//	max share >= max(w_1, w_n + w_(n+1), 1/n)
//
// Source: Graham, "Bounds on multiprocessing timing anomalies", SIAM J. Appl. Math. 17 (1969). The 1/n term takes
// unkeyed records as freely divisible. Lower bounds of shares are used, so the limit holds in bounded mode too.
func limit(p *profile.Profile, n int32, records *skew.Skew) Limit {
	l := Limit{Ceiling: records.Ceiling}
	l.CannotHelp = n > p.NumPartitions && float64(p.NumPartitions) >= records.CeilingHi
	if records.Total == 0 {
		return l
	}
	best := 1 / float64(n)
	if tops := p.Top(int(min(n+1, heavyKeys)), profile.Records); len(tops) > 0 {
		total := float64(records.Total)
		best = math.Max(best, float64(tops[0].Lo.Records)/total)
		if int(n) < len(tops) {
			best = math.Max(best, float64(tops[n-1].Lo.Records+tops[n].Lo.Records)/total)
		}
	}
	l.BestPAR = best * float64(n)
	return l
}
