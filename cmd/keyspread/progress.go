package main

import (
	"context"
	"io"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"keyspread/analyze/source"
)

// isTerminal reports whether w is a terminal that a person looks at.
func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// The widths that COLUMNS may name.
const (
	leastColumns = 40
	mostColumns  = 400
)

// columns is the width of the terminal that w is, or for another file the one that COLUMNS asks for, as with a pager; 0
// when neither is known.
func columns(w any) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	if width, _, err := term.GetSize(int(f.Fd())); err == nil {
		return width
	}
	width, err := strconv.Atoi(os.Getenv("COLUMNS"))
	if err != nil || width < 1 {
		return 0
	}
	return min(max(width, leastColumns), mostColumns)
}

// withProgress shows on w how far the reading of src is: offsets settled of those planned, rate and time left.
// A terminal gets a bar; anything else gets nothing.
func withProgress(src source.Source, w io.Writer, quiet bool) source.Source {
	if quiet || !isTerminal(w) {
		return src
	}
	return &progressSource{Source: src, out: w}
}

type progressSource struct {
	source.Source
	out io.Writer
}

// Read passes batches on and counts the offsets they settle, each partition by itself so that no lock is taken.
func (s *progressSource) Read(ctx context.Context, p *source.Plan, sink source.Sink) ([]source.Coverage, error) {
	var total int64
	spans := make(map[int32]*spanProgress, len(p.Partitions))
	for _, span := range p.Spans {
		total += span.End - span.Start
		sp := spans[span.Partition]
		if sp == nil {
			sp = &spanProgress{}
			spans[span.Partition] = sp
		}
		sp.spans = append(sp.spans, span)
	}
	bar := progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(s.out),
		progressbar.OptionSetDescription("reading "+p.Topic),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionSetItsString("offsets"),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionFullWidth(),
	)
	var done atomic.Int64
	stop := make(chan struct{})
	var drawing sync.WaitGroup
	drawing.Go(func() {
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_ = bar.Set64(min(done.Load(), total)) // a bar that cannot be drawn must not stop the run
			case <-stop:
				_ = bar.Finish()
				return
			}
		}
	})
	coverage, err := s.Source.Read(ctx, p, source.SinkFunc(func(b *source.Batch) error {
		if sp := spans[b.Partition]; sp != nil {
			done.Add(sp.advance(b.Next))
		}
		return sink.Batch(b)
	}))
	close(stop)
	drawing.Wait()
	return coverage, err
}

// spanProgress counts the offsets of a partition's spans that lie below its position.
type spanProgress struct {
	spans   []source.Span
	settled int64
}

func (p *spanProgress) advance(next int64) int64 {
	var below int64
	for _, s := range p.spans {
		below += max(0, min(next, s.End)-s.Start)
	}
	gained := below - p.settled
	p.settled = below
	return gained
}
