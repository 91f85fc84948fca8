package profile

// EachWeight calls f with the weight of every key that the tables hold, summed over partitions, in a fixed order. It
// names no keys and allocates nothing per key. In exact mode these are all keys of the topic.
func (p *Profile) EachWeight(f func(Weight)) {
	sh := p.sharedOnce()
	weigh := func(at place) Weight {
		part := &p.Partitions[at.part]
		return part.weightOf(part.keys.entry(int(at.entry)))
	}
	p.eachEntry(func(at place, _ *entry) {
		if len(sh.member) > 0 && sh.has(at) {
			return
		}
		f(weigh(at))
	})
	for _, group := range sh.groups {
		var w Weight
		for _, at := range group {
			w = w.Add(weigh(at))
		}
		f(w)
	}
}

// EachHeavier calls f with the bounds of every key whose lower one exceeds a limit in one unit, those of [Profile.Top], in
// a fixed order.
func (p *Profile) EachHeavier(limit int64, unit Unit, f func(lo, hi Weight)) {
	sh := p.sharedOnce()
	offer := func(group []place) {
		if k := p.topKey(group); k.Lo.Of(unit) > limit {
			f(k.Lo, k.Hi)
		}
	}
	var one [1]place
	p.eachEntry(func(at place, e *entry) {
		if p.Partitions[at.part].weightOf(e).Of(unit) <= limit || sh.has(at) {
			return // before the key is summed up, which few need
		}
		one[0] = at
		offer(one[:])
	})
	for _, group := range sh.groups {
		offer(group)
	}
}
