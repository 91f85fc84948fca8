package sample

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"keyspread/analyze/profile"
)

// Estimates are what a sample says of the whole range it was drawn from.
type Estimates struct {
	Seed       uint64
	Confidence float64 // of every interval, 0.95
	BlockSize  int64   // offsets
	Blocks     int64   // read
	BlocksAll  int64   // of the range
	Offsets    int64   // of the blocks read
	OffsetsAll int64   // of the range
	Records    int64   // read
	Stopped    string  // why no more was read: "precision", "max-records", "max-bytes", "max-time", "everything read"
	HalfWidth  float64 // widest half interval of a key's share in records, among those that may be hot

	// Observed is the number of distinct keys seen: a lower bound for certain. AtLeastAbout is Chao's lower-bound
	// estimate, and Coverage the Good-Turing share of records whose key has been seen; neither is an estimate of all keys.
	Observed     int64
	AtLeastAbout float64
	Coverage     float64
	// Unseen is the share below which a key can have escaped the sample altogether, however its records lie.
	Unseen float64

	Partitions []PartitionEstimate
	Total      [2]float64 // by unit: estimated weight of the range
	Keys       []KeyEstimate
	Null       [2]Estimate // records without a key
	Empty      [2]Estimate // records with an empty key
	// Concentration of the keys by unit; it is known at the end of a sampling only.
	Concentration [2]Concentration
	Candidates    []CandidateEstimate
}

// PartitionEstimate is one partition's weight. Records come from offsets and the sampled live/offset ratio: without
// gaps they are exact.
type PartitionEstimate struct {
	ID      int32
	Offsets int64
	Live    float64 // records per offset in the sampled blocks
	Weight  [2]float64
	Exact   bool           // Weight[Records] is the offset count: no gap was seen
	Factor  profile.Factor // what one sampled record and byte stand for
}

// KeyEstimate is one key's share of the range, in each unit.
type KeyEstimate struct {
	Key     []byte
	Records int64 // in the sample
	Share   [2]Estimate
	Hot     [2]Estimate // the same at the stricter level that decides whether it is hot
	Where   []int32     // partitions it was seen in
	// Early and Late are its shares of records in the two halves of the range; Drift says that they differ beyond
	// chance at the level of Confidence, corrected for the number of keys looked at. They have no limits of their own.
	Early, Late Estimate
	Drift       bool
}

// CandidateEstimate is what a candidate would do.
type CandidateEstimate struct {
	Moved [2]Estimate   // share of the whole weight, unkeyed records included
	Loads [2][]Estimate // share of the whole weight, keyed records only, by future partition
}

// mostKeys is how many keys get an estimate; the lightest of a sample have nothing to say.
const mostKeys = 500

// Estimates closes the open blocks and computes the estimates at confidence 1-alpha, and the limits that decide whether
// a key is hot at 1-hotAlpha. Call it when no Batch is running; batches of further blocks may follow.
func (c *Collector) Estimates(alpha, hotAlpha float64) *Estimates {
	e := &Estimates{Confidence: 1 - alpha, BlockSize: c.frame.BlockSize, Blocks: c.frame.Drawn(), BlocksAll: c.frame.Blocks()}
	strata := c.strata()
	for i := range c.frame.partitions {
		pf := &c.frame.partitions[i]
		ce := c.cells[pf.id]
		e.partition(pf, ce)
		e.Records += int64(ce.size.y[profile.Records])
	}
	e.keys(c, strata, alpha, hotAlpha)
	for u := range e.Null {
		var null, empty []Part
		for i := range c.frame.partitions {
			ce := c.cells[c.frame.partitions[i].id]
			null = append(null, part(i, &ce.null, profile.Unit(u)))
			if k := ce.keys[""]; k != nil {
				empty = append(empty, part(i, &k.sums, profile.Unit(u)))
			}
		}
		x := NewEstimator(strata[u], float64(e.Records), alpha)
		e.Null[u], e.Empty[u] = x.Share(null), x.Share(empty)
	}
	for i := range c.candidates {
		e.Candidates = append(e.Candidates, c.candidate(i, strata, float64(e.Records), alpha))
	}
	return e
}

// strata returns the sampled partitions in each unit.
func (c *Collector) strata() (strata [2][]Stratum) {
	for i := range c.frame.partitions {
		pf := &c.frame.partitions[i]
		ce := c.cells[pf.id]
		ce.close()
		for u := range strata {
			strata[u] = append(strata[u], Stratum{
				Blocks: pf.blocks, Sampled: int64(len(pf.drawn)), Size: ce.size.y[u], Squares: ce.size.yy[u],
			})
		}
	}
	return strata
}

func part(stratum int, s *sums, u profile.Unit) Part {
	return Part{Stratum: stratum, Sum: s.y[u], Squares: s.yy[u], Cross: s.yn[u]}
}

// partition estimates a partition's weight from its offsets.
func (e *Estimates) partition(pf *partitionFrame, ce *cell) {
	var offsets int64
	for b := range pf.drawn {
		for _, s := range pf.span(b, e.BlockSize) {
			offsets += s.End - s.Start
		}
	}
	e.Offsets += offsets
	e.OffsetsAll += pf.offsets
	p := PartitionEstimate{ID: pf.id, Offsets: pf.offsets}
	records, size := ce.size.y[profile.Records], ce.size.y[profile.Bytes]
	if offsets > 0 {
		p.Live = records / float64(offsets)
	}
	p.Exact = int64(records) == offsets && offsets > 0
	p.Weight[profile.Records] = p.Live * float64(pf.offsets)
	if records > 0 {
		p.Weight[profile.Bytes] = p.Weight[profile.Records] * size / records
	}
	for u, w := range p.Weight {
		e.Total[u] += w
		if y := ce.size.y[u]; y > 0 {
			p.Factor[u] = w / y
		}
	}
	e.Partitions = append(e.Partitions, p)
}

// keys estimates the heaviest keys of the sample and what is known of the number of keys.
func (e *Estimates) keys(c *Collector, strata [2][]Stratum, alpha, hotAlpha float64) {
	type seen struct {
		key     string
		records int64
		bytes   float64
		where   []int // strata
	}
	total := 0
	for i := range c.frame.partitions {
		total = max(total, len(c.cells[c.frame.partitions[i].id].keys))
	}
	index := make(map[string]int, total)
	var all []seen
	for i := range c.frame.partitions {
		for key, k := range c.cells[c.frame.partitions[i].id].keys {
			at, ok := index[key]
			if !ok {
				at = len(all)
				index[key] = at
				all = append(all, seen{key: key})
			}
			s := &all[at]
			s.records += k.records
			s.bytes += k.y[profile.Bytes]
			s.where = append(s.where, i)
		}
	}
	var once, twice, keyed float64
	for i := range all {
		keyed += float64(all[i].records)
		switch all[i].records {
		case 1:
			once++
		case 2:
			twice++
		}
	}
	e.Observed = int64(len(all))                                     // before the light ones are left out below
	e.AtLeastAbout = float64(len(all)) + once*(once-1)/(2*(twice+1)) // bias-corrected Chao1
	if keyed > 0 {
		e.Coverage = 1 - once/keyed
	}
	e.Unseen = 1 - math.Pow(alpha, 1/math.Max(1, float64(e.Blocks)))

	heaviest := all
	if len(all) > mostKeys {
		// Only keys with as many records as the least of the heaviest need sorting.
		counts := make([]int64, len(all))
		for i := range all {
			counts[i] = all[i].records
		}
		slices.Sort(counts)
		least := counts[len(counts)-mostKeys]
		heaviest = slices.DeleteFunc(all, func(s seen) bool { return s.records < least })
	}
	slices.SortFunc(heaviest, func(a, b seen) int {
		return cmp.Or(cmp.Compare(b.records, a.records), cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.key, b.key))
	})
	if len(heaviest) > mostKeys {
		heaviest = heaviest[:mostKeys]
	}
	early, late := c.halves()
	var plain, strict [2]*Estimator
	for u := range strata {
		plain[u] = NewEstimator(strata[u], float64(e.Records), alpha)
		strict[u] = NewEstimator(strata[u], float64(e.Records), hotAlpha)
	}
	compared := 0 // keys that are looked at for drift
	for _, s := range heaviest {
		if s.records >= leastForDrift {
			compared++
		}
	}
	// Bonferroni over them, and a tenth of the level: rare bursty keys have heavier tails than Welch's t.
	driftAlpha := alpha / 10 / float64(max(1, compared))
	for _, s := range heaviest {
		k := KeyEstimate{Key: []byte(s.key), Records: s.records}
		var parts [2][]Part
		var inEarly, inLate []Part
		for _, i := range s.where {
			id := c.frame.partitions[i].id
			sum := c.cells[id].keys[s.key]
			k.Where = append(k.Where, id)
			for u := range parts {
				parts[u] = append(parts[u], part(i, &sum.sums, profile.Unit(u)))
			}
			l := part(i, &sum.late, profile.Records)
			a := parts[profile.Records][len(parts[profile.Records])-1]
			inLate = append(inLate, l)
			inEarly = append(inEarly, Part{Stratum: i, Sum: a.Sum - l.Sum, Squares: a.Squares - l.Squares, Cross: a.Cross - l.Cross})
		}
		for u := range parts {
			k.Share[u] = plain[u].Share(parts[u])
			k.Hot[u] = strict[u].Share(parts[u])
		}
		if s.records >= leastForDrift {
			first, ok := early.share(inEarly)
			second, also := late.share(inLate)
			if ok && also {
				k.Early, k.Late = first, second
				k.Drift = differ(first, second, driftAlpha)
			}
		}
		e.Keys = append(e.Keys, k)
	}
}

// leastForDrift is how many records of a key a sample must hold before its two halves are compared.
const leastForDrift = 100

// candidate estimates what one candidate would do.
func (c *Collector) candidate(i int, strata [2][]Stratum, records, alpha float64) (ce CandidateEstimate) {
	n := len(c.frame.partitions)
	for u := range ce.Moved {
		unit := profile.Unit(u)
		moved := make([]Part, 0, n)
		loads := make([][]Part, c.candidates[i].NumPartitions)
		for s := range c.frame.partitions {
			cell := c.cells[c.frame.partitions[s].id]
			moved = append(moved, part(s, &cell.moved[i], unit))
			for to := range loads {
				if l := &cell.loads[i][to]; l.y[u] > 0 {
					loads[to] = append(loads[to], part(s, l, unit))
				}
			}
		}
		x := NewEstimator(strata[u], records, alpha)
		ce.Moved[u] = x.Share(moved)
		ce.Loads[u] = make([]Estimate, len(loads))
		for to := range loads {
			ce.Loads[u][to] = x.Share(loads[to])
		}
	}
	return ce
}

// Top returns the k keys with the largest shares in one unit, largest first, ties by key bytes.
func (e *Estimates) Top(k int, u profile.Unit) []KeyEstimate {
	list := slices.Clone(e.Keys)
	slices.SortFunc(list, func(a, b KeyEstimate) int {
		return cmp.Or(cmp.Compare(b.Share[u].Share, a.Share[u].Share), bytes.Compare(a.Key, b.Key))
	})
	return list[:min(k, len(list))]
}

// Factor is what one sampled record and byte of a partition stand for.
func (e *Estimates) Factor(partition int32) profile.Factor {
	i, ok := slices.BinarySearchFunc(e.Partitions, partition, func(p PartitionEstimate, id int32) int { return cmp.Compare(p.ID, id) })
	if !ok {
		return profile.Factor{1, 1} // not in the plan: it holds no record to scale
	}
	return e.Partitions[i].Factor
}
