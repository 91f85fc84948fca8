package kafka

import (
	"math"
	"sync"

	"keyspread/analyze/source"
	"keyspread/analyze/source/kafka/batch"
)

// What is taken for a topic of which nothing has come yet.
const (
	assumedOffsetBytes = 256      // a small record
	assumedBatchBytes  = 16 << 10 // the Java producer's batch.size
)

// leastAsk is what is asked of a partition at least: a page, below which nothing is spared.
const leastAsk = 4 << 10

// sizes is what has been learnt of a topic's batches, so that a request for a span asks for about what the span takes.
// It is kept from one Read to the next, as each round of a sample is one. It is safe for several goroutines.
type sizes struct {
	mu    sync.Mutex
	topic density
	parts map[int32]*density
}

// density is what batches hold.
type density struct {
	bytes, offsets, batches float64
	onDisk                  float64 // bytes per offset of the whole log; 0: not known
}

// on returns the density of a partition. The lock is held.
func (s *sizes) on(partition int32) *density {
	d := s.parts[partition]
	if d == nil {
		if s.parts == nil {
			s.parts = map[int32]*density{}
		}
		d = &density{}
		s.parts[partition] = d
	}
	return d
}

// suppose notes what a partition's log takes on disk.
func (s *sizes) suppose(p *source.Partition) {
	held := max(p.HighWatermark, p.LastStableOffset) - p.LogStartOffset
	if p.DiskBytes <= 0 || held <= 0 {
		return
	}
	s.mu.Lock()
	s.on(p.ID).onDisk = float64(p.DiskBytes) / float64(held)
	s.mu.Unlock()
}

// learn notes what came of a partition.
func (s *sizes) learn(partition int32, x batch.Extent) {
	s.mu.Lock()
	for _, d := range []*density{&s.topic, s.on(partition)} {
		d.bytes += float64(x.Bytes)
		d.offsets += float64(x.Next - x.First)
		d.batches += float64(x.Batches)
	}
	s.mu.Unlock()
}

// of returns how many bytes an offset and a batch of a partition take: by what came of it, else by its size on disk,
// else by what came of the others.
func (s *sizes) of(partition int32) (perOffset, perBatch float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	perOffset, perBatch = assumedOffsetBytes, assumedBatchBytes
	if t := &s.topic; t.batches > 0 {
		perOffset, perBatch = t.bytes/t.offsets, t.bytes/t.batches
	}
	d := s.on(partition)
	switch {
	case d.batches > 0:
		perOffset, perBatch = d.bytes/d.offsets, d.bytes/d.batches
	case d.onDisk > 0:
		perOffset = d.onDisk
	}
	return perOffset, perBatch
}

// ask returns how many bytes to ask for: what is left of the span, and of the next ones when the gaps between them are
// below a batch, in whole batches. A span begins and ends somewhere within a batch, so it takes the span's bytes and a
// batch on average; a request that falls short by a batch costs a round trip and the part of that batch that came.
func (p *partition) ask(s *sizes) int32 {
	perOffset, perBatch := s.of(p.id)
	end := p.spans[p.fetchSpan].End
	most := int64(float64(p.maxBytes) / perOffset) // offsets; beyond them the answer is full anyway
	for _, next := range p.spans[p.fetchSpan+1:] {
		if end-p.fetchPosition > most || float64(next.Start-end)*perOffset > perBatch {
			break
		}
		end = next.End
	}
	const (
		round    = 0.75 // with a quarter of a batch or more over, another batch is needed more often than not
		headRoom = 1.0625
	)
	batches := math.Ceil(float64(end-p.fetchPosition)*perOffset/perBatch + round)
	want := math.Ldexp(batches*perBatch*headRoom, p.doubled)
	return int32(min(max(want, float64(p.least), leastAsk), float64(p.maxBytes)))
}

// fellShort makes the next request ask for twice as much, as the answer to this one ends before the span though it was
// as large as it might be: the log is denser here than elsewhere.
func (p *partition) fellShort() { p.doubled = min(p.doubled+1, 30) }
