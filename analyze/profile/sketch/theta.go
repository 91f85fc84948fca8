package sketch

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// MaxTheta is the theta of a sketch that holds every key: Long.MAX_VALUE in DataSketches.
const MaxTheta = 1<<63 - 1

// Theta is a sample of a key set: the ranks below Theta, each once, ascending. Zero is never among them: DataSketches
// keeps it as a mark. The zero value is not a sketch; an empty one has Theta = MaxTheta.
type Theta struct {
	Theta  uint64 // in (0, MaxTheta]
	Hashes []uint64
}

// Estimate returns the number of distinct keys and its standard error:
//
//	n = s / theta,   sd = sqrt(s (1 - theta)) / theta
//
// for s hashes below the fraction theta of the hash range. Both are exact, with sd 0, when theta is 1.
// Source: Dasgupta, Lang, Rhodes, Thaler, "A framework for estimating stream expression cardinalities", ICDT 2016.
func (t Theta) Estimate() (n, sd float64) {
	s := float64(len(t.Hashes))
	if t.Theta >= MaxTheta {
		return s, 0
	}
	theta := float64(t.Theta) / MaxTheta
	return s / theta, math.Sqrt(s*(1-theta)) / theta
}

// Union returns the sketch of both key sets together.
func (t Theta) Union(o Theta) Theta {
	u := Theta{Theta: min(t.Theta, o.Theta)}
	u.Hashes = append(slices.Clone(t.Hashes), o.Hashes...)
	slices.Sort(u.Hashes)
	u.Hashes = slices.Compact(u.Hashes)
	n, _ := slices.BinarySearch(u.Hashes, u.Theta)
	u.Hashes = u.Hashes[:n]
	return u
}

// The compact theta sketch, serial version 3.
const (
	thetaVersion = 3
	thetaFamily  = 3 // COMPACT

	thetaReadOnly = 1 << 1
	thetaCompact  = 1 << 3
	thetaOrdered  = 1 << 4
)

// AppendBinary appends the compact, ordered form of the sketch, serial version 3.
func (t Theta) AppendBinary(b []byte) ([]byte, error) {
	if t.Theta == 0 || t.Theta > MaxTheta {
		return b, fmt.Errorf("writing a theta sketch: theta %d is outside (0, 2^63)", t.Theta)
	}
	words, flags := 3, thetaReadOnly|thetaCompact|thetaOrdered
	switch {
	case t.Theta < MaxTheta:
	case len(t.Hashes) == 0:
		words, flags = 1, flags|flagEmpty
	case len(t.Hashes) == 1:
		words = 1
	default:
		words = 2
	}
	b = append(b, byte(words), thetaVersion, thetaFamily, 0, 0, byte(flags))
	b = binary.LittleEndian.AppendUint16(b, seedHash())
	if words > 1 {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(t.Hashes)))
		b = binary.LittleEndian.AppendUint32(b, 0)
	}
	if words > 2 {
		b = binary.LittleEndian.AppendUint64(b, t.Theta)
	}
	for _, h := range t.Hashes {
		b = binary.LittleEndian.AppendUint64(b, h)
	}
	return b, nil
}

// ParseTheta reads a compact theta sketch of serial version 3 under the default seed, as every DataSketches library
// writes it. Ordered or not, the hashes come ascending.
func ParseTheta(b []byte) (Theta, error) {
	t, err := parseTheta(b)
	if err != nil {
		return Theta{}, fmt.Errorf("reading a theta sketch: %w", err)
	}
	return t, nil
}

func parseTheta(b []byte) (Theta, error) {
	if len(b) < 8 {
		return Theta{}, fmt.Errorf("%d bytes are too few", len(b))
	}
	if b[atVersion] != thetaVersion || b[atFamily] != thetaFamily {
		return Theta{}, fmt.Errorf("version %d, family %d: want version 3, family 3 (compact)", b[atVersion], b[atFamily])
	}
	flags, words := b[atFlags], int(b[atPreamble])
	if flags&1 != 0 {
		return Theta{}, errors.New("big-endian sketches are not supported")
	}
	if flags&flagEmpty != 0 {
		return Theta{Theta: MaxTheta}, nil
	}
	if got := binary.LittleEndian.Uint16(b[6:]); got != seedHash() {
		return Theta{}, fmt.Errorf("its keys are hashed with another seed than %d (seed hash %#04x, want %#04x)", Seed, got, seedHash())
	}
	t := Theta{Theta: MaxTheta}
	n := uint64(1)
	if words < 1 || words > 3 || len(b) < 8*words {
		return Theta{}, fmt.Errorf("a preamble of %d words in %d bytes", words, len(b))
	}
	if words > 1 {
		n = uint64(binary.LittleEndian.Uint32(b[8:]))
	}
	if words > 2 {
		t.Theta = binary.LittleEndian.Uint64(b[16:])
	}
	if b = b[8*words:]; uint64(len(b)) != 8*n {
		return Theta{}, fmt.Errorf("%d bytes of hashes, want %d", len(b), 8*n)
	}
	if t.Theta == 0 || t.Theta > MaxTheta {
		return Theta{}, fmt.Errorf("theta %d is outside (0, 2^63)", t.Theta)
	}
	t.Hashes = make([]uint64, n)
	for i := range t.Hashes {
		t.Hashes[i] = binary.LittleEndian.Uint64(b[8*i:])
		if t.Hashes[i] == 0 || t.Hashes[i] >= t.Theta {
			return Theta{}, fmt.Errorf("hash %d is %#x: want one in (0, theta)", i, t.Hashes[i])
		}
	}
	slices.Sort(t.Hashes)
	if len(slices.Compact(slices.Clone(t.Hashes))) != len(t.Hashes) {
		return Theta{}, errors.New("a hash comes twice")
	}
	return t, nil
}
