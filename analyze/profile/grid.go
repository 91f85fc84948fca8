package profile

import (
	"slices"

	"github.com/zeebo/xxh3"
)

const (
	// minBucket is the width of a grid's buckets before they widen, in ms: a second, the least over which a rate means
	// something to a user.
	minBucket = 1000
	// maxTime is the largest timestamp told apart, in ms: over a million years, far from overflow.
	maxTime = 1 << 55
)

// gridBuilder fills a [Grid]. Bucket borders are multiples of the width since the epoch and the width only doubles, so
// the final grid depends on the smallest and the largest timestamp and not on the order of the records.
type gridBuilder struct {
	limit    int   // most cells
	width    int64 // ms; 0: empty
	first    int64 // bucket number of cells[0]
	cells    []Weight
	cur      int   // cell of the timestamps in [from, to)
	from, to int64 // empty at first, so that the first record seeks

	tops tops
	lost func() Weight // what the key table may have forgotten of any key
}

// add counts a record. ts must not be negative.
func (g *gridBuilder) add(ts, size int64) {
	if ts < g.from || ts >= g.to {
		g.seek(ts)
	}
	c := &g.cells[g.cur]
	c.Records++
	c.Bytes += size
}

// seek makes the bucket of ts the current one and widens buckets as far as that needs.
func (g *gridBuilder) seek(ts int64) {
	clamped := min(ts, maxTime)
	if g.width == 0 {
		g.width = minBucket
		g.first, g.cells = clamped/minBucket, make([]Weight, 1, min(g.limit, 16))
	}
	for !g.reach(clamped / g.width) {
		g.double()
	}
	b := clamped / g.width
	g.cur, g.from, g.to = int(b-g.first), b*g.width, (b+1)*g.width
	g.tops.seek(b, g.lost(), g.cell)
}

// addKey counts the key of the record just added, which has the hash h and the entry e; before is what the table may
// have lost of it.
func (g *gridBuilder) addKey(h xxh3.Uint128, size int64, e *entry, before Weight) {
	switch {
	case g.tops.cur != nil:
		g.tops.add(h, size, e, before, g.cells[g.cur])
	case g.tops.keep > 0:
		g.tops.late(g.first+int64(g.cur), size)
	}
}

// cell returns what bucket b holds.
func (g *gridBuilder) cell(b int64) Weight { return g.cells[b-g.first] }

// last is the bucket number of the last cell.
func (g *gridBuilder) last() int64 { return g.first + int64(len(g.cells)) - 1 }

// reach adds cells up to bucket b, or reports that they would be too many.
func (g *gridBuilder) reach(b int64) bool {
	first, last := min(g.first, b), max(g.last(), b)
	n := last - first + 1
	if n > int64(g.limit) {
		return false
	}
	if first < g.first {
		cells := make([]Weight, n, min(2*n, int64(g.limit)))
		copy(cells[g.first-first:], g.cells)
		g.first, g.cells = first, cells
	}
	for int64(len(g.cells)) < n {
		g.cells = append(g.cells, Weight{})
	}
	return true
}

// double makes buckets twice as wide.
func (g *gridBuilder) double() {
	g.tops.closeAll(g.lost(), g.cell)
	g.tops.double()
	first := g.first >> 1
	n := g.last()>>1 - first + 1
	prev := int64(-1)
	for i, c := range g.cells {
		j := (g.first+int64(i))>>1 - first
		if j == prev {
			c = c.Add(g.cells[j])
		}
		g.cells[j], prev = c, j
	}
	g.first, g.cells, g.width = first, g.cells[:n], 2*g.width
	g.from, g.to = 0, 0
}

// finish closes all buckets and lets go of keys that are no longer in the table.
func (g *gridBuilder) finish(t *table) {
	g.tops.closeAll(g.lost(), g.cell)
	for _, c := range g.tops.closed {
		c.keys = slices.DeleteFunc(c.keys, func(k topEntry) bool {
			gone := t.findHash(k.hash) < 0
			if gone {
				c.drop(&k)
			}
			return gone
		})
	}
}

// result returns what was counted, and the heavy keys by cell; nil where none are kept.
func (g *gridBuilder) result() (Grid, []closedTop) {
	grid := Grid{Start: g.first * g.width, Width: g.width, Cells: g.cells}
	if g.tops.keep == 0 {
		return grid, nil
	}
	keys := make([]closedTop, len(g.cells))
	for i := range keys {
		if c := g.tops.closed[g.first+int64(i)]; c != nil {
			keys[i] = *c
		}
	}
	return grid, keys
}

// alignGrids gives all grids one width, the smallest at which all of their cells together stay within the limit.
func alignGrids(grids []*gridBuilder) {
	var width int64
	for _, g := range grids {
		width = max(width, g.width)
	}
	if width == 0 {
		return
	}
	for {
		first, last := int64(maxTime), int64(0)
		limit := int64(0)
		for _, g := range grids {
			if g.width == 0 {
				continue
			}
			for g.width < width {
				g.double()
			}
			first, last, limit = min(first, g.first), max(last, g.last()), int64(g.limit)
		}
		if last-first < limit {
			return
		}
		width *= 2
	}
}
