package sample

import (
	"math/rand/v2"
	"slices"

	"keyspread/analyze/source"
)

// Frame cuts the offsets of a plan into blocks and draws them, partition by partition, without replacement. What it
// draws depends on the plan, the block size, the seed and the totals asked for, on nothing else.
type Frame struct {
	BlockSize  int64
	partitions []partitionFrame // by partition
}

type partitionFrame struct {
	id      int32
	spans   []source.Span
	offsets int64
	blocks  int64
	rng     *rand.Rand
	drawn   map[int64]bool
}

// LeastPerPartition is how many blocks each partition gets at least, so that it has a variance of its own.
const LeastPerPartition = 2

// NewFrame cuts a plan's spans into blocks of blockSize offsets. Blocks are offset intervals, so each offset has the
// same chance whatever the gaps; a block may hold fewer records than offsets, or none.
func NewFrame(p *source.Plan, blockSize int64, seed uint64) *Frame {
	f := &Frame{BlockSize: blockSize}
	for _, s := range p.Spans {
		if n := len(f.partitions); n == 0 || f.partitions[n-1].id != s.Partition {
			f.partitions = append(f.partitions, partitionFrame{
				id: s.Partition, rng: rand.New(rand.NewPCG(seed, uint64(s.Partition))), drawn: map[int64]bool{},
			})
		}
		pf := &f.partitions[len(f.partitions)-1]
		pf.spans = append(pf.spans, s)
		pf.offsets += s.End - s.Start
	}
	for i := range f.partitions {
		pf := &f.partitions[i]
		pf.blocks = (pf.offsets + blockSize - 1) / blockSize
	}
	return f
}

// Blocks is the number of blocks of all partitions.
func (f *Frame) Blocks() int64 {
	var n int64
	for _, pf := range f.partitions {
		n += pf.blocks
	}
	return n
}

// Drawn is the number of blocks drawn so far.
func (f *Frame) Drawn() int64 {
	var n int64
	for _, pf := range f.partitions {
		n += int64(len(pf.drawn))
	}
	return n
}

// Draw extends the draw to total blocks, each partition in proportion to its offsets and with at least
// [LeastPerPartition] where it has them, and returns the spans of the new blocks by partition and offset.
func (f *Frame) Draw(total int64) []source.Span {
	all := f.Blocks()
	var spans []source.Span
	for i := range f.partitions {
		pf := &f.partitions[i]
		// Rounding up keeps small partitions in; the sum may pass total by one block a partition.
		want := (pf.blocks*min(total, all) + all - 1) / max(1, all)
		want = min(pf.blocks, max(want, LeastPerPartition))
		spans = append(spans, pf.draw(want, f.BlockSize)...)
	}
	return spans
}

// draw extends the partition's draw to want blocks.
func (pf *partitionFrame) draw(want, blockSize int64) []source.Span {
	var fresh []int64
	if 2*want >= pf.blocks {
		// Rejection would crawl: shuffle what is left instead.
		var left []int64
		for b := range pf.blocks {
			if !pf.drawn[b] {
				left = append(left, b)
			}
		}
		pf.rng.Shuffle(len(left), func(i, j int) { left[i], left[j] = left[j], left[i] })
		fresh = left[:max(0, want-int64(len(pf.drawn)))]
	}
	for _, b := range fresh {
		pf.drawn[b] = true
	}
	for int64(len(pf.drawn)) < want {
		if b := pf.rng.Int64N(pf.blocks); !pf.drawn[b] {
			pf.drawn[b] = true
			fresh = append(fresh, b)
		}
	}
	slices.Sort(fresh)
	var spans []source.Span
	for _, b := range fresh {
		spans = append(spans, pf.span(b, blockSize)...)
	}
	return spans
}

// span returns the offsets of block b; several spans when the block crosses a hole in what was asked for.
func (pf *partitionFrame) span(b, blockSize int64) []source.Span {
	from, to := b*blockSize, min((b+1)*blockSize, pf.offsets)
	var spans []source.Span
	for _, s := range pf.spans {
		size := s.End - s.Start
		lo, hi := max(0, from), min(size, to)
		if lo < hi {
			spans = append(spans, source.Span{Partition: pf.id, Start: s.Start + lo, End: s.Start + hi})
		}
		from, to = from-size, to-size
	}
	return spans
}

// block returns the number of the block that holds an offset; false outside the frame.
func (pf *partitionFrame) block(offset, blockSize int64) (int64, bool) {
	var before int64
	for _, s := range pf.spans {
		if offset >= s.Start && offset < s.End {
			return (before + offset - s.Start) / blockSize, true
		}
		before += s.End - s.Start
	}
	return 0, false
}

// later reports whether a block lies in the later half of the partition's offsets.
func (pf *partitionFrame) later(block int64) bool { return block >= pf.blocks/2 }
