package kafka

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"keyspread/analyze/source"
	"keyspread/analyze/source/kafka/batch"
)

func TestAsk(t *testing.T) {
	t.Parallel()
	// Batches of 10,000 bytes and 100 offsets, 100 bytes an offset.
	known := func(s *sizes) { s.learn(0, batch.Extent{First: 0, Next: 1000, Batches: 10, Bytes: 100_000}) }
	for _, test := range []struct {
		name  string
		learn func(*sizes)
		spans []source.Span
		set   func(*partition)
		want  int32
	}{
		// 500*256 bytes are 7.8 batches of 16 KiB; with 0.75 more that is 9, each with 1/16 of head room.
		{"nothing known", func(*sizes) {}, []source.Span{{End: 500}}, nil, 156_672},
		// 5 batches and 0.75 are 6.
		{"by what came", known, []source.Span{{Start: 7, End: 507}}, nil, 63_750},
		// 0.2 batches and 0.75 are 1; 0.3 and 0.75 are 2.
		{"one batch", known, []source.Span{{Start: 40, End: 60}}, nil, 10_625},
		{"two batches", known, []source.Span{{Start: 40, End: 70}}, nil, 21_250},
		{"by what came of others", func(s *sizes) {
			s.learn(3, batch.Extent{Next: 1000, Batches: 10, Bytes: 100_000})
		}, []source.Span{{End: 500}}, nil, 63_750},
		// 200 bytes an offset are 10 batches, or 11 with 0.75.
		{"by size on disk before others", func(s *sizes) {
			s.learn(3, batch.Extent{Next: 1000, Batches: 10, Bytes: 100_000})
			s.suppose(&source.Partition{LogStartOffset: 50, HighWatermark: 100, LastStableOffset: -1, DiskBytes: 10_000})
		}, []source.Span{{End: 500}}, nil, 116_875},
		{"by what came before size on disk", func(s *sizes) {
			known(s)
			s.suppose(&source.Partition{HighWatermark: 100, DiskBytes: 1 << 20})
		}, []source.Span{{End: 500}}, nil, 63_750},
		// A gap of a batch's 100 offsets is read over: 5+1+2 batches and 0.75.
		{"next span is near", known, []source.Span{{End: 500}, {Start: 600, End: 800}}, nil, 95_625},
		{"next span is far", known, []source.Span{{End: 500}, {Start: 601, End: 800}}, nil, 63_750},
		{"a page at least", func(s *sizes) {
			s.learn(0, batch.Extent{Next: 10, Batches: 10, Bytes: 700})
		}, []source.Span{{End: 3}}, nil, 4096},
		{"the limit at most", known, []source.Span{{End: 1 << 40}}, nil, 1 << 20},
		{"a batch that did not fit", known, []source.Span{{End: 20}}, func(p *partition) { p.least = 50_000 }, 50_000},
		{"fell short twice", known, []source.Span{{End: 20}}, func(p *partition) { p.fellShort(); p.fellShort() }, 42_500},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var s sizes
			test.learn(&s)
			p := newPartition(0, test.spans, 1<<20)
			p.rewind()
			if test.set != nil {
				test.set(p)
			}
			if got := p.ask(&s); got != test.want {
				t.Errorf("ask() = %d, want %d", got, test.want)
			}
		})
	}
}

func TestAdvancePassesSpans(t *testing.T) {
	t.Parallel()
	spans := []source.Span{{Start: 10, End: 20}, {Start: 20, End: 25}, {Start: 40, End: 50}}
	for _, test := range []struct {
		next           int64
		span           int
		position       int64
		everythingDone bool
	}{
		{11, 0, 11, false},
		{20, 1, 20, false},
		{22, 1, 22, false},
		{25, 2, 40, false},
		{39, 2, 40, false},
		{41, 2, 41, false},
		{50, 3, 50, true},
		{90, 3, 50, true},
	} {
		p := newPartition(0, spans, 1)
		p.rewind()
		p.advance(test.next)
		if p.fetchSpan != test.span || p.fetchPosition != test.position || p.asked() != test.everythingDone {
			t.Errorf("advance(%d): span %d, position %d, all asked %v, want %d, %d, %v",
				test.next, p.fetchSpan, p.fetchPosition, p.asked(), test.span, test.position, test.everythingDone)
		}
	}
}

// Spans that lie in one batch cost one request, and the batch is counted once.
func TestReadSpansOfOneBatch(t *testing.T) {
	t.Parallel()
	b := plainBatch(0, "a", "b", "c", "d", "e", "f", "g", "h")
	packed := b
	packed.lz4 = true
	for name, log := range map[string]craftedBatch{"none": b, "lz4": packed} {
		c := craft(t, one(log, plainBatch(8, "i")))
		coverage, d, err := c.read(t, c.config(),
			source.Span{Start: 1, End: 3}, source.Span{Start: 4, End: 5}, source.Span{Start: 5, End: 6}, source.Span{Start: 7, End: 8})
		if err != nil {
			t.Fatal(err)
		}
		wantComplete(t, coverage)
		if got, want := d.keys(0), []string{"b", "c", "e", "f", "h"}; !slices.Equal(got, want) {
			t.Errorf("%s: keys %q, want %q", name, got, want)
		}
		if n := c.requests.Load(); n != 1 {
			t.Errorf("%s: %d requests, want 1", name, n)
		}
		if want := int64(len(log.bytes(t))); d.wire != want {
			t.Errorf("%s: %d bytes as stored, want the batch's %d once", name, d.wire, want)
		}
	}
}

// A broken batch beyond a span is none of its business, though the answer holds its header.
func TestReadSpanBeforeABrokenBatch(t *testing.T) {
	t.Parallel()
	broken := plainBatch(2, "bad")
	broken.miscount = -2 // 1 record, stated as -1
	c := craft(t, one(plainBatch(0, "a", "b"), broken, plainBatch(3, "c", "d")))
	coverage, d, err := c.read(t, c.config(), source.Span{End: 2}, source.Span{Start: 3, End: 4})
	if err != nil {
		t.Fatal(err)
	}
	wantComplete(t, coverage)
	if got, want := d.keys(0), []string{"a", "b", "c"}; !slices.Equal(got, want) {
		t.Errorf("keys %q, want %q", got, want)
	}
}

// obedient makes a crafted topic's answers as a broker does: what was asked of a partition to the byte, a larger batch
// only as the first of an answer, and an empty set in place of the beginning of a batch.
func obedient(t testing.TB, sent *atomic.Int64) func(*craftedTopic) {
	return func(c *craftedTopic) {
		var first atomic.Bool
		var last atomic.Int64
		c.answer = func(request int, asked kmsg.FetchRequestTopicPartition, a *kmsg.FetchResponseTopicPartition) {
			if last.Swap(int64(request)+1) != int64(request)+1 {
				first.Store(true)
			}
			whole := 0
			for _, b := range c.logs[asked.Partition] {
				if b.last() >= asked.FetchOffset {
					whole = len(b.bytes(t))
					break
				}
			}
			limit := int(asked.PartitionMaxBytes)
			if first.Load() {
				limit = max(limit, whole)
			} else if limit < whole {
				limit = 0
			}
			a.RecordBatches = a.RecordBatches[:min(len(a.RecordBatches), limit)]
			if len(a.RecordBatches) > 0 {
				first.Store(false)
			}
			sent.Add(int64(len(a.RecordBatches)))
		}
	}
}

// filled is a batch of n records whose values together have about so many bytes.
func filled(base int64, n, bytes int) craftedBatch {
	b := craftedBatch{base: base, lastDelta: -1, producer: -1}
	for i := range n {
		b.records = append(b.records, craftedRecord{delta: int32(i), key: fmt.Append(nil, base+int64(i)), value: make([]byte, bytes/n)})
	}
	return b
}

// The first batches are nearly empty by compaction, the last ones dense: what came so far says nothing of them.
func TestReadAsksForMoreWhereTheLogIsDense(t *testing.T) {
	t.Parallel()
	var log []craftedBatch
	for i := range int64(100) {
		log = append(log, emptyBatch(10_000*i, 10_000*i+9_999))
	}
	for i := range int64(64) {
		log = append(log, filled(1_000_000+10*i, 10, 4000))
	}
	var sent atomic.Int64
	c := craft(t, one(log...), obedient(t, &sent), func(c *craftedTopic) { c.perAnswer = 100 })
	coverage, d, err := c.read(t, c.config(), source.Span{End: 1_000_000}, source.Span{Start: 1_000_000, End: 1_000_640})
	if err != nil {
		t.Fatal(err)
	}
	wantComplete(t, coverage)
	if len(d.records[0]) != 640 {
		t.Errorf("%d records, want 640", len(d.records[0]))
	}
	// 260 kB in answers of at least 4 KiB that double are 7, and one for the sparse part; a batch each would be 65.
	if n := c.requests.Load(); n > 12 {
		t.Errorf("%d requests, want at most 12", n)
	}
}

// A broker leaves out a partition whose next batch is larger than what was asked of it, unless it is the first.
func TestReadAsksForMoreWhereABatchIsLeftOut(t *testing.T) {
	t.Parallel()
	const partitions = 30
	logs := map[int32][]craftedBatch{}
	var spans []source.Span
	for p := range int32(partitions) {
		for i := range int64(20) { // small batches first, then larger ones than they let expect
			logs[p] = append(logs[p], filled(10*i, 10, 500))
		}
		for i := range int64(3) {
			logs[p] = append(logs[p], filled(200+10*i, 10, 60_000))
		}
		spans = append(spans,
			source.Span{Partition: p, Start: 5, End: 15}, source.Span{Partition: p, Start: 204, End: 206}, source.Span{Partition: p, Start: 225, End: 226})
	}
	var sent atomic.Int64
	c := craft(t, logs, obedient(t, &sent))
	config := c.config()
	config.Connections = 1
	coverage, d, err := c.read(t, config, spans...)
	if err != nil {
		t.Fatal(err)
	}
	wantComplete(t, coverage)
	for p := range int32(partitions) {
		if got, want := d.offsets(p), []int64{5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 204, 205, 225}; !slices.Equal(got, want) {
			t.Errorf("partition %d: offsets %v, want %v", p, got, want)
		}
	}
	// Doubling from 4 KiB to 60,000 bytes takes 4 requests that all partitions share, for both of the large batches; an
	// answer of 1 MiB then holds 17 batches. One partition after another in the first place would be 60.
	if n := c.requests.Load(); n > 25 {
		t.Errorf("%d requests, want at most 25", n)
	}
}

// TestReadSpansEqualTheFullRead reads random spans of a log with transactions, markers, gaps between them and codecs and
// holds them against the same offsets of a full read, from few bytes an answer to many.
func TestReadSpansEqualTheFullRead(t *testing.T) {
	t.Parallel()
	const partitions = 3
	c := newCluster(t, 2, kfake.SeedTopics(partitions, "spans"))
	plain := newProducer(t, c, kgo.ProducerBatchCompression(kgo.Lz4Compression()))
	txn := newProducer(t, c, kgo.TransactionalID("tx"), kgo.ProducerBatchCompression(kgo.NoCompression()))
	for round := range 12 {
		for p := range int32(partitions) {
			produce(t, plain, numbered("spans", p, fmt.Sprintf("plain%d-", round), 40+int(p))...)
		}
		if err := txn.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for p := range int32(partitions) {
			produce(t, txn, numbered("spans", p, fmt.Sprintf("txn%d-", round), 15)...)
		}
		if err := txn.EndTransaction(t.Context(), kgo.TransactionEndTry(round%2 == 0)); err != nil {
			t.Fatal(err)
		}
	}
	for _, isolation := range []source.Isolation{source.ReadCommitted, source.ReadUncommitted} {
		config := testConfig(c, "spans")
		config.Isolation = isolation
		plan, _, full := readAll(t, config)
		for seed := range uint64(20) {
			rng := rand.New(rand.NewPCG(seed, 0))
			round := *plan
			round.Spans = nil
			want := map[int32][]record{}
			for _, s := range plan.Spans {
				for at := s.Start + rng.Int64N(60); at < s.End; {
					span := source.Span{Partition: s.Partition, Start: at, End: min(s.End, at+1+rng.Int64N(50))}
					round.Spans = append(round.Spans, span)
					for _, r := range full.records[s.Partition] {
						if r.Offset >= span.Start && r.Offset < span.End {
							want[s.Partition] = append(want[s.Partition], r)
						}
					}
					at = span.End + rng.Int64N(100)*rng.Int64N(2) // half of them touch
				}
			}
			if seed%2 == 1 {
				config.PartitionMaxBytes = 1 << (8 + rng.IntN(8))
			}
			d := newDelivered()
			coverage, err := newSource(t, config).Read(t.Context(), &round, d)
			if err != nil {
				t.Fatal(err)
			}
			wantComplete(t, coverage)
			for _, e := range d.errs {
				t.Errorf("seed %d: %s", seed, e)
			}
			for p := range int32(partitions) {
				if !slices.Equal(d.records[p], want[p]) {
					t.Errorf("%v, seed %d, partition %d: %d records, want %d", isolation, seed, p, len(d.records[p]), len(want[p]))
				}
			}
		}
	}
}

// A sample reads little more than the batches its blocks lie in, and the blocks of a broker's partitions share requests.
func TestReadSampledBytes(t *testing.T) {
	t.Parallel()
	const partitions, perBatch, batches, blocks, block = 4, 50, 80, 8, 100
	c := newCluster(t, 1, kfake.SeedTopics(partitions, "sampled"))
	client := newProducer(t, c, kgo.ProducerBatchCompression(kgo.NoCompression()))
	for p := range int32(partitions) {
		for range batches { // of 10 kB
			records := make([]*kgo.Record, perBatch)
			for i := range records {
				records[i] = &kgo.Record{Topic: "sampled", Partition: p, Key: fmt.Append(nil, i), Value: make([]byte, 200)}
			}
			produce(t, client, records...)
		}
	}
	var requests atomic.Int64
	c.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		requests.Add(1)
		return nil, nil, false
	})
	config := testConfig(c, "sampled")
	config.Connections = 1
	var bytes int64
	config.OnProgress = func(p Progress) { bytes = p.Bytes }
	_, _, full := readAll(t, config)
	all := bytes
	s := newSource(t, config)
	plan, err := s.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var spans []source.Span
	for p := range int32(partitions) {
		for i := range int64(blocks) {
			start := i*500 + 17*int64(p)
			spans = append(spans, source.Span{Partition: p, Start: start, End: start + block})
		}
	}
	plan.Spans = spans
	requests.Store(0)
	d := newDelivered()
	coverage, err := s.Read(t.Context(), plan, d)
	if err != nil {
		t.Fatal(err)
	}
	wantComplete(t, coverage)
	if got := len(d.records[0]); got != blocks*block || len(full.records[0]) != perBatch*batches {
		t.Errorf("%d records of %d, want %d of %d", got, len(full.records[0]), blocks*block, perBatch*batches)
	}
	// A block is 2 batches long and lies in 2 or 3; what is asked for is at most 3 and a page. Of the full read's 80
	// batches a partition 8 blocks are then at most 24; the first request, of which nothing is known, may bring more.
	if most := all * 28 / batches; bytes > most {
		t.Errorf("the sample read %d bytes of %d, want at most %d", bytes, all, most)
	}
	if n := requests.Load(); n > blocks+2 {
		t.Errorf("%d requests for %d blocks of each partition, want them to share requests", n, blocks)
	}
}

// With many partitions a request names only those that it may bring something for.
func TestReadManyPartitions(t *testing.T) {
	t.Parallel()
	const partitions = 300
	c := newCluster(t, 1, kfake.SeedTopics(partitions, "many"))
	client := newProducer(t, c, kgo.ProducerBatchCompression(kgo.NoCompression()))
	var all []*kgo.Record
	for p := range int32(partitions) {
		all = append(all, &kgo.Record{Topic: "many", Partition: p, Key: []byte("a"), Value: make([]byte, 10_000)})
	}
	produce(t, client, all...)
	produce(t, client, all...)
	var mu sync.Mutex
	most, named := 0, 0
	c.ControlKey(int16(kmsg.Fetch), func(q kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		mu.Lock()
		n := len(q.(*kmsg.FetchRequest).Topics[0].Partitions)
		most, named = max(most, n), named+n
		mu.Unlock()
		return nil, nil, false
	})
	config := testConfig(c, "many")
	config.Connections, config.MaxBytes = 1, 100_000
	_, coverage, d := readAll(t, config)
	wantComplete(t, coverage)
	for p := range int32(partitions) {
		if len(d.records[p]) != 2 {
			t.Errorf("partition %d: %d records, want 2", p, len(d.records[p]))
		}
	}
	// An answer of 100,000 bytes holds 9 batches; at least 4 KiB are asked of each partition, so that twice an answer is
	// 50 of them.
	if most > 50 {
		t.Errorf("a request named %d partitions, want at most 50", most)
	}
	if named > 10*partitions {
		t.Errorf("the requests named %d partitions, want at most 10 times the %d", named, partitions)
	}
}

// Partitions a broker has nothing for at the moment do not keep others out of the requests.
func TestReadGoesOnBesidePartitionsThatStall(t *testing.T) {
	t.Parallel()
	const partitions, stalled = 10, 6
	logs := map[int32][]craftedBatch{}
	for p := range int32(partitions) {
		logs[p] = []craftedBatch{plainBatch(0, "a"), plainBatch(1, "b"), plainBatch(2, "c")}
	}
	var mu sync.Mutex
	others := map[int32]bool{} // that were asked for their last offset
	c := craft(t, logs, func(c *craftedTopic) {
		c.perAnswer = 1
		c.answer = func(_ int, asked kmsg.FetchRequestTopicPartition, a *kmsg.FetchResponseTopicPartition) {
			mu.Lock()
			defer mu.Unlock()
			if asked.Partition >= stalled {
				others[asked.Partition] = others[asked.Partition] || asked.FetchOffset == 2
			} else if len(others) < partitions-stalled || slices.Contains(slices.Collect(maps.Values(others)), false) {
				a.RecordBatches = nil
			}
		}
	})
	config := c.config()
	config.Connections, config.MaxBytes = 1, 1000 // a request names 3 partitions
	config.RetryFor = 10 * time.Second
	coverage, _, err := c.read(t, config)
	if err != nil {
		t.Fatal(err)
	}
	wantComplete(t, coverage)
}

// Rounds of a sample are Reads of their own; they keep the connections.
func TestReadKeepsConnections(t *testing.T) {
	t.Parallel()
	c := newCluster(t, 2, kfake.SeedTopics(4, "kept"))
	spreadLeaders(t, c, "kept", 4)
	client := newProducer(t, c)
	for p := range int32(4) {
		produceBatches(t, client, "kept", p, "k", 30)
	}
	var dialed atomic.Int64
	c.ControlKey(int16(kmsg.ApiVersions), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.KeepControl()
		dialed.Add(1)
		return nil, nil, false
	})
	config := testConfig(c, "kept")
	config.Connections = 2
	s := newSource(t, config)
	plan, err := s.Plan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		coverage, err := s.Read(t.Context(), plan, newDelivered())
		if err != nil {
			t.Fatal(err)
		}
		wantComplete(t, coverage)
	}
	if n := dialed.Load(); n != 2 {
		t.Errorf("%d connections were made, want one for each of 2 brokers", n)
	}
}
