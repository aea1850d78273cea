"""Bounds compare as the values do that they stand for."""

from __future__ import annotations

import struct
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.columns.ranks import ranks
from lithify.formats.iceberg.manifests.bounds import bound_values, is_comparable
from support.properties import examples


def shortest(value: int) -> bytes:
    return value.to_bytes((value + (value < 0)).bit_length() // 8 + 1, "big", signed=True)


KINDS: dict[str, tuple[Any, Any]] = {
    "int": (st.integers(-(1 << 31), (1 << 31) - 1), lambda value: struct.pack("<i", value)),
    "long": (st.integers(-(1 << 63), (1 << 63) - 1), lambda value: struct.pack("<q", value)),
    "timestamptz": (st.integers(-(1 << 63), (1 << 63) - 1), lambda value: struct.pack("<q", value)),
    "double": (st.floats(allow_nan=False), lambda value: struct.pack("<d", value)),
    "string": (st.text(max_size=4), lambda value: value.encode()),
    "binary": (st.binary(max_size=4), bytes),
    "boolean": (st.booleans(), lambda value: bytes([value])),
    "decimal(38,2)": (st.integers(-(10**37), 10**37), shortest),
}


@settings(max_examples=examples(60), deadline=None)
@given(st.data(), st.sampled_from(sorted(KINDS)))
def test_ranks_of_bounds_have_the_order_of_their_values(data: st.DataObject, kind: str) -> None:
    values, pack = KINDS[kind]
    found = [data.draw(st.lists(st.none() | values, max_size=6)) for _ in range(2)]
    stored = [
        pa.array([None if each is None else pack(each) for each in part], pa.binary()) for part in found
    ]
    order = sorted({each for part in found for each in part if each is not None}, key=sortable)
    expected = [[-1 if each is None else order.index(each) for each in part] for part in found]
    assert [part.tolist() for part in ranks([bound_values(each, kind) for each in stored])] == expected


def sortable(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def test_bounds_from_before_a_column_was_widened_are_read() -> None:
    assert bound_values(pa.array([struct.pack("<i", -3), struct.pack("<q", 5)]), "long").to_pylist() == [
        -3,
        5,
    ]
    assert bound_values(pa.array([struct.pack("<f", 0.5)]), "double").to_pylist() == [0.5]


def test_bounds_from_before_dates_became_timestamps_are_unknown() -> None:
    """They are days."""
    for kind in ("timestamp", "timestamptz_ns"):
        assert bound_values(pa.array([struct.pack("<i", 7), struct.pack("<q", 5)]), kind).to_pylist() == [
            None,
            5,
        ]


def test_bounds_of_another_form_are_unknown() -> None:
    assert bound_values(pa.array([b"abc", None]), "long").to_pylist() == [None, None]
    assert bound_values(pa.array([struct.pack("<d", float("nan"))]), "double").to_pylist() == [None]


@pytest.mark.parametrize(("kind", "expected"), [("uuid", True), ("fixed[3]", True), ("list", False)])
def test_nested_types_have_no_order(kind: str, expected: bool) -> None:
    assert is_comparable(kind) is expected
