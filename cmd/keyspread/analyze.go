package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"keyspread/analyze"
	"keyspread/analyze/plan"
	"keyspread/analyze/profile"
	"keyspread/analyze/source"
	"keyspread/partitioner"
	"keyspread/partitioner/custom"
	"keyspread/reports"
)

// redactSecretEnv holds the secret of --redact, so that it is never on a command line.
const redactSecretEnv = "KEYSPREAD_REDACT_SECRET"

// judgeFlags say how what was read is judged and told.
type judgeFlags struct {
	partitioner partitionerFlags
	candidates  []string
	memory      string
	verifyKeys  bool
	hotRatio    float64
	top         int
	outputs     []string
	redact      bool
	saveProfile string
	shard       string
	refine      bool
	sample      sampleFlags
	keys        keyFlags
}

func (f *judgeFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.partitioner.register(cmd)
	flags.StringSliceVar(&f.candidates, "candidates", nil, "`counts` that plan can be asked for later, whatever the number of keys, or COUNT=PARTITIONER (default with --save-profile: 2, 3 and 4 times the topic's)")
	flags.StringVar(&f.memory, "memory", "1GiB", "`bytes` for counting keys, 8KiB a partition at least; beyond them counts carry bounds")
	flags.BoolVar(&f.verifyKeys, "verify-keys", false, "compare key bytes instead of trusting a 128-bit hash")
	flags.Float64Var(&f.hotRatio, "hot-ratio", 1.5, "a key is hot when it alone lifts its partition above this `ratio` to the mean")
	flags.IntVar(&f.top, "top", 20, "keys to list at least")
	flags.StringArrayVarP(&f.outputs, "output", "o", nil,
		"`FORMAT[=FILE]`: "+strings.Join(formats(), ", ")+"; repeatable (default text)")
	flags.StringVar(&f.saveProfile, "save-profile", "", "also write what was counted to `FILE` (Parquet), keys in clear, to analyze or merge later")
	flags.StringVar(&f.shard, "shard", "", "read part `I/N` of the partitions only; merge joins the parts' profiles")
	flags.BoolVar(&f.refine, "refine", false, "read a second time to make listed keys exact when --memory was passed; with --shard, exact in that part")
	f.sample.register(cmd)
	f.keys.register(cmd)
	flags.BoolVar(&f.redact, "redact", false, "show keyed hashes instead of keys; the secret comes from "+redactSecretEnv+"; excludes --save-profile")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats(), cobra.ShellCompDirectiveNoFileComp))
}

// config builds the pipeline's configuration for an assumed partitioner and checks the outputs, so that a slip is told
// before hours of reading.
func (f *judgeFlags) config(assumed opened, now time.Time) (analyze.Config, []reports.Output, error) {
	cfg := analyze.DefaultConfig(assumed.Partitioner)
	cfg.Auto = assumed.auto
	if custom.IsSpec(f.partitioner.name) {
		cfg.Further = append(cfg.Further, assumed.Partitioner)
	}
	var err error
	cfg.Skew.HotRatio, cfg.Skew.Top = f.hotRatio, f.top
	cfg.Profile.VerifyKeys = f.verifyKeys
	if cfg.Profile.Memory, err = parseBytes(f.memory); err != nil {
		return cfg, nil, fmt.Errorf("--memory: %w", err)
	}
	if cfg.Candidates, err = parseCandidates(f.candidates); err != nil {
		return cfg, nil, err
	}
	cfg.Multiples = f.saveProfile != "" && len(f.candidates) == 0
	if cfg.Shard, err = parseShard(f.shard); err != nil {
		return cfg, nil, err
	}
	if cfg.KeyFormat, err = f.keys.parse(); err != nil {
		return cfg, nil, err
	}
	cfg.Refine = f.refine
	if err := f.sample.set(&cfg, now); err != nil {
		return cfg, nil, err
	}
	if f.redact && f.saveProfile != "" {
		return cfg, nil, errors.New("--redact excludes --save-profile: a profile holds the keys themselves, which merge and plan need; " +
			"save it without --redact, and give --redact when you analyze it")
	}
	if f.saveProfile != "" || f.shard != "" || f.refine {
		if f.sample.mode == sampleBlocks {
			return cfg, nil, errors.New("--sample blocks excludes --save-profile, --shard and --refine: a sample has no profile of the topic")
		}
		if limits := f.sample.limits(); len(limits) > 0 {
			return cfg, nil, fmt.Errorf("--save-profile, --shard and --refine read everything: they exclude %s", strings.Join(limits, ", "))
		}
		cfg.Sample = nil
	}
	var outputs []reports.Output
	for _, o := range f.outputs {
		out, err := reports.ParseOutput(o)
		if err != nil {
			return cfg, nil, fmt.Errorf("--output: %w", err)
		}
		for _, other := range outputs {
			if out.File == "" && other.File == "" {
				return cfg, nil, fmt.Errorf("-o %s and -o %s would both go to standard output: give one of them a file, -o %[2]s=FILE", other.Format, out.Format)
			}
		}
		outputs = append(outputs, out)
	}
	if len(outputs) == 0 {
		outputs = []reports.Output{{Format: reports.Text}}
	}
	return cfg, outputs, cfg.Validate()
}

// forMemory makes a slip in --memory one of the command line.
func forMemory(given string, err error) error {
	if e, ok := errors.AsType[*profile.MemoryError](err); ok {
		return usageError{fmt.Errorf("--memory %s is too little for key tables%s: give at least %dMiB", given, e.For(), e.Least>>20)}
	}
	return err
}

// parseCandidates reads COUNT, COUNT=PARTITIONER and, for the topic's own count, =PARTITIONER.
func parseCandidates(list []string) ([]plan.To, error) {
	var tos []plan.To
	for _, s := range list {
		count, name, named := strings.Cut(strings.TrimSpace(s), "=")
		to := plan.To{}
		if count != "" || !named {
			counts, err := parseCounts("--candidates", []string{count})
			if err != nil {
				return nil, err
			}
			to = counts[0]
		}
		if named {
			var err error
			if to.Partitioner, err = partitioner.Parse(name); err != nil {
				return nil, fmt.Errorf("--candidates %s: %w", s, err)
			}
		}
		tos = append(tos, to)
	}
	return tos, nil
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

// planArgs tells of counts that were separated by spaces: only the first belongs to --to.
func planArgs(cmd *cobra.Command, args []string) error {
	var strays []string
	for _, arg := range args {
		count := strings.Trim(arg, ",")
		_, errNumber := strconv.Atoi(count)
		_, errFile := os.Stat(arg)
		if errNumber == nil && errFile != nil {
			strays = append(strays, count)
		}
	}
	to, err := cmd.Flags().GetStringSlice("to")
	if err == nil && len(to) > 0 && len(strays) > 0 {
		all := strings.Trim(strings.Join(to, ","), ",") + "," + strings.Join(strays, ",")
		return usageError{fmt.Errorf("%q is no file: for several counts use --to %s", strays[0], all)}
	}
	return atMostOneArg(cmd, args)
}

func newAnalyzeCommand() *cobra.Command {
	var read readFlags
	var judge judgeFlags
	cmd := &cobra.Command{
		Use:   "analyze (-b HOST:PORT -t TOPIC | FILE)",
		Short: "Report where a topic's keys land, which are hot, and what that means",
		Long:  sourceHelp,
		Args:  atMostOneArg,
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			return analyzeOrPlan(cmd, args, &read, &judge, planFlags{})
		}),
	}
	read.register(cmd)
	judge.register(cmd)
	return cmd
}

// analyzeOrPlan runs the main job on a topic, or on a saved profile when one is named.
func analyzeOrPlan(cmd *cobra.Command, args []string, read *readFlags, judge *judgeFlags, plans planFlags) (err error) {
	now := time.Now()
	judge.partitioner.hideKeys = judge.redact
	assumed, err := judge.partitioner.open(cmd.Context(), judge.partitioner.name, read.topic)
	if err != nil {
		return forFlag("--partitioner", err)
	}
	inUse := []opened{assumed}
	defer func() { err = closeAll(cmd.Context(), inUse, err) }()
	assumed.Partitioner = outlive(assumed.Partitioner)
	cfg, outputs, err := judge.config(assumed, now)
	if err != nil {
		return usageError{err}
	}
	more, err := plans.set(cmd.Context(), &cfg, &judge.partitioner, read.topic)
	inUse = append(inUse, more...)
	if err != nil {
		return err
	}
	if err := cfg.Validate(); err != nil {
		return usageError{err}
	}
	names, err := judge.keys.names(&read.connectionFlags)
	if err != nil {
		return usageError{err}
	}
	files := []string{judge.saveProfile}
	for _, o := range outputs {
		files = append(files, o.File)
	}
	if err := checkTargets(files, args...); err != nil {
		return usageError{err}
	}
	defer func() { err = forMemory(judge.memory, err) }()
	run := output{outputs: outputs, saveProfile: judge.saveProfile, quiet: read.quiet, names: names}
	if judge.redact {
		if run.redact, err = redactor(cmd.ErrOrStderr()); err != nil {
			return err
		}
	}
	if len(args) == 1 {
		return analyzeFile(cmd, args[0], cfg, run, read)
	}
	src, err := read.open(cmd, now, cfg.SampleOver > 0 || judge.sample.maxBytes != "")
	if err != nil {
		return err
	}
	defer src.Close()
	return runAnalyze(cmd, withProgress(src, cmd.ErrOrStderr(), read.quiet), cfg, run)
}

// output is where a result goes and how.
type output struct {
	outputs     []reports.Output
	redact      *reports.Redactor // nil: keys are shown
	saveProfile string
	quiet       bool
	names       nameSchemas // nil: schema ids stay numbers
}

// concludeProfile judges a saved profile. With auto the partitioner comes from the keys, as it does for a topic; one that
// is named must be the profile's own, whose null and empty keys were counted.
func concludeProfile(cmd *cobra.Command, name string, cfg analyze.Config, out output) error {
	p, err := loadProfile(name)
	if err != nil {
		return err
	}
	switch {
	case cfg.Auto:
		if cfg.Partitioner, err = partitioner.Parse(p.Partitioner); err != nil {
			return fmt.Errorf("profile %s: %w", name, err)
		}
	case cfg.Partitioner.ID() != p.Partitioner:
		return usageError{fmt.Errorf("profile %s was counted for partitioner %s: see another with plan --to-partitioner %s",
			name, p.Partitioner, cfg.Partitioner.ID())}
	}
	res, err := analyze.Conclude(p, cfg)
	if _, ok := errors.AsType[*profile.NotPlacedError](err); ok {
		return fmt.Errorf("profile %s: %w: read the topic again with plan%s --save-profile FILE, or with a larger --memory",
			name, err, plannedText(cfg.Plans))
	}
	if err != nil {
		return err
	}
	return out.write(cmd, res, nil)
}

// runAnalyze reads src, concludes, and writes the report to every output. The end of the command's context ends the
// reading, and the report of what was read is written.
func runAnalyze(cmd *cobra.Command, src source.Source, cfg analyze.Config, out output) error {
	defer boundMemory(cfg.Profile.Memory)()
	res, runErr := analyze.Run(cmd.Context(), src, cfg)
	if res == nil {
		if runErr != nil && cmd.Context().Err() != nil {
			return interrupted(cmd.Context(), "nothing had been read yet")
		}
		return runErr
	}
	res, err := withoutFailed(res, cfg)
	if err != nil {
		return errors.Join(runErr, err)
	}
	return out.write(cmd, res, runErr)
}

// write writes the profile to its file and the report to every output, and returns how the run ended. One that cannot be
// written is no reason to lose the others.
func (o output) write(cmd *cobra.Command, res *analyze.Result, runErr error) error {
	opt := reports.Options{Version: toolVersion(), Redact: o.redact}
	for _, note := range res.Notes {
		if !o.quiet {
			warn(cmd.ErrOrStderr(), "%s", note)
		}
	}
	opt.SchemaNames = o.schemaNames(cmd, res)
	report := reports.New(res, opt)
	var failed []error
	if o.saveProfile != "" && res.Counted != nil {
		failed = append(failed, saveProfile(o.saveProfile, res.Counted.Save))
	}
	for _, out := range o.outputs {
		err := writeOutput(cmd.OutOrStdout(), out, report)
		if !errors.Is(err, syscall.EPIPE) { // a closed pipe is the reader's wish, not our failure
			failed = append(failed, err)
		}
	}
	switch {
	case runErr != nil && cmd.Context().Err() != nil:
		runErr = interrupted(cmd.Context(), "the report above covers what was read so far")
	case runErr == nil && !res.Complete:
		runErr = errors.New("not everything was read; the report names the partitions and the reasons")
	}
	return errors.Join(append(failed, runErr)...)
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
		return nil, usageError{fmt.Errorf("%s: %w", redactSecretEnv, err)}
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

// writeOutput writes one output to its file, or to stdout when it has none.
func writeOutput(stdout io.Writer, out reports.Output, report *reports.Report) error {
	if out.File == "" {
		view := reports.View{Terminal: isTerminal(stdout) && os.Getenv("NO_COLOR") == "", Columns: columns(stdout)}
		return reports.Write(stdout, out.Format, report, view)
	}
	return writeFile(out.File, func(w io.Writer) error { return reports.Write(w, out.Format, report, reports.View{}) })
}
