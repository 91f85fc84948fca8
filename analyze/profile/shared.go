package profile

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"

	"github.com/zeebo/xxh3"
)

// place is the position of an entry: a partition's index in the profile and the entry's in its table.
type place struct{ part, entry int32 }

// stray is an entry that is not known to be the only one of its key.
type stray struct {
	hash xxh3.Uint128
	at   place
}

// shared is the keys that were counted in more than one partition.
type shared struct {
	groups [][]place     // the entries of one key, by partition
	member map[place]int // index of the group
}

// has reports whether an entry's key has entries in other partitions too.
func (s *shared) has(at place) bool {
	_, ok := s.member[at]
	return ok
}

// sharedOnce returns the keys that are in several tables and keeps them for the next caller.
func (p *Profile) sharedOnce() *shared {
	if p.cache == nil {
		return p.findShared()
	}
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	if p.cache.shared == nil {
		p.cache.shared = p.findShared()
	}
	return p.cache.shared
}

// findShared finds the keys that are in several tables.
//
// At most one entry of a key is where the assumed partitioner puts it, so a key of several partitions has an entry that
// is elsewhere. Those are few on a keyed topic: only they are collected, and of the others only those whose hash some
// of them has. Time and memory grow with the entries that are elsewhere, plus one pass over all.
func (p *Profile) findShared() *shared {
	var strays []stray
	p.eachEntry(func(at place, e *entry) {
		if e.meta&metaHome == 0 {
			strays = append(strays, stray{e.hash(), at})
		}
	})
	s := &shared{member: map[place]int{}}
	if len(strays) == 0 {
		return s
	}
	away := newFilter(strays)
	p.eachEntry(func(at place, e *entry) {
		if e.meta&metaHome != 0 && away.has(e.lo) {
			strays = append(strays, stray{e.hash(), at})
		}
	})
	slices.SortFunc(strays, func(a, b stray) int {
		return cmp.Or(
			cmp.Compare(a.hash.Hi, b.hash.Hi), cmp.Compare(a.hash.Lo, b.hash.Lo),
			bytes.Compare(p.keyAt(a.at), p.keyAt(b.at)),
			cmp.Compare(a.at.part, b.at.part),
		)
	})
	for len(strays) > 0 {
		n := 1
		for n < len(strays) && strays[n].hash == strays[0].hash && bytes.Equal(p.keyAt(strays[n].at), p.keyAt(strays[0].at)) {
			n++
		}
		if n > 1 {
			group := make([]place, n)
			for i := range group {
				group[i] = strays[i].at
				s.member[group[i]] = len(s.groups)
			}
			s.groups = append(s.groups, group)
		}
		strays = strays[n:]
	}
	return s
}

func (e *entry) hash() xxh3.Uint128 { return xxh3.Uint128{Lo: e.lo, Hi: e.hi} }

func (p *Profile) keyAt(at place) []byte {
	t := p.Partitions[at.part].keys
	return t.keyOf(t.entry(int(at.entry)))
}

// eachEntry calls f for every entry of every table.
func (p *Profile) eachEntry(f func(place, *entry)) {
	for i := range p.Partitions {
		for j := range p.Partitions[i].NumKeys() {
			f(place{int32(i), int32(j)}, p.Partitions[i].keys.entry(j))
		}
	}
}

// filter is a set of hashes that may claim a few too many: at least 8 bits a member, one of them set.
type filter struct {
	words []uint64
	shift int
}

func newFilter(members []stray) filter {
	n := bits.Len(uint(len(members))) + 3
	f := filter{words: make([]uint64, 1<<max(n-6, 0)), shift: 64 - max(n, 6)}
	for _, m := range members {
		at := m.hash.Lo >> f.shift
		f.words[at>>6] |= 1 << (at & 63)
	}
	return f
}

func (f filter) has(lo uint64) bool {
	at := lo >> f.shift
	return f.words[at>>6]>>(at&63)&1 == 1
}
