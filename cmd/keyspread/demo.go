package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kfake"

	"keyspread/analyze"
	"keyspread/analyze/plan"
	"keyspread/analyze/source/kafka"
	"keyspread/analyze/source/synthetic"
	"keyspread/partitioner"
	"keyspread/reports"
)

// The demo's topic.
const (
	demoTopic      = "orders.v1"
	demoPartitions = 12
	demoRecords    = 1_000_000
	demoHotKey     = "customer-hooli"
	demoHotShare   = 0.18
)

func newDemoCommand() *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show it all on an embedded broker: a skewed topic, analyze, plan",
		Long: `demo starts a broker inside this process, with its data in a temporary folder, writes a million orders of Zipf
customers and one hot customer to a topic of 12 partitions, and runs analyze and plan on it like on any other. Nothing
outside the folder is touched and the folder is removed.`,
		Args: noArgs,
		RunE: stoppable(func(cmd *cobra.Command, _ []string) error { return runDemo(cmd, keep) }),
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "leave the broker up until Ctrl-C and print the commands to try")
	return cmd
}

func runDemo(cmd *cobra.Command, keep bool) (err error) {
	ctx := cmd.Context()
	talk := cmd.ErrOrStderr()
	dir, err := os.MkdirTemp("", "keyspread-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.DataDir(dir), kfake.SeedTopics(demoPartitions, demoTopic))
	if err != nil {
		return fmt.Errorf("starting the embedded broker: %w", err)
	}
	defer cluster.Close()

	pt, err := partitioner.Parse("java")
	if err != nil {
		return err
	}
	cfg := kafka.DefaultConfig()
	cfg.BootstrapServers = cluster.ListenAddrs()
	cfg.ClientID = "keyspread/" + toolVersion()
	cfg.Topic = demoTopic
	started := time.Now()
	fmt.Fprintf(talk, "keyspread: writing %d orders to %s, %d partitions, on an embedded broker\n", demoRecords, demoTopic, demoPartitions)
	stream, err := synthetic.New(demoStream())
	if err != nil {
		return err
	}
	if _, err := produce(ctx, cfg, kafka.ProducerConfig{Partitioner: pt}, stream); err != nil {
		if ctx.Err() != nil {
			return interrupted(ctx, "the demo's topic was being written")
		}
		return fmt.Errorf("writing the demo's topic: %w", err)
	}
	fmt.Fprintf(talk, "keyspread: written in %.1f s\n", time.Since(started).Seconds())

	for _, counts := range [][]int32{nil, {24, 48}} {
		if err := demoStep(cmd, cfg, pt, counts); err != nil {
			return err
		}
	}
	if keep {
		printCommands(cmd.OutOrStdout(), cfg.BootstrapServers[0])
		<-ctx.Done()
		fmt.Fprintln(talk, "keyspread: stopping the broker")
		if stopped, ok := errors.AsType[stopSignal](context.Cause(ctx)); ok && stopped.Signal != os.Interrupt {
			return interrupted(ctx, "the broker is gone") // Ctrl-C is the end that --keep asks for
		}
	}
	return nil
}

// demoStream is the demo's orders: customers by Zipf's law, one of them hot, a few orders without a customer.
func demoStream() synthetic.Config {
	c := synthetic.DefaultConfig()
	c.Records = demoRecords
	c.Keys, c.Zipf = 50_000, 0.8
	c.KeyPrefix, c.KeyDigits = "customer-", 5
	c.Hot = []synthetic.HotKey{{Key: demoHotKey, Share: demoHotShare}}
	c.ValueMin, c.ValueMax = 80, 320
	c.Rate = synthetic.RateDaily
	c.Start = time.Date(2026, time.March, 2, 0, 0, 0, 0, time.UTC).UnixMilli()
	c.Duration = 24 * time.Hour
	return c
}

// demoStep prints the command a user would type and does what it does.
func demoStep(cmd *cobra.Command, cfg kafka.Config, pt partitioner.Partitioner, counts []int32) error {
	line := fmt.Sprintf("keyspread analyze -b %s -t %s", cfg.BootstrapServers[0], cfg.Topic)
	acfg := analyze.DefaultConfig(pt)
	acfg.Auto = true
	if len(counts) > 0 {
		line = fmt.Sprintf("keyspread plan -b %s -t %s --to %d", cfg.BootstrapServers[0], cfg.Topic, counts[0])
		for i, n := range counts {
			acfg.Plans = append(acfg.Plans, plan.To{NumPartitions: n})
			if i > 0 {
				line += fmt.Sprintf(",%d", n)
			}
		}
	}
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "$ %s\n", line); err != nil {
		return err
	}
	src, err := kafka.New(cfg)
	if err != nil {
		return err
	}
	defer src.Close()
	err = runAnalyze(cmd, withProgress(src, cmd.ErrOrStderr(), false), acfg,
		output{outputs: []reports.Output{{Format: reports.Text}}})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout())
	return err
}

func printCommands(w io.Writer, broker string) {
	fmt.Fprintf(w, `The broker stays up until Ctrl-C. To try in another terminal:

keyspread plan -b %[1]s -t %[2]s --to 18,24 -o wide
keyspread analyze -b %[1]s -t %[2]s -o json | head -40
keyspread analyze -b %[1]s -t %[2]s --sample blocks
keyspread locate -n 12,24,48 %[3]s customer-00001
keyspread explain hot-key
`, broker, demoTopic, demoHotKey)
}
