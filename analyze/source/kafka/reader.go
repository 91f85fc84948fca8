package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"keyspread/analyze/source"
)

// outcome says why a fetcher gives a partition back.
type outcome uint8

const (
	finished   outcome = iota // every span is settled
	failed                    // it cannot be read further: partition.err
	troubled                  // worth trying again after a pause and with new metadata: partition.err
	outOfRange                // the broker has no such offset: ask where the log starts now
	moved                     // another broker shall be asked: partition.replica
)

// replicaFor is how long a preferred read replica is used before the leader is asked again, as Kafka's consumer does.
const replicaFor = 5 * time.Minute

// partition is one partition's way through its spans. It belongs to one goroutine at a time: to the fetcher it was given
// to, or to [read.run] while it is given back.
type partition struct {
	id     int32
	spans  []source.Span
	leader leadership

	replica      int32 // preferred read replica; -1: the leader
	replicaUntil time.Time
	leaderUntil  time.Time // the leader is not to name a replica until then; zero: it may

	// What is settled: everything below position in spans[span]; span == len(spans) when all is.
	span     int
	position int64
	coverage source.Coverage

	// What was asked for, ahead of what is settled by at most one answer.
	fetchSpan     int
	fetchPosition int64

	maxBytes int32 // to ask for at most; raised when a batch does not fit
	least    int32 // to ask for at least: a batch did not fit; 0: nothing is known
	doubled  int   // how often the amount to ask for was doubled for this span
	weight   int64 // offsets it counts for in its fetcher's load
	listed   bool  // its fetcher puts it into the next requests
	served   bool  // the answer at hand had records for it, or should have

	outcome  outcome
	err      error
	since    time.Time // when the trouble began; zero: none
	attempts int       // since then
	stalled  bool      // the trouble is a broker that sends nothing to go on with; only records end it
}

func newPartition(id int32, spans []source.Span, maxBytes int32) *partition {
	p := &partition{id: id, spans: spans, replica: -1, maxBytes: maxBytes, coverage: source.Coverage{Partition: id}}
	for _, s := range spans {
		p.coverage.Asked += s.End - s.Start
	}
	if len(spans) > 0 {
		p.position = spans[0].Start
		p.coverage.Position = p.position
	}
	return p
}

// rewind makes the next request start where settled ends.
func (p *partition) rewind() { p.fetchSpan, p.fetchPosition = p.span, p.position }

// advance moves the position the next request starts at: to next, or beyond it to the next span, as many spans as that
// passes.
func (p *partition) advance(next int64) {
	for next >= p.spans[p.fetchSpan].End {
		p.fetchPosition = p.spans[p.fetchSpan].End
		if p.fetchSpan++; p.asked() {
			return
		}
		p.fetchPosition = p.spans[p.fetchSpan].Start
	}
	p.fetchPosition = max(p.fetchPosition, next)
}

// asked reports whether everything was asked for.
func (p *partition) asked() bool { return p.fetchSpan == len(p.spans) }

// settle moves the settled position up to next, or to the end of the span, and returns how many offsets that were.
func (p *partition) settle(next int64) int64 {
	end := p.spans[p.span].End
	n := min(next, end) - p.position
	p.position += n
	p.coverage.Position = p.position
	p.coverage.Read += n
	if p.position == end {
		p.nextSpan()
	}
	return n
}

func (p *partition) nextSpan() {
	if p.span++; p.span < len(p.spans) {
		p.position = p.spans[p.span].Start
	}
}

// lose gives up the offsets below logStart, which retention has removed, and returns how many were to be read.
func (p *partition) lose(logStart int64) int64 {
	var lost int64
	for p.span < len(p.spans) && p.position < logStart {
		end := p.spans[p.span].End
		n := min(logStart, end) - p.position
		lost += n
		p.position += n
		p.coverage.Position = p.position
		if p.position == end {
			p.nextSpan()
		}
	}
	p.coverage.Lost += lost
	return lost
}

// done reports whether every span is settled or lost.
func (p *partition) done() bool { return p.span == len(p.spans) }

// broker returns the broker to ask, at now.
func (p *partition) broker(now time.Time) int32 {
	if p.replica >= 0 && now.Before(p.replicaUntil) {
		return p.replica
	}
	p.replica = -1
	return p.leader.leader
}

// leaveReplica makes the leader the one to ask next, after the replica could not serve p. The leader names the replica
// again, so one that fails a second time without progress is not asked for replicaFor.
func (p *partition) leaveReplica(now time.Time) {
	if p.replica < 0 {
		return
	}
	p.replica = -1
	if p.attempts > 1 {
		p.leaderUntil = now.Add(replicaFor)
	}
}

// well ends a trouble.
func (p *partition) well() { p.since, p.attempts, p.stalled = time.Time{}, 0, false }

// read is one run of [Source.Read].
type read struct {
	s        *Source
	ctx      context.Context
	cancel   context.CancelCauseFunc
	sink     source.Sink
	parts    []*partition
	back     chan *partition // from the fetchers; never blocks, as it holds all partitions
	throttle bucket
	maxBytes int32      // of one answer
	large    sync.Mutex // held with a large decompressed batch, so that all connections together have one
	wg       sync.WaitGroup

	mu       sync.Mutex
	fetchers map[int32][]*fetcher // by broker
	slots    map[int32]int        // connections for a broker; absent: one

	progress struct {
		sync.Mutex
		Progress
	}
}

// answerMemory bounds the answers held by all connections together.
const answerMemory = 64 << 20

// Read delivers the plan's records; see [source.Source]. Each of Config.Connections goroutines, and at least one per
// broker, asks for disjoint partitions in one request and has the next request on its way while it scans an answer.
//
// A partition's Coverage.Err is a [*PartitionError]. Offsets that retention removed meanwhile are counted in
// Coverage.Lost and are no error. The run ends at once with a [*TopicAuthorizationError] or an [*AuthError], which
// concern every partition.
func (s *Source) Read(ctx context.Context, plan *source.Plan, sink source.Sink) ([]source.Coverage, error) {
	r := &read{s: s, sink: sink, fetchers: map[int32][]*fetcher{}, throttle: bucket{rate: s.config.MaxRate}}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	defer r.cancel(nil)

	spans := map[int32][]source.Span{}
	for _, sp := range plan.Spans {
		spans[sp.Partition] = append(spans[sp.Partition], sp)
	}
	var open []*partition
	for _, info := range plan.Partitions {
		p := newPartition(info.ID, spans[info.ID], s.config.PartitionMaxBytes)
		p.leader = leadership{id: info.ID, leader: info.Leader, epoch: -1}
		s.sizes.suppose(&info)
		r.parts = append(r.parts, p)
		r.progress.Asked += p.coverage.Asked
		switch {
		case info.Err != nil:
			p.coverage.Err = info.Err
		case !p.done():
			open = append(open, p)
		}
	}
	r.back = make(chan *partition, len(open))
	r.share(open)
	err := r.run(open)
	if err != nil {
		r.cancel(err)
	}
	r.wg.Wait() // without an error the fetchers end by themselves and keep their connections for the next Read
	return r.coverage(err), err
}

// share decides how many connections go to each broker and how large their answers are.
func (r *read) share(open []*partition) {
	load := map[int32]int{}
	for _, p := range open {
		load[p.leader.leader]++
	}
	r.slots = connections(load, r.s.config.Connections)
	total := 0
	for _, n := range r.slots {
		total += n
	}
	total = max(total, 1)
	r.maxBytes = r.throttle.answerBytes(r.s.config.MaxBytes, total)
	const least = 64 << 10
	r.maxBytes = max(min(r.maxBytes, int32(answerMemory/total)), min(least, r.maxBytes))
	for _, p := range open {
		p.maxBytes = min(p.maxBytes, r.maxBytes)
	}
}

// connections gives every broker with partitions one connection and spreads the others, up to want in all, over those
// with the most partitions per connection. No broker gets more than it has partitions.
func connections(load map[int32]int, want int) map[int32]int {
	slots := make(map[int32]int, len(load))
	for id := range load {
		slots[id] = 1
	}
	for range want - len(slots) {
		best := int32(-1)
		for id, n := range load {
			if slots[id] >= n {
				continue
			}
			// n/slots > load[best]/slots[best], without division; the smaller id wins a tie.
			if best < 0 || n*slots[best] > load[best]*slots[id] || n*slots[best] == load[best]*slots[id] && id < best {
				best = id
			}
		}
		if best < 0 {
			break
		}
		slots[best]++
	}
	return slots
}

// run gives the partitions to fetchers, takes them back, and ends when each is finished or failed. Its error is the
// context's, the sink's, or one that concerns every partition.
func (r *read) run(open []*partition) error {
	// The largest first, so that the connections of a broker get about as much each.
	slices.SortStableFunc(open, func(a, b *partition) int { return cmp.Compare(b.coverage.Asked, a.coverage.Asked) })
	r.mu.Lock() // so that the first requests name all partitions
	for _, p := range open {
		r.place(p)
	}
	r.mu.Unlock()
	var waiting []*partition
	var alarm <-chan time.Time
	for left := len(open); left > 0; {
		select {
		case <-r.ctx.Done():
			return context.Cause(r.ctx)
		case p := <-r.back:
			switch p.outcome {
			case finished:
				left--
			case failed:
				r.fail(p)
				left--
				if concernsAll(p.err) {
					return p.err
				}
			case moved:
				r.dispatch(p)
			default:
				if alarm == nil {
					alarm = time.After(r.pause(p))
				}
				waiting = append(waiting, p)
			}
		case <-alarm:
			alarm = nil
			again := waiting[:0]
			for _, p := range r.recover(waiting) {
				switch {
				case p.outcome == finished:
					left--
				case p.outcome == failed:
					r.fail(p)
					left--
				default:
					again = append(again, p)
				}
			}
			if waiting = again; len(waiting) > 0 {
				alarm = time.After(r.pause(waiting[0]))
			}
		}
	}
	return context.Cause(r.ctx)
}

// pause is how long p waits before it is tried again.
func (r *read) pause(p *partition) time.Duration {
	if p.outcome == outOfRange && p.attempts <= 1 {
		return 0
	}
	return backOff(p.attempts - 1)
}

// concernsAll reports whether no partition can be read after err.
func concernsAll(err error) bool {
	var denied *TopicAuthorizationError
	var auth *AuthError
	return errors.As(err, &denied) || errors.As(err, &auth)
}

func (r *read) fail(p *partition) {
	p.coverage.Err = &PartitionError{Topic: r.s.config.Topic, Partition: p.id, Offset: p.position, Err: p.err}
}

// trouble notes that p could not go on for err, and whether there is time left to try again.
func (r *read) trouble(p *partition, err error) {
	p.outcome, p.err = troubled, err
	now := time.Now()
	if p.since.IsZero() {
		p.since = now
	}
	p.attempts++
	if waited := now.Sub(p.since); waited > r.s.config.RetryFor {
		p.outcome = failed
		p.err = fmt.Errorf("given up after %v and %d attempts without progress: %w", waited.Round(time.Second), p.attempts, err)
	}
}

// recover asks for metadata once and gives the partitions to their leaders again. It returns those that could not be
// given away: finished, failed, or to be tried later.
func (r *read) recover(waiting []*partition) []*partition {
	c, err := r.s.metadata(r.ctx)
	var kept []*partition
	var lost []*partition
	for _, p := range waiting {
		if err != nil {
			r.troubleOf(p, err)
			kept = append(kept, p)
			continue
		}
		l, ok := c.partition(p.id)
		if !ok {
			l.err = codeUnknownTopic
		}
		switch {
		case l.err != nil:
			r.trouble(p, l.err)
			kept = append(kept, p)
		case p.outcome == outOfRange:
			p.leader = l
			lost = append(lost, p)
		default:
			p.leader = l
			r.dispatch(p)
		}
	}
	return append(kept, r.relocate(lost)...)
}

// troubleOf is trouble for an error that may also be final.
func (r *read) troubleOf(p *partition, err error) {
	var unknown *UnknownTopicError
	if passing(err) || errors.As(err, &unknown) {
		r.trouble(p, err)
		return
	}
	p.outcome, p.err = failed, err
}

// relocate asks where the logs of partitions start and end whose position was out of range, counts what retention has
// removed as lost and gives them to their leaders again. It returns those that could not be given away.
func (r *read) relocate(parts []*partition) []*partition {
	if len(parts) == 0 {
		return nil
	}
	asked := make([]leadership, len(parts))
	for i, p := range parts {
		asked[i] = p.leader
	}
	bounds := r.s.survey(r.ctx, asked, []position{
		{earliestOffset, r.s.config.Isolation},
		{latestOffset, source.ReadUncommitted},
	})
	var kept []*partition
	for _, p := range parts {
		b := bounds[p.id]
		if b.err != nil {
			r.troubleOf(p, b.err)
			if p.outcome == troubled {
				p.outcome = outOfRange
			}
			kept = append(kept, p)
			continue
		}
		logStart, end := b.offsets[0], b.offsets[1]
		switch {
		case p.position < logStart:
			r.count(0, 0, p.lose(logStart))
			p.well()
		case p.position > end:
			p.outcome = failed
			p.err = fmt.Errorf("the log ends at offset %d now: it was truncated, or the topic was created anew", end)
			kept = append(kept, p)
			continue
		}
		if p.done() {
			p.outcome = finished
			kept = append(kept, p)
			continue
		}
		r.dispatch(p)
	}
	return kept
}

// dispatch gives p to the fetcher of its broker that has the least to do.
func (r *read) dispatch(p *partition) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.place(p)
}

// place is dispatch with the lock held.
func (r *read) place(p *partition) {
	p.rewind()
	p.weight = p.coverage.Asked - p.coverage.Read - p.coverage.Lost
	id := p.broker(time.Now())
	running := r.fetchers[id]
	if len(running) < max(1, r.slots[id]) {
		f := &fetcher{r: r, broker: id, inbox: []*partition{p}, load: p.weight}
		r.fetchers[id] = append(running, f)
		r.wg.Go(f.run)
		return
	}
	least := running[0]
	for _, f := range running[1:] {
		if f.load < least.load {
			least = f
		}
	}
	least.inbox = append(least.inbox, p)
	least.load += p.weight
}

// count adds to the progress and tells the observer.
func (r *read) count(bytes, records, offsets int64) {
	r.progress.Lock()
	defer r.progress.Unlock()
	r.progress.Bytes += bytes
	r.progress.Records += records
	r.progress.Offsets += offsets
	if f := r.s.config.OnProgress; f != nil {
		f(r.progress.Progress)
	}
}

// coverage closes the books: a partition that is incomplete without a reason of its own has that of the run's end.
func (r *read) coverage(end error) []source.Coverage {
	if end == nil || errors.Is(end, context.Canceled) {
		end = errInterrupted
	}
	all := make([]source.Coverage, len(r.parts))
	for i, p := range r.parts {
		if p.coverage.Err == nil && !p.done() {
			p.coverage.Err = &PartitionError{Topic: r.s.config.Topic, Partition: p.id, Offset: p.position, Err: end}
		}
		all[i] = p.coverage
	}
	return all
}

var errInterrupted = errors.New("the run was interrupted")
