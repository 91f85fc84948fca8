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

// TestIntegrationJVMPartitioner compiles a partitioner of a user's, has the Java producer place keys with it, and holds
// against that where jvm:CLASS places the same keys. analyze, told of the class, must find that it explains them all;
// not told, it must not say that another partitioner does so.
func TestIntegrationJVMPartitioner(t *testing.T) {
	c := newRealKafka(t)
	tool := buildTool(t)
	const class = "ShopPartitioner"
	bin, err := filepath.Abs("../../.ci/clients/bin")
	if err != nil {
		t.Fatal(err)
	}
	producer := filepath.Join(bin, "classes")
	if _, err := os.Stat(filepath.Join(producer, "Producer.class")); err != nil {
		lacking(t, "the Java producer is not compiled; .ci/clients/build compiles it")
	}
	jars, err := exec.Command("../../.ci/kafka", "classpath").Output()
	if err != nil {
		t.Fatalf("asking for the classpath: %v", err)
	}
	kafka, own := strings.TrimSpace(string(jars)), t.TempDir()
	if out, err := exec.Command("javac", "-d", own, "-cp", kafka, "../../.ci/clients/java/"+class+".java").CombinedOutput(); err != nil {
		t.Fatalf("compiling %s: %v\n%s", class, err, out)
	}
	classpath := own + ":" + kafka
	keys := clientKeys()
	keysFile := writeKeys(t, keys)
	for _, n := range []int32{7, 12} {
		topic := c.topic(t, "jvm", int(n))
		java := exec.Command("java", "-Dlog4j2.level=ERROR", "-cp", classpath+":"+producer, "Producer", c.addr, topic, keysFile, class)
		if out, err := java.CombinedOutput(); err != nil {
			t.Fatalf("the Java producer with %s: %v\n%s", class, err, out)
		}
		p, err := custom.Open(t.Context(), "jvm:"+class, custom.Options{
			Topic: topic, Partitions: n, Classpath: classpath,
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
		told := &c.analyzePlacement(t, tool, topic, "--partitioner", "jvm:"+class, "--partitioner-classpath", classpath).Placement
		if told.Answer != "explained" || len(told.Writers) != 1 || told.Writers[0].Partitioner != "jvm:"+class || told.Writers[0].Records.Lo != 1 {
			t.Errorf("n=%d: told of the class, analyze says %s of %+v; want that it explains all", n, told.Answer, told.Writers)
		}
		// the class hashes by murmur2 itself, of which a part may show
		if p := &c.analyzePlacement(t, tool, topic).Placement; p.Answer == "explained" || p.Other.Records.Lo < 0.5 {
			t.Errorf("n=%d: not told of the class, analyze says %s of %+v, other %+v; want most unexplained", n, p.Answer, p.Writers, p.Other)
		}
	}
}
