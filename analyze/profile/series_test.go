package profile

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/zeebo/xxh3"

	"keyspread/analyze/source"
)

// timed sets the timestamps of a stream: hours of traffic whose disorder is up to jitter ms.
func timed(s *stream, span, jitter int64, seed uint64) *stream {
	r := rand.New(rand.NewPCG(seed, 3))
	for i := range s.recs {
		at := int64(1_700_000_000_000) + span*int64(i)/int64(len(s.recs))
		s.recs[i].Timestamp = at + r.Int64N(jitter+1)
	}
	s.name = fmt.Sprintf("%s over %d s, jitter %d s", s.name, span/1000, jitter/1000)
	return s
}

// bursty is a stream in which one key has a third of the records for a twentieth of the time.
func bursty(records int) *stream {
	return keyed("burst", 4, records, 900, func(r *rand.Rand, i int) uint64 {
		if i > records/2 && i < records/2+records/20 && r.IntN(3) == 0 {
			return 1 << 40
		}
		return r.Uint64N(20_000)
	})
}

// timedStreams are spread over hours, in order and out of it. Tests share them.
var timedStreams = sync.OnceValue(func() []*stream { return thin(makeTimedStreams()) })

func makeTimedStreams() []*stream {
	const (
		records = 20_000
		hour    = 3_600_000
	)
	var all []*stream
	for i, jitter := range []int64{0, 3000, 600_000} {
		seed := uint64(i)
		all = append(
			all,
			timed(keyed("zipf", 3, records, 901, zipf(5000, 1.1)), 24*hour, jitter, seed),
			timed(keyed("uniform", 3, records, 902, uniform(3000)), hour, jitter, seed),
			timed(bursty(records), 6*hour, jitter, seed),
			timed(keyed("all distinct", 2, records, 903, func(_ *rand.Rand, i int) uint64 { return uint64(i) }), hour/2, jitter, seed),
		)
	}
	return append(all, timed(keyed("any order", 2, records, 904, zipf(500, 1.0)), 1, 24*hour, 9))
}

func TestSeriesHold(t *testing.T) {
	for _, s := range timedStreams() {
		for _, memory := range []int64{MinMemory, 1 << 30} {
			t.Run(fmt.Sprintf("%s, %d MiB", s.name, memory>>20), func(t *testing.T) {
				t.Parallel()
				cfg := config(memory)
				cfg.Buckets = 64
				p := s.build(t, cfg, 1)
				checkSeries(t, p, s)
				if n := len(p.Grid().Cells); n <= 16 && n > 1 {
					t.Errorf("%d buckets of at most 64: want more than 16, or one", n)
				}
			})
		}
	}
}

// checkSeries compares the grid and the series of many keys with plain counts.
func checkSeries(t *testing.T, p *Profile, s *stream) {
	t.Helper()
	g := p.Grid()
	if len(g.Cells) > p.buckets {
		t.Errorf("%d buckets: want at most %d", len(g.Cells), p.buckets)
	}
	type cell struct {
		key    string
		bucket int64
	}
	cells := make([]Weight, len(g.Cells))
	keys := map[cell]Weight{}
	for i := range s.recs {
		r := &s.recs[i].Record
		if r.Timestamp < 0 {
			continue
		}
		b := (r.Timestamp - g.Start) / g.Width
		w := Weight{1, size(r)}
		cells[b] = cells[b].Add(w)
		if r.Key != nil {
			c := cell{string(r.Key), b}
			keys[c] = keys[c].Add(w)
		}
	}
	if !slices.Equal(cells, g.Cells) {
		t.Error("the grid's cells are not the records'")
	}
	checked := 0
	check := func(k TopKey) bool {
		for _, u := range []Unit{Records, Bytes} {
			series, most := p.KeySeries(k, u), int64(0)
			for i, b := range series {
				want := keys[cell{string(k.Key), int64(i)}].Of(u)
				most = max(most, want)
				if want < b.Lo || want > b.Hi || b.Total != cells[i].Of(u) {
					t.Errorf("key %q, %v, bucket %d: %d..%d of %d does not hold %d of %d", k.Key, u, i, b.Lo, b.Hi, b.Total, want, cells[i].Of(u))
					return false
				}
			}
			rate := float64(most) * 1000 / float64(max(1, g.Width))
			if peak, ok := PeakRate(series); !ok || rate < peak.Lo || rate > peak.Hi {
				t.Errorf("key %q, %v: peak %v..%v a second does not hold %v", k.Key, u, peak.Lo, peak.Hi, rate)
			}
		}
		checked++
		return true
	}
	for _, u := range []Unit{Records, Bytes} {
		for _, k := range p.Top(30, u) {
			if !check(k) {
				return
			}
		}
	}
	for i := range p.Partitions {
		keys := keysOf(&p.Partitions[i])
		for _, k := range keys[:min(10, len(keys))] {
			if top, ok := p.Lookup(k.Key); !ok || !check(top) {
				break
			}
		}
	}
	if checked < 20 {
		t.Errorf("%d keys checked, want at least 20", checked)
	}
}

// A key that is hot for a while is found, with its peak; one that never is, is not.
func TestBurst(t *testing.T) {
	s := timed(bursty(200_000), 6*3_600_000, 2000, 1)
	s.budget = 150 << 10 // the peak is to be known well
	for _, memory := range []int64{MinMemory, 1 << 30} {
		p := s.build(t, config(memory), 1)
		got := p.Bursts(Records, 0.2, 30)
		if len(got) != 1 || got[0].Lo.Records < 200_000/20/4 {
			t.Fatalf("%d MiB: bursts %v, want the one key", memory>>20, got)
		}
		peak, ok := PeakShare(p.KeySeries(got[0], Records))
		lo, hi := peak.At.Share()
		if !ok || lo < 0.28 || lo > 0.38 || hi < lo || hi > 0.4 { // a third, over buckets of 3,000 records and less
			t.Errorf("%d MiB: peak %+v, share %.3f..%.3f, want 1/3", memory>>20, peak, lo, hi)
		}
		if all := p.Bursts(Records, 0.9, 30); len(all) != 0 {
			t.Errorf("%d MiB: bursts of 90%%: %v, want none", memory>>20, all)
		}
		i := slices.IndexFunc(p.Partitions, func(p Partition) bool { return p.ID == got[0].Where[0].Partition })
		rate, _ := PeakRate(p.PartitionSeries(i, Records))
		key, _ := PeakRate(p.KeySeries(got[0], Records))
		if rate.Lo < key.Lo || rate.Lo != rate.Hi {
			t.Errorf("%d MiB: partition peak %+v is below its key's %+v", memory>>20, rate, key)
		}
	}
}

// Counting must not depend on how a reader cuts batches.
func TestSameForAnyBatches(t *testing.T) {
	s := timed(keyed("zipf", 1, 60_000, 905, zipf(30_000, 1.0)), 7_200_000, 90_000, 4)
	for i := range s.recs {
		if i%7 == 0 {
			s.recs[i].Key = nil
		}
	}
	recs := s.byPartition()[0]
	var want []string
	for _, n := range []int{1, 31, 32, 33, 4096, len(recs)} {
		b, err := NewBuilder(s.plan(), config(MinMemory))
		if err != nil {
			t.Fatal(err)
		}
		for part := range slices.Chunk(recs, n) {
			if err := b.Batch(&source.Batch{Records: part}); err != nil {
				t.Fatal(err)
			}
		}
		p, err := b.Profile(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := dump(p); want == nil {
			want = got
		} else if !slices.Equal(got, want) {
			t.Errorf("batches of %d records: the profile differs from that of single records", n)
		}
	}
}

func TestGridWidens(t *testing.T) {
	for _, tt := range []struct {
		name  string
		times []int64
		limit int
		want  Grid // of single records
	}{
		{"one", []int64{5}, 4, Grid{0, 1000, make([]Weight, 1)}},
		{"four seconds", []int64{0, 3999}, 4, Grid{0, 1000, make([]Weight, 4)}},
		{"five seconds", []int64{0, 4000}, 4, Grid{0, 2000, make([]Weight, 3)}},
		{"backwards", []int64{4000, 0}, 4, Grid{0, 2000, make([]Weight, 3)}},
		{"far", []int64{0, maxTime - 1}, 1, Grid{0, 1000 << 46, make([]Weight, 1)}}, // 1000*2^46 > 2^55
		{"beyond", []int64{1<<63 - 1}, 4, Grid{maxTime / 1000 * 1000, 1000, make([]Weight, 1)}},
	} {
		g := gridBuilder{limit: tt.limit, lost: func() Weight { return Weight{} }}
		for _, ts := range tt.times {
			g.add(ts, 10)
		}
		got, _ := g.result()
		sum := Weight{}
		for _, c := range got.Cells {
			sum = sum.Add(c)
		}
		if got.Start != tt.want.Start || got.Width != tt.want.Width || len(got.Cells) != len(tt.want.Cells) || sum.Records != int64(len(tt.times)) {
			t.Errorf("%s: start %d, width %d, %d cells with %v, want %d, %d, %d", tt.name,
				got.Start, got.Width, len(got.Cells), sum, tt.want.Start, tt.want.Width, len(tt.want.Cells))
		}
	}
}

// A key that its table forgets again and again is never heavy enough there to be looked at over time: what the table has
// lost of it may all be of one bucket.
func TestBucketOfALostKey(t *testing.T) {
	const size, all = 10, 1 << 20
	cell := Weight{all, all * size}
	lost := Weight{all >> topShift, size * all >> topShift}
	tp := tops{keep: topKeysMost, closed: map[int64]*closedTop{}}
	tp.seek(5, Weight{}, func(int64) Weight { return cell })
	had := Weight{}
	for round := range 2 { // the table loses the first round's records
		for i := range int64(all >> topShift) {
			e := entry{records: i + 1, bytes: (i + 1) * size}
			tp.add(xxh3.Uint128{Hi: 1, Lo: 1}, size, &e, Weight{lost.Records * int64(round), lost.Bytes * int64(round)}, cell)
			had = had.Add(Weight{1, size})
		}
	}
	tp.closeAll(lost, func(int64) Weight { return cell })
	c := tp.closed[5]
	if len(c.keys) > 0 {
		t.Fatalf("the bucket counts %v: this tests a key that it does not count", c.keys)
	}
	if c.missing.Records < had.Records || c.missing.Bytes < had.Bytes {
		t.Errorf("a key that is not counted has at most %v, but one had %v", c.missing, had)
	}
}
