package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"keyspread/analyze/source"
	"keyspread/analyze/source/kafka"
	"keyspread/analyze/source/kafka/encode"
	"keyspread/analyze/source/synthetic"
	"keyspread/partitioner"
)

// generateFlags describe a synthetic stream and where it goes.
type generateFlags struct {
	connectionFlags
	topic       string
	output      string
	create      bool
	appendTo    bool
	partitions  int32
	partitioner string
	compression string
	quiet       bool

	hot       []string
	valueSize string
	rateShape string
	keyFormat string
	start     string
	stream    synthetic.Config
}

func newGenerateCommand() *cobra.Command {
	f := generateFlags{stream: synthetic.DefaultConfig()}
	cmd := &cobra.Command{
		Use:   "generate (-b HOST:PORT -t TOPIC | -o ndjson[=FILE])",
		Short: "Write a synthetic keyed stream to a topic or to ndjson",
		Long: `generate makes a stream of records whose key distribution you choose and writes it to a topic, placed by the
partitioner you name, or as ndjson: one JSON object a line with key (or hex), timestamp, value_size and, with
--topic-partitions, partition. The same flags give the same records.

It writes to an existing topic only when that is empty or --append is given, and makes a topic only with --create.`,
		Args: noArgs,
		RunE: stoppable(func(cmd *cobra.Command, _ []string) error { return f.run(cmd) }),
	}
	f.connectionFlags.register(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.topic, "topic", "t", "", "topic to write to")
	flags.StringVarP(&f.output, "output", "o", "", "write `ndjson[=FILE]` instead of a topic")
	flags.BoolVar(&f.create, "create", false, "create the topic, with --topic-partitions")
	flags.BoolVar(&f.appendTo, "append", false, "write to the topic even when it holds records")
	flags.Int32Var(&f.partitions, "topic-partitions", 0, "`partitions` of the topic to create, or to place ndjson records in")
	flags.StringVar(&f.partitioner, "partitioner", "java", "places the records; unkeyed ones go round the partitions")
	flags.StringVar(&f.compression, "compression", "none", "none, gzip, snappy, lz4 or zstd")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "no summary")
	flags.Int64Var(&f.stream.Records, "records", f.stream.Records, "records to write")
	flags.Int64Var(&f.stream.Keys, "keys", f.stream.Keys, "distinct keys beside the hot ones")
	flags.Float64Var(&f.stream.Zipf, "zipf", f.stream.Zipf, "Zipf `exponent` of the keys: 0 all alike, 1 typical, above 1 steep")
	flags.StringVar(&f.stream.KeyPrefix, "key-prefix", f.stream.KeyPrefix, "`text` before every key's number; none with int64 unless given")
	flags.StringVar(&f.keyFormat, "key-format", "decimal", "decimal, uuid or int64 (8 bytes, big-endian)")
	flags.StringArrayVar(&f.hot, "hot", nil, "hot key `NAME=SHARE`, such as acme=0.18; repeatable")
	flags.Int64Var(&f.stream.HotRun, "hot-run", 1, "mean `length` of the runs in which a hot key's records come")
	flags.Float64Var(&f.stream.NullShare, "null-share", 0, "`share` of records with a null key")
	flags.Float64Var(&f.stream.EmptyShare, "empty-share", 0, "`share` of records with an empty key")
	flags.StringVar(&f.valueSize, "value-size", "200", "bytes of a value: `N` or MIN-MAX")
	flags.StringVar(&f.rateShape, "rate-shape", "flat", "flat, daily or burst")
	flags.StringVar(&f.start, "start", "2026-01-01", "`time` of the first record")
	flags.DurationVar(&f.stream.Duration, "duration", f.stream.Duration, "`time` from the first record to the last")
	flags.Uint64Var(&f.stream.Seed, "seed", f.stream.Seed, "of the random draws")
	_ = cmd.RegisterFlagCompletionFunc("partitioner", completePartitioner)
	return cmd
}

func (f *generateFlags) run(cmd *cobra.Command) error {
	if err := f.finish(time.Now()); err != nil {
		return usageError{err}
	}
	if f.stream.KeyFormat == synthetic.KeyInt64 && !cmd.Flags().Changed("key-prefix") {
		f.stream.KeyPrefix = "" // a key is 8 bytes then, as clients write a long
	}
	stream, err := synthetic.New(f.stream)
	if err != nil {
		return usageError{err}
	}
	pt, err := partitioner.Parse(f.partitioner)
	if err != nil {
		return usageError{fmt.Errorf("--partitioner: %w", err)}
	}
	format, file, _ := strings.Cut(f.output, "=")
	switch {
	case f.output == "" && f.topic == "":
		return usageError{errors.New("nowhere to write to: give --topic NAME, or -o ndjson")}
	case f.output != "" && f.topic != "":
		return usageError{errors.New("--topic and --output exclude each other")}
	case f.output != "" && format != "ndjson":
		return usageError{fmt.Errorf("--output %q: want ndjson or ndjson=FILE", f.output)}
	case f.output != "":
		write := func(w io.Writer) error { return f.toNDJSON(stoppableWriter{cmd.Context(), w}, stream, pt) }
		left := "the stream was not written whole"
		if file == "" {
			err = orStopped(cmd.Context(), func() error { return write(cmd.OutOrStdout()) })
		} else {
			err, left = writeFile(file, write), file+" was not written"
		}
		if err != nil && cmd.Context().Err() != nil {
			return interrupted(cmd.Context(), left)
		}
		return err
	}
	return f.toTopic(cmd, stream, pt)
}

// finish turns the flags that are text into the stream's configuration.
func (f *generateFlags) finish(now time.Time) (err error) {
	for _, h := range f.hot {
		i := strings.LastIndex(h, "=")
		if i < 1 {
			return fmt.Errorf("--hot %q: want NAME=SHARE, such as acme=0.18", h)
		}
		share, err := strconv.ParseFloat(h[i+1:], 64)
		if err != nil {
			return fmt.Errorf("--hot %q: share %q is not a number", h, h[i+1:])
		}
		f.stream.Hot = append(f.stream.Hot, synthetic.HotKey{Key: h[:i], Share: share})
	}
	least, most, isRange := strings.Cut(f.valueSize, "-")
	if !isRange {
		most = least
	}
	low, errLow := strconv.ParseInt(least, 10, 32)
	high, errHigh := strconv.ParseInt(most, 10, 32)
	if errLow != nil || errHigh != nil {
		return fmt.Errorf("--value-size %q: want bytes, such as 200 or 100-2000", f.valueSize)
	}
	f.stream.ValueMin, f.stream.ValueMax = int32(low), int32(high)
	if f.stream.Rate, err = synthetic.ParseRate(f.rateShape); err != nil {
		return fmt.Errorf("--rate-shape: %w", err)
	}
	if f.stream.KeyFormat, err = synthetic.ParseKeyFormat(f.keyFormat); err != nil {
		return fmt.Errorf("--key-format: %w", err)
	}
	if f.stream.Start, err = kafka.ParseTime(f.start, now); err != nil {
		return fmt.Errorf("--start: %w", err)
	}
	if f.partitions < 0 {
		return fmt.Errorf("--topic-partitions %d: want 1 or more", f.partitions)
	}
	return nil
}

func (f *generateFlags) toTopic(cmd *cobra.Command, stream *synthetic.Stream, pt partitioner.Partitioner) error {
	cfg, err := f.connectionFlags.config(cmd)
	if err != nil {
		return err
	}
	cfg.Topic = f.topic
	codec, err := encode.ParseCodec(f.compression)
	if err != nil {
		return usageError{fmt.Errorf("--compression: %w", err)}
	}
	if f.create && f.partitions == 0 {
		return usageError{errors.New("--create needs --topic-partitions")}
	}
	ctx := cmd.Context()
	n, err := produce(ctx, cfg, kafka.ProducerConfig{
		Partitioner: pt, Compression: codec, Create: f.create, NumPartitions: f.partitions, Append: f.appendTo,
	}, stream)
	if err != nil {
		if ctx.Err() != nil {
			return interrupted(ctx, fmt.Sprintf("the topic holds a part of the stream, of the first %d records", n))
		}
		var notEmpty *kafka.TopicNotEmptyError
		if errors.As(err, &notEmpty) {
			return fmt.Errorf("%w; --append writes to it all the same", err)
		}
		if _, ok := errors.AsType[*kafka.UnknownTopicError](err); ok {
			return fmt.Errorf("%w; --create --topic-partitions N makes it", err)
		}
		return err
	}
	if !f.quiet {
		fmt.Fprintf(cmd.ErrOrStderr(), "keyspread: wrote %d records to %s\n", n, f.topic)
	}
	return nil
}

// produce writes the stream to a topic and returns how many records it handed over.
func produce(ctx context.Context, cfg kafka.Config, pc kafka.ProducerConfig, stream *synthetic.Stream) (n int64, err error) {
	p, err := kafka.NewProducer(ctx, cfg, pc)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	var r source.Record
	var value []byte
	for stream.Next(&r) {
		value = stream.AppendValue(value[:0], &r)
		if err := p.Write(&r, value); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// generated is one line of generate's ndjson. Key is null for a null key and absent when Hex holds bytes that are not text.
type generated struct {
	Partition *int32  `json:"partition,omitempty"`
	Key       *string `json:"key"`
	Hex       string  `json:"hex,omitempty"`
	Timestamp int64   `json:"timestamp"`
	ValueSize int32   `json:"value_size"`
}

func (f *generateFlags) toNDJSON(out io.Writer, stream *synthetic.Stream, pt partitioner.Partitioner) error {
	w := bufio.NewWriterSize(out, 1<<16)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	counts, place, inTurn := []int32{f.partitions}, []int32{0}, int32(0)
	var r source.Record
	for stream.Next(&r) {
		line := generated{Timestamp: r.Timestamp, ValueSize: r.ValueSize}
		if key := string(r.Key); r.Key != nil {
			if utf8.ValidString(key) {
				line.Key = &key
			} else {
				line.Hex = fmt.Sprintf("%x", key)
			}
		}
		if f.partitions > 0 {
			keyed, err := pt.Place(r.Key, counts, place)
			if err != nil {
				return fmt.Errorf("placing record %d: %w", r.Offset, err)
			}
			if !keyed {
				place[0] = inTurn
				inTurn = (inTurn + 1) % f.partitions
			}
			line.Partition = &place[0]
		}
		if err := enc.Encode(line); err != nil {
			return err
		}
	}
	return w.Flush()
}
