package custom

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"keyspread/partitioner"
)

// window is how many requests may be on their way to a child or in its hands.
const window = 4

// lastWords is how long a child that closed a pipe is given to end by itself, so that its status can be told.
const lastWords = time.Second

// child is a running child process. Four goroutines serve it, and all end with it: write sends requests, read takes the
// answers, supervise waits for the first trouble and ends the process, and os/exec's own copies stderr.
type child struct {
	id      string
	next    string // what the user can do when it fails
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     io.ReadCloser
	stderr  *tail
	hide    bool // what may hold a key
	timeout time.Duration
	after   func(time.Duration, func()) func() bool
	watch   watchdog

	jobs   chan *job
	sent   chan *job   // in the order of their requests
	broken chan *cause // the first cause is the one that counts

	stop       chan struct{} // closed when no more requests are to be sent
	writerDone chan struct{}
	readerDone chan struct{}
	readCause  *cause // why read ended; set before readerDone is closed

	dead     chan struct{} // closed when the process has been waited for; then
	err      error         // is what placing returns, and
	closeErr error         // what Close returns
}

// job is one request and its answer.
type job struct {
	id        int32
	limit     time.Duration // for the answer
	maxAnswer int64         // bytes
	request   func(b []byte, id int32) []byte
	answer    func(payload []byte, id int32) error
	answered  chan<- struct{} // has room
}

// cause is why a child comes to its end.
type cause struct {
	what     string
	err      error
	itself   bool // it closed a pipe, probably because it ended: let it
	farewell bool // Close
}

// startChild starts argv and greets it.
func startChild(ctx context.Context, id string, argv []string, startLimit time.Duration, next string, opt Options) (*child, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("starting partitioner %s: %w", id, err)
	}
	c := &child{
		id:      id,
		next:    next,
		cmd:     exec.Command(argv[0], argv[1:]...),
		stderr:  &tail{most: opt.StderrTail},
		hide:    opt.HideKeys,
		timeout: opt.Timeout,
		after:   opt.AfterFunc,

		jobs:       make(chan *job),
		sent:       make(chan *job, window),
		broken:     make(chan *cause, 1),
		stop:       make(chan struct{}),
		writerDone: make(chan struct{}),
		readerDone: make(chan struct{}),
		dead:       make(chan struct{}),
	}
	c.cmd.Env, c.cmd.Dir, c.cmd.Stderr = opt.Env, opt.Dir, c.stderr
	// what the child has started may hold its stderr open
	c.cmd.WaitDelay = lastWords
	ownGroup(c.cmd)
	var err error
	if c.in, err = c.cmd.StdinPipe(); err == nil {
		c.out, err = c.cmd.StdoutPipe()
	}
	if err == nil {
		err = c.cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("starting partitioner %s: %w; check that %q is there and may be run", id, err, argv[0])
	}
	c.watch = watchdog{after: c.after, fire: func(limit time.Duration) {
		c.fail(&cause{what: fmt.Sprintf("it did not answer within %s", limit)})
	}}
	go c.write()
	go func() {
		c.readCause = c.read()
		close(c.readerDone)
		c.fail(c.readCause)
	}()
	release := context.AfterFunc(ctx, func() {
		c.fail(&cause{what: "stopped: " + context.Cause(ctx).Error(), err: context.Cause(ctx)})
	})
	go func() {
		c.supervise()
		release()
		close(c.dead)
	}()

	greeted := make(chan struct{}, 1)
	err = c.do([]*job{{
		limit:     startLimit,
		maxAnswer: maxReady,
		request:   func(b []byte, _ int32) []byte { return appendHello(b, opt) },
		answer:    func(payload []byte, _ int32) error { return parseReady(payload) },
		answered:  greeted,
	}}, greeted)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// fail brings the child to its end. The first call decides why.
func (c *child) fail(why *cause) {
	select {
	case c.broken <- why:
	default:
	}
}

// do has the jobs done; each of them says so on answered.
func (c *child) do(jobs []*job, answered <-chan struct{}) error {
	for _, j := range jobs {
		select {
		case c.jobs <- j:
		case <-c.dead:
			return c.err
		}
	}
	for range jobs {
		select {
		case <-answered:
		case <-c.dead:
			// nobody answers any more, but all answers may have come before the end
			select {
			case <-answered:
			default:
				return c.err
			}
		}
	}
	return nil
}

func (c *child) placeBatch(keys [][]byte, counts, out []int32, keyed []bool) ([]Failure, error) {
	var jobs []*job
	most := (len(keys) + maxRequestKeys - 1) / maxRequestKeys
	failures := make([][]Failure, 0, most)
	for start := 0; start < len(keys); {
		end := start + requestLen(keys[start:], counts)
		part, cells, flags := keys[start:end], out[start*len(counts):end*len(counts)], keyed[start:end]
		first, i := start, len(jobs)
		failures = append(failures, nil)
		jobs = append(jobs, &job{
			limit:     c.timeout,
			maxAnswer: maxAnswer(len(cells)),
			request:   func(b []byte, id int32) []byte { return appendRequest(b, id, part, counts) },
			answer: func(payload []byte, id int32) error {
				failed, err := parseAnswer(payload, id, c.id, part, counts, cells, flags)
				for f := range failed {
					failed[f].Key += first
					if c.hide {
						failed[f].Err = &partitioner.KeyError{Partitioner: c.id, Reason: withheld}
					}
				}
				failures[i] = failed
				return err
			},
		})
		start = end
	}
	answered := make(chan struct{}, len(jobs))
	for _, j := range jobs {
		j.answered = answered
	}
	if err := c.do(jobs, answered); err != nil {
		return nil, err
	}
	return slices.Concat(failures...), nil
}

// write sends the requests of jobs until stop.
func (c *child) write() {
	defer close(c.writerDone)
	var buf []byte
	for id := int32(0); ; id++ {
		var j *job
		select {
		case j = <-c.jobs:
		case <-c.stop:
			return
		}
		j.id = id
		buf = j.request(buf[:0], id)
		// sent comes before the bytes, so that read never meets an answer without its job
		c.watch.sent(j.limit)
		select {
		case c.sent <- j:
		case <-c.stop:
			return
		}
		if _, err := c.in.Write(buf); err != nil {
			c.fail(&cause{what: "it stopped reading its requests", itself: true})
			return
		}
	}
}

// read takes the answers until something is wrong with them.
func (c *child) read() *cause {
	r := bufio.NewReaderSize(c.out, 64<<10)
	var payload []byte
	var header [4]byte
	for {
		if n, err := io.ReadFull(r, header[:]); err != nil {
			if n > 0 {
				return &cause{what: fmt.Sprintf("it ended its output within a frame, after %d bytes", n), itself: true}
			}
			return &cause{what: "it ended its output", itself: true}
		}
		var j *job
		select {
		case j = <-c.sent:
		default:
			return &cause{what: textOf(&quoting{"it sent ", fmt.Sprintf("%q", header), " without having been asked"}, c.hide)}
		}
		size := int64(binary.BigEndian.Uint32(header[:]))
		if size < 1 || size > j.maxAnswer {
			more, _ := r.Peek(min(r.Buffered(), 60))
			return &cause{what: textOf(&quoting{
				"it sent ", fmt.Sprintf("a frame of %d bytes where 1 to %d were due, beginning %q", size, j.maxAnswer, append(header[:], more...)),
				" (stdout carries the protocol only)",
			}, c.hide)}
		}
		payload = payload[:0]
		for int64(len(payload)) < size {
			// no more room than has come in so far: a length is only a claim
			step := int(min(size-int64(len(payload)), 1<<20))
			payload = slices.Grow(payload, step)[:len(payload)+step]
			if n, err := io.ReadFull(r, payload[len(payload)-step:]); err != nil {
				return &cause{what: fmt.Sprintf("it ended its output after %d of the %d bytes of an answer", len(payload)-step+n, size), itself: true}
			}
		}
		if err := j.answer(payload, j.id); err != nil {
			return &cause{what: textOf(err, c.hide)}
		}
		c.watch.answered()
		j.answered <- struct{}{}
	}
}

// supervise waits for the first cause to end the child, ends it, and leaves err and closeErr.
func (c *child) supervise() {
	why := <-c.broken
	owes := c.watch.end()
	close(c.stop)
	c.in.Close()

	grace := time.Duration(0)
	switch {
	case why.farewell && !owes:
		grace = c.timeout
	case why.itself:
		grace = min(lastWords, c.timeout)
	}
	var once sync.Once
	killed := false
	kill := func() {
		once.Do(func() {
			killed = true
			killGroup(c.cmd)
			// something that left the group may hold the other end
			c.out.Close()
		})
	}
	stop := func() bool { return true }
	if grace == 0 {
		kill()
	} else {
		stop = c.after(grace, kill)
	}
	<-c.writerDone
	<-c.readerDone
	waitErr := c.cmd.Wait()
	stop()
	once.Do(func() {}) // from here on the process id may be another's; also orders killed

	if why.itself && !c.readCause.itself {
		why = c.readCause // it said why before it closed the pipe
	}
	failure := &ChildError{Partitioner: c.id, What: why.what, Next: c.next, Stderr: c.stderr.String(), Hide: c.hide, Err: why.err}
	ended := !killed && c.cmd.ProcessState != nil
	switch {
	case why.farewell:
		c.err = fmt.Errorf("partitioner %s: %w", c.id, ErrClosed)
		switch {
		case owes:
			return // killed in the middle of its work, on demand
		case killed:
			failure.What = fmt.Sprintf("it did not end within %s after its stdin was closed, and was killed", grace)
		case !c.readCause.itself:
			failure.What = c.readCause.what
		case waitErr != nil && !errors.Is(waitErr, exec.ErrWaitDelay):
			failure.What = fmt.Sprintf("it ended with %s after its stdin was closed", c.cmd.ProcessState)
		default:
			return
		}
		c.closeErr = failure
		return
	case why.itself && ended:
		failure.What = fmt.Sprintf("%s; the process ended with %s", why.what, c.cmd.ProcessState)
	}
	c.err, c.closeErr = failure, failure
}

func (c *child) close() error {
	c.fail(&cause{farewell: true})
	<-c.dead
	return c.closeErr
}

// watchdog fires when an answer is due for too long: its time runs from its request, or from the answer before it when
// that came later.
type watchdog struct {
	after func(time.Duration, func()) func() bool
	fire  func(limit time.Duration)

	mu    sync.Mutex
	due   int // answers
	limit time.Duration
	stop  func() bool
	round int // of the timer; a timer of an earlier round fires in vain
	ended bool
}

func (w *watchdog) sent(limit time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.limit = limit
	if w.due++; w.due == 1 {
		w.arm()
	}
}

func (w *watchdog) answered() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.disarm()
	if w.due--; w.due > 0 {
		w.arm()
	}
}

// end disarms w for good, and reports whether answers are due.
func (w *watchdog) end() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.disarm()
	w.ended = true
	return w.due > 0
}

func (w *watchdog) arm() {
	if w.ended {
		return
	}
	round, limit := w.round, w.limit
	w.stop = w.after(limit, func() {
		w.mu.Lock()
		late := !w.ended && round == w.round
		w.mu.Unlock()
		if late {
			w.fire(limit)
		}
	})
}

func (w *watchdog) disarm() {
	w.round++
	if w.stop != nil {
		w.stop()
		w.stop = nil
	}
}

// tail keeps the end of what is written to it.
type tail struct {
	most int

	mu  sync.Mutex
	buf []byte
	cut bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p[max(0, len(p)-t.most):]...)
	if over := len(t.buf) - t.most; over > 0 || len(p) > t.most {
		t.buf = append(t.buf[:0], t.buf[max(0, over):]...)
		t.cut = true
	}
	return len(p), nil
}

// String returns the kept text, printable, marked where its beginning is missing.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimSpace(printable(t.buf))
	if t.cut && text != "" {
		return "… " + text
	}
	return text
}
