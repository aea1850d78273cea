"""Order keys of many bounds are those of each bound alone."""

from __future__ import annotations

from functools import partial

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.errors import CorruptTable
from lithify.files.types import ColumnType
from lithify.formats.paimon.rows.binary_row import encode_row, order_key
from lithify.formats.paimon.rows.key_columns import order_keys
from lithify.formats.paimon.schema.type_texts import parse_type
from support.atomic_types import ATOMICS, Atomic
from support.properties import examples

ORDERED = [atomic for atomic in ATOMICS if not atomic.column.is_float]
"""Of floats, NaN has no order."""
IN_SLOTS = [atomic for atomic in ORDERED if not atomic.column.is_bytes]


def keys_of(rows: list[bytes], types: list[ColumnType]) -> list[bytes]:
    return list(order_keys(pa.array(rows, pa.binary()), types, partial(order_key, types=types)))


@settings(max_examples=examples(150), deadline=None)
@given(st.lists(st.sampled_from(IN_SLOTS) | st.sampled_from(ORDERED), min_size=1, max_size=3), st.data())
def test_keys_are_those_of_each_bound_alone(atomics: list[Atomic], data: st.DataObject) -> None:
    types = [atomic.column for atomic in atomics]
    values = data.draw(st.lists(st.tuples(*(atomic.raws for atomic in atomics)), max_size=6))
    rows = [encode_row(row, types) for row in values]

    assert keys_of(rows, types) == [order_key(row, types) for row in rows]


def test_many_keys_take_more_than_one_word_of_null_bits() -> None:
    types = [parse_type("INT NOT NULL")] * 60
    rows = [encode_row(range(number, number + 60), types) for number in (-30, 0, 7)]

    assert keys_of(rows, types) == [order_key(row, types) for row in rows]


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(encode_row([None, 2], [parse_type("INT")] * 2), id="a key is null"),
        pytest.param(
            b"\x00\x00\x00\x01" + encode_row([1, 2], [parse_type("INT")] * 2)[4:], id="a key is missing"
        ),
    ],
)
def test_bounds_without_a_key_are_corrupt(row: bytes) -> None:
    types = [parse_type("INT")] * 2

    with pytest.raises(CorruptTable):
        keys_of([encode_row([1, 2], types), row], types)
