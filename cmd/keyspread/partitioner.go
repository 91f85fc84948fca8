package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

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

// open opens the partitioner of that name. topic is what a JVM partitioner is told; it may be unknown ("").
func (f *partitionerFlags) open(ctx context.Context, name, topic string) (opened, error) {
	if name == partitionerAuto {
		pt, err := partitioner.Parse("java")
		return opened{pt, true, func() error { return nil }}, err
	}
	if !custom.IsSpec(name) {
		pt, err := partitioner.Parse(name)
		return opened{pt, false, func() error { return nil }}, err
	}
	opt := custom.Options{Topic: topic, Classpath: f.classpath, Timeout: f.timeout, Config: map[string]string{}, HideKeys: f.hideKeys}
	for _, c := range f.config {
		key, value, ok := strings.Cut(c, "=")
		if !ok || key == "" {
			return opened{}, fmt.Errorf("--partitioner-config %q: want key=value", c)
		}
		opt.Config[key] = value
	}
	var err error
	if opt.Fallback, err = partitioner.Parse(f.fallback); err != nil {
		return opened{}, fmt.Errorf("--partitioner-fallback: %w", err)
	}
	opt.TempDir = os.TempDir()
	p, err := custom.Open(ctx, name, opt)
	if err != nil {
		return opened{}, err
	}
	return opened{p, false, p.Close}, nil
}

// closeAll closes partitioners and joins what they complain about to err.
func closeAll(list []opened, err error) error {
	for _, p := range list {
		if p.close != nil {
			err = errors.Join(err, p.close())
		}
	}
	return err
}
