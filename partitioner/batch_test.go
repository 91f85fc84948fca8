package partitioner

import (
	"errors"
	"slices"
	"testing"
)

// batcher answers what its Place would, and counts how often it is asked.
type batcher struct {
	Partitioner
	asked int
	err   error
}

func (b *batcher) PlaceBatch(keys [][]byte, counts, out []int32, keyed []bool) error {
	b.asked++
	if b.err != nil {
		return b.err
	}
	return PlaceAll(b.Partitioner, keys, counts, out, keyed)
}

func TestPlaceAll(t *testing.T) {
	java := parse(t, "java")
	keys := [][]byte{[]byte("kafka"), nil, {}, []byte("foobar")}
	counts := []int32{12, 16}
	want := []int32{4, 4, -1, -1, 9, 9, 6, 14} // murmur2 of partitioners.md 1.6; the empty key is 275646681
	wantKeyed := []bool{true, false, true, true}
	b := &batcher{Partitioner: java}
	for _, p := range []Partitioner{java, b} {
		out, keyed := make([]int32, len(want)), make([]bool, len(keys))
		if err := PlaceAll(p, keys, counts, out, keyed); err != nil || !slices.Equal(out, want) || !slices.Equal(keyed, wantKeyed) {
			t.Errorf("%T: %v %v, %v; want %v %v", p, out, keyed, err, want, wantKeyed)
		}
	}
	if b.asked != 1 {
		t.Errorf("the batcher was asked %d times, want once", b.asked)
	}

	// Keys that a client refuses have no partition, and are no error; trouble in finding out is one.
	out, keyed := make([]int32, 2), make([]bool, 1)
	if err := PlaceAll(parse(t, "spring-cloud-stream"), [][]byte{{0xff}}, counts, out, keyed); err != nil || !slices.Equal(out, []int32{-1, -1}) || !keyed[0] {
		t.Errorf("bytes that are no text: %v %v, %v; want -1, keyed, no error", out, keyed, err)
	}
	gone := errors.New("the child is gone")
	if err := PlaceAll(&batcher{Partitioner: java, err: gone}, [][]byte{{1}}, counts, out, keyed); !errors.Is(err, gone) {
		t.Errorf("error %v, want the batcher's", err)
	}
}
