package custom

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

// childMode names, in the environment of this test binary, the child that it is to be instead of running tests.
const childMode = "KEYSPREAD_TEST_CHILD"

// TestMain also holds that no test leaves a goroutine of a child behind.
func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		if err := beChild(mode, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "child:", err)
			os.Exit(4)
		}
		os.Exit(0)
	}
	code := m.Run()
	if code == 0 {
		if left := leftGoroutines(5 * time.Second); left != "" {
			fmt.Fprintf(os.Stderr, "the tests left goroutines of children behind:\n%s\n", left)
			code = 1
		}
	}
	os.Exit(code)
}

// leftGoroutines returns the stacks of the goroutines that serve children, when some are still there after so long.
func leftGoroutines(patience time.Duration) string {
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		buf := make([]byte, 1<<20)
		buf = buf[:runtime.Stack(buf, true)]
		var left []string
		for g := range strings.SplitSeq(string(buf), "\n\n") {
			if strings.Contains(g, "custom.(*child)") || strings.Contains(g, "os/exec.(*Cmd)") {
				left = append(left, g)
			}
		}
		if len(left) == 0 {
			return ""
		}
		if time.Now().After(deadline) {
			return strings.Join(left, "\n\n")
		}
	}
}

// crcPlace is what the reference children answer: librdkafka's consistent_random.
func crcPlace(key []byte, n int32) int32 {
	if len(key) == 0 {
		return cellSpread
	}
	return int32(crc32.ChecksumIEEE(key) % uint32(n))
}

// request is a request as a child reads it.
type request struct {
	id     int32
	counts []int32
	keys   [][]byte
}

func readFrame(r io.Reader, buf []byte) ([]byte, error) {
	var header [4]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return nil, err
	}
	size := int(binary.BigEndian.Uint32(header[:]))
	if cap(buf) < size {
		buf = make([]byte, size)
	}
	_, err := io.ReadFull(r, buf[:size])
	return buf[:size], err
}

// parseRequest reads a request into q, written from doc.go rather than from the code of this package.
func parseRequest(frame []byte, q *request) error {
	if len(frame) == 0 || frame[0] != 'Q' {
		return fmt.Errorf("%q is no request", frame)
	}
	at := 1
	next := func() int32 {
		at += 4
		return int32(binary.BigEndian.Uint32(frame[at-4:]))
	}
	q.id = next()
	q.counts = q.counts[:0]
	for range next() {
		q.counts = append(q.counts, next())
	}
	q.keys = q.keys[:0]
	for range next() {
		size := next()
		if size < 0 {
			q.keys = append(q.keys, nil)
			continue
		}
		q.keys = append(q.keys, frame[at:at+int(size):at+int(size)])
		at += int(size)
	}
	if at != len(frame) {
		return fmt.Errorf("a request has %d bytes too many", len(frame)-at)
	}
	return nil
}

// answer is the frame of an answer that says cells and, for each cell of -2, the reason "no: CELL".
func answer(id int32, cells []int32) []byte {
	b := []byte{0, 0, 0, 0, 'A'}
	put := func(v int32) { b = binary.BigEndian.AppendUint32(b, uint32(v)) }
	put(id)
	put(int32(len(cells)))
	failed := 0
	for _, c := range cells {
		put(c)
		if c == cellFailed {
			failed++
		}
	}
	put(int32(failed))
	for i, c := range cells {
		if c == cellFailed {
			reason := "no: " + strconv.Itoa(i)
			put(int32(i))
			put(int32(len(reason)))
			b = append(b, reason...)
		}
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// beChild speaks the protocol, well or as the failure that mode names.
func beChild(mode string, stdin io.Reader, stdout io.Writer) error {
	fmt.Fprintln(os.Stderr, "child is", mode)
	mode, arg, _ := strings.Cut(mode, "=")
	in := bufio.NewReaderSize(stdin, 64<<10)
	hang := func() { time.Sleep(time.Hour) }
	raw := func(b string) { io.WriteString(stdout, b) }

	switch mode {
	case "dies":
		os.Exit(3)
	case "hangs":
		hang()
	case "chats":
		raw("Hello, I am a partitioner.\n")
		hang()
	}
	hello, err := readFrame(in, nil)
	if err != nil {
		return err
	}
	switch mode {
	case "hello": // says what it was greeted with
		b := appendString([]byte{0, 0, 0, 0, 'E'}, fmt.Sprintf("%q", hello))
		stdout.Write(endFrame(b, 0))
		os.Exit(1)
	case "version":
		raw("\x00\x00\x00\x09RKSPP\x00\x00\x00\x02")
		hang()
	case "longready":
		raw("\x00\x00\x00\x0aRKSPP\x00\x00\x00\x01!")
		hang()
	case "otherready":
		raw("\x00\x00\x00\x09RHTTP\x00\x00\x00\x01")
		hang()
	}
	raw("\x00\x00\x00\x09RKSPP\x00\x00\x00\x01")
	switch mode {
	case "deaf":
		hang()
	case "unasked":
		stdout.Write(answer(0, []int32{1}))
	case "closesinput":
		os.Stdin.Close()
		hang()
	}

	var frame []byte
	var q request
	var cells []int32
	for served := 0; ; served++ {
		frame, err = readFrame(in, frame)
		if err == io.EOF {
			switch mode {
			case "outlives":
				hang()
			case "endsbadly":
				os.Exit(5)
			case "afterthought":
				stdout.Write(answer(0, []int32{1}))
			}
			return nil
		}
		if err != nil {
			return err
		}
		if err := parseRequest(frame, &q); err != nil {
			return err
		}
		cells = cells[:0]
		for _, key := range q.keys {
			for _, n := range q.counts {
				switch {
				case mode == "fails" && strings.HasPrefix(string(key), "bad"):
					cells = append(cells, cellFailed)
				default:
					cells = append(cells, crcPlace(key, n))
				}
			}
		}
		full := answer(q.id, cells)
		switch mode {
		case "halfspread": // every key is spread at the first count
			for c := 0; c < len(cells); c += len(q.counts) {
				cells[c] = cellSpread
			}
			full = answer(q.id, cells)
		case "echoes": // the keys on stderr
			fmt.Fprintf(os.Stderr, "%#v %v\n", q.keys, q.counts)
		case "diesafter":
			if strconv.Itoa(served) == arg {
				fmt.Fprintln(os.Stderr, "out of luck")
				os.Exit(3)
			}
		case "short":
			full = answer(q.id, cells[:len(cells)-1])
		case "long":
			full = answer(q.id, append(cells, 0))
		case "half":
			stdout.Write(full[:len(full)/2])
			os.Exit(0)
		case "high":
			cells[len(cells)-1] = q.counts[len(q.counts)-1]
			full = answer(q.id, cells)
		case "low":
			cells[0] = -3
			full = answer(q.id, cells)
		case "twice":
			stdout.Write(full)
		case "otherid":
			full = answer(q.id+1, cells)
		case "garbage":
			full = []byte("\x00\x00\x00\x20 this is no answer, but 32 bytes")
		case "huge":
			full = []byte("\x7f\xff\xff\xffA")
		case "empty":
			full = []byte("\x00\x00\x00\x00")
		case "stalls":
			hang()
		case "closesoutput":
			os.Stdout.Close()
			hang()
		case "givesup":
			b := appendString([]byte{0, 0, 0, 0, 'E'}, "the map is \x1b[31mgone")
			full = endFrame(b, 0)
		case "noisy":
			for i := range 5000 {
				fmt.Fprintf(os.Stderr, "line %d\n", i)
			}
			os.Exit(6)
		case "parent": // leaves a process behind that holds its pipes, and says which on the way
			sleep := exec.Command("sleep", "1000")
			sleep.Stdout, sleep.Stderr = os.Stdout, os.Stderr
			if err := sleep.Start(); err != nil {
				return err
			}
			if err := os.WriteFile(arg, []byte(strconv.Itoa(sleep.Process.Pid)), 0o600); err != nil {
				return err
			}
			hang()
		}
		if _, err := stdout.Write(full); err != nil {
			return err
		}
	}
}
