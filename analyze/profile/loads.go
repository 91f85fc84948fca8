package profile

import (
	"iter"
	"slices"
)

// Loads are the weights that one partition's records have in each partition of a [Candidate]. Under the partitioner that
// wrote them these are in one partition or a few, so only those are kept until they are many: a topic of thousands of
// partitions would otherwise take their number squared.
type Loads struct {
	n  int32
	to []int32  // the partitions that have a weight, rising; nil: all
	ws []Weight // of to, or of all
}

const (
	fewPartitions = 64 // up to so many, all are kept
	denseShare    = 4  // all are kept once more than this part of them has a weight: a pair takes 20 bytes of 16
)

const (
	weightBytes = 16
	fewBytes    = 2 * (weightBytes + 4) // of a weight with its partition, in lists that grow by doubling
)

// mostLoadBytes is the most memory that Loads of n partitions take for so many keys.
func mostLoadBytes(n int32, keys uint64) uint64 {
	if n <= fewPartitions || keys > uint64(n)/denseShare {
		return uint64(n) * weightBytes
	}
	return keys * fewBytes
}

func newLoads(n int32) Loads {
	if n <= fewPartitions {
		return Loads{n: n, ws: make([]Weight, n)}
	}
	return Loads{n: n, to: []int32{}}
}

// NumPartitions is the candidate's count.
func (l *Loads) NumPartitions() int32 { return l.n }

// All yields each partition that has a weight with it, rising.
func (l *Loads) All() iter.Seq2[int32, Weight] {
	return func(yield func(int32, Weight) bool) {
		for i, w := range l.ws {
			to := int32(i)
			if l.to != nil {
				to = l.to[i]
			}
			if w != (Weight{}) && !yield(to, w) {
				return
			}
		}
	}
}

// add adds w to the weight in partition to, which is in [0, n).
func (l *Loads) add(to int32, w Weight) {
	if l.to == nil {
		l.ws[to] = l.ws[to].Add(w)
		return
	}
	at, ok := slices.BinarySearch(l.to, to)
	switch {
	case ok:
		l.ws[at] = l.ws[at].Add(w)
	case len(l.to) < int(l.n)/denseShare:
		l.to, l.ws = slices.Insert(l.to, at, to), slices.Insert(l.ws, at, w)
	default:
		all := make([]Weight, l.n)
		for i, to := range l.to {
			all[to] = l.ws[i]
		}
		l.to, l.ws = nil, all
		l.add(to, w)
	}
}
