"""Writes keys with aiokafka. PARTITIONER: default."""

import asyncio
import sys

from aiokafka import AIOKafkaProducer

import keys


async def main(broker, topic, keys_file, partitioner):
    if partitioner != "default":
        sys.exit(f"unknown partitioner {partitioner!r}")
    producer = AIOKafkaProducer(bootstrap_servers=broker, acks="all", linger_ms=5)
    await producer.start()
    try:
        sent = [await producer.send(topic, key=key, value=b"%d" % i) for i, key in enumerate(keys.read(keys_file))]
        await asyncio.gather(*sent)
    finally:
        await producer.stop()


asyncio.run(main(*sys.argv[1:]))
