package profile

import (
	"bytes"
	"cmp"
	"container/heap"
	"slices"
)

// Top returns the k keys with the largest lower bounds in one unit, over all partitions, largest first. Ties go by the
// lower bound in the other unit, then by key bytes. It returns all keys when there are no more than k.
//
// Cost: one pass over the tables that keeps k keys, not a sort. The result is kept: asking again for as many or fewer
// keys costs nothing. The slice is the caller's, what it points to is the profile's.
func (p *Profile) Top(k int, unit Unit) []TopKey {
	if k <= 0 {
		return nil
	}
	asked := k
	k = max(k, leastTop)
	if p.cache == nil {
		top := p.findTop(k, p.findShared())[unit]
		return top[:min(asked, len(top))]
	}
	sh := p.sharedOnce()
	p.cache.mu.Lock()
	top, known := p.cache.top, p.cache.topLen
	p.cache.mu.Unlock()
	if known < k {
		top = p.findTop(k, sh)
		p.cache.mu.Lock()
		p.cache.top, p.cache.topLen = top, k
		p.cache.mu.Unlock()
	}
	return slices.Clone(top[unit][:min(asked, len(top[unit]))])
}

// leastTop is how many keys are looked for at least, in both units: different callers ask for so many, and each look is a
// pass over all tables.
const leastTop = 2000

// findTop returns the k heaviest keys by each unit.
func (p *Profile) findTop(k int, sh *shared) (top [2][]TopKey) {
	lists := [2]*heaviest{{profile: p, unit: Records}, {profile: p, unit: Bytes}}
	for i, g := range sh.groups {
		var w Weight
		for _, at := range g {
			w = w.Add(p.Partitions[at.part].weightOf(p.Partitions[at.part].keys.entry(int(at.entry))))
		}
		for _, h := range lists {
			h.offer(k, contender{w, g[0], int32(i)})
		}
	}
	var least Weight // of the lists, 0 before they are full: few entries reach it
	p.eachEntry(func(at place, e *entry) {
		w := p.Partitions[at.part].weightOf(e)
		if w.Records < least.Records && w.Bytes < least.Bytes || sh.has(at) {
			return
		}
		for _, h := range lists {
			h.offer(k, contender{w, at, -1})
		}
		if len(lists[0].list) == k {
			least = Weight{lists[Records].list[0].w.Records, lists[Bytes].list[0].w.Bytes}
		}
	})
	for u, h := range lists {
		top[u] = h.keys(sh)
	}
	return top
}

// keys returns the keys of the list, heaviest first.
func (h *heaviest) keys(sh *shared) []TopKey {
	slices.SortFunc(h.list, func(a, b contender) int { return h.compare(b, a) })
	top, mode := make([]TopKey, len(h.list)), h.profile.Mode()
	for i, c := range h.list {
		group := []place{c.at}
		if c.group >= 0 {
			group = sh.groups[c.group]
		}
		top[i] = h.profile.topKey(group, mode)
	}
	return top
}

// contender is a key that may be among the heaviest.
type contender struct {
	w     Weight
	at    place // one of its entries
	group int32 // index in shared.groups; -1: it has one entry
}

// heaviest is a heap of the heaviest keys seen so far, the lightest of them first.
type heaviest struct {
	profile *Profile
	unit    Unit
	list    []contender
}

// compare is positive when a is before b in the list of the heaviest keys.
func (h *heaviest) compare(a, b contender) int {
	return cmp.Or(compareWeight(a.w, b.w, h.unit), bytes.Compare(h.profile.keyAt(b.at), h.profile.keyAt(a.at)))
}

// compareWeight compares by one unit and then by the other.
func compareWeight(a, b Weight, u Unit) int {
	return cmp.Or(cmp.Compare(a.Of(u), b.Of(u)), cmp.Compare(a.Of(Bytes-u), b.Of(Bytes-u)))
}

// compareTop is positive when a is before b in a list of the heaviest keys.
func compareTop(a, b TopKey, u Unit) int {
	return cmp.Or(compareWeight(a.Lo, b.Lo, u), bytes.Compare(b.Key, a.Key))
}

// offer keeps c when it is among the k heaviest.
func (h *heaviest) offer(k int, c contender) {
	switch {
	case len(h.list) < k:
		heap.Push(h, c)
	case h.compare(c, h.list[0]) > 0:
		h.list[0] = c
		heap.Fix(h, 0)
	}
}

// Len, Less, Swap, Push and Pop implement [heap.Interface].
func (h *heaviest) Len() int           { return len(h.list) }
func (h *heaviest) Less(i, j int) bool { return h.compare(h.list[i], h.list[j]) < 0 }
func (h *heaviest) Swap(i, j int)      { h.list[i], h.list[j] = h.list[j], h.list[i] }
func (h *heaviest) Push(x any)         { h.list = append(h.list, x.(contender)) }
func (h *heaviest) Pop() any {
	last := h.list[len(h.list)-1]
	h.list = h.list[:len(h.list)-1]
	return last
}
