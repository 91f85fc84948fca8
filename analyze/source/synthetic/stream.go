package synthetic

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"keyspread/analyze/source"
)

// Stream yields the records of a [Config] once, in time order. It is not safe for concurrent use and must not be copied.
type Stream struct {
	config Config
	next   int64
	zipf   zipf
	clock  clock
	draw   *rand.Rand
	values valueWriter

	hot      [][]byte
	left     []int64 // records still to come: of hot[i], then null, then empty
	reserved []int64 // numbers whose keys are hot keys' names, ascending
	running  int     // index of the hot key that has a run; -1: none
	key      []byte  // buffer of the numbered keys
}

// New makes the stream of c, or says why there is none.
func New(c Config) (*Stream, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.KeyDigits == 0 {
		c.KeyDigits = len(strconv.FormatInt(c.Keys, 10))
	}
	s := &Stream{
		config: c,
		clock:  newClock(c),
		draw:   rand.New(rand.NewPCG(c.Seed, drawStream)),
		values: newValueWriter(c.Seed),
		key:    make([]byte, 0, len(c.KeyPrefix)+maxDigits),

		running: -1,
	}
	if c.Keys > 0 {
		s.zipf = newZipf(c.Keys, c.Zipf)
	}
	s.left = counts(c)
	for _, h := range c.Hot {
		s.hot = append(s.hot, []byte(h.Key))
		if n, ok := s.number([]byte(h.Key)); ok {
			s.reserved = append(s.reserved, n)
		}
	}
	slices.Sort(s.reserved)
	return s, nil
}

// The second seed words tell the generators of one Config apart, so that keys do not depend on whether values are made.
const (
	drawStream  = 0x6b657973 // "keys"
	valueStream = 0x76616c75 // "valu"
)

// counts turns the shares into whole numbers of records that never exceed c.Records in sum; the last ones give way.
func counts(c Config) []int64 {
	shares := make([]float64, 0, len(c.Hot)+2)
	for _, h := range c.Hot {
		shares = append(shares, h.Share)
	}
	shares = append(shares, c.NullShare, c.EmptyShare)
	n := make([]int64, len(shares))
	free := c.Records
	for i, share := range shares {
		n[i] = min(int64(math.Round(share*float64(c.Records))), free)
		free -= n[i]
	}
	// Without numbered keys rounding must not leave records without a key.
	for i := 0; c.Keys == 0 && free > 0; i = (i + 1) % len(n) {
		if shares[i] > 0 {
			n[i]++
			free--
		}
	}
	return n
}

// Next writes the next record to r and reports whether there was one. r.Offset is the record's place in the stream from
// 0, r.Key is valid until the next call. It allocates nothing.
func (s *Stream) Next(r *source.Record) bool {
	if s.next == s.config.Records {
		return false
	}
	*r = source.Record{
		Offset:    s.next,
		Timestamp: s.clock.time(s.next, s.config.Records),
		Key:       s.nextKey(),
		ValueSize: s.config.ValueMin,
	}
	if spread := s.config.ValueMax - s.config.ValueMin; spread > 0 {
		r.ValueSize += s.draw.Int32N(spread + 1)
	}
	s.next++
	return true
}

// nextKey draws without replacement from the records that are left, so that every count is met exactly and every order
// of the hot, null, empty and numbered records is equally likely.
//
// With HotRun the counts are still met, but a hot key's records come in runs: one begins so much more rarely as it is
// long, and goes on with probability 1 - 1/HotRun.
func (s *Stream) nextKey() []byte {
	if s.config.HotRun > 1 {
		return s.nextInRuns()
	}
	x := s.draw.Int64N(s.config.Records - s.next)
	for i := range s.left {
		if x >= s.left[i] {
			x -= s.left[i]
			continue
		}
		s.left[i]--
		switch i {
		case len(s.hot):
			return nil
		case len(s.hot) + 1:
			return emptyKey
		}
		return s.hot[i]
	}
	return s.numberedKey(s.zipf.rank(s.draw))
}

// nextInRuns is nextKey when hot keys come in runs.
func (s *Stream) nextInRuns() []byte {
	if i := s.running; i >= 0 {
		if s.left[i] > 0 && s.draw.Int64N(s.config.HotRun) > 0 {
			s.left[i]--
			return s.hot[i]
		}
		s.running = -1
	}
	// A hot key's records still to come count as the runs they make, the others as themselves.
	runs := func(i int) int64 {
		if i < len(s.hot) {
			return (s.left[i] + s.config.HotRun - 1) / s.config.HotRun
		}
		return s.left[i]
	}
	total := s.config.Records - s.next
	for i := range s.hot {
		total += runs(i) - s.left[i]
	}
	x := s.draw.Int64N(total)
	for i := range s.left {
		if n := runs(i); x >= n {
			x -= n
			continue
		}
		s.left[i]--
		switch i {
		case len(s.hot):
			return nil
		case len(s.hot) + 1:
			return emptyKey
		}
		s.running = i
		return s.hot[i]
	}
	return s.numberedKey(s.zipf.rank(s.draw))
}

var emptyKey = []byte{}

// numberedKey is the key of a Zipf rank: its number is the rank, but steps over those that are hot keys' names.
func (s *Stream) numberedKey(rank int64) []byte {
	number := rank
	for _, taken := range s.reserved {
		if number >= taken {
			number++
		}
	}
	k := append(s.key[:0], s.config.KeyPrefix...)
	switch s.config.KeyFormat {
	case KeyUUID:
		return appendUUID(k, uint64(number))
	case KeyInt64:
		return binary.BigEndian.AppendUint64(k, uint64(number))
	}
	return appendPadded(k, number, s.config.KeyDigits)
}

// number is the inverse of numberedKey: the number whose key has this name.
func (s *Stream) number(key []byte) (int64, bool) {
	c := s.config
	if len(key) <= len(c.KeyPrefix) || string(key[:len(c.KeyPrefix)]) != c.KeyPrefix {
		return 0, false
	}
	rest := key[len(c.KeyPrefix):]
	var number int64
	switch c.KeyFormat {
	case KeyUUID:
		return 0, false // 2^53 names of 2^122: not worth a search
	case KeyInt64:
		if len(rest) != 8 {
			return 0, false
		}
		number = int64(binary.BigEndian.Uint64(rest))
	default:
		n, err := strconv.ParseInt(string(rest), 10, 64)
		if err != nil || string(appendPadded(nil, n, c.KeyDigits)) != string(rest) {
			return 0, false
		}
		number = n
	}
	return number, number >= 1 && number <= maxKeys
}

func appendPadded(dst []byte, number int64, digits int) []byte {
	var text [20]byte
	t := strconv.AppendInt(text[:0], number, 10)
	for range digits - len(t) {
		dst = append(dst, '0')
	}
	return append(dst, t...)
}

// appendUUID appends a UUID of version 4 whose bits are a mix of number.
func appendUUID(dst []byte, number uint64) []byte {
	var u [16]byte
	binary.BigEndian.PutUint64(u[:8], mix(number))
	binary.BigEndian.PutUint64(u[8:], mix(^number))
	u[6] = u[6]&0x0f | 0x40
	u[8] = u[8]&0x3f | 0x80
	for i, cut := range [...]int{0, 4, 6, 8, 10} {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, u[cut:[...]int{4, 6, 8, 10, 16}[i]])
	}
	return dst
}

// mix is the finalizer of SplitMix64, a bijection. Source: Steele, Lea, Flood, "Fast splittable pseudorandom number
// generators", OOPSLA 2014, with the constants of Stafford's variant 13.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
