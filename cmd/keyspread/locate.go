package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"keyspread/analyze/plan"
	"keyspread/partitioner"
)

// locateFlags are the flags of `keyspread locate`.
type locateFlags struct {
	counts       []string
	partitioners []string
	own          partitionerFlags // how one of the user's own is run
	file         string
	hex, base64  bool
	null         bool
	output       choice
}

func newLocateCommand() *cobra.Command {
	f := locateFlags{output: choice{value: "text", known: []string{"text", "ndjson"}}}
	cmd := &cobra.Command{
		Use:   "locate -n COUNT[,COUNT...] KEY...",
		Short: "Tell the partition of keys, under one partitioner or all",
		Long: `Tells where keys land, for each partition count and partitioner. Nothing is read from a cluster.

A KEY is text, hashed as UTF-8 as it stands; '' is the empty key. Keys that are no text, or many,
come from --keys: one JSON object a line with "key" (text), "hex" or "base64"; null in place of a
string is the null key.

A word in place of a partition says how the client spreads such keys; "-" that it has no partition
for the key.`,
		Example: `  keyspread locate -n 12,24 order-101
  keyspread locate -n 12 --partitioner java,librdkafka,kafkajs@1 order-101 ''
  keyspread locate -n 16 --partitioner all --hex 0000000000000001
  keyspread locate -n 12 --keys keys.ndjson -o ndjson`,
		RunE: stoppable(func(cmd *cobra.Command, args []string) error { return runLocate(cmd, args, &f) }),
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&f.counts, "partitions", "n", nil, "partition `counts` of the topic")
	flags.StringSliceVar(&f.partitioners, "partitioner", []string{"java"}, "the producers' `partitioners`, or all for every class; 'keyspread partitioners' lists them; exec:, jvm: and table: ones too")
	f.own.registerOwn(cmd)
	flags.StringVar(&f.file, "keys", "", "`file` of keys, a JSON object a line; - is standard input")
	flags.BoolVar(&f.hex, "hex", false, "KEY arguments are hexadecimal bytes")
	flags.BoolVar(&f.base64, "base64", false, "KEY arguments are base64")
	flags.BoolVar(&f.null, "null", false, "locate the null key, too")
	flags.VarP(&f.output, "output", "o", "text or ndjson")
	_ = cmd.RegisterFlagCompletionFunc("partitioner", completePartitioner)
	_ = cmd.RegisterFlagCompletionFunc("output", f.output.complete)
	return cmd
}

// runLocate places the keys of args and of the file. A line that holds no key is reported and passed over; there is an
// error in the end.
func runLocate(cmd *cobra.Command, args []string, f *locateFlags) (failed error) {
	counts, err := f.parseCounts()
	if err != nil {
		return usageError{err}
	}
	inUse, ps, err := f.open(cmd.Context())
	defer func() { failed = closeAll(cmd.Context(), inUse, failed) }()
	if err != nil {
		return err
	}
	keys, err := f.parseKeys(args)
	if err != nil {
		return usageError{err}
	}
	if len(keys) == 0 && f.file == "" {
		return usageError{errors.New("no key named: give keys as arguments, --null or --keys FILE")}
	}

	out := bufio.NewWriter(cmd.OutOrStdout())
	l := newLocator(ps, counts)
	place := l.addRow
	if f.output.value == "ndjson" {
		place = func(key []byte) error { return l.writeLines(out, key) }
	}
	for _, key := range keys {
		if err := place(key); err != nil {
			return err
		}
	}
	var bad error
	if f.file != "" {
		if bad, err = placeFile(cmd, f.file, place); err != nil {
			return err
		}
	}
	if f.output.value == "text" {
		l.writeTable(out)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return bad
}

func (f *locateFlags) parseCounts() ([]int32, error) {
	if len(f.counts) == 0 {
		return nil, errors.New("no partition count named: give -n COUNT")
	}
	var counts []int32
	for _, s := range f.counts {
		n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 32)
		if err != nil || n < 1 || n > plan.MaxPartitions {
			return nil, fmt.Errorf("-n: %q is not a partition count between 1 and %d", s, plan.MaxPartitions)
		}
		if !slices.Contains(counts, int32(n)) {
			counts = append(counts, int32(n))
		}
	}
	return counts, nil
}

// open opens the partitioners named; all stands for every class. Those opened are returned with an error too.
func (f *locateFlags) open(ctx context.Context) (inUse []opened, ps []partitioner.Partitioner, err error) {
	for _, name := range f.partitioners {
		if name == "all" {
			for _, c := range partitioner.Classes() {
				ps = append(ps, c.Partitioner())
			}
			continue
		}
		if name == partitionerAuto {
			return inUse, nil, usageError{errors.New("--partitioner auto needs a topic to tell it from: name one, or all")}
		}
		p, err := f.own.open(ctx, name, "")
		if err != nil {
			return inUse, nil, forFlag("--partitioner", err)
		}
		inUse, ps = append(inUse, p), append(ps, p.Partitioner)
	}
	if len(ps) == 0 {
		return inUse, nil, usageError{errors.New("--partitioner: no partitioner named")}
	}
	return inUse, ps, nil
}

// parseKeys reads the arguments; the null key, if asked for, comes last.
func (f *locateFlags) parseKeys(args []string) ([][]byte, error) {
	if f.hex && f.base64 {
		return nil, errors.New("--hex and --base64 exclude each other")
	}
	var keys [][]byte
	for _, arg := range args {
		key, err := []byte(arg), error(nil)
		switch {
		case f.hex:
			key, err = hex.DecodeString(arg)
		case f.base64:
			key, err = base64.StdEncoding.DecodeString(arg)
		}
		if err != nil {
			return nil, fmt.Errorf("key %q: %w", arg, err)
		}
		keys = append(keys, append([]byte{}, key...)) // never nil: an empty argument is the empty key
	}
	if f.null {
		keys = append(keys, nil)
	}
	return keys, nil
}

// placeFile gives the key of each line of a file to place. bad tells how many lines had none; err ends the run.
func placeFile(cmd *cobra.Command, name string, place func(key []byte) error) (bad, err error) {
	in := cmd.InOrStdin()
	if name == "-" {
		name = "standard input"
	} else {
		file, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	in = newStoppableReader(cmd.Context(), in)
	lines, wrong := 0, 0
	for r := bufio.NewReader(in); ; {
		line, err := r.ReadBytes('\n')
		if err != nil && cmd.Context().Err() != nil {
			return nil, interrupted(cmd.Context(), fmt.Sprintf("%d lines had been read", lines))
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("reading %s: %w", name, err)
		}
		if len(line) > 0 {
			lines++
		}
		if len(bytes.TrimSpace(line)) > 0 {
			if key, keyErr := parseKeyLine(line); keyErr != nil {
				wrong++
				say(cmd.ErrOrStderr(), "error", fmt.Sprintf("%s:%d: %v", name, lines, keyErr))
			} else if err := place(key); err != nil {
				return nil, err
			}
		}
		if err != nil { // the end
			break
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%s: %d of %d lines hold no key and were passed over", name, wrong, lines), nil
	}
	return nil, nil
}

// parseKeyLine reads {"key":TEXT}, {"hex":DIGITS} or {"base64":TEXT}; null in place of the string is the null key. Other
// fields do not matter.
func parseKeyLine(line []byte) ([]byte, error) {
	if !utf8.Valid(line) {
		return nil, errors.New(`not UTF-8: write the key as "hex" or "base64"`)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(line, &fields); err != nil || fields == nil {
		return nil, errors.New(`no JSON object such as {"key":"order-101"} or {"hex":"00ff"}`)
	}
	var form string
	for _, name := range []string{"key", "hex", "base64"} {
		if _, ok := fields[name]; !ok {
			continue
		}
		if form != "" {
			return nil, fmt.Errorf("both %q and %q: give one", form, name)
		}
		form = name
	}
	if form == "" {
		return nil, errors.New(`no "key", "hex" or "base64"`)
	}
	var text *string
	if err := json.Unmarshal(fields[form], &text); err != nil {
		return nil, fmt.Errorf("%q is %s, want a string or null", form, fields[form])
	}
	if text == nil {
		return nil, nil
	}
	key, err := []byte(*text), error(nil)
	switch form {
	case "hex":
		key, err = hex.DecodeString(*text)
	case "base64":
		key, err = base64.StdEncoding.DecodeString(*text)
	case "key":
		if loneSurrogate(fields[form], *text) {
			err = errors.New("half a surrogate pair, which UTF-8 cannot hold")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%q: %w", form, err)
	}
	return append([]byte{}, key...), nil
}

// loneSurrogate reports whether decoding raw replaced a surrogate escape by U+FFFD, so that text is no longer what was written.
func loneSurrogate(raw []byte, text string) bool {
	meant := bytes.Count(raw, []byte("\ufffd")) + bytes.Count(bytes.ToLower(raw), []byte(`\ufffd`))
	return strings.Count(text, "\ufffd") > meant
}

// locator places keys under several partitioners and counts, and keeps the rows of a table.
type locator struct {
	partitioners []partitioner.Partitioner
	rules        []partitioner.Rule
	counts       []int32
	placed       []int32
	rows         [][]string
	notes        []string
	failures     int  // keys that a partitioner has no partition for
	ascii        bool // of every key so far
}

func newLocator(ps []partitioner.Partitioner, counts []int32) *locator {
	l := &locator{partitioners: ps, counts: counts, placed: make([]int32, len(counts)), ascii: true}
	for _, p := range ps {
		r, err := partitioner.Lookup(p.ID())
		if err != nil { // the user's own: nothing is known of it but its answers
			r = partitioner.Rule{ID: p.ID(), Class: partitioner.ClassNone}
		}
		l.rules = append(l.rules, r)
	}
	return l
}

// locatedLine is a line of -o ndjson.
type locatedLine struct {
	KeyHex      *string `json:"key_hex"` // null for the null key
	Partitioner string  `json:"partitioner"`
	Partitions  int32   `json:"partitions"`
	Partition   *int32  `json:"partition,omitempty"`
	Unkeyed     bool    `json:"unkeyed,omitempty"` // the client spreads such keys
	Error       string  `json:"error,omitempty"`   // why there is no partition
}

func (l *locator) writeLines(w io.Writer, key []byte) error {
	var keyHex *string
	if key != nil {
		keyHex = new(hex.EncodeToString(key))
	}
	enc := jsonEncoder(w)
	for _, p := range l.partitioners {
		keyed, err := p.Place(key, l.counts, l.placed)
		if err != nil && !partitioner.Unplaced(err) {
			return err
		}
		for i, n := range l.counts {
			line := locatedLine{KeyHex: keyHex, Partitioner: p.ID(), Partitions: n}
			switch {
			case !keyed:
				line.Unkeyed = true
			case l.placed[i] >= 0:
				line.Partition = &l.placed[i]
			default:
				line.Error = err.Error()
			}
			if err := enc.Encode(line); err != nil {
				return err
			}
		}
	}
	return nil
}

// addRow adds a row per partitioner to the table.
func (l *locator) addRow(key []byte) error {
	l.ascii = l.ascii && isASCII(key)
	for i, p := range l.partitioners {
		keyed, err := p.Place(key, l.counts, l.placed)
		if err != nil && !partitioner.Unplaced(err) {
			return err
		}
		row := []string{keyText(key), p.ID()}
		for _, at := range l.placed {
			cell := strconv.Itoa(int(at))
			switch {
			case !keyed:
				cell = spreadWord(l.rules[i], key)
			case at < 0:
				cell = "-"
			}
			row = append(row, cell)
		}
		if err != nil {
			l.failures++
			if l.failures <= failuresNoted {
				l.notes = append(l.notes, fmt.Sprintf("- %s: %v", keyText(key), err))
			}
		}
		l.rows = append(l.rows, row)
	}
	return nil
}

// failuresNoted is how many keys without a partition are explained one by one.
const failuresNoted = 10

// spreadWord is how the client spreads key, such as "sticky".
func spreadWord(r partitioner.Rule, key []byte) string {
	if r.Client == "" && !r.Keyed() {
		return "spread"
	}
	if len(key) == 0 && key != nil {
		return r.Empty.String()
	}
	return r.Null.String() // that of every key where keys are ignored
}

func (l *locator) writeTable(w io.Writer) {
	head := []string{"key", "partitioner"}
	for _, n := range l.counts {
		head = append(head, "n="+strconv.Itoa(int(n)))
	}
	writeColumns(w, append([][]string{head}, l.rows...), 2)
	notes := slices.Clone(l.notes)
	if more := l.failures - len(l.notes); more > 0 {
		notes = append(notes, fmt.Sprintf("- … and %d more", more))
	}
	notes = append(notes, l.alikeNotes()...)
	if len(notes) > 0 {
		fmt.Fprintln(w)
	}
	for _, note := range notes {
		writeWrapped(w, textColumns, "", "  ", note)
	}
}

// alikeNotes tells which classes give the partitions shown as well, so that nobody takes one match for a proof.
func (l *locator) alikeNotes() []string {
	type group struct {
		classes []string
		counts  []string
	}
	var groups []group
	for _, n := range l.counts {
		var told []string
		for _, r := range l.rules {
			if !r.Keyed() || slices.Contains(told, r.Class) {
				continue
			}
			alike := partitioner.Alike(r.Class, n, l.ascii)
			told = append(append(told, r.Class), alike...)
			if len(alike) == 0 {
				continue
			}
			same := append([]string{r.Class}, alike...)
			i := slices.IndexFunc(groups, func(g group) bool { return slices.Equal(g.classes, same) })
			if i < 0 {
				groups = append(groups, group{classes: same})
				i = len(groups) - 1
			}
			groups[i].counts = append(groups[i].counts, strconv.Itoa(int(n)))
		}
	}
	var notes []string
	for _, g := range groups {
		at := "at " + strings.Join(g.counts, ", ")
		switch {
		case slices.Equal(g.counts, []string{"1"}):
			notes = append(notes, at+": every partitioner places alike")
			continue
		case !l.ascii:
		case slices.Contains(g.classes, "no-kafka-crc32-utf16"):
			at += " for ASCII keys"
		}
		notes = append(notes, fmt.Sprintf("%s: %s has the same placement as %s", at, g.classes[0], strings.Join(g.classes[1:], ", ")))
	}
	return notes
}

func isASCII(key []byte) bool {
	for _, b := range key {
		if b >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// maxKeyText is how many characters of a key the table shows.
const maxKeyText = 40

// keyText shows a key: text as it is, anything else in hexadecimal, never so that two kinds of key look alike.
func keyText(key []byte) string {
	switch {
	case key == nil:
		return "<null>"
	case len(key) == 0:
		return "<empty>"
	}
	text := string(key)
	switch {
	case !utf8.Valid(key) || strings.ContainsFunc(text, unicode.IsControl):
		text = "0x" + hex.EncodeToString(key)
	case strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }),
		strings.TrimSpace(text) != text, strings.HasPrefix(text, "<"), strings.HasPrefix(text, "0x"), strings.HasPrefix(text, `"`):
		text = strconv.Quote(text)
	}
	if runes := []rune(text); len(runes) > maxKeyText {
		return fmt.Sprintf("%s…(%d bytes)", string(runes[:maxKeyText]), len(key))
	}
	return text
}
