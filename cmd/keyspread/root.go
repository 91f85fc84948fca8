package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Exit codes; README and `keyspread --help` list them.
const (
	exitOK          = 0
	exitFailed      = 1   // could not do it, or not all of it
	exitUsage       = 2   // wrong command line
	exitInterrupted = 130 // Ctrl-C; the partial report was written
)

// usageError is a mistake on the command line: exit 2, with a pointer to the help.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// errInterrupted says that the user stopped the run and that the partial report is out.
var errInterrupted = errors.New("interrupted; the report above covers what was read so far")

// newRootCommand builds the whole command tree. Every command writes data to OutOrStdout and talk to ErrOrStderr, so
// that tests can run it in process.
func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "keyspread",
		Short: "Tells where a Kafka topic's keys land, which are hot, and what more partitions would do",
		Long: `keyspread reads a topic once, prints one report and exits. It never writes to the cluster of a topic it reads:
no group joined, no offset committed, no topic created.

Exit codes: 0 fine, 1 could not do it or not all of it, 2 wrong usage, 130 interrupted (partial report written).`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SuggestionsMinimumDistance = 2
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if cmd.HasSubCommands() { // a command misspelt has its flags taken for those of the program
			if unknown := noArgs(cmd, cmd.Flags().Args()); unknown != nil {
				return unknown
			}
		}
		return usageError{err}
	})
	root.AddCommand(
		newAnalyzeCommand(),
		newPlanCommand(),
		newLocateCommand(),
		newPartitionersCommand(),
		newMergeCommand(),
		newGenerateCommand(),
		newExplainCommand(),
		newDemoCommand(),
		newVersionCommand(),
	)
	return root
}

// noArgs refuses arguments; an unknown word after the program's name is a command misspelt.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if cmd.HasSubCommands() {
		text := fmt.Sprintf("unknown command %q", args[0])
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			text += fmt.Sprintf(": did you mean %q?", strings.Join(near, `" or "`))
		}
		return usageError{errors.New(text)}
	}
	return usageError{fmt.Errorf("%s takes no argument, got %q", cmd.CommandPath(), args[0])}
}

// run executes the command line and returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteC()
	switch {
	case err == nil, errors.Is(err, pflag.ErrHelp), errors.Is(err, syscall.EPIPE):
		return exitOK // a closed pipe is the reader's wish, not our failure
	case errors.Is(err, errInterrupted):
		fmt.Fprintf(stderr, "keyspread: warning: %v\n", err)
		return exitInterrupted
	}
	fmt.Fprintf(stderr, "keyspread: error: %v\n", err)
	var usage usageError
	if errors.As(err, &usage) || isCobraUsage(err) {
		fmt.Fprintf(stderr, "keyspread: hint: see '%s --help'\n", cmd.CommandPath())
		return exitUsage
	}
	return exitFailed
}

// isCobraUsage recognises the mistakes that cobra reports as plain errors.
func isCobraUsage(err error) bool {
	text := err.Error()
	for _, start := range []string{"required flag(s)", "unknown command", "invalid argument", "accepts ", "requires at least", "if any flags in the group", "at least one of the flags"} {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	return false
}

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
