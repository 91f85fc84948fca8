// Command confluent-kafka-go writes keys with github.com/confluentinc/confluent-kafka-go, the Go binding of the
// librdkafka that it carries.
//
// PARTITIONER: default (none configured), or a value of librdkafka's partitioner setting.
package main

import (
	"fmt"
	"strconv"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"

	"keyspread.ci/clients/keys"
)

func main() { keys.Run(write) }

func write(a keys.Args) error {
	config := kafka.ConfigMap{"bootstrap.servers": a.Broker, "acks": "all", "linger.ms": 5}
	if a.Partitioner != "default" {
		config["partitioner"] = a.Partitioner
	}
	p, err := kafka.NewProducer(&config)
	if err != nil {
		return err
	}
	defer p.Close()
	reports := make(chan kafka.Event, len(a.Keys))
	topic := kafka.TopicPartition{Topic: &a.Topic, Partition: kafka.PartitionAny}
	for i, key := range a.Keys {
		m := &kafka.Message{TopicPartition: topic, Key: key, Value: []byte(strconv.Itoa(i))}
		if err := p.Produce(m, reports); err != nil {
			return err
		}
	}
	for range a.Keys {
		switch e := (<-reports).(type) {
		case *kafka.Message:
			if err := e.TopicPartition.Error; err != nil {
				return err
			}
		case kafka.Error:
			return e
		default:
			return fmt.Errorf("unexpected event %v", e)
		}
	}
	return nil
}
