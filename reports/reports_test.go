package reports

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/rivo/uniseg"

	"keyspread/analyze"
	"keyspread/analyze/plan"
	"keyspread/analyze/skew"
)

var update = flag.Bool("update", false, "rewrite testdata/golden; read the diff before committing it")

func write(t testing.TB, f Format, r *Report, v View) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, f, r, v); err != nil {
		t.Fatalf("writing %s: %v", f, err)
	}
	return b.Bytes()
}

func TestGolden(t *testing.T) {
	for _, c := range goldenCases() {
		t.Run(c.name, func(t *testing.T) {
			r := c.report(t)
			for _, f := range Formats() {
				if f == JSON && len(r.Partitions) > 100 {
					continue // large, and nothing in it that the others do not have
				}
				compareGolden(t, c.name+"."+string(f), write(t, f, r, View{}))
			}
			if c.name == "hot" {
				compareGolden(t, "hot.terminal", write(t, Text, r, View{Terminal: true}))
			}
		})
	}
}

func compareGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v (go test ./reports -update writes it)", err)
	}
	if bytes.Equal(got, want) {
		return
	}
	left := filepath.Join(t.ArtifactDir(), name)
	if err := os.WriteFile(left, got, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Errorf("%s differs from its golden (-want +got), what was got is in %s\n%s", name, left, cmp.Diff(string(want), string(got)))
}

// TestSameBytes makes each report 20 times from a result whose lists are in random order.
func TestSameBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range goldenCases() {
		t.Run(c.name, func(t *testing.T) {
			res := c.make(t)
			want := make(map[Format][]byte)
			for _, f := range Formats() {
				want[f] = write(t, f, New(res, c.opt), View{})
			}
			for round := range 20 {
				shuffleResult(rng, res)
				r := New(res, c.opt)
				formats := Formats()
				if round%5 > 0 {
					formats = []Format{JSON} // it is the whole report; what the others make of it hardly differs by round
				}
				for _, f := range formats {
					if got := write(t, f, r, View{}); !bytes.Equal(got, want[f]) {
						t.Fatalf("round %d: %s differs after shuffling the result (-want +got)\n%s", round, f, cmp.Diff(string(want[f]), string(got)))
					}
				}
			}
		})
	}
}

// shuffleResult reorders every list of a result whose order means nothing. Plans stay in the order asked for, findings
// of one kind in the order found.
func shuffleResult(rng *rand.Rand, res *analyze.Result) {
	shuffle(rng, res.Profile.Partitions)
	for _, s := range []*skew.Skew{&res.Records, &res.Bytes} {
		shuffle(rng, s.Top)
		for i := range s.Top {
			shuffle(rng, s.Top[i].Where)
		}
	}
	for i := range res.Plans {
		p := &res.Plans[i]
		shuffle(rng, p.Matrix)
		shuffle(rng, p.HotKeys)
		for _, moves := range [][]plan.KeyMove{p.HotKeys, p.Records.HottestKeys, p.Bytes.HottestKeys} {
			shuffle(rng, moves)
			for j := range moves {
				shuffle(rng, moves[j].From)
			}
		}
	}
}

func shuffle[T any](rng *rand.Rand, s []T) {
	rng.Shuffle(len(s), func(i, j int) { s[i], s[j] = s[j], s[i] })
}

// TestNewLeavesResult checks that making a report does not reorder what it is made from.
func TestNewLeavesResult(t *testing.T) {
	res := planTopic(t)
	shuffleResult(rand.New(rand.NewPCG(3, 4)), res)
	top, matrix := slices.Clone(res.Records.Top), slices.Clone(res.Plans[0].Matrix)
	New(res, Options{})
	if !reflect.DeepEqual(top, res.Records.Top) || !reflect.DeepEqual(matrix, res.Plans[0].Matrix) {
		t.Error("New reordered the result's lists")
	}
}

func TestTextFitsItsLines(t *testing.T) {
	for _, c := range goldenCases() {
		for _, v := range []View{{}, {Terminal: true}, {Columns: 72}, {Columns: 80}, {Columns: 200}} {
			want := lineWidth
			if v.Columns > 0 && v.Columns < lineWidth {
				want = v.Columns
			}
			out := string(write(t, Text, c.report(t), v))
			for line := range strings.Lines(out) {
				line = strings.TrimSuffix(line, "\n")
				if v.Terminal {
					line = withoutStyles(line)
				}
				if w := uniseg.StringWidth(line); w > want {
					t.Errorf("%s, %+v: a line of %d columns, want at most %d: %q", c.name, v, w, want, line)
				}
				if !v.Terminal && strings.TrimRight(line, " ") != line {
					t.Errorf("%s: a line ends in spaces: %q", c.name, line)
				}
			}
		}
	}
}

// withoutStyles removes the SGR sequences that this package writes itself.
func withoutStyles(s string) string {
	for _, st := range []style{bold, faint, red, yellow, blue} {
		s = strings.ReplaceAll(s, "\x1b["+string(st)+"m", "")
	}
	return strings.ReplaceAll(s, "\x1b[0m", "")
}

// TestNothingReachesTheTerminal checks that, but for the styles of a terminal view, no output has a character that a
// terminal acts on or that does not show.
func TestNothingReachesTheTerminal(t *testing.T) {
	for _, c := range goldenCases() {
		r := c.report(t)
		for _, f := range Formats() {
			for _, v := range []View{{}, {Terminal: true}} {
				out := string(write(t, f, r, v))
				if v.Terminal && f != JSON && f != Markdown {
					out = withoutStyles(out)
				}
				if !utf8.ValidString(out) {
					t.Errorf("%s, %s: output is not valid UTF-8", c.name, f)
				}
				for l := range strings.SplitSeq(out, "\n") {
					if i := strings.IndexFunc(l, invisible); i >= 0 {
						t.Errorf("%s, %s: invisible character %q in line %q", c.name, f, l[i:min(len(l), i+4)], l)
					}
				}
			}
		}
	}
}

// TestForeignReport renders a report whose texts did not go through New: a file can hold anything.
func TestForeignReport(t *testing.T) {
	r := New(hotTopic(t), Options{})
	hostile := "\x1b[31m\u202e\x07|"
	r.Topic.Name, r.Findings[0].What, r.Findings[0].Severity, r.Skew.Records.TopKeys[0].Key.Text = hostile, hostile, hostile, hostile
	r.Findings[0].ID, r.Tool.Version, r.Topic.Partitioner = hostile, hostile, hostile
	for _, f := range []Format{Text, Wide, Markdown} {
		out := string(write(t, f, r, View{}))
		for l := range strings.SplitSeq(out, "\n") {
			if i := strings.IndexFunc(l, invisible); i >= 0 {
				t.Errorf("%s: invisible character %q in line %q", f, l[i:min(len(l), i+4)], l)
			}
		}
	}
}

func TestRedactionIsComplete(t *testing.T) {
	redactor, err := NewRedactor([]byte("0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	for _, res := range []*analyze.Result{hotTopic(t), planTopic(t)} {
		r := New(res, Options{Redact: redactor})
		for _, f := range Formats() {
			out := string(write(t, f, r, View{}))
			// "customer" in clear, and in base64 at the beginning of a key.
			for _, clear := range []string{"customer", "Y3VzdG9tZX"} {
				if strings.Contains(out, clear) {
					t.Errorf("%s of %s, redacted: holds %q", f, res.Profile.Topic, clear)
				}
			}
			if tag := redactor.Tag([]byte("customer-42")); !strings.Contains(out, tag) {
				t.Errorf("%s of %s, redacted: does not name the hot key by its tag %s", f, res.Profile.Topic, tag)
			}
		}
	}
}

func TestParseOutput(t *testing.T) {
	for _, c := range []struct {
		in   string
		want Output
		err  string
	}{
		{"text", Output{Text, ""}, ""},
		{"json=report.json", Output{JSON, "report.json"}, ""},
		{"markdown=a=b.md", Output{Markdown, "a=b.md"}, ""},
		{"wide=", Output{}, `output "wide=" names no file`},
		{"yaml", Output{}, `unknown output format "yaml"`},
		{"", Output{}, `unknown output format ""`},
	} {
		got, err := ParseOutput(c.in)
		if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("ParseOutput(%q) = %+v, %v; want %+v, error %q", c.in, got, err, c.want, c.err)
		}
	}
}

// bigTopic has 1,000 partitions, three plans and a heavy key with a long name in each partition.
func bigTopic(t testing.TB) *analyze.Result {
	ks := evenKeys(3000)
	for i := range 1000 {
		ks = append(ks, keyed{fmt.Appendf(nil, "|heavy`key<%d>@team|", i), 10 + i%7, 100, int32(i)})
	}
	return topic{name: "big", partitions: 1000, keys: ks, to: []int32{1500, 2000, 3000}}.result(t)
}

func TestMarkdownFitsAComment(t *testing.T) {
	big := bigTopic(t)
	hostile := hostileTopic(t)
	for range 6 {
		hostile.Findings = append(hostile.Findings, hostile.Findings...)
	}
	var pipes []keyed
	for i := range 60 {
		pipes = append(pipes, key(strings.Repeat("|", 1000+i), 60-i))
	}
	long := topic{name: "long", partitions: 3, keys: pipes, to: []int32{6}}.result(t)
	for _, c := range []struct {
		name string
		res  *analyze.Result
		opt  Options
		want string
	}{
		{"1000 partitions, 3 plans", big, Options{}, "… 950 more, between"},
		{"1000 partitions, 3 plans, keys shown whole", big, Options{KeyWidth: 1000}, "… 950 more, between"},
		{"thousands of findings", hostile, Options{KeyWidth: 200}, "more findings, left out for length"},
		{"keys of a thousand columns", long, Options{KeyWidth: 1000}, "Left out, because a comment holds 65,536 characters: "},
	} {
		out := string(write(t, Markdown, New(c.res, c.opt), View{}))
		if n := utf8.RuneCountInString(out); n > 65_536 { // GitHub's limit for a comment
			t.Errorf("%s: %d characters, want at most 65,536", c.name, n)
		}
		if !strings.Contains(out, c.want) {
			t.Errorf("%s: does not say %q", c.name, c.want)
		}
		if open, closed := strings.Count(out, "<details>"), strings.Count(out, "</details>"); open != closed {
			t.Errorf("%s: %d folds opened, %d closed", c.name, open, closed)
		}
	}
}

// TestMarkdownTablesHold checks that every row of a table has as many cells as its head, whatever keys hold.
func TestMarkdownTablesHold(t *testing.T) {
	out := string(write(t, Markdown, New(hostileTopic(t), Options{}), View{}))
	cells := 0
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, "|") {
			cells = 0
			continue
		}
		n := strings.Count(line, "|")
		if cells == 0 {
			cells = n
		}
		if n != cells {
			t.Errorf("a row of %d delimiters under a head of %d: %q", n, cells, line)
		}
	}
}

// TestMarkdownHasOnlyItsOwnMarkup checks that no tag but those this package writes is in the output, that nothing can
// be taken for a mention, a reference or a link, and that the hidden marker ends where it should.
func TestMarkdownHasOnlyItsOwnMarkup(t *testing.T) {
	out := string(write(t, Markdown, New(hostileTopic(t), Options{}), View{}))
	marker, rest, _ := strings.Cut(out, "\n")
	if want := "<!-- keyspread:a-%2Db-%2D%3E%5Cu001b%5B1m%7C%3Ci%3E%60%40team%60 -->"; marker != want {
		t.Errorf("marker %q, want %q", marker, want)
	}
	for _, own := range []string{"<details>", "</details>", "<summary>", "</summary>", "<code>", "</code>", "<sub>", "</sub>", "<!-- -->"} {
		rest = strings.ReplaceAll(rest, own, "")
	}
	if i := strings.IndexAny(rest, "<@$"); i >= 0 {
		t.Errorf("unexpected markup near %q", rest[max(0, i-20):min(len(rest), i+40)])
	}
	rest = strings.NewReplacer(`\[`, "", `\]`, "", "\\`", "").Replace(rest) // literal signs
	for _, bad := range []string{"://", "www.", "[", "]", "&#64;o", "&#35;1"} {
		for line := range strings.Lines(rest) {
			if !strings.HasPrefix(line, "|") && strings.Contains(line, bad) {
				t.Errorf("%q in %q", bad, line)
			}
		}
	}
	for line := range strings.Lines(rest) {
		if strings.Contains(line, "`") && !strings.Contains(line, "-o wide") {
			t.Errorf("a bare backtick in %q", line)
		}
	}
}

// TestProblemTextSaysItOnce checks that what the reader's error repeats of its line is left out, and nothing else.
func TestProblemTextSaysItOnce(t *testing.T) {
	for _, c := range []struct{ err, want string }{
		{
			"reading orders.v1 partition 4 at offset 1500: the run was interrupted",
			"partition 4: 500 of 2,000 offsets, position 1500: the run was interrupted",
		},
		{
			"reading orders.v1 partition 4 at offset 1600: batch CRC 0x1 does not match 0x2",
			"partition 4: 500 of 2,000 offsets, position 1500: reading orders.v1 partition 4 at offset 1600: batch CRC 0x1 does not match 0x2",
		},
	} {
		asked := int64(2000)
		p := Partition{Partition: 4, Coverage: PartitionCoverage{Read: 500, Asked: &asked, Position: 1500, Error: &c.err}}
		if got := problemText("orders.v1", p); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
