package skew

import (
	"bytes"
	"math"
	"slices"

	"keyspread/analyze/profile"
)

// Peaks says how high the traffic of partitions and keys rises, by time buckets of one width.
type Peaks struct {
	Start, Width int64 // of the first bucket and of each, ms
	Buckets      int
	Partitions   map[int32]Peak // by ID
	Keys         map[string]Peak
}

// Peak is how high one partition or key rises, by [profile.Unit].
type Peak struct {
	Rate  [2]profile.Peak // records or bytes a second, over the width of a bucket
	Share [2]profile.Peak // of the topic's records or bytes in a bucket; see [profile.PeakShare]
}

// AddBurst lists a key that is hot for a while only, unless it is listed, as one that is not hot.
func (s *Skew) AddBurst(p *profile.Profile, t profile.TopKey) {
	if slices.ContainsFunc(s.Top, func(k Key) bool { return bytes.Equal(k.Key, t.Key) }) {
		return
	}
	loads := make(map[int32]int64, len(s.Loads))
	for i, load := range s.Loads {
		loads[int32(i)] = load
	}
	s.Top = append(s.Top, Key{
		Key: t.Key, Lo: t.Lo, Hi: t.Hi, Where: t.Where, First: t.First, Last: t.Last,
		Share:       shareOf(t.Lo.Of(s.Unit), t.Hi.Of(s.Unit), s.Total),
		InPartition: heaviestPart(t.Where, s.Unit, loads),
	})
}

// FindPeaks returns the peaks of a profile's partitions, of the given bursts, and of the hot and undecided keys of the
// given lists. It is nil for a sample, whose blocks are too thin in time, and where the records' times do not differ or there are none.
//
// It costs O(partitions * buckets) time for the partitions, and O(buckets) for a key and partition it is in.
func FindPeaks(p *profile.Profile, bursts []profile.TopKey, lists ...[]Key) *Peaks {
	first, last := int64(math.MaxInt64), int64(-1)
	for i := range p.Partitions {
		if part := &p.Partitions[i]; part.MinTime >= 0 {
			first, last = min(first, part.MinTime), max(last, part.MaxTime)
		}
	}
	g := p.Grid()
	if p.Mode() == profile.Sampled || first >= last || g.Width == 0 {
		return nil
	}
	ps := &Peaks{
		Start: g.Start, Width: g.Width, Buckets: len(g.Cells),
		Partitions: make(map[int32]Peak, len(p.Partitions)), Keys: map[string]Peak{},
	}
	for i := range p.Partitions {
		ps.Partitions[p.Partitions[i].ID] = peakOf(func(u profile.Unit) []profile.Bucket { return p.PartitionSeries(i, u) })
	}
	add := func(t profile.TopKey) {
		if _, known := ps.Keys[string(t.Key)]; !known {
			ps.Keys[string(t.Key)] = peakOf(func(u profile.Unit) []profile.Bucket { return p.KeySeries(t, u) })
		}
	}
	for _, t := range bursts {
		add(t)
	}
	for _, keys := range lists {
		for _, k := range keys {
			if k.Verdict != NotHot {
				add(profile.TopKey{Key: k.Key, Lo: k.Lo, Hi: k.Hi, Where: k.Where, First: k.First, Last: k.Last})
			}
		}
	}
	return ps
}

func peakOf(series func(profile.Unit) []profile.Bucket) Peak {
	var p Peak
	for _, u := range []profile.Unit{profile.Records, profile.Bytes} {
		s := series(u)
		p.Rate[u], _ = profile.PeakRate(s)
		p.Share[u], _ = profile.PeakShare(s)
	}
	return p
}
