package main

import (
	"context"
	"os"
	"runtime/debug"

	"keyspread/analyze/source"
)

// What a run holds beside its key tables, about: buffers of connections or of a file, the report, the collector's slack.
// The slack grows with the tables, and with the partitions what each has of its own: sketches, half-filled chunks, loads
// of candidates. Without room for them the collector would run without end (twice the processor time of a run with 1 GiB
// of keys, ten times that of one with 1000 partitions).
const (
	besideKeys      = 40 << 20
	besideKeysShare = 8        // at least this part of the tables
	perPartition    = 24 << 10 // for each partition more
)

// memorySource keeps the collector from letting garbage grow to the size of the key tables while a source is read, which it
// does by default. A limit in the environment (GOMEMLIMIT) is the user's and stays.
type memorySource struct {
	source.Source
	tables int64 // bytes
}

// Read sets the limit by what the plan names, and reads.
func (s memorySource) Read(ctx context.Context, p *source.Plan, sink source.Sink) ([]source.Coverage, error) {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(s.tables + max(besideKeys, s.tables/besideKeysShare) + perPartition*int64(len(p.Partitions)))
	}
	return s.Source.Read(ctx, p, sink)
}
