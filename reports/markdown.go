package reports

import (
	"bytes"
	"fmt"
	"html"
	"strings"
)

// markdownLimit is what GitHub takes as one comment. The limit is in characters; counting bytes stays below it.
const markdownLimit = 65_536

// markdownRoom is kept free for the sentence that says what was left out.
const markdownRoom = 1024

var markdownDetail = detail{keys: 20, partitions: 50, partPeaks: true, problems: 20, hotKeys: 20, hottest: 5}

// writeMarkdown writes a report for a pull request: a marker by which a bot finds its comment again, the findings, the
// comparison of candidates, and the evidence folded. What does not fit into one comment is left out and named.
func writeMarkdown(r *Report) []byte {
	m := &markdownWriter{}
	fmt.Fprintf(&m.b, "<!-- keyspread:%s -->\n", marker(r.Topic.Name))
	fmt.Fprintf(&m.b, "### keyspread: %s\n\n", escape(fit(headline(r), 400)))
	m.findings(r)
	var left []string
	for _, s := range evidence(r, markdownDetail) {
		left = append(left, m.section(s)...)
	}
	if len(left) > 0 {
		m.b.WriteString(escape(fit("Left out, because a comment holds 65,536 characters: "+strings.Join(left, "; "), 700)) +
			". The whole report: `-o wide` or `-o json`.\n\n")
	}
	fmt.Fprintf(&m.b, "<sub>keyspread %s, report schema %d</sub>\n", escape(fit(r.Tool.Version, 100)), r.SchemaVersion)
	return m.b.Bytes()
}

type markdownWriter struct {
	b bytes.Buffer
}

// add writes s if it fits.
func (m *markdownWriter) add(s string) bool {
	if m.b.Len()+len(s) > markdownLimit-markdownRoom {
		return false
	}
	m.b.WriteString(s)
	return true
}

// findings writes the findings, in no more than half of the room.
func (m *markdownWriter) findings(r *Report) {
	if len(r.Findings) == 0 {
		m.b.WriteString("No findings: nothing in what was read needs attention.\n\n")
		return
	}
	for i, f := range r.Findings {
		line := fmt.Sprintf("- **%s** %s: %s *Next:* %s\n", escape(f.Severity), escape(f.ID), escape(f.What), escape(f.Do))
		if m.b.Len()+len(line) > markdownLimit/2 {
			fmt.Fprintf(&m.b, "- … %d more findings, left out for length: see `-o wide` or `-o json`\n", len(r.Findings)-i)
			break
		}
		m.b.WriteString(line)
	}
	m.b.WriteByte('\n')
}

// section writes a section folded, but for a comparison at its top, and returns the names of the blocks that found no
// room.
func (m *markdownWriter) section(s section) (left []string) {
	blocks, title := s.blocks, s.title
	if blocks[0].open {
		if !m.add(fmt.Sprintf("**%s**\n\n", escape(s.title)) + markdownBlock(blocks[0])) {
			left = append(left, name(s, blocks[0]))
		}
		blocks, title = blocks[1:], title+", one by one"
	}
	const closing = "</details>\n\n"
	if !m.add(fmt.Sprintf("<details><summary>%s</summary>\n\n", html.EscapeString(title))) {
		return append(left, strings.ToLower(s.title))
	}
	for _, b := range blocks {
		if text := markdownBlock(b); m.b.Len()+len(text)+len(closing) > markdownLimit-markdownRoom || !m.add(text) {
			left = append(left, name(s, b))
		}
	}
	m.b.WriteString(closing)
	return left
}

func name(s section, b block) string {
	if b.head == "" {
		return strings.ToLower(s.title)
	}
	return strings.ToLower(s.title) + " (" + b.head + ")"
}

func markdownBlock(b block) string {
	var out strings.Builder
	if b.head != "" {
		fmt.Fprintf(&out, "**%s**\n\n", escape(b.head))
	}
	for _, f := range b.facts {
		if f.label == "" {
			fmt.Fprintf(&out, "  - %s\n", escape(f.text))
		} else {
			fmt.Fprintf(&out, "- **%s** %s\n", escape(f.label), escape(f.text))
		}
	}
	if len(b.facts) > 0 {
		out.WriteByte('\n')
	}
	if b.table != nil {
		out.WriteString(markdownTable(b.table) + "\n")
	}
	for _, n := range b.notes {
		fmt.Fprintf(&out, "%s\n\n", escape(n))
	}
	return out.String()
}

func markdownTable(t *table) string {
	var out strings.Builder
	for _, h := range t.heads {
		out.WriteString("| " + escape(h) + " ")
	}
	out.WriteString("|\n")
	for _, left := range t.left {
		if left {
			out.WriteString("| :-- ")
		} else {
			out.WriteString("| --: ")
		}
	}
	out.WriteString("|\n")
	for _, r := range t.rows {
		for c, cell := range r {
			if c == t.names && cell != "-" {
				out.WriteString("| " + code(cell) + " ")
			} else {
				out.WriteString("| " + escape(strings.TrimSpace(cell)) + " ")
			}
		}
		out.WriteString("|\n")
	}
	return out.String()
}

// fit cuts the middle out of a text that is longer than most characters wide.
func fit(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return middle(s, most, "")
}

// marker writes a topic's name for an HTML comment: everything but letters, digits, dots and underscores as %XX, single
// dashes as they are, so that no name can end the comment.
func marker(topic string) string {
	var out strings.Builder
	for i := range len(topic) {
		c := topic[i]
		switch {
		case c == '-' && (i == 0 || topic[i-1] != '-'), c == '.', c == '_',
			'0' <= c && c <= '9', 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
			out.WriteByte(c)
		default:
			fmt.Fprintf(&out, "%%%02X", c)
		}
	}
	return fit(out.String(), 400)
}

// escape makes a text literal in Markdown, inside a table and outside. Signs that could end a cell or open a tag become
// character references, which never have structure; the rest of the markup gets a backslash. A mention or an issue
// number is recognised after all that is resolved, so a zero-width space follows the sign.
func escape(s string) string {
	var out strings.Builder
	s = clean(s)
	for i, r := range s {
		switch {
		case r == '@' || r == '#':
			fmt.Fprintf(&out, "&#%d;&#8203;", r)
		case strings.ContainsRune("$&<>\\|", r) || startsLink(s, i):
			fmt.Fprintf(&out, "&#%d;", r)
		case strings.ContainsRune("*[]_`~", r):
			out.WriteByte('\\')
			out.WriteRune(r)
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// startsLink reports whether s[i] is what GitHub recognises a bare link by: the colon of "://", the dot of "www.".
func startsLink(s string, i int) bool {
	return strings.HasPrefix(s[i:], "://") || s[i] == '.' && strings.HasSuffix(strings.ToLower(s[:i]), "www")
}

// code writes a key as code, in which no mention is recognised. A code element with references is used instead of
// backticks, whose content a table splits at pipes. An empty comment keeps an address from becoming a link and leaves
// the key whole when it is copied.
func code(s string) string {
	var out strings.Builder
	out.WriteString("<code>")
	s = clean(s)
	for i, r := range s {
		switch {
		case r == '@' || startsLink(s, i):
			fmt.Fprintf(&out, "&#%d;<!-- -->", r)
		case strings.ContainsRune("\"#$&'*<>[\\]^_`{|}~", r):
			fmt.Fprintf(&out, "&#%d;", r)
		default:
			out.WriteRune(r)
		}
	}
	out.WriteString("</code>")
	return out.String()
}
