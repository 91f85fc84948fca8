package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"keyspread/analyze"
)

// Exit codes; README and `keyspread --help` list them.
const (
	exitOK          = 0
	exitFailed      = 1   // could not do it, or not all of it
	exitUsage       = 2   // wrong command line
	exitInterrupted = 130 // Ctrl-C; the partial report was written
	exitTerminated  = 143 // the same by SIGTERM
)

// usageError is a mistake on the command line: exit 2, with a pointer to the help.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// newRootCommand builds the whole command tree. Every command writes data to OutOrStdout and talk to ErrOrStderr, so
// that tests can run it in process.
func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "keyspread",
		Short: "Tells where a Kafka topic's keys land, which are hot, and what more partitions would do",
		Long: `keyspread reads a topic once, prints one report and exits. It never writes to the cluster of a topic it reads:
no group joined, no offset committed, no topic created.

Exit codes: 0 fine, 1 could not do it or not all of it, 2 wrong usage, 130 interrupted (partial
report written), 143 the same by SIGTERM.`,
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
			text += ": did you mean " + anyOf(near) + "?"
		}
		return usageError{errors.New(text)}
	}
	return usageError{fmt.Errorf("%s takes no argument, got %q", cmd.CommandPath(), args[0])}
}

// anyOf writes names to choose from: `"a" or "b"`.
func anyOf(names []string) string { return `"` + strings.Join(names, `" or "`) + `"` }

// run executes the command line and returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteC()
	if errors.Is(err, pflag.ErrHelp) {
		return exitOK
	}
	code := exitOK
	var told []string
	for _, one := range apart(err) {
		text := one.Error()
		stopped, isStop := errors.AsType[stopSignal](one)
		_, isUsage := errors.AsType[usageError](one)
		_, isPart := errors.AsType[*analyze.PartError](one)
		isUsage = isUsage || isPart
		switch {
		case errors.Is(one, syscall.EPIPE), slices.Contains(told, text):
			continue // a closed pipe is the reader's wish, not our failure
		case isStop:
			say(stderr, "warning", text)
			code = stopped.exitCode()
		case isUsage || isCobraUsage(one):
			say(stderr, "error", text)
			say(stderr, "hint", fmt.Sprintf("see '%s --help'", cmd.CommandPath()))
			code = max(code, exitUsage)
		default:
			say(stderr, "error", text)
			code = max(code, exitFailed)
		}
		told = append(told, text)
	}
	return code
}

// apart returns the errors that [errors.Join] put together, so that each gets a line of its own.
func apart(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		if err == nil {
			return nil
		}
		return []error{err}
	}
	var all []error
	var texts []string
	for _, one := range joined.Unwrap() {
		all, texts = append(all, apart(one)...), append(texts, one.Error())
	}
	if strings.Join(texts, "\n") != err.Error() {
		return []error{err} // it says more than its parts
	}
	return all
}

// say writes one of the lines on stderr that are for people: an error, a warning or a hint.
func say(w io.Writer, kind, text string) {
	fmt.Fprintf(w, "keyspread: %s: %s\n", kind, visible(text))
}

// visible escapes what a terminal would act on or not show: controls, escape sequences, bidirectional overrides, bytes
// that are not UTF-8. Names of files and texts of brokers may hold any. Further lines stay, indented, so that none looks
// like a line of keyspread's own.
func visible(text string) string {
	var b strings.Builder
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '\n':
			b.WriteByte('\n')
			if !strings.HasPrefix(text[i+1:], "  ") {
				b.WriteString("  ")
			}
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case !unicode.IsPrint(r), unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
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
	// A write to a closed pipe is to fail with EPIPE rather than kill, so that the other outputs are still written. To be
	// caught and not ignored, or children would inherit it.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
