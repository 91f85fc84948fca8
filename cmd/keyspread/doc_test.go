package main

import (
	"os"
	"strings"
	"testing"
)

// TestManual runs every command of the package comment, in order and in one folder, and finds the output shown, line by
// line; "…" stands for lines left out.
func TestManual(t *testing.T) {
	source, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	var printed []string
	commands := 0
	for n, line := range strings.Split(string(source), "\n") {
		text, shown := strings.CutPrefix(line, "//\t")
		if !shown {
			continue
		}
		if command, ok := strings.CutPrefix(text, "$ keyspread "); ok {
			var out, talk strings.Builder
			if code := run(strings.Fields(command), strings.NewReader(""), &out, &talk); code != exitOK {
				t.Fatalf("doc.go:%d: keyspread %s: exit %d\n%s", n+1, command, code, talk.String())
			}
			printed = strings.Split(out.String(), "\n")
			commands++
			continue
		}
		if text == "…" {
			continue
		}
		at := 0
		for at < len(printed) && printed[at] != text {
			at++
		}
		if at == len(printed) {
			t.Fatalf("doc.go:%d shows a line that the command does not print (there, or at all):\n%s\n\nit prints:\n%s", n+1, text, strings.Join(printed, "\n"))
		}
		printed = printed[at+1:]
	}
	if commands < 5 {
		t.Errorf("doc.go shows %d commands; the manual has lost its examples", commands)
	}
}
