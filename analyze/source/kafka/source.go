package kafka

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"keyspread/analyze/source"
)

// Source is a topic of a cluster. It implements [source.Source]. Plan and Read must not run at the same time.
type Source struct {
	config  Config
	brokers *brokers
	sizes   sizes
}

var _ source.Source = (*Source)(nil)

// New checks c, reads the certificate files it names and returns a Source. It connects to nothing yet.
func New(c Config) (*Source, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	tlsConfig, err := c.Security.tlsConfig()
	if err != nil {
		return nil, err
	}
	mechanism, err := c.Security.mechanism()
	if err != nil {
		return nil, err
	}
	return &Source{
		config: c,
		brokers: &brokers{
			dialer: &dialer{
				clientID:       c.ClientID,
				requestTimeout: c.RequestTimeout,
				tls:            tlsConfig,
				mechanism:      mechanism,
				username:       c.Security.Username,
				password:       c.Security.Password,
			},
			bootstrap: c.BootstrapServers,
			timeout:   c.ConnectTimeout,
			idle:      map[string][]*conn{},
		},
	}, nil
}

// Close closes the connections that are kept between Plan and Read.
func (s *Source) Close() error {
	s.brokers.close()
	return nil
}

// Plan asks for the topic and its offsets and fixes what [Source.Read] reads. When all goes well that is one metadata
// request, and per leader one ListOffsets request for each of: log start, end, under read_committed also the high
// watermark, and Since and Until where given. Partitions that have no leader for the moment are asked for again until
// Config.ConnectTimeout is over. With Config.AskSizes each leader gets one DescribeLogDirs request more; what cannot be
// learnt by it is said in [source.Plan].Notes.
//
// Errors of note: [*ConnectError], [*AuthError], [*UnknownTopicError], [*TopicAuthorizationError], [*RangeError].
func (s *Source) Plan(ctx context.Context) (*source.Plan, error) {
	if s.config.Topic == "" {
		return nil, errors.New("no topic given")
	}
	giveUp := time.Now().Add(s.config.ConnectTimeout)
	c, err := s.settledMetadata(ctx, giveUp)
	if err != nil {
		return nil, s.explainTopic(ctx, err)
	}
	ids, err := s.chosen(c)
	if err != nil {
		return nil, err
	}
	positions := s.positions()
	surveyed := map[int32]surveyed{}
	for attempt, open := 0, ids; ; attempt++ {
		maps.Copy(surveyed, s.survey(ctx, leaders(c, open), positions))
		open = slices.DeleteFunc(slices.Clone(open), func(id int32) bool { return !passing(surveyed[id].err) })
		pause := backOff(attempt)
		if len(open) == 0 || ctx.Err() != nil || time.Now().Add(pause).After(giveUp) || allRefused(ids, surveyed) {
			break
		}
		if err := sleep(ctx, pause); err != nil {
			break
		}
		again, err := s.metadata(ctx)
		if err != nil {
			break
		}
		c = again
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	p, err := s.plan(c, ids, surveyed)
	if err == nil && s.config.AskSizes {
		s.addSizes(ctx, p, leaders(c, ids))
	}
	return p, err
}

// addSizes fills in what the partitions that can be read take on disk.
func (s *Source) addSizes(ctx context.Context, p *source.Plan, parts []leadership) {
	for i := range parts { // in the order of p.Partitions
		if parts[i].err == nil {
			parts[i].err = p.Partitions[i].Err
		}
	}
	parts = slices.DeleteFunc(parts, func(l leadership) bool { return l.err != nil })
	sizes := s.askSizes(ctx, parts)
	for i := range p.Partitions {
		p.Partitions[i].DiskBytes = sizes.bytes[p.Partitions[i].ID]
	}
	if note := sizes.note(parts); note != "" {
		p.Notes = append(p.Notes, note)
	}
}

// settledMetadata is metadata, asked for again while the cluster says that the topic's trouble will pass, as it does of
// one that was just created.
func (s *Source) settledMetadata(ctx context.Context, giveUp time.Time) (*cluster, error) {
	for attempt := 0; ; attempt++ {
		c, err := s.metadata(ctx)
		var code Code
		pause := backOff(attempt)
		if err == nil || !errors.As(err, &code) || !code.passing() || time.Now().Add(pause).After(giveUp) {
			return c, err
		}
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// positions are the questions of a plan; their order is what plan relies on.
func (s *Source) positions() []position {
	i := s.config.Isolation
	list := []position{{earliestOffset, i}, {latestOffset, i}}
	if i == source.ReadCommitted {
		list = append(list, position{latestOffset, source.ReadUncommitted})
	}
	for _, t := range []int64{s.config.Range.Since, s.config.Range.Until} {
		if t > 0 {
			list = append(list, position{t, i})
		}
	}
	return list
}

func (s *Source) plan(c *cluster, ids []int32, all map[int32]surveyed) (*source.Plan, error) {
	p := &source.Plan{
		Topic:         s.config.Topic,
		NumPartitions: len(c.partitions),
		Isolation:     s.config.Isolation,
		Range:         s.rangeText(),
	}
	var errs, rangeErrs []error
	for _, id := range ids {
		l, _ := c.partition(id)
		part := source.Partition{ID: id, LogStartOffset: -1, HighWatermark: -1, LastStableOffset: -1, Leader: l.leader}
		a := all[id]
		if a.err != nil {
			var denied *TopicAuthorizationError
			if errors.As(a.err, &denied) {
				return nil, denied
			}
			part.Err = &PartitionError{Topic: p.Topic, Partition: id, Offset: -1, Err: a.err}
			errs = append(errs, a.err)
			p.Partitions = append(p.Partitions, part)
			continue
		}
		b := s.bounds(&part, a.offsets)
		spans, err := s.config.Range.spans(p.Topic, id, b)
		if err != nil {
			rangeErrs = append(rangeErrs, err)
		}
		p.Spans = append(p.Spans, spans...)
		p.Partitions = append(p.Partitions, part)
	}
	if len(rangeErrs) > 0 {
		return nil, errors.Join(rangeErrs...)
	}
	if len(errs) > 0 && len(errs) == len(ids) {
		return nil, fmt.Errorf("no partition of %s can be read: %w", p.Topic, joinDistinct(errs))
	}
	return p, nil
}

// bounds takes the answers apart, in the order of positions, and fills in what the plan says of the partition.
func (s *Source) bounds(part *source.Partition, offsets []int64) bounds {
	next := func() int64 {
		o := offsets[0]
		offsets = offsets[1:]
		return o
	}
	b := bounds{logStart: next(), end: next(), since: -1, until: -1}
	part.LogStartOffset = b.logStart
	part.HighWatermark = b.end
	if s.config.Isolation == source.ReadCommitted {
		part.LastStableOffset = b.end
		part.HighWatermark = next()
	}
	if s.config.Range.Since > 0 {
		b.since = next()
	}
	if s.config.Range.Until > 0 {
		b.until = next()
	}
	// The log start may have moved past the end seen a moment later; an empty partition is then what is left.
	b.end = max(b.end, b.logStart)
	return b
}

// chosen returns the partitions to read, by id.
func (s *Source) chosen(c *cluster) ([]int32, error) {
	want := slices.Clone(s.config.Partitions)
	for _, o := range s.config.Range.Offsets {
		if len(s.config.Partitions) > 0 && !slices.Contains(s.config.Partitions, o.Partition) {
			return nil, fmt.Errorf("offsets %s: partition %d is not among the partitions chosen", o, o.Partition)
		}
	}
	if len(s.config.Range.Offsets) > 0 {
		want = want[:0]
		for _, o := range s.config.Range.Offsets {
			want = append(want, o.Partition)
		}
	}
	if len(want) == 0 {
		for _, p := range c.partitions {
			want = append(want, p.id)
		}
	}
	slices.Sort(want)
	want = slices.Compact(want)
	for _, id := range want {
		if _, ok := c.partition(id); !ok {
			return nil, fmt.Errorf("topic %q has no partition %d: it has %d, numbered from 0", s.config.Topic, id, len(c.partitions))
		}
	}
	return want, nil
}

func (s *Source) rangeText() string {
	text := s.config.Range.String()
	if len(s.config.Partitions) == 0 || len(s.config.Range.Offsets) > 0 {
		return text
	}
	return text + " of partitions " + listText(s.config.Partitions)
}

// listText writes partitions the way [ParsePartitions] reads them.
func listText(list []int32) string {
	list = slices.Clone(list)
	slices.Sort(list)
	list = slices.Compact(list)
	var parts []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		part := strconv.Itoa(int(list[i]))
		if j > i {
			part += "-" + strconv.Itoa(int(list[j]))
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// explainTopic adds the nearest topic names to an unknown topic, when they may be listed.
func (s *Source) explainTopic(ctx context.Context, err error) error {
	var unknown *UnknownTopicError
	if !errors.As(err, &unknown) {
		return err
	}
	if names, listErr := s.Topics(ctx); listErr == nil {
		unknown.Nearest = nearest(unknown.Topic, names)
	}
	return unknown
}

func leaders(c *cluster, ids []int32) []leadership {
	list := make([]leadership, 0, len(ids))
	for _, id := range ids {
		l, ok := c.partition(id)
		if !ok {
			l = leadership{id: id, leader: -1, err: codeUnknownTopic}
		}
		list = append(list, l)
	}
	return list
}

// passing reports whether it is worth trying again after err.
func passing(err error) bool {
	if err == nil {
		return false
	}
	var code Code
	if errors.As(err, &code) {
		return code.passing()
	}
	var auth *AuthError
	var denied *TopicAuthorizationError
	var malformed *malformedError
	return !errors.As(err, &auth) && !errors.As(err, &denied) && !errors.As(err, &malformed) && !errors.Is(err, context.Canceled)
}

// allRefused reports whether not one of the leaders could be connected to. That is a wrong address rather than a broker
// that restarts, and is said at once.
func allRefused(ids []int32, all map[int32]surveyed) bool {
	for _, id := range ids {
		var refused *ConnectError
		if !errors.As(all[id].err, &refused) {
			return false
		}
	}
	return true
}

// joinDistinct joins errors, each text once.
func joinDistinct(errs []error) error {
	var list []error
	seen := map[string]bool{}
	for _, err := range errs {
		if text := err.Error(); !seen[text] {
			seen[text] = true
			list = append(list, err)
		}
	}
	return errors.Join(list...)
}

// backOff is the pause before attempt number n (from 0) is repeated: 100 ms, doubling up to 2 s.
func backOff(n int) time.Duration {
	return min(100*time.Millisecond<<min(n, 10), 2*time.Second)
}

// sleep pauses, or returns why ctx ended.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
