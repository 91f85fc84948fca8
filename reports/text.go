package reports

import (
	"bytes"
	"strings"
)

// textDetail is what fits on a screen at three in the morning.
var textDetail = detail{keys: 10, partitions: 12, problems: 10, hotKeys: 10, hottest: 3}

// writeText writes the answer (what was found, with the next step of each) and then the evidence.
func writeText(r *Report, v View, wide bool) []byte {
	d := textDetail
	if wide {
		d = detail{wide: true, partPeaks: true}
	}
	d.bars = v.Terminal
	t := &textWriter{paint: painter(v.Terminal), width: lineWidth, tables: lineWidth}
	if v.Columns > 0 {
		t.width = max(minWidth, min(lineWidth, v.Columns))
		t.tables = t.width
	}
	if wide {
		t.tables = 0
	}
	t.wrapped("", "", headline(r), bold)
	t.findings(r)
	for _, s := range evidence(r, d) {
		t.line("")
		t.line(t.paint(bold, s.title))
		for i, b := range s.blocks {
			if i > 0 && (b.head != "" || wide) {
				t.line("")
			}
			t.block(b)
		}
	}
	t.line("")
	end := "keyspread " + r.Tool.Version
	if len(r.Findings) > 0 {
		end += "; more about a finding: keyspread explain " + r.Findings[0].ID
	}
	t.wrapped("", "", end, faint)
	return t.b.Bytes()
}

type textWriter struct {
	b      bytes.Buffer
	paint  func(style, string) string
	width  int // columns of a line
	tables int // columns of a line of a table; 0: as many as it takes
}

func (t *textWriter) line(s string) {
	t.b.WriteString(s)
	t.b.WriteByte('\n')
}

// wrapped writes label and text, the lines after the first indented below the text. The label is painted.
func (t *textWriter) wrapped(indent, label, text string, st style) {
	prefix := indent + label
	below := strings.Repeat(" ", width(prefix))
	for i, l := range wrap(text, t.width-len(below)) {
		switch {
		case label == "":
			t.line(indent + t.paint(st, l))
		case i == 0:
			t.line(indent + t.paint(st, label) + l)
		default:
			t.line(below + l)
		}
	}
}

func (t *textWriter) findings(r *Report) {
	t.line("")
	if len(r.Findings) == 0 {
		t.line(t.paint(bold, "FINDINGS"))
		t.line("none: nothing in what was read needs attention")
		return
	}
	t.line(t.paint(bold, "FINDINGS"))
	for _, f := range r.Findings {
		label := padded(clean(f.Severity), 10)
		t.wrapped("", label, f.ID+": "+f.What, severityStyle(f.Severity))
		t.wrapped(strings.Repeat(" ", len(label)), "→ ", f.Do, plain)
	}
}

func (t *textWriter) block(b block) {
	if b.head != "" {
		t.wrapped("", "", b.head, bold)
	}
	labels := 0
	for _, f := range b.facts {
		labels = max(labels, width(f.label))
	}
	for _, f := range b.facts {
		t.wrapped("", padded("  "+f.label, labels+4), f.text, faint)
	}
	if b.table != nil {
		for i, l := range b.table.lines("  ", t.tables) {
			if i == 0 {
				l = t.paint(faint, l)
			}
			t.line(l)
		}
	}
	for _, n := range b.notes {
		t.wrapped("  ", "", n, plain)
	}
}

func padded(s string, columns int) string {
	return s + strings.Repeat(" ", max(0, columns-width(s)))
}

// style is how a piece of text looks on a terminal.
type style string

// The styles, as SGR parameters.
const (
	plain  style = ""
	bold   style = "1"
	faint  style = "2"
	red    style = "1;31"
	yellow style = "33"
	blue   style = "34"
)

func severityStyle(severity string) style {
	switch severity {
	case "critical":
		return red
	case "warning":
		return yellow
	}
	return blue
}

// painter returns a function that puts text in a style, or leaves it alone where there is no terminal.
func painter(terminal bool) func(style, string) string {
	return func(s style, text string) string {
		if !terminal || s == plain || text == "" {
			return text
		}
		return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
	}
}
