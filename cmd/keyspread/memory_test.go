package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// full runs what takes a minute: go test ./cmd/keyspread -run TestMemoryOfManyKeys -full -v
var full = flag.Bool("full", false, "run the tests of memory at full size")

const (
	manyRecords = 20_000_000
	manyKeys    = 50_000_000 // to draw from, all alike: about 16.5 million are drawn
)

// TestMemoryOfManyKeys holds the built tool to what is promised of many keys: 20M records of over 16M keys are analyzed with
// --memory 64MiB in at most 60 MiB more, a key that is not listed has at most 15 records of a million, and the number of
// keys is told within three standard errors.
func TestMemoryOfManyKeys(t *testing.T) {
	if !*full {
		t.Skip("reads 20 million records, about a minute: run with -full, and without the race detector")
	}
	dir := t.TempDir()
	tool := filepath.Join(dir, "keyspread")
	if out, err := exec.Command("go", "build", "-o", tool, ".").CombinedOutput(); err != nil {
		t.Fatalf("building the tool: %v\n%s", err, out)
	}
	keys := filepath.Join(dir, "keys.txt")
	distinct := writeManyKeys(t, tool, keys)
	if distinct < 16_000_000 {
		t.Fatalf("%d distinct keys are too few for this test", distinct)
	}

	for _, more := range [][]string{nil, {"--topic-partitions", "100", "--save-profile", filepath.Join(dir, "profile")}} {
		analyzeManyKeys(t, tool, keys, distinct, more)
	}
}

// analyzeManyKeys has the tool analyze the keys, and checks its memory and what it tells.
func analyzeManyKeys(t *testing.T, tool, keys string, distinct int64, more []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.json")
	cmd := exec.Command(tool, "analyze", "--memory", "64MiB", "--topic-partitions", "12", "-o", "json="+file, keys)
	cmd.Args = append(cmd.Args, more...)
	cmd.Stderr = os.Stderr
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { // the tool's own limits are tested
		return strings.HasPrefix(v, "GOMEMLIMIT=") || strings.HasPrefix(v, "GOGC=")
	})
	started := time.Now()
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	wall := time.Since(started)
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		t.Fatal("this system does not tell a process's peak memory")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Contents struct {
			Records  int64
			Distinct struct {
				Count, Lo, Hi int64
				Exact         bool
				StdErr        *float64 `json:"std_err"` // in keys
			} `json:"distinct_keys"`
			Missing struct{ Records int64 } `json:"largest_missing_key"`
		}
	}
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	c := report.Contents
	stdErr := float64(c.Distinct.Hi-c.Distinct.Lo) / (2 * 1.959964) // of an interval of 95 %
	if c.Distinct.StdErr != nil {
		stdErr = *c.Distinct.StdErr
	}
	peak := float64(usage.Maxrss) / 1024 // Linux counts KiB
	ppm := 1e6 * float64(c.Missing.Records) / float64(c.Records)
	off := (float64(c.Distinct.Count) - float64(distinct)) / stdErr
	t.Logf("%v: %v, peak %.1f MiB; a missing key has at most %.2f ppm; %d keys are %+.2f standard errors of %.0f off", more, wall.Round(time.Millisecond),
		peak, ppm, distinct, off, stdErr)

	if c.Records != manyRecords || c.Distinct.Exact || c.Missing.Records == 0 {
		t.Errorf("%d records, exact %v, a missing key has at most %d: want all records, counted with bounds",
			c.Records, c.Distinct.Exact, c.Missing.Records)
	}
	if peak >= 64+60 || peak < 64 { // less than the key tables were no measure of them
		t.Errorf("peak memory %.1f MiB, want under 64 + 60", peak)
	}
	if !(ppm <= 15) {
		t.Errorf("a missing key has at most %.2f records of a million, want 15 or less", ppm)
	}
	if !(math.Abs(off) <= 3) || stdErr > 0.01*float64(distinct) {
		t.Errorf("distinct keys %d, standard error %.0f: want %d within three, each of 1 %% at most", c.Distinct.Count, stdErr, distinct)
	}
}

// writeManyKeys has the tool generate the records, writes their keys one a line, and returns how many differ.
func writeManyKeys(t *testing.T, tool, file string) (distinct int64) {
	t.Helper()
	cmd := exec.Command(tool, "generate", "-q", "-o", "ndjson",
		"--records", strconv.Itoa(manyRecords), "--keys", strconv.Itoa(manyKeys), "--zipf", "0")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	distinct, err = stripKeys(out, file)
	if err != nil {
		_ = cmd.Process.Kill() // it may wait for its output to be read; why is told below
		_ = cmd.Wait()
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return distinct
}

// stripKeys writes the keys of generated records to a file and returns how many differ: they are numbered.
func stripKeys(records io.Reader, file string) (distinct int64, err error) {
	f, err := os.Create(file)
	if err != nil {
		return 0, err
	}
	defer func() {
		if closed := f.Close(); err == nil {
			err = closed
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	seen := make([]uint64, manyKeys/64+1)
	lines := bufio.NewScanner(bufio.NewReaderSize(records, 1<<20))
	start := []byte(`{"key":"`)
	for lines.Scan() {
		rest, ok := bytes.CutPrefix(lines.Bytes(), start)
		end := bytes.IndexByte(rest, '"')
		if !ok || end < 0 {
			return 0, fmt.Errorf("the record %q does not begin with its key", lines.Bytes())
		}
		key := rest[:end]
		n, err := strconv.ParseUint(string(bytes.TrimPrefix(key, []byte("key-"))), 10, 64)
		if err != nil || n >= manyKeys {
			return 0, fmt.Errorf("the key %q has no number below %d", key, manyKeys)
		}
		if bit := uint64(1) << (n % 64); seen[n/64]&bit == 0 {
			seen[n/64] |= bit
			distinct++
		}
		_, _ = w.Write(key)
		_ = w.WriteByte('\n') // its error stays until Flush
	}
	if err := lines.Err(); err != nil {
		return 0, err
	}
	return distinct, w.Flush()
}
