//go:build unix

package main

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// tool is a running keyspread in a folder of its own.
type tool struct {
	cmd         *exec.Cmd
	dir         string
	out, errOut bytes.Buffer
}

// startTool starts keyspread as a shell would; stdin may be nil.
func startTool(t *testing.T, dir string, stdin *os.File, args ...string) *tool {
	t.Helper()
	r := &tool{cmd: exec.Command("keyspread", args...), dir: dir}
	r.cmd.Dir, r.cmd.Stdout, r.cmd.Stderr = dir, &r.out, &r.errOut
	r.cmd.Env = append(os.Environ(), "TMPDIR="+dir)
	if stdin != nil {
		r.cmd.Stdin = stdin
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.cmd.Process.Kill() })
	return r
}

// stop sends signals and returns the exit code. It fails the test when that takes longer than a person waits.
func (r *tool) stop(t *testing.T, signals ...os.Signal) int {
	t.Helper()
	for _, s := range signals {
		if err := r.cmd.Process.Signal(s); err != nil {
			t.Fatalf("%v\n%s", err, r.errOut.String())
		}
		time.Sleep(50 * time.Millisecond) // two of a kind at once may come as one
	}
	return r.wait(t)
}

func (r *tool) wait(t *testing.T) int {
	t.Helper()
	late := time.AfterFunc(8*time.Second, func() { _ = r.cmd.Process.Kill() })
	err := r.cmd.Wait()
	if !late.Stop() {
		t.Errorf("it did not end by itself\n%s", r.errOut.String())
	}
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		t.Fatal(err)
	}
	return r.cmd.ProcessState.ExitCode()
}

// appears waits until a file that matches has something in it, and returns that.
func appears(t *testing.T, pattern string) string {
	t.Helper()
	for range 1000 {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if b, err := os.ReadFile(name); err == nil && len(b) > 0 {
				return string(b)
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("no %s after 10 s", pattern)
	return ""
}

// gone reports whether the process whose id a child wrote ends.
func gone(t *testing.T, pid string) bool {
	t.Helper()
	id, err := strconv.Atoi(strings.TrimSpace(pid))
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if stat, err := os.ReadFile("/proc/" + strconv.Itoa(id) + "/stat"); err == nil && strings.Contains(string(stat), ") Z ") {
			return true // dead; nobody has waited for it yet
		}
		if errors.Is(syscall.Kill(id, 0), syscall.ESRCH) {
			return true
		}
		time.Sleep(20 * time.Millisecond)
	}
	return false
}

var bothSignals = map[os.Signal]int{os.Interrupt: exitInterrupted, syscall.SIGTERM: exitTerminated}

// TestStopBlockedInput stops a run that waits for its standard input: the lines that came are reported.
func TestStopBlockedInput(t *testing.T) {
	for signal, want := range bothSignals {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		tool := startTool(t, t.TempDir(), r, "analyze", "-", "-n", "4")
		r.Close()
		// more than a pipe holds, so that the run is reading once it is written
		if _, err := w.WriteString(strings.Repeat("a\nb\n", 1<<17)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(200 * time.Millisecond)
		if code := tool.stop(t, signal); code != want {
			t.Errorf("%v: exit %d, want %d", signal, code, want)
		}
		if !strings.Contains(tool.errOut.String(), "interrupted; the report above covers what was read so far") {
			t.Errorf("%v: stderr %q", signal, tool.errOut.String())
		}
		if out := tool.out.String(); !strings.Contains(out, "(PARTIAL): 4 partitions, 262,144 records") {
			t.Errorf("%v: the report does not cover the lines that came:\n%s", signal, out)
		}
	}
}

// Children: one never answers the greeting, one answers it and nothing more, one dies then.
var children = map[string]string{
	"silent": "echo $$ > pid; exec sleep 1000\n",
	"hung":   `dd bs=1 count=4 of=/dev/null 2>/dev/null; printf '\000\000\000\011RKSPP\000\000\000\001'; echo $$ > pid; exec sleep 1000` + "\n",
	"dead":   `dd bs=1 count=4 of=/dev/null 2>/dev/null; printf '\000\000\000\011RKSPP\000\000\000\001'; echo no luck >&2; exit 3` + "\n",
}

// withChildren makes a folder with the children and two files of keys.
func withChildren(t *testing.T) string {
	t.Helper()
	files := map[string]string{
		"keys":        "a\nb\n",
		"keys.ndjson": strings.Repeat(`{"key":"a","partition":1}`+"\n"+`{"key":"b","partition":2}`+"\n", 50),
	}
	maps.Copy(files, children)
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestStopHungChild stops runs whose partitioner does not answer: they end at once and leave no child behind, also when
// a second signal comes before that.
func TestStopHungChild(t *testing.T) {
	for _, test := range []struct {
		name, child string
		args        []string
		signals     []os.Signal
		want        int
	}{
		{"greeting", "silent", []string{"analyze", "keys", "-n", "3"}, []os.Signal{os.Interrupt}, exitInterrupted},
		{"greeting, SIGTERM", "silent", []string{"locate", "-n", "3", "a"}, []os.Signal{syscall.SIGTERM}, exitTerminated},
		{"reading", "hung", []string{"analyze", "keys", "-n", "3"}, []os.Signal{os.Interrupt}, exitInterrupted},
		{"concluding", "hung", []string{"plan", "keys.ndjson", "-n", "3", "--to", "4"}, []os.Signal{syscall.SIGTERM}, exitTerminated},
		{"locating", "hung", []string{"locate", "-n", "3", "a"}, []os.Signal{os.Interrupt}, exitInterrupted},
		{"twice", "hung", []string{"locate", "-n", "3", "a"}, []os.Signal{os.Interrupt, os.Interrupt}, exitInterrupted},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := withChildren(t)
			tool := startTool(t, dir, nil, append(test.args, "--partitioner", "exec:sh "+test.child, "--partitioner-timeout", "100s")...)
			pid := appears(t, filepath.Join(dir, "pid"))
			if code := tool.stop(t, test.signals...); code != test.want {
				t.Errorf("exit %d, want %d\n%s", code, test.want, tool.errOut.String())
			}
			if !gone(t, pid) {
				t.Error("the child runs on")
			}
		})
	}
}

// TestChildFails has a partitioner die, or hang, after it was greeted: what was read is reported without it, and the
// failure is told once.
func TestChildFails(t *testing.T) {
	for _, child := range []string{"dead", "hung"} {
		tool := startTool(t, withChildren(t), nil, "plan", "keys.ndjson", "-n", "3", "--to", "4", "--to-partitioner", "librdkafka",
			"--partitioner", "exec:sh "+child, "--partitioner-timeout", "500ms", "-o", "json")
		if code := tool.wait(t); code != exitFailed {
			t.Errorf("exit %d, want %d", code, exitFailed)
		}
		if n := strings.Count(tool.errOut.String(), "keyspread: error:"); n != 1 {
			t.Errorf("%d errors told, want one:\n%s", n, tool.errOut.String())
		}
		out := tool.out.String()
		for _, want := range []string{`"records": 100,`, `"hot-key"`, "librdkafka:consistent_random"} {
			if !strings.Contains(out, want) {
				t.Errorf("the report lacks %q:\n%s", want, out)
			}
		}
		if strings.Contains(out, "partitioner-mismatch") {
			t.Errorf("the report blames placement on a partitioner that did not answer:\n%s", out)
		}
	}
}

// TestStopLeavesNothing stops what makes files: none is left half made.
func TestStopLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	tool := startTool(t, dir, nil, "generate", "-o", "ndjson=keys.ndjson", "--records", "10000000000")
	appears(t, filepath.Join(dir, ".keyspread-*"))
	if code := tool.stop(t, syscall.SIGTERM); code != exitTerminated {
		t.Errorf("generate: exit %d, want %d\n%s", code, exitTerminated, tool.errOut.String())
	}
	tool = startTool(t, dir, nil, "demo", "--keep")
	appears(t, filepath.Join(dir, "keyspread-demo-*", "*"))
	if code := tool.stop(t, syscall.SIGTERM); code != exitTerminated {
		t.Errorf("demo: exit %d, want %d\n%s", code, exitTerminated, tool.errOut.String())
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
