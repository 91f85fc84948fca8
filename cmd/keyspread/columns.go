package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rivo/uniseg"
	"github.com/spf13/cobra"
)

// textColumns is how wide the text of commands may be.
const textColumns = 100

// choice is a flag that takes one of a few words.
type choice struct {
	value string
	known []string
}

func (c *choice) String() string { return c.value }
func (c *choice) Type() string   { return "format" }

// Set refuses an unknown word, so that the mistake is told with the flag's name.
func (c *choice) Set(s string) error {
	if !slices.Contains(c.known, s) {
		return fmt.Errorf("want %s", strings.Join(c.known, ", "))
	}
	c.value = s
	return nil
}

func (c *choice) complete(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return c.known, cobra.ShellCompDirectiveNoFileComp
}

// writeColumns writes rows with their columns in line, the first left ones from the left, the others from the right. No
// line ends in spaces.
func writeColumns(w io.Writer, rows [][]string, left int) {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], uniseg.StringWidth(cell))
		}
	}
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			if i > 0 {
				b.WriteString("  ")
			}
			space := strings.Repeat(" ", widths[i]-uniseg.StringWidth(cell))
			if i < left {
				b.WriteString(cell + space)
			} else {
				b.WriteString(space + cell)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}

// textWidth is how wide text on w is to be: as wide as w if that is narrower than textColumns.
func textWidth(w io.Writer) int {
	if n := columns(w); n > 0 {
		return min(n, textColumns)
	}
	return textColumns
}

// writeWrapped writes text in lines of at most width columns, the first after first, the others after rest. A longer word
// has a line of its own.
func writeWrapped(w io.Writer, width int, first, rest, text string) {
	line, empty := first, true
	for word := range strings.FieldsSeq(text) {
		if !empty && uniseg.StringWidth(line)+1+uniseg.StringWidth(word) > width {
			fmt.Fprintln(w, line)
			line, empty = rest, true
		}
		if !empty {
			line += " "
		}
		line, empty = line+word, false
	}
	fmt.Fprintln(w, strings.TrimRight(line, " "))
}
