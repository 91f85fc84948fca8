package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"keyspread/analyze"
	"keyspread/analyze/plan"
	"keyspread/analyze/source"
	"keyspread/partitioner"
	"keyspread/reports"
)

// redactSecretEnv holds the secret of --redact, so that it is never on a command line.
const redactSecretEnv = "KEYSPREAD_REDACT_SECRET"

// judgeFlags say how what was read is judged and told.
type judgeFlags struct {
	partitioner string
	candidates  []string
	memory      string
	verifyKeys  bool
	hotRatio    float64
	top         int
	outputs     []string
	redact      bool
	sample      sampleFlags
}

func (f *judgeFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.partitioner, "partitioner", "java", "the producers' partitioner; 'keyspread partitioners' lists them")
	flags.StringSliceVar(&f.candidates, "candidates", nil, "partition `counts` to keep exact figures for, whatever the number of keys")
	flags.StringVar(&f.memory, "memory", "1GiB", "`bytes` for counting keys; beyond them counts carry bounds")
	flags.BoolVar(&f.verifyKeys, "verify-keys", false, "compare key bytes instead of trusting a 128-bit hash")
	flags.Float64Var(&f.hotRatio, "hot-ratio", 1.5, "a key is hot when it alone lifts its partition above this `ratio` to the mean")
	flags.IntVar(&f.top, "top", 20, "keys to list at least")
	flags.StringArrayVarP(&f.outputs, "output", "o", nil,
		"`FORMAT[=FILE]`: "+strings.Join(formats(), ", ")+"; repeatable (default text)")
	f.sample.register(cmd)
	flags.BoolVar(&f.redact, "redact", false, "show keyed hashes instead of keys; the secret comes from "+redactSecretEnv)
	_ = cmd.RegisterFlagCompletionFunc("partitioner", completePartitioner)
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats(), cobra.ShellCompDirectiveNoFileComp))
}

// config builds the pipeline's configuration and checks the outputs, so that a slip is told before hours of reading.
func (f *judgeFlags) config(now time.Time) (analyze.Config, []reports.Output, error) {
	pt, err := partitioner.Parse(f.partitioner)
	if err != nil {
		return analyze.Config{}, nil, fmt.Errorf("--partitioner: %w", err)
	}
	cfg := analyze.DefaultConfig(pt)
	cfg.Skew.HotRatio, cfg.Skew.Top = f.hotRatio, f.top
	cfg.Profile.VerifyKeys = f.verifyKeys
	if cfg.Profile.Memory, err = parseBytes(f.memory); err != nil {
		return cfg, nil, fmt.Errorf("--memory: %w", err)
	}
	if cfg.Candidates, err = parseCounts("--candidates", f.candidates); err != nil {
		return cfg, nil, err
	}
	if err := f.sample.set(&cfg, now); err != nil {
		return cfg, nil, err
	}
	var outputs []reports.Output
	for _, o := range f.outputs {
		out, err := reports.ParseOutput(o)
		if err != nil {
			return cfg, nil, fmt.Errorf("--output: %w", err)
		}
		outputs = append(outputs, out)
	}
	if len(outputs) == 0 {
		outputs = []reports.Output{{Format: reports.Text}}
	}
	return cfg, outputs, cfg.Validate()
}

func parseCounts(flag string, list []string) ([]plan.To, error) {
	var tos []plan.To
	for _, s := range list {
		n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 32)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%s: %q is not a partition count", flag, s)
		}
		tos = append(tos, plan.To{NumPartitions: int32(n)})
	}
	return tos, nil
}

func newAnalyzeCommand() *cobra.Command {
	var read readFlags
	var judge judgeFlags
	cmd := &cobra.Command{
		Use:   "analyze -b HOST:PORT -t TOPIC",
		Short: "Report where a topic's keys land, which are hot, and what that means",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			now := time.Now()
			cfg, outputs, err := judge.config(now)
			if err != nil {
				return usageError{err}
			}
			src, err := read.open(cmd, now)
			if err != nil {
				return err
			}
			defer src.Close()
			return runAnalyze(cmd, withProgress(src, cmd.ErrOrStderr(), read.quiet), cfg, outputs, judge.redact)
		},
	}
	read.register(cmd)
	judge.register(cmd)
	return cmd
}

// runAnalyze reads src, concludes, and writes the report to every output. Ctrl-C ends the reading and the report of
// what was read is written; a second Ctrl-C kills.
func runAnalyze(cmd *cobra.Command, src source.Source, cfg analyze.Config, outputs []reports.Output, redact bool) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt)
	defer stop()
	go func() {
		<-ctx.Done()
		stop() // from now on Ctrl-C has its usual effect
	}()
	res, runErr := analyze.Run(ctx, src, cfg)
	if res == nil {
		if errors.Is(runErr, context.Canceled) {
			return fmt.Errorf("%w; nothing had been read yet", errInterrupted)
		}
		return runErr
	}
	opt := reports.Options{Version: toolVersion()}
	if redact {
		var err error
		if opt.Redact, err = redactor(cmd.ErrOrStderr()); err != nil {
			return err
		}
	}
	report := reports.New(res, opt)
	for _, out := range outputs {
		if err := writeOutput(cmd.OutOrStdout(), out, report); err != nil {
			return err
		}
	}
	switch {
	case errors.Is(runErr, context.Canceled):
		return errInterrupted
	case runErr != nil:
		return runErr
	case !res.Complete:
		return errors.New("not everything was read; the report names the partitions and the reasons")
	}
	return nil
}

// redactor uses the secret of the environment, or one made up for this run.
func redactor(stderr io.Writer) (*reports.Redactor, error) {
	secret := []byte(os.Getenv(redactSecretEnv))
	if len(secret) == 0 {
		secret = make([]byte, 32)
		if _, err := rand.Read(secret); err != nil {
			return nil, err
		}
		warn(stderr, "%s is not set: the tags of this report cannot be compared with another's", redactSecretEnv)
	}
	redactor, err := reports.NewRedactor(secret)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", redactSecretEnv, err)
	}
	return redactor, nil
}

// formats are the names of the report formats.
func formats() []string {
	var names []string
	for _, f := range reports.Formats() {
		names = append(names, string(f))
	}
	return names
}

// writeOutput writes one output to its file, or to stdout when it has none. A file appears whole or not at all.
func writeOutput(stdout io.Writer, out reports.Output, report *reports.Report) (err error) {
	if out.File == "" {
		view := reports.View{Terminal: isTerminal(stdout) && os.Getenv("NO_COLOR") == ""}
		return reports.Write(stdout, out.Format, report, view)
	}
	file, err := os.CreateTemp(filepath.Dir(out.File), ".keyspread-*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", out.File, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	if err := reports.Write(file, out.Format, report, reports.View{}); err != nil {
		_ = file.Close()
		return fmt.Errorf("writing %s: %w", out.File, err)
	}
	if err := file.Chmod(0o644); err != nil {
		_ = file.Close()
		return fmt.Errorf("writing %s: %w", out.File, err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("writing %s: %w", out.File, err)
	}
	return os.Rename(file.Name(), out.File)
}
