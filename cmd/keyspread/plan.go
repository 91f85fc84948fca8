package main

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"keyspread/analyze"
	"keyspread/analyze/plan"
	"keyspread/partitioner/custom"
)

// planFlags name what is simulated.
type planFlags struct {
	counts       []string
	partitioners []string
	asked        bool // the command is plan
}

func newPlanCommand() *cobra.Command {
	var read readFlags
	var judge judgeFlags
	plans := planFlags{asked: true}
	cmd := &cobra.Command{
		Use:   "plan (-b HOST:PORT -t TOPIC | FILE) --to 24,48",
		Short: "Simulate other partition counts or another partitioner on the topic's real keys",
		Long: `plan reads the topic like analyze and adds, for each candidate, where future records of the same keys would land:
loads, the hottest partition and its keys, moved keys, records and bytes, and which hot keys move where. Records already
written never move.

` + sourceHelp,
		Args: planArgs,
		RunE: stoppable(func(cmd *cobra.Command, args []string) error {
			return analyzeOrPlan(cmd, args, &read, &judge, plans)
		}),
	}
	read.register(cmd)
	judge.register(cmd)
	cmd.Flags().StringSliceVar(&plans.counts, "to", nil, "partition `counts` to simulate")
	cmd.Flags().StringArrayVar(&plans.partitioners, "to-partitioner", nil,
		"`partitioner` to simulate, at the topic's count or at those of --to; repeatable")
	_ = cmd.RegisterFlagCompletionFunc("to-partitioner", completePartitioner)
	return cmd
}

// set puts the candidates into a pipeline's configuration: each count under each partitioner, or whichever of the two is
// given. It returns the partitioners it opened, also with an error.
func (f planFlags) set(ctx context.Context, cfg *analyze.Config, flags *partitionerFlags, topic string) ([]opened, error) {
	if !f.asked {
		return nil, nil
	}
	counts, err := parseCounts("--to", f.counts)
	if err != nil {
		return nil, usageError{err}
	}
	if len(f.partitioners) == 0 {
		if len(counts) == 0 {
			return nil, usageError{errors.New("nothing to plan: give --to COUNT,... or --to-partitioner NAME")}
		}
		cfg.Plans = counts
		return nil, nil
	}
	if len(counts) == 0 {
		counts = []plan.To{{}}
	}
	var inUse []opened
	for _, name := range f.partitioners {
		if name == partitionerAuto {
			return inUse, usageError{errors.New("--to-partitioner needs the name of the one to change to, not auto")}
		}
		pt, err := flags.open(ctx, name, topic)
		if err != nil {
			return inUse, forFlag("--to-partitioner", err)
		}
		inUse = append(inUse, pt)
		pt.Partitioner = outlive(pt.Partitioner)
		if custom.IsSpec(name) {
			cfg.Further = append(cfg.Further, pt.Partitioner)
		}
		for _, to := range counts {
			cfg.Plans = append(cfg.Plans, plan.To{Partitioner: pt.Partitioner, NumPartitions: to.NumPartitions})
		}
	}
	return inUse, nil
}

// plannedText writes candidates as the flags that ask for them: " --to 24,48".
func plannedText(tos []plan.To) string {
	var counts, partitioners []string
	for _, to := range tos {
		if n := strconv.Itoa(int(to.NumPartitions)); to.NumPartitions > 0 && !slices.Contains(counts, n) {
			counts = append(counts, n)
		}
		if to.Partitioner != nil && !slices.Contains(partitioners, to.Partitioner.ID()) {
			partitioners = append(partitioners, to.Partitioner.ID())
		}
	}
	var text strings.Builder
	if len(counts) > 0 {
		text.WriteString(" --to " + strings.Join(counts, ","))
	}
	for _, id := range partitioners {
		text.WriteString(" --to-partitioner " + id)
	}
	return text.String()
}
