package reports

import (
	"slices"
	"strings"

	"github.com/rivo/uniseg"
)

// lineWidth is how wide text may be, in display columns.
const lineWidth = 100

// width is how many columns of a screen a text takes.
func width(s string) int {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return uniseg.StringWidth(s)
		}
	}
	return len(s) // nearly every text, and much sooner told
}

// minWidth is the narrowest that text is laid out for.
const minWidth = 72

// minNames is how far a column of names is shortened before columns are left out.
const minNames = 18

// gap is what stands between two columns.
const gap = "  "

// table is rows of cells under heads. As text it is laid out by display width, which [text/tabwriter] takes to be one
// a rune. Columns are left-aligned when their head begins with "<", which is not printed, and right-aligned otherwise.
type table struct {
	heads []string
	left  []bool
	rows  [][]string
	names int   // column of keys or names: it is shortened when a line would be too wide; -1: none
	spare []int // columns that are left out when that is not enough, the first of them first
}

func newTable(heads ...string) *table {
	t := &table{names: -1}
	for _, h := range heads {
		name, left := strings.CutPrefix(h, "<")
		t.heads = append(t.heads, name)
		t.left = append(t.left, left)
	}
	return t
}

// row adds a line; it must have as many cells as there are heads.
func (t *table) row(cells ...string) {
	if len(cells) != len(t.heads) {
		panic("reports: a row of another length than the table's head")
	}
	for i := range cells {
		cells[i] = clean(cells[i])
	}
	t.rows = append(t.rows, cells)
}

// drop removes the column under head when all of its cells say no more than blank.
func (t *table) drop(head, blank string) {
	c := slices.Index(t.heads, head)
	for _, r := range t.rows {
		if r[c] != blank {
			return
		}
	}
	t.remove(c)
}

func (t *table) remove(c int) {
	t.heads = slices.Delete(t.heads, c, c+1)
	t.left = slices.Delete(t.left, c, c+1)
	for i := range t.rows {
		t.rows[i] = slices.Delete(t.rows[i], c, c+1)
	}
	if t.names == c {
		t.names = -1
	} else if t.names > c {
		t.names--
	}
	t.spare = slices.DeleteFunc(t.spare, func(s int) bool { return s == c })
	for i, s := range t.spare {
		if s > c {
			t.spare[i]--
		}
	}
}

// lines lays the table out, head first, each line indented and without trailing spaces. With limit > 0 lines are made
// to fit into limit columns: names are shortened to [minNames], then spare columns are left out.
func (t *table) lines(indent string, limit int) []string {
	widths, total := t.widths(indent)
	for limit > 0 && total-t.slack(widths) > limit && len(t.spare) > 0 {
		t.remove(t.spare[0])
		widths, total = t.widths(indent)
	}
	if limit > 0 && total > limit && t.names >= 0 {
		widths[t.names] -= min(total-limit, t.slack(widths))
		for _, r := range t.rows {
			if width(r[t.names]) > widths[t.names] {
				r[t.names] = middle(r[t.names], widths[t.names], "")
			}
		}
	}
	out := make([]string, 0, len(t.rows)+1)
	out = append(out, t.line(indent, t.heads, widths))
	for _, r := range t.rows {
		out = append(out, t.line(indent, r, widths))
	}
	return out
}

// widths are the columns' natural widths and that of a whole line.
func (t *table) widths(indent string) (widths []int, total int) {
	widths = make([]int, len(t.heads))
	total = len(indent) + len(gap)*(len(widths)-1)
	for c, h := range t.heads {
		widths[c] = width(h)
		for _, r := range t.rows {
			widths[c] = max(widths[c], width(r[c]))
		}
		total += widths[c]
	}
	return widths, total
}

// slack is by how much names can be shortened.
func (t *table) slack(widths []int) int {
	if t.names < 0 {
		return 0
	}
	return max(0, widths[t.names]-minNames)
}

func (t *table) line(indent string, cells []string, widths []int) string {
	var b strings.Builder
	b.WriteString(indent)
	for c, cell := range cells {
		if c > 0 {
			b.WriteString(gap)
		}
		fill := strings.Repeat(" ", max(0, widths[c]-width(cell)))
		if t.left[c] {
			b.WriteString(cell + fill)
		} else {
			b.WriteString(fill + cell)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// wrap breaks a text into lines of at most as many columns, at spaces, and within a word only when it is wider than a
// line.
func wrap(s string, columns int) []string {
	var lines []string
	var line strings.Builder
	used := 0
	flush := func() {
		lines = append(lines, line.String())
		line.Reset()
		used = 0
	}
	for _, word := range words(clean(s)) {
		w := width(word)
		if used > 0 && used+1+w > columns {
			flush()
		}
		if used > 0 {
			line.WriteByte(' ')
			used++
		}
		for w > columns { // only at the start of a line
			head, rest := cut(word, columns)
			line.WriteString(head)
			flush()
			word, w = rest, width(rest)
		}
		line.WriteString(word)
		used += w
	}
	if used > 0 || len(lines) == 0 {
		flush()
	}
	return lines
}

// words splits a text at spaces, but leaves "%" with the figure before it and "=" with what is on both sides.
func words(s string) []string {
	var ws []string
	for w := range strings.FieldsSeq(s) {
		if len(ws) > 0 && (strings.HasPrefix(w, "%") || w == "=" || w == "<" || strings.HasSuffix(ws[len(ws)-1], " =") || strings.HasSuffix(ws[len(ws)-1], " <")) {
			ws[len(ws)-1] += " " + w
		} else {
			ws = append(ws, w)
		}
	}
	return ws
}

// cut splits a word after as many whole characters as fit into columns, at least one.
func cut(word string, columns int) (head, rest string) {
	used, state := 0, -1
	rest = word
	for rest != "" {
		c, tail, w, next := uniseg.FirstGraphemeClusterInString(rest, state)
		if used > 0 && used+w > columns {
			break
		}
		head, rest, state = head+c, tail, next
		used += w
	}
	return head, rest
}
