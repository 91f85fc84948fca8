package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"keyspread/partitioner"
)

func newPartitionersCommand() *cobra.Command {
	output := choice{value: "text", known: []string{"text", "json", "ndjson"}}
	cmd := &cobra.Command{
		Use:   "partitioners [NAME]",
		Short: "List what is known of clients' partitioners: classes, null and empty keys",
		Long: `Lists the clients known, what each does with a key, the null key and the empty key, and the classes
of placement. With NAME, a client, a configured value or a class, it tells all that is known of that
one.`,
		Example: `  keyspread partitioners
  keyspread partitioners librdkafka
  keyspread partitioners sarama:hash
  keyspread partitioners -o ndjson`,
		Args:              atMostOneArg,
		ValidArgsFunction: completePartitioner,
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) == 1 {
				name = args[0]
			}
			return runPartitioners(cmd, name, output.value)
		},
	}
	cmd.Flags().VarP(&output, "output", "o", "text, json or ndjson")
	_ = cmd.RegisterFlagCompletionFunc("output", output.complete)
	return cmd
}

// selection is what a name selects of the registry: all of it, a client, one rule or one class.
type selection struct {
	clients []partitioner.Client
	rules   []partitioner.Rule
	classes []partitioner.Class
	explain *partitioner.Rule // the one to tell all of
}

func runPartitioners(cmd *cobra.Command, name, format string) error {
	s, err := selectNamed(name)
	if err != nil {
		return usageError{err}
	}
	w := bufio.NewWriter(cmd.OutOrStdout())
	switch format {
	case "json":
		err = writePartitionersJSON(w, s)
	case "ndjson":
		err = writePartitionersLines(w, s)
	default:
		writePartitionersText(w, s)
	}
	if err != nil {
		return err
	}
	return w.Flush()
}

func selectNamed(name string) (selection, error) {
	clients, classes := partitioner.Clients(), partitioner.Classes()
	if name == "" {
		var s selection
		s.clients, s.classes = clients, classes
		for _, c := range clients {
			s.rules = append(s.rules, c.Rules...)
		}
		return s, nil
	}
	rule, err := partitioner.Lookup(name)
	if err != nil {
		return selection{}, err
	}
	s := selection{explain: &rule, rules: []partitioner.Rule{rule}}
	for _, c := range classes {
		if c.ID == rule.Class {
			s.classes = append(s.classes, c)
		}
	}
	for _, c := range clients {
		if c.Name != rule.Client {
			continue
		}
		s.clients = append(s.clients, c)
		if !strings.ContainsAny(strings.TrimLeft(name, "@"), ":@") && rule.Default { // the whole client was named
			s.rules = c.Rules
		}
	}
	return s, nil
}

func writePartitionersText(w io.Writer, s selection) {
	if s.explain == nil || len(s.rules) > 1 {
		writeRuleTable(w, s.rules)
	}
	if s.explain == nil {
		fmt.Fprint(w, "\nCLASSES\n")
		width := 0
		for _, c := range s.classes {
			width = max(width, len(c.ID))
		}
		for _, c := range s.classes {
			writeWrapped(w, textColumns, fmt.Sprintf("%-*s  ", width, c.ID), strings.Repeat(" ", width+2), c.Description)
		}
		return
	}
	if len(s.rules) > 1 {
		fmt.Fprintln(w)
	}
	writeExplained(w, s)
}

func writeRuleTable(w io.Writer, rules []partitioner.Rule) {
	rows := [][]string{{"  PARTITIONER", "CLASS", "NULL KEY", "EMPTY KEY"}}
	for _, r := range rules {
		mark := "  "
		if r.Default && r.To == "" {
			mark = "* "
		}
		rows = append(rows, []string{mark + r.ID, r.Class, shortKeyRule(r.Null), shortKeyRule(r.Empty)})
	}
	writeColumns(w, rows, 4)
	fmt.Fprintln(w)
	writeWrapped(w, textColumns, "", "", "* with nothing configured, in the newest version; @VERSION: up to that version. "+
		"hashed: like any key, null as if empty; other words: how the client spreads such keys.")
}

// shortKeyRule leaves the reason of a refusal to the long form.
func shortKeyRule(r partitioner.KeyRule) string {
	if r.Kind == partitioner.Refused {
		return "refused"
	}
	return r.String()
}

// evidenceText spells out what [partitioner.Evidence] abbreviates.
var evidenceText = map[partitioner.Evidence]string{
	partitioner.Run:       "the client itself was run",
	partitioner.Extracted: "the project's own hash code was taken out and run",
	partitioner.Read:      "its source was read",
	partitioner.Issue:     "only an issue or documentation was read",
}

func writeExplained(w io.Writer, s selection) {
	r := *s.explain
	const indent = "             "
	field := func(name, text string) {
		if text != "" {
			writeWrapped(w, textColumns, fmt.Sprintf("%-*s", len(indent), name), indent, text)
		}
	}
	title := r.ID
	if len(s.clients) > 0 {
		title += " (" + s.clients[0].Title + ")"
	}
	fmt.Fprintln(w, title)
	field("class", r.Class)
	for _, c := range s.classes {
		if c.ID == r.ID {
			field("", c.Description)
		}
		field("hash", c.Hash)
		field("partition", c.Formula)
		if c.TextOnly {
			field("", "keys that are not UTF-8 have no partition")
		}
		field("alike", alikeText(c.ID))
	}
	field("null key", r.Null.String())
	field("empty key", r.Empty.String())
	field("n counts", r.Over)
	field("versions", versionsText(r))
	if r.Client != "" {
		field("default", map[bool]string{true: "yes", false: "no"}[r.Default])
		field("notes", r.Notes)
		field("known from", evidenceText[r.Evidence])
		field("source", r.Source)
	}
	if len(s.clients) > 0 && s.clients[0].Like != "" {
		field("also takes", "the values of "+s.clients[0].Like)
	}
	if names := aliasNames(r); len(names) > 0 {
		field("aliases", strings.Join(names, ", "))
	}
	if r.Client == "" && len(s.classes) > 0 {
		field("clients", strings.Join(s.classes[0].Clients, ", "))
	}
}

// alikeText tells which classes cannot be told from one by placement, and when.
func alikeText(class string) string {
	always := partitioner.Alike(class, 3, false) // 3: no power of two, so nothing is alike that is not at any count
	powers := slices.DeleteFunc(partitioner.Alike(class, 16, false), func(id string) bool { return slices.Contains(always, id) })
	ascii := slices.DeleteFunc(partitioner.Alike(class, 3, true), func(id string) bool { return slices.Contains(always, id) })
	var parts []string
	for _, p := range []struct {
		when string
		ids  []string
	}{
		{"at any count", always},
		{"where n is a power of two", powers},
		{"on ASCII keys", ascii},
	} {
		if len(p.ids) > 0 {
			parts = append(parts, strings.Join(p.ids, ", ")+" "+p.when)
		}
	}
	return strings.Join(parts, "; ")
}

func versionsText(r partitioner.Rule) string {
	switch {
	case r.From != "" && r.To != "":
		return r.From + " to " + r.To
	case r.From != "":
		return "from " + r.From
	case r.To != "":
		return "up to " + r.To
	}
	return ""
}

// aliasNames are the other names of a rule, each as it can be typed.
func aliasNames(r partitioner.Rule) []string {
	var names []string
	for _, a := range r.Aliases {
		if strings.HasPrefix(a, ":") {
			a = r.Client + a
		}
		names = append(names, a)
	}
	return names
}

// ruleLine is a rule in JSON.
type ruleLine struct {
	ID       string   `json:"id"`
	Client   string   `json:"client,omitempty"`
	Title    string   `json:"title,omitempty"`
	Value    string   `json:"value,omitempty"`
	From     string   `json:"from,omitempty"`
	To       string   `json:"to,omitempty"`
	Default  bool     `json:"default"`
	Class    string   `json:"class"`
	NullKey  string   `json:"null_key"`
	EmptyKey string   `json:"empty_key"`
	Over     string   `json:"over"`
	Notes    string   `json:"notes,omitempty"`
	Evidence string   `json:"evidence,omitempty"`
	Source   string   `json:"source,omitempty"`
	Aliases  []string `json:"aliases,omitempty"`
}

// classLine is a class in JSON.
type classLine struct {
	ID          string   `json:"id"`
	Hash        string   `json:"hash"`
	Formula     string   `json:"formula"`
	Description string   `json:"description"`
	TextOnly    bool     `json:"text_only"`
	Clients     []string `json:"clients"`
}

func (s selection) ruleLines() []ruleLine {
	titles := make(map[string]string)
	for _, c := range s.clients {
		titles[c.Name] = c.Title
	}
	var lines []ruleLine
	for _, r := range s.rules {
		lines = append(lines, ruleLine{
			ID: r.ID, Client: r.Client, Title: titles[r.Client], Value: r.Value, From: r.From, To: r.To, Default: r.Default,
			Class: r.Class, NullKey: r.Null.String(), EmptyKey: r.Empty.String(), Over: r.Over, Notes: r.Notes,
			Evidence: string(r.Evidence), Source: r.Source, Aliases: aliasNames(r),
		})
	}
	return lines
}

// partitionersSchema is the version of the JSON; a field taken away or with another meaning raises it.
const partitionersSchema = 1

func writePartitionersJSON(w io.Writer, s selection) error {
	all := struct {
		SchemaVersion int         `json:"schema_version"`
		Partitioners  []ruleLine  `json:"partitioners"`
		Classes       []classLine `json:"classes"`
	}{SchemaVersion: partitionersSchema, Partitioners: s.ruleLines(), Classes: []classLine{}}
	for _, c := range s.classes {
		all.Classes = append(all.Classes, classLine{c.ID, c.Hash, c.Formula, c.Description, c.TextOnly, append([]string{}, c.Clients...)})
	}
	enc := jsonEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(all)
}

func writePartitionersLines(w io.Writer, s selection) error {
	enc := jsonEncoder(w)
	for _, line := range s.ruleLines() {
		if err := enc.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

func jsonEncoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}
