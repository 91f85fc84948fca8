package reports

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// MinSecret is the least number of bytes of a redaction secret. Record keys are often guessable (customer numbers,
// addresses), so the secret is all that keeps a tag from being computed for every candidate key.
const MinSecret = 16

const tagPrefix = "key:"

// Redactor replaces keys by tags: the first 40 bits of HMAC-SHA-256 over the key, under a secret. Within one secret a
// key has the same tag in every report, so reports stay comparable; two of a million keys share a tag with probability
// about 0.4. The null key and the empty key, which identify nobody, are shown as they are.
// It is safe for concurrent use.
type Redactor struct {
	secret []byte
}

// NewRedactor returns a redactor under secret, which it keeps a copy of. It fails when secret is shorter than
// [MinSecret] bytes.
func NewRedactor(secret []byte) (*Redactor, error) {
	if len(secret) < MinSecret {
		return nil, fmt.Errorf("redacting keys with a secret of %d bytes: use at least %d, or tags can be traced back by guessing", len(secret), MinSecret)
	}
	return &Redactor{secret: append([]byte(nil), secret...)}, nil
}

// Tag returns the tag of a key, such as "key:3f9a01c2d4".
func (r *Redactor) Tag(key []byte) string {
	mac := hmac.New(sha256.New, r.secret)
	mac.Write(key)
	return tagPrefix + hex.EncodeToString(mac.Sum(nil)[:5])
}
