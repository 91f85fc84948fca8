package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/twmb/franz-go/pkg/kfake"
)

// TestMain makes the test binary act as keyspread, or as a partitioner that tells tales, when called by that name.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"keyspread": main, "talechild": taleChild})
}

// TestScript runs the built tool as a person would, one behaviour a script. Each script has a broker of its own
// ($BROKER) with two empty topics, "orders" and "payments", of 12 and 1 partitions.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(12, "orders"), kfake.SeedTopics(1, "payments"))
			if err != nil {
				return err
			}
			env.Defer(cluster.Close)
			env.Setenv("BROKER", cluster.ListenAddrs()[0])
			env.Setenv("HOME", env.WorkDir)
			reference, err := filepath.Abs("../../partitioner/custom/testdata/reference.py")
			if err != nil {
				return err
			}
			env.Setenv("REFERENCE", reference)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"lines": checkLines, "damage": damage},
	})
}

// checkLines is the script command "lines N": the last command's stdout has no line longer than N characters.
func checkLines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lines FILE COLUMNS")
	}
	columns := 0
	for _, c := range args[1] {
		columns = 10*columns + int(c-'0')
	}
	for i, line := range strings.Split(ts.ReadFile(args[0]), "\n") {
		if n := len([]rune(line)); n > columns {
			ts.Fatalf("line %d has %d columns, more than %d: %s", i+1, n, columns, line)
		}
	}
}

// damage is the script command "damage FILE COPY OLD NEW": it copies a file with the first OLD in it replaced by NEW.
func damage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 4 {
		ts.Fatalf("usage: damage FILE COPY OLD NEW")
	}
	whole := ts.ReadFile(args[0])
	if !strings.Contains(whole, args[2]) {
		ts.Fatalf("%s has no %q", args[0], args[2])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(strings.Replace(whole, args[2], args[3], 1)), 0o644))
}

// The help of every command is a golden file: it is the tool's interface, and a change must be seen.
func TestHelpGolden(t *testing.T) {
	update := os.Getenv("KEYSPREAD_TEST_UPDATE") != ""
	root := newRootCommand()
	commands := []string{""}
	for _, c := range root.Commands() {
		if c.Name() != "help" && c.Name() != "completion" {
			commands = append(commands, c.Name())
		}
	}
	for _, name := range commands {
		args := []string{name, "--help"}
		file := "testdata/help/" + name + ".txt"
		if name == "" {
			args, file = []string{"--help"}, "testdata/help/keyspread.txt"
		}
		var out, talk strings.Builder
		if code := run(args, strings.NewReader(""), &out, &talk); code != exitOK || talk.Len() > 0 {
			t.Errorf("%v: exit %d, stderr %q", args, code, talk.String())
		}
		if update {
			if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("%v (KEYSPREAD_TEST_UPDATE=1 writes it)", err)
		}
		if out.String() != string(want) {
			t.Errorf("%v: help differs from %s; KEYSPREAD_TEST_UPDATE=1 rewrites it\n%s", args, file, out.String())
		}
	}
}
