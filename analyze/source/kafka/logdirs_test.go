package kafka

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"keyspread/analyze/source"
)

// planSizes plans a topic of 4 partitions on 2 brokers, whose answers to DescribeLogDirs are made by control.
func planSizes(t *testing.T, ask bool, control func(*kmsg.DescribeLogDirsRequest) (kmsg.Response, error, bool)) (*source.Plan, *kfake.Cluster, int) {
	t.Helper()
	c := newCluster(t, 2, kfake.SeedTopics(4, "sized"))
	spreadLeaders(t, c, "sized", 4)
	client := newProducer(t, c)
	for p := range int32(4) {
		produceBatches(t, client, "sized", p, "k", 10*int(p+1))
	}
	requests := make(chan struct{}, 100)
	c.ControlKey(int16(kmsg.DescribeLogDirs), func(q kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		requests <- struct{}{}
		return control(q.(*kmsg.DescribeLogDirsRequest))
	})
	config := testConfig(c, "sized")
	config.AskSizes = ask
	plan, err := newSource(t, config).Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return plan, c, len(requests)
}

func untouched(*kmsg.DescribeLogDirsRequest) (kmsg.Response, error, bool) { return nil, nil, false }

func diskBytes(p *source.Plan) []int64 {
	var list []int64
	for _, part := range p.Partitions {
		list = append(list, part.DiskBytes)
	}
	return list
}

func TestPlanAsksForSizes(t *testing.T) {
	t.Parallel()
	plan, c, requests := planSizes(t, true, untouched)
	if requests != 2 || len(plan.Notes) > 0 {
		t.Errorf("%d requests and notes %q, want one for each broker and none", requests, plan.Notes)
	}
	c.ControlKey(int16(kmsg.DescribeLogDirs), func(kmsg.Request) (kmsg.Response, error, bool) { return nil, nil, false })
	described, err := kadm.NewClient(newProducer(t, c)).DescribeAllLogDirs(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	// kfake tells the same of every partition from each of its brokers; any will do.
	want := make([]int64, 4)
	for _, dirs := range described {
		dirs.EachPartition(func(p kadm.DescribedLogDirPartition) { want[p.Partition] = p.Size })
	}
	if got := diskBytes(plan); !slices.Equal(got, want) || want[0] == 0 || want[3] <= want[0] {
		t.Errorf("sizes %d, want %d as franz-go reads them", got, want)
	}
}

func TestPlanAsksForNoSizesUntold(t *testing.T) {
	t.Parallel()
	plan, _, requests := planSizes(t, false, untouched)
	if got, want := diskBytes(plan), make([]int64, 4); requests != 0 || !slices.Equal(got, want) || len(plan.Notes) > 0 {
		t.Errorf("%d requests, sizes %d and notes %q, want none of them", requests, got, plan.Notes)
	}
}

func TestPlanWithoutSizes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		control func(*kmsg.DescribeLogDirsRequest) (kmsg.Response, error, bool)
		note    []string
		some    bool // are known
	}{
		{"not authorized", func(q *kmsg.DescribeLogDirsRequest) (kmsg.Response, error, bool) {
			return q.ResponseKind(), nil, true // before version 3 the error has no place in the answer
		}, []string{"partitions 0-3", "DESCRIBE on the cluster"}, false},
		{"broken directory", func(q *kmsg.DescribeLogDirsRequest) (kmsg.Response, error, bool) {
			answer := q.ResponseKind().(*kmsg.DescribeLogDirsResponse)
			bad, good := kmsg.NewDescribeLogDirsResponseDir(), kmsg.NewDescribeLogDirsResponseDir()
			bad.Dir, bad.ErrorCode, good.Dir = "/a", int16(codeKafkaStorage), "/b"
			topic := kmsg.NewDescribeLogDirsResponseDirTopic()
			topic.Topic = q.Topics[0].Topic
			part := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
			part.Partition, part.Size = q.Topics[0].Partitions[0], 77
			topic.Partitions = append(topic.Partitions, part)
			good.Topics = append(good.Topics, topic)
			answer.Dirs = append(answer.Dirs, bad, good)
			return answer, nil, true
		}, []string{"size on disk not known of partitions", "(56)"}, true},
		{"connection lost", func(*kmsg.DescribeLogDirsRequest) (kmsg.Response, error, bool) {
			return nil, errors.New("lost"), true
		}, []string{"partitions 0-3", "closed the connection"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			plan, _, _ := planSizes(t, true, test.control)
			if len(plan.Notes) != 1 {
				t.Fatalf("notes %q, want one", plan.Notes)
			}
			for _, part := range test.note {
				if !strings.Contains(plan.Notes[0], part) {
					t.Errorf("note %q, want one with %q", plan.Notes[0], part)
				}
			}
			if some := slices.Contains(diskBytes(plan), 77); some != test.some {
				t.Errorf("sizes %d, want some known: %v", diskBytes(plan), test.some)
			}
		})
	}
}

func TestPlanWhereSizesAreNotOffered(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, kfake.SeedTopics(1, "old"))
	c.ControlKey(int16(kmsg.ApiVersions), func(q kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		answer := q.ResponseKind().(*kmsg.ApiVersionsResponse)
		for key, most := range map[int16]int16{1: 5, 2: 2, 3: 4} { // Kafka 0.11
			answer.ApiKeys = append(answer.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: key, MaxVersion: most})
		}
		return answer, nil, true
	})
	config := testConfig(c, "old")
	config.AskSizes = true
	plan, err := newSource(t, config).Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Notes) != 1 || !strings.Contains(plan.Notes[0], "does not offer DescribeLogDirs") {
		t.Errorf("notes %q, want one that the broker does not offer DescribeLogDirs", plan.Notes)
	}
}

// logDirsBody encodes an answer of version 1 with franz-go: topic "t", partition 0 in two directories, in one of them on
// its way there, partition 1 of another topic too.
func logDirsBody() []byte {
	m := kmsg.NewPtrDescribeLogDirsResponse()
	m.SetVersion(1)
	for i, name := range []string{"t", "other", "t"} {
		part := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
		part.Partition, part.Size, part.OffsetLag, part.IsFuture = int32(i%2), int64(100+i), 5, i == 2
		topic := kmsg.NewDescribeLogDirsResponseDirTopic()
		topic.Topic, topic.Partitions = name, append(topic.Partitions, part)
		dir := kmsg.NewDescribeLogDirsResponseDir()
		dir.Dir, dir.Topics = "/data", append(dir.Topics, topic)
		m.Dirs = append(m.Dirs, dir)
	}
	return m.AppendTo(nil)
}

func TestParseLogDirs(t *testing.T) {
	t.Parallel()
	body := logDirsBody()
	got, err := parseLogDirs(body, "t")
	if want := map[int32]int64{0: 100}; err != nil || !maps.Equal(got, want) {
		t.Errorf("sizes %v (%v), want %v", got, err, want)
	}
	for n := range body {
		if _, err := parseLogDirs(body[:n], "t"); err == nil {
			t.Errorf("the first %d of %d bytes gave no error", n, len(body))
		}
	}
	if _, err := parseLogDirs(append(body, 0), "t"); err == nil || !strings.Contains(err.Error(), "left over") {
		t.Errorf("a byte too many: error %v, want one that says so", err)
	}
}

func TestLogDirsRequest(t *testing.T) {
	t.Parallel()
	q := kmsg.NewPtrDescribeLogDirsRequest()
	q.SetVersion(1)
	if err := q.ReadFrom(logDirsRequest("orders", []leadership{{id: 3}, {id: 500}})); err != nil {
		t.Fatal(err)
	}
	if len(q.Topics) != 1 || q.Topics[0].Topic != "orders" || !slices.Equal(q.Topics[0].Partitions, []int32{3, 500}) {
		t.Errorf("franz-go reads %+v, want partitions 3 and 500 of orders", q.Topics)
	}
}

// FuzzParseLogDirs: whatever comes is parsed or refused without a panic, and what franz-go reads too has the same sizes
// there. franz-go refuses a null name, which is taken for an empty one here.
func FuzzParseLogDirs(f *testing.F) {
	f.Add(logDirsBody())
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := parseLogDirs(body, "t")
		if err != nil {
			return
		}
		m := kmsg.NewPtrDescribeLogDirsResponse()
		m.SetVersion(1)
		if err := m.ReadFrom(body); err != nil {
			return
		}
		want := map[int32]int64{}
		for _, dir := range m.Dirs {
			for _, topic := range dir.Topics {
				for _, p := range topic.Partitions {
					if topic.Topic == "t" && !p.IsFuture && p.Size >= 0 {
						want[p.Partition] += p.Size
					}
				}
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("sizes %v, franz-go reads %v", got, want)
		}
	})
}
