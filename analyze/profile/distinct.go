package profile

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/mathext"

	"keyspread/analyze/internal/parallel"
	"keyspread/analyze/profile/sketch"
)

// Distinct says how many keys a topic has. In exact mode Keys and SeveralPartitions are counts and the bounds equal
// them. Otherwise they are estimates from the key sample, the bounds those of 95 % confidence. Both are cut at what is
// certain: no fewer than the tables hold, and no more than if each record that they do not count had a key of its own.
type Distinct struct {
	Keys              int64 // distinct keys, the empty key included, the null key not
	SeveralPartitions int64 // of them, those with records in more than one partition
	Exact             bool

	Low, High               int64   // of Keys
	SeveralLow, SeveralHigh int64   // of SeveralPartitions
	StdErr                  float64 // relative standard error of Keys; 0 in exact mode
	SeveralStdErr           float64 // standard error of SeveralPartitions, keys; 0 where it is certain or none is in the sample
	SampleKeys              int64   // keys in the sample; all of them in exact mode
}

// Distinct counts the keys of the profile, or estimates their number.
//
// The estimate is that of a theta sketch: s keys with a rank below the fraction theta of the hash range, so about
// s/theta keys, with a variance of s(1-theta)/theta^2. Each partition's sample is cut to the smallest theta first, so
// that a key is in the sample of all of its partitions or of none.
func (p *Profile) Distinct() Distinct {
	sh := p.sharedOnce()
	if p.Mode() == Exact {
		d := Distinct{Exact: true, SeveralPartitions: int64(len(sh.groups))}
		for i := range p.Partitions {
			d.Keys += int64(p.Partitions[i].NumKeys())
		}
		d.Keys -= int64(len(sh.member) - len(sh.groups))
		d.Low, d.High, d.SampleKeys = d.Keys, d.Keys, d.Keys
		d.SeveralLow, d.SeveralHigh = d.SeveralPartitions, d.SeveralPartitions
		return d
	}
	top := p.sampleLevel()
	var d Distinct
	var seen, several int64 // entries in the sample; keys of the sample in several partitions
	for _, entries := range p.surveyOnce().sampled {
		seen += int64(len(entries))
	}
	held := -int64(len(sh.member) - len(sh.groups)) // keys in any table
	var uncounted int64                             // records of keys that have left, or were not yet, in a table
	for i, m := range p.Moments() {
		held += int64(p.Partitions[i].NumKeys())
		uncounted += p.Partitions[i].uncounted(m.Sum).Records
	}
	for _, g := range sh.groups {
		if p.levelAt(g[0]) >= top {
			several++
			seen -= int64(len(g) - 1)
		}
	}
	theta := math.Ldexp(1, -int(top))
	d.SampleKeys = seen
	d.Keys, d.Low, d.High = scaled(seen, theta, held, held+uncounted)
	n := int64(len(sh.groups)) // each other one takes a record that no table counts
	most := min(n+uncounted, d.High)
	if p.allPlacedByKey() {
		most = n
	}
	d.SeveralPartitions, d.SeveralLow, d.SeveralHigh = scaled(several, theta, n, most)
	if d.SeveralLow < d.SeveralHigh {
		d.SeveralStdErr = math.Sqrt(float64(several)*(1-theta)) / theta
	}
	if seen > 0 {
		d.StdErr = math.Sqrt((1 - theta) / float64(seen))
	}
	return d
}

// allPlacedByKey reports whether the source has put every record where the assumed partitioner puts its key, so that no
// key is in several partitions.
func (p *Profile) allPlacedByKey() bool {
	for i := range p.Partitions {
		if part := &p.Partitions[i]; part.Assigned < part.Total.Records || part.spread {
			return false
		}
	}
	return true
}

// z95 is the normal quantile of a two-sided 95 % interval.
const z95 = 1.959963984540054

// scaled estimates a count from the s members that a sample of the fraction theta holds, given that there are at least
// floor and at most ceiling.
func scaled(s int64, theta float64, floor, ceiling int64) (estimate, low, high int64) {
	lo, hi := sampledLimits(float64(s), theta)
	return within(float64(s)/theta, lo, hi, floor, ceiling)
}

// exactLimits is the number of members from which a sample's limits are normal ones.
const exactLimits = 1000

// sampledLimits are 95 % limits for the number of which a sample of the fraction theta holds s: the numbers N for which s or
// fewer, and s or more, of N are sampled with a probability of 2.5 %. Normal limits are too low for few members: of 1 in
// a sample of 1/32 they say 94 at most, these 176.
//
// Source: Clopper and Pearson, Biometrika 26 (1934), for the number of trials; the binomial sum as an incomplete beta
// function, Abramowitz and Stegun 26.5.24.
func sampledLimits(s, theta float64) (low, high float64) {
	if theta == 1 {
		return s, s
	}
	if s >= exactLimits {
		half := z95 * math.Sqrt(s*(1-theta)) / theta
		return s/theta - half, s/theta + half
	}
	const tail = 0.025
	high = firstFrom(s, func(n float64) bool { return mathext.RegIncBeta(n-s, s+1, 1-theta) <= tail }) // s or fewer of n
	if s > 0 {
		low = firstFrom(s, func(n float64) bool { return mathext.RegIncBeta(s, n-s+1, theta) >= tail }) // s or more of n
	}
	return low, high
}

// firstFrom finds the number above s from which on holds is true, to a millionth.
func firstFrom(s float64, holds func(float64) bool) float64 {
	lo, hi := s, 2*s+1
	for !holds(hi) {
		lo, hi = hi, 2*hi
	}
	for hi-lo > 1e-6*hi {
		if mid := (lo + hi) / 2; holds(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// within rounds the estimate x and its limits low and high, all kept in [floor, ceiling]. Where x is outside, its limits go
// with it: the doubt stays, so that a bound that the estimate missed does not pass for an exact count.
func within(x, low, high float64, floor, ceiling int64) (estimate, lo, hi int64) {
	clamp := func(n float64) float64 { return max(float64(floor), min(float64(ceiling), n)) }
	at := clamp(x)
	low, high = min(low, at-(x-low)), max(high, at+(high-x))
	return int64(math.Round(at)), int64(clamp(math.Floor(low))), int64(clamp(math.Ceil(high)))
}

// uncounted is the weight of the partition's keyed records that its table does not count, where that counts sum.
func (p *Partition) uncounted(sum Weight) Weight {
	w := p.Total.Sub(p.NullKey).Sub(sum)
	return Weight{max(0, w.Records), max(0, w.Bytes)} // each of a scaled sample is rounded by itself
}

// SampleFraction is the fraction of the topic's keys that [Profile.EachSampled] names; 1 in exact mode.
func (p *Profile) SampleFraction() float64 { return math.Ldexp(1, -int(p.sampleLevel())) }

// EachSampled calls f for each key of the topic's key sample until f returns false. The sample is chosen by the hash of
// the keys, so each of its keys stands for 1/[Profile.SampleFraction] keys like it, and it is whole: its counts are
// exact, and Where names every partition that has it. In exact mode all keys are in it. Keys come in the order of
// [Partition.EachKey], partition by partition, each where it is first named.
func (p *Profile) EachSampled(f func(TopKey) bool) {
	p.eachSampled(func(group []place) bool { return f(p.sum(group)) })
}

// EachSampledWeight is [Profile.EachSampled] without the places; it allocates nothing.
func (p *Profile) EachSampledWeight(f func(key []byte, w Weight)) {
	p.eachSampled(func(group []place) bool {
		var w Weight
		for _, at := range group {
			part := &p.Partitions[at.part]
			w = w.Add(part.weightOf(part.keys.entry(int(at.entry))))
		}
		f(p.keyAt(group[0]), w)
		return true
	})
}

func (p *Profile) eachSampled(f func(group []place) bool) {
	sh := p.sharedOnce()
	var sampled [][]int32
	if p.sampleLevel() > 0 {
		sampled = p.surveyOnce().sampled
	}
	var one [1]place
	for i := range p.Partitions {
		n := p.Partitions[i].NumKeys()
		if sampled != nil {
			n = len(sampled[i])
		}
		for j := range n {
			at := place{int32(i), int32(j)}
			if sampled != nil {
				at.entry = sampled[i][j]
			}
			one[0] = at
			group := one[:]
			if g, ok := sh.member[at]; ok {
				if group = sh.groups[g]; group[0] != at {
					continue
				}
			}
			if !f(group) {
				return
			}
		}
	}
}

// sampleLevel is the highest level of the partitions' samples; 0 when all tables are exact.
func (p *Profile) sampleLevel() uint32 {
	var top uint32
	for i := range p.Partitions {
		top = max(top, p.Partitions[i].sampleLevel())
	}
	return top
}

// levelAt returns the sample level of an entry.
func (p *Profile) levelAt(at place) uint32 {
	t := p.Partitions[at.part].keys
	e := t.entry(int(at.entry))
	if t.sample != nil {
		return e.meta & metaLevel
	}
	return level(sketch.HashOf(t.keyOf(e)).Rank())
}

// Place computes the placements of a candidate that was not fixed before the run, from the key tables: one [Placed] per
// partition of the profile. It needs exact mode; otherwise only the profile's Candidates are known, and the error is a
// [*NotPlacedError].
func (p *Profile) Place(spec CandidateSpec) ([]Placed, error) {
	if p.Mode() != Exact {
		return nil, &NotPlacedError{Known: p.Candidates}
	}
	if err := (Config{Partitioner: spec.Partitioner, Candidates: []CandidateSpec{spec}, Memory: MinMemory, Buckets: 1}).Validate(); err != nil {
		return nil, err
	}
	pl := newPlacing([]CandidateSpec{spec})
	keys := make([]uint64, len(p.Partitions))
	for i := range p.Partitions {
		keys[i] = 1 // the null key
		if t := p.Partitions[i].keys; t != nil {
			keys[i] += uint64(t.n)
		}
	}
	if err := checkSize(pl.candidates, keys); err != nil {
		return nil, err
	}
	out := make([]Placed, len(p.Partitions))
	errs := make([]error, len(p.Partitions))
	parallel.Each(len(p.Partitions), func(i int) {
		part := &p.Partitions[i]
		sum := pl.partition(part.ID)
		if errs[i] = sum.addTable(part.keys, func(*entry) {}); errs[i] != nil {
			return
		}
		errs[i] = sum.addNull(part.NullKey)
		out[i] = sum.sum[0]
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// NotPlacedError says that a candidate was not computed while reading, and the tables hold too few keys to do it now.
type NotPlacedError struct{ Known []Candidate }

func (e *NotPlacedError) Error() string {
	return fmt.Sprintf("more keys than the memory budget held, so only the candidates fixed before the run are known (%s)",
		candidateList(e.Known))
}

// candidateList names candidates for a message.
func candidateList(candidates []Candidate) string {
	names := make([]string, len(candidates))
	for i, c := range candidates {
		names[i] = fmt.Sprintf("%s:%d", c.Partitioner, c.NumPartitions)
	}
	return strings.Join(names, ", ")
}
