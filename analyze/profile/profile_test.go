package profile

import (
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"

	"keyspread/analyze/source"
)

// specsOf returns the candidates of a config as the builder resolves them.
func specsOf(cfg Config, partitions int) []CandidateSpec {
	return append([]CandidateSpec{{cfg.Partitioner, int32(partitions)}}, cfg.Candidates...)
}

func TestExactEqualsPlainMaps(t *testing.T) {
	for _, s := range streams() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			cfg := config(1 << 30)
			p := s.build(t, cfg, 1)
			if p.Mode() != Exact {
				t.Fatalf("mode %v, want exact", p.Mode())
			}
			tr := s.truth(specsOf(cfg, s.partitions))
			checkPlaced(t, p, tr)
			checkTotals(t, p, s)
			entries := 0
			for i := range p.Partitions {
				for _, k := range keysOf(&p.Partitions[i]) {
					entries++
					want := tr.keys[string(k.Key)][k.Partition]
					if k.Lo != want || k.Hi != want || k.Partition != int32(i) {
						t.Fatalf("key %q in partition %d: %v..%v, want %v", k.Key, i, k.Lo, k.Hi, want)
					}
				}
			}
			wantEntries, several := 0, int64(0)
			for _, in := range tr.keys {
				wantEntries += len(in)
				if len(in) > 1 {
					several++
				}
			}
			if entries != wantEntries {
				t.Errorf("%d entries, want %d", entries, wantEntries)
			}
			d := p.Distinct()
			if !d.Exact || d.Keys != int64(len(tr.keys)) || d.SeveralPartitions != several {
				t.Errorf("distinct %+v, want %d keys, %d in several partitions", d, len(tr.keys), several)
			}
			for _, u := range []Unit{Records, Bytes} {
				checkTop(t, p, tr, u)
			}
		})
	}
}

// checkTop compares the heaviest keys with the truth, for a growing and a falling k.
func checkTop(t *testing.T, p *Profile, tr *truth, u Unit) {
	t.Helper()
	ranked := tr.ranked(u)
	for _, k := range []int{1, 100, len(ranked) + 1, 10} {
		top := p.Top(k, u)
		if len(top) != min(k, len(ranked)) {
			t.Fatalf("Top(%d, %v) has %d keys, want %d", k, u, len(top), min(k, len(ranked)))
		}
		for i, got := range top {
			want := ranked[i]
			if string(got.Key) != want || got.Lo != tr.total[want] || got.Hi != got.Lo {
				t.Fatalf("Top(%d, %v)[%d] = %q %v..%v, want %q %v", k, u, i, got.Key, got.Lo, got.Hi, want, tr.total[want])
			}
			if len(got.Where) != len(tr.keys[want]) {
				t.Fatalf("Top(%d, %v)[%d] is in %d partitions, want %d", k, u, i, len(got.Where), len(tr.keys[want]))
			}
			for _, in := range got.Where {
				if in.Lo != tr.keys[want][in.Partition] {
					t.Fatalf("Top(%d, %v)[%d] has %v in partition %d, want %v", k, u, i, in.Lo, in.Partition, tr.keys[want][in.Partition])
				}
			}
		}
	}
	if len(ranked) > 0 {
		k, ok := p.Lookup([]byte(ranked[0]))
		if !ok || k.Lo != tr.total[ranked[0]] {
			t.Errorf("Lookup(%q) = %v, %v, want %v", ranked[0], k.Lo, ok, tr.total[ranked[0]])
		}
	}
	if _, ok := p.Lookup([]byte("no such key")); ok {
		t.Error(`Lookup("no such key") found it`)
	}
}

// checkPlaced compares every candidate's placement with that of the single records.
func checkPlaced(t *testing.T, p *Profile, tr *truth) {
	t.Helper()
	for i := range p.Partitions {
		for c := range p.Candidates {
			got := &p.Partitions[i].Placed[c]
			if got.Loads.NumPartitions() != p.Candidates[c].NumPartitions {
				t.Fatalf("partition %d, candidate %v: %d loads", i, p.Candidates[c], got.Loads.NumPartitions())
			}
			for to, w := range got.Loads.list() {
				if want := tr.loads[c][i][int32(to)]; w != want {
					t.Fatalf("partition %d, candidate %v: load of %d is %v, want %v", i, p.Candidates[c], to, w, want)
				}
			}
			if got.Moved != tr.moved[c][i] || got.Unkeyed != tr.spread[c][i] || got.Unplaced != tr.lost[c][i] {
				t.Fatalf("partition %d, candidate %v: moved %v, unkeyed %v, unplaced %v, want %v, %v, %v", i, p.Candidates[c],
					got.Moved, got.Unkeyed, got.Unplaced, tr.moved[c][i], tr.spread[c][i], tr.lost[c][i])
			}
		}
	}
}

// checkTotals compares the counts of each partition with a plain loop over its records.
func checkTotals(t *testing.T, p *Profile, s *stream) {
	t.Helper()
	var topic Weight
	for id, recs := range s.byPartition() {
		want := Partition{ID: int32(id), FirstOffset: -1, LastOffset: -1, MinTime: -1, MaxTime: -1}
		var times Weight
		for i := range recs {
			r := &recs[i]
			w := Weight{1, size(r)}
			want.Total = want.Total.Add(w)
			want.KeyBytes += int64(len(r.Key))
			want.HeaderBytes += int64(r.HeaderSize)
			if r.ValueSize > 0 {
				want.ValueBytes += int64(r.ValueSize)
			} else if r.ValueSize < 0 && r.Key != nil {
				want.Tombstones++
			}
			if r.Key == nil {
				want.NullKey = want.NullKey.Add(w)
			} else if len(r.Key) == 0 {
				want.EmptyKey = want.EmptyKey.Add(w)
			}
			bucket := 0
			for v := w.Bytes; v > 0; v /= 2 {
				bucket++
			}
			want.Sizes[bucket]++
			if r.Timestamp >= 0 {
				times = times.Add(w)
				if want.MinTime < 0 || r.Timestamp < want.MinTime {
					want.MinTime = r.Timestamp
				}
				want.MaxTime = max(want.MaxTime, r.Timestamp)
			}
			if i == 0 {
				want.FirstOffset = r.Offset
			}
			want.LastOffset = r.Offset
		}
		topic = topic.Add(want.Total)
		got := p.Partitions[id]
		var inGrid Weight
		for _, c := range got.Grid.Cells {
			inGrid = inGrid.Add(c)
		}
		if inGrid != times {
			t.Errorf("partition %d: grid holds %v, want %v", id, inGrid, times)
		}
		got.Spans, got.Coverage, got.WireBytes = nil, source.Coverage{}, 0
		got.Mode, got.Missing, got.Placed, got.Grid, got.keys, got.spread = 0, Weight{}, nil, Grid{}, nil, false
		got.tops, got.share = nil, 0
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("partition %d:\n got %+v\nwant %+v", id, got, want)
		}
	}
	if p.Total() != topic {
		t.Errorf("total %v, want %v", p.Total(), topic)
	}
}

func TestBoundsHold(t *testing.T) {
	var bounded atomic.Int32
	t.Cleanup(func() {
		if n, all := int(bounded.Load()), len(streams()); n < min(30, all*7/8) {
			t.Errorf("%d of %d streams are bounded under the smallest memory, want 30: this tests too little", n, all)
		}
	})
	for _, s := range streams() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			cfg := config(MinMemory)
			p := s.build(t, cfg, 1)
			if p.Mode() == Bounded {
				bounded.Add(1)
			}
			tr := s.truth(specsOf(cfg, s.partitions))
			checkPlaced(t, p, tr)
			checkTotals(t, p, s)
			held := map[string]map[int32]bool{}
			for i := range p.Partitions {
				part := &p.Partitions[i]
				if part.Mode == Exact && part.Missing != (Weight{}) {
					t.Errorf("partition %d is exact but misses %v", i, part.Missing)
				}
				for _, k := range keysOf(part) {
					checkBounds(t, fmt.Sprintf("key %.20q in partition %d", k.Key, i), k.Lo, k.Hi, tr.keys[string(k.Key)][k.Partition])
					if held[string(k.Key)] == nil {
						held[string(k.Key)] = map[int32]bool{}
					}
					held[string(k.Key)][k.Partition] = true
					if t.Failed() {
						return
					}
				}
			}
			missing := p.Missing()
			for k, in := range tr.keys {
				for id, w := range in {
					if !held[k][id] {
						checkBounds(t, fmt.Sprintf("key %.20q missing from partition %d", k, id), Weight{}, p.Partitions[id].Missing, w)
					}
				}
				got, ok := p.Lookup([]byte(k))
				if ok {
					checkBounds(t, fmt.Sprintf("key %.20q", k), got.Lo, got.Hi, tr.total[k])
				} else {
					checkBounds(t, fmt.Sprintf("missing key %.20q", k), Weight{}, missing, tr.total[k])
				}
				if t.Failed() {
					return
				}
			}
		})
	}
}

// Only the heaviest key of a partition is certain to be that, and none has more than said; a second read makes more of them
// certain.
func TestHeaviest(t *testing.T) {
	var other, bounded, refined int // keys named that another one outweighs; certain ones of bounded tables
	for _, s := range streams() {
		tr := s.truth(nil)
		most := map[int32]int64{}
		for _, in := range tr.keys {
			for id, w := range in {
				most[id] = max(most[id], w.Records)
			}
		}
		check := func(p *Profile) (certain int) {
			for i := range p.Partitions {
				part := &p.Partitions[i]
				top, ok := part.Heaviest()
				if ok != (part.NumKeys() > 0) {
					t.Fatalf("%s: partition %d of %d keys: found %v", s.name, part.ID, part.NumKeys(), ok)
				}
				if !ok {
					continue
				}
				has := tr.keys[string(top.Key.Key)][part.ID].Records
				if top.Most < most[part.ID] || part.Mode == Exact && (!top.Certain || top.Most != has) {
					t.Errorf("%s: partition %d, %v: %+v, want at most %d", s.name, part.ID, part.Mode, top, most[part.ID])
				}
				switch {
				case has == most[part.ID]:
				case top.Certain:
					t.Errorf("%s: partition %d, %v: %q with %d is certain, another has %d", s.name, part.ID, part.Mode, top.Key.Key, has, most[part.ID])
				default:
					other++
				}
				if top.Certain && part.Mode == Bounded {
					certain++
				}
			}
			return certain
		}
		check(s.build(t, config(1<<30), 1))
		p := s.build(t, config(MinMemory), 1)
		bounded += check(p)
		var keys [][]byte
		for _, k := range p.Top(1000, Records) {
			keys = append(keys, k.Key)
		}
		r, err := NewRefiner(p, keys)
		if err != nil {
			t.Fatal(err)
		}
		s.feed(t, r, 1)
		if err := r.Apply(); err != nil {
			t.Fatal(err)
		}
		refined += check(p)
	}
	t.Logf("%d certain, %d after a second read; %d are not the heaviest", bounded, refined, other)
	if other == 0 || bounded == 0 || refined < bounded {
		t.Errorf("%d certain, %d after a second read; %d are not the heaviest", bounded, refined, other)
	}
}

func checkBounds(t *testing.T, what string, lo, hi, want Weight) {
	t.Helper()
	if want.Records < lo.Records || want.Records > hi.Records || want.Bytes < lo.Bytes || want.Bytes > hi.Bytes {
		t.Errorf("%s: bounds %v..%v do not hold %v", what, lo, hi, want)
	}
}

// The a priori bound of the purges: E <= W/((1-q) n) with q at most 0.76.
func TestErrorWithinPotential(t *testing.T) {
	for _, s := range streams() {
		p := s.build(t, config(MinMemory), 1)
		for i := range p.Partitions {
			part := &p.Partitions[i]
			if part.Mode == Exact || s.name == "odd: keys of up to 20 kB" {
				continue
			}
			// beside 2 KiB of slots there is room for entries with keys of up to 40 bytes, of which a quarter may be pinned
			const entries = (tightBudget - 256*8) / (entryBytes + 40)
			limit := float64(part.Total.Records) / (0.24 * 0.75 * entries)
			if got := float64(part.Missing.Records); got > limit {
				t.Errorf("%s: partition %d misses up to %v records of %d, want at most %.1f", s.name, i, got, part.Total.Records, limit)
			}
		}
	}
}

func TestSameProfileForAnyWorkers(t *testing.T) {
	for i, s := range streams() {
		if s.partitions == 1 || i%2 == 1 {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			want := dump(s.build(t, config(MinMemory), 1))
			for _, workers := range []int{2, 5} {
				if got := dump(s.build(t, config(MinMemory), workers)); !slices.Equal(got, want) {
					t.Errorf("%d workers: the profile differs from that of one", workers)
				}
			}
		})
	}
}

// dump writes out everything a profile says.
func dump(p *Profile) []string {
	out := []string{fmt.Sprintf("%+v %+v %+v", p.Candidates, p.Distinct(), p.Missing())}
	for i := range p.Partitions {
		part := p.Partitions[i]
		for _, k := range keysOf(&part) {
			out = append(out, fmt.Sprintf("%+v", k))
		}
		part.keys = nil
		out = append(out, fmt.Sprintf("%+v", part))
	}
	for _, u := range []Unit{Records, Bytes} {
		for _, k := range p.Top(50, u) {
			out = append(out, fmt.Sprintf("%+v", k))
		}
	}
	return out
}
