package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// Format names a way to write a report.
type Format string

// The formats of a report.
const (
	Text     Format = "text"     // for people: the answer, then the evidence, in at most 100 columns
	Wide     Format = "wide"     // the same without limits: every row, every column
	JSON     Format = "json"     // for programs: the whole [Report]; see [Schema]
	Markdown Format = "markdown" // for pull requests: fits one comment, detail folded
)

// Formats returns every format, the default first.
func Formats() []Format { return []Format{Text, Wide, JSON, Markdown} }

// View is what a reader's screen can do. The zero value is a file or a pipe.
type View struct {
	Terminal bool // colours and bars
	Columns  int  // of the screen, if narrower than 100; 0: not known. Text narrows to 72, [Wide] does not.
}

// Write writes a report in one format. It panics when the format is not one of [Formats].
func Write(w io.Writer, f Format, r *Report, v View) error {
	var b []byte
	switch f {
	case Text:
		b = writeText(r, v, false)
	case Wide:
		b = writeText(r, v, true)
	case JSON:
		var err error
		if b, err = writeJSON(r); err != nil {
			return err
		}
	case Markdown:
		b = writeMarkdown(r)
	default:
		panic(fmt.Sprintf("reports: unknown format %q", string(f)))
	}
	_, err := w.Write(b)
	return err
}

// Output is a report asked for: a format and where it goes.
type Output struct {
	Format Format
	File   string // empty: standard output
}

// ParseOutput reads "FORMAT" or "FORMAT=FILE".
func ParseOutput(s string) (Output, error) {
	name, file, named := strings.Cut(s, "=")
	if !slices.Contains(Formats(), Format(name)) {
		var known []string
		for _, f := range Formats() {
			known = append(known, string(f))
		}
		return Output{}, fmt.Errorf("unknown output format %q: use one of %s, or FORMAT=FILE", name, strings.Join(known, ", "))
	}
	if named && file == "" {
		return Output{}, fmt.Errorf("output %q names no file: write %s=FILE, or %s for standard output", s, name, name)
	}
	return Output{Format: Format(name), File: file}, nil
}
