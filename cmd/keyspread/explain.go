package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"keyspread/analyze/finding"
)

func newExplainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [FINDING]",
		Short: "Print the long form of a finding; without one, list them all",
		Args:  atMostOneArg,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var ids []string
			for _, e := range finding.All() {
				ids = append(ids, string(e.ID)+"\t"+e.Title)
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listEntries(cmd.OutOrStdout())
			}
			e, ok := finding.Find(finding.ID(args[0]))
			if !ok {
				return usageError{unknownFinding(args[0])}
			}
			return writeEntry(cmd.OutOrStdout(), e)
		},
	}
}

func atMostOneArg(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return usageError{fmt.Errorf("%s takes one argument at most, got %d", cmd.CommandPath(), len(args))}
	}
	return nil
}

// unknownFinding names those that are spelt alike, found as cobra finds a command that is misspelt, or else all.
func unknownFinding(id string) error {
	alike := &cobra.Command{SuggestionsMinimumDistance: 2}
	var ids []string
	for _, e := range finding.All() {
		ids = append(ids, string(e.ID))
		alike.AddCommand(&cobra.Command{Use: string(e.ID), Run: func(*cobra.Command, []string) {}})
	}
	if near := alike.SuggestionsFor(id); len(near) > 0 {
		return fmt.Errorf("unknown finding %q: did you mean %s? keyspread explain lists all", id, anyOf(near))
	}
	return fmt.Errorf("unknown finding %q; known: %s", id, strings.Join(ids, ", "))
}

func listEntries(w io.Writer) error {
	var text bytes.Buffer
	for _, e := range finding.All() {
		writeWrapped(&text, textWidth(w), fmt.Sprintf("%-22s ", e.ID), strings.Repeat(" ", 23), e.Title)
	}
	_, err := text.WriteTo(w)
	return err
}

func writeEntry(w io.Writer, e finding.Entry) error {
	var text bytes.Buffer
	for _, part := range []string{string(e.ID) + ": " + e.Title, "", e.Meaning, "", "When", e.Rule, "", "What to do", e.Do} {
		writeWrapped(&text, textWidth(w), "", "", part)
	}
	_, err := text.WriteTo(w)
	return err
}
