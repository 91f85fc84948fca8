package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// listed is what `go list -json` says of one package.
type listed struct {
	ImportPath  string
	Imports     []string
	TestImports []string
	Deps        []string
}

// productPackages lists the module's packages, those made for tests only left out.
func productPackages(t *testing.T) map[string]listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,Deps", "./...")
	cmd.Dir = "../.."
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("listing packages: %v", err)
	}
	packages := make(map[string]listed)
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("reading go list: %v", err)
		}
		packages[p.ImportPath] = p
	}
	if len(packages) < 10 {
		t.Fatalf("go list found %d packages, want the whole module", len(packages))
	}
	return packages
}

const module = "keyspread/"

// testOnly are packages that serve tests; no product package may import them.
var testOnly = []string{module + "analyze/source/kafka/fetchtest"}

// TestImportRules holds the arrows of the design: source → profile → analyze → reports, nothing back, and each
// outside world (brokers, command line, pictures of statistics) in its own place.
func TestImportRules(t *testing.T) {
	packages := productPackages(t)
	under := func(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

	// leaves import nothing of this module.
	leaves := []string{"partitioner", "analyze/source", "analyze/source/kafka/batch", "analyze/source/registry", "analyze/finding"}
	// only says which packages may import a module (by path prefix).
	only := map[string][]string{
		"github.com/segmentio/kafka-go":      {"analyze/source/kafka"},
		"github.com/spf13/cobra":             {"cmd/keyspread"},
		"github.com/spf13/pflag":             {"cmd/keyspread"},
		"golang.org/x/term":                  {"cmd/keyspread"},
		"github.com/schollz/progressbar/v3":  {"cmd/keyspread"},
		"gonum.org/v1/gonum":                 {"analyze/profile", "analyze/skew", "analyze/sample", "reports"},
		"github.com/twmb/franz-go/pkg/kfake": {"cmd/keyspread"},
		"github.com/parquet-go/parquet-go":   {"analyze/profile", "analyze/source/table"},
	}

	for path, p := range packages {
		short := strings.TrimPrefix(path, module)
		if slices.Contains(testOnly, path) {
			continue
		}
		for _, imported := range p.Imports {
			own := strings.HasPrefix(imported, module)
			if own && slices.Contains(leaves, short) {
				t.Errorf("%s imports %s; it is a leaf and imports no sibling", path, imported)
			}
			if slices.Contains(testOnly, imported) {
				t.Errorf("%s imports %s, which serves tests only", path, imported)
			}
			if own && under(imported, module+"cmd") {
				t.Errorf("%s imports %s; nothing imports cmd", path, imported)
			}
			for prefix, allowed := range only {
				if !under(imported, prefix) {
					continue
				}
				if !slices.ContainsFunc(allowed, func(dir string) bool { return short == dir }) {
					t.Errorf("%s imports %s; only %v may", path, imported, allowed)
				}
			}
			if imported == "os" && !under(short, "cmd") && !slices.Contains([]string{"analyze/source/kafka", "partitioner/custom"}, short) {
				t.Errorf("%s imports os; environment, files and exits belong to cmd", path)
			}
		}
		if under(short, "reports") || short == "analyze" || under(short, "analyze/profile") {
			for _, dep := range p.Deps {
				if under(dep, module+"analyze/source/kafka") {
					t.Errorf("%s depends on %s; it must not know any reader", path, dep)
				}
			}
		}
		if under(short, "analyze") || under(short, "partitioner") {
			for _, dep := range p.Deps {
				if under(dep, module+"reports") {
					t.Errorf("%s depends on %s, against the data's way", path, dep)
				}
			}
		}
	}
}

// TestTopLevel holds what a visitor sees first.
func TestTopLevel(t *testing.T) {
	entries, err := os.ReadDir("../..")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"CHANGELOG.md", "LICENSE", "README.md", "analyze", "cmd", "go.mod", "go.sum", "partitioner", "reports"}
	var got []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			got = append(got, e.Name())
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("top level holds %v, want %v", got, want)
	}
}
