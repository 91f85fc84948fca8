package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"

	"github.com/segmentio/kafka-go/protocol/metadata"
)

// cluster is what one metadata answer says of the brokers and the topic.
type cluster struct {
	brokers    map[int32]string // addresses by id
	partitions []leadership     // by partition
}

// leadership is who leads a partition.
type leadership struct {
	id     int32
	leader int32 // -1: none
	epoch  int32 // -1: the broker did not say
	err    error // why there is no leader; nil otherwise
}

func (c *cluster) partition(id int32) (leadership, bool) {
	i, ok := slices.BinarySearchFunc(c.partitions, id, func(l leadership, id int32) int { return cmp.Compare(l.id, id) })
	if !ok {
		return leadership{}, false
	}
	return c.partitions[i], true
}

// askAny sends one metadata request to any broker. A connection that was open for long may have been closed by the
// broker, so a broken one is replaced once.
func (s *Source) askAny(ctx context.Context, req *metadata.Request) (answer *metadata.Response, version int16, err error) {
	for attempt := 0; ; attempt++ {
		c, err := s.brokers.any(ctx)
		if err != nil {
			return nil, 0, err
		}
		stop := context.AfterFunc(ctx, func() { _ = c.Close() })
		m, err := c.roundTrip(req)
		stop()
		if err == nil {
			s.brokers.keep(c)
			return m.(*metadata.Response), c.versions[req.ApiKey()], nil
		}
		_ = c.Close()
		if ctx.Err() != nil {
			return nil, 0, context.Cause(ctx)
		}
		if attempt > 0 {
			hint := ""
			if errors.Is(err, errClosed) && s.brokers.dialer.mechanism == nil {
				hint = "the listener may require SASL: security.protocol SASL_SSL or SASL_PLAINTEXT"
			}
			return nil, 0, &ConnectError{Address: c.address, Err: fmt.Errorf("asking for metadata: %w", err), Hint: hint}
		}
	}
}

// metadata asks once for the topic, and for it alone; nothing is created.
func (s *Source) metadata(ctx context.Context) (*cluster, error) {
	answer, version, err := s.askAny(ctx, &metadata.Request{TopicNames: []string{s.config.Topic}})
	if err != nil {
		return nil, err
	}
	c := &cluster{brokers: make(map[int32]string, len(answer.Brokers))}
	for _, b := range answer.Brokers {
		c.brokers[b.NodeID] = net.JoinHostPort(foreign(b.Host), strconv.Itoa(int(b.Port)))
	}
	s.brokers.learn(c.brokers)
	for _, t := range answer.Topics {
		if t.Name != s.config.Topic {
			continue
		}
		switch code := Code(t.ErrorCode); code {
		case codeNone:
		case codeTopicNotAuthorized:
			return nil, &TopicAuthorizationError{Topic: t.Name, Operation: "DESCRIBE"}
		case codeUnknownTopic, codeInvalidTopic:
			return nil, &UnknownTopicError{Topic: t.Name}
		default:
			return nil, fmt.Errorf("topic %q: %w", t.Name, code)
		}
		for _, p := range t.Partitions {
			l := leadership{id: p.PartitionIndex, leader: p.LeaderID, epoch: p.LeaderEpoch}
			if version < 7 {
				l.epoch = -1 // not in the answer
			}
			if code := Code(p.ErrorCode); p.LeaderID < 0 {
				l.err = codeLeaderNotAvailable
				if code != codeNone {
					l.err = code
				}
			}
			c.partitions = append(c.partitions, l)
		}
		slices.SortFunc(c.partitions, func(a, b leadership) int { return cmp.Compare(a.id, b.id) })
		return c, nil
	}
	return nil, fmt.Errorf("the cluster answered for other topics than %q", s.config.Topic)
}

// Topics lists the cluster's topics this user may describe, sorted, without the internal ones and those of names that
// Kafka does not allow. It is for completion and for naming topics near a mistyped one.
func (s *Source) Topics(ctx context.Context) ([]string, error) {
	answer, _, err := s.askAny(ctx, &metadata.Request{TopicNames: nil})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, t := range answer.Topics {
		if t.ErrorCode == 0 && !t.IsInternal && validTopic(t.Name) {
			names = append(names, t.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// maxNearest is how many topics are named beside one that does not exist.
const maxNearest = 3

// nearest returns the names that differ from want in few letters, nearest first.
func nearest(want string, names []string) []string {
	type near struct {
		name string
		d    int
	}
	var list []near
	for _, n := range names {
		// A third of the letters may differ: "order" finds "orders.v1"'s neighbours, not everything.
		if d := editDistance(want, n); d <= max(2, len(want)/3) {
			list = append(list, near{n, d})
		}
	}
	slices.SortFunc(list, func(a, b near) int { return cmp.Or(cmp.Compare(a.d, b.d), cmp.Compare(a.name, b.name)) })
	var out []string
	for _, n := range list[:min(len(list), maxNearest)] {
		out = append(out, n.name)
	}
	return out
}

// editDistance is the Levenshtein distance of two strings in bytes: insertions, deletions and substitutions.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}
