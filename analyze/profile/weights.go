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
	sh, mode := p.sharedOnce(), p.Mode()
	offer := func(group []place) {
		if k := p.topKey(group, mode); k.Lo.Of(unit) > limit {
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

// EachUnsampled calls f with every key that the tables hold and the key sample does not, and its bounds, those of
// [Profile.Top], in a fixed order. In exact mode there is none. The key is f's for the call only.
func (p *Profile) EachUnsampled(f func(key []byte, lo, hi Weight)) {
	top := p.sampleLevel()
	if top == 0 {
		return
	}
	sh := p.sharedOnce()
	var one [1]place
	offer := func(group []place) {
		var lo, hi Weight
		home := int32(-1)
		for _, at := range group {
			part := &p.Partitions[at.part]
			e := part.keys.entry(int(at.entry))
			l, h := part.keys.bounds(e)
			lo, hi = lo.Add(l), hi.Add(h)
			if e.meta&metaHome != 0 {
				home = at.part
			}
		}
		if key := p.keyAt(group[0]); !p.isRefined(key) {
			f(key, lo, hi.Add(p.absent(group, home)))
		} else {
			f(key, lo, hi)
		}
	}
	p.eachEntry(func(at place, _ *entry) {
		if p.levelAt(at) >= top || sh.has(at) {
			return
		}
		one[0] = at
		offer(one[:])
	})
	for _, group := range sh.groups {
		if p.levelAt(group[0]) < top {
			offer(group)
		}
	}
}
