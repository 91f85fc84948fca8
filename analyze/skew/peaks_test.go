package skew

import (
	"math"
	"reflect"
	"sync"
	"testing"
	"time"

	"keyspread/analyze/profile"
	"keyspread/analyze/source"
	"keyspread/analyze/source/synthetic"
	"keyspread/partitioner"
)

// streamOf counts a synthetic stream in one partition of two; the other stays empty. It also returns, by second since
// the stream's start, the records of all keys and those of the hot one.
func streamOf(t *testing.T, c synthetic.Config, memory int64) (p *profile.Profile, all, hot []int64) {
	t.Helper()
	s, err := synthetic.New(c)
	if err != nil {
		t.Fatal(err)
	}
	pt, err := partitioner.Parse("murmur2")
	if err != nil {
		t.Fatal(err)
	}
	cfg := profile.DefaultConfig()
	cfg.Partitioner, cfg.Memory = pt, memory
	b, err := profile.NewBuilder(&source.Plan{
		Topic: "t", NumPartitions: 2, Partitions: []source.Partition{{ID: 0}, {ID: 1}},
		Spans: []source.Span{{Partition: 0, End: c.Records}},
	}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	seconds := int(c.Duration/time.Second) + 1
	all, hot = make([]int64, seconds), make([]int64, seconds)
	var r source.Record
	for s.Next(&r) {
		at := (r.Timestamp - c.Start) / 1000
		all[at]++
		if string(r.Key) == c.Hot[0].Key {
			hot[at]++
		}
		if err := b.Batch(&source.Batch{Next: r.Offset + 1, Records: []source.Record{r}}); err != nil {
			t.Fatal(err)
		}
	}
	if p, err = b.Profile(nil); err != nil {
		t.Fatal(err)
	}
	return p, all, hot
}

// shaped is 200 seconds in which the two percent in the middle have 20 times the rate of the rest: with 138,000 records
// that is 500 a second, and 10,000 in the seconds 98 to 101.
func shaped() synthetic.Config {
	c := synthetic.DefaultConfig()
	c.Records, c.Keys, c.Zipf, c.ValueMin, c.ValueMax = 138_000, 60_000, 0, 90, 90
	c.Hot = []synthetic.HotKey{{Key: "hot-000000", Share: 0.3}}
	c.Rate, c.Start, c.Duration = synthetic.RateBurst, 1_700_000_000_000, 200*time.Second
	c.KeyPrefix, c.KeyDigits = "k", 9 // 10 bytes, so every record has 100
	return c
}

func TestPeaksOfAKnownRate(t *testing.T) {
	c := shaped()
	for _, memory := range []int64{profile.MinMemory, 1 << 30} {
		p, all, hot := streamOf(t, c, memory)
		list := Judge(p, profile.Records, Config{HotRatio: 1.2, Top: 5}, nil).Top // hot above 20 %
		ps := FindPeaks(p, nil, list, list)
		if ps == nil || ps.Width != 1000 || ps.Start != c.Start || ps.Buckets != 200 {
			t.Fatalf("%v: peaks %+v, want 200 buckets of a second", p.Mode(), ps)
		}
		got := ps.Partitions[0]
		rate := got.Rate[profile.Records]
		second := (rate.At.Start - c.Start) / 1000
		if math.Abs(rate.Lo-10_000) > 1 || rate.Hi != rate.Lo || second < 98 || second > 101 {
			t.Errorf("%v: partition 0 peaks at %+v, want 10,000 a second between seconds 98 and 101", p.Mode(), rate)
		}
		if bytes := got.Rate[profile.Bytes]; bytes.Lo != 100*rate.Lo || bytes.At.Start != rate.At.Start {
			t.Errorf("%v: partition 0 peaks at %+v bytes, want 100 for each of %+v records", p.Mode(), bytes, rate)
		}
		if share := got.Share[profile.Records]; share.Lo != 1 || share.Hi != 1 {
			t.Errorf("%v: partition 0 has at most the share %+v, want all", p.Mode(), share)
		}
		if none := ps.Partitions[1].Rate[profile.Records]; none.Hi != 0 {
			t.Errorf("%v: partition 1 peaks at %+v, want nothing", p.Mode(), none)
		}

		var most int64
		share := 0.0
		for i := range all {
			most = max(most, hot[i])
			if 4*all[i] >= c.Records/200 { // what PeakShare takes for busy
				share = max(share, float64(hot[i])/float64(all[i]))
			}
		}
		if len(ps.Keys) != 1 || len(list) < 5 {
			t.Errorf("%v: peaks of %d keys of %d, want of the hot one only", p.Mode(), len(ps.Keys), len(list))
		}
		key := ps.Keys["hot-000000"]
		// A key's first records of a bucket are not looked at.
		checkPeak(t, p.Mode().String()+", rate", key.Rate[profile.Records], float64(most), 20)
		checkPeak(t, p.Mode().String()+", bytes", key.Rate[profile.Bytes], 100*float64(most), 2000)
		checkPeak(t, p.Mode().String()+", share", key.Share[profile.Records], share, 0.06)
		if p.Mode() == profile.Exact == (memory == profile.MinMemory) {
			t.Errorf("%d bytes: mode %v; want one run of each mode", memory, p.Mode())
		}
	}
}

// checkPeak fails unless the bounds hold the truth and are as near to each other as the test can ask.
func checkPeak(t *testing.T, what string, p profile.Peak, want, width float64) {
	t.Helper()
	if want < p.Lo || want > p.Hi || p.Hi-p.Lo > width {
		t.Errorf("%s: peak %v to %v, want %v inside, at most %v wide", what, p.Lo, p.Hi, want, width)
	}
}

func TestNoPeaksWithoutTimes(t *testing.T) {
	c := shaped()
	c.Records = 1000
	for _, tt := range []struct {
		name string
		set  func(*synthetic.Config)
	}{
		{"all at once", func(c *synthetic.Config) { c.Duration = 0 }},
		{"before the epoch", func(c *synthetic.Config) { c.Start, c.Duration = -1, 0 }},
	} {
		one := c
		tt.set(&one)
		if p, _, _ := streamOf(t, one, 1<<30); FindPeaks(p, nil) != nil {
			t.Errorf("%s: peaks %+v, want none", tt.name, FindPeaks(p, nil))
		}
	}
	p, _, _ := streamOf(t, c, 1<<30)
	if FindPeaks(p, nil) == nil || FindPeaks(p.Scale(func(int32) profile.Factor { return profile.Factor{1, 1} }), nil) != nil {
		t.Error("want peaks of what was read, none of a sample")
	}
}

// Peaks do not depend on which partitions are read at the same time. Every key is in all four.
func TestPeaksSameForAnyWorkers(t *testing.T) {
	c := shaped()
	s, err := synthetic.New(c)
	if err != nil {
		t.Fatal(err)
	}
	const partitions = 4
	var records [partitions][]source.Record
	var r source.Record
	for i := 0; s.Next(&r); i++ {
		p := &records[i%partitions]
		r.Key, r.Offset = append([]byte(nil), r.Key...), int64(len(*p))
		*p = append(*p, r)
	}
	plan := &source.Plan{Topic: "t", NumPartitions: partitions}
	for i := range records {
		plan.Partitions = append(plan.Partitions, source.Partition{ID: int32(i)})
		plan.Spans = append(plan.Spans, source.Span{Partition: int32(i), End: int64(len(records[i]))})
	}
	cfg := profile.DefaultConfig()
	cfg.Memory = profile.MinMemory
	if cfg.Partitioner, err = partitioner.Parse("murmur2"); err != nil {
		t.Fatal(err)
	}
	var want *Peaks
	for _, workers := range []int{1, 2, partitions} {
		b, err := profile.NewBuilder(plan, cfg)
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		for w := range workers {
			wg.Go(func() {
				for p := w; p < partitions; p += workers {
					batch := &source.Batch{Partition: int32(p), Next: int64(len(records[p])), Records: records[p]}
					if err := b.Batch(batch); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		p, err := b.Profile(nil)
		if err != nil {
			t.Fatal(err)
		}
		got := FindPeaks(p, nil, Judge(p, profile.Records, Config{HotRatio: 1.5, Top: 5}, nil).Top)
		if want == nil {
			want = got
		}
		if len(got.Keys) == 0 || len(got.Partitions) != partitions || !reflect.DeepEqual(got, want) {
			t.Errorf("%d workers: peaks %+v, want those of one worker %+v", workers, got, want)
		}
	}
}
