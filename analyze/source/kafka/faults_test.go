package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"keyspread/analyze/source"
)

// wantSequence fails the test unless a partition's keys are those of numbered(topic, partition, prefix, n).
func wantSequence(t testing.TB, d *delivered, partition int32, prefix string, n int) {
	t.Helper()
	got := d.keys(partition)
	if len(got) != n {
		t.Errorf("partition %d: %d records, want %d", partition, len(got), n)
		return
	}
	for i, k := range got {
		if want := fmt.Sprintf("%s%d", prefix, i); k != want {
			t.Errorf("partition %d: record %d has key %q, want %q", partition, i, k, want)
			return
		}
	}
}

// trickle makes reading slow enough for something to happen meanwhile: answers of one batch. MaxBytes is left alone, as
// kfake forgets the aborted transactions of an answer that reaches it.
func trickle(config Config) Config {
	config.PartitionMaxBytes, config.Connections = 1, 1
	return config
}

// produceBatches writes n records to a partition, in batches of 10.
func produceBatches(t testing.TB, client *kgo.Client, topic string, partition int32, prefix string, n int) {
	t.Helper()
	all := numbered(topic, partition, prefix, n)
	for chunk := range slices.Chunk(all, 10) {
		produce(t, client, chunk...)
	}
}

// onFirst is a sink that calls a function before it passes on the first batch.
type onFirst struct {
	*delivered
	once sync.Once
	f    func()
}

func (s *onFirst) Batch(b *source.Batch) error {
	s.once.Do(s.f)
	return s.delivered.Batch(b)
}

// readDuring plans, and reads while f runs after the first batch.
func readDuring(t testing.TB, config Config, f func()) ([]source.Coverage, *delivered) {
	t.Helper()
	s := newSource(t, config)
	plan, err := s.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sink := &onFirst{delivered: newDelivered(), f: f}
	coverage, err := s.Read(t.Context(), plan, sink)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range sink.errs {
		t.Error(e)
	}
	return coverage, sink.delivered
}

func TestReadFollowsALeaderThatMoves(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 3, kfake.SeedTopics(2, "moving"))
	client := newProducer(t, c)
	for p := range int32(2) {
		produceBatches(t, client, "moving", p, "k", 200)
	}
	move := func() {
		for p := range int32(2) {
			if err := c.MoveTopicPartition("moving", p, (c.LeaderFor("moving", p)+1)%3); err != nil {
				t.Error(err)
			}
		}
	}
	coverage, d := readDuring(t, trickle(testConfig(c, "moving")), move)
	wantComplete(t, coverage)
	for p := range int32(2) {
		wantSequence(t, d, p, "k", 200)
	}
}

func TestReadSurvivesBrokenConnections(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, kfake.SeedTopics(3, "broken"))
	client := newProducer(t, c)
	for p := range int32(3) {
		produceBatches(t, client, "broken", p, "k", 100)
	}
	var fetches atomic.Int64
	c.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		if fetches.Add(1)%7 == 0 { // every seventh request costs its connection
			return nil, errors.New("connection lost"), true
		}
		return nil, nil, false
	})
	coverage, d := readDuring(t, trickle(testConfig(c, "broken")), func() {})
	wantComplete(t, coverage)
	for p := range int32(3) {
		wantSequence(t, d, p, "k", 100)
	}
	if fetches.Load() < 7 {
		t.Errorf("%d fetches: no connection was broken", fetches.Load())
	}
}

// cuttingListener closes its first connections in the middle of what the broker writes.
type cuttingListener struct {
	net.Listener
	cuts atomic.Int64 // connections to cut
}

func (l *cuttingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &cutConn{Conn: c, l: l, left: 4000}, nil
}

// cutConn writes so many bytes, then, while its listener has cuts left, breaks.
type cutConn struct {
	net.Conn
	l    *cuttingListener
	left int
}

func (c *cutConn) Write(b []byte) (int, error) {
	if c.left -= len(b); c.left >= 0 || c.l.cuts.Add(-1) < 0 {
		return c.Conn.Write(b)
	}
	_, _ = c.Conn.Write(b[:len(b)/2])
	_ = c.Close()
	return 0, net.ErrClosed
}

func TestReadSurvivesAnswersThatBreakOff(t *testing.T) {
	t.Parallel()
	const cuts = 5
	cutting := &cuttingListener{}
	c := newCluster(t, 1, kfake.SeedTopics(2, "cut"), kfake.ListenFn(func(network, address string) (net.Listener, error) {
		l, err := net.Listen(network, address)
		cutting.Listener = l
		return cutting, err
	}))
	client := newProducer(t, c, kgo.ProducerBatchCompression(kgo.NoCompression()))
	for p := range int32(2) {
		produceBatches(t, client, "cut", p, "k", 300)
	}
	cutting.cuts.Store(cuts)
	config := testConfig(c, "cut")
	config.PartitionMaxBytes = 2000 // a few batches an answer
	_, coverage, d := readAll(t, config)
	wantComplete(t, coverage)
	for p := range int32(2) {
		wantSequence(t, d, p, "k", 300)
	}
	if left := cutting.cuts.Load(); left > 0 {
		t.Errorf("%d of %d connections were cut", cuts-left, cuts)
	}
}

func TestReplicaIsUsedForAWhile(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	p := newPartition(0, []source.Span{{End: 10}}, 1)
	p.leader.leader = 3
	p.replica, p.replicaUntil = 7, now.Add(replicaFor)
	if got := p.broker(now.Add(replicaFor - 1)); got != 7 {
		t.Errorf("broker %d before the time is over, want the replica 7", got)
	}
	if got := p.broker(now.Add(replicaFor)); got != 3 || p.replica != -1 {
		t.Errorf("broker %d and replica %d after the time is over, want the leader 3 and none", got, p.replica)
	}
}

func TestReadRetriesErrorsOfPartitions(t *testing.T) {
	t.Parallel()
	for _, code := range []Code{
		codeUnknownTopic, codeLeaderNotAvailable, codeNotLeader, codeReplicaNotAvailable, codeKafkaStorage,
		codeFencedLeaderEpoch, codeUnknownLeaderEpoch, codeUnknownServer,
	} {
		t.Run(code.Error(), func(t *testing.T) {
			t.Parallel()
			c := craft(t, one(plainBatch(0, "a"), plainBatch(1, "b"), plainBatch(2, "c")), func(c *craftedTopic) {
				c.perAnswer = 1
				c.answer = func(request int, _ kmsg.FetchRequestTopicPartition, a *kmsg.FetchResponseTopicPartition) {
					if request == 1 || request == 2 {
						a.ErrorCode, a.RecordBatches = int16(code), nil
					}
				}
			})
			coverage, d, err := c.readPlain(t)
			if err != nil {
				t.Fatal(err)
			}
			wantComplete(t, coverage)
			if got, want := d.offsets(0), []int64{0, 1, 2}; !slices.Equal(got, want) {
				t.Errorf("offsets %v, want %v", got, want)
			}
		})
	}
}

func TestReadGivesAPartitionUpInTime(t *testing.T) {
	t.Parallel()
	c := craft(t, map[int32][]craftedBatch{0: {plainBatch(0, "a"), plainBatch(1, "b")}, 1: {plainBatch(0, "o")}}, func(c *craftedTopic) {
		c.perAnswer = 1
		c.answer = func(_ int, asked kmsg.FetchRequestTopicPartition, a *kmsg.FetchResponseTopicPartition) {
			if asked.Partition == 0 && asked.FetchOffset == 1 {
				a.ErrorCode, a.RecordBatches = int16(codeNotLeader), nil
			}
		}
	})
	config := c.config()
	config.RetryFor = 300 * time.Millisecond
	start := time.Now()
	coverage, d, err := c.read(t, config)
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took > 4*time.Second {
		t.Errorf("took %v, want little more than %v", took, config.RetryFor)
	}
	if got, want := d.offsets(0), []int64{0}; !slices.Equal(got, want) {
		t.Errorf("offsets %v, want %v", got, want)
	}
	var pe *PartitionError
	if !errors.As(coverage[0].Err, &pe) || pe.Offset != 1 || !errors.Is(pe, codeNotLeader) {
		t.Errorf("error %v, want a PartitionError at offset 1 for %v", coverage[0].Err, codeNotLeader)
	}
	if !coverage[1].Complete() {
		t.Errorf("partition 1: coverage %+v, want complete", coverage[1])
	}
}

func TestReadCountsWhatRetentionRemoves(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, kfake.SeedTopics(1, "short"))
	client := newProducer(t, c)
	produceBatches(t, client, "short", 0, "k", 100)
	s := newSource(t, testConfig(c, "short"))
	plan, err := s.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	plan.Spans = []source.Span{{Start: 5, End: 20}, {Start: 30, End: 50}, {Start: 60, End: 100}}
	var to kadm.Offsets
	to.Add(kadm.Offset{Topic: "short", Partition: 0, At: 40})
	if _, err := kadm.NewClient(client).DeleteRecords(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	d := newDelivered()
	coverage, err := s.Read(t.Context(), plan, d)
	if err != nil {
		t.Fatal(err)
	}
	// Of 5-20 all 15 are gone, of 30-50 the first 10; 10 and 40 are left.
	got := coverage[0]
	if got.Asked != 75 || got.Lost != 25 || got.Read != 50 || got.Err != nil || got.Position != 100 {
		t.Errorf("coverage %+v, want asked 75, lost 25, read 50, position 100, no error", got)
	}
	if n := len(d.records[0]); n != 50 || d.records[0][0].Offset != 40 {
		t.Errorf("%d records from offset %d, want 50 from 40", n, d.records[0][0].Offset)
	}
}

func TestReadPositionAboveTheEnd(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, kfake.SeedTopics(1, "cut"))
	produce(t, newProducer(t, c), numbered("cut", 0, "k", 10)...)
	s := newSource(t, testConfig(c, "cut"))
	plan, err := s.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	plan.Spans[0] = source.Span{Start: 100, End: 200}
	coverage, err := s.Read(t.Context(), plan, newDelivered())
	if err != nil {
		t.Fatal(err)
	}
	if e := coverage[0].Err; e == nil || !strings.Contains(e.Error(), "offset 100") || !strings.Contains(e.Error(), "ends at offset 10") {
		t.Errorf("error %v, want one that names offsets 100 and 10", e)
	}
}

// kfake knows no preferred read replica; the leader's answer is made here, the follower's comes from kfake.
func TestReadFromThePreferredReplica(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name         string
		replicaFails Code
		fromReplica  bool
	}{
		{name: "replica serves", fromReplica: true},
		{name: "replica is behind", replicaFails: codeOffsetOutOfRange},
		{name: "replica is gone", replicaFails: codeReplicaNotAvailable},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, 2, kfake.SeedTopics(1, "near"))
			client := newProducer(t, c)
			produceBatches(t, client, "near", 0, "k", 50)
			leader := c.LeaderFor("near", 0)
			follower := 1 - leader
			c.SetFollowers("near", 0, []int32{follower})
			var atLeader, atFollower atomic.Int64
			c.ControlKey(int16(kmsg.Fetch), func(q kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				req := q.(*kmsg.FetchRequest)
				if c.CurrentNode() == leader {
					if n := atLeader.Add(1); req.Rack == "near-by" && (n == 1 || test.replicaFails == 0) {
						return nearAnswer(req, codeNone, follower)
					}
					return nil, nil, false
				}
				atFollower.Add(1)
				if test.replicaFails != 0 {
					return nearAnswer(req, test.replicaFails, -1)
				}
				return nil, nil, false
			})
			config := trickle(testConfig(c, "near"))
			config.Rack = "near-by"
			coverage, d := readDuring(t, config, func() {})
			wantComplete(t, coverage)
			wantSequence(t, d, 0, "k", 50)
			switch n, m := atLeader.Load(), atFollower.Load(); {
			case test.fromReplica && (n != 1 || m < 5):
				t.Errorf("%d requests to the leader and %d to the replica, want 1 and at least 5 (a batch each)", n, m)
			case !test.fromReplica && (m != 1 || n < 6):
				t.Errorf("%d requests to the leader and %d to the replica, want at least 6 and 1", n, m)
			}
		})
	}
}

// A leader that goes on naming a replica that cannot be reached is asked without a rack, which brings the records
// themselves, long before the partition's time to be in trouble is over.
func TestReadLeavesAReplicaThatStaysUnreachable(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		answer func(*kmsg.FetchRequest) (kmsg.Response, error, bool)
	}{
		{"connection lost", func(*kmsg.FetchRequest) (kmsg.Response, error, bool) { return nil, errors.New("lost"), true }},
		{"behind", func(q *kmsg.FetchRequest) (kmsg.Response, error, bool) {
			return nearAnswer(q, codeOffsetOutOfRange, -1)
		}},
		{"gone", func(q *kmsg.FetchRequest) (kmsg.Response, error, bool) {
			return nearAnswer(q, codeReplicaNotAvailable, -1)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, 2, kfake.SeedTopics(1, "near"))
			produceBatches(t, newProducer(t, c), "near", 0, "k", 50)
			leader := c.LeaderFor("near", 0)
			follower := 1 - leader
			c.SetFollowers("near", 0, []int32{follower})
			var named, failed atomic.Int64
			c.ControlKey(int16(kmsg.Fetch), func(q kmsg.Request) (kmsg.Response, error, bool) {
				c.KeepControl()
				req := q.(*kmsg.FetchRequest)
				switch {
				case c.CurrentNode() != leader:
					failed.Add(1)
					return test.answer(req)
				case req.Rack == "":
					return nil, nil, false
				}
				named.Add(1)
				return nearAnswer(req, codeNone, follower)
			})
			config := trickle(testConfig(c, "near"))
			config.Rack = "near-by"
			coverage, d := readDuring(t, config, func() {})
			wantComplete(t, coverage)
			wantSequence(t, d, 0, "k", 50)
			if named.Load() != 2 || failed.Load() != 2 {
				t.Errorf("the leader named the replica %d times and it failed %d times, want 2 and 2", named.Load(), failed.Load())
			}
		})
	}
}

// nearAnswer answers a Fetch of topic "near" with a code and a preferred replica, and no records.
func nearAnswer(req *kmsg.FetchRequest, code Code, replica int32) (kmsg.Response, error, bool) {
	answer := req.ResponseKind().(*kmsg.FetchResponse)
	at, ap := kmsg.NewFetchResponseTopic(), kmsg.NewFetchResponseTopicPartition()
	at.Topic = "near"
	ap.ErrorCode, ap.PreferredReadReplica = int16(code), replica
	at.Partitions = append(at.Partitions, ap)
	answer.Topics = append(answer.Topics, at)
	return answer, nil, true
}

func TestReadWaitsForTheBrokersThrottle(t *testing.T) {
	t.Parallel()
	const throttle = 200 * time.Millisecond
	var asked []time.Time
	c := craft(t, one(plainBatch(0, "a"), plainBatch(1, "b"), plainBatch(2, "c")), func(c *craftedTopic) {
		c.perAnswer = 1
		c.whole = func(request int, a *kmsg.FetchResponse) {
			asked = append(asked, time.Now())
			if request == 0 { // over its quota, a client gets no partition at all
				a.Topics, a.ThrottleMillis = nil, int32(throttle.Milliseconds())
			}
		}
	})
	coverage, d, err := c.readPlain(t)
	if err != nil {
		t.Fatal(err)
	}
	wantComplete(t, coverage)
	if got, want := d.offsets(0), []int64{0, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("offsets %v, want %v", got, want)
	}
	if len(asked) < 2 || asked[1].Sub(asked[0]) < throttle {
		t.Errorf("requests at %v, want %v between the first two", asked, throttle)
	}
}

func TestReadKeepsToTheRate(t *testing.T) {
	t.Parallel()
	const rate = 400_000
	c := newCluster(t, 1, kfake.SeedTopics(2, "polite"))
	client := newProducer(t, c, kgo.ProducerBatchCompression(kgo.NoCompression()))
	for p := range int32(2) {
		for range 10 {
			produce(t, client, &kgo.Record{Topic: "polite", Partition: p, Value: make([]byte, 10_000)})
		}
	}
	config := testConfig(c, "polite")
	config.MaxRate, config.Connections = rate, 2
	var bytes int64
	config.OnProgress = func(p Progress) { bytes = p.Bytes }
	start := time.Now()
	_, coverage, _ := readAll(t, config)
	took := time.Since(start)
	wantComplete(t, coverage)
	// What came before the last request is paid for; each connection may have had one answer of 40 kB (a tenth of a
	// second) or one batch outstanding.
	if least := time.Duration(float64(bytes-2*40_000) / rate * float64(time.Second)); took < least {
		t.Errorf("%d bytes in %v, want at least %v at %d bytes/s", bytes, took, least, rate)
	}
	if bytes < 200_000 {
		t.Errorf("progress says %d bytes, want at least the 200,000 of the values", bytes)
	}
}

func TestReadStopsWithTheSinksError(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, kfake.SeedTopics(2, "full"))
	client := newProducer(t, c)
	for p := range int32(2) {
		produceBatches(t, client, "full", p, "k", 100)
	}
	s := newSource(t, trickle(testConfig(c, "full")))
	plan, err := s.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	full := errors.New("memory is used up")
	n := 0
	coverage, err := s.Read(t.Context(), plan, source.SinkFunc(func(b *source.Batch) error {
		if n++; n == 3 {
			return full
		}
		return nil
	}))
	if !errors.Is(err, full) {
		t.Errorf("error %v, want %v", err, full)
	}
	var read int64
	for _, c := range coverage {
		read += c.Read
		if c.Complete() {
			t.Errorf("partition %d is said to be complete", c.Partition)
		}
	}
	if len(coverage) != 2 || read != 20 {
		t.Errorf("coverage of %d partitions with %d offsets read, want 2 and the 20 of the two batches taken", len(coverage), read)
	}
}

func TestReadEndsWithTheContext(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, kfake.SeedTopics(1, "long"))
	produceBatches(t, newProducer(t, c), "long", 0, "k", 100)
	s := newSource(t, trickle(testConfig(c, "long")))
	plan, err := s.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	d := newDelivered()
	coverage, err := s.Read(ctx, plan, &onFirst{delivered: d, f: cancel})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
	if got := coverage[0]; got.Err == nil || got.Read != int64(len(d.records[0])) || got.Read == 0 || got.Read == 100 {
		t.Errorf("coverage %+v with %d records delivered, want as many offsets read, not all, and an error", got, len(d.records[0]))
	}
}

func TestReadLargeRecords(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 1, kfake.SeedTopics(2, "large"), kfake.BrokerConfigs(map[string]string{"message.max.bytes": "8000000"}))
	client := newProducer(t, c, kgo.ProducerBatchMaxBytes(8_000_000), kgo.ProducerBatchCompression(kgo.NoCompression()))
	for p := range int32(2) {
		produce(t, client, numbered("large", p, "k", 3)...)
		produce(t, client, &kgo.Record{Topic: "large", Partition: p, Key: []byte("k3"), Value: make([]byte, 3<<20)})
		produce(t, client, &kgo.Record{Topic: "large", Partition: p, Key: []byte("k4")})
	}
	config := testConfig(c, "large")
	config.MaxBytes, config.PartitionMaxBytes = 64<<10, 64<<10
	_, coverage, d := readAll(t, config)
	wantComplete(t, coverage)
	for p := range int32(2) {
		wantSequence(t, d, p, "k", 5)
		if got := d.records[p][3].Value; got != 3<<20 {
			t.Errorf("partition %d: value of %d bytes, want 3 MiB", p, got)
		}
	}
}

func TestReadSameWithAnyNumberOfConnections(t *testing.T) {
	t.Parallel()
	const partitions = 7
	c := newCluster(t, 2, kfake.SeedTopics(partitions, "shared"))
	client := newProducer(t, c)
	for p := range int32(partitions) {
		produceBatches(t, client, "shared", p, fmt.Sprintf("p%d-", p), 50*int(p+1))
	}
	for _, connections := range []int{1, 2, 5, 16} {
		config := testConfig(c, "shared")
		config.Connections = connections
		config.MaxBytes = 4 << 10
		_, coverage, d := readAll(t, config)
		wantComplete(t, coverage)
		for p := range int32(partitions) {
			wantSequence(t, d, p, fmt.Sprintf("p%d-", p), 50*int(p+1))
		}
	}
}

func TestOnlyReadsAreEverSent(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2, kfake.SeedTopics(4, "read-only"), kfake.AllowAutoTopicCreation())
	client := newProducer(t, c)
	for p := range int32(4) {
		produceBatches(t, client, "read-only", p, "k", 30)
	}
	var mu sync.Mutex
	all := map[int16]bool{}
	c.Control(func(q kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		mu.Lock()
		all[q.Key()] = true
		mu.Unlock()
		if m, ok := q.(*kmsg.MetadataRequest); ok && m.AllowAutoTopicCreation {
			t.Error("a metadata request allows topics to be created")
		}
		return nil, nil, false
	})
	_, coverage, _ := readAll(t, testConfig(c, "read-only"))
	wantComplete(t, coverage)
	if _, err := newSource(t, testConfig(c, "missing")).Plan(t.Context()); err == nil {
		t.Error("planning a missing topic gave no error")
	}
	mu.Lock()
	seen := maps.Clone(all)
	mu.Unlock()
	topics, err := kadm.NewClient(client).ListTopics(context.Background())
	if err != nil || topics.Has("missing") {
		t.Errorf("topics %v (%v), want no %q", topics.Names(), err, "missing")
	}
	allowed := map[int16]bool{
		int16(kmsg.ApiVersions): true, int16(kmsg.Metadata): true, int16(kmsg.ListOffsets): true, int16(kmsg.Fetch): true,
	}
	for key := range seen {
		if !allowed[key] {
			t.Errorf("a %s request was sent", kmsg.NameForKey(key))
		}
	}
	if len(seen) != len(allowed) {
		t.Errorf("requests of keys %v, want all of %v", seen, allowed)
	}
}
