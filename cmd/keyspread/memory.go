package main

import (
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// What a run holds beside its key tables, about: buffers of connections or of a file, the report, the collector's slack.
const (
	besideKeys      = 40 << 20
	besideKeysShare = 8 // at least this part of the tables
)

// A collector that runs more than mostCycles times in lookEvery, mostBusy times after one another, gets more room, by an
// eighth each time: what a partition has beside its table (loads of candidates, times, sketches) is not known before the
// run, and may be more than the tables.
const (
	lookEvery  = 100 * time.Millisecond
	mostCycles = 2
	mostBusy   = 5
)

// boundMemory keeps the collector from letting garbage grow to the size of the key tables, which it does by default. A limit
// in the environment (GOMEMLIMIT) is the user's and stays. The limit is watched until stop is called.
func boundMemory(tables int64) (stop func()) {
	if os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	limit := tables + max(besideKeys, tables/besideKeysShare)
	debug.SetMemoryLimit(limit)
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		last, busy := cycles(), 0
		for {
			select {
			case <-done:
				return
			case <-tick.C:
			}
			now := cycles()
			if now-last <= mostCycles || heap() < uint64(limit)/2 { // a small heap that grows is collected often
				busy = -1
			}
			if busy++; busy >= mostBusy {
				limit += limit / 8
				debug.SetMemoryLimit(limit)
			}
			last = now
		}
	}()
	return func() { close(done) }
}

// cycles is how often the collector has run.
func cycles() uint64 { return metric("/gc/cycles/total:gc-cycles") }

// heap is how many bytes it found in use the last time.
func heap() uint64 { return metric("/gc/heap/live:bytes") }

func metric(name string) uint64 {
	of := []metrics.Sample{{Name: name}}
	metrics.Read(of)
	return of[0].Value.Uint64()
}
