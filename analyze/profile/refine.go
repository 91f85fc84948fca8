package profile

import (
	"bytes"
	"fmt"
	"math"
	"slices"

	"github.com/zeebo/xxh3"

	"keyspread/analyze/source"
)

// Refiner counts a few keys exactly in a second read of the same plan, to replace their bounds in a bounded profile. It
// is the [source.Sink] of that read, under the rules of [Builder].
type Refiner struct {
	profile *Profile
	keys    [][]byte // sorted, each once
	byID    map[int32]*refined
}

// refined is what the second read has seen of one partition.
type refined struct {
	table *table
	total Weight
}

// NewRefiner prepares a second read for the given keys, as they come from [Profile.Top] or [Profile.Bursts].
func NewRefiner(p *Profile, keys [][]byte) (*Refiner, error) {
	r := &Refiner{profile: p, keys: slices.Clone(keys), byID: map[int32]*refined{}}
	slices.SortFunc(r.keys, bytes.Compare)
	r.keys = slices.CompactFunc(r.keys, bytes.Equal)
	for i, k := range r.keys {
		if k == nil {
			return nil, fmt.Errorf("refining topic %q: null keys are counted exactly already", p.Topic)
		}
		r.keys[i] = bytes.Clone(k)
	}
	for i := range p.Partitions {
		part := &p.Partitions[i]
		if part.Mode == Exact {
			continue
		}
		t := newTable(math.MaxInt64, part.keys.verify)
		for _, k := range r.keys {
			t.restore(xxh3.Hash128(k), k, Weight{}, 0, -1, -1, false)
		}
		r.byID[part.ID] = &refined{table: t}
	}
	return r, nil
}

// Partitions returns the partitions that need a second read: those in bounded mode, by ID.
func (r *Refiner) Partitions() []int32 {
	var ids []int32
	for i := range r.profile.Partitions {
		if id := r.profile.Partitions[i].ID; r.byID[id] != nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// Batch counts the records of b whose key is asked for. Partitions that need no second read are passed over.
func (r *Refiner) Batch(b *source.Batch) error {
	p := r.byID[b.Partition]
	if p == nil {
		return nil
	}
	for i := range b.Records {
		rec, times := &b.Records[i], b.Count(i)
		size := times * (int64(len(rec.Key)) + int64(max(rec.ValueSize, 0)) + int64(rec.HeaderSize))
		p.total.Records += times
		p.total.Bytes += size
		if rec.Key == nil {
			continue
		}
		at := p.table.find(xxh3.Hash128(rec.Key), rec.Key)
		if at < 0 {
			continue
		}
		e := p.table.entry(at)
		e.records += times
		e.bytes += size
		if rec.Timestamp >= 0 {
			e.last = rec.Timestamp
			if e.first < 0 {
				e.first = rec.Timestamp
			}
		}
	}
	return nil
}

// Apply makes the keys exact in the profile, which must not be in use meanwhile. A partition in which the second read
// saw other records than the first (retention or compaction has removed some between the two, or it was not read to its
// end) keeps its bounds; the error names those partitions, and the others are refined all the same.
func (r *Refiner) Apply() error {
	var differ []int32
	for i := range r.profile.Partitions {
		part := &r.profile.Partitions[i]
		seen := r.byID[part.ID]
		if seen == nil {
			continue
		}
		if seen.total != part.Total {
			differ = append(differ, part.ID)
			continue
		}
		for j := range seen.table.n {
			if e := seen.table.entry(j); e.records > 0 {
				part.keys.settle(e, seen.table.keyOf(e))
			}
		}
	}
	r.profile.cache = &cache{}
	if len(differ) > 0 {
		return fmt.Errorf("refining topic %q: the second read saw other records than the first in partitions %v: "+
			"their keys keep their bounds; read a range that retention and compaction leave alone", r.profile.Topic, differ)
	}
	for _, k := range r.keys {
		if at, ok := slices.BinarySearchFunc(r.profile.refined, k, bytes.Compare); !ok {
			r.profile.refined = slices.Insert(r.profile.refined, at, k)
		}
	}
	return nil
}

// settle replaces what is known of a key by its exact counts.
func (t *table) settle(exact *entry, key []byte) {
	at := t.find(exact.hash(), key)
	if at < 0 {
		t.restore(exact.hash(), key, exact.weight(), 0, exact.first, exact.last, false)
		return
	}
	e := t.entry(at)
	e.records, e.bytes, e.first, e.last = exact.records, exact.bytes, exact.first, exact.last
	e.meta &= 1<<metaEpoch - 1
}

// NumRefined is how many keys a second pass has counted exactly.
func (p *Profile) NumRefined() int { return len(p.refined) }

// isRefined reports whether a second pass has counted a key in every partition.
func (p *Profile) isRefined(key []byte) bool {
	_, ok := slices.BinarySearchFunc(p.refined, key, bytes.Compare)
	return ok
}
