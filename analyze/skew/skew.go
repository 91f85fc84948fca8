// Package skew measures how unevenly a topic's load is spread and judges which keys are hot.
package skew

import (
	"keyspread/analyze/profile"
)

// Measures are the skew figures of one weight (records or bytes) over the topic's partitions.
// With load x_p of partition p, n partitions, total X and mean m = X/n:
//
//	PAR = max x_p / m                          (peak to average; 1 is even, n is everything in one partition)
//	CV  = sqrt(sum (x_p - m)^2 / n) / m        (population coefficient of variation; 0 is even)
//	EffectivePartitions = X^2 / sum x_p^2      (inverse Simpson; n is even, 1 is everything in one)
//	Gini = sum_j (2j - n - 1) x_(j) / (n X)    (x_(j) ascending; 0 is even, 1 - 1/n is everything in one)
//
// All are 0 when there is no load.
type Measures struct {
	PAR                 float64
	CV                  float64
	EffectivePartitions float64
	Gini                float64
	Hottest             int32 // partition with the largest load, the lowest index on a tie; -1 without load
}

// Verdict is the answer to "is this key hot?".
type Verdict uint8

// The three verdicts. CannotTell is possible only where counts carry bounds, or are those of a part of the topic.
const (
	NotHot Verdict = iota
	CannotTell
	Hot
)

// String returns the verdict's name in reports and JSON.
func (v Verdict) String() string {
	switch v {
	case Hot:
		return "hot"
	case CannotTell:
		return "cannot tell"
	}
	return "not hot"
}

// Share is a fraction of the topic's weight. Exact counts have Lo == Est == Hi. Bounded counts guarantee
// Lo <= true share <= Hi, with Est the count that is certain. For a sample, Est is the estimate and [Lo, Hi] its
// confidence interval.
type Share struct {
	Est, Lo, Hi float64
}

// Exact reports whether the share is known exactly.
func (s Share) Exact() bool { return s.Lo == s.Hi }

// Key is one heavy key of a topic, judged for one weight.
type Key struct {
	Key         []byte // never nil
	Lo, Hi      profile.Weight
	Share       Share // of the weight judged, over the records read
	Where       []profile.Key
	First, Last int64
	Verdict     Verdict
	InPartition float64 // its lower share of the load of the partition that holds most of it
}

// Skew is the judgement of one weight.
type Skew struct {
	Unit     profile.Unit
	Total    int64
	Loads    []int64 // by partition; partitions not read are 0
	Measures Measures
	Tau      float64     // share above which a single key is hot at this partition count: (r*-1)/(n-1); +Inf for n = 1
	Top      []Key       // heaviest keys, heaviest first
	Keys     KeyMeasures // unevenness of the keys themselves
	Ceiling  float64     // N* = 1/w1: more partitions than this cannot help; +Inf when no key was seen
	// KeyCeiling bounds N* when counts are bounded: [1/w1.Hi, 1/w1.Lo].
	CeilingLo, CeilingHi float64
	Explanation          Explanation
}
