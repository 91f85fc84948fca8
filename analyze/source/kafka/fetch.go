package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"

	"keyspread/analyze/source"
	"keyspread/analyze/source/kafka/batch"
)

// recordsPerBatch bounds the records handed to the sink at once: 56 bytes each, so that they stay in the L2 cache.
const recordsPerBatch = 1024

// maxBatchBytes is what a batch may decompress to. Producers bound their requests before compression, by 1 MiB unless
// told otherwise, so that no honest batch comes near it.
const maxBatchBytes = 64 << 20

// fetcher is one connection to one broker and the goroutine that reads its partitions over it. All partitions are in
// every request. The next request is sent as soon as the headers of an answer have been walked, so the broker works
// while the records are scanned; one buffer is enough, as the next answer is received only after the scan.
type fetcher struct {
	r      *read
	broker int32

	inbox []*partition // given by dispatch; r.mu is held
	load  int64        // offsets given and not given back; r.mu is held

	parts  []*partition // of the next requests, those that got least lately first
	turned []*partition // those behind the others, while rotate makes the order
	conn   *conn
	muted  time.Time // not to be asked until then: the broker throttles, or has nothing to say

	moved  bool          // the answer at hand brought something on
	barren int           // how many answers in a row did not
	quiet  time.Duration // how long the pauses after them were

	request fetch.Request
	sent    []asked // what the request on its way asks for
	asked   []asked // what the answer at hand was asked for
	answer  answer
	frame   []byte
	ready   []ready // what the answer at hand has to scan

	scanner batch.Scanner
	records []source.Record
	out     source.Batch
}

// asked is what a request asked of a partition.
type asked struct {
	p     *partition
	from  int64
	bytes int32
}

// ready is a partition's record set that waits to be scanned.
type ready struct {
	p       *partition
	set     []byte
	aborted []batch.AbortedTxn
	broken  error // what walking the headers stumbled over
	leaves  bool  // it is given back after the scan: finished, broken, or moved to another broker
	span    int   // where the scan must end: what was asked for next starts there
	next    int64
	counted int // bytes of set that were delivered as WireBytes
}

// run reads until no partition is left.
func (f *fetcher) run() {
	f.records = make([]source.Record, recordsPerBatch)
	f.scanner.Options = batch.Options{
		ReadCommitted: f.r.s.config.Isolation == source.ReadCommitted, MaxBatchBytes: maxBatchBytes, Large: (*largeBatch)(f),
	}
	for f.collect() {
		if err := f.serve(); err != nil {
			f.disconnect(err)
		}
	}
	switch {
	case f.conn == nil:
	case f.r.ctx.Err() != nil:
		_ = f.conn.Close()
	default:
		f.r.s.brokers.keep(f.conn)
	}
}

// largeBatch is the lock on a large batch of a fetcher's scanner.
type largeBatch fetcher

func (l *largeBatch) Lock() { l.r.large.Lock() }

// Unlock lets go of the batch's keys too, which have been delivered.
func (l *largeBatch) Unlock() {
	clear(l.records)
	l.r.large.Unlock()
}

// collect takes what dispatch gave. With nothing to do it retires the fetcher and returns false.
func (f *fetcher) collect() bool {
	f.r.mu.Lock()
	defer f.r.mu.Unlock()
	f.takeInbox()
	if len(f.parts) > 0 {
		return true
	}
	running := f.r.fetchers[f.broker]
	f.r.fetchers[f.broker] = slices.DeleteFunc(running, func(other *fetcher) bool { return other == f })
	return false
}

// giveBack hands p back to the run.
func (f *fetcher) giveBack(p *partition, o outcome) {
	f.moved = true
	p.outcome = o
	f.drop(p)
	f.r.mu.Lock()
	f.load -= p.weight
	f.r.mu.Unlock()
	f.r.back <- p
}

// add puts p into the next requests, last.
func (f *fetcher) add(p *partition) {
	f.parts = append(f.parts, p)
	p.listed, p.served = true, false
}

// drop takes p out of the next requests.
func (f *fetcher) drop(p *partition) {
	if !p.listed {
		return
	}
	p.listed = false
	f.parts = slices.DeleteFunc(f.parts, func(other *partition) bool { return other == p })
}

// disconnect gives every partition back after the connection has failed.
func (f *fetcher) disconnect(err error) {
	if f.conn != nil {
		_ = f.conn.Close()
		f.conn = nil
	}
	for _, p := range slices.Clone(f.parts) {
		f.r.troubleOf(p, err)
		p.leaveReplica(time.Now())
		f.giveBack(p, p.outcome)
	}
}

// serve sends requests and scans answers until no partition is left. Its error is the connection's.
func (f *fetcher) serve() error {
	if f.conn == nil {
		c, err := f.r.s.brokers.to(f.r.ctx, f.broker)
		if err != nil {
			return err
		}
		f.conn = c
	}
	c := f.conn
	stop := context.AfterFunc(f.r.ctx, func() { _ = c.Close() })
	defer stop()
	underway := false
	for {
		if !underway {
			f.returnToLeaders()
			if len(f.parts) == 0 {
				return nil
			}
			if err := sleep(f.r.ctx, f.pause()); err != nil {
				return err
			}
			if err := f.send(); err != nil {
				return err
			}
		}
		if err := f.receive(); err != nil {
			return err
		}
		f.walk()
		underway = false
		if f.collectMore(); len(f.parts) > 0 && f.pause() == 0 {
			if err := f.send(); err != nil {
				return errors.Join(err, f.scanAll())
			}
			underway = true
		}
		if err := f.scanAll(); err != nil {
			return err
		}
		if underway && len(f.parts) == 0 {
			// A partition turned out to be broken while its next request was under way: nobody waits for the answer.
			_ = c.Close()
			f.conn = nil
			return nil
		}
	}
}

// collectMore takes what dispatch gave while there is work.
func (f *fetcher) collectMore() {
	f.r.mu.Lock()
	defer f.r.mu.Unlock()
	f.takeInbox()
}

func (f *fetcher) takeInbox() {
	for _, p := range f.inbox {
		f.add(p)
	}
	f.inbox = f.inbox[:0]
}

// returnToLeaders gives back the partitions that another broker is to be asked for now. Nothing is under way.
func (f *fetcher) returnToLeaders() {
	now := time.Now()
	for i := 0; i < len(f.parts); {
		if p := f.parts[i]; p.broker(now) != f.broker {
			f.giveBack(p, moved)
			continue
		}
		i++
	}
}

// pause is how long the next request has to wait, for the rate asked for or for the broker's quota.
func (f *fetcher) pause() time.Duration {
	now := time.Now()
	return max(f.r.throttle.wait(now), f.muted.Sub(now), 0)
}

// send asks for the partitions, from where the last request left off. Those that are beyond twice the size of an answer
// wait for a later request, so that with thousands of them a request stays small.
func (f *fetcher) send() error {
	config := &f.r.s.config
	f.sent = f.sent[:0]
	q := &f.request
	if len(q.Topics) == 0 {
		*q = fetch.Request{
			ReplicaID: -1, MaxWaitTime: int32(config.MaxWait.Milliseconds()), MinBytes: 1,
			IsolationLevel: wireIsolation(config.Isolation), SessionEpoch: -1,
			Topics: []fetch.RequestTopic{{Topic: config.Topic}},
		}
	}
	q.MaxBytes, q.RackID = f.r.maxBytes, config.Rack
	list := q.Topics[0].Partitions[:0]
	now, total := time.Now(), int64(0)
	for _, p := range f.parts {
		if total > 2*int64(q.MaxBytes) {
			break
		}
		ask := p.ask(&f.r.s.sizes)
		total += int64(ask)
		if len(list) == 0 {
			// A broker sends a batch larger than this only when it is the first of the answer, so the first decides.
			q.MaxBytes = max(q.MaxBytes, ask)
		}
		if now.Before(p.leaderUntil) {
			q.RackID = "" // a broker that is told no rack names no replica
		}
		f.sent = append(f.sent, asked{p, p.fetchPosition, ask})
		list = append(list, fetch.RequestPartition{
			Partition: p.id, CurrentLeaderEpoch: p.leader.epoch, FetchOffset: p.fetchPosition,
			LogStartOffset: -1, PartitionMaxBytes: ask,
		})
	}
	q.Topics[0].Partitions = list
	return f.conn.send(q, config.MaxWait)
}

// receive reads an answer and takes it apart.
func (f *fetcher) receive() error {
	if cap(f.frame) > 4*int(f.r.maxBytes)+readStep {
		f.frame = nil // a single huge batch shall not hold its memory for the rest of the run
	}
	var err error
	if f.frame, err = f.conn.receive(f.frame, maxFetchFrame); err != nil {
		return err
	}
	now := time.Now()
	f.r.throttle.pay(int64(len(f.frame)), now)
	f.r.count(int64(len(f.frame)), 0, 0)
	if err := f.answer.parse(f.frame[8:], f.conn.versions[protocol.Fetch], f.r.s.config.Topic); err != nil {
		return err
	}
	if ms := f.answer.throttleMillis; ms > 0 {
		f.muted = now.Add(time.Duration(ms) * time.Millisecond)
	}
	f.sent, f.asked = f.asked, f.sent
	if f.answer.err != codeNone {
		return f.answer.err
	}
	return nil
}

// walk goes over the answer once: it moves what is asked for next beyond what has come, gives back the partitions with
// an error, and lists the record sets to scan.
func (f *fetcher) walk() {
	f.ready, f.moved = f.ready[:0], false
	hint, firstSeen := 0, false
	for i := range f.answer.parts {
		a := &f.answer.parts[i]
		j := f.find(a.partition, hint)
		if j < 0 {
			continue // not asked for
		}
		hint = j + 1
		firstSeen = firstSeen || j == 0
		p := f.asked[j].p
		if !p.listed || p.fetchPosition != f.asked[j].from {
			continue // given up while the request was on its way, or answered twice
		}
		switch {
		case a.err != codeNone:
			f.refused(p, a.err)
		case f.redirects(p, a):
			p.replica, p.replicaUntil = a.preferredReplica, time.Now().Add(replicaFor)
			f.giveBack(p, moved)
		default:
			f.accept(p, a, j)
		}
	}
	if !firstSeen && f.asked[0].p.listed && f.answer.throttleMillis == 0 { // over its quota, a client gets no partition
		f.stall(f.asked[0].p, errors.New("the broker leaves the partition out of its answers"))
	}
	f.rotate()
	f.rest()
}

// redirects reports whether the leader names a replica that shall be asked instead. The word of a replica does not
// count, nor does that of a leader that was told no rack: partitions could be sent to and fro without end.
func (f *fetcher) redirects(p *partition, a *answerPart) bool {
	return a.preferredReplica >= 0 && a.preferredReplica != f.broker && f.r.s.config.Rack != "" && p.replica < 0 &&
		!time.Now().Before(p.leaderUntil)
}

// rest sees to it that a broker whose answers bring nothing on is not asked in a tight loop, nor for ever: it should hold
// an answer without records for MaxWait, but may not. Partitions are in trouble one by one, when they are the first of a
// request; with many of them, or with a broker that always throttles, that would take too long.
func (f *fetcher) rest() {
	if f.moved {
		f.barren, f.quiet = 0, 0
		return
	}
	if f.quiet > f.r.s.config.RetryFor {
		for _, a := range f.asked {
			if p := a.p; p.listed {
				p.err = fmt.Errorf("given up after %d answers of the broker that brought no records", f.barren)
				f.giveBack(p, failed)
			}
		}
		return
	}
	pause := backOff(f.barren)
	f.barren++
	f.quiet += pause
	if until := time.Now().Add(pause); until.After(f.muted) {
		f.muted = until
	}
}

// find returns the index of a partition in what was asked, searching from hint on, as answers keep the order.
func (f *fetcher) find(id int32, hint int) int {
	for k := range f.asked {
		if j := (hint + k) % len(f.asked); f.asked[j].p.id == id {
			return j
		}
	}
	return -1
}

// refused deals with an error the broker answered for a partition.
func (f *fetcher) refused(p *partition, code Code) {
	switch {
	case code == codeTopicNotAuthorized:
		p.outcome, p.err = failed, &TopicAuthorizationError{Topic: f.r.s.config.Topic, Operation: "READ"}
	case code == codeOffsetOutOfRange:
		f.r.trouble(p, code)
		if p.outcome == troubled && p.replica < 0 { // a replica may be behind
			p.outcome = outOfRange
		}
	default:
		f.r.troubleOf(p, code)
	}
	p.leaveReplica(time.Now())
	f.giveBack(p, p.outcome)
}

// accept takes the record set of an answer without error, for what was asked as number j of the request.
func (f *fetcher) accept(p *partition, a *answerPart, j int) {
	x, err := batch.Walk(a.set, p.fetchPosition)
	if x.Next > p.fetchPosition {
		err = nil // what came before the broken batch is good, and may be all that is wanted
	} else if err == nil {
		f.nothing(p, a, j, x)
		return
	}
	f.moved = true
	got := ready{p: p, set: a.set, aborted: f.answer.aborted[a.abortedFrom:a.abortedTo], broken: err}
	if err == nil {
		f.r.s.sizes.learn(p.id, x)
		p.least = 0
		span, limit := p.fetchSpan, f.asked[j].bytes
		p.advance(x.Next)
		switch {
		case p.fetchSpan > span:
			p.doubled = 0
		case len(a.set) >= int(limit) && limit < p.maxBytes:
			p.fellShort()
		}
	}
	p.served = true
	got.span, got.next = p.fetchSpan, p.fetchPosition
	if got.leaves = err != nil || p.asked() || p.broker(time.Now()) != f.broker; got.leaves {
		f.drop(p)
	}
	f.ready = append(f.ready, got)
}

// nothing deals with an answer that holds no whole batch at the position or beyond it. x is what it holds.
func (f *fetcher) nothing(p *partition, a *answerPart, j int, x batch.Extent) {
	limit, first := int64(f.asked[j].bytes), j == 0
	need := int64(x.Bytes + x.CutOff) // with the whole batch; one whose header is cut off too is taken to be larger
	if x.CutOff < 0 {
		need = min(limit+1, maxFetchFrame)
	}
	switch {
	case need > maxFetchFrame:
		p.err = fmt.Errorf("a batch of %d bytes is announced, more than %d cannot be read", x.CutOff, maxFetchFrame)
		f.giveBack(p, failed)
	case x.CutOff != 0 && need > limit && (first || int64(len(a.set)) >= limit):
		// Only the beginning of a batch came. Its header says how much to ask for.
		p.least = int32(min(maxFetchFrame, max(2*limit, need)))
		p.maxBytes = max(p.maxBytes, p.least)
		f.moved = true
	case first && x.CutOff < 0:
		f.stall(p, fmt.Errorf("the broker sends only the first bytes of a batch, though %d were asked for", limit))
	case first && x.CutOff > 0:
		f.stall(p, fmt.Errorf("the broker sends only a part of a batch of %d bytes, though %d were asked for", x.CutOff, limit))
	case first && len(a.set) > 0:
		f.stall(p, errors.New("the broker sends only records that come before it"))
	case first && f.answer.throttleMillis == 0:
		// The first partition of a request gets at least one batch when there is one.
		f.stall(p, fmt.Errorf("the broker sends no records, though the partition ends at offset %d",
			p.spans[len(p.spans)-1].End))
	case first:
		p.served = true // over its quota, a client gets nothing
	case len(a.set) == 0 && limit < int64(p.maxBytes) && int64(len(f.frame))+limit <= int64(f.request.MaxBytes):
		p.fellShort() // there was room: a broker leaves a batch out that is larger than what was asked of its partition
	case !p.stalled:
		p.well()
	}
}

// stall notes that a broker has nothing for the first partition of a request that it could go on with.
func (f *fetcher) stall(p *partition, err error) {
	f.r.trouble(p, err)
	p.leaveReplica(time.Now())
	p.stalled, p.served = true, true // the others shall not wait for it
	if p.outcome == failed {
		f.giveBack(p, failed)
	}
}

// rotate puts the partitions that were served behind the others, as the broker fills an answer from the front.
func (f *fetcher) rotate() {
	waiting := f.parts[:0]
	f.turned = f.turned[:0]
	for _, p := range f.parts {
		if p.served {
			f.turned = append(f.turned, p)
		} else {
			waiting = append(waiting, p)
		}
		p.served = false
	}
	f.parts = append(waiting, f.turned...)
}

// scanAll scans the record sets of the answer at hand and gives back the partitions that are finished or broken. Its
// error is the sink's, which ends the run.
func (f *fetcher) scanAll() error {
	var records, offsets int64
	defer func() { f.r.count(0, records, offsets) }()
	for i := range f.ready {
		w := &f.ready[i]
		n, m, err := f.scan(w)
		records, offsets = records+n, offsets+m
		for err == nil && m > 0 && w.behind() { // the set holds records of the next span too
			n, m, err = f.scan(w)
			records, offsets = records+n, offsets+m
		}
		var sinkErr *sinkError
		switch {
		case errors.As(err, &sinkErr):
			f.r.cancel(sinkErr.err)
			return sinkErr.err
		case err == nil && w.broken != nil:
			err = w.broken
		case err == nil && (w.p.span != w.span || w.p.position != w.next):
			err = errors.New("the records end before the batch headers say")
		}
		switch {
		case err != nil:
			w.p.err = err
			f.giveBack(w.p, failed)
		case w.p.done():
			f.giveBack(w.p, finished)
		case w.leaves:
			f.giveBack(w.p, moved)
		}
	}
	f.ready = f.ready[:0]
	return nil
}

// behind reports whether the scan has not come to where it must end.
func (w *ready) behind() bool {
	return w.p.span < w.span || w.p.span == w.span && w.p.position < w.next
}

// sinkError marks an error as the sink's.
type sinkError struct{ err error }

func (e *sinkError) Error() string { return e.err.Error() }

// scan delivers the records of a set from the position on, up to the end of the span. It returns how many records were
// delivered and how many offsets settled. Its error is a *sinkError or says why the partition cannot be read further;
// what came before was delivered.
func (f *fetcher) scan(w *ready) (records, offsets int64, err error) {
	p, sc, b := w.p, &f.scanner, &f.out
	end := p.spans[p.span].End
	*b = source.Batch{Partition: p.id, LeaderEpoch: -1}
	n := 0 // records waiting in f.records
	// flush delivers them and settles the offsets below next; over reports that the span is.
	flush := func(next int64) (over bool, err error) {
		b.Next = min(next, end)
		b.Records = f.records[:n]
		if err := f.r.sink.Batch(b); err != nil {
			return true, &sinkError{err}
		}
		records += int64(n)
		offsets += p.settle(b.Next)
		p.well()
		n, b.ControlRecords, b.AbortedRecords, b.WireBytes = 0, 0, 0, 0
		return b.Next == end, nil
	}
	var control, aborted int64 // skipped so far
	sc.Reset(w.set, p.position, w.aborted, nil)
	defer sc.Reset(nil, 0, nil, nil) // a large batch shall not keep the others waiting
	for sc.NextBatch() {
		h := sc.Batch()
		if h.BaseOffset >= end {
			_, err := flush(end)
			return records, offsets, err
		}
		stamp := timestampType(&h)
		if n > 0 && (stamp != b.TimestampType || h.LeaderEpoch != b.LeaderEpoch) {
			if over, err := flush(sc.Position()); over {
				return records, offsets, err
			}
		}
		b.TimestampType, b.LeaderEpoch = stamp, h.LeaderEpoch
		if end := sc.Used() + h.WireSize; end > w.counted { // two spans may share a batch
			b.WireBytes += int64(h.WireSize)
			w.counted = end
		}
		c, a := sc.Skipped()
		b.ControlRecords += c - control
		b.AbortedRecords += max(0, a-aborted-beyond(&h, end))
		control, aborted = c, a
		for more := true; more; {
			n += batch.Fill(sc, f.records[n:])
			more = n == len(f.records)
			for n > 0 && f.records[n-1].Offset >= end {
				n--
				more = false
			}
			if more {
				if over, err := flush(f.records[n-1].Offset + 1); over {
					return records, offsets, err
				}
			}
		}
		// Keys of a compressed batch last until the next one is opened; those of others as long as the answer.
		if h.LastOffset >= end-1 || n > 0 && h.Codec != batch.None {
			if over, err := flush(sc.Position()); over {
				return records, offsets, err
			}
		}
	}
	if sc.Position() > p.position {
		if _, err := flush(sc.Position()); err != nil {
			return records, offsets, err
		}
	}
	return records, offsets, sc.Err()
}

func timestampType(h *batch.Header) source.TimestampType {
	if h.LogAppendTime {
		return source.LogAppendTime
	}
	return source.CreateTime
}

// beyond returns how many of an aborted batch's records lie at or after end, taking it to have no gaps.
func beyond(h *batch.Header, end int64) int64 {
	if !h.Aborted {
		return 0
	}
	return max(0, h.LastOffset-end+1)
}
