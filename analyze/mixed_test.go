package analyze

import (
	"fmt"
	"slices"
	"testing"

	"keyspread/analyze/finding"
	"keyspread/analyze/placement"
	"keyspread/analyze/plan"
	"keyspread/analyze/source"
	"keyspread/partitioner"
)

// Two producers with different partitioners write the same keys: most keys are in two partitions. The plan counts keys,
// not a key in a partition, and says whose records it takes as the other's.
func TestPlanMixedWriters(t *testing.T) {
	const keys, n, to = 2000, 16, 32
	crc, murmur := parse(t, "crc32u"), parse(t, "murmur2")
	m := &memory{topic: "ints", partitions: make([][]source.Record, n)}
	var records, moved, movedKeys, whole int64
	for i := range keys {
		key := fmt.Appendf(nil, "k-%06d", i)
		at := make([]int32, 2) // by crc32u at n and at to
		if _, err := crc.Place(key, []int32{n, to}, at); err != nil {
			t.Fatal(err)
		}
		other := make([]int32, 1)
		if _, err := murmur.Place(key, []int32{n}, other); err != nil {
			t.Fatal(err)
		}
		moves := false
		for j := range 3 { // two of three by crc32u
			in := at[0]
			if j == 2 {
				in = other[0]
			}
			p := &m.partitions[in]
			*p = append(*p, source.Record{Offset: int64(len(*p)), Timestamp: int64(i), Key: key, ValueSize: 100})
			records++
			if in != at[1] {
				moved, moves = moved+1, true
			}
		}
		if moves {
			movedKeys++
		}
		if at[0] == other[0] {
			whole++
		}
	}
	cfg := DefaultConfig(murmur)
	cfg.Auto = true
	cfg.Plans = []plan.To{{NumPartitions: to}, {Partitioner: murmur}}
	res, err := Run(t.Context(), m, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if res.Distinct.Keys != keys || res.Distinct.SeveralPartitions != keys-whole {
		t.Errorf("%d keys, %d in several partitions; want %d and %d", res.Distinct.Keys, res.Distinct.SeveralPartitions, keys, keys-whole)
	}
	p := &res.Plans[0]
	if p.Candidate.Partitioner != "crc32u" || !p.KeysKnown || p.Keys != keys || p.MovedKeys != movedKeys || p.Records.Moved != moved {
		t.Errorf("%+v: %d of %d keys move, %d of %d records; want %d of %d and %d", p.Candidate, p.MovedKeys, p.Keys,
			p.Records.Moved, records, movedKeys, keys, moved)
	}
	if movedKeys < keys-whole {
		t.Fatalf("the test counts %d moved keys, but %d are in two partitions", movedKeys, keys-whole)
	}
	if len(p.Others) != 1 || res.Placement.Writers[p.Others[0].Writer].Partitioner != "murmur2" ||
		p.Others[0].Records.Lo > 1.0/3 || p.Others[0].Records.Hi < 1.0/3 {
		t.Errorf("others %+v, want murmur2 with a third", p.Others)
	}
	// A plan for another partitioner asks what would be if all used it: no one is left out.
	if p := &res.Plans[1]; len(p.Others) != 0 {
		t.Errorf("others %+v of a plan for another partitioner, want none", p.Others)
	}
	if res.Placement.Answer != placement.Mixture {
		t.Errorf("answer %v, want a mixture", res.Placement.Answer)
	}
}

// A hot key that two partitioners divide: no sentence puts it on one consumer, or in one partition that it is in.
func TestDividedHotKey(t *testing.T) {
	m := topicOf(t, parse(t, "crc32u"), 16, customers(2000, 4))
	crc, murmur := parse(t, "crc32u"), parse(t, "murmur2")
	key := []byte("tenant-hot")
	var in []int32
	for _, pt := range []partitioner.Partitioner{crc, murmur} {
		at := make([]int32, 1)
		if _, err := pt.Place(key, []int32{16}, at); err != nil {
			t.Fatal(err)
		}
		in = append(in, at[0])
		p := &m.partitions[at[0]]
		for range 1500 {
			*p = append(*p, source.Record{Offset: int64(len(*p)), Timestamp: 1_700_000_000_000, Key: key, ValueSize: 100})
		}
	}
	slices.Sort(in)
	to := make([]int32, 1)
	if _, err := crc.Place(key, []int32{32}, to); err != nil {
		t.Fatal(err)
	}
	cfg := DefaultConfig(crc)
	cfg.Plans = []plan.To{{NumPartitions: 32}}
	res, err := Run(t.Context(), m, cfg)
	if err != nil {
		t.Fatal(err)
	}
	both := fmt.Sprintf("partitions %d, %d", in[0], in[1])
	share := finding.Percent(3000.0 / 11000)
	for id, want := range map[finding.ID]string{
		finding.HotKey:      "Its records are divided between " + both + "; placed by one partitioner at one count, one consumer must carry it at its peak.",
		finding.Ceiling:     "No count brings the hottest partition below " + share + " of records once one partitioner places key {key}, now divided between " + both + " (N* = 3.7 partitions).",
		finding.MovedHotKey: fmt.Sprintf("At 32 partitions, key {key} (%s of records) is in %s and moves to partition %d alone.", share, both, to[0]),
	} {
		if f := has(res.Findings, id); f == nil || f.What != want && f.Do != want {
			t.Errorf("%s: %+v, want %q", id, f, want)
		}
	}
}
