package kafka

import (
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"time"

	"keyspread/analyze/source"
)

// Config says which topic is read, from where and how. [DefaultConfig] gives every field but BootstrapServers and Topic
// a usable value; in [New] a zero field stands for its default.
type Config struct {
	BootstrapServers []string // host:port; port 9092 when none is given
	ClientID         string   // what brokers see and put quotas on: "keyspread/<version>"
	Topic            string
	Isolation        source.Isolation
	Partitions       []int32 // those to read; nil: all
	Range            Range
	Rack             string // client.rack: read from a replica near by, when the brokers name one
	Security         Security
	AskSizes         bool // let Plan ask what the partitions take on disk; brokers that refuse are no error

	ConnectTimeout time.Duration // for reaching the cluster and planning, all attempts together
	RequestTimeout time.Duration // for one answer of a broker that is connected
	RetryFor       time.Duration // how long a partition may be in trouble, without progress, before it is given up

	Connections       int           // connections that fetch at once, at least one per broker; 0: one per CPU
	MaxBytes          int32         // bytes of one Fetch answer; a single larger batch still comes
	PartitionMaxBytes int32         // bytes of one partition in it
	MaxWait           time.Duration // how long a broker may hold a Fetch it has no records for
	MaxRate           int64         // bytes per second over all connections; 0: no limit. Below 1 MB/s traffic comes in lumps

	// OnProgress, when set, is called after every Fetch answer, by one goroutine at a time. It must not block.
	OnProgress func(Progress)
}

// Progress is how far a [Source.Read] has come.
type Progress struct {
	Bytes   int64 // received in Fetch answers, framing included
	Records int64 // delivered
	Offsets int64 // settled or lost, of the Asked ones
	Asked   int64 // offsets of all spans
}

// DefaultConfig returns the defaults: read_committed, everything from earliest to latest, plaintext, 10 s to connect,
// 30 s for an answer, 60 s of trouble, 1 MiB per answer.
func DefaultConfig() Config {
	return Config{
		ClientID:          "keyspread",
		ConnectTimeout:    10 * time.Second,
		RequestTimeout:    30 * time.Second,
		RetryFor:          60 * time.Second,
		MaxBytes:          1 << 20,
		PartitionMaxBytes: 1 << 20,
		MaxWait:           500 * time.Millisecond,
	}
}

// withDefaults returns c with defaults in place of zeros and addresses in their full form.
func (c Config) withDefaults() Config {
	d := DefaultConfig()
	setDefault(&c.ClientID, d.ClientID)
	setDefault(&c.ConnectTimeout, d.ConnectTimeout)
	setDefault(&c.RequestTimeout, d.RequestTimeout)
	setDefault(&c.RetryFor, d.RetryFor)
	setDefault(&c.Connections, runtime.GOMAXPROCS(0))
	setDefault(&c.MaxBytes, d.MaxBytes)
	setDefault(&c.PartitionMaxBytes, d.PartitionMaxBytes)
	setDefault(&c.MaxWait, d.MaxWait)
	servers := make([]string, 0, len(c.BootstrapServers))
	for _, s := range c.BootstrapServers {
		servers = append(servers, fullAddress(s))
	}
	c.BootstrapServers = servers
	return c
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// fullAddress strips a listener name as in PLAINTEXT://host:port and adds the port when there is none.
func fullAddress(s string) string {
	if _, rest, found := strings.Cut(s, "://"); found {
		s = rest
	}
	if _, _, err := net.SplitHostPort(s); err == nil {
		return s
	}
	return net.JoinHostPort(strings.Trim(s, "[]"), "9092")
}

// SplitServers splits a comma-separated list of bootstrap servers.
func SplitServers(s string) []string {
	var list []string
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item != "" {
			list = append(list, item)
		}
	}
	return list
}

// Validate reports the first field that cannot be right. It opens no file and no connection.
func (c Config) Validate() error {
	switch {
	case len(c.BootstrapServers) == 0:
		return errors.New("no bootstrap server given")
	case c.ConnectTimeout < 0 || c.RequestTimeout < 0 || c.RetryFor < 0 || c.MaxWait < 0:
		return errors.New("a timeout is negative")
	case c.MaxWait > 0 && c.RequestTimeout > 0 && c.MaxWait >= c.RequestTimeout:
		return fmt.Errorf("max wait %v is not below the request timeout %v", c.MaxWait, c.RequestTimeout)
	case c.Connections < 0 || c.MaxBytes < 0 || c.PartitionMaxBytes < 0:
		return errors.New("connections, max bytes and partition max bytes must not be negative")
	case c.MaxRate < 0:
		return fmt.Errorf("max rate %d bytes/s: want a number above 0", c.MaxRate)
	}
	if err := c.Range.Validate(); err != nil {
		return err
	}
	return c.Security.validate()
}
