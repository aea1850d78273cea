"""Unions of bitmaps and sketches, and of bytes that are none; the differential tests compare with Java."""

from __future__ import annotations

import json
import os
import pickle
import secrets
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import datasketches
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from lithify.errors import UnsupportedTable
from lithify.formats.paimon.options.merging.field_functions import field_function
from lithify.formats.paimon.options.merging.field_options import FieldOptions
from lithify.formats.paimon.primary_key.merge_functions.aggregates.factory import aggregate_of
from lithify.formats.paimon.primary_key.merge_functions.aggregates.long_bitmaps import LongBitmap
from lithify.formats.paimon.primary_key.merge_functions.aggregates.roaring import join, split
from lithify.formats.paimon.primary_key.merge_functions.aggregates.unions import UNIONS
from lithify.formats.paimon.schema.type_texts import parse_type
from support.properties import examples

TESTS = Path(__file__).resolve().parents[5]
BEYOND_THE_END = [
    *((0, 4, (1 << 32) - 1), (0, 1, 3), (64, 1, 1), (255, 1, 3), (8, 0, 0), (8, 9, 5), (8, 2, 100)),
    *((63, 8, 1 << 60), (1, 8, 1 << 63), (63, 8, (1 << 64) // 63 + 1)),
]
"""Bits of a hash, bytes of the number of hashes, and that number."""
PROPERTY = settings(max_examples=examples(100), deadline=None)
TYPES = [datasketches.tgt_hll_type.HLL_4, datasketches.tgt_hll_type.HLL_6, datasketches.tgt_hll_type.HLL_8]


def bitmap(numbers: Any) -> bytes:
    made = BitMap(numbers)
    made.run_optimize()
    return bytes(made.serialize())


def long_bitmap(numbers: set[int]) -> bytes:
    made = LongBitmap()
    for key in sorted({number >> 16 for number in numbers}):
        low = [number & 0xFFFF for number in numbers if number >> 16 == key]
        each = LongBitmap(slots=[split(bitmap(low))[1][0]], last=0)
        each.tree.insert(key.to_bytes(6, "big"), 0)
        made.add(each)
    return made.serialize()


def theta(first: int, count: int) -> bytes:
    made = datasketches.update_theta_sketch()
    for number in range(first, first + count):
        made.update(number)
    return bytes(made.compact().serialize())


def hll(first: int, count: int, slots: int = 12, kind: int = 0, *, updatable: bool = False) -> bytes:
    made = datasketches.hll_sketch(slots, TYPES[kind])
    for number in range(first, first + count):
        made.update(number)
    return bytes(made.serialize_updatable() if updatable else made.serialize_compact())


COUNTS = (0, 1, 3, 20, 200, 5000)
SOME = {
    "rbm32": [bitmap(range(0, count * step, step)) for count in COUNTS for step in (1, 2, 1000)],
    "rbm64": [
        long_bitmap({*range(0, count * step, step)}) for count in (0, 3, 200) for step in (1, 99_999, 1 << 50)
    ],
    "theta_sketch": [theta(0, count) for count in COUNTS],
    "hll_sketch": [
        hll(0, count, slots, kind, updatable=updatable)
        for count in COUNTS
        for slots in (4, 12)
        for kind in range(3)
        for updatable in (False, True)
    ],
}


@PROPERTY
@given(st.lists(st.sets(st.integers(0, 300) | st.integers(0, (1 << 64) - 1), max_size=40), min_size=2))
def test_a_long_bitmap_has_what_its_parts_have(parts: list[set[int]]) -> None:
    united = long_bitmap(parts[0])
    for part in parts[1:]:
        united = UNIONS["rbm64"](united, long_bitmap(part))
    read = LongBitmap.read(united)
    found: set[int] = set()
    for key, place in read.tree.leaves.items():
        container = read.slots[place]
        assert container is not None
        united_low = UNIONS["rbm32"](bitmap([]), join([0], [container]))
        found |= {int.from_bytes(key, "big") << 16 | low for low in BitMap.deserialize(united_low)}
    assert found == set().union(*parts)


@PROPERTY
@given(st.lists(st.tuples(st.integers(0, 20_000), st.integers(0, 9000)), min_size=2, max_size=4))
def test_theta_sketches_are_those_of_the_library(parts: list[tuple[int, int]]) -> None:
    united, library = theta(*parts[0]), datasketches.theta_union(12)
    library.update(datasketches.compact_theta_sketch.deserialize(united))
    for part in parts[1:]:
        united = UNIONS["theta_sketch"](united, theta(*part))
        library.update(datasketches.compact_theta_sketch.deserialize(theta(*part)))
    ours, theirs = datasketches.compact_theta_sketch.deserialize(united), library.get_result()
    assert ([*ours], ours.theta64) == ([*theirs], theirs.theta64)


def theta_in_bits(hashes: Sequence[int], bits: int | None = None) -> bytes:
    """A Theta sketch in the form with as many bits as the largest difference needs."""
    differences = [after - before for before, after in pairwise([0, *hashes])]
    width = bits or max(each.bit_length() for each in differences)
    text = "".join(format(each, f"0{width}b") for each in differences)
    text += "0" * (-len(text) % 8)
    start = bytes((1, 4, 3, width, 4, 0x1A, 0xCC, 0x93)) + len(hashes).to_bytes(4, "little")
    return start + int(text, 2).to_bytes(len(text) // 8, "big")


@PROPERTY
@given(st.sets(st.integers(1, (1 << 63) - 2), min_size=40, max_size=60))
def test_theta_sketches_in_few_bits_are_those_of_the_library(hashes: set[int]) -> None:
    packed = theta_in_bits(sorted(hashes))
    united = UNIONS["theta_sketch"](packed, theta(0, 0))
    library = datasketches.compact_theta_sketch.deserialize
    assert [*library(united)] == [*library(packed)] == sorted(hashes)


@pytest.mark.parametrize(("bits", "width", "count"), BEYOND_THE_END)
def test_theta_sketches_have_as_many_hashes_as_bytes_for_them(bits: int, width: int, count: int) -> None:
    """DataSketches in C++ takes gigabytes for some, and ends the process over others."""
    start = bytes((1, 4, 3, bits, width, 0x1A, 0xCC, 0x93))
    with pytest.raises(ValueError):
        UNIONS["theta_sketch"](start + count.to_bytes(width, "little") + bytes(range(1, 100)), theta(0, 5))


@pytest.mark.thorough
def test_damaged_values_and_vectors_are_read_or_refused() -> None:
    """In a process of bounded memory, which the C++ libraries might take along."""
    seed = secrets.randbelow(1 << 40)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "unit.formats.paimon.primary_key.merge_functions.value_damage",
            str(seed),
            str(25 * examples(40)),
            "3000",
        ],
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, f"from seed {seed} on: {done.stderr[-3000:]}"
    found = json.loads(done.stdout)
    assert found["surprises"] == [], f"from seed {seed} on"
    assert all(found["outcomes"].get(f"{kind} refused", 0) for kind in (*UNIONS, "vector"))
    assert found["mebibytes"] < 600
    assert found["longest"] < 10


@pytest.mark.parametrize("function", UNIONS)
def test_groups_are_folded_and_single_values_are_kept(function: str) -> None:
    aggregate = pickle.loads(
        pickle.dumps(aggregate_of(field_function(function, parse_type("BYTES"), FieldOptions("v"))))
    )
    first, second, third = SOME[function][3], SOME[function][4], SOME[function][2]
    values = pa.array(
        [b"cut off", None, first, None, None, None, second, first, None, third, None], pa.binary()
    )
    result = aggregate.aggregate(values[1:], np.array([0, 3, 5, 9]), np.zeros(10, dtype=bool))
    union = UNIONS[function]
    assert result.to_pylist() == [first, None, union(union(second, first), third), None]
    assert result.type == pa.binary()


def test_what_is_no_sketch_is_named() -> None:
    aggregate = aggregate_of(field_function("rbm32", parse_type("BYTES"), FieldOptions("v")))
    values = pa.array([SOME["rbm32"][5], b"nonsense"], pa.binary())
    with pytest.raises(UnsupportedTable) as raised:
        aggregate.aggregate(values, np.array([0]), np.zeros(2, dtype=bool))
    assert raised.value.table == "column v"
