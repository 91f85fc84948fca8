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
	if p.cache == nil {
		return p.findTop(k, unit, p.findShared())
	}
	sh := p.sharedOnce()
	p.cache.mu.Lock()
	top, known := p.cache.top[unit], p.cache.topLen[unit]
	p.cache.mu.Unlock()
	if known < k {
		top = p.findTop(k, unit, sh)
		p.cache.mu.Lock()
		p.cache.top[unit], p.cache.topLen[unit] = top, k
		p.cache.mu.Unlock()
	}
	return slices.Clone(top[:min(k, len(top))])
}

func (p *Profile) findTop(k int, unit Unit, sh *shared) []TopKey {
	h := &heaviest{profile: p, unit: unit}
	for i, g := range sh.groups {
		var w Weight
		for _, at := range g {
			w = w.Add(p.Partitions[at.part].weightOf(p.Partitions[at.part].keys.entry(int(at.entry))))
		}
		h.offer(k, contender{w, g[0], int32(i)})
	}
	p.eachEntry(func(at place, e *entry) {
		c := contender{p.Partitions[at.part].weightOf(e), at, -1}
		if len(h.list) == k && c.w.Of(unit) < h.list[0].w.Of(unit) {
			return // before the look-up, which few entries reach
		}
		if !sh.has(at) {
			h.offer(k, c)
		}
	})
	slices.SortFunc(h.list, func(a, b contender) int { return h.compare(b, a) })
	top := make([]TopKey, len(h.list))
	for i, c := range h.list {
		group := []place{c.at}
		if c.group >= 0 {
			group = sh.groups[c.group]
		}
		top[i] = p.topKey(group)
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
