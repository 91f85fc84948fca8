//go:build unix

package custom

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the command, once started, the leader of a process group, so that what it starts can be killed with it
// and a Ctrl-C at the terminal reaches keyspread alone.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// killGroup kills the command and what it started. The command must not have been waited for.
func killGroup(cmd *exec.Cmd) {
	// the only error is that nothing is left to kill
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
}
