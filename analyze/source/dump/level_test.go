package dump

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
)

// The text of a key and its length are all of it.
func TestText(t *testing.T) {
	seen := map[text]string{}
	for n := range textKey {
		for i := range n {
			key := bytes.Repeat([]byte{0}, n)
			key[i] = byte(i + 1)
			own := textOf(key)
			if back := own.key(n); !bytes.Equal(back[:n], key) {
				t.Errorf("%q is spelt %q", key, back[:n])
			}
			if other, ok := seen[own]; ok && len(other) == n {
				t.Errorf("%q and %q have the same text", key, other)
			}
			seen[own] = string(key)
		}
	}
}

// Whatever the keys, their order, how many lines each stands for and how they are cut into calls: what a level passes and
// what it still holds are all lines, each under its own key.
func TestLevelLosesNothing(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		vote := voteOf
		if seed%2 == 1 { // most keys of a slot have the same vote, which then tells nothing
			vote = func(key []byte) uint64 {
				const length = credits << sizeShift
				return voteOf(key) & (7<<61 | length)
			}
		}
		pool := make([]string, 1+rng.IntN(400))
		for i := range pool { // the empty key, short ones and those that only the near level takes or none
			pool[i] = strings.Repeat("k", rng.IntN(70)*rng.IntN(2)) + fmt.Sprint(rng.IntN(300))[rng.IntN(2):]
		}
		l := newLevel(1+rng.IntN(6), []int{textKey, longestKey}[rng.IntN(2)])
		want, got := map[string]int64{}, map[string]int64{}
		var out lines
		heavy := rng.IntN(len(pool))
		for range 200 {
			var in lines
			for range rng.IntN(3 * blockLen) {
				key := pool[rng.IntN(len(pool))]
				if rng.IntN(3) == 0 {
					key = pool[heavy]
				}
				count := int64(1)
				if rng.IntN(10) == 0 {
					count = rng.Int64N(1000) + 1
				}
				want[key] += count
				in.add([]byte(key), vote([]byte(key)), count)
			}
			l.take(in, &out)
			if rng.IntN(5) > 0 {
				continue
			}
			for i, key := range out.keys {
				if out.votes[i] != vote(key) {
					t.Fatalf("seed %d: key %q passes with the vote %x, want %x", seed, key, out.votes[i], vote(key))
				}
				got[string(key)] += out.counts[i]
			}
			out.reset()
			l.spelt = l.spelt[:0]
		}
		for i, key := range out.keys {
			got[string(key)] += out.counts[i]
		}
		for i, count := range l.counts {
			if count > 0 {
				key := l.key(i)
				if len(key) >= l.longest {
					t.Errorf("seed %d: a slot is held by %q, of %d bytes", seed, key, len(key))
				}
				got[string(key)] += int64(count)
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("seed %d: lines of %d keys are %v, want %v", seed, len(want), got, want)
		}
	}
}

// A key with more than half of the lines holds its slot in the end, however the others come, and light keys do not take the
// slot of a heavy one.
func TestHeavyKeyHolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	l := newLevel(1, textKey)
	var out lines
	var passed int64
	for range 2000 {
		var in lines
		for range blockLen {
			key := []byte("heavy")
			if rng.IntN(3) == 0 {
				key = fmt.Append(nil, rng.IntN(1000))
			}
			in.add(key, voteOf(key), 1)
		}
		l.take(in, &out)
		for i, key := range out.keys {
			if string(key) == "heavy" {
				passed += out.counts[i]
			}
		}
		out.reset()
		l.spelt = l.spelt[:0]
	}
	if passed > blockLen {
		t.Errorf("%d lines of the heavy key have passed", passed)
	}
}

// A key without bytes is no null key where it has held a slot.
func TestEmptyKeyIsSpelt(t *testing.T) {
	l := newLevel(1, textKey)
	var in, out lines
	in.add([]byte{}, voteOf([]byte{}), 3)
	l.take(in, &out)
	held := 0
	for i, count := range l.counts {
		if count == 0 {
			continue
		}
		held++
		if key := l.key(i); key == nil || len(key) > 0 {
			t.Errorf("the empty key is spelt %q (null: %v)", key, key == nil)
		}
	}
	if held != 1 {
		t.Errorf("%d slots are held, want one", held)
	}
}
