package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/segmentio/kafka-go/protocol/listoffsets"

	"keyspread/analyze/source"
)

// The timestamps ListOffsets reads as positions.
const (
	latestOffset   = -1 // the end: high watermark, or last stable offset under read_committed
	earliestOffset = -2 // the log start
)

// position is a question to ListOffsets.
type position struct {
	timestamp int64 // epoch milliseconds, latestOffset or earliestOffset
	isolation source.Isolation
}

// found is the answer to a position for one partition.
type found struct {
	offset int64 // -1: no record at or after the timestamp
	err    error
}

// listOffsets asks one broker for one position of several partitions, in one request.
func (s *Source) listOffsets(c *conn, at position, parts []leadership) (map[int32]found, error) {
	topic := listoffsets.RequestTopic{Topic: s.config.Topic}
	for _, p := range parts {
		topic.Partitions = append(topic.Partitions, listoffsets.RequestPartition{
			Partition: p.id, CurrentLeaderEpoch: p.epoch, Timestamp: at.timestamp,
		})
	}
	m, err := c.roundTrip(&listoffsets.Request{
		ReplicaID: -1, IsolationLevel: wireIsolation(at.isolation), Topics: []listoffsets.RequestTopic{topic},
	})
	if err != nil {
		return nil, fmt.Errorf("asking %s for offsets: %w", c.address, err)
	}
	answers := make(map[int32]found, len(parts))
	for _, t := range m.(*listoffsets.Response).Topics {
		for _, p := range t.Partitions {
			f := found{offset: p.Offset}
			switch code := Code(p.ErrorCode); code {
			case codeNone:
			case codeTopicNotAuthorized:
				f.err = &TopicAuthorizationError{Topic: s.config.Topic, Operation: "DESCRIBE"}
			default:
				f.err = code
			}
			answers[p.Partition] = f
		}
	}
	for _, p := range parts {
		f, ok := answers[p.id]
		switch {
		case !ok:
			answers[p.id] = found{err: errors.New("the broker left the partition out of its answer")}
		case f.err == nil && at.timestamp < 0 && f.offset < 0:
			answers[p.id] = found{err: fmt.Errorf("the broker answered offset %d", f.offset)}
		}
	}
	return answers, nil
}

func wireIsolation(i source.Isolation) int8 {
	if i == source.ReadUncommitted {
		return 0
	}
	return 1
}

// survey asks the leaders of parts for every position, the leaders at once, each with one request per position. It
// returns per partition the offsets in the order of positions, or the error.
func (s *Source) survey(ctx context.Context, parts []leadership, positions []position) map[int32]surveyed {
	all := make(map[int32]surveyed, len(parts))
	for _, p := range parts {
		if p.err != nil {
			all[p.id] = surveyed{err: p.err}
		}
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for leader, led := range byLeader(parts) {
		wg.Go(func() {
			answers, err := s.surveyBroker(ctx, leader, led, positions)
			mu.Lock()
			defer mu.Unlock()
			for _, p := range led {
				if err != nil {
					all[p.id] = surveyed{err: err}
				} else {
					all[p.id] = answers[p.id]
				}
			}
		})
	}
	wg.Wait()
	return all
}

// byLeader sorts partitions by leader. Those without one are left out.
func byLeader(parts []leadership) map[int32][]leadership {
	led := map[int32][]leadership{}
	for _, p := range parts {
		if p.err == nil {
			led[p.leader] = append(led[p.leader], p)
		}
	}
	return led
}

// surveyed is what survey learnt of one partition.
type surveyed struct {
	offsets []int64
	err     error
}

func (s *Source) surveyBroker(ctx context.Context, id int32, led []leadership, positions []position) (map[int32]surveyed, error) {
	c, err := s.brokers.to(ctx, id)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	all := make(map[int32]surveyed, len(led))
	for _, at := range positions {
		answers, err := s.listOffsets(c, at, led)
		if err != nil {
			stop()
			_ = c.Close()
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return nil, err
		}
		for _, p := range led {
			a, f := all[p.id], answers[p.id]
			a.offsets = append(a.offsets, f.offset)
			if a.err == nil {
				a.err = f.err
			}
			all[p.id] = a
		}
	}
	if stop() {
		s.brokers.keep(c)
	}
	return all, nil
}
