package custom

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"keyspread/partitioner"
)

// Options says what a custom partitioner is told and given. The zero value will do for exec:CMD; jvm:CLASS needs a
// Classpath and table:FILE a Fallback.
type Options struct {
	Topic      string // that the keys are of; told to the child
	Partitions int32  // that the topic has today; 0: not known
	Brokers    int32  // that the cluster has; 0 means 3

	// Config is told to the child; a Java class gets it in configure.
	Config map[string]string

	Classpath string // of jvm:CLASS, in the form that java -cp takes
	JavaPath  string // the java command; "" means java, found on the PATH
	TempDir   string // where the shim's source lies while it starts; "" means the system's folder

	// Fallback places the keys that table:FILE does not name. It stays the caller's to close.
	Fallback partitioner.Partitioner

	// Timeout limits the wait for one answer, for the handshake (a JVM is given three times as long to start), and for
	// the child's end after its stdin was closed; 0 means 10 s.
	Timeout time.Duration

	// StderrTail is how many bytes at the end of the child's stderr are kept for errors; 0 means 4096.
	StderrTail int

	// HideKeys keeps out of errors whatever may hold a key: keys themselves, and all that a child says.
	HideKeys bool

	Env []string // of the child; nil means keyspread's own
	Dir string   // in which the child works; "" means keyspread's own

	// AfterFunc is the clock: it calls f once after d, unless stop came first. nil means [time.AfterFunc].
	AfterFunc func(d time.Duration, f func()) (stop func() bool)
}

func (o Options) withDefaults() Options {
	if o.Brokers <= 0 {
		o.Brokers = 3
	}
	if o.JavaPath == "" {
		o.JavaPath = "java"
	}
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	if o.StderrTail <= 0 {
		o.StderrTail = 4096
	}
	if o.AfterFunc == nil {
		o.AfterFunc = func(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }
	}
	return o
}

// IsSpec reports whether spec names a partitioner of this package rather than one of the registry.
func IsSpec(spec string) bool {
	kind, _, found := strings.Cut(spec, ":")
	return found && (kind == "exec" || kind == "jvm" || kind == "table")
}

// P is a custom partitioner: a [partitioner.Partitioner] that also places many keys at a time. It is safe for concurrent
// use; calls share its one child. It must be closed.
type P struct {
	id string
	batcher
}

var _ partitioner.Partitioner = (*P)(nil)

// batcher is what a kind of custom partitioner must do; P checks the arguments.
type batcher interface {
	// placeBatch is PlaceBatch, its failures ascending by key, then count.
	placeBatch(keys [][]byte, counts, out []int32, keyed []bool) ([]Failure, error)
	close() error
}

// Open opens the partitioner that spec names: exec:CMD, jvm:CLASS or table:FILE. It starts the child and greets it, or
// reads the table whole. The end of ctx ends the child, at once, also after Open has returned.
func Open(ctx context.Context, spec string, opt Options) (*P, error) {
	opt = opt.withDefaults()
	kind, rest, _ := strings.Cut(spec, ":")
	rest = strings.TrimSpace(rest)
	p := &P{id: kind + ":" + rest}
	switch {
	case !IsSpec(spec):
		return nil, fmt.Errorf("unknown custom partitioner %q: write exec:CMD, jvm:CLASS or table:FILE", spec)
	case rest == "":
		return nil, fmt.Errorf("partitioner %q names nothing: write exec:CMD, jvm:CLASS or table:FILE", spec)
	case kind == "table":
		t, err := openTable(rest, opt.Fallback)
		if err != nil {
			return nil, fmt.Errorf("opening partitioner %s: %w", p.id, err)
		}
		t.id = p.id + "+" + opt.Fallback.ID()
		p.id, p.batcher = t.id, t
		return p, nil
	}

	var c *child
	var err error
	if kind == "jvm" {
		c, err = startJVM(ctx, p.id, rest, opt)
	} else {
		c, err = startExec(ctx, p.id, rest, opt)
	}
	if err != nil {
		return nil, err
	}
	p.batcher = c
	return p, nil
}

func startExec(ctx context.Context, id, command string, opt Options) (*child, error) {
	argv, err := splitWords(command)
	if err != nil {
		return nil, fmt.Errorf("reading the command of partitioner %q: %w", id, err)
	}
	return startChild(ctx, id, argv, opt.Timeout, "run it by hand to see what it does", opt)
}

// ID is the name that P was opened by, such as "exec:./place --fast"; a table's ends with "+" and its fallback's.
func (p *P) ID() string { return p.id }

// Place implements [partitioner.Partitioner]: a PlaceBatch of one key. It takes a trip to the child and back, some tens
// of microseconds. Its error for a key that cannot be placed is a [*partitioner.KeyError], which here leaves the counts
// that could be answered answered, or a [*partitioner.OutsideError]; any other error ends all placing.
func (p *P) Place(key []byte, counts, out []int32) (bool, error) {
	var keyed [1]bool
	cells := make([]int32, len(counts))
	if len(counts) != len(out) {
		panic("custom: counts and out differ in length")
	}
	err := p.PlaceBatch([][]byte{key}, counts, cells, keyed[:])
	var failed *BatchError
	if err != nil && !errors.As(err, &failed) {
		return false, err
	}
	if !keyed[0] {
		return false, nil
	}
	copy(out, cells)
	if failed != nil {
		return true, failed.Failures[0].Err
	}
	return true, nil
}

// PlaceBatch places keys under each of counts: out[k*len(counts)+c] is the partition of keys[k] at counts[c], -1 where
// there is none, and keyed[k] is false when the client spreads keys[k]; its partitions are -1 then. A nil key is the null
// key, an empty one the empty key. With no counts nothing is asked, and every key counts as keyed.
//
// The error is a [*BatchError] when some keys cannot be placed at some counts: all others are. Any other error, such as a
// [*ChildError], leaves out and keyed undefined, and every later call returns it again.
//
// PlaceBatch keeps none of its arguments. It panics when lengths do not fit or a count is not positive.
func (p *P) PlaceBatch(keys [][]byte, counts, out []int32, keyed []bool) error {
	if len(out) != len(keys)*len(counts) || len(keyed) != len(keys) {
		panic("custom: out or keyed does not fit keys and counts")
	}
	for _, n := range counts {
		if n <= 0 {
			panic("custom: partition count is not positive")
		}
	}
	if len(counts) == 0 {
		for k := range keyed {
			keyed[k] = true
		}
		return nil
	}
	if len(keys) == 0 {
		return nil
	}
	failures, err := p.placeBatch(keys, counts, out, keyed)
	if err != nil {
		return err
	}
	if len(failures) > 0 {
		return &BatchError{Partitioner: p.id, Failures: failures}
	}
	return nil
}

// Close ends the child: it closes its stdin, waits for it, and kills it when it does not end in time or still owes an
// answer. The error is the failure that ended the child earlier, or says that it did not end as it should. A second Close
// returns the same.
func (p *P) Close() error { return p.close() }

// ErrClosed is returned by placing after Close.
var ErrClosed = errors.New("the partitioner is closed")

// Failure is a key that cannot be placed at one count.
type Failure struct {
	Key, Count int   // indexes into the keys and counts of the call
	Err        error // a *partitioner.KeyError or *partitioner.OutsideError
}

// BatchError says which keys of a batch cannot be placed; all others are.
type BatchError struct {
	Partitioner string
	Failures    []Failure // ascending by key, then count; never empty
}

func (e *BatchError) Error() string {
	first := e.Failures[0]
	return fmt.Sprintf("%d placements failed, the first that of key %d of the batch: %v", len(e.Failures), first.Key+1, first.Err)
}

// Unwrap returns the first failure's error.
func (e *BatchError) Unwrap() error { return e.Failures[0].Err }

// ChildError says that a child process can no longer be asked.
type ChildError struct {
	Partitioner string
	What        string // happened
	Next        string // what the user can do
	Stderr      string // the end of the child's, made printable
	Hide        bool   // leave Stderr out of the text: it may hold keys
	Err         error  // the cause, where there is one, such as context.Canceled
}

func (e *ChildError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "partitioner %s: %s", e.Partitioner, e.What)
	if e.Next != "" {
		fmt.Fprintf(&b, "; %s", e.Next)
	}
	switch {
	case e.Stderr == "":
		b.WriteString("; it wrote nothing to stderr")
		return b.String()
	case e.Hide:
		b.WriteString("; its stderr: " + withheld)
		return b.String()
	}
	b.WriteString("; its stderr ends:")
	for line := range strings.SplitSeq(e.Stderr, "\n") {
		b.WriteString("\n  | ")
		b.WriteString(line)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *ChildError) Unwrap() error { return e.Err }

// quoteKey quotes a key for an error, a long one shortened.
func quoteKey(key []byte) string {
	const most = 64
	switch {
	case key == nil:
		return "null"
	case len(key) > most:
		return fmt.Sprintf("%q… (%d bytes)", key[:most], len(key))
	}
	return fmt.Sprintf("%q", key)
}
