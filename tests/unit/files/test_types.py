"""Raw values and the parts into which they order."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.columns.order import key_at, parts_of_column
from lithify.errors import CorruptTable, UnsupportedTable
from lithify.files.types import order_kinds, order_parts, raw_of_parts
from lithify.formats.paimon.schema.type_texts import parse_type
from support.atomic_types import ATOMICS, Atomic
from support.key_parts import part_kinds
from support.properties import examples

every_type = pytest.mark.parametrize("atomic", ATOMICS, ids=lambda atomic: atomic.text)


class TestOrderParts:
    @every_type
    @settings(max_examples=examples(20), deadline=None)
    @given(data=st.data())
    def test_they_are_those_of_the_same_value_in_a_column(self, atomic: Atomic, data: st.DataObject) -> None:
        raw = data.draw(atomic.raws)
        parts = parts_of_column(atomic.arrow([raw]))
        assert order_parts(atomic.column, raw) == key_at(parts, 0)
        assert order_kinds(atomic.column) == part_kinds(parts)

    @every_type
    @settings(max_examples=examples(20), deadline=None)
    @given(data=st.data())
    def test_order_parts_give_every_value_back(self, atomic: Atomic, data: st.DataObject) -> None:
        """But for the sign of a zero."""
        raw = data.draw(atomic.raws)
        assert raw_of_parts(atomic.column, order_parts(atomic.column, raw)) == raw

    @every_type
    def test_a_key_is_never_null(self, atomic: Atomic) -> None:
        with pytest.raises(CorruptTable):
            order_parts(atomic.column, None)


def test_nan_bounds_no_file() -> None:
    with pytest.raises(UnsupportedTable, match="NaN"):
        order_parts(parse_type("DOUBLE"), math.nan)


@pytest.mark.parametrize(
    ("value", "raw"),
    [
        pytest.param(("INT", -5), -5, id="int"),
        pytest.param(("BOOLEAN", 1), 1, id="boolean"),
        pytest.param(("TIMESTAMP(6)", -1), -1, id="micros"),
        pytest.param(("DECIMAL(38, 0)", -(1 << 64) - 3), -(1 << 64) - 3, id="wide decimal"),
        pytest.param(("STRING", b"x"), b"x", id="text"),
    ],
)
def test_raw_values_come_back_from_the_parts_of_their_order(value: tuple[str, Any], raw: Any) -> None:
    column = parse_type(value[0])
    assert raw_of_parts(column, order_parts(column, value[1])) == raw
