package dump

import (
	"fmt"

	"keyspread/analyze/source"
	"keyspread/partitioner"
)

// waiting is what is not placed yet. Keys are placed many at once: a partitioner in another process is asked for all of them
// in one trip, and any other need not end one hash before it begins the next.
type waiting struct {
	lines                  // of a file of keys
	objects []placedObject // of NDJSON: all records, and the keys of those whose partition is not named are in lines

	count [1]int32
	out   []int32 // by key
	keyed []bool
}

// placedObject is a record with its partition, -1 where it is to be placed, and its size in the file.
type placedObject struct {
	record    source.Record
	partition int32
	size      int64
}

// mostTogether is how many keys or objects wait at most, give or take a block.
const mostTogether = 4096

// placeSome places what waits when it is enough.
func (r *reader) placeSome() error {
	n := max(len(r.waiting.keys), len(r.waiting.objects))
	if r.tally != nil {
		n = max(n, len(r.tally.passed.keys))
	}
	if n < mostTogether {
		return nil
	}
	return r.place()
}

// place places what waits and adds it to its partitions, in its order. It is over once that has failed.
func (r *reader) place() error {
	w := &r.waiting
	if r.failed != nil {
		return r.failed
	}
	if r.tally != nil {
		r.tally.pass(w)
	}
	if err := w.place(r.config.Partitioner, r.config.NumPartitions); err != nil {
		r.failed = fmt.Errorf("%s: placing the keys of lines %d to %d: %w", r.config.Name, r.placed+1, r.line, err)
		return r.failed
	}
	r.placed = r.line
	if r.config.Format == Lines {
		for i, count := range w.counts {
			if err := r.addKey(w.home(i), w.keys[i], count); err != nil {
				return err
			}
		}
	}
	next := 0 // of keys
	for i := range w.objects {
		o := &w.objects[i]
		assigned := int64(0)
		if o.partition < 0 {
			assigned = 1
			if o.partition = w.home(next); o.partition < 0 {
				o.partition = r.turn(1)
			}
			next++
		}
		if err := r.add(o.partition, o.record, 1, assigned, o.size); err != nil {
			return err
		}
	}
	w.lines.reset()
	w.objects = w.objects[:0]
	return nil
}

// place asks the partitioner for all keys.
func (w *waiting) place(p partitioner.Partitioner, partitions int32) error {
	n := len(w.keys)
	if len(w.out) < n {
		w.out, w.keyed = make([]int32, n), make([]bool, n)
	}
	if partitions == 1 { // whatever the key
		for i := range n {
			w.out[i], w.keyed[i] = 0, true
		}
		return nil
	}
	w.count[0] = partitions
	return partitioner.PlaceAll(p, w.keys, w.count[:], w.out[:n], w.keyed[:n])
}

// home returns the partition of a key, -1 when the key does not decide.
func (w *waiting) home(i int) int32 {
	if !w.keyed[i] {
		return -1
	}
	return w.out[i]
}

// turn returns the partition after the last one that this gave, and goes on by n.
func (r *reader) turn(n int64) int32 {
	partitions := int64(r.config.NumPartitions)
	first := (int64(r.inTurn) + 1) % partitions
	r.inTurn = int32((int64(r.inTurn) + n) % partitions)
	return int32(first)
}

// addKey adds a key's lines to its partition, or to all of them in turn where the key does not decide.
func (r *reader) addKey(partition int32, key []byte, lines int64) error {
	add := func(partition int32, lines int64) error {
		return r.add(partition, source.Record{Timestamp: -1, Key: key}, lines, lines, lines*int64(len(key)+1))
	}
	if partition >= 0 {
		return add(partition, lines)
	}
	n := int64(r.config.NumPartitions)
	first := int64(r.turn(lines))
	for i := range min(n, lines) {
		if err := add(int32((first+i)%n), (lines-i+n-1)/n); err != nil {
			return err
		}
	}
	return nil
}

// add appends a record, as often as it counts, to its partition, which assigned of them did not name.
func (r *reader) add(partition int32, rec source.Record, count, assigned, size int64) error {
	if !r.wanted[partition] {
		return nil
	}
	p := &r.parts[partition]
	rec.Offset = p.next
	p.records = append(p.records, rec)
	if r.tally != nil {
		p.counts = append(p.counts, count)
	}
	p.next += count
	p.placed += assigned
	p.bytes += size
	if len(p.records) == batchRecords {
		return r.handOn(partition)
	}
	return nil
}
