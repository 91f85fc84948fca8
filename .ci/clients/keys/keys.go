// Package keys reads the keys that every client of this module writes.
package keys

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
)

// Args are the four arguments of every client.
type Args struct {
	Broker, Topic, Partitioner string
	Keys                       [][]byte // by index; nil: null key, non-nil of length 0: empty key
}

// Run parses the program's arguments, calls write, and ends the program with 1 and a line on standard error when
// either did not work.
func Run(write func(Args) error) {
	if err := run(write); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[0], err)
		os.Exit(1)
	}
}

func run(write func(Args) error) error {
	if len(os.Args) != 5 {
		return fmt.Errorf("want BROKER TOPIC KEYSFILE PARTITIONER, got %d arguments", len(os.Args)-1)
	}
	a := Args{Broker: os.Args[1], Topic: os.Args[2], Partitioner: os.Args[4]}
	var err error
	if a.Keys, err = read(os.Args[3]); err != nil {
		return err
	}
	return write(a)
}

func read(name string) ([][]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var keys [][]byte
	s := bufio.NewScanner(f)
	s.Buffer(nil, 16<<20)
	for s.Scan() {
		var row struct{ Hex *string }
		if err := json.Unmarshal(s.Bytes(), &row); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, len(keys)+1, err)
		}
		var key []byte
		if row.Hex != nil {
			if key, err = hex.DecodeString(*row.Hex); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, len(keys)+1, err)
			}
			if key == nil {
				key = []byte{}
			}
		}
		keys = append(keys, key)
	}
	return keys, s.Err()
}
