package partitioner

import "errors"

// Unplaced reports whether err says that a key has no partition under a client (an [*OutsideError] or a [*KeyError]),
// as opposed to trouble in finding out. Such a key concerns its own records only; a run goes on.
func Unplaced(err error) bool {
	var outside *OutsideError
	var refused *KeyError
	return errors.As(err, &outside) || errors.As(err, &refused)
}
