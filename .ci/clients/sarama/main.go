// Command sarama writes keys with github.com/IBM/sarama.
//
// PARTITIONER: default (none configured), hash, reference, consistent-crc, murmur2, custom-crc32, custom-fnv1,
// custom-absfirst, custom-unsigned, custom-crc32-absfirst, custom-crc32-unsigned, random, round-robin.
package main

import (
	"fmt"
	"hash/crc32"
	"hash/fnv"
	"strconv"

	"github.com/IBM/sarama"

	"keyspread.ci/clients/keys"
)

func main() { keys.Run(write) }

func write(a keys.Args) error {
	config := sarama.NewConfig()
	config.Version = sarama.V2_8_0_0
	config.Producer.Return.Successes = true
	config.Producer.RequiredAcks = sarama.WaitForAll
	switch a.Partitioner {
	case "default":
	case "hash":
		config.Producer.Partitioner = sarama.NewHashPartitioner
	case "reference":
		config.Producer.Partitioner = sarama.NewReferenceHashPartitioner
	case "consistent-crc":
		config.Producer.Partitioner = sarama.NewConsistentCRCHashPartitioner
	case "murmur2":
		config.Producer.Partitioner = sarama.NewMurmur2Partitioner
	case "custom-crc32":
		config.Producer.Partitioner = sarama.NewCustomHashPartitioner(crc32.NewIEEE)
	case "custom-fnv1":
		config.Producer.Partitioner = sarama.NewCustomHashPartitioner(fnv.New32)
	case "custom-absfirst":
		config.Producer.Partitioner = sarama.NewCustomPartitioner(sarama.WithAbsFirst())
	case "custom-unsigned":
		config.Producer.Partitioner = sarama.NewCustomPartitioner(sarama.WithHashUnsigned())
	case "custom-crc32-absfirst":
		config.Producer.Partitioner = sarama.NewCustomPartitioner(sarama.WithCustomHashFunction(crc32.NewIEEE), sarama.WithAbsFirst())
	case "custom-crc32-unsigned":
		config.Producer.Partitioner = sarama.NewCustomPartitioner(sarama.WithCustomHashFunction(crc32.NewIEEE), sarama.WithHashUnsigned())
	case "random":
		config.Producer.Partitioner = sarama.NewRandomPartitioner
	case "round-robin":
		config.Producer.Partitioner = sarama.NewRoundRobinPartitioner
	default:
		return fmt.Errorf("unknown partitioner %q", a.Partitioner)
	}
	producer, err := sarama.NewSyncProducer([]string{a.Broker}, config)
	if err != nil {
		return err
	}
	messages := make([]*sarama.ProducerMessage, len(a.Keys))
	for i, key := range a.Keys {
		messages[i] = &sarama.ProducerMessage{Topic: a.Topic, Value: sarama.StringEncoder(strconv.Itoa(i))}
		if key != nil { // a nil ByteEncoder is a key to sarama, an empty one
			messages[i].Key = sarama.ByteEncoder(key)
		}
	}
	if err := producer.SendMessages(messages); err != nil {
		producer.Close()
		return err
	}
	return producer.Close()
}
