package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
)

// TestReadmeSession runs the demo and finds the README's session in what it prints, line by line, in order; "…" stands
// for lines left out. The demo's report must also say what its stream was made of.
func TestReadmeSession(t *testing.T) {
	var out, talk strings.Builder
	if code := run([]string{"demo"}, strings.NewReader(""), &out, &talk); code != exitOK {
		t.Fatalf("demo: exit %d\n%s", code, talk.String())
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, session, ok := strings.Cut(string(readme), "```\n$ keyspread plan")
	if !ok {
		t.Fatal("README.md has no session that starts with keyspread plan")
	}
	session, _, _ = strings.Cut(session, "```")
	_, printed, ok := strings.Cut(out.String(), "$ keyspread plan")
	if !ok {
		t.Fatalf("the demo runs no plan:\n%s", out.String())
	}
	lines := strings.Split(printed, "\n")
	at := 0
	for _, want := range strings.Split(session, "\n")[1:] { // the first line names the broker
		if want == "…" || want == "" {
			continue
		}
		for at < len(lines) && lines[at] != want {
			at++
		}
		if at == len(lines) {
			t.Fatalf("the README's session has a line that the demo does not print (there, or at all):\n%s\n\nthe demo prints:\n%s", want, printed)
		}
	}
	// generate was told 18 % for customer-hooli: 180,000 of 1,000,000 records, so N* = 1/0.18 = 5.6.
	for _, want := range []string{"customer-hooli has 18.0 % of records", "180,000", "N* = 5.6", "50.0 %"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the demo's report lacks %q", want)
		}
	}
}

// TestReadmeProfileColumns finds every column of a saved profile in the README's table.
func TestReadmeProfileColumns(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(readme), "\n| column |")
	if !ok {
		t.Fatal("README.md has no table of columns")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	name := filepath.Join(t.TempDir(), "a.parquet")
	var out, talk strings.Builder
	if code := run([]string{"analyze", "-", "-n", "3", "--save-profile", name}, strings.NewReader("a\n"), &out, &talk); code != exitOK {
		t.Fatalf("exit %d\n%s", code, talk.String())
	}
	saved, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer saved.Close()
	info, err := saved.Stat()
	if err != nil {
		t.Fatal(err)
	}
	file, err := parquet.OpenFile(saved, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	for _, column := range file.Schema().Fields() {
		if !strings.Contains(table, "`"+column.Name()+"`") {
			t.Errorf("README.md's table lacks the column %s", column.Name())
		}
	}
}
