#!/usr/bin/env python3
"""Holds keyspread's sketches against Apache DataSketches.

  compare.py write   write theirs-*.sk, which sketch_test.go reads
  compare.py check   read ours-*.sk, which sketch_test.go writes (go test -update), and compare

Needs the package datasketches; .ci/check-sketches brings version 5.2.0 in an environment of its own.
Keys are "key-0", "key-1", ...; sketch_test.go makes the same.
"""

import pathlib
import sys

import datasketches as ds

here = pathlib.Path(__file__).parent
sizes = [0, 1, 5, 50, 300, 50_000]  # empty, one, list, set, registers, theta below 1
LG_K = 10


def theta(n):
    sketch = ds.update_theta_sketch(LG_K)
    for i in range(n):
        sketch.update(f"key-{i}")
    return sketch.compact()


def hll(n):
    sketch = ds.hll_sketch(LG_K, ds.HLL_8)
    for i in range(n):
        sketch.update(f"key-{i}")
    return sketch


def write():
    for n in sizes:
        (here / f"theirs-theta-{n}.sk").write_bytes(theta(n).serialize())
        (here / f"theirs-hll-{n}.sk").write_bytes(hll(n).serialize_compact())


def check():
    for n in sizes:
        ours = ds.compact_theta_sketch.deserialize((here / f"ours-theta-{n}.sk").read_bytes())
        theirs = theta(n)
        cut = min(ours.theta64, theirs.theta64)
        a, b = ({h for h in s if h < cut} for s in (ours, theirs))
        assert a == b, f"theta {n}: {len(a ^ b)} hashes differ"
        assert ours.get_lower_bound(3) <= n <= ours.get_upper_bound(3), f"theta {n}: {ours.get_estimate()}"
        union = ds.theta_union(LG_K)
        union.update(ours)
        union.update(theirs)
        assert {h for h in union.get_result()} <= b, f"theta {n}: the union has strange hashes"

        ours = ds.hll_sketch.deserialize((here / f"ours-hll-{n}.sk").read_bytes())
        union = ds.hll_union(LG_K)
        union.update(ours)
        alone = union.get_estimate()
        union.update(hll(n))
        assert abs(union.get_estimate() - alone) <= 1e-6 * alone, f"hll {n}: theirs adds to ours"
        assert ours.get_lower_bound(3) <= n <= ours.get_upper_bound(3), f"hll {n}: {ours.get_estimate()}"
    print(f"{2 * len(sizes)} sketches agree with datasketches")


if __name__ == "__main__":
    {"write": write, "check": check}[sys.argv[1]]()
