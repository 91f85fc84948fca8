package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"keyspread/partitioner/custom"
)

// TestIntegrationJVMPartitioner runs a partitioner class of a user's through jvm:CLASS, and holds its answers against
// where the Java producer, given the same class, puts the same keys.
func TestIntegrationJVMPartitioner(t *testing.T) {
	c := newRealKafka(t)
	const class = "ShopPartitioner"
	bin, err := filepath.Abs("../../.ci/clients/bin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(bin, "classes", class+".class")); err != nil {
		lacking(t, "%s is not compiled; .ci/clients/build compiles it", class)
	}
	jars, err := exec.Command("../../.ci/kafka", "classpath").Output()
	if err != nil {
		t.Fatalf("asking for the classpath: %v", err)
	}
	keys := clientKeys()
	keysFile := writeKeys(t, keys)
	for _, n := range []int32{7, 12} {
		topic := c.topic(t, "jvm", int(n))
		if out, err := exec.Command(filepath.Join(bin, "java"), c.addr, topic, keysFile, class).CombinedOutput(); err != nil {
			t.Fatalf("the Java producer with %s: %v\n%s", class, err, out)
		}
		p, err := custom.Open(t.Context(), "jvm:"+class, custom.Options{
			Topic: topic, Partitions: n, Classpath: filepath.Join(bin, "classes") + ":" + strings.TrimSpace(string(jars)),
		})
		if err != nil {
			t.Fatalf("starting the partitioner: %v", err)
		}
		placed, keyed := make([]int32, len(keys)), make([]bool, len(keys))
		if err := p.PlaceBatch(keys, []int32{n}, placed, keyed); err != nil {
			t.Errorf("placing %d keys over %d partitions: %v", len(keys), n, err)
		}
		if err := p.Close(); err != nil {
			t.Errorf("ending the partitioner: %v", err)
		}
		_, records := c.readFranz(t, topic, kgo.ReadUncommitted())
		if len(records) != len(keys) {
			t.Errorf("n=%d: the Java producer wrote %d records, want %d", n, len(records), len(keys))
		}
		used := make(map[int32]bool)
		for _, r := range records {
			i, err := strconv.Atoi(string(r.Value))
			if err != nil || i < 0 || i >= len(keys) {
				t.Fatalf("n=%d: unexpected value %q", n, r.Value)
			}
			used[r.Partition] = true
			if !keyed[i] || placed[i] != r.Partition {
				t.Errorf("n=%d: key %x is in partition %d, jvm:%s says %d (keyed: %t)", n, keys[i], r.Partition, class, placed[i], keyed[i])
			}
		}
		if len(used) != int(n) {
			t.Errorf("n=%d: %d partitions are in use, want all, as fewer show less", n, len(used))
		}
	}
}
