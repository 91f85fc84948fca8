package custom

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"keyspread/partitioner"
)

// testExec returns the name of this test binary as a child, and options under which it is the one that mode names.
func testExec(tb testing.TB, mode string) (spec string, opt Options) {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	return "exec:'" + self + "'", Options{Env: append(os.Environ(), childMode+"="+mode), Timeout: time.Minute}
}

func open(tb testing.TB, spec string, opt Options) *P {
	tb.Helper()
	p, err := Open(tb.Context(), spec, opt)
	if err != nil {
		tb.Fatalf("Open(%q): %v", spec, err)
	}
	tb.Cleanup(func() { p.Close() }) // a second Close where the test looks at the first
	return p
}

// gone reports whether a process has ended; one that nobody has waited for yet has.
func gone(pid int) bool {
	if err := syscall.Kill(pid, 0); errors.Is(err, syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func pidOf(p *P) int { return p.batcher.(*child).cmd.Process.Pid }

func TestPlaceBatch(t *testing.T) {
	t.Parallel()
	spec, opt := testExec(t, "good")
	p := open(t, spec, opt)
	if p.ID() != spec {
		t.Errorf("ID() = %q, want %q", p.ID(), spec)
	}
	counts := []int32{12, 1, 24}
	// sizes around what one request takes, and a key larger than a pipe
	for _, n := range []int{0, 1, 2, maxRequestKeys - 1, maxRequestKeys, maxRequestKeys + 1, 10*maxRequestKeys + 7} {
		keys := make([][]byte, n)
		for i := range keys {
			switch {
			case i%100 == 7:
				keys[i] = nil
			case i%100 == 8:
				keys[i] = []byte{}
			case i == 9:
				keys[i] = make([]byte, 1<<20)
			default:
				keys[i] = fmt.Appendf(nil, "customer-%d", i)
			}
		}
		out, keyed := make([]int32, n*len(counts)), make([]bool, n)
		if err := p.PlaceBatch(keys, counts, out, keyed); err != nil {
			t.Fatalf("placing %d keys: %v", n, err)
		}
		for i, key := range keys {
			if got, want := keyed[i], len(key) > 0; got != want {
				t.Errorf("of %d keys, key %d %s: keyed = %t, want %t", n, i, quoteKey(key), got, want)
			}
			for c, count := range counts {
				// crcPlace's word for a spread key is -1 as well
				if got, want := out[i*len(counts)+c], crcPlace(key, count); got != want {
					t.Errorf("of %d keys, key %d %s at %d partitions: got %d, want %d", n, i, quoteKey(key), count, got, want)
				}
			}
		}
	}
	if err := p.Close(); err != nil {
		t.Errorf("Close() = %v", err)
	}
	if pid := pidOf(p); !gone(pid) {
		t.Errorf("process %d is still there after Close", pid)
	}
	if _, err := p.Place([]byte("k"), []int32{12}, make([]int32, 1)); !errors.Is(err, ErrClosed) {
		t.Errorf("Place after Close: %v, want ErrClosed", err)
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	spec, opt := testExec(t, "good")
	p := open(t, spec, opt)
	// crc32("123456789") = 0xcbf43926, the check value of CRC-32/ISO-HDLC; mod 12 = 6, mod 7 = 3 (python)
	out := []int32{77, 77}
	keyed, err := p.Place([]byte("123456789"), []int32{12, 7}, out)
	if !keyed || err != nil || !slices.Equal(out, []int32{0xcbf43926 % 12, 0xcbf43926 % 7}) {
		t.Errorf("Place(123456789) = %v, %t, %v", out, keyed, err)
	}
	for _, key := range [][]byte{nil, {}} {
		out := []int32{77, 77}
		if keyed, err := p.Place(key, []int32{12, 7}, out); keyed || err != nil || !slices.Equal(out, []int32{77, 77}) {
			t.Errorf("Place(%s) = %v, %t, %v, want out untouched, false, no error", quoteKey(key), out, keyed, err)
		}
	}
}

// The null key and the empty key reach the child as two.
func TestNullAndEmptyKeyReachTheChild(t *testing.T) {
	t.Parallel()
	spec, opt := testExec(t, "echoes")
	p := open(t, spec, opt)
	if err := p.PlaceBatch([][]byte{nil, {}, {0}}, []int32{5, 6}, make([]int32, 6), make([]bool, 3)); err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	got := p.batcher.(*child).stderr.String()
	want := "child is echoes\n[][]uint8{[]uint8(nil), []uint8{}, []uint8{0x0}} [5 6]"
	if got != want {
		t.Errorf("the child read %q, want %q", got, want)
	}
}

func TestHello(t *testing.T) {
	t.Parallel()
	spec, opt := testExec(t, "hello")
	opt.Topic, opt.Partitions, opt.Config = "orders.v1", 12, map[string]string{"b": "", "a": "ä"}
	_, err := Open(t.Context(), spec, opt)
	// by hand, from doc.go; 3 brokers are the default
	want := fmt.Sprintf("it gave up: %q", "HKSPP\x00\x00\x00\x01\x00\x00\x00\x09orders.v1\x00\x00\x00\x0c\x00\x00\x00\x03"+
		"\x00\x00\x00\x02\x00\x00\x00\x01a\x00\x00\x00\x02ä\x00\x00\x00\x01b\x00\x00\x00\x00")
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("Open = %v, want it to hold %s", err, want)
	}
}

// Calls from several goroutines share the child and get each their own answers.
func TestConcurrentCalls(t *testing.T) {
	t.Parallel()
	spec, opt := testExec(t, "good")
	p := open(t, spec, opt)
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 30 {
				keys := make([][]byte, 1+100*i)
				for k := range keys {
					keys[k] = fmt.Appendf(nil, "%d/%d/%d", g, i, k)
				}
				n := int32(7 + g)
				out, keyed := make([]int32, len(keys)), make([]bool, len(keys))
				if err := p.PlaceBatch(keys, []int32{n}, out, keyed); err != nil {
					t.Errorf("goroutine %d: %v", g, err)
					return
				}
				for k, key := range keys {
					if want := crcPlace(key, n); out[k] != want {
						t.Errorf("goroutine %d, key %q: got %d, want %d", g, key, out[k], want)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

// A key that fails costs that key only.
func TestFailedKeys(t *testing.T) {
	t.Parallel()
	spec, opt := testExec(t, "fails")
	p := open(t, spec, opt)
	const n = 3000 // several requests
	keys := make([][]byte, n)
	for i := range keys {
		keys[i] = fmt.Appendf(nil, "good-%d", i)
	}
	keys[2], keys[2500] = []byte("bad"), []byte("bad too")
	counts := []int32{12, 24}
	out, keyed := make([]int32, 2*n), make([]bool, n)
	err := p.PlaceBatch(keys, counts, out, keyed)
	failed, ok := errors.AsType[*BatchError](err)
	if !ok {
		t.Fatalf("PlaceBatch = %v, want a BatchError", err)
	}
	var got []string
	for _, f := range failed.Failures {
		got = append(got, fmt.Sprintf("%d,%d: %v", f.Key, f.Count, f.Err))
	}
	// the reason names the cell within its request: 2500 is key 452 of the third, so cells 904 and 905
	lead := "partitioner " + spec + " has no partition for this key: "
	want := []string{"2,0: " + lead + "no: 4", "2,1: " + lead + "no: 5", "2500,0: " + lead + "no: 904", "2500,1: " + lead + "no: 905"}
	if !slices.Equal(got, want) {
		t.Errorf("failures:\ngot  %q\nwant %q", got, want)
	}
	if !strings.Contains(err.Error(), `4 placements failed, the first that of key 3 of the batch: `) {
		t.Errorf("error is %q", err)
	}
	for i, key := range keys {
		want := []int32{crcPlace(key, 12), crcPlace(key, 24)}
		if i == 2 || i == 2500 {
			want = []int32{-1, -1}
		}
		if got := out[2*i : 2*i+2]; !slices.Equal(got, want) || !keyed[i] {
			t.Fatalf("key %q: got %v, keyed %t, want %v, keyed", key, got, keyed[i], want)
		}
	}

	cells := []int32{77}
	isKeyed, err := p.Place([]byte("bad"), counts[:1], cells)
	keyErr, ok := errors.AsType[*partitioner.KeyError](err)
	if !isKeyed || !ok || keyErr.Reason != "no: 0" || cells[0] != -1 {
		t.Errorf("Place(bad) = %v, %t, %v, want -1 and a KeyError", cells, isKeyed, err)
	}
}

func TestSpreadAtOneCountIsUnkeyed(t *testing.T) {
	t.Parallel()
	spec, opt := testExec(t, "halfspread")
	p := open(t, spec, opt)
	out, keyed := make([]int32, 2), []bool{true}
	if err := p.PlaceBatch([][]byte{[]byte("k")}, []int32{12, 24}, out, keyed); err != nil || keyed[0] || out[0] != -1 || out[1] != -1 {
		t.Errorf("PlaceBatch = %v, %t, %v, want -1 twice, not keyed, no error", out, keyed[0], err)
	}
}

// Under HideKeys no error holds a key or a word of the child's, whatever goes wrong.
func TestHideKeys(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{
		"dies", "chats", "otherready", "unasked", "diesafter=0", "high", "low", "garbage", "huge", "givesup", "noisy", "fails",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			spec, opt := testExec(t, mode)
			opt.HideKeys = true
			p, err := Open(t.Context(), spec, opt)
			if err == nil {
				keys := [][]byte{[]byte("bad"), []byte("bad")}
				err = errors.Join(p.PlaceBatch(keys, []int32{12, 24}, make([]int32, 4), make([]bool, 2)), p.Close())
			}
			if err == nil {
				t.Fatal("no error")
			}
			text := strings.ReplaceAll(err.Error(), spec, "")
			if !strings.Contains(text, withheld) {
				t.Errorf("error does not say what was withheld: %s", text)
			}
			for _, word := range []string{"bad", "child is", "Hello", "RHTTP", "out of luck", "no answer", "map is", "line 4999", "no: ", `\x`} {
				if strings.Contains(text, word) {
					t.Errorf("error holds %q: %s", word, text)
				}
			}
		})
	}
}

// Everything that a child can do wrong is an error that says so, and ends the child.
func TestChildGoesWrong(t *testing.T) {
	t.Parallel()
	tests := []struct {
		mode    string
		timeout time.Duration // 0: far more than is needed
		want    []string      // in the error
	}{
		// at the handshake
		{mode: "dies", want: []string{"the process ended with exit status 3", "run it by hand", "| child is dies"}},
		{mode: "hangs", timeout: 300 * time.Millisecond, want: []string{"it did not answer within 300ms"}},
		{mode: "chats", want: []string{"1 to 1029 were due", `beginning "Hello, I am a partitioner.`, "stdout carries the protocol only"}},
		{mode: "version", want: []string{"it speaks version 2 of the protocol, keyspread version 1"}},
		{mode: "longready", want: []string{"its ready frame has 10 bytes instead of 9"}},
		{mode: "otherready", want: []string{`it greets with "RHTTP`}},
		// later; the request is key "a", crc32 0xe8b7be43, and key "b" at 12 and 24 partitions
		{mode: "diesafter=0", want: []string{"the process ended with exit status 3", "| out of luck"}},
		{mode: "stalls", timeout: 300 * time.Millisecond, want: []string{"it did not answer within 300ms"}},
		{mode: "short", want: []string{"it answered 3 cells for 2 keys at 2 counts, which make 4"}},
		{mode: "long", want: []string{"it answered 5 cells for 2 keys at 2 counts, which make 4"}},
		{mode: "half", want: []string{"of the 29 bytes of an answer; the process ended with exit status 0"}},
		{mode: "high", want: []string{`it answered partition 24 for key "b" at 24 partitions, outside [0, 24)`}},
		{mode: "low", want: []string{`it answered partition -3 for key "a" at 12 partitions, outside [0, 12)`}},
		{mode: "otherid", want: []string{"it answered request 2 where request 1 was due"}},
		{mode: "garbage", want: []string{`it sent " this is no answer, but 32 bytes" instead of an answer`}},
		{mode: "huge", want: []string{"it sent a frame of 2147483647 bytes"}},
		{mode: "empty", want: []string{"it sent a frame of 0 bytes"}},
		{mode: "closesoutput", want: []string{"it ended its output"}},
		{mode: "givesup", want: []string{"it gave up: the map is [31mgone"}}, // the escape character does not reach a terminal
		{mode: "noisy", want: []string{"exit status 6", "| … ", "| line 4999"}},
	}
	for _, test := range tests {
		t.Run(test.mode, func(t *testing.T) {
			t.Parallel()
			spec, opt := testExec(t, test.mode)
			if test.mode == "hangs" {
				opt.Timeout = test.timeout
			}
			p, err := Open(t.Context(), spec, opt)
			if err == nil {
				if test.timeout > 0 {
					p.batcher.(*child).timeout = test.timeout // the handshake had time enough
				}
				err = p.PlaceBatch([][]byte{[]byte("a"), []byte("b")}, []int32{12, 24}, make([]int32, 4), make([]bool, 2))
				if again := p.PlaceBatch([][]byte{[]byte("a")}, []int32{12}, make([]int32, 1), make([]bool, 1)); again != err {
					t.Errorf("the next call returns %v, want the same error", again)
				}
				if pid := pidOf(p); !gone(pid) {
					t.Errorf("process %d is still there after the error", pid)
				}
				if closeErr := p.Close(); closeErr != err {
					t.Errorf("Close() = %v, want the same error", closeErr)
				}
			}
			childErr, ok := errors.AsType[*ChildError](err)
			if !ok {
				t.Fatalf("got %v, want a ChildError", err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error does not hold %q:\n%v", want, err)
				}
			}
			if childErr.Partitioner != spec || len(childErr.Stderr) > 4096+len("… ") {
				t.Errorf("error names %q and has %d bytes of stderr", childErr.Partitioner, len(childErr.Stderr))
			}
		})
	}
}

// An answer too many is caught at once or, when the next request was sooner, by its id.
func TestChildAnswersUnasked(t *testing.T) {
	t.Parallel()
	for mode, wrongID := range map[string]string{
		"unasked": "it answered request 0 where request 1 was due",
		"twice":   "it answered request 1 where request 2 was due",
	} {
		spec, opt := testExec(t, mode)
		p, err := Open(t.Context(), spec, opt)
		for range 2 {
			if err == nil {
				err = p.PlaceBatch([][]byte{[]byte("a")}, []int32{12}, make([]int32, 1), make([]bool, 1))
			}
		}
		if err == nil || !strings.Contains(err.Error(), "without having been asked") && !strings.Contains(err.Error(), wrongID) {
			t.Errorf("%s: got %v", mode, err)
		}
		if p != nil {
			p.Close() // the error that was just looked at
		}
	}
}

// The pipe to a child that does not read fills up; that counts as not answering.
func TestChildDoesNotRead(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{"deaf": "it did not answer within 500ms", "closesinput": "it stopped reading its requests"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			spec, opt := testExec(t, mode)
			p := open(t, spec, opt)
			p.batcher.(*child).timeout = 500 * time.Millisecond // the handshake had time enough
			keys := slices.Repeat([][]byte{make([]byte, 100<<10)}, 50)
			err := p.PlaceBatch(keys, []int32{12}, make([]int32, len(keys)), make([]bool, len(keys)))
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want it to hold %q", err, want)
			}
			if pid := pidOf(p); !gone(pid) {
				t.Errorf("process %d is still there", pid)
			}
		})
	}
}

func TestDiesAfterSomeAnswers(t *testing.T) {
	t.Parallel()
	spec, opt := testExec(t, "diesafter=3")
	p := open(t, spec, opt)
	keys := slices.Repeat([][]byte{[]byte("k")}, 10*maxRequestKeys)
	err := p.PlaceBatch(keys, []int32{12}, make([]int32, len(keys)), make([]bool, len(keys)))
	if err == nil || !strings.Contains(err.Error(), "the process ended with exit status 3") || !strings.Contains(err.Error(), "| out of luck") {
		t.Errorf("got %v", err)
	}
}

func TestClose(t *testing.T) {
	t.Parallel()
	tests := []struct {
		mode    string
		timeout time.Duration
		want    string // in the error; "" for none
	}{
		{"good", time.Minute, ""},
		{"outlives", 300 * time.Millisecond, "it did not end within 300ms after its stdin was closed, and was killed"},
		{"endsbadly", time.Minute, "it ended with exit status 5 after its stdin was closed"},
		{"afterthought", time.Minute, "without having been asked"},
	}
	for _, test := range tests {
		t.Run(test.mode, func(t *testing.T) {
			t.Parallel()
			spec, opt := testExec(t, test.mode)
			p := open(t, spec, opt)
			if _, err := p.Place([]byte("k"), []int32{12}, make([]int32, 1)); err != nil {
				t.Fatal(err)
			}
			// the handshake and the answer had time enough; only the end is to be waited for in vain
			p.batcher.(*child).timeout = test.timeout
			err := p.Close()
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("Close() = %v, want %q", err, test.want)
			}
			if again := p.Close(); again != err {
				t.Errorf("the second Close() = %v, want the same", again)
			}
			if pid := pidOf(p); !gone(pid) {
				t.Errorf("process %d is still there after Close", pid)
			}
		})
	}
}

// Close does not wait for a child that owes an answer, and ends the call that waits for it.
func TestCloseDuringCall(t *testing.T) {
	t.Parallel()
	spec, opt := testExec(t, "stalls")
	p := open(t, spec, opt)
	failed := make(chan error, 1)
	go func() {
		failed <- p.PlaceBatch([][]byte{[]byte("k")}, []int32{12}, make([]int32, 1), make([]bool, 1))
	}()
	c := p.batcher.(*child)
	for {
		c.watch.mu.Lock()
		due := c.watch.due
		c.watch.mu.Unlock()
		if due > 0 {
			break
		}
		runtime.Gosched()
	}
	if err := p.Close(); err != nil {
		t.Errorf("Close() = %v", err)
	}
	if err := <-failed; !errors.Is(err, ErrClosed) {
		t.Errorf("the call returned %v, want ErrClosed", err)
	}
	if pid := pidOf(p); !gone(pid) {
		t.Errorf("process %d is still there after Close", pid)
	}
}

func TestContextEndsTheChild(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	spec, opt := testExec(t, "stalls")
	p, err := Open(ctx, spec, opt)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	interrupted := errors.New("interrupted")
	time.AfterFunc(50*time.Millisecond, func() { cancel(interrupted) })
	err = p.PlaceBatch([][]byte{[]byte("k")}, []int32{12}, make([]int32, 1), make([]bool, 1))
	if !errors.Is(err, interrupted) {
		t.Errorf("got %v, want the context's cause", err)
	}
	if pid := pidOf(p); !gone(pid) {
		t.Errorf("process %d is still there", pid)
	}
	if _, err := Open(ctx, spec, opt); !errors.Is(err, interrupted) {
		t.Errorf("Open under an ended context: %v, want its cause", err)
	}
}

// What a child has started is killed with it, although it holds the child's pipes open.
func TestGrandchildIsKilled(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	spec, opt := testExec(t, "parent="+file)
	// the time is up as soon as the child's own child is there
	opt.AfterFunc = func(_ time.Duration, f func()) func() bool {
		stop := make(chan struct{})
		go func() {
			for {
				if text, err := os.ReadFile(file); err == nil && len(text) > 0 {
					f()
					return
				}
				select {
				case <-stop:
					return
				case <-time.After(10 * time.Millisecond):
				}
			}
		}()
		return func() bool { close(stop); return true }
	}
	p := open(t, spec, opt)
	err := p.PlaceBatch([][]byte{[]byte("k")}, []int32{12}, make([]int32, 1), make([]bool, 1))
	if err == nil || !strings.Contains(err.Error(), "it did not answer within 1m0s") {
		t.Fatalf("got %v", err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		t.Fatal(err)
	}
	// the kernel may need a moment for the other members of the group
	for deadline := time.Now().Add(5 * time.Second); !gone(pid); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("process %d, started by the child, is still there", pid)
		}
	}
}

// The time limit is the injected clock's: no wait happens without it.
func TestClockIsInjected(t *testing.T) {
	t.Parallel()
	spec, opt := testExec(t, "stalls")
	opt.Timeout = 24 * time.Hour
	var mu sync.Mutex
	var limits []time.Duration
	opt.AfterFunc = func(d time.Duration, f func()) func() bool {
		mu.Lock()
		defer mu.Unlock()
		limits = append(limits, d)
		if len(limits) == 2 { // the first is the handshake's
			go f()
		}
		return func() bool { return true }
	}
	p := open(t, spec, opt)
	err := p.PlaceBatch([][]byte{[]byte("k")}, []int32{12}, make([]int32, 1), make([]bool, 1))
	if err == nil || !strings.Contains(err.Error(), "it did not answer within 24h0m0s") {
		t.Errorf("got %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		spec string
		opt  Options
		want string
	}{
		{"murmur2", Options{}, `unknown custom partitioner "murmur2": write exec:CMD, jvm:CLASS or table:FILE`},
		{"shell:x", Options{}, `unknown custom partitioner "shell:x"`},
		{"exec:", Options{}, `partitioner "exec:" names nothing`},
		{"exec:  ", Options{}, `partitioner "exec:  " names nothing`},
		{"exec:''", Options{}, "it names no command"},
		{"exec:'a", Options{}, "a single quote is not closed"},
		{"exec:./no-such-program", Options{}, `check that "./no-such-program" is there and may be run`},
		{"jvm:com.acme.Orders", Options{}, "has no classpath"},
		{"jvm:com.acme Orders", Options{Classpath: "x"}, `"com.acme Orders" is no name of a Java class`},
		{"jvm:-version", Options{Classpath: "x"}, `"-version" is no name of a Java class`},
		{"table:no-such-file.csv", Options{}, "needs a partitioner for the keys that it does not name"},
		{"table:no-such-file.csv", Options{Fallback: murmur2(t)}, "no such file"},
	}
	for _, test := range tests {
		p, err := Open(t.Context(), test.spec, test.opt)
		if p != nil || err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("Open(%q) = %v, %v, want an error with %q", test.spec, p, err, test.want)
		}
	}
}

func TestIsSpec(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]bool{
		"exec:./p": true, "jvm:com.acme.P": true, "table:keys.csv": true,
		"murmur2": false, "librdkafka:murmur2_random": false, "exec": false, "": false,
	} {
		if got := IsSpec(spec); got != want {
			t.Errorf("IsSpec(%q) = %t, want %t", spec, got, want)
		}
	}
}

func TestSplitWords(t *testing.T) {
	t.Parallel()
	tests := []struct {
		command string
		want    []string // nil: refused
	}{
		{"./p", []string{"./p"}},
		{"  python3\treference.py \n", []string{"python3", "reference.py"}},
		{`sh -c 'a "b" | c'`, []string{"sh", "-c", `a "b" | c`}},
		{`p "a 'b' \"c\" \\ \n" ''`, []string{"p", `a 'b' "c" \ \n`, ""}},
		{`p a\ b c\\d e'f'"g"`, []string{"p", "a b", `c\d`, "efg"}},
		{`p $HOME * | q`, []string{"p", "$HOME", "*", "|", "q"}},
		{"", nil},
		{`""`, nil},
		{`p "a`, nil},
		{`p 'a`, nil},
		{`p a\`, nil},
	}
	for _, test := range tests {
		got, err := splitWords(test.command)
		if !slices.Equal(got, test.want) || (err != nil) != (test.want == nil) {
			t.Errorf("splitWords(%q) = %q, %v, want %q", test.command, got, err, test.want)
		}
	}
}

func TestPlaceBatchPanics(t *testing.T) {
	t.Parallel()
	p := &P{id: "exec:none"}
	keys := [][]byte{[]byte("a"), []byte("b")}
	tests := []struct {
		name string
		call func()
	}{
		{"short out", func() { p.PlaceBatch(keys, []int32{12}, make([]int32, 1), make([]bool, 2)) }},
		{"short keyed", func() { p.PlaceBatch(keys, []int32{12}, make([]int32, 2), make([]bool, 1)) }},
		{"count 0", func() { p.PlaceBatch(keys, []int32{0}, make([]int32, 2), make([]bool, 2)) }},
		{"Place short out", func() { p.Place(keys[0], []int32{12, 24}, make([]int32, 1)) }},
	}
	for _, test := range tests {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", test.name)
				}
			}()
			test.call()
		}()
	}
}

// The reference child of the manual, in Python, places as librdkafka's class does.
func TestPythonReference(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		lacking(t, "no python3 on the PATH")
	}
	p := open(t, "exec:"+python+" testdata/reference.py", Options{Timeout: time.Minute})
	class, err := partitioner.Parse("librdkafka:consistent_random")
	if err != nil {
		t.Fatal(err)
	}
	keys := [][]byte{nil, {}}
	for i := range 5000 {
		keys = append(keys, fmt.Appendf(nil, "customer-%d", i), []byte{byte(i), byte(i >> 8), 0xff})
	}
	counts := []int32{7, 12, 16}
	out, keyed := make([]int32, len(keys)*3), make([]bool, len(keys))
	if err := p.PlaceBatch(keys, counts, out, keyed); err != nil {
		t.Fatal(err)
	}
	for k, key := range keys {
		want := []int32{-1, -1, -1}
		wantKeyed, err := class.Place(key, counts, want)
		if err != nil {
			t.Fatal(err)
		}
		if got := out[3*k : 3*k+3]; keyed[k] != wantKeyed || !slices.Equal(got, want) {
			t.Fatalf("key %s: got %v, keyed %t, want %v, keyed %t", quoteKey(key), got, keyed[k], want, wantKeyed)
		}
	}
	if err := p.Close(); err != nil {
		t.Errorf("Close() = %v", err)
	}
}

// lacking skips the test for want of something outside the repository, or fails it where everything must be there.
func lacking(tb testing.TB, format string, args ...any) {
	tb.Helper()
	if os.Getenv("KEYSPREAD_TEST_REQUIRE") == "1" {
		tb.Fatalf(format, args...)
	}
	tb.Skipf(format, args...)
}

func murmur2(tb testing.TB) partitioner.Partitioner {
	tb.Helper()
	p, err := partitioner.Parse("murmur2")
	if err != nil {
		tb.Fatal(err)
	}
	return p
}
