package profile

import (
	"cmp"
	"slices"

	"github.com/zeebo/xxh3"
)

// Bucket is what one key, one partition or the topic had in one time bucket, in one unit: Lo <= true weight <= Hi.
type Bucket struct {
	Start, Width int64 // [Start, Start+Width), ms
	Lo, Hi       int64
	Total        int64 // of the topic's records in the bucket, keyed or not
}

// Share returns the bounds of the share of the topic's records in the bucket; 0 when there are none.
func (b Bucket) Share() (lo, hi float64) {
	if b.Total == 0 {
		return 0, 0
	}
	return float64(b.Lo) / float64(b.Total), float64(b.Hi) / float64(b.Total)
}

// Rate returns the bounds of the weight per second.
func (b Bucket) Rate() (lo, hi float64) {
	if b.Width == 0 {
		return 0, 0
	}
	return float64(b.Lo) * 1000 / float64(b.Width), float64(b.Hi) * 1000 / float64(b.Width)
}

// Peak is the most that a series has in one bucket, a rate or a share: Lo <= the largest true figure <= Hi, whichever
// bucket has it.
type Peak struct {
	At     Bucket // the one with the largest lower bound, the earliest on a tie
	Lo, Hi float64
}

// PeakRate returns the largest weight per second of a bucket; false when there is no bucket.
func PeakRate(series []Bucket) (Peak, bool) { return peak(series, Bucket.Rate) }

// PeakShare returns the largest share in a bucket, of those that hold at least a quarter of the mean bucket: in an
// almost empty one a share says nothing. It returns false when there is none.
func PeakShare(series []Bucket) (Peak, bool) {
	var sum, n float64
	for _, b := range series {
		if b.Total > 0 {
			sum, n = sum+float64(b.Total), n+1
		}
	}
	busy := slices.DeleteFunc(slices.Clone(series), func(b Bucket) bool { return b.Total == 0 || 4*float64(b.Total)*n < sum })
	return peak(busy, Bucket.Share)
}

func peak(series []Bucket, bounds func(Bucket) (lo, hi float64)) (p Peak, ok bool) {
	for _, b := range series {
		lo, hi := bounds(b)
		if !ok || lo > p.Lo {
			p.At, p.Lo = b, lo
		}
		p.Hi = max(p.Hi, hi)
		ok = true
	}
	return p, ok
}

// extent returns the topic's buckets: their width, the number of the first one and how many there are; all 0 when no
// record had a timestamp.
func (p *Profile) extent() (width, first, n int64) {
	first, end := int64(maxTime), int64(0)
	for i := range p.Partitions {
		if g := &p.Partitions[i].Grid; g.Width > 0 {
			width = g.Width
			first, end = min(first, g.Start/g.Width), max(end, g.Start/g.Width+int64(len(g.Cells)))
		}
	}
	if width == 0 {
		return 0, 0, 0
	}
	return width, first, end - first
}

// Grid returns the topic over time: the sum of its partitions' grids, which share one width. It is kept for the next
// caller and must not be changed.
func (p *Profile) Grid() Grid {
	if p.cache == nil {
		return p.sumGrids()
	}
	p.cache.mu.Lock()
	defer p.cache.mu.Unlock()
	if p.cache.grid == nil {
		g := p.sumGrids()
		p.cache.grid = &g
	}
	return *p.cache.grid
}

func (p *Profile) sumGrids() Grid {
	width, first, n := p.extent()
	if width == 0 {
		return Grid{}
	}
	sum := Grid{Start: first * width, Width: width, Cells: make([]Weight, n)}
	for i := range p.Partitions {
		g := &p.Partitions[i].Grid
		for j, c := range g.Cells {
			at := g.Start/sum.Width + int64(j) - first
			sum.Cells[at] = sum.Cells[at].Add(c)
		}
	}
	return sum
}

// emptySeries is a series of the topic's buckets with their totals.
func emptySeries(g Grid, u Unit) []Bucket {
	out := make([]Bucket, len(g.Cells))
	for i, c := range g.Cells {
		out[i] = Bucket{Start: g.Start + int64(i)*g.Width, Width: g.Width, Total: c.Of(u)}
	}
	return out
}

// PartitionSeries returns the partition with the given index in Partitions over time, in all buckets of the topic.
func (p *Profile) PartitionSeries(i int, u Unit) []Bucket {
	g := p.Grid()
	out := emptySeries(g, u)
	in := &p.Partitions[i].Grid
	for j, c := range in.Cells {
		at := (in.Start-g.Start)/g.Width + int64(j)
		out[at].Lo, out[at].Hi = c.Of(u), c.Of(u)
	}
	return out
}

// KeySeries returns a key of the profile (from [Profile.Top], [Profile.Lookup] or [Profile.Bursts]) over time, in all
// buckets of the topic. Each bucket keeps its heaviest keys only: where the key is not among them, Lo is 0 and Hi what
// it can have had. Records that came out of order by more than three buckets are in Hi only.
func (p *Profile) KeySeries(k TopKey, u Unit) []Bucket {
	out := emptySeries(p.Grid(), u)
	if len(out) == 0 {
		return out
	}
	h := xxh3.Hash128(k.Key)
	held := Weight{}
	for _, in := range k.Where {
		held = held.Add(in.Hi)
		i, ok := slices.BinarySearchFunc(p.Partitions, in.Partition, func(p Partition, id int32) int { return cmp.Compare(p.ID, id) })
		if !ok {
			continue
		}
		part := &p.Partitions[i]
		for j, c := range part.Grid.Cells {
			b := &out[(part.Grid.Start-out[0].Start)/out[0].Width+int64(j)]
			lo, hi := int64(0), c.Of(u)
			if part.tops != nil {
				t := &part.tops[j]
				most := t.missing
				if at, ok := t.find(h); ok {
					lo, most = t.keys[at].w.Of(u), t.keys[at].hi()
				}
				hi = min(hi, most.Add(t.late).Of(u))
			}
			b.Lo += lo
			b.Hi += max(lo, min(hi, in.Hi.Of(u)))
		}
	}
	absent := k.Hi.Sub(held).Of(u) // in partitions that do not name the key
	for i := range out {
		b := &out[i]
		b.Hi = min(b.Hi+absent, b.Total)
	}
	return out
}

// find returns the index of a key.
func (c *closedTop) find(h xxh3.Uint128) (int, bool) {
	return slices.BinarySearchFunc(c.keys, h, func(k topEntry, h xxh3.Uint128) int { return compareHash(k.hash, h) })
}

// Bursts returns the keys that in some time bucket have for certain at least the given share of the topic's weight in
// that bucket, and at least minRecords records: keys that are hot for a while, whether or not they are over the run.
// They come as [Profile.Top] orders them. A key that has left its table since is not found; it has less than
// [Profile.Missing] in all.
func (p *Profile) Bursts(u Unit, share float64, minRecords int64) []TopKey {
	g := p.Grid()
	hot := map[xxh3.Uint128]bool{}
	for b, total := range g.Cells {
		sum := map[xxh3.Uint128]Weight{}
		for i := range p.Partitions {
			part := &p.Partitions[i]
			j := b
			if part.Grid.Width > 0 {
				j -= int((part.Grid.Start - g.Start) / g.Width)
			}
			if j < 0 || j >= len(part.tops) {
				continue
			}
			for _, k := range part.tops[j].keys {
				sum[k.hash] = sum[k.hash].Add(k.w)
			}
		}
		for h, w := range sum {
			if w.Records >= minRecords && float64(w.Of(u)) >= share*float64(total.Of(u)) {
				hot[h] = true
			}
		}
	}
	var out []TopKey
	for h := range hot {
		for i := range p.Partitions {
			if t := p.Partitions[i].keys; t != nil {
				if at := t.findHash(h); at >= 0 {
					k, _ := p.Lookup(t.keyOf(t.entry(at)))
					out = append(out, k)
					break
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b TopKey) int { return compareTop(b, a, u) })
	return out
}
