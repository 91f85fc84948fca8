"""Writes keys with confluent-kafka-python and the librdkafka that it carries.

PARTITIONER: default (none configured), or a value of librdkafka's partitioner setting.
"""

import sys

from confluent_kafka import Producer

import keys


def main(broker, topic, keys_file, partitioner):
    config = {"bootstrap.servers": broker, "acks": "all", "linger.ms": 5}
    if partitioner != "default":
        config["partitioner"] = partitioner
    producer = Producer(config)
    failed = []

    def report(error, _):
        if error is not None:
            failed.append(error)

    for i, key in enumerate(keys.read(keys_file)):
        producer.produce(topic, key=key, value=b"%d" % i, on_delivery=report)
    left = producer.flush(30)
    if failed or left:
        sys.exit(f"{left} records not sent, {len(failed)} refused: {failed[:1]}")


main(*sys.argv[1:])
