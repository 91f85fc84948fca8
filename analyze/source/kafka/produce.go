package kafka

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	kafkago "github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"

	"keyspread/analyze/source"
	"keyspread/analyze/source/kafka/encode"
	"keyspread/partitioner"
)

// ProducerConfig says how records are written.
type ProducerConfig struct {
	Partitioner   partitioner.Partitioner
	Compression   encode.Codec
	Create        bool  // make the topic when it does not exist
	NumPartitions int32 // of the topic to create; with a topic that exists, what it must have; 0: whatever it has
	Append        bool  // write also when the topic holds records
	BatchBytes    int   // uncompressed bytes after which a batch is sent; 0: 128 KiB
}

// TopicNotEmptyError says that a topic holds records and that nothing was written to it.
type TopicNotEmptyError struct {
	Topic   string
	Offsets int64 // offsets between log start and end, over all partitions
}

func (e *TopicNotEmptyError) Error() string {
	return fmt.Sprintf("topic %q is not empty: its partitions span %d offsets; nothing was written", e.Topic, e.Offsets)
}

// Producer writes generated records to a topic, each to the partition its partitioner says; records without one go
// round the partitions in turn. Every record is written once: what a broken connection leaves in doubt is not sent again
// but ends the run. It is not safe for concurrent use.
type Producer struct {
	config     ProducerConfig
	topic      string
	client     *kafkago.Client
	transport  *kafkago.Transport
	counts     []int32 // number of partitions, as Place wants it
	open       []*encode.Batch
	nextInTurn int32

	ctx     context.Context // ends with the first error of a sender
	fail    context.CancelCauseFunc
	lanes   []chan outgoing
	senders sync.WaitGroup
	spare   chan *encode.Batch
}

// outgoing is a full batch on its way to a sender.
type outgoing struct {
	partition int32
	batch     *encode.Batch
}

const (
	defaultBatchBytes = 128 << 10
	// maxLanes bounds the requests in flight. A partition has one lane, so that its batches arrive in order.
	maxLanes = 8
	// settleFor is how long a topic may be without a leader, as one that was just created is.
	settleFor = 30 * time.Second
	// metadataTTL bounds how long a moved leader is missed; kafka-go offers no way to ask sooner.
	metadataTTL = time.Second
)

// NewProducer connects to the cluster of c and prepares c.Topic for writing; c's range, isolation and fetch sizes do not
// matter. Its error is an [*UnknownTopicError] when the topic does not exist and is not to be created, and a
// [*TopicNotEmptyError] when it holds records and they are not to be added to. The end of ctx ends the writing.
func NewProducer(ctx context.Context, c Config, pc ProducerConfig) (*Producer, error) {
	setDefault(&pc.BatchBytes, defaultBatchBytes)
	c.Range, c.Isolation, c.Partitions = Range{}, source.ReadUncommitted, nil
	src, err := New(c)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	dialer := src.brokers.dialer
	p := &Producer{
		config: pc,
		topic:  c.Topic,
		transport: &kafkago.Transport{
			ClientID:       dialer.clientID,
			DialTimeout:    src.config.ConnectTimeout,
			MetadataTTL:    metadataTTL,
			MetadataTopics: []string{c.Topic},
			TLS:            dialer.tls,
			SASL:           dialer.mechanism,
		},
	}
	p.client = &kafkago.Client{
		Addr:      kafkago.TCP(src.config.BootstrapServers...),
		Timeout:   src.config.RequestTimeout,
		Transport: p.transport,
	}
	n, err := p.prepareTopic(ctx, src)
	if err != nil {
		p.transport.CloseIdleConnections()
		return nil, err
	}
	p.counts = []int32{n}
	p.open = make([]*encode.Batch, n)
	p.ctx, p.fail = context.WithCancelCause(ctx)
	p.lanes = make([]chan outgoing, min(n, maxLanes))
	p.spare = make(chan *encode.Batch, 4*len(p.lanes))
	for i := range p.lanes {
		lane := make(chan outgoing, 2)
		p.lanes[i] = lane
		p.senders.Go(func() { p.send(lane) })
	}
	return p, nil
}

// prepareTopic returns the topic's number of partitions, after having created it or having found it fit to write to.
func (p *Producer) prepareTopic(ctx context.Context, src *Source) (int32, error) {
	plan, err := src.Plan(ctx)
	var unknown *UnknownTopicError
	if errors.As(err, &unknown) && p.config.Create {
		return p.config.NumPartitions, p.create(ctx)
	}
	if err != nil {
		return 0, err
	}
	var held int64
	var errs []error
	for _, part := range plan.Partitions {
		if part.Err != nil {
			errs = append(errs, part.Err)
			continue
		}
		held += part.HighWatermark - part.LogStartOffset
	}
	switch n := int32(plan.NumPartitions); {
	case len(errs) > 0:
		return 0, errors.Join(errs...)
	case held > 0 && !p.config.Append:
		return 0, &TopicNotEmptyError{Topic: p.topic, Offsets: held}
	case p.config.NumPartitions != 0 && p.config.NumPartitions != n:
		return 0, fmt.Errorf("topic %q has %d partitions, not %d", p.topic, n, p.config.NumPartitions)
	default:
		return n, nil
	}
}

func (p *Producer) create(ctx context.Context) error {
	if p.config.NumPartitions <= 0 {
		return fmt.Errorf("creating topic %q: %d partitions: want 1 or more", p.topic, p.config.NumPartitions)
	}
	answer, err := p.client.CreateTopics(ctx, &kafkago.CreateTopicsRequest{Topics: []kafkago.TopicConfig{{
		Topic:             p.topic,
		NumPartitions:     int(p.config.NumPartitions),
		ReplicationFactor: -1, // the broker's default, Kafka 2.4 and later
	}}})
	if err == nil {
		err = answer.Errors[p.topic]
	}
	if err != nil {
		return fmt.Errorf("creating topic %q: %w", p.topic, err)
	}
	return nil
}

// NumPartitions returns the topic's number of partitions.
func (p *Producer) NumPartitions() int32 { return p.counts[0] }

// Write adds a record with r's key and timestamp, and value. It may return before the record is sent, and returns the
// error of an earlier one. Key and value are copied.
func (p *Producer) Write(r *source.Record, value []byte) error {
	partition, err := p.place(r.Key)
	if err != nil {
		return err
	}
	b := p.open[partition]
	if b == nil {
		b = p.newBatch()
		p.open[partition] = b
	}
	b.Add(r.Timestamp, r.Key, value)
	if b.Size() >= p.config.BatchBytes {
		return p.flush(partition)
	}
	return nil
}

func (p *Producer) place(key []byte) (int32, error) {
	var out [1]int32
	keyed, err := p.config.Partitioner.Place(key, p.counts, out[:])
	if err != nil {
		return 0, err
	}
	if !keyed {
		out[0] = p.nextInTurn
		p.nextInTurn = (p.nextInTurn + 1) % p.counts[0]
	}
	return out[0], nil
}

func (p *Producer) newBatch() *encode.Batch {
	select {
	case b := <-p.spare:
		return b
	default:
		return encode.NewBatch(p.config.Compression)
	}
}

func (p *Producer) flush(partition int32) error {
	o := outgoing{partition, p.open[partition]}
	p.open[partition] = nil
	select {
	case p.lanes[int(partition)%len(p.lanes)] <- o:
		return nil
	case <-p.ctx.Done():
		return context.Cause(p.ctx)
	}
}

// Close sends what is left, waits until the brokers have it all and closes the connections. Its error is the first of
// the run; without one, every record was acknowledged by all replicas in sync.
func (p *Producer) Close() error {
	var err error
	for partition, b := range p.open {
		if b != nil && err == nil {
			err = p.flush(int32(partition))
		}
	}
	for _, lane := range p.lanes {
		close(lane)
	}
	p.senders.Wait()
	if cause := context.Cause(p.ctx); cause != nil {
		err = cause
	}
	p.fail(nil)
	p.transport.CloseIdleConnections()
	return err
}

// send writes one lane's batches, one after the other, until the lane is closed. After an error it only drains.
func (p *Producer) send(lane <-chan outgoing) {
	var wire []byte
	for o := range lane {
		if p.ctx.Err() != nil {
			continue
		}
		var err error
		if wire, err = o.batch.AppendTo(append(wire[:0], 0, 0, 0, 0), 0); err == nil {
			binary.BigEndian.PutUint32(wire, uint32(len(wire)-4)) // kafka-go wants the record set's size in front of it
			err = p.produce(o.partition, wire)
		}
		if err != nil {
			p.fail(fmt.Errorf("writing %s partition %d: %w", p.topic, o.partition, err))
			continue
		}
		select {
		case p.spare <- o.batch:
		default:
		}
	}
}

// produce sends one record set. It tries again only after an answer that says nothing was written.
func (p *Producer) produce(partition int32, wire []byte) error {
	deadline := time.Now().Add(settleFor)
	for attempt := 0; ; attempt++ {
		answer, err := p.client.RawProduce(p.ctx, &kafkago.RawProduceRequest{
			Topic:        p.topic,
			Partition:    int(partition),
			RequiredAcks: kafkago.RequireAll,
			RawRecords:   protocol.RawRecordSet{Reader: bytes.NewReader(wire)},
		})
		if err == nil {
			err = answer.Error
		}
		if err == nil || !unwritten(err) || time.Now().After(deadline) {
			return err
		}
		if err := sleep(p.ctx, backOff(attempt)); err != nil {
			return err
		}
	}
}

// unwritten reports whether err says that the broker wrote nothing and that this will pass.
func unwritten(err error) bool {
	for _, e := range []error{
		protocol.ErrNoTopic, protocol.ErrNoPartition, protocol.ErrNoLeader, // kafka-go's cached metadata, nothing was sent
		kafkago.UnknownTopicOrPartition, kafkago.LeaderNotAvailable, kafkago.NotLeaderForPartition,
		kafkago.FencedLeaderEpoch, kafkago.NotEnoughReplicas,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
