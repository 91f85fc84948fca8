package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"keyspread/analyze/source"
	"keyspread/analyze/source/kafka"
	"keyspread/partitioner"
)

// envPrefix starts the environment variables that stand for a property: KEYSPREAD_SASL_PASSWORD is sasl.password.
const envPrefix = "KEYSPREAD_"

// envOwn are variables with that prefix that are no property.
var envOwn = []string{"KEYSPREAD_TEST_", redactSecretEnv}

// connectionFlags say which cluster to talk to. Flags win over -X, those over the environment, that over files.
type connectionFlags struct {
	servers       string
	commandConfig string
	kcatConfig    string
	settings      []string
	timeout       time.Duration
}

func (f *connectionFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&f.servers, "bootstrap-server", "b", "", "brokers to start from, host:port[,host:port]")
	flags.StringVar(&f.commandConfig, "command-config", "", "Java client.properties `file` (security, SASL, TLS in PEM)")
	flags.StringVarP(&f.kcatConfig, "kcat-config", "F", "", "librdkafka/kcat configuration `file`")
	flags.StringArrayVarP(&f.settings, "setting", "X", nil, "client property `key=value`, Java's or librdkafka's name; repeatable")
	flags.DurationVar(&f.timeout, "timeout", 10*time.Second, "how long to try to reach the cluster")
}

// config builds the reader's configuration from all layers. What is not understood is warned about on stderr.
func (f *connectionFlags) config(cmd *cobra.Command) (kafka.Config, error) {
	cfg := kafka.DefaultConfig()
	cfg.ClientID = "keyspread/" + toolVersion()
	cfg.ConnectTimeout = f.timeout
	if f.timeout <= 0 {
		return cfg, usageError{fmt.Errorf("--timeout %v: want a time above 0", f.timeout)}
	}
	layers, err := f.layers()
	if err != nil {
		return cfg, err
	}
	for _, l := range layers {
		warnings, err := cfg.Apply(withoutRegistry(l.props))
		if err != nil {
			return cfg, usageError{fmt.Errorf("%s: %w", l.name, err)}
		}
		for _, w := range warnings {
			warn(cmd.ErrOrStderr(), "%s: %s", l.name, w)
		}
	}
	if f.servers != "" {
		cfg.BootstrapServers = kafka.SplitServers(f.servers)
	}
	if len(cfg.BootstrapServers) == 0 {
		return cfg, usageError{errors.New("no broker named: give --bootstrap-server host:port")}
	}
	return cfg, nil
}

// layer is the properties of one place; a later layer overrides an earlier one.
type layer struct {
	name  string
	props kafka.Properties
}

func (f *connectionFlags) layers() ([]layer, error) {
	var layers []layer
	for _, l := range []struct {
		name string
		load func() (kafka.Properties, error)
	}{
		{f.commandConfig, func() (kafka.Properties, error) { return fromFile(f.commandConfig, kafka.ParseProperties) }},
		{f.kcatConfig, func() (kafka.Properties, error) { return fromFile(f.kcatConfig, kafka.ParseKcat) }},
		{"environment", func() (kafka.Properties, error) { return fromEnvironment(os.Environ()), nil }},
		{"-X", func() (kafka.Properties, error) { return kafka.ParseSettings(f.settings) }},
	} {
		if l.name == "" {
			continue
		}
		props, err := l.load()
		if err != nil {
			return nil, usageError{fmt.Errorf("reading %s: %w", l.name, err)}
		}
		layers = append(layers, layer{l.name, props})
	}
	return layers, nil
}

func fromFile(name string, parse func(io.Reader) (kafka.Properties, error)) (kafka.Properties, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return parse(file)
}

func fromEnvironment(environ []string) kafka.Properties {
	props := kafka.Properties{}
	for _, e := range environ {
		name, value, _ := strings.Cut(e, "=")
		key, ok := strings.CutPrefix(name, envPrefix)
		if !ok || slices.ContainsFunc(envOwn, func(own string) bool { return strings.HasPrefix(name, own) }) {
			continue
		}
		props[strings.ToLower(strings.ReplaceAll(key, "_", "."))] = kafka.Secret(value)
	}
	return props
}

// readFlags say what is read of which topic.
type readFlags struct {
	connectionFlags
	topic      string
	isolation  string
	partitions string
	since      string
	until      string
	tail       int64
	offsets    string
	rack       string
	maxRate    string
	quiet      bool
	file       fileFlags
}

func (f *readFlags) register(cmd *cobra.Command) {
	f.connectionFlags.register(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.topic, "topic", "t", "", "topic to read")
	flags.StringVar(&f.isolation, "isolation", "", "read_committed (default) or read_uncommitted")
	flags.StringVar(&f.partitions, "partitions", "", "partitions to read, such as 0,3-5 (default all)")
	flags.StringVar(&f.since, "since", "", "first `time` to read: 2026-03-01T12:00:00Z, 2026-03-01, 48h (ago), epoch ms")
	flags.StringVar(&f.until, "until", "", "`time` to stop before, written like --since")
	flags.Int64Var(&f.tail, "tail", 0, "read only the last `N` offsets of each partition")
	flags.StringVar(&f.offsets, "offsets", "", "read only these `ranges`, such as 0:100-200,3:5000-")
	flags.StringVar(&f.rack, "rack", "", "client.rack: read from a replica near by")
	flags.StringVar(&f.maxRate, "max-rate", "", "most bytes per second to read, such as 20MiB")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no progress, no warnings")
	f.file.register(cmd)
	_ = cmd.RegisterFlagCompletionFunc("topic", f.completeTopic)
	_ = cmd.RegisterFlagCompletionFunc("isolation", cobra.FixedCompletions(
		[]string{source.ReadCommitted.String(), source.ReadUncommitted.String()}, cobra.ShellCompDirectiveNoFileComp))
}

// completeTopic asks the cluster for its topics; trouble of any kind completes nothing.
func (f *readFlags) completeTopic(cmd *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
	cfg, err := f.connectionFlags.config(cmd)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	cfg.ConnectTimeout = min(cfg.ConnectTimeout, 2*time.Second)
	ctx, cancel := context.WithTimeout(cmd.Context(), 3*time.Second)
	defer cancel()
	src, err := kafka.New(cfg)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer src.Close()
	topics, err := src.Topics(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	topics = slices.DeleteFunc(topics, func(t string) bool { return !strings.HasPrefix(t, start) })
	return topics, cobra.ShellCompDirectiveNoFileComp
}

// open returns the topic as a source. now is what times given as "so long ago" are counted back from.
// sizes asks for sizes on disk too, which decide whether to sample.
func (f *readFlags) open(cmd *cobra.Command, now time.Time, sizes bool) (*kafka.Source, error) {
	if f.topic == "" {
		return nil, usageError{errors.New("no topic named: give --topic NAME, or in its place a FILE, or - for standard input")}
	}
	if err := refuseFileFlags(cmd, "topic "+f.topic); err != nil {
		return nil, err
	}
	if cmd.Flags().Changed("tail") && f.tail < 1 {
		return nil, usageError{fmt.Errorf("--tail %d: want 1 or more", f.tail)}
	}
	cfg, err := f.connectionFlags.config(cmd)
	if err != nil {
		return nil, err
	}
	cfg.Topic, cfg.AskSizes = f.topic, sizes
	if f.rack != "" {
		cfg.Rack = f.rack
	}
	switch f.isolation {
	case "":
	case source.ReadCommitted.String():
		cfg.Isolation = source.ReadCommitted
	case source.ReadUncommitted.String():
		cfg.Isolation = source.ReadUncommitted
	default:
		return nil, usageError{fmt.Errorf("--isolation %q: want read_committed or read_uncommitted", f.isolation)}
	}
	if err := f.setRange(&cfg, now); err != nil {
		return nil, usageError{err}
	}
	if f.maxRate != "" {
		if cfg.MaxRate, err = parseBytes(f.maxRate); err != nil {
			return nil, usageError{fmt.Errorf("--max-rate: %w", err)}
		}
	}
	src, err := kafka.New(cfg)
	if err != nil {
		return nil, usageError{err}
	}
	return src, nil
}

func (f *readFlags) setRange(cfg *kafka.Config, now time.Time) (err error) {
	if f.partitions != "" {
		if cfg.Partitions, err = kafka.ParsePartitions(f.partitions); err != nil {
			return fmt.Errorf("--%w", err)
		}
	}
	if f.offsets != "" {
		if cfg.Range.Offsets, err = kafka.ParseOffsets(f.offsets); err != nil {
			return fmt.Errorf("--%w", err)
		}
	}
	if f.since != "" {
		if cfg.Range.Since, err = kafka.ParseTime(f.since, now); err != nil {
			return fmt.Errorf("--since: %w", err)
		}
	}
	if f.until != "" {
		if cfg.Range.Until, err = kafka.ParseTime(f.until, now); err != nil {
			return fmt.Errorf("--until: %w", err)
		}
	}
	cfg.Range.Tail = f.tail
	return cfg.Range.Validate()
}

func warn(w io.Writer, format string, args ...any) {
	say(w, "warning", fmt.Sprintf(format, args...))
}

// parseBytes reads a size such as 512, 64MiB, 1.5GiB or 20MB.
func parseBytes(s string) (int64, error) {
	units := []struct {
		suffix string
		factor float64
	}{
		{"KiB", 1 << 10},
		{"MiB", 1 << 20},
		{"GiB", 1 << 30},
		{"TiB", 1 << 40},
		{"kB", 1e3},
		{"KB", 1e3},
		{"MB", 1e6},
		{"GB", 1e9},
		{"TB", 1e12},
		{"B", 1},
		{"", 1},
	}
	for _, u := range units {
		number, ok := strings.CutSuffix(s, u.suffix)
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if err != nil || !(v > 0) || v*u.factor >= 1<<62 {
			break
		}
		return int64(v * u.factor), nil
	}
	return 0, fmt.Errorf("size %q: want a number of bytes above 0, such as 64MiB or 1.5GiB", s)
}

// completePartitioner completes the partitioners' names.
func completePartitioner(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return partitioner.Names(), cobra.ShellCompDirectiveNoFileComp
}
