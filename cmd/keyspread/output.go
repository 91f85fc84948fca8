package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// target is where an output file's bytes go.
type target struct {
	name    string
	stream  *os.File    // standard output or error, when the name means one of them
	inPlace bool        // a device, a pipe or a link to nothing: opened, never replaced
	path    string      // what is replaced otherwise: the name with its links followed
	old     fs.FileInfo // of what is there; nil: nothing
}

// findTarget finds out what writing to name means. It opens nothing.
func findTarget(name string) (target, error) {
	t := target{name: name, path: name}
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(name); err == nil {
			t.inPlace = true
		}
		return t, nil
	}
	if err != nil {
		return t, t.failed(err)
	}
	if info.IsDir() {
		return t, t.failed(errors.New("it is a folder"))
	}
	t.old, t.inPlace = info, !info.Mode().IsRegular()
	for _, std := range []*os.File{os.Stdout, os.Stderr} {
		if own, err := std.Stat(); err == nil && os.SameFile(own, info) {
			t.stream = std
		}
	}
	if !t.inPlace && t.stream == nil {
		if t.path, err = filepath.EvalSymlinks(name); err != nil {
			return t, t.failed(err)
		}
	}
	return t, nil
}

// failed names the output in an error of the system, which may name a file beside it.
func (t target) failed(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	return fmt.Errorf("writing %s: %w", t.name, err)
}

// beside creates a new file in the folder of what is to be replaced.
func (t target) beside() (*os.File, error) {
	name := filepath.Join(filepath.Dir(t.path), ".keyspread-"+rand.Text())
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) // less the umask
}

// check reports whether the target can be written to, and leaves it as it is. A pipe is not opened: that may wait.
func (t target) check() error {
	if t.inPlace || t.stream != nil {
		return nil
	}
	if t.old != nil {
		old, err := os.OpenFile(t.path, os.O_WRONLY, 0)
		if err != nil {
			return t.failed(err)
		}
		return old.Close() // a folder that takes no new file does not matter then
	}
	file, err := t.beside()
	if err != nil {
		return t.failed(err)
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// same reports whether two targets are one file. Streams and devices take what comes from several.
func (t target) same(u target) bool {
	if t.inPlace || u.inPlace || t.stream != nil || u.stream != nil {
		return false
	}
	if t.old != nil && u.old != nil {
		return os.SameFile(t.old, u.old)
	}
	return t.old == nil && u.old == nil && newPath(t.path) == newPath(u.path)
}

// newPath names a file that is not there yet, whatever way leads to its folder.
func newPath(name string) string {
	folder, err := filepath.EvalSymlinks(filepath.Dir(name))
	if err == nil {
		folder, err = filepath.Abs(folder)
	}
	if err != nil {
		return filepath.Clean(name)
	}
	return filepath.Join(folder, filepath.Base(name))
}

// checkTargets refuses, before anything is read, outputs that could not be written in the end: no such folder, no
// permission, one file named twice, or an input's file. Empty names are passed over.
func checkTargets(outputs []string, inputs ...string) error {
	var targets []target
	for _, name := range outputs {
		if name == "" {
			continue
		}
		t, err := findTarget(name)
		if err != nil {
			return err
		}
		for _, u := range targets {
			if t.same(u) {
				return fmt.Errorf("%s and %s are one file: each output needs its own", u.name, name)
			}
		}
		for _, input := range inputs {
			info, err := os.Stat(input)
			if err == nil && t.old != nil && !t.inPlace && os.SameFile(info, t.old) {
				return fmt.Errorf("%s is the input: name another file for the output", name)
			}
		}
		if err := t.check(); err != nil {
			return err
		}
		targets = append(targets, t)
	}
	return nil
}

// writeFile writes a file beside its place and moves it there when it is whole; a device, a pipe or a link to nothing is
// written to as it stands.
func writeFile(name string, write func(io.Writer) error) error {
	t, err := findTarget(name)
	if err != nil {
		return err
	}
	switch {
	case t.stream != nil:
		err = write(t.stream)
	case t.inPlace:
		err = writeInPlace(name, write)
	default:
		err = t.replace(write)
	}
	if err != nil {
		return t.failed(err)
	}
	return nil
}

func writeInPlace(name string, write func(io.Writer) error) error {
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

func (t target) replace(write func(io.Writer) error) (err error) {
	if err := t.check(); err != nil {
		return err
	}
	file, err := t.beside()
	if err != nil {
		if t.old != nil {
			return writeInPlace(t.path, write) // the file may be written, only its folder not
		}
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	err = write(file)
	if t.old != nil {
		err = errors.Join(err, file.Chmod(t.old.Mode().Perm()))
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), t.path)
}
