package dump

import "bytes"

// A tally counts the keys that come often before they are placed and handed on: most lines of a skewed file then cost a look
// into a processor's cache, and neither the partitioner nor the sink sees them one by one. What the near level does not hold
// goes on to the far one.
//
// Lines have no time and no order that means anything, so they are handed on in another order: a key's lines count where it
// loses its slot, or when all slots are handed on. That is at a window's end once as many lines wait as came before them, so
// that a key that is heavy from the start is soon known as such, before a sink whose memory is full lets keys go. Which
// lines those are depends on the file and on nothing else. A tally that too few keys come back to rests.
type tally struct {
	window    int64 // lines, at the end of the chunk that has the last one
	near, far *level
	passed    lines // what the near level did not hold
	start     int64 // lines before this window
	handed    int64 // lines before the last time that all slots were handed on
	went      int64 // keys that went on to be placed in the window
	rest      int   // windows without a tally that are left
}

const (
	nearBits    = 15      // 1 MiB of slots, which stay in a processor's own cache
	farBits     = 18      // 8 MiB, far cheaper still than what comes after
	windowLines = 1 << 20 // after which a tally is judged
	mostWaiting = 1 << 24 // lines, after which slots are handed on at the next window's end
	restWindows = 15
	worthwhile  = 4 // a tally rests when it spares fewer than one line in so many the rest of the way
)

// newTally returns a tally with 2^near and 2^far slots.
func newTally(window int64, near, far int) *tally {
	return &tally{window: window, near: newLevel(near, longestKey), far: newLevel(far, textKey)}
}

// reset lets go of the keys that have left their slots.
func (t *tally) reset() { t.near.spelt, t.far.spelt = t.near.spelt[:0], t.far.spelt[:0] }

// keyLines is [reader.lines] for a file of keys.
func (r *reader) keyLines(b []byte, used int, last bool) (int, error) {
	var (
		t     = r.tally
		keys  [blockLen][]byte
		votes [blockLen]uint64
		n     int
	)
	for {
		from := used
		end := bytes.IndexByte(b[from:], '\n')
		if end < 0 && (!last || from == len(b)) {
			if n > 0 {
				t.near.take(lines{keys[:n], votes[:n], ones[:n]}, &t.passed)
			}
			return used, nil
		}
		if end < 0 {
			end, used = len(b), len(b)
		} else {
			end += from
			used = end + 1
		}
		if end > from && b[end-1] == '\r' {
			end--
		}
		r.line++
		key := b[from:end:end]
		if t == nil || t.rest > 0 { // and the block is empty
			r.waiting.add(key, 0, 1)
		} else {
			keys[n], votes[n] = key, voteOf(key)
			if n++; n < blockLen {
				continue
			}
			t.near.take(lines{keys[:], votes[:], ones[:]}, &t.passed)
			n = 0
		}
		if err := r.placeSome(); err != nil {
			return used, err
		}
	}
}

// ones are the counts of lines that stand for themselves.
var ones = func() (n [blockLen]int64) {
	for i := range n {
		n[i] = 1
	}
	return n
}()

// pass lets the far level take what the near one has passed, and what neither holds wait to be placed.
func (t *tally) pass(w *waiting) {
	before := len(w.keys)
	t.far.take(t.passed, &w.lines)
	t.passed.reset()
	t.went += int64(len(w.keys) - before)
}

// endChunk ends a window after the chunk that has its last line. It is called when nothing waits.
func (r *reader) endChunk(last bool) error {
	t := r.tally
	inWindow := r.line - t.start
	if inWindow < t.window && !last {
		return nil
	}
	t.start = r.line
	if t.rest > 0 {
		t.rest--
		t.handed = r.line // nothing waits
		return nil
	}
	if (inWindow-t.went)*worthwhile < inWindow {
		t.rest = restWindows
	}
	t.went = 0
	if inTally := r.line - t.handed; t.rest == 0 && !last && inTally < min(t.handed, mostWaiting) {
		return nil
	}
	t.handed = r.line
	for _, l := range []*level{t.near, t.far} {
		for i := range l.slots {
			if l.counts[i] == 0 {
				continue
			}
			r.waiting.add(l.key(i), 0, int64(l.counts[i]))
			l.counts[i] = 0 // the key keeps its slot: most come again
			if len(r.waiting.keys) == mostTogether {
				if err := r.flush(); err != nil {
					return err
				}
			}
		}
	}
	return r.flush()
}
