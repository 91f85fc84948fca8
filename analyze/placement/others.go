package placement

import (
	"slices"

	"keyspread/partitioner"
)

// Other is keyed records of a topic that another than an assumed partitioner wrote.
type Other struct {
	Writer  int   // index of [Placement.Writers]; -1: no known partitioner
	Records Share // of keyed records
}

// Others returns what others than pt wrote, at today's or a past count, largest share first and what no known
// partitioner explains last. Who takes pt for all future records is wrong about these. Left out are shares of less than
// 0.1 % and writers that gave way to another; the list is empty where the keys do not tell who wrote.
func (pl *Placement) Others(pt partitioner.Partitioner) []Other {
	switch pl.Answer {
	case Assigned, Ambiguous, TooFewKeys:
		return nil
	}
	over := WholeKey
	if p, ok := pt.(part); ok {
		pt, over = p.Partitioner, p.over
	}
	class := classOf(pt)
	var others []Other
	for i := range pl.Writers {
		w := &pl.Writers[i]
		is := w.Fixed < 0 && w.Over == over && (w.Partitioner == class || slices.Contains(w.Alike, class))
		gone := slices.ContainsFunc(pl.Changes, func(c Change) bool { return c.Before == i })
		if !is && !gone && w.Records.Share >= tolerated {
			others = append(others, Other{i, w.Records})
		}
	}
	if pl.Other.Records.Share >= tolerated {
		rest := pl.Other.Records // its limits leave out those that lie by chance where a writer puts them
		others = append(others, Other{-1, Share{rest.Share, min(rest.Lo, rest.Share), max(rest.Hi, rest.Share)}})
	}
	return others
}
