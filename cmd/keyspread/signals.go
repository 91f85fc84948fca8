package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

// stopSignal is the signal that ended a run: the cause of its context's end.
type stopSignal struct{ os.Signal }

func (stopSignal) Error() string { return "interrupted" }

// Unwrap makes it a [context.Canceled] wherever a cause is looked at.
func (stopSignal) Unwrap() error { return context.Canceled }

// exitCode is what a shell reports for a command that the signal killed.
func (s stopSignal) exitCode() int {
	if s.Signal == syscall.SIGTERM {
		return exitTerminated
	}
	return exitInterrupted
}

// interrupted says that a run was stopped, and what is left of it.
func interrupted(ctx context.Context, left string) error {
	return fmt.Errorf("%w; %s", context.Cause(ctx), left)
}

// killedKey finds in a command's context the one that ends with the command or with a second signal.
type killedKey struct{}

// untilKilled returns the context of what must outlive a first signal, such as a partitioner that places the keys read
// so far.
func untilKilled(ctx context.Context) context.Context {
	if killed, ok := ctx.Value(killedKey{}).(context.Context); ok {
		return killed
	}
	return context.WithoutCancel(ctx)
}

// childrenDie is how long a second signal waits for child processes to be killed.
const childrenDie = 200 * time.Millisecond

// stoppable has a command end in good order on Ctrl-C or SIGTERM: the first ends its context, with a [stopSignal] as the
// cause, and the command tells what it has learnt; the second kills its children and the command.
func stoppable(run func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		killed, kill := context.WithCancel(cmd.Context())
		defer kill()
		ctx, stop := context.WithCancelCause(context.WithValue(killed, killedKey{}, killed))
		defer stop(nil)
		signals := make(chan os.Signal, 2)
		signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
		defer signal.Stop(signals)
		go func() {
			select {
			case s := <-signals:
				stop(stopSignal{s})
			case <-killed.Done():
				return
			}
			select {
			case s := <-signals:
				kill()
				time.Sleep(childrenDie)
				os.Exit(stopSignal{s}.exitCode())
			case <-killed.Done():
			}
		}()
		cmd.SetContext(ctx)
		return run(cmd, args)
	}
}

// orStopped runs what cannot be interrupted and returns its error, or at the end of ctx leaves it running and returns
// the cause of that. The process is to end then.
func orStopped(ctx context.Context, run func() error) error {
	done := make(chan error, 1)
	go func() { done <- run() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// patience is how long an answer is waited for once a run was stopped.
const patience = time.Second

// hurried returns a clock like [time.AfterFunc] that from the end of ctx on lets nothing wait longer than patience.
func hurried(ctx context.Context) func(d time.Duration, f func()) (stop func() bool) {
	return func(d time.Duration, f func()) func() bool {
		var over atomic.Bool // f was called, or stop
		fire := func() {
			if over.CompareAndSwap(false, true) {
				f()
			}
		}
		timer := time.AfterFunc(d, fire)
		release := context.AfterFunc(ctx, func() { time.AfterFunc(patience, fire) })
		return func() bool {
			release()
			timer.Stop()
			return over.CompareAndSwap(false, true)
		}
	}
}

// stoppableWriter fails from the end of ctx on, with the cause of that.
type stoppableWriter struct {
	ctx context.Context
	io.Writer
}

func (w stoppableWriter) Write(b []byte) (int, error) {
	if w.ctx.Err() != nil {
		return 0, context.Cause(w.ctx)
	}
	return w.Writer.Write(b)
}

// stoppableReader reads in a goroutine of its own, so that the end of ctx ends a Read that waits for a terminal or a
// pipe.
type stoppableReader struct {
	ctx    context.Context
	chunks chan []byte
	err    error // of the source; set before chunks is closed
	rest   []byte
}

func newStoppableReader(ctx context.Context, in io.Reader) *stoppableReader {
	r := &stoppableReader{ctx: ctx, chunks: make(chan []byte)}
	go func() {
		defer close(r.chunks)
		for {
			chunk := make([]byte, 1<<16)
			n, err := in.Read(chunk)
			if n > 0 {
				select {
				case r.chunks <- chunk[:n]:
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				r.err = err
				return
			}
		}
	}()
	return r
}

func (r *stoppableReader) Read(b []byte) (int, error) {
	if len(r.rest) == 0 {
		select {
		case chunk, ok := <-r.chunks:
			if !ok {
				if r.err == nil {
					return 0, context.Cause(r.ctx)
				}
				return 0, r.err
			}
			r.rest = chunk
		case <-r.ctx.Done():
			return 0, context.Cause(r.ctx)
		}
	}
	n := copy(b, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
