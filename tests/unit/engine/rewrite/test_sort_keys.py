"""Sort keys keep the order of values: of each column alone, whatever the strategy is."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date, datetime, time
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.columns.order import INSTANT, key_at, timestamps_as_instants
from lithify.columns.orders import SortStrategy
from lithify.engine.rewrite.sort_keys import SortKey
from support.cases import case
from support.properties import examples

MICROS = st.datetimes(datetime(1583, 1, 1), datetime(9998, 1, 1))
DECIMALS = st.decimals(allow_nan=False, allow_infinity=False, places=3, min_value=-(10**14), max_value=10**14)


def plain(value: Any) -> Any:
    return value


def utf8(value: str) -> bytes:
    return value.encode()


def number(value: float) -> tuple[bool, float]:
    """NaN last, both zeros equal."""
    return math.isnan(value), 0.0 if math.isnan(value) else value


def bits(size: int) -> st.SearchStrategy[int]:
    return st.integers(-(1 << (size - 1)), (1 << (size - 1)) - 1)


KINDS = [
    case(pa.bool_(), st.booleans(), plain, id="BOOLEAN"),
    case(pa.int8(), bits(8), plain, id="TINYINT"),
    case(pa.int32(), bits(32), plain, id="INT"),
    case(pa.int64(), bits(64), plain, id="BIGINT"),
    case(pa.float32(), st.floats(width=32), number, id="FLOAT"),
    case(pa.float64(), st.floats(), number, id="DOUBLE"),
    case(pa.decimal128(18, 3), DECIMALS, plain, id="DECIMAL(18)"),
    case(pa.date32(), st.dates(date(1, 1, 1)), plain, id="DATE"),
    case(pa.time32("ms"), st.times().map(lambda t: time(t.hour, t.minute, t.second)), plain, id="TIME"),
    case(pa.timestamp("us"), MICROS, plain, id="TIMESTAMP"),
]
TEXTS = [
    case(pa.string(), st.text(max_size=12), utf8, id="STRING"),
    case(pa.binary(), st.binary(max_size=12), plain, id="BYTES"),
]
WIDE = case(pa.decimal128(38, 3), DECIMALS, plain, id="DECIMAL(38)")


def keys_of(values: list[Any], kind: pa.DataType, strategy: SortStrategy, **options: Any) -> list[Any]:
    """The keys by a column; a second one is always the same."""
    rows = pa.record_batch({"v": pa.array(values, kind), "other": pa.nulls(len(values), pa.int32())})
    return keys(rows, strategy, **options)


def keys(rows: pa.RecordBatch, strategy: SortStrategy, **options: Any) -> list[Any]:
    key = SortKey(tuple(rows.schema.names), frozenset(rows.schema.names), strategy, **options)
    parts = key.parts(rows)
    return [key_at(parts, row) for row in range(rows.num_rows)]


def assert_order(values: list[Any], found: list[Any], order: Callable[[Any], Any], *, exact: bool) -> None:
    """Keys of greater values are greater, or, if not exact, equal; nulls come first."""
    for value, key in zip(values, found, strict=True):
        for other, its_key in zip(values, found, strict=True):
            if value is None:
                assert key <= its_key
            elif other is not None and order(value) < order(other):
                assert key < its_key if exact else key <= its_key
            elif other is not None and order(value) == order(other):
                assert key == its_key


@pytest.mark.parametrize("strategy", SortStrategy)
@pytest.mark.parametrize(("kind", "values", "order"), KINDS)
@settings(max_examples=examples(30), deadline=None)
@given(data=st.data())
def test_every_type_keeps_its_order(
    kind: pa.DataType,
    values: st.SearchStrategy[Any],
    order: Callable[[Any], Any],
    strategy: SortStrategy,
    data: st.DataObject,
) -> None:
    drawn = data.draw(st.lists(st.none() | values, min_size=1, max_size=8))
    assert_order(drawn, keys_of(drawn, kind, strategy), order, exact=True)


@pytest.mark.parametrize(("kind", "values", "order"), [*TEXTS, WIDE])
@settings(max_examples=examples(30), deadline=None)
@given(data=st.data())
def test_what_does_not_fit_into_a_word_is_exact_in_order_alone(
    kind: pa.DataType, values: st.SearchStrategy[Any], order: Callable[[Any], Any], data: st.DataObject
) -> None:
    drawn = data.draw(st.lists(st.none() | values, min_size=1, max_size=8))
    assert_order(drawn, keys_of(drawn, kind, SortStrategy.ORDER), order, exact=True)
    for strategy in (SortStrategy.ZORDER, SortStrategy.HILBERT):
        assert_order(drawn, keys_of(drawn, kind, strategy), order, exact=False)


@pytest.mark.parametrize("strategy", SortStrategy)
def test_instants_of_nanoseconds(strategy: SortStrategy) -> None:
    moments = [datetime(1, 1, 1), datetime(1969, 12, 31), datetime(1970, 1, 1), datetime(9999, 12, 31)]
    column = timestamps_as_instants(pa.array([*moments, None], pa.timestamp("us")))
    assert column.type == INSTANT
    found = keys(pa.record_batch({"v": column, "w": pa.nulls(5, pa.int8())}), strategy)
    assert found[-1] < found[0] < found[1] < found[2] < found[3]


def test_a_z_order_takes_as_many_bytes_of_texts_as_it_is_told() -> None:
    texts = ["a" * 20 + last for last in "cab"]
    short = keys_of(texts, pa.string(), SortStrategy.ZORDER)
    assert len(set(short)) == 1
    long = keys_of(texts, pa.string(), SortStrategy.ZORDER, text_bytes=21)
    assert sorted(range(3), key=long.__getitem__) == [1, 2, 0]


def test_slices_of_columns() -> None:
    values = ["", "b", None, "\x00", "ab", "a"]
    whole = keys_of(values, pa.string(), SortStrategy.HILBERT)
    rows = pa.record_batch({"v": pa.array(values), "other": pa.nulls(6, pa.int32())})
    assert keys(rows.slice(2, 3), SortStrategy.HILBERT) == whole[2:5]


@pytest.mark.parametrize("strategy", SortStrategy)
def test_a_type_without_order_is_an_error(strategy: SortStrategy) -> None:
    rows = pa.record_batch({"v": pa.array([[1]]), "w": pa.array([1])})
    with pytest.raises(TypeError):
        keys(rows, strategy)
