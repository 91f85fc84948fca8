package kafka

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/segmentio/kafka-go/protocol"
)

// diskSizes is what the leaders tell of the sizes of their logs.
type diskSizes struct {
	bytes map[int32]int64 // by partition; those not told are absent
	why   map[int32]error // by broker that did not tell
}

// note says which sizes are not known and why; "" when those of all parts are.
func (d *diskSizes) note(parts []leadership) string {
	var unknown []int32
	for _, p := range parts {
		if _, ok := d.bytes[p.id]; !ok {
			unknown = append(unknown, p.id)
		}
	}
	if len(unknown) == 0 {
		return ""
	}
	text := "size on disk not known of partitions " + listText(unknown)
	if len(d.why) > 0 {
		broker := slices.Min(slices.Collect(maps.Keys(d.why))) // one reason is enough
		text += fmt.Sprintf(": broker %d: %v", broker, d.why[broker])
	}
	return text
}

// askSizes asks the leaders of parts, all at once and each with one request, how much their logs of the topic take.
func (s *Source) askSizes(ctx context.Context, parts []leadership) *diskSizes {
	ctx, cancel := context.WithTimeout(ctx, s.config.ConnectTimeout)
	defer cancel()
	all := &diskSizes{bytes: map[int32]int64{}, why: map[int32]error{}}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for leader, led := range byLeader(parts) {
		wg.Go(func() {
			found, err := s.describeLogDirs(ctx, leader, led)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				all.why[leader] = err
			}
			for _, p := range led {
				if n, ok := found[p.id]; ok {
					all.bytes[p.id] = n
				}
			}
		})
	}
	wg.Wait()
	return all
}

// describeLogDirs asks one broker for the sizes of its replicas of parts. What it tells is valid with an error too.
func (s *Source) describeLogDirs(ctx context.Context, broker int32, parts []leadership) (map[int32]int64, error) {
	c, err := s.brokers.to(ctx, broker)
	if err != nil {
		return nil, err
	}
	if _, ok := c.versions[protocol.DescribeLogDirs]; !ok {
		s.brokers.keep(c)
		return nil, fmt.Errorf("it does not offer %s (Kafka 1.0 and later)", protocol.DescribeLogDirs)
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	body, err := c.roundTripRaw(protocol.DescribeLogDirs, logDirsRequest(s.config.Topic, parts))
	if !stop() || err != nil {
		_ = c.Close()
		if ctx.Err() != nil {
			err = errTimedOut
		}
		return nil, fmt.Errorf("asking for sizes on disk: %w", err)
	}
	found, err := parseLogDirs(body, s.config.Topic)
	s.brokers.keep(c)
	return found, err
}

// logDirsRequest encodes the body of a DescribeLogDirs request of version 0 or 1, which are the same.
func logDirsRequest(topic string, parts []leadership) []byte {
	be := binary.BigEndian
	b := be.AppendUint32(nil, 1) // topics
	b = be.AppendUint16(b, uint16(len(topic)))
	b = append(b, topic...)
	b = be.AppendUint32(b, uint32(len(parts)))
	for _, p := range parts {
		b = be.AppendUint32(b, uint32(p.id))
	}
	return b
}

// parseLogDirs reads the body of a DescribeLogDirs answer of version 0 or 1: bytes by partition of the topic. Replicas
// that are on their way to another directory do not count. Its error is the first of a directory, or says that the
// answer makes no sense or is empty; the sizes told so far are valid.
func parseLogDirs(body []byte, topic string) (map[int32]int64, error) {
	r := reader{b: body}
	r.int32() // throttle time
	sizes := map[int32]int64{}
	var failed error
	const minDir, minTopic, partition = 2 + 2 + 4, 2 + 4, 4 + 8 + 8 + 1
	dirs := r.count(minDir)
	for range dirs {
		code := Code(r.int16())
		r.string() // the directory
		if code != codeNone && failed == nil {
			failed = code
		}
		for range r.count(minTopic) {
			name := r.string()
			for range r.count(partition) {
				id, size := r.int32(), r.int64()
				r.int64() // how far the replica lags behind
				future := r.take(1)
				if r.err == nil && string(name) == topic && future[0] == 0 && size >= 0 {
					sizes[id] += size
				}
			}
		}
		if r.err != nil {
			return nil, fmt.Errorf("reading the answer to DescribeLogDirs: %w", r.err)
		}
	}
	switch {
	case r.err != nil:
		return nil, fmt.Errorf("reading the answer to DescribeLogDirs: %w", r.err)
	case len(r.b) > 0:
		return nil, fmt.Errorf("reading the answer to DescribeLogDirs: %d bytes are left over", len(r.b))
	case dirs == 0:
		// These versions have no place for an error of the request as a whole, and a broker has a directory at least.
		return nil, errors.New("it lists no log directory: the user needs the ACL operation DESCRIBE on the cluster")
	case failed != nil:
		return sizes, fmt.Errorf("a log directory cannot be described: %w", failed)
	}
	return sizes, nil
}
