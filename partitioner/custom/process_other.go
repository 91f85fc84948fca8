//go:build !unix

package custom

import "os/exec"

// ownGroup does nothing: this system has no process groups that os/exec knows.
func ownGroup(*exec.Cmd) {}

// killGroup kills the command. What it started must see by its closed pipes that it is over.
func killGroup(cmd *exec.Cmd) {
	// the only error is that it has ended
	_ = cmd.Process.Kill()
}
