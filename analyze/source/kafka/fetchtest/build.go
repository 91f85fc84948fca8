package fetchtest

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"keyspread/analyze/source"
	"keyspread/analyze/source/kafka/encode"
	"keyspread/analyze/source/synthetic"
	"keyspread/partitioner"
)

// Topic describes a topic to build.
type Topic struct {
	Name       string
	Partitions int32
	Codec      encode.Codec
	BatchBytes int              // uncompressed bytes of a batch
	Stream     synthetic.Config // what one pass over a partition holds; partition p uses Seed + p
	Passes     int              // how often a partition repeats its batches, at later offsets; 0: 1

	// Partitioner, when set, deals one stream out over the partitions as a producer does, instead of a stream for each;
	// Passes is then 1 and every key keyed.
	Partitioner partitioner.Partitioner
}

// Records returns how many records the topic has.
func (t Topic) Records() int64 {
	if t.Partitioner != nil {
		return t.Stream.Records
	}
	return t.Stream.Records * int64(t.Partitions) * int64(max(t.Passes, 1))
}

// Build writes the topic into a folder of its name under dir: one file a partition, holding record batches as a broker's
// log segment does. Repeated passes cost no encoding: a batch's offset lies outside its checksum and its compressed part.
func Build(dir string, t Topic) error {
	folder := filepath.Join(dir, t.Name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	errs := make([]error, t.Partitions)
	var building sync.WaitGroup
	for p := range t.Partitions {
		building.Go(func() { errs[p] = buildPartition(filepath.Join(folder, fileName(p)), t, p) })
	}
	building.Wait()
	return errors.Join(errs...)
}

func fileName(partition int32) string { return fmt.Sprintf("%d.log", partition) }

func buildPartition(path string, t Topic, partition int32) (err error) {
	c := t.Stream
	if t.Partitioner == nil {
		c.Seed += uint64(partition)
	}
	stream, err := synthetic.New(c)
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<20)

	var pass [][]byte // kept for the later passes only
	batch := encode.NewBatch(t.Codec)
	var wire, value []byte
	var next int64
	flush := func() error {
		n := batch.Records()
		var err error
		if wire, err = batch.AppendTo(wire[:0], next); err != nil {
			return err
		}
		next += int64(n)
		if t.Passes > 1 {
			pass = append(pass, append([]byte(nil), wire...))
		}
		_, err = w.Write(wire)
		return err
	}
	var r source.Record
	counts, place := []int32{t.Partitions}, []int32{partition}
	for stream.Next(&r) {
		if t.Partitioner != nil {
			if _, err := t.Partitioner.Place(r.Key, counts, place); err != nil {
				return err
			}
			if place[0] != partition {
				continue
			}
		}
		value = stream.AppendValue(value[:0], &r)
		batch.Add(r.Timestamp, r.Key, value)
		if batch.Size() >= t.BatchBytes {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if err := flush(); err != nil {
		return err
	}
	for n := 1; n < t.Passes; n++ {
		for _, b := range pass {
			first := int64(binary.BigEndian.Uint64(b)) + c.Records
			binary.BigEndian.PutUint64(b, uint64(first))
			if _, err := w.Write(b); err != nil {
				return err
			}
		}
	}
	return w.Flush()
}
