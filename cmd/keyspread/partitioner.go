package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"keyspread/analyze"
	"keyspread/analyze/finding"
	"keyspread/analyze/plan"
	"keyspread/partitioner"
	"keyspread/partitioner/custom"
)

// partitionerAuto takes the partitioner from where the topic's keys are.
const partitionerAuto = "auto"

// partitionerFlags name the producers' partitioner, a known one or the user's own.
type partitionerFlags struct {
	name      string
	classpath string
	config    []string
	timeout   time.Duration
	fallback  string
	hideKeys  bool // in errors
}

func (f *partitionerFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.name, "partitioner", partitionerAuto,
		"the producers' partitioner: auto (told from the keys), a `NAME` of 'keyspread partitioners', exec:CMD, jvm:CLASS or table:FILE")
	f.registerOwn(cmd)
	_ = cmd.RegisterFlagCompletionFunc("partitioner", completePartitioner)
}

// registerOwn adds the flags that say how a partitioner of the user's own is run.
func (f *partitionerFlags) registerOwn(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.classpath, "partitioner-classpath", "", "`CLASSPATH` of a jvm: partitioner, kafka-clients included")
	flags.StringArrayVar(&f.config, "partitioner-config", nil, "`key=value` for a jvm: partitioner's configure; repeatable")
	flags.DurationVar(&f.timeout, "partitioner-timeout", 10*time.Second, "how long a partitioner of your own may take to answer")
	flags.StringVar(&f.fallback, "partitioner-fallback", "java", "the `NAME` that places what a table: does not list")
}

// opened is a partitioner in use; close ends what it runs.
type opened struct {
	partitioner.Partitioner
	auto  bool
	close func() error
}

// open opens the partitioner of that name. topic is what a JVM partitioner is told; it may be unknown (""). A child is
// left to the end of the command, so that after a first signal the keys read so far can still be placed; only then it may
// not take long over them. An error is a [usageError] unless a child could not be started.
func (f *partitionerFlags) open(ctx context.Context, name, topic string) (opened, error) {
	if name == partitionerAuto {
		pt, err := partitioner.Parse("java")
		return opened{pt, true, func() error { return nil }}, err
	}
	if !custom.IsSpec(name) {
		pt, err := partitioner.Parse(name)
		if err != nil {
			return opened{}, usageError{err}
		}
		return opened{pt, false, func() error { return nil }}, nil
	}
	opt := custom.Options{Topic: topic, Classpath: f.classpath, Timeout: f.timeout, Config: map[string]string{}, HideKeys: f.hideKeys}
	for _, c := range f.config {
		key, value, ok := strings.Cut(c, "=")
		if !ok || key == "" {
			return opened{}, usageError{fmt.Errorf("--partitioner-config %q: want key=value", c)}
		}
		opt.Config[key] = value
	}
	var err error
	if opt.Fallback, err = partitioner.Parse(f.fallback); err != nil {
		return opened{}, usageError{fmt.Errorf("--partitioner-fallback: %w", err)}
	}
	opt.TempDir, opt.AfterFunc = os.TempDir(), hurried(ctx)
	p, err := custom.Open(untilKilled(ctx), name, opt)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return opened{}, interrupted(ctx, "nothing had been read yet")
	case didNotStart(err):
		return opened{}, err
	default:
		return opened{}, usageError{err}
	}
	return opened{p, false, p.Close}, nil
}

// didNotStart reports whether a child process could not be started, or ended or kept silent when it was greeted.
func didNotStart(err error) bool {
	_, isChild := errors.AsType[*custom.ChildError](err)
	_, isSearch := errors.AsType[*exec.Error](err)
	path, isPath := errors.AsType[*fs.PathError](err)
	return isChild || isSearch || isPath && path.Op == "fork/exec"
}

// forFlag names the flag in an error of open.
func forFlag(flag string, err error) error {
	if _, ok := errors.AsType[stopSignal](err); ok {
		return err
	}
	return fmt.Errorf("%s: %w", flag, err)
}

// surviving stands for a partitioner of the user's own and outlives it: once its child cannot be asked any more, keys
// have no partition under it. So what was read can still be told, by [withoutFailed].
type surviving struct {
	*custom.P
	failed atomic.Bool
}

// outlive returns pt as [surviving] when it is one of the user's own.
func outlive(pt partitioner.Partitioner) partitioner.Partitioner {
	if own, ok := pt.(*custom.P); ok {
		return &surviving{P: own}
	}
	return pt
}

// itself is the opposite of outlive.
func itself(pt partitioner.Partitioner) partitioner.Partitioner {
	if s, ok := pt.(*surviving); ok {
		return s.P
	}
	return pt
}

// hasFailed reports whether pt is a partitioner of the user's own that cannot be asked any more.
func hasFailed(pt partitioner.Partitioner) bool {
	s, ok := pt.(*surviving)
	return ok && s.failed.Load()
}

// Place implements [partitioner.Partitioner].
func (s *surviving) Place(key []byte, counts, out []int32) (bool, error) {
	keyed, err := s.P.Place(key, counts, out)
	if err == nil || partitioner.Unplaced(err) {
		return keyed, err
	}
	s.failed.Store(true)
	for i := range out {
		out[i] = -1
	}
	return true, &partitioner.KeyError{Partitioner: s.ID(), Reason: "it has failed"}
}

// PlaceBatch implements [partitioner.Batcher].
func (s *surviving) PlaceBatch(keys [][]byte, counts, out []int32, keyed []bool) error {
	err := s.P.PlaceBatch(keys, counts, out, keyed)
	if err == nil || partitioner.Unplaced(err) {
		return err
	}
	s.failed.Store(true)
	for i := range out {
		out[i] = -1
	}
	for i := range keyed {
		keyed[i] = true
	}
	return nil
}

// withoutFailed draws the conclusions of res again where they rest on a partitioner that failed in the middle: what was
// read is told as with --partitioner auto, and plans under it are left out. A sample, whose estimates cannot be made
// again, keeps its conclusions and says so.
func withoutFailed(res *analyze.Result, cfg analyze.Config) (*analyze.Result, error) {
	ids := map[string]bool{}
	for _, pt := range append([]partitioner.Partitioner{cfg.Partitioner}, cfg.Further...) {
		if hasFailed(pt) {
			ids[pt.ID()] = true
		}
	}
	if len(ids) == 0 {
		return res, nil
	}
	for id := range ids {
		res.Notes = append(res.Notes, "partitioner "+id+" failed: where it would have placed all keys is not known")
	}
	if res.Counted == nil {
		return res, nil
	}
	assumedFailed := hasFailed(cfg.Partitioner)
	cfg.Plans = slices.DeleteFunc(slices.Clone(cfg.Plans), func(to plan.To) bool {
		return assumedFailed && to.Partitioner == nil || hasFailed(to.Partitioner)
	})
	cfg.Further = slices.DeleteFunc(slices.Clone(cfg.Further), hasFailed)
	if assumedFailed {
		var err error
		if cfg.Partitioner, err = partitioner.Parse("java"); err != nil {
			return nil, err
		}
		cfg.Auto = true
	}
	again, err := analyze.Conclude(res.Counted, cfg)
	if err != nil {
		return nil, err
	}
	again.Notes, again.Partial, again.Why, again.Complete = res.Notes, res.Partial, res.Why, res.Complete
	if i := slices.IndexFunc(res.Findings, isIncomplete); i >= 0 && !slices.ContainsFunc(again.Findings, isIncomplete) {
		again.Findings = slices.Insert(again.Findings, 0, res.Findings[i])
	}
	return again, nil
}

func isIncomplete(f finding.Finding) bool { return f.ID == finding.IncompleteCoverage }

// closeAll closes partitioners and joins what they complain about to err, unless that says so already. Once ctx has ended
// the complaint is that they were killed, which was asked for.
func closeAll(ctx context.Context, list []opened, err error) error {
	for _, p := range list {
		if p.close == nil {
			continue
		}
		closeErr := p.close()
		same := errors.Is(err, closeErr)
		switch {
		case closeErr == nil:
		case ctx.Err() != nil:
			if err == nil || same {
				err = interrupted(ctx, p.ID()+" was killed before it answered")
			}
		case !same:
			err = errors.Join(err, closeErr)
		}
	}
	return err
}
