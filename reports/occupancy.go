package reports

import "math"

// occupancy counts the partitions without a keyed record and says how many of n partitions stay empty when k keys are
// placed at random, each on its own:
//
//	mean     n (1 - 1/n)^k
//	variance n (1 - 1/n)^k + n (n-1) (1 - 2/n)^k - n^2 (1 - 1/n)^2k
//
// It is nil without a key, for a single partition, and where keys or partitions are not all known.
//
// Source: the classical occupancy problem; Johnson and Kotz, Urn Models and Their Application, 1977, section 3.1.
func occupancy(c *Contents, read []Partition, n int32) *Occupancy {
	if c.DistinctKeys == nil || !c.DistinctKeys.Exact || c.DistinctKeys.Count == 0 || n < 2 || int(n) != len(read) {
		return nil
	}
	o := &Occupancy{Keys: c.DistinctKeys.Count, Partitions: len(read)}
	for _, p := range read {
		if p.Records == p.NullKey.Records {
			o.Empty++
		}
	}
	bins, keys := float64(n), float64(o.Keys)
	free := math.Pow(1-1/bins, keys)     // one given partition stays empty
	bothFree := math.Pow(1-2/bins, keys) // two given ones do
	o.Expected = round(bins * free)
	o.SD = round(math.Sqrt(math.Max(0, bins*free+bins*(bins-1)*bothFree-bins*bins*free*free)))
	return o
}
