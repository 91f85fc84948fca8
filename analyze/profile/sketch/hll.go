package sketch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
)

// The numbers of registers that DataSketches allows, as powers of two.
const (
	MinLgK = 4
	MaxLgK = 21
)

// HLL is a HyperLogLog sketch with one byte a register. Two sketches of the same LgK merge by the larger register. The
// zero value is not a sketch: use [NewHLL].
type HLL struct {
	LgK  uint8
	Regs []uint8 // 2^LgK; each 0 to 63
}

// NewHLL returns an empty sketch of 2^lgK registers. It panics when lgK is outside [MinLgK, MaxLgK].
func NewHLL(lgK uint8) *HLL {
	if lgK < MinLgK || lgK > MaxLgK {
		panic(fmt.Sprintf("sketch: an HLL of 2^%d registers", lgK))
	}
	return &HLL{LgK: lgK, Regs: make([]uint8, 1<<lgK)}
}

// Add takes a key's hash.
func (h *HLL) Add(x Hash) {
	h.set(uint32(x.H1), uint8(min(bits.LeadingZeros64(x.H2), 62)+1))
}

func (h *HLL) set(slot uint32, v uint8) {
	if r := &h.Regs[slot&(1<<h.LgK-1)]; *r < v {
		*r = v
	}
}

// Merge makes h the sketch of both key sets together. Both must have the same LgK.
func (h *HLL) Merge(o *HLL) error {
	if h.LgK != o.LgK {
		return fmt.Errorf("merging HLL sketches of 2^%d and 2^%d registers", h.LgK, o.LgK)
	}
	for i, v := range o.Regs {
		h.Regs[i] = max(h.Regs[i], v)
	}
	return nil
}

// Estimate returns the number of distinct keys and its standard error, 1.04/sqrt(m) of it for m registers.
//
// It is the estimator of raw register counts that needs no tables and no switch between ranges:
// Source: Ertl, "New cardinality estimation algorithms for HyperLogLog sketches", arXiv 1702.01284, algorithm 6.
func (h *HLL) Estimate() (n, sd float64) {
	const top = 63 // highest register value
	var count [top + 1]int
	for _, v := range h.Regs {
		count[min(v, top)]++
	}
	m := float64(len(h.Regs))
	z := m * tau(1-float64(count[top])/m)
	for k := top - 1; k >= 1; k-- {
		z = (z + float64(count[k])) / 2
	}
	z += m * sigma(float64(count[0])/m)
	n = m / (2 * math.Ln2) * m / z
	return n, n * 1.04 / math.Sqrt(m)
}

// sigma is x + sum over k >= 1 of x^(2^k) 2^(k-1); +Inf at 1.
func sigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	z, y := x, 1.0
	for {
		x *= x
		prev := z
		z += x * y
		y += y
		if z == prev {
			return z
		}
	}
}

// tau is (1 - x - sum over k >= 1 of (1 - x^(2^-k))^2 2^-k) / 3; 0 at 0 and 1.
func tau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	y, z := 1.0, 1-x
	for {
		x = math.Sqrt(x)
		prev := z
		y /= 2
		z -= (1 - x) * (1 - x) * y
		if z == prev {
			return z / 3
		}
	}
}

// The HLL sketch, serial version 1.
const (
	hllVersion = 1
	hllFamily  = 7

	atLgK  = 3
	atList = 6 // coupons of a list
	atMode = 7 // current mode | target type<<2

	modeList = 0
	modeSet  = 1
	modeHLL  = 2
	type8    = 2 // HLL_8: a byte a register

	hllPreamble = 40 // bytes
	listWords   = 2
	setWords    = 3

	flagCompact    = 1 << 3
	flagOutOfOrder = 1 << 4 // the registers alone are to be estimated from, not the order of arrival
)

// AppendBinary appends the sketch as HLL_8 in its register form, serial version 1.
func (h *HLL) AppendBinary(b []byte) ([]byte, error) {
	zeros, low, high := 0, 0.0, 0.0
	for _, v := range h.Regs {
		switch {
		case v == 0:
			zeros++
			low++
		case v < 32:
			low += math.Ldexp(1, -int(v))
		default:
			high += math.Ldexp(1, -int(v))
		}
	}
	if zeros == len(h.Regs) {
		return append(b, listWords, hllVersion, hllFamily, h.LgK, 3, flagCompact|flagEmpty, 0, modeList|type8<<2), nil
	}
	b = append(b, hllPreamble/4, hllVersion, hllFamily, h.LgK, 0, flagCompact|flagOutOfOrder, 0, modeHLL|type8<<2)
	b = binary.LittleEndian.AppendUint64(b, 0) // the estimate by order of arrival, which registers do not know
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(low))
	b = binary.LittleEndian.AppendUint64(b, math.Float64bits(high))
	b = binary.LittleEndian.AppendUint32(b, uint32(zeros))
	b = binary.LittleEndian.AppendUint32(b, 0) // no exceptions: those are HLL_4's
	return append(b, h.Regs...), nil
}

// ParseHLL reads an HLL_8 sketch of serial version 1 in any of its modes: list, set and registers.
func ParseHLL(b []byte) (*HLL, error) {
	h, err := parseHLL(b)
	if err != nil {
		return nil, fmt.Errorf("reading an HLL sketch: %w", err)
	}
	return h, nil
}

func parseHLL(b []byte) (*HLL, error) {
	if len(b) < 8 {
		return nil, fmt.Errorf("%d bytes are too few", len(b))
	}
	if b[atVersion] != hllVersion || b[atFamily] != hllFamily {
		return nil, fmt.Errorf("version %d, family %d: want version 1, family 7 (HLL)", b[atVersion], b[atFamily])
	}
	if b[atMode]>>2&3 != type8 {
		return nil, errors.New("only HLL_8 is supported: have it written with HLL_8 as target type")
	}
	if b[atLgK] < MinLgK || b[atLgK] > MaxLgK {
		return nil, fmt.Errorf("2^%d registers: want 2^%d to 2^%d", b[atLgK], MinLgK, MaxLgK)
	}
	h := NewHLL(b[atLgK])
	if b[atFlags]&flagEmpty != 0 {
		return h, nil
	}
	switch b[atMode] & 3 {
	case modeList:
		if err := h.coupons(b, 4*listWords, int(b[atList])); err != nil {
			return nil, err
		}
		return h, nil
	case modeSet:
		if len(b) < 4*setWords {
			return nil, fmt.Errorf("%d bytes are too few for a set", len(b))
		}
		if err := h.coupons(b, 4*setWords, int(binary.LittleEndian.Uint32(b[8:]))); err != nil {
			return nil, err
		}
		return h, nil
	case modeHLL:
		if len(b) != hllPreamble+len(h.Regs) {
			return nil, fmt.Errorf("%d bytes, want %d for 2^%d registers", len(b), hllPreamble+len(h.Regs), h.LgK)
		}
		for i, v := range b[hllPreamble:] {
			if v > 63 {
				return nil, fmt.Errorf("register %d is %d: want at most 63", i, v)
			}
			h.Regs[i] = v
		}
		return h, nil
	}
	return nil, fmt.Errorf("unknown mode %d", b[atMode]&3)
}

// coupons sets the registers of n coupons in the words of b from at on; zero words are free places of a hash set.
// A coupon is a value in the high 6 bits and a slot in the others.
func (h *HLL) coupons(b []byte, at, n int) error {
	found := 0
	for ; at+4 <= len(b); at += 4 {
		if c := binary.LittleEndian.Uint32(b[at:]); c != 0 {
			h.set(c, uint8(c>>26))
			found++
		}
	}
	if found != n {
		return fmt.Errorf("%d coupons, want %d", found, n)
	}
	return nil
}
