package batch

import (
	"errors"
	"fmt"
)

// What can be wrong with a batch. An [Error] wraps one of them.
var (
	ErrMagic    = errors.New("unknown message format")
	ErrCRC      = errors.New("checksum does not match")
	ErrCodec    = errors.New("unknown compression codec")
	ErrTooLarge = errors.New("batch too large once decompressed")
	ErrCorrupt  = errors.New("corrupt batch")
)

// Error says which batch cannot be read, and why.
type Error struct {
	Offset int64 // the base offset that the batch's header states
	Next   int64 // the offset after the batch, by its header; -1 when the header is not to be trusted
	Err    error // wraps ErrMagic, ErrCRC, ErrCodec, ErrTooLarge or ErrCorrupt
}

// Error names the batch by its base offset.
func (e *Error) Error() string { return fmt.Sprintf("record batch at offset %d: %v", e.Offset, e.Err) }

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}
