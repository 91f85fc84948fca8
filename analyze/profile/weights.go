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
