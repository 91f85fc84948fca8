package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"keyspread/analyze"
	"keyspread/analyze/sample"
)

// The values of --sample.
const (
	sampleAuto   = "auto"   // full when the range is small and no limit is given, blocks otherwise
	sampleFull   = "full"   // read everything
	sampleBlocks = "blocks" // random blocks of consecutive offsets
)

// sampleFlags say how much of a range is read.
type sampleFlags struct {
	mode       string
	fullUnder  string
	precision  string
	confidence float64
	blockSize  int64
	maxRecords int64
	maxBytes   string
	maxTime    time.Duration
	seed       uint64
	flags      *pflag.FlagSet // which of them were given
}

func (f *sampleFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	f.flags = flags
	d := sample.DefaultConfig()
	flags.StringVar(&f.mode, "sample", sampleAuto, "auto, full (read everything) or blocks (random blocks, figures with intervals)")
	flags.StringVar(&f.fullUnder, "full-under", "2GiB", "with --sample auto, read everything when the range has fewer `bytes` on disk")
	flags.StringVar(&f.precision, "precision", "1pt", "half-width wanted for the share of keys that may be hot, in `points` of a percent")
	flags.Float64Var(&f.confidence, "confidence", 1-d.Alpha, "of the intervals")
	flags.Int64Var(&f.blockSize, "block-size", d.BlockSize, "`offsets` in a block")
	flags.Int64Var(&f.maxRecords, "max-records", 0, "sample blocks, no more than about `N` records")
	flags.StringVar(&f.maxBytes, "max-bytes", "", "sample blocks, no more than about so many `bytes` as stored")
	flags.DurationVar(&f.maxTime, "max-time", 0, "sample blocks, and start no further round after this `time`")
	flags.Uint64Var(&f.seed, "seed", d.Seed, "draws the blocks; the same seed reads the same ones")
	_ = cmd.RegisterFlagCompletionFunc("sample", cobra.FixedCompletions(
		[]string{sampleAuto, sampleFull, sampleBlocks}, cobra.ShellCompDirectiveNoFileComp))
}

// limits are the flags given that bound how much is read, which only a sample can keep.
func (f *sampleFlags) limits() []string {
	var given []string
	for _, name := range []string{"max-records", "max-bytes", "max-time"} {
		if f.flags.Changed(name) {
			given = append(given, "--"+name)
		}
	}
	return given
}

// set puts the sampling into a pipeline's configuration. now is when the run starts.
func (f *sampleFlags) set(cfg *analyze.Config, now time.Time) error {
	limits := f.limits()
	switch f.mode {
	case sampleFull:
		if len(limits) > 0 {
			return fmt.Errorf("--sample full reads everything: it excludes %s", strings.Join(limits, ", "))
		}
		return nil
	case sampleAuto:
		if len(limits) > 0 {
			break // as blocks: however small the range is, it may be more than the limit
		}
		n, err := parseBytes(f.fullUnder)
		if err != nil {
			return fmt.Errorf("--full-under: %w", err)
		}
		cfg.SampleOver = n
	case sampleBlocks:
	default:
		return fmt.Errorf("--sample %q: want auto, full or blocks", f.mode)
	}
	sc := sample.DefaultConfig()
	sc.Seed, sc.BlockSize, sc.MaxRecords, sc.Alpha = f.seed, f.blockSize, f.maxRecords, 1-f.confidence
	var err error
	if sc.Precision, err = parsePoints(f.precision); err != nil {
		return fmt.Errorf("--precision: %w", err)
	}
	if f.flags.Changed("max-records") && f.maxRecords < 1 {
		return fmt.Errorf("--max-records %d: want 1 or more", f.maxRecords)
	}
	if f.flags.Changed("max-bytes") {
		if sc.MaxBytes, err = parseBytes(f.maxBytes); err != nil {
			return fmt.Errorf("--max-bytes: %w", err)
		}
	}
	if f.flags.Changed("max-time") {
		if f.maxTime <= 0 {
			return fmt.Errorf("--max-time %v: want a time above 0", f.maxTime)
		}
		end := now.Add(f.maxTime)
		sc.Expired = func() bool { return time.Now().After(end) }
	}
	cfg.Sample = &sc
	return sc.Validate()
}

// parsePoints reads percentage points such as 1pt, 0.5pt or 1% as a fraction.
func parsePoints(s string) (float64, error) {
	number := strings.TrimSpace(strings.TrimSuffix(strings.TrimSuffix(s, "pt"), "%"))
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || !(v > 0) {
		return 0, fmt.Errorf("%q: want points of a percent above 0, such as 1pt or 0.5pt", s)
	}
	return v / 100, nil
}
