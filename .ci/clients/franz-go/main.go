// Command franz-go writes keys with github.com/twmb/franz-go.
//
// PARTITIONER: default (no option set), sarama-hasher, sarama-compat-hasher, kafka-hasher-fnv1a (FNV-1a each).
package main

import (
	"context"
	"fmt"
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
	switch a.Partitioner {
	case "default":
	case "sarama-hasher":
		opts = append(opts, kgo.RecordPartitioner(kgo.StickyKeyPartitioner(kgo.SaramaHasher(fnv1a))))
	case "sarama-compat-hasher":
		opts = append(opts, kgo.RecordPartitioner(kgo.StickyKeyPartitioner(kgo.SaramaCompatHasher(fnv1a))))
	case "kafka-hasher-fnv1a":
		opts = append(opts, kgo.RecordPartitioner(kgo.StickyKeyPartitioner(kgo.KafkaHasher(fnv1a))))
	default:
		return fmt.Errorf("unknown partitioner %q", a.Partitioner)
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
