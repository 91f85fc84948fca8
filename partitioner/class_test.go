package partitioner

import (
	"slices"
	"testing"
)

// TestAlikeAgainstPlacement checks Alike against what classes do on 2,000 keys: classes called alike must agree on all of
// them, classes not called alike must disagree on some. None of the keys has one of the hashes that reductions treat apart.
func TestAlikeAgainstPlacement(t *testing.T) {
	all := Classes()
	for _, ascii := range []bool{false, true} {
		var keys [][]byte
		for i, key := range sampleKeys(4000) {
			if i%2 == 0 { // the ASCII half
				keys = append(keys, key)
			}
		}
		if !ascii {
			for i := range keys {
				keys[i] = append(keys[i], "é日😀"...) // text that every class takes
			}
		}
		for _, n := range []int32{1, 2, 3, 6, 8, 12, 16, 100, 1024} {
			placed := make([][]int32, len(all))
			for i, c := range all {
				placed[i] = make([]int32, len(keys))
				p := parse(t, c.ID)
				for j, key := range keys {
					if keyed, err := p.Place(key, []int32{n}, placed[i][j:j+1]); !keyed || err != nil {
						t.Fatalf("%s: key %q at %d partitions: keyed=%v, error %v", c.ID, key, n, keyed, err)
					}
				}
			}
			for i, a := range all {
				alike := Alike(a.ID, n, ascii)
				for j, b := range all {
					if i == j {
						continue
					}
					said, is := slices.Contains(alike, b.ID), slices.Equal(placed[i], placed[j])
					if said != is {
						t.Errorf("%s and %s at %d partitions, ascii %v: called alike: %v, place alike: %v", a.ID, b.ID, n, ascii, said, is)
					}
				}
			}
		}
	}
}

func TestAlike(t *testing.T) {
	for _, c := range []struct {
		class string
		n     int32
		ascii bool
		want  []string
	}{
		{"murmur2", 12, true, nil},
		{"murmur2", 16, true, []string{"murmur2u"}},
		{"fnv1a_abs", 16, true, []string{"fnv1a_absfirst_broken"}}, // negation is no mask, at a power of two neither
		{"fnv1a_abs", 2, true, []string{
			"fnv1a_mask", "fnv1a_u", "fnv1a_absfirst_broken", "fnv1-signed-abs", "djb2rev", "java_bytes:abs_min0", "java_bytes:mask",
		}},
		{"crc32_abs", 12, false, nil},
		{"crc32_abs", 12, true, []string{"no-kafka-crc32-utf16"}},
		{"kn31", 12, true, []string{"java_string:mask", "java_string:sum_mask"}},
		{"none", 1, true, nil},
		{"no such class", 1, true, nil},
	} {
		if got := Alike(c.class, c.n, c.ascii); !slices.Equal(got, c.want) {
			t.Errorf("Alike(%q, %d, %v) = %q, want %q", c.class, c.n, c.ascii, got, c.want)
		}
	}
	if got, want := len(Alike("sha1", 1, false)), len(classes)-1; got != want {
		t.Errorf("at one partition %d classes are alike, want all %d others", got, want)
	}
}

func TestClasses(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Classes() {
		if seen[c.ID] {
			t.Errorf("class %s is listed twice", c.ID)
		}
		seen[c.ID] = true
		if c.ID == "" || c.Hash == "" || c.Formula == "" || c.Description == "" || c.place == nil {
			t.Errorf("class %q lacks a field", c.ID)
		}
		if len(c.Clients) == 0 && c.ID != "java_bytes:mask" {
			t.Errorf("class %s: no client uses it", c.ID)
		}
		p := c.Partitioner()
		if p.ID() != c.ID || parse(t, c.ID).ID() != c.ID {
			t.Errorf("class %s: its partitioner is called %s", c.ID, p.ID())
		}
		out := []int32{-7}
		if keyed, err := p.Place(nil, []int32{7}, out); keyed || err != nil || out[0] != -7 {
			t.Errorf("class %s: null key: got keyed=%v, %d, error %v, want it unkeyed", c.ID, keyed, out[0], err)
		}
	}
	murmur2, _ := findClass("murmur2")
	if murmur2.Clients != nil {
		t.Error("Classes writes to the package's table")
	}
}

// TestSkewedFamilies holds two statements of the docs: kaffe's sums crowd in the middle, and Java's mask over FNV is not Java's placement.
func TestSkewedFamilies(t *testing.T) {
	const n = 4000
	middle, total := 0, 0
	for _, key := range sampleKeys(4000) {
		p := placeOne(t, "kaffe", key, n)
		if p >= 1440 && p < 2640 { // 2040 +- 600: two deviations of 16 uniform bytes, 2*sqrt(16*(256^2-1)/12) = 591
			middle++
		}
		total++
	}
	if middle < total*9/10 {
		t.Errorf("kaffe: %d of %d keys in 30 %% of the partitions, want nearly all", middle, total)
	}
}
