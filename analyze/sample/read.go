package sample

import (
	"context"
	"fmt"
	"math"
	"slices"

	"keyspread/analyze/profile"
	"keyspread/analyze/source"

	"gonum.org/v1/gonum/stat/distuv"
)

// Config says how much is sampled.
type Config struct {
	Seed       uint64
	BlockSize  int64   // offsets a block
	Precision  float64 // half-width wanted for the share of every key that may be hot
	Alpha      float64 // 1 - confidence of the intervals
	MaxRecords int64   // 0: no limit
	MaxBytes   int64   // as stored; 0: no limit
	// Expired, when set, is asked before each round; true ends the sampling. The caller owns the clock.
	Expired func() bool
}

// DefaultConfig returns blocks of 500 offsets, 95 % intervals and a half-width of one point.
func DefaultConfig() Config { return Config{Seed: 1, BlockSize: 500, Precision: 0.01, Alpha: 0.05} }

// MaxBlockSize is the largest block size, in offsets: far above any that makes sense, far below where sums overflow.
const MaxBlockSize = 1 << 40

// Validate reports the first value out of range.
func (c Config) Validate() error {
	switch {
	case c.BlockSize < 1 || c.BlockSize > MaxBlockSize:
		return fmt.Errorf("sampling blocks of %d offsets: want 1 to %d", c.BlockSize, int64(MaxBlockSize))
	case !(c.Precision > 0 && c.Precision < 0.5):
		return fmt.Errorf("precision %v: want a half-width between 0 and 0.5, such as 0.01 (1pt)", c.Precision)
	case !(c.Alpha > 0 && c.Alpha < 1):
		return fmt.Errorf("confidence %v: want a number between 0 and 1, such as 0.95", 1-c.Alpha)
	case c.MaxRecords < 0 || c.MaxBytes < 0:
		return fmt.Errorf("sampling limits %d records and %d bytes: want 0 (none) or more", c.MaxRecords, c.MaxBytes)
	}
	return nil
}

// The sizes of a sample, in blocks. Below leastBlocks no interval deserves its name.
const (
	pilotBlocks = 40
	leastBlocks = 100
	mostGrowth  = 4   // a round reads at most so many times what is there: the pilot's variance is a guess
	safety      = 1.1 // of the blocks computed, so that the next round is the last
)

// Read samples the plan of src: a pilot, then as many blocks as the precision needs by the variance seen so far, at
// least 100 in all and two a partition, until every key whose share may exceed tau is known to within Precision. Every
// batch goes to sink too. Coverage counts the offsets of the blocks only.
//
// The number of blocks, and so the result, depends on the topic and the seed alone unless a limit of time ends it.
func Read(ctx context.Context, src source.Source, plan *source.Plan, cfg Config, candidates []profile.CandidateSpec, tau float64, sink source.Sink) (*Estimates, []source.Coverage, error) {
	frame := NewFrame(plan, cfg.BlockSize, cfg.Seed)
	collector := NewCollector(frame, candidates, sink)
	hotAlpha := cfg.Alpha * math.Min(1, tau) // Bonferroni: at most 1/tau keys can be hot
	coverage := make([]source.Coverage, len(plan.Partitions))
	for i, p := range plan.Partitions {
		coverage[i] = source.Coverage{Partition: p.ID, Err: p.Err}
	}
	want, stopped := pilot(cfg, frame, plan.DiskBytes()), ""
	var e *Estimates
	for stopped == "" {
		round := *plan
		round.Spans = frame.Draw(want)
		got, err := src.Read(ctx, &round, collector)
		add(coverage, got)
		e = collector.Estimates(cfg.Alpha, hotAlpha)
		if err != nil {
			e.finish(cfg, "interrupted", tau)
			e.Concentration = untold() // blocks that were drawn but not read count as empty
			return e, coverage, err
		}
		want, stopped = next(cfg, frame, collector, e, tau)
	}
	e.finish(cfg, stopped, tau)
	e.Concentration = collector.concentration(cfg.Alpha)
	return e, coverage, nil
}

// pilot is how many blocks are read first: so many that a variance can be seen, unless the limits allow fewer by what
// the range has on disk, 0 when that is not known.
func pilot(cfg Config, f *Frame, diskBytes int64) int64 {
	want := int64(pilotBlocks)
	if cfg.MaxRecords > 0 {
		want = min(want, cfg.MaxRecords/cfg.BlockSize)
	}
	if cfg.MaxBytes > 0 && diskBytes > 0 {
		want = min(want, limited(f.Blocks(), float64(diskBytes), float64(cfg.MaxBytes)))
	}
	return max(want, 1)
}

// add sums the coverage of rounds.
func add(total, round []source.Coverage) {
	for _, c := range round {
		i := slices.IndexFunc(total, func(t source.Coverage) bool { return t.Partition == c.Partition })
		if i < 0 {
			continue
		}
		t := &total[i]
		t.Asked += c.Asked
		t.Read += c.Read
		t.Lost += c.Lost
		t.Position = max(t.Position, c.Position)
		if t.Err == nil {
			t.Err = c.Err
		}
	}
}

// next decides how many blocks the sample shall have, or why it has enough.
func next(cfg Config, f *Frame, c *Collector, e *Estimates, tau float64) (want int64, stopped string) {
	drawn := f.Drawn()
	switch {
	case drawn >= f.Blocks():
		return 0, "everything read"
	case cfg.MaxRecords > 0 && e.Records >= cfg.MaxRecords:
		return 0, "max-records"
	case cfg.MaxBytes > 0 && c.wireBytes() >= cfg.MaxBytes:
		return 0, "max-bytes"
	case cfg.Expired != nil && cfg.Expired():
		return 0, "max-time"
	}
	need := int64(leastBlocks)
	for _, k := range e.Keys {
		for _, s := range k.Share {
			if s.Hi <= tau {
				continue
			}
			// The half-width falls with the root of the number of blocks.
			if half := s.halfWidth(cfg.Alpha); half > cfg.Precision {
				ratio := half / cfg.Precision
				need = max(need, int64(math.Ceil(float64(drawn)*ratio*ratio*safety)))
			}
		}
	}
	if need <= drawn {
		return 0, "precision"
	}
	need = min(need, mostGrowth*drawn, f.Blocks())
	if cfg.MaxRecords > 0 {
		need = min(need, limited(drawn, float64(e.Records), float64(cfg.MaxRecords)))
	}
	if cfg.MaxBytes > 0 {
		need = min(need, limited(drawn, float64(c.wireBytes()), float64(cfg.MaxBytes)))
	}
	return max(need, drawn+1), ""
}

// limited is how many blocks a limit allows, by what the blocks drawn have cost; at least one more is always tried.
func limited(drawn int64, cost, limit float64) int64 {
	if cost <= 0 {
		return math.MaxInt64
	}
	return int64(float64(drawn) * limit / cost)
}

// halfWidth is half the interval by the standard error, which shrinks smoothly where the limits are lopsided.
func (e Estimate) halfWidth(alpha float64) float64 {
	if e.DF < 1 {
		return (e.Hi - e.Lo) / 2
	}
	return e.SE * distuv.StudentsT{Sigma: 1, Nu: e.DF}.Quantile(1-alpha/2)
}

// finish notes how the sampling ended.
func (e *Estimates) finish(cfg Config, stopped string, tau float64) {
	e.Seed, e.Stopped = cfg.Seed, stopped
	for _, k := range e.Keys {
		if s := k.Share[profile.Records]; s.Hi > tau {
			e.HalfWidth = math.Max(e.HalfWidth, (s.Hi-s.Lo)/2)
		}
	}
}
