#!/usr/bin/env python3
"""A reference child of keyspread's exec: partitioners: crc32(key) mod n, as librdkafka's consistent_random places keys.

Null and empty keys are spread, as there. The protocol is described in the Go package partitioner/custom. Try it:

    keyspread locate -n 12 --partitioner 'exec:python3 reference.py' customer-7
"""

import struct
import sys
import zlib

MAGIC, VERSION = b"KSPP", 1
SPREAD, FAILED = -1, -2


def read_frame(stream):
    """Returns a frame without its length; None at the end of input."""
    header = stream.read(4)
    if not header:
        return None
    return stream.read(int.from_bytes(header, "big"))


def write_frame(stream, payload):
    stream.write(struct.pack(">i", len(payload)) + payload)
    stream.flush()


def place(key, n):
    """Returns the partition of a key (None: the null key) among n, or SPREAD. An exception fails this key only."""
    if not key:
        return SPREAD
    return zlib.crc32(key) % n


def answer(request):
    ident, m = struct.unpack_from(">ii", request, 1)
    counts = struct.unpack_from(f">{m}i", request, 9)
    at = 9 + 4 * m
    (k,) = struct.unpack_from(">i", request, at)
    at += 4
    cells, failures = [], []
    for _ in range(k):
        length = int.from_bytes(request[at : at + 4], "big", signed=True)
        at += 4
        key = None
        if length >= 0:
            key = request[at : at + length]
            at += length
        for n in counts:
            try:
                cells.append(place(key, n))
            except Exception as err:  # whatever it is, it concerns one key
                reason = str(err).encode()[:1024]
                failures.append(struct.pack(">ii", len(cells), len(reason)) + reason)
                cells.append(FAILED)
    head = b"A" + struct.pack(f">ii{len(cells)}ii", ident, len(cells), *cells, len(failures))
    return head + b"".join(failures)


def main():
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    hello = read_frame(stdin)
    if hello is None or hello[:5] != b"H" + MAGIC or struct.unpack_from(">i", hello, 5) != (VERSION,):
        sys.exit("reference.py: keyspread starts this, as --partitioner 'exec:python3 reference.py'")
    write_frame(stdout, b"R" + MAGIC + struct.pack(">i", VERSION))
    while (request := read_frame(stdin)) is not None:
        write_frame(stdout, answer(request))


if __name__ == "__main__":
    main()
