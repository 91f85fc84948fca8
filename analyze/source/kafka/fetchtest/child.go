package fetchtest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// childFolder is the environment variable that makes a test binary the server of that folder.
const childFolder = "KEYSPREAD_FETCHTEST_DIR"

// ServeIfChild serves and does not return when the process was started by [StartChild]. A test binary that uses
// StartChild calls it from an init function.
func ServeIfChild() {
	dir := os.Getenv(childFolder)
	if dir == "" {
		return
	}
	s, err := Start(dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "fetchtest:", err)
		os.Exit(1)
	}
	fmt.Println(s.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin) // until the parent goes away, however it does
	os.Exit(0)
}

// Child is a server in a process of its own.
type Child struct {
	Addr  string // host:port
	cmd   *exec.Cmd
	stdin io.Closer
}

// StartChild starts this test binary again as the server of dir.
func StartChild(dir string) (*Child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childFolder+"="+dir)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &Child{cmd: cmd, stdin: stdin}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("the fetch server told no address (does an init function call ServeIfChild?): %w", errors.Join(err, c.Stop()))
	}
	c.Addr = strings.TrimSpace(line)
	return c, nil
}

// Stop ends the process and waits for it.
func (c *Child) Stop() error {
	return errors.Join(c.stdin.Close(), c.cmd.Wait())
}
