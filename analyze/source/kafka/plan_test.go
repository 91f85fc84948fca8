package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl/plain"

	"keyspread/analyze/source"
)

func TestPlanAsksEachBrokerOncePerPosition(t *testing.T) {
	t.Parallel()
	const partitions, brokers = 200, 3
	c := newCluster(t, brokers, kfake.SeedTopics(partitions, "wide"), kfake.SeedTopics(3, "other"))
	type question struct {
		node      int32
		timestamp int64
		isolation int8
	}
	var mu sync.Mutex
	metadata, offsets := 0, map[question]int{}
	asked := map[int64]int{} // partitions by timestamp
	c.ControlKey(int16(kmsg.Metadata), func(q kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		mu.Lock()
		defer mu.Unlock()
		metadata++
		if topics := q.(*kmsg.MetadataRequest).Topics; len(topics) != 1 || *topics[0].Topic != "wide" {
			t.Errorf("metadata asked for %d topics, want the one to read", len(topics))
		}
		return nil, nil, false
	})
	c.ControlKey(int16(kmsg.ListOffsets), func(q kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		mu.Lock()
		defer mu.Unlock()
		req := q.(*kmsg.ListOffsetsRequest)
		first := req.Topics[0].Partitions[0].Timestamp
		offsets[question{c.CurrentNode(), first, req.IsolationLevel}]++
		for _, p := range req.Topics[0].Partitions {
			if p.Timestamp != first {
				t.Errorf("one request for timestamps %d and %d", first, p.Timestamp)
			}
			asked[first]++
		}
		return nil, nil, false
	})
	config := testConfig(c, "wide")
	config.Range.Since = 1_700_000_000_000
	_, coverage, _ := readAll(t, config)
	if len(coverage) != partitions {
		t.Errorf("coverage of %d partitions, want %d", len(coverage), partitions)
	}
	if metadata != 1 {
		t.Errorf("%d metadata requests, want 1", metadata)
	}
	// Log start, last stable offset, high watermark, and Since: 4 positions.
	if len(offsets) != 4*brokers {
		t.Errorf("questions %v, want 4 positions for each of %d brokers", offsets, brokers)
	}
	for q, n := range offsets {
		if n != 1 {
			t.Errorf("%d ListOffsets requests to broker %d for timestamp %d, want 1", n, q.node, q.timestamp)
		}
	}
	if asked[earliestOffset] != partitions {
		t.Errorf("the log start was asked for %d partitions, want %d", asked[earliestOffset], partitions)
	}
}

func TestPlanRanges(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, kfake.SeedTopics(3, "ranges"))
	client := newProducer(t, c)
	// Partition p holds 10 records, one a second from second 100 on; partition 2 is empty. Of partition 1 the first 4 are deleted.
	for p := range int32(2) {
		for i := range 10 {
			produce(t, client, &kgo.Record{Topic: "ranges", Partition: p, Key: []byte("k"), Timestamp: time.Unix(int64(100+i), 0)})
		}
	}
	var deleted kadm.Offsets
	deleted.Add(kadm.Offset{Topic: "ranges", Partition: 1, At: 4})
	if _, err := kadm.NewClient(client).DeleteRecords(t.Context(), deleted); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name       string
		partitions []int32
		r          Range
		want       []source.Span
		text       string
	}{
		{name: "all", want: []source.Span{{Partition: 0, Start: 0, End: 10}, {Partition: 1, Start: 4, End: 10}}, text: "earliest..latest"},
		{name: "partition filter", partitions: []int32{2, 1}, want: []source.Span{{Partition: 1, Start: 4, End: 10}}, text: "earliest..latest of partitions 1-2"},
		{name: "tail", r: Range{Tail: 3}, want: []source.Span{{Partition: 0, Start: 7, End: 10}, {Partition: 1, Start: 7, End: 10}}, text: "tail 3"},
		{name: "tail beyond the start", r: Range{Tail: 8}, want: []source.Span{{Partition: 0, Start: 2, End: 10}, {Partition: 1, Start: 4, End: 10}}, text: "tail 8"},
		{
			name: "since", r: Range{Since: 105_000}, text: "1970-01-01T00:01:45Z..latest",
			want: []source.Span{{Partition: 0, Start: 5, End: 10}, {Partition: 1, Start: 5, End: 10}},
		},
		{
			name: "until", r: Range{Until: 105_500}, text: "earliest..1970-01-01T00:01:45.5Z",
			want: []source.Span{{Partition: 0, Start: 0, End: 6}, {Partition: 1, Start: 4, End: 6}},
		},
		{
			name: "since and until", r: Range{Since: 101_000, Until: 103_000}, text: "1970-01-01T00:01:41Z..1970-01-01T00:01:43Z",
			want: []source.Span{{Partition: 0, Start: 1, End: 3}},
		},
		{name: "since after the last record", r: Range{Since: 200_000}, text: "1970-01-01T00:03:20Z..latest"},
		{
			name: "offsets", text: "offsets 0:2-4,0:8-,1:-6",
			r:    Range{Offsets: []OffsetRange{{0, 2, 4}, {0, 8, -1}, {1, -1, 6}}},
			want: []source.Span{{Partition: 0, Start: 2, End: 4}, {Partition: 0, Start: 8, End: 10}, {Partition: 1, Start: 4, End: 6}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			config := testConfig(c, "ranges")
			config.Partitions, config.Range = test.partitions, test.r
			plan, err := newSource(t, config).Plan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(plan.Spans, test.want) {
				t.Errorf("spans %v, want %v", plan.Spans, test.want)
			}
			if plan.Range != test.text {
				t.Errorf("range %q, want %q", plan.Range, test.text)
			}
			if plan.NumPartitions != 3 {
				t.Errorf("%d partitions in all, want 3", plan.NumPartitions)
			}
		})
	}
	for _, test := range []struct {
		name       string
		partitions []int32
		r          Range
		want       []string
	}{
		{name: "offsets below the log start", r: Range{Offsets: []OffsetRange{{1, 2, 6}}}, want: []string{"partition 1", "2-6", "4-10"}},
		{name: "offsets above the end", r: Range{Offsets: []OffsetRange{{0, 2, 60}}}, want: []string{"partition 0", "2-60", "0-10"}},
		{name: "no such partition", partitions: []int32{0, 3}, want: []string{"no partition 3", "it has 3"}},
		{name: "offsets of a partition left out", partitions: []int32{1}, r: Range{Offsets: []OffsetRange{{0, 2, 4}}}, want: []string{"0:2-4", "partition 0"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			config := testConfig(c, "ranges")
			config.Partitions, config.Range = test.partitions, test.r
			_, err := newSource(t, config).Plan(t.Context())
			wantError(t, err, test.want...)
		})
	}
}

// wantError fails the test unless err's text holds every part.
func wantError(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one with %q", parts)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q, want %q in it", err, part)
		}
	}
}

func TestPlanUnknownTopic(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, kfake.SeedTopics(1, "orders.v1", "orders.v2", "payments"), kfake.AllowAutoTopicCreation())
	_, err := newSource(t, testConfig(c, "order.v1")).Plan(t.Context())
	var unknown *UnknownTopicError
	if !errors.As(err, &unknown) || !slices.Equal(unknown.Nearest, []string{"orders.v1", "orders.v2"}) {
		t.Errorf("error %v, want an UnknownTopicError with orders.v1 and orders.v2", err)
	}
	wantError(t, err, `"order.v1"`, `did you mean "orders.v1" or "orders.v2"?`)
	topics, err := newSource(t, testConfig(c, "")).Topics(t.Context())
	if want := []string{"orders.v1", "orders.v2", "payments"}; err != nil || !slices.Equal(topics, want) {
		t.Errorf("topics %v (%v), want %v: nothing is created", topics, err, want)
	}
}

func TestPlanInternalTopic(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1)
	client := newProducer(t, c)
	yes := "true"
	if _, err := kadm.NewClient(client).CreateTopic(t.Context(), 1, 1, map[string]*string{"kfake.is_internal": &yes}, "__inside"); err != nil {
		t.Fatal(err)
	}
	produce(t, client, numbered("__inside", 0, "k", 5)...)
	_, coverage, d := readAll(t, testConfig(c, "__inside"))
	wantComplete(t, coverage)
	wantSequence(t, d, 0, "k", 5)
}

func TestPlanEmptyTopic(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, kfake.SeedTopics(2, "empty"))
	plan, coverage, _ := readAll(t, testConfig(c, "empty"))
	if len(plan.Spans) != 0 || len(plan.Partitions) != 2 || len(coverage) != 2 {
		t.Errorf("plan %+v, coverage %+v, want two partitions and no span", plan, coverage)
	}
	wantComplete(t, coverage)
}

func TestPlanNotAuthorized(t *testing.T) {
	t.Parallel()
	allow := func(op kmsg.ACLOperation) kfake.ACL {
		return kfake.ACL{Resource: kmsg.ACLResourceTypeTopic, Name: "secret", Pattern: kmsg.ACLResourcePatternTypeLiteral, Operation: op, Allow: true}
	}
	c := newCluster(t, 1, kfake.SeedTopics(1, "secret"), kfake.EnableSASL(), kfake.EnableACLs(),
		kfake.Superuser("PLAIN", "root", "root-pw"), kfake.User("PLAIN", "nobody", "pw"),
		kfake.User("PLAIN", "looker", "pw", allow(kmsg.ACLOperationDescribe)))
	root := newProducer(t, c, kgo.SASL(plain.Auth{User: "root", Pass: "root-pw"}.AsMechanism()))
	produce(t, root, numbered("secret", 0, "k", 3)...)
	as := func(user string) Config {
		config := testConfig(c, "secret")
		config.Security = Security{Protocol: "SASL_PLAINTEXT", Mechanism: "PLAIN", Username: user, Password: "pw"}
		return config
	}
	_, err := newSource(t, as("nobody")).Plan(t.Context())
	var denied *TopicAuthorizationError
	if !errors.As(err, &denied) || denied.Operation != "DESCRIBE" {
		t.Errorf("error %v, want a TopicAuthorizationError for DESCRIBE", err)
	}
	s := newSource(t, as("looker"))
	plan, err := s.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	coverage, err := s.Read(t.Context(), plan, newDelivered())
	for _, err := range []error{err, coverage[0].Err} {
		if !errors.As(err, &denied) || denied.Operation != "READ" {
			t.Errorf("error %v, want a TopicAuthorizationError for READ", err)
		}
	}
}

// closedPort returns an address that refuses connections.
func closedPort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// silentPort returns an address that accepts connections and never says a word, unless say is given.
func silentPort(t testing.TB, say ...byte) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			_, _ = c.Write(say)
		}
	}()
	return l.Addr().String()
}

func TestPlanUnreachable(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, kfake.SeedTopics(1, "there"))
	refused, silent := closedPort(t), silentPort(t)
	for _, test := range []struct {
		name    string
		servers []string
		want    []string
	}{
		{name: "refused", servers: []string{refused}, want: []string{refused, "refused"}},
		{name: "silent", servers: []string{silent}, want: []string{silent, "timed out"}},
		{name: "both", servers: []string{refused, silent}, want: []string{refused, silent}},
		{name: "no such host", servers: []string{"no-such-host.invalid:9092"}, want: []string{"no-such-host.invalid:9092"}},
		{name: "web server", servers: []string{silentPort(t, []byte("HTTP/1.1 400 Bad Request\r\n")...)}, want: []string{"not a Kafka listener"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			config := testConfig(c, "there")
			config.BootstrapServers, config.ConnectTimeout = test.servers, 500*time.Millisecond
			start := time.Now()
			_, err := newSource(t, config).Plan(t.Context())
			wantError(t, err, test.want...)
			if took := time.Since(start); took > 3*time.Second {
				t.Errorf("took %v, want about %v", took, config.ConnectTimeout)
			}
		})
	}
	// One bad server among good ones costs its share of the time and no more.
	config := testConfig(c, "there")
	config.BootstrapServers, config.ConnectTimeout = append([]string{silent, refused}, c.ListenAddrs()...), time.Second
	if _, err := newSource(t, config).Plan(t.Context()); err != nil {
		t.Errorf("with one good server of three: %v", err)
	}
}

func TestPlanAdvertisedAddressUnreachable(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, kfake.SeedTopics(2, "hidden"))
	refused := closedPort(t)
	c.ControlKey(int16(kmsg.Metadata), func(q kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		answer := q.ResponseKind().(*kmsg.MetadataResponse)
		broker := kmsg.NewMetadataResponseBroker()
		broker.NodeID, broker.Host = 5, "127.0.0.1"
		_, _ = fmt.Sscanf(refused, "127.0.0.1:%d", &broker.Port)
		topic := kmsg.NewMetadataResponseTopic()
		topic.Topic = new("hidden")
		for i := range int32(2) {
			p := kmsg.NewMetadataResponseTopicPartition()
			p.Partition, p.Leader = i, 5
			topic.Partitions = append(topic.Partitions, p)
		}
		answer.Brokers = append(answer.Brokers, broker)
		answer.Topics = append(answer.Topics, topic)
		return answer, nil, true
	})
	start := time.Now()
	_, err := newSource(t, testConfig(c, "hidden")).Plan(t.Context())
	wantError(t, err, refused, "the cluster advertises", "advertised.listeners")
	if n := strings.Count(err.Error(), refused); n != 1 {
		t.Errorf("error %q names the address %d times, want once for both partitions", err, n)
	}
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("took %v, want no retries", took)
	}
}

func TestPlanPartitionWithoutLeader(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, kfake.SeedTopics(2, "half"))
	produce(t, newProducer(t, c), numbered("half", 1, "k", 4)...)
	rounds := 0
	c.ControlKey(int16(kmsg.ListOffsets), func(q kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		answer := q.ResponseKind().(*kmsg.ListOffsetsResponse)
		rt := q.(*kmsg.ListOffsetsRequest).Topics[0]
		if !slices.ContainsFunc(rt.Partitions, func(p kmsg.ListOffsetsRequestTopicPartition) bool { return p.Partition == 0 }) {
			return nil, nil, false
		}
		rounds++
		topic := kmsg.NewListOffsetsResponseTopic()
		topic.Topic = rt.Topic
		for _, p := range rt.Partitions {
			ap := kmsg.NewListOffsetsResponseTopicPartition()
			ap.Partition, ap.Offset = p.Partition, 4*int64(p.Partition)
			if p.Timestamp == earliestOffset {
				ap.Offset = 0
			}
			if p.Partition == 0 {
				ap.ErrorCode = int16(codeNotLeader)
			}
			topic.Partitions = append(topic.Partitions, ap)
		}
		answer.Topics = append(answer.Topics, topic)
		return answer, nil, true
	})
	config := testConfig(c, "half")
	config.ConnectTimeout = 400 * time.Millisecond
	plan, coverage, d := readAll(t, config)
	if !errors.Is(plan.Partitions[0].Err, codeNotLeader) || plan.Partitions[1].Err != nil {
		t.Errorf("errors %v and %v, want %v and none", plan.Partitions[0].Err, plan.Partitions[1].Err, codeNotLeader)
	}
	if rounds < 3*2 { // three positions a round
		t.Errorf("%d requests for the partition in trouble, want it asked for again", rounds)
	}
	if coverage[0].Complete() || !coverage[1].Complete() {
		t.Errorf("coverage %+v, want only partition 1 complete", coverage)
	}
	wantSequence(t, d, 1, "k", 4)
}

func TestPlanWaitsForANewTopic(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, kfake.SeedTopics(2, "young"))
	rounds := 0
	c.ControlKey(int16(kmsg.Metadata), func(q kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if rounds++; rounds > 2 {
			return nil, nil, false
		}
		answer := q.ResponseKind().(*kmsg.MetadataResponse)
		topic := kmsg.NewMetadataResponseTopic()
		topic.Topic, topic.ErrorCode = new("young"), int16(codeLeaderNotAvailable)
		answer.Topics = append(answer.Topics, topic)
		return answer, nil, true
	})
	_, coverage, _ := readAll(t, testConfig(c, "young"))
	if len(coverage) != 2 || rounds != 3 {
		t.Errorf("coverage of %d partitions after %d rounds, want 2 after 3", len(coverage), rounds)
	}
}

func TestPlanEndsWithTheContext(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, kfake.SeedTopics(1, "there"))
	config := testConfig(c, "there")
	config.BootstrapServers = []string{silentPort(t)}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := newSource(t, config).Plan(ctx); err == nil || time.Since(start) > 2*time.Second {
		t.Errorf("error %v after %v, want one soon after the context's end", err, time.Since(start))
	}
}

func TestPlanNoCommonVersion(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, kfake.SeedTopics(1, "new"))
	c.ControlKey(int16(kmsg.ApiVersions), func(q kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		answer := q.ResponseKind().(*kmsg.ApiVersionsResponse)
		for key, v := range map[int16][2]int16{1: {12, 17}, 2: {1, 9}, 3: {0, 12}} {
			answer.ApiKeys = append(answer.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: key, MinVersion: v[0], MaxVersion: v[1]})
		}
		return answer, nil, true
	})
	_, err := newSource(t, testConfig(c, "new")).Plan(t.Context())
	wantError(t, err, "Fetch", "v12 to v17", "v4 to v11")
}

func TestNearest(t *testing.T) {
	t.Parallel()
	// Distances to "ordrs": orders 1, ordres 1, borders 2, order 2, payments 7; to "shipping" all above 2.
	names := []string{"order", "borders", "ordres", "payments", "orders"}
	for _, test := range []struct {
		topic string
		want  []string
	}{
		{"ordrs", []string{"orders", "ordres", "borders"}},
		{"shipping", nil},
		{"", nil},
	} {
		if got := nearest(test.topic, names); !slices.Equal(got, test.want) {
			t.Errorf("nearest(%q) = %q, want %q", test.topic, got, test.want)
		}
	}
}

func TestEditDistance(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"kitten", "sitting", 3}, // the textbook's example
		{"order", "orders", 1},
	} {
		if got := editDistance(test.a, test.b); got != test.want {
			t.Errorf("editDistance(%q, %q) = %d, want %d", test.a, test.b, got, test.want)
		}
	}
}
