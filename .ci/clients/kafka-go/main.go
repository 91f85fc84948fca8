// Command kafka-go writes keys with github.com/segmentio/kafka-go.
//
// PARTITIONER: default (the Writer's own, round robin), least-bytes, hash, hash-crc32, reference-hash, murmur2,
// murmur2-consistent, crc32, crc32-consistent.
package main

import (
	"context"
	"fmt"
	"hash/crc32"
	"strconv"
	"time"

	"github.com/segmentio/kafka-go"

	"keyspread.ci/clients/keys"
)

func main() { keys.Run(write) }

func write(a keys.Args) error {
	balancers := map[string]kafka.Balancer{
		"default":            nil,
		"least-bytes":        &kafka.LeastBytes{},
		"hash":               &kafka.Hash{},
		"hash-crc32":         &kafka.Hash{Hasher: crc32.NewIEEE()},
		"reference-hash":     &kafka.ReferenceHash{},
		"murmur2":            kafka.Murmur2Balancer{},
		"murmur2-consistent": kafka.Murmur2Balancer{Consistent: true},
		"crc32":              kafka.CRC32Balancer{},
		"crc32-consistent":   kafka.CRC32Balancer{Consistent: true},
	}
	balancer, ok := balancers[a.Partitioner]
	if !ok {
		return fmt.Errorf("unknown partitioner %q", a.Partitioner)
	}
	w := &kafka.Writer{
		Addr:         kafka.TCP(a.Broker),
		Topic:        a.Topic,
		Balancer:     balancer,
		BatchTimeout: 10 * time.Millisecond,
		RequiredAcks: kafka.RequireAll,
	}
	messages := make([]kafka.Message, len(a.Keys))
	for i, key := range a.Keys {
		messages[i] = kafka.Message{Key: key, Value: []byte(strconv.Itoa(i))}
	}
	if err := w.WriteMessages(context.Background(), messages...); err != nil {
		w.Close()
		return err
	}
	return w.Close()
}
