package kafka

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxForeign bounds a text of a broker's, in bytes; a host name has at most 253.
const maxForeign = 300

// foreign makes a text that came from a broker fit to be shown: what does not print, which could steer a terminal or
// turn the direction of writing, is escaped as in Go's source, and what is beyond maxForeign bytes is left out.
func foreign(s string) string {
	var b strings.Builder
	for i, w := 0, 0; i < len(s); i += w {
		var r rune
		r, w = utf8.DecodeRuneInString(s[i:])
		shown := s[i : i+w]
		if r == utf8.RuneError && w == 1 || !unicode.IsPrint(r) {
			quoted := strconv.Quote(shown)
			shown = quoted[1 : len(quoted)-1]
		}
		if b.Len()+len(shown) > maxForeign {
			b.WriteString("…")
			break
		}
		b.WriteString(shown)
	}
	return b.String()
}

// foreignError shows an error whose text holds what the other side sent.
type foreignError struct{ err error }

func (e *foreignError) Error() string { return foreign(e.err.Error()) }
func (e *foreignError) Unwrap() error { return e.err }

// validTopic reports whether Kafka allows a topic of this name.
func validTopic(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
	return name != "" && len(name) <= 249 && strings.Trim(name, letters) == ""
}
