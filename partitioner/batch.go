package partitioner

// Batcher is a [Partitioner] that is far cheaper to ask for many keys at once, such as one in another process.
type Batcher interface {
	Partitioner

	// PlaceBatch places keys under each of counts: out[k*len(counts)+c] is the partition of keys[k] at counts[c], -1 where
	// there is none; keyed[k] is false when the client spreads keys[k]. An error for which [Unplaced] holds concerns
	// single keys, and all others are answered.
	PlaceBatch(keys [][]byte, counts, out []int32, keyed []bool) error
}

// PlaceAll places keys as PlaceBatch does, in one call where p is a [Batcher] and one by one where it is not. Keys that
// p gives no partition have -1 and are no error. It panics when the lengths do not fit.
func PlaceAll(p Partitioner, keys [][]byte, counts, out []int32, keyed []bool) error {
	if len(out) != len(keys)*len(counts) || len(keyed) != len(keys) {
		panic("partitioner: out or keyed does not fit keys and counts")
	}
	if b, ok := p.(Batcher); ok {
		if err := b.PlaceBatch(keys, counts, out, keyed); err != nil && !Unplaced(err) {
			return err
		}
		return nil
	}
	for k, key := range keys {
		cells := out[k*len(counts) : (k+1)*len(counts)]
		var err error
		keyed[k], err = p.Place(key, counts, cells)
		if err != nil && !Unplaced(err) {
			return err
		}
		switch {
		case err != nil:
			keyed[k] = true
		case !keyed[k]:
			for c := range cells {
				cells[c] = -1
			}
		}
	}
	return nil
}
