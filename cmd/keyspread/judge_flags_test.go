package main

import (
	"slices"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"keyspread/analyze"
	"keyspread/analyze/plan"
	"keyspread/partitioner"
)

// What is asked for by flags is what the run gets, and nothing of it without.
func TestJudgeFlags(t *testing.T) {
	pt, err := partitioner.Parse("java")
	if err != nil {
		t.Fatal(err)
	}
	config := func(args ...string) analyze.Config {
		t.Helper()
		var f judgeFlags
		cmd := &cobra.Command{Use: "judge"}
		f.register(cmd)
		if err := cmd.ParseFlags(args); err != nil {
			t.Fatal(err)
		}
		cfg, _, err := f.config(opened{Partitioner: pt}, time.Unix(1_700_000_000, 0))
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return cfg
	}
	for _, tc := range []struct {
		args  []string
		given func(c *analyze.Config) bool
	}{
		{[]string{"--verify-keys"}, func(c *analyze.Config) bool { return c.Profile.VerifyKeys }},
		{[]string{"--memory", "64MiB"}, func(c *analyze.Config) bool { return c.Profile.Memory == 64<<20 }},
		{[]string{"--hot-ratio", "2"}, func(c *analyze.Config) bool { return c.Skew.HotRatio == 2 }},
		{[]string{"--top", "7"}, func(c *analyze.Config) bool { return c.Skew.Top == 7 }},
		{[]string{"--refine"}, func(c *analyze.Config) bool { return c.Refine }},
		{[]string{"--shard", "2/3"}, func(c *analyze.Config) bool { return c.Shard == analyze.Shard{I: 2, N: 3} }},
		{[]string{"--candidates", "24,36"}, func(c *analyze.Config) bool {
			return slices.Equal(c.Candidates, []plan.To{{NumPartitions: 24}, {NumPartitions: 36}})
		}},
	} {
		without, with := config(), config(tc.args...)
		if tc.given(&without) {
			t.Errorf("%v: given without being asked for", tc.args)
		}
		if !tc.given(&with) {
			t.Errorf("%v: not given to the run", tc.args)
		}
	}
}
