package placement

import (
	"math"

	"keyspread/analyze/profile"
	"keyspread/analyze/profile/sketch"
)

// pair is one placement: a key in a partition, and what was counted of it there.
type pair struct {
	key         []byte
	partition   int32
	records     int64
	first, last int64 // ms; -1: no record had a time
	ranked      bool  // in the sample of keys by their hash; otherwise among the heaviest keys only
	heavy       bool  // among the heaviest keys, all of which are held
}

// evidence is the placements that are compared: all of them, or those of the heaviest keys and of a sample of keys that
// is taken by their hash, so that a key is in it with all of its partitions or not at all.
type evidence struct {
	n          int32 // partitions of the topic
	partitions int   // of them, those read
	pairs      []pair
	all        bool  // every placement of the topic is held
	held       int64 // placements in the profile's tables
	ranked     int   // pairs in the sample by hash
	population int64 // placements of the topic, about; ranked when all are held
	heavy      int64 // records of heavy pairs
	records    int64 // keyed records of the topic, those with an empty key left out
	counted    int64 // of them, those in the profile's tables
}

// surelyKept is how many times more than a table can have lost a placement must have to be taken for itself: whether it is
// must not depend on whether its key is sampled, and sampled keys lose nothing.
const surelyKept = 10

// collect takes at most about limit placements, and those of the heaviest keys.
func collect(p *profile.Profile, limit, heaviest int) *evidence {
	ev := &evidence{n: p.NumPartitions, partitions: len(p.Partitions)}
	for i := range p.Partitions {
		part := &p.Partitions[i]
		ev.held += int64(part.NumKeys())
		ev.records += part.Total.Records - part.NullKey.Records - part.EmptyKey.Records
	}
	below := uint64(sketch.MaxTheta)
	if p.Mode() != profile.Exact {
		below = p.Theta().Theta
	} else if ev.held > int64(limit) {
		below = uint64(float64(sketch.MaxTheta) * float64(limit) / float64(ev.held))
	}
	ev.all = below == sketch.MaxTheta && p.Mode() == profile.Exact
	// a sample by hash is about as large as asked for: a little more room saves it from growing by copies
	ev.pairs = make([]pair, 0, min(ev.held, int64(limit)+int64(limit)/64+int64(heaviest)))
	ranks := func(key []byte) bool { return below == sketch.MaxTheta || sketch.HashOf(key).Rank() < below }
	if p.Mode() == profile.Exact {
		ev.collectExact(p, heaviest, ranks)
	} else {
		ev.collectSample(p, heaviest, ranks)
	}
	ev.population = int64(ev.ranked)
	if below < sketch.MaxTheta {
		ev.population = max(ev.held, int64(float64(ev.ranked)/(float64(below)/float64(sketch.MaxTheta))))
	}
	return ev
}

// collectExact takes the pairs of the heaviest keys and of those that rank, in the order of the tables. Most keys of a large
// topic are neither and are passed over without more than a look at their bytes.
func (ev *evidence) collectExact(p *profile.Profile, heaviest int, ranks func([]byte) bool) {
	heavy := map[string]bool{}
	least := int64(math.MaxInt64) // records of a heavy key in one of its partitions
	if !ev.all {
		for _, t := range p.Top(heaviest, profile.Records) {
			heavy[string(t.Key)] = true
			for _, k := range t.Where {
				least = min(least, k.Lo.Records)
			}
		}
	}
	for i := range p.Partitions {
		p.Partitions[i].EachKey(func(key []byte, w profile.Weight, whole func() profile.Key) {
			if len(key) == 0 {
				return
			}
			ev.counted += w.Records
			if ranked, isHeavy := ranks(key), w.Records >= least && heavy[string(key)]; ranked || isHeavy {
				ev.add(whole(), ranked, isHeavy)
			}
		})
	}
}

// collectSample takes the pairs of the key sample, and those of the heaviest keys that are sure to be held. The rest of a
// table in bounded mode is only counted: its keys need not be hashed for it.
func (ev *evidence) collectSample(p *profile.Profile, heaviest int, ranks func([]byte) bool) {
	for _, m := range p.Moments() {
		ev.counted += m.Sum.Records
	}
	if empty, ok := p.Lookup([]byte{}); ok {
		ev.counted -= empty.Lo.Records
	}
	// Of light keys the table holds those of the sample and some that came late: a part of the topic that no share may
	// take for a whole. What weighs far more than a missing key can is held and counted nearly whole, in the sample or
	// not.
	type placement struct {
		key       string
		partition int32
	}
	missing := map[int32]int64{}
	for i := range p.Partitions {
		missing[p.Partitions[i].ID] = p.Partitions[i].Missing.Records
	}
	heavy := map[placement]bool{}
	for _, t := range p.Top(heaviest, profile.Records) {
		for _, k := range t.Where {
			if len(k.Key) > 0 && k.Lo.Records > surelyKept*missing[k.Partition] {
				heavy[placement{string(k.Key), k.Partition}] = true
				ev.add(k, ranks(k.Key), true)
			}
		}
	}
	p.EachSampled(func(t profile.TopKey) bool {
		if len(t.Key) > 0 && ranks(t.Key) {
			for _, k := range t.Where {
				if !heavy[placement{string(k.Key), k.Partition}] {
					ev.add(k, true, false)
				}
			}
		}
		return true
	})
}

func (ev *evidence) add(k profile.Key, ranked, heavy bool) {
	ev.pairs = append(ev.pairs, pair{
		key: k.Key, partition: k.Partition, records: k.Lo.Records, first: k.First, last: k.Last,
		ranked: ranked, heavy: heavy,
	})
	if ranked {
		ev.ranked++
	}
	if heavy {
		ev.heavy += k.Lo.Records
	}
}

// thin returns at most about limit of the pairs for which keep holds, evenly spaced.
func (ev *evidence) thin(limit int, keep func(i int) bool) []pair {
	var kept []int
	for i := range ev.pairs {
		if keep(i) {
			kept = append(kept, i)
		}
	}
	step := max(1, (len(kept)+limit-1)/limit)
	out := make([]pair, 0, len(kept)/step+1)
	for i := 0; i < len(kept); i += step {
		out = append(out, ev.pairs[kept[i]])
	}
	return out
}
