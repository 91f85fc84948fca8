package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

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

// BenchmarkSample sets a sample beside the full read: 20M records in 12 partitions, a key of 10 % in runs of ten, small
// batches as many producers make them. It prints what of the topic was read, how much sooner the sample ends and how much
// less CPU it takes, and fails when its interval does not hold the key's share. Run it with -benchtime=1x.
func BenchmarkSample(b *testing.B) {
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
	stream.Records, stream.Keys, stream.Zipf, stream.KeyDigits = 20_000_000, 200_000, 0.5, 8
	stream.ValueMin, stream.ValueMax = 100, 100
	stream.Hot, stream.HotRun = []synthetic.HotKey{{Key: "key-hot", Share: 0.1}}, 10
	topics := filepath.Join(dir, "topics")
	err = fetchtest.Build(topics, fetchtest.Topic{
		Name: "bursts", Partitions: 12, BatchBytes: 16 << 10, Stream: stream, Partitioner: pt,
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
	type report struct {
		Sample *struct {
			Blocks        int64 `json:"blocks"`
			BlocksDrawn   int64 `json:"blocks_drawn"`
			WireBytesRead int64 `json:"wire_bytes_read"`
		}
		Contents struct {
			WireBytes int64 `json:"wire_bytes"`
		}
		Skew struct {
			Records struct {
				TopKeys []struct {
					Key         struct{ Text string }
					RecordShare struct{ Lo, Hi float64 } `json:"record_share"`
				} `json:"top_keys"`
			}
		}
	}
	analyze := func(mode string) (report, time.Duration, time.Duration) {
		file := filepath.Join(dir, "report.json")
		cmd := exec.Command(tool, "analyze", "-b", server.Addr, "-t", "bursts", "--sample", mode, "--precision", "1pt", "-o", "json="+file)
		cmd.Stderr = os.Stderr
		started := time.Now()
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		wall := time.Since(started)
		text, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		var r report
		if err := json.Unmarshal(text, &r); err != nil {
			b.Fatal(err)
		}
		return r, wall, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	for b.Loop() {
		sampled, wall, cpu := analyze("blocks")
		full, fullWall, fullCPU := analyze("full")
		top := sampled.Skew.Records.TopKeys[0]
		if top.Key.Text != "key-hot" || top.RecordShare.Lo > 0.1 || top.RecordShare.Hi < 0.1 {
			b.Errorf("the sample says %q has %.4f to %.4f, want key-hot around 0.1", top.Key.Text, top.RecordShare.Lo, top.RecordShare.Hi)
		}
		b.ReportMetric(100*float64(sampled.Sample.WireBytesRead)/float64(full.Contents.WireBytes), "%bytes")
		b.ReportMetric(float64(sampled.Sample.BlocksDrawn), "blocks")
		b.ReportMetric(50*(top.RecordShare.Hi-top.RecordShare.Lo), "±points")
		b.ReportMetric(fullWall.Seconds()/wall.Seconds(), "x-sooner")
		b.ReportMetric(fullCPU.Seconds()/cpu.Seconds(), "x-less-cpu")
	}
}
