package synthetic

import (
	"math/rand/v2"
	"strconv"

	"keyspread/analyze/source"
)

// valueWriter makes values that look like a service's JSON: fixed field names, an id, an amount, words. They compress
// about as such data does (lz4 to a half, zstd to less than that), with nothing repeated from an earlier record but the
// words and names.
type valueWriter struct{ draw *rand.Rand }

func newValueWriter(seed uint64) valueWriter {
	return valueWriter{rand.New(rand.NewPCG(seed, valueStream))}
}

// AppendValue appends a value of r.ValueSize bytes to dst and returns the extended slice. Values of 80 bytes and more are
// a JSON object; shorter ones are its beginning. Values depend on the seed and on how many were made before, so they are
// the same when made for every record or for none between.
func (s *Stream) AppendValue(dst []byte, r *source.Record) []byte {
	return s.values.append(dst, int(r.ValueSize))
}

const (
	hexDigits = "0123456789abcdef"
	valueTail = `"}`
)

// words are 32, so that five random bits choose one.
var words = [32]string{
	"order", "parcel", "express", "standard", "gift", "fragile", "return", "refund", "store", "warehouse", "north", "south",
	"morning", "evening", "invoice", "card", "transfer", "voucher", "discount", "member", "guest", "mobile", "web", "partner",
	"pending", "packed", "shipped", "delivered", "cancelled", "blue", "green", "large",
}

var statuses = [4]string{"created", "paid", "shipped", "delivered"}

func (w *valueWriter) append(dst []byte, size int) []byte {
	end := len(dst) + size
	id, rest := w.draw.Uint64(), w.draw.Uint64()
	dst = append(dst, `{"id":"`...)
	for shift := 0; shift < 64; shift += 4 {
		dst = append(dst, hexDigits[id>>shift&15])
	}
	dst = append(dst, `","amount":`...)
	dst = strconv.AppendUint(dst, rest%500, 10)
	dst = append(dst, '.', '0'+byte(rest>>16%10), '0'+byte(rest>>24%10))
	dst = append(dst, `,"status":"`...)
	dst = append(dst, statuses[rest>>32&3]...)
	dst = append(dst, `","note":"`...)
	for bits := uint64(0); len(dst) < end; bits >>= 5 {
		if bits == 0 {
			bits = w.draw.Uint64() | 1<<63
		}
		dst = append(dst, words[bits&31]...)
		dst = append(dst, ' ')
	}
	dst = dst[:end]
	if size >= 80 { // the fields before the note's text take 70 at most
		copy(dst[end-len(valueTail):], valueTail)
	}
	return dst
}
