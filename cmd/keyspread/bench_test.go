package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"keyspread/analyze/source/kafka/fetchtest"
	"keyspread/analyze/source/synthetic"
	"keyspread/partitioner"
)

func init() { fetchtest.ServeIfChild() }

// BenchmarkAnalyze runs the built tool over 5M records of 12-byte keys, 1M of them distinct and all equally likely, with
// 200-byte values, uncompressed, in 12 partitions, from a server process that only sends files. It prints wall and CPU
// time and the tool's peak resident memory. Run it with -benchtime=3x.
func BenchmarkAnalyze(b *testing.B) {
	dir := b.TempDir()
	tool := filepath.Join(dir, "keyspread")
	if out, err := exec.Command("go", "build", "-o", tool, ".").CombinedOutput(); err != nil {
		b.Fatalf("building the tool: %v\n%s", err, out)
	}
	pt, err := partitioner.Parse("java")
	if err != nil {
		b.Fatal(err)
	}
	stream := synthetic.DefaultConfig()
	stream.Records, stream.Keys, stream.Zipf = 5_000_000, 1_000_000, 0
	stream.KeyPrefix, stream.KeyDigits = "key-", 8
	topics := filepath.Join(dir, "topics")
	err = fetchtest.Build(topics, fetchtest.Topic{
		Name: "million", Partitions: 12, BatchBytes: 64 << 10, Stream: stream, Partitioner: pt,
	})
	if err != nil {
		b.Fatal(err)
	}
	server, err := fetchtest.StartChild(topics)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := server.Stop(); err != nil {
			b.Error(err)
		}
	}()
	var cpuSeconds, peak float64
	for b.Loop() {
		cmd := exec.Command(tool, "analyze", "-b", server.Addr, "-t", "million", "--sample", "full", "-o", "json="+filepath.Join(dir, "report.json"))
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		cpuSeconds += (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
		usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
		if !ok {
			b.Fatal("this system does not tell a process's peak memory")
		}
		peak = max(peak, float64(usage.Maxrss)/1024) // Linux counts KiB
	}
	b.ReportMetric(cpuSeconds/float64(b.N), "cpu-s/op")
	b.ReportMetric(peak, "peak-MiB")
}
