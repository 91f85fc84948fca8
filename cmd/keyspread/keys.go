package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"keyspread/analyze/placement/keyform"
)

// keyFlags say how keys are shown. They change no figure.
type keyFlags struct {
	format string
}

func (f *keyFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.format, "key-format", string(keyform.Auto), "how keys are shown: "+strings.Join(keyFormats(), ", "))
	_ = cmd.RegisterFlagCompletionFunc("key-format", cobra.FixedCompletions(keyFormats(), cobra.ShellCompDirectiveNoFileComp))
}

// keyFormats are the names of the key formats.
func keyFormats() []string {
	var names []string
	for _, f := range keyform.Formats {
		names = append(names, string(f))
	}
	return names
}

func (f *keyFlags) parse() (keyform.Format, error) {
	format, err := keyform.ParseFormat(f.format)
	if err != nil {
		return format, fmt.Errorf("--key-format: %w", err)
	}
	return format, nil
}
