package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"keyspread/analyze/source/kafka/fetchtest"
	"keyspread/analyze/source/synthetic"
	"keyspread/partitioner"
)

// TestDamagedPartition flips one byte in the middle of one partition's log: the report covers everything before the
// damage and every other partition, names the partition and the offset, and the tool exits with 1.
func TestDamagedPartition(t *testing.T) {
	pt, err := partitioner.Parse("java")
	if err != nil {
		t.Fatal(err)
	}
	stream := synthetic.DefaultConfig()
	stream.Records, stream.Keys = 20_000, 2000
	dir := t.TempDir()
	topic := fetchtest.Topic{Name: "orders", Partitions: 3, BatchBytes: 4 << 10, Stream: stream, Partitioner: pt}
	if err := fetchtest.Build(dir, topic); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "orders", "1.log")
	log, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	log[len(log)/2] ^= 0xff
	if err := os.WriteFile(path, log, 0o600); err != nil {
		t.Fatal(err)
	}
	server, err := fetchtest.Start(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()

	var out, talk strings.Builder
	code := run([]string{"analyze", "-b", server.Addr(), "-t", "orders", "-o", "json"}, strings.NewReader(""), &out, &talk)
	if code != exitFailed {
		t.Errorf("exit %d, want %d\n%s", code, exitFailed, talk.String())
	}
	if !strings.Contains(talk.String(), "not everything was read") {
		t.Errorf("stderr %q does not say that the report is incomplete", talk.String())
	}
	var report struct {
		Findings   []struct{ ID string }
		Partitions []struct {
			Partition int
			Records   int64
		}
	}
	if err := json.Unmarshal([]byte(out.String()), &report); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if len(report.Findings) == 0 || report.Findings[0].ID != "incomplete-coverage" {
		t.Errorf("findings %+v do not begin with incomplete-coverage", report.Findings)
	}
	if len(report.Partitions) != 3 {
		t.Fatalf("%d partitions reported, want all 3", len(report.Partitions))
	}
	var total int64
	for _, p := range report.Partitions {
		if p.Records == 0 {
			t.Errorf("partition %d reports nothing, want what was read of it", p.Partition)
		}
		total += p.Records
	}
	// A third of the records is in the damaged partition, the last half of which is lost: about a sixth is missing.
	if total <= 20_000*3/4 || total >= 20_000 {
		t.Errorf("%d of 20000 records reported, want all but the rest of the damaged partition", total)
	}
	out.Reset()
	talk.Reset()
	run([]string{"analyze", "-b", server.Addr(), "-t", "orders"}, strings.NewReader(""), &out, &talk)
	for _, want := range []string{"partition 1", "offset", "checksum"} {
		if !strings.Contains(strings.ToLower(out.String()), strings.ToLower(want)) {
			t.Errorf("the text report does not name %q:\n%s", want, out.String())
		}
	}
}
