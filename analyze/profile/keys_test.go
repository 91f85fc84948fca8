package profile

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"keyspread/analyze/source"
)

// keysOf lists the keys of a partition.
func keysOf(p *Partition) []Key {
	keys := make([]Key, 0, p.NumKeys())
	p.EachKey(func(_ []byte, _ Weight, whole func() Key) { keys = append(keys, whole()) })
	return keys
}

// TestEachKey compares what is told of every key with what looking it up tells: of exact and of bounded counts, as they
// are and scaled by a factor of each partition's own. The weight handed out is the lower bound.
func TestEachKey(t *testing.T) {
	s := keyed("zipf 0.8 of 200,000", 3, 20_000, 501, zipf(200_000, 0.8))
	for name, memory := range map[string]int64{"exact": 1 << 30, "bounded": MinMemory} {
		p := s.build(t, config(memory), 1)
		if want := map[string]Mode{"exact": Exact, "bounded": Bounded}[name]; p.Mode() != want {
			t.Fatalf("%s: mode %v", name, p.Mode())
		}
		factor := func(id int32) Factor { return Factor{1.5 + float64(id), 2.25 + float64(id)} }
		scaled := p.Scale(factor)
		for i := range p.Partitions {
			part := &p.Partitions[i]
			var order []Key
			part.EachKey(func(key []byte, w Weight, whole func() Key) {
				k := whole()
				order = append(order, k)
				if !bytes.Equal(key, k.Key) || w != k.Lo || k.Partition != part.ID {
					t.Errorf("%s: %q with %v is told as %+v", name, key, w, k)
				}
				found, ok := p.Lookup(key)
				if !ok {
					t.Fatalf("%s: key %q is not found", name, key)
				}
				for _, in := range found.Where {
					if in.Partition == part.ID && (!bytes.Equal(in.Key, key) || in.Lo != k.Lo || in.Hi != k.Hi || in.First != k.First || in.Last != k.Last) {
						t.Errorf("%s: %q is told as %+v, and found as %+v", name, key, k, in)
					}
				}
			})
			if len(order) != part.NumKeys() || len(order) == 0 {
				t.Errorf("%s: %d keys of partition %d, want %d", name, len(order), i, part.NumKeys())
			}
			f, at := factor(part.ID), 0
			times := func(w Weight) Weight {
				return Weight{int64(math.Round(float64(w.Records) * f[Records])), int64(math.Round(float64(w.Bytes) * f[Bytes]))}
			}
			scaled.Partitions[i].EachKey(func(key []byte, w Weight, whole func() Key) {
				was, k := order[at], whole()
				at++
				if !bytes.Equal(key, was.Key) || w != times(was.Lo) || k.Lo != w || k.Hi != times(was.Hi) {
					t.Errorf("%s, scaled by %v: %q with %v, told as %+v; unscaled it is %+v", name, f, key, w, k, was)
				}
			})
			if t.Failed() {
				return
			}
		}
	}
}

// TestEachKeyAllocatesNothing per key: a few allocations a partition, however many keys.
func TestEachKeyAllocatesNothing(t *testing.T) {
	s := keyed("zipf 1.0 of 1,000", 1, 20_000, 502, zipf(1000, 1))
	part := &s.build(t, config(1<<30), 1).Partitions[0]
	var sum int64
	allocs := testing.AllocsPerRun(10, func() {
		part.EachKey(func(key []byte, w Weight, whole func() Key) { sum += w.Records + whole().Lo.Bytes + int64(len(key)) })
	})
	if part.NumKeys() < 100 || allocs > 4 {
		t.Errorf("%v allocations for %d keys, want at most 4", allocs, part.NumKeys())
	}
}

// A key away from home that a table has forgotten can have had there what all records that are away have, and no less.
func TestForgottenStrayKey(t *testing.T) {
	const at, stray = 100, 5
	home := map[int32][][]byte{} // keys by partition
	for i := 0; len(home[0]) < 1 || len(home[1]) < 20_000; i++ {
		key := fmt.Appendf(nil, "%d", i)
		to, _ := one(testPartitioner, key, 2)
		home[to] = append(home[to], key)
	}
	key := home[0][0]
	s := stream{name: "stray", partitions: 2}
	add := func(n int, partition int32, key []byte) {
		for range n {
			s.recs = append(s.recs, rec{partition, source.Record{Key: key, ValueSize: 7, Timestamp: -1}})
		}
	}
	add(at, 0, key)
	add(stray, 1, key)
	for _, k := range home[1] {
		add(2*stray, 1, k)
	}
	p := s.build(t, config(MinMemory), 1)
	top := p.Top(1, Records)
	if len(top) != 1 || !bytes.Equal(top[0].Key, key) || top[0].Lo.Records != at {
		t.Fatalf("%v: the top key is %v, want %s with the %d records of partition 0", p.Mode(), top, key, at)
	}
	if k := top[0]; k.Hi.Records != at+stray || k.Hi.Bytes != (at+stray)*int64(len(key)+7) {
		t.Errorf("at most %v, want the %d records that are elsewhere too", k.Hi, stray)
	}
}
