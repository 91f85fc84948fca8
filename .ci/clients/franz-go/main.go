// Command franz-go writes keys with github.com/twmb/franz-go.
//
// PARTITIONER: default (no option set), sticky-key, round-robin; sarama-hasher and sarama-compat-hasher (of FNV-1a, or of
// CRC-32 with -crc32 behind), kafka-hasher-fnv1a, kafka-hasher-crc32.
package main

import (
	"context"
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"keyspread.ci/clients/keys"
)

func main() { keys.Run(write) }

func write(a keys.Args) error {
	opts := []kgo.Opt{
		kgo.SeedBrokers(a.Broker),
		kgo.DefaultProduceTopic(a.Topic),
		kgo.MetadataMinAge(100 * time.Millisecond), // the topic may be so new that a first try finds no leader
	}
	fnv1a := func(key []byte) uint32 {
		h := fnv.New32a()
		h.Write(key)
		return h.Sum32()
	}
	partitioners := map[string]kgo.Partitioner{
		"default":                    nil,
		"sticky-key":                 kgo.StickyKeyPartitioner(nil),
		"round-robin":                kgo.RoundRobinPartitioner(),
		"sarama-hasher":              kgo.StickyKeyPartitioner(kgo.SaramaHasher(fnv1a)),
		"sarama-hasher-crc32":        kgo.StickyKeyPartitioner(kgo.SaramaHasher(crc32.ChecksumIEEE)),
		"sarama-compat-hasher":       kgo.StickyKeyPartitioner(kgo.SaramaCompatHasher(fnv1a)),
		"sarama-compat-hasher-crc32": kgo.StickyKeyPartitioner(kgo.SaramaCompatHasher(crc32.ChecksumIEEE)),
		"kafka-hasher-fnv1a":         kgo.StickyKeyPartitioner(kgo.KafkaHasher(fnv1a)),
		"kafka-hasher-crc32":         kgo.StickyKeyPartitioner(kgo.KafkaHasher(crc32.ChecksumIEEE)),
	}
	p, ok := partitioners[a.Partitioner]
	if !ok {
		return fmt.Errorf("unknown partitioner %q", a.Partitioner)
	}
	if p != nil {
		opts = append(opts, kgo.RecordPartitioner(p))
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return err
	}
	defer cl.Close()
	records := make([]*kgo.Record, len(a.Keys))
	for i, key := range a.Keys {
		records[i] = &kgo.Record{Key: key, Value: []byte(strconv.Itoa(i))}
	}
	return cl.ProduceSync(context.Background(), records...).FirstErr()
}
