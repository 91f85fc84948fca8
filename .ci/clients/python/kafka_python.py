"""Writes keys with kafka-python. PARTITIONER: default."""

import sys

from kafka import KafkaProducer

import keys


def main(broker, topic, keys_file, partitioner):
    if partitioner != "default":
        sys.exit(f"unknown partitioner {partitioner!r}")
    producer = KafkaProducer(bootstrap_servers=broker, acks="all", linger_ms=5)
    sent = [producer.send(topic, key=key, value=b"%d" % i) for i, key in enumerate(keys.read(keys_file))]
    for future in sent:
        future.get(timeout=30)
    producer.close()


main(*sys.argv[1:])
