package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"keyspread/analyze/plan"
	"keyspread/partitioner"
)

func newPlanCommand() *cobra.Command {
	var read readFlags
	var judge judgeFlags
	var counts, partitioners []string
	cmd := &cobra.Command{
		Use:   "plan (-b HOST:PORT -t TOPIC | PROFILE) --to 24,48",
		Short: "Simulate other partition counts or another partitioner on the topic's real keys",
		Long: `plan reads the topic like analyze and adds, for each candidate, where future records of the same keys would land:
loads, the hottest partition and its keys, moved keys, records and bytes, and which hot keys move where. Records already
written never move.`,
		Args: atMostOneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			plans, err := parsePlans(counts, partitioners)
			if err != nil {
				return usageError{err}
			}
			return analyzeOrPlan(cmd, args, &read, &judge, plans)
		},
	}
	read.register(cmd)
	judge.register(cmd)
	cmd.Flags().StringSliceVar(&counts, "to", nil, "partition `counts` to simulate")
	cmd.Flags().StringSliceVar(&partitioners, "to-partitioner", nil, "`partitioners` to simulate, at the topic's count or at those of --to")
	_ = cmd.RegisterFlagCompletionFunc("to-partitioner", completePartitioner)
	return cmd
}

// parsePlans combines counts and partitioners: each count under each partitioner, or whichever of the two is given.
func parsePlans(counts, partitioners []string) ([]plan.To, error) {
	tos, err := parseCounts("--to", counts)
	if err != nil {
		return nil, err
	}
	if len(partitioners) == 0 {
		if len(tos) == 0 {
			return nil, errors.New("nothing to plan: give --to COUNT,... or --to-partitioner NAME,...")
		}
		return tos, nil
	}
	if len(tos) == 0 {
		tos = []plan.To{{}}
	}
	var plans []plan.To
	for _, name := range partitioners {
		pt, err := partitioner.Parse(name)
		if err != nil {
			return nil, fmt.Errorf("--to-partitioner: %w", err)
		}
		for _, to := range tos {
			plans = append(plans, plan.To{Partitioner: pt, NumPartitions: to.NumPartitions})
		}
	}
	return plans, nil
}
