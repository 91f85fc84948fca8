package sample

import (
	"fmt"

	"keyspread/analyze/profile"
	"keyspread/analyze/source"
	"keyspread/partitioner"
)

// Collector is a [source.Sink] that keeps, for everything a report estimates, the sums over blocks that variances need:
// for each key, and for each future partition and the moved records of each candidate. It passes every batch on.
//
// Memory is one entry for each distinct key of the sample and partition, and one for each key and block; a sample is
// small by design.
type Collector struct {
	frame      *Frame
	candidates []profile.CandidateSpec
	next       source.Sink
	cells      map[int32]*cell // by partition; fixed before the first batch, so partitions need no lock
}

// NewCollector collects the blocks of a frame and passes batches on to next. Candidates are placed for every key.
func NewCollector(f *Frame, candidates []profile.CandidateSpec, next source.Sink) *Collector {
	c := &Collector{frame: f, candidates: candidates, next: next, cells: map[int32]*cell{}}
	for i := range f.partitions {
		pf := &f.partitions[i]
		ce := &cell{frame: pf, keys: map[string]*keySums{}, block: -1}
		for _, spec := range candidates {
			ce.moved = append(ce.moved, sums{})
			ce.loads = append(ce.loads, make([]sums, spec.NumPartitions))
		}
		c.cells[pf.id] = ce
	}
	return c
}

// cell is what was collected of one partition.
type cell struct {
	frame   *partitionFrame
	block   int64 // being filled; -1: none
	size    sums  // of whole blocks, against themselves
	late    sums  // the same, of blocks in the later half only
	wire    int64 // bytes as stored
	keys    map[string]*keySums
	null    sums
	moved   []sums   // by candidate
	loads   [][]sums // by candidate, by future partition
	touched []*sums  // in the block being filled, so that closing it costs what it holds

	blocks []block    // closed, those without a record left out
	pieces []piece    // of the blocks, one after the other
	open   []*keySums // in the block being filled
}

// keySums are the sums of one key in one partition, and where the candidates place it.
type keySums struct {
	sums
	records int64
	places  []int32 // by candidate; -1: spread by the client, or no valid answer
	late    sums    // of blocks in the later half of the partition

	// For the concentration: the key's first entry over all partitions, and what it has there in all of them, expanded.
	owner    *keySums
	expanded [2]float64
}

// sums are the sums over blocks of one thing's weight y and the block's weight n, in both units.
type sums struct {
	y, yy, yn [2]float64 // by unit
	open      [2]float64 // y of the block being filled
	touched   bool
}

// add counts one record in the block being filled.
func (ce *cell) add(s *sums, bytes float64) {
	if !s.touched {
		s.touched = true
		ce.touched = append(ce.touched, s)
	}
	s.open[profile.Records]++
	s.open[profile.Bytes] += bytes
}

// Batch counts the records and passes the batch on.
func (c *Collector) Batch(b *source.Batch) error {
	ce := c.cells[b.Partition]
	if ce == nil {
		return fmt.Errorf("sampling partition %d: it is not in the plan", b.Partition)
	}
	ce.wire += b.WireBytes
	for i := range b.Records {
		r := &b.Records[i]
		for j := range b.Count(i) {
			if err := c.record(ce, b.Partition, r.Offset+j, r); err != nil {
				return err
			}
		}
	}
	return c.next.Batch(b)
}

// record counts the record at an offset, which is r or one like it.
func (c *Collector) record(ce *cell, partition int32, offset int64, r *source.Record) error {
	block, ok := ce.frame.block(offset, c.frame.BlockSize)
	if !ok {
		return fmt.Errorf("sampling partition %d: offset %d is outside the plan", partition, offset)
	}
	if block != ce.block {
		ce.close()
		ce.block = block
	}
	bytes := float64(len(r.Key)) + float64(max(0, r.ValueSize)) + float64(r.HeaderSize)
	ce.add(&ce.size, bytes)
	if ce.frame.later(block) {
		ce.add(&ce.late, bytes)
	}
	if r.Key == nil {
		ce.add(&ce.null, bytes)
		return nil
	}
	return c.key(ce, partition, r.Key, bytes, block)
}

// key counts one record of a key and of the future partitions it stands for.
func (c *Collector) key(ce *cell, partition int32, key []byte, bytes float64, block int64) error {
	k := ce.keys[string(key)]
	if k == nil {
		k = &keySums{places: make([]int32, len(c.candidates))}
		for i, spec := range c.candidates {
			to, err := place(spec, key)
			if err != nil {
				return err
			}
			k.places[i] = to
		}
		ce.keys[string(key)] = k
	}
	k.records++
	if !k.touched {
		ce.open = append(ce.open, k)
	}
	ce.add(&k.sums, bytes)
	if ce.frame.later(block) {
		ce.add(&k.late, bytes)
	}
	for i, to := range k.places {
		if to < 0 {
			continue
		}
		ce.add(&ce.loads[i][to], bytes)
		if to != partition {
			ce.add(&ce.moved[i], bytes)
		}
	}
	return nil
}

// place returns the partition of a key; -1 when the client spreads it or has no valid answer.
func place(spec profile.CandidateSpec, key []byte) (int32, error) {
	counts, out := [1]int32{spec.NumPartitions}, [1]int32{-1}
	keyed, err := spec.Partitioner.Place(key, counts[:], out[:])
	if partitioner.Unplaced(err) || (err == nil && !keyed) {
		return out[0], nil
	}
	if err != nil {
		return -1, fmt.Errorf("placing a key under %s at %d partitions: %w", spec.Partitioner.ID(), spec.NumPartitions, err)
	}
	return out[0], nil
}

// close ends the block being filled: what it holds goes into the sums.
func (ce *cell) close() {
	if ce.block < 0 {
		return
	}
	n := ce.size.open
	b := block{from: len(ce.pieces)}
	for _, k := range ce.open {
		ce.pieces = append(ce.pieces, piece{k, k.sums.open})
	}
	b.to = len(ce.pieces)
	b.keyed = [2]float64{n[0] - ce.null.open[0], n[1] - ce.null.open[1]}
	ce.blocks = append(ce.blocks, b)
	ce.open = ce.open[:0]
	for _, s := range ce.touched {
		for u, y := range s.open {
			s.y[u] += y
			s.yy[u] += y * y
			s.yn[u] += y * n[u]
		}
		s.open, s.touched = [2]float64{}, false
	}
	ce.touched = ce.touched[:0]
	ce.block = -1
}

// wireBytes is what the sample has cost so far, in bytes as stored.
func (c *Collector) wireBytes() int64 {
	var n int64
	for _, ce := range c.cells {
		n += ce.wire
	}
	return n
}
