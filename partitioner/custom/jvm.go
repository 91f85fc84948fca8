package custom

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

//go:embed Shim.java
var shimSource []byte

// javaClass matches a class name as Class.forName takes it.
var javaClass = regexp.MustCompile(`^[\pL_$][\pL\pN_$]*(\.[\pL_$][\pL\pN_$]*)*$`)

// startJVM starts the shim on class.
func startJVM(ctx context.Context, id, class string, opt Options) (c *child, err error) {
	if !javaClass.MatchString(class) {
		return nil, fmt.Errorf("partitioner %q: %q is no name of a Java class; write it as in partitioner.class, such as com.example.OrderPartitioner", id, class)
	}
	if opt.Classpath == "" {
		return nil, fmt.Errorf("partitioner %s has no classpath: give the jars of the class and of kafka-clients as --partitioner-classpath", id)
	}
	dir, err := os.MkdirTemp(opt.TempDir, "keyspread-shim-")
	if err != nil {
		return nil, fmt.Errorf("starting partitioner %s: %w", id, err)
	}
	// the source is needed until the handshake only: the class that answers it has been compiled and loaded
	defer func() {
		if removeErr := os.RemoveAll(dir); removeErr != nil && err == nil {
			err = errors.Join(fmt.Errorf("removing the source of partitioner %s: %w", id, removeErr), c.close())
			c = nil
		}
	}()
	file := filepath.Join(dir, "Shim.java")
	if err := os.WriteFile(file, shimSource, 0o600); err != nil {
		return nil, fmt.Errorf("starting partitioner %s: %w", id, err)
	}
	// half of the start is javac, which the first compiler alone gets through sooner; what follows is short
	argv := []string{opt.JavaPath, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", opt.Classpath, file, class}
	next := "check that java is a JDK of version 11 or later, and that --partitioner-classpath holds the class, what it needs, kafka-clients and slf4j-api"
	c, err = startChild(ctx, id, argv, 3*opt.Timeout, next, opt)
	if failed, ok := errors.AsType[*ChildError](err); ok && strings.Contains(failed.Stderr, "error: compilation failed") {
		failed.What = "kafka-clients is not on its classpath, so the shim does not compile; " + failed.What
	}
	return c, err
}
