package profile

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"keyspread/analyze/source"
	"keyspread/partitioner"
)

// fnvPartitioner places by FNV-1a modulo n. It spreads null keys, and empty keys when told to; a key that starts with
// 0xff it answers outside [0, n), as clients with a signed remainder do.
type fnvPartitioner struct {
	id          string
	seed        byte
	spreadEmpty bool
}

func (f fnvPartitioner) ID() string { return f.id }

func (f fnvPartitioner) Place(key []byte, counts, out []int32) (bool, error) {
	if key == nil || len(key) == 0 && f.spreadEmpty {
		return false, nil
	}
	if len(key) > 0 && key[0] == 0xff {
		for i := range counts {
			out[i] = -1
		}
		return true, fmt.Errorf("placing: %w", &partitioner.OutsideError{Partitioner: f.id, Key: key, Partitions: counts[0], Answer: -1})
	}
	h := uint32(2166136261) ^ uint32(f.seed)
	for _, b := range key {
		h = (h ^ uint32(b)) * 16777619
	}
	for i, n := range counts {
		out[i] = int32(h % uint32(n))
	}
	return true, nil
}

var testPartitioner = fnvPartitioner{id: "fnv"}

// one places a key under one count.
func one(pt partitioner.Partitioner, key []byte, n int32) (int32, bool) {
	out := []int32{0}
	keyed, _ := pt.Place(key, []int32{n}, out)
	return out[0], keyed
}

// rec is a record of a generated stream with its partition.
type rec struct {
	partition int32
	source.Record
}

// stream is what a test feeds to a builder.
type stream struct {
	name       string
	partitions int
	recs       []rec
	budget     int64 // of each table under [MinMemory]; 0: tightBudget
}

// size is the bytes that a record counts.
func size(r *source.Record) int64 {
	return int64(len(r.Key)) + int64(max(r.ValueSize, 0)) + int64(r.HeaderSize)
}

// plan covers every record of the stream; offsets are dense in each partition.
func (s *stream) plan() *source.Plan {
	p := &source.Plan{Topic: "orders", NumPartitions: s.partitions, Range: "earliest..latest"}
	end := make([]int64, s.partitions)
	for i := range s.recs {
		end[s.recs[i].partition]++
	}
	for id, n := range end {
		p.Partitions = append(p.Partitions, source.Partition{ID: int32(id)})
		if n > 0 {
			p.Spans = append(p.Spans, source.Span{Partition: int32(id), Start: 0, End: n})
		}
	}
	return p
}

// coverage says that all was read.
func coverage(p *source.Plan) []source.Coverage {
	var cov []source.Coverage
	for _, part := range p.Partitions {
		c := source.Coverage{Partition: part.ID}
		for _, s := range p.Spans {
			if s.Partition == part.ID {
				c.Asked, c.Read, c.Position = c.Asked+s.End-s.Start, c.Read+s.End-s.Start, s.End
			}
		}
		cov = append(cov, c)
	}
	return cov
}

// byPartition returns the records of each partition with their offsets set.
func (s *stream) byPartition() [][]source.Record {
	out := make([][]source.Record, s.partitions)
	for _, r := range s.recs {
		r.Offset = int64(len(out[r.partition]))
		out[r.partition] = append(out[r.partition], r.Record)
	}
	return out
}

// feed gives the stream to a builder from several goroutines, in batches of changing size.
func (s *stream) feed(t testing.TB, sink source.Sink, workers int) {
	t.Helper()
	parts := s.byPartition()
	work := make(chan int)
	var wg sync.WaitGroup
	errs := make([]error, len(parts))
	for range workers {
		wg.Go(func() {
			for id := range work {
				recs := parts[id]
				for n := 1; len(recs) > 0; n = n*3%101 + 1 {
					n = min(n, len(recs))
					b := source.Batch{Partition: int32(id), Records: recs[:n], Next: recs[n-1].Offset + 1, WireBytes: 10}
					if errs[id] = sink.Batch(&b); errs[id] != nil {
						return
					}
					recs = recs[n:]
				}
			}
		})
	}
	for id := range parts {
		work <- id
	}
	close(work)
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatalf("%s: feeding: %v", s.name, err)
		}
	}
}

// tightBudget is what each table gets under [MinMemory]: less than a user can ask for, so that short streams purge often.
// It holds about 110 keys of these streams.
const tightBudget = 12 << 10

// tighten gives the tables of a builder with the smallest memory the stream's budget.
func (s *stream) tighten(b *Builder) {
	if b.cfg.Memory == MinMemory {
		for _, part := range b.parts {
			part.table.budget = cmp.Or(s.budget, tightBudget)
		}
	}
}

// build profiles the stream.
func (s *stream) build(t testing.TB, cfg Config, workers int) *Profile {
	t.Helper()
	plan := s.plan()
	b, err := NewBuilder(plan, cfg)
	if err != nil {
		t.Fatalf("%s: NewBuilder: %v", s.name, err)
	}
	s.tighten(b)
	s.feed(t, b, workers)
	p, err := b.Profile(coverage(plan))
	if err != nil {
		t.Fatalf("%s: Profile: %v", s.name, err)
	}
	return p
}

// config is a Config with two candidates beside the topic, one of another partitioner.
func config(memory int64) Config {
	cfg := DefaultConfig()
	cfg.Memory = memory
	cfg.Partitioner = testPartitioner
	cfg.Candidates = []CandidateSpec{
		{testPartitioner, 18},
		{fnvPartitioner{id: "other", seed: 7, spreadEmpty: true}, 12},
		{testPartitioner, 24},
	}
	return cfg
}

// keyed makes a stream whose keys are placed by testPartitioner. next gives the key number of each record.
func keyed(name string, partitions, records int, seed uint64, next func(r *rand.Rand, i int) uint64) *stream {
	r := rand.New(rand.NewPCG(seed, 1))
	s := &stream{name: name, partitions: partitions}
	for i := range records {
		n := next(r, i)
		h := fnv.New64a()
		_ = binary.Write(h, binary.BigEndian, n)
		key := fmt.Appendf(nil, "k%d-%x", n, h.Sum64()>>(n%5*8))
		id, _ := one(testPartitioner, key, int32(partitions))
		s.recs = append(s.recs, rec{id, source.Record{
			Timestamp: 1_700_000_000_000 + int64(i)*10, Key: key,
			ValueSize: int32(r.IntN(2000)) - 1, HeaderSize: int32(r.IntN(3)),
		}})
	}
	return s
}

// zipf draws key numbers 0..n-1 with probability proportional to (i+1)^-s, by inversion of the cumulated sum.
func zipf(n int, s float64) func(r *rand.Rand, i int) uint64 {
	cum := make([]float64, n)
	sum := 0.0
	for i := range cum {
		sum += math.Pow(float64(i+1), -s)
		cum[i] = sum
	}
	return func(r *rand.Rand, _ int) uint64 {
		at, _ := slices.BinarySearch(cum, r.Float64()*sum)
		return uint64(min(at, n-1))
	}
}

func uniform(n int) func(r *rand.Rand, i int) uint64 {
	return func(r *rand.Rand, _ int) uint64 { return r.Uint64N(uint64(n)) }
}

// streams are over 30 streams of every kind that is hard for some counter, long enough that the smallest tables purge
// dozens of times. Tests share them.
var streams = sync.OnceValue(func() []*stream { return thin(makeStreams()) })

// everyNth is 1, or more where time is short: then only every nth stream is tested.
var everyNth = 1

// thin returns every nth stream.
func thin(all []*stream) []*stream {
	var some []*stream
	for i := 0; i < len(all); i += everyNth {
		some = append(some, all[i])
	}
	return some
}

func makeStreams() []*stream {
	const records = 20_000
	var all []*stream
	for i, s := range []float64{0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.5} {
		for j, n := range []int{1000, 200_000} {
			all = append(all, keyed(fmt.Sprintf("zipf %.1f of %d", s, n), 1+5*j, records, uint64(10*i+j), zipf(n, s)))
		}
	}
	for i, n := range []int{1, 31, 5000, 40_000, 200_000} {
		all = append(all, keyed(fmt.Sprintf("uniform %d", n), 5, records, uint64(100+i), uniform(n)))
	}
	for i, from := range []float64{0.25, 0.5, 0.75, 0.95} {
		all = append(all, keyed(fmt.Sprintf("key hot from %.2f on", from), 3, records, uint64(200+i), func(r *rand.Rand, i int) uint64 {
			if float64(i) > from*float64(records) && r.IntN(5) == 0 {
				return 1 << 40
			}
			return r.Uint64N(1 << 30)
		}))
	}
	for i, parts := range []int{1, 12} {
		all = append(all, keyed(fmt.Sprintf("all distinct, %d partitions", parts), parts, records, uint64(300+i), func(_ *rand.Rand, i int) uint64 { return uint64(i) }))
	}
	all = append(
		all,
		// every key comes twice, the second time just after the table has been filled with others
		keyed("adversary: pairs far apart", 2, records, 400, func(_ *rand.Rand, i int) uint64 { return uint64(i % (records / 2)) }),
		// light keys first, so that they fill the table, then heavier and heavier ones
		keyed("adversary: rising weights", 2, records, 401, func(_ *rand.Rand, i int) uint64 { return uint64(math.Sqrt(float64(records-i)) * 50) }),
		keyed("adversary: falling weights", 2, records, 402, func(_ *rand.Rand, i int) uint64 { return uint64(math.Sqrt(float64(i)) * 50) }),
		// one heavy key between batches of new ones that are just large enough to purge
		keyed("adversary: one in 4097", 1, records, 403, func(_ *rand.Rand, i int) uint64 {
			if i%4097 == 0 {
				return 1 << 41
			}
			return uint64(i)
		}),
		keyed("adversary: sorted runs", 2, records, 404, func(_ *rand.Rand, i int) uint64 { return uint64(i / 3) }),
	)
	strayed := keyed("strays: a third in a random partition", 6, records, 500, zipf(30_000, 1.0))
	r := rand.New(rand.NewPCG(501, 1))
	for i := range strayed.recs {
		if r.IntN(3) == 0 {
			strayed.recs[i].partition = int32(r.IntN(6))
		}
	}
	odd := keyed("odd: null, empty and unplaceable keys", 4, records, 600, zipf(20_000, 1.1))
	for i := range odd.recs {
		switch r.IntN(10) {
		case 0:
			odd.recs[i].Key, odd.recs[i].partition = nil, int32(r.IntN(4))
		case 1:
			odd.recs[i].Key, odd.recs[i].partition = []byte{}, int32(r.IntN(4))
		case 2:
			odd.recs[i].Key = []byte{0xff, byte(r.IntN(50))}
		case 3:
			odd.recs[i].Timestamp = -1
		}
	}
	long := keyed("odd: keys of up to 20 kB", 2, records/20, 700, uniform(3000))
	for i := range long.recs {
		k := long.recs[i].Key
		long.recs[i].Key = append(slices.Clone(k), make([]byte, int(k[1]-'0')*int(k[len(k)-1])*20)...)
	}
	bytesHot := keyed("hot in bytes only", 3, records, 800, uniform(100_000))
	for i := range bytesHot.recs {
		if i%500 == 0 {
			bytesHot.recs[i] = rec{1, source.Record{Timestamp: 1, Key: []byte("heavy"), ValueSize: 1 << 20}}
		}
	}
	return append(all, strayed, odd, long, bytesHot)
}

// truth is the exact count of a stream, kept in plain maps.
type truth struct {
	keys   map[string]map[int32]Weight
	total  map[string]Weight
	loads  [][]map[int32]Weight // by candidate, partition, destination
	moved  [][]Weight
	spread [][]Weight
	lost   [][]Weight
}

func (s *stream) truth(specs []CandidateSpec) *truth {
	tr := &truth{keys: map[string]map[int32]Weight{}, total: map[string]Weight{}}
	for range specs {
		loads := make([]map[int32]Weight, s.partitions)
		for i := range loads {
			loads[i] = map[int32]Weight{}
		}
		tr.loads = append(tr.loads, loads)
		tr.moved = append(tr.moved, make([]Weight, s.partitions))
		tr.spread = append(tr.spread, make([]Weight, s.partitions))
		tr.lost = append(tr.lost, make([]Weight, s.partitions))
	}
	for i := range s.recs {
		r := &s.recs[i]
		w := Weight{1, size(&r.Record)}
		if r.Key != nil {
			k := string(r.Key)
			if tr.keys[k] == nil {
				tr.keys[k] = map[int32]Weight{}
			}
			tr.keys[k][r.partition] = tr.keys[k][r.partition].Add(w)
			tr.total[k] = tr.total[k].Add(w)
		}
		for c, spec := range specs {
			to, keyed := one(spec.Partitioner, r.Key, spec.NumPartitions)
			switch {
			case !keyed:
				tr.spread[c][r.partition] = tr.spread[c][r.partition].Add(w)
			case to < 0:
				tr.lost[c][r.partition] = tr.lost[c][r.partition].Add(w)
			default:
				tr.loads[c][r.partition][to] = tr.loads[c][r.partition][to].Add(w)
				if to != r.partition {
					tr.moved[c][r.partition] = tr.moved[c][r.partition].Add(w)
				}
			}
		}
	}
	return tr
}

// ranked returns the keys by falling weight as Top orders them.
func (tr *truth) ranked(u Unit) []string {
	keys := make([]string, 0, len(tr.total))
	for k := range tr.total {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		x, y := tr.total[a], tr.total[b]
		return cmp.Or(cmp.Compare(y.Of(u), x.Of(u)), cmp.Compare(y.Of(Bytes-u), x.Of(Bytes-u)), cmp.Compare(a, b))
	})
	return keys
}
