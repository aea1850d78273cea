"""Partition transforms equal those of pyiceberg, value by value."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyiceberg import transforms
from pyiceberg import types as iceberg
from pyiceberg.utils.datetime import date_to_days, datetime_to_micros, time_to_micros

from lithify.errors import UnsupportedTable
from lithify.formats.iceberg.rewriting.transforms import transformed

INT = st.integers(-(1 << 31), (1 << 31) - 1)
LONG = st.integers(-(1 << 63), (1 << 63) - 1)
MOMENTS = st.datetimes(datetime(1900, 1, 1), datetime(2200, 1, 1))  # without a zone
TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
NARROW = st.decimals(Decimal("-9999999.99"), Decimal("9999999.99"), places=2)
WIDE = st.decimals(Decimal(-(10**34)), Decimal(10**34), places=3)


@pytest.mark.parametrize("number", [1, 7, 1000])
@settings(deadline=None)
@given(data=st.data())
def test_buckets_are_those_of_pyiceberg(number: int, data: st.DataObject) -> None:
    kinds: list[tuple[Any, pa.DataType, Any, Any]] = [
        (INT, pa.int32(), iceberg.IntegerType(), None),
        (LONG, pa.int64(), iceberg.LongType(), None),
        (st.dates(), pa.date32(), iceberg.DateType(), date_to_days),
        (st.times(), pa.time64("us"), iceberg.TimeType(), time_to_micros),
        (MOMENTS, pa.timestamp("us"), iceberg.TimestampType(), datetime_to_micros),
        (TEXTS, pa.string(), iceberg.StringType(), None),
        (st.binary(max_size=20), pa.binary(), iceberg.BinaryType(), None),
        (st.binary(min_size=5, max_size=5), pa.binary(5), iceberg.FixedType(5), None),
        (
            st.uuids().map(lambda each: each.bytes),
            pa.binary(16),
            iceberg.UUIDType(),
            lambda each: UUID(bytes=each),
        ),
        (NARROW, pa.decimal128(9, 2), iceberg.DecimalType(9, 2), None),
        (WIDE, pa.decimal128(38, 3), iceberg.DecimalType(38, 3), None),
    ]
    strategy, kind, iceberg_kind, plain = data.draw(st.sampled_from(kinds))
    values = data.draw(st.lists(st.none() | strategy, max_size=8))
    bucket = transforms.BucketTransform(number).transform(iceberg_kind)

    found = transformed(f"bucket[{number}]", pa.array(values, kind))

    expected = [None if each is None else bucket(plain(each) if plain else each) for each in values]
    assert found.type == pa.int32()
    assert found.to_pylist() == expected


@pytest.mark.parametrize("width", [1, 10, 997])
@settings(deadline=None)
@given(data=st.data())
def test_truncated_values_are_those_of_pyiceberg(width: int, data: st.DataObject) -> None:
    kinds: list[tuple[Any, pa.DataType, Any]] = [
        (st.integers(-(1 << 31) + 1000, (1 << 31) - 1), pa.int32(), iceberg.IntegerType()),
        (st.integers(-(1 << 63) + 1000, (1 << 63) - 1), pa.int64(), iceberg.LongType()),
        (TEXTS, pa.string(), iceberg.StringType()),
        (st.binary(max_size=20), pa.binary(), iceberg.BinaryType()),
        (NARROW, pa.decimal128(9, 2), iceberg.DecimalType(9, 2)),
        (WIDE, pa.decimal128(38, 3), iceberg.DecimalType(38, 3)),
    ]
    strategy, kind, iceberg_kind = data.draw(st.sampled_from(kinds))
    values = data.draw(st.lists(st.none() | strategy, max_size=8))
    truncate = transforms.TruncateTransform(width).transform(iceberg_kind)
    if pa.types.is_decimal(kind):  # pyiceberg computes with 28 digits
        scale = kind.scale

        def truncate(value: Decimal) -> Decimal:
            unscaled = int(f"{value:.{scale}f}".replace(".", ""))
            return _scaled(unscaled - unscaled % width, scale)

    found = transformed(f"truncate[{width}]", pa.array(values, kind)).to_pylist()

    assert found == [None if each is None else truncate(each) for each in values]


def _scaled(unscaled: int, scale: int) -> Decimal:
    digits = tuple(map(int, str(abs(unscaled))))
    return Decimal((int(unscaled < 0), digits, -scale))


@pytest.mark.parametrize("unit", ["year", "month", "day", "hour"])
@settings(deadline=None)
@given(values=st.lists(st.none() | MOMENTS, max_size=8))
def test_units_since_1970_are_those_of_pyiceberg(unit: str, values: list[datetime | None]) -> None:
    transform = getattr(transforms, f"{unit.capitalize()}Transform")()
    epoch = date(1970, 1, 1)
    cases = [
        (pa.timestamp("us"), values, iceberg.TimestampType(), datetime_to_micros),
        (
            pa.timestamp("us", "UTC"),
            [each and each.replace(tzinfo=UTC) for each in values],
            iceberg.TimestamptzType(),
            datetime_to_micros,
        ),
    ]
    if unit != "hour":
        cases.append(
            (pa.date32(), [each and each.date() for each in values], iceberg.DateType(), date_to_days)
        )

    for kind, given_values, iceberg_kind, plain in cases:
        apply = transform.transform(iceberg_kind)
        expected = [None if each is None else apply(plain(each)) for each in given_values]
        found = transformed(unit, pa.array(given_values, kind))
        if unit == "day":
            expected = [None if each is None else epoch + timedelta(days=each) for each in expected]
            assert found.type == pa.date32()
        assert found.to_pylist() == expected


def test_hashes_are_those_of_the_specification() -> None:
    values = [
        (pa.array([34], pa.int32()), 2017239379),
        (pa.array([34], pa.int64()), 2017239379),
        (pa.array([Decimal("14.20")], pa.decimal128(9, 2)), -500754589),
        (pa.array([date(2017, 11, 16)]), -653330422),
        (pa.array([time(22, 31, 8)], pa.time64("us")), -662762989),
        (pa.array([datetime(2017, 11, 16, 22, 31, 8)], pa.timestamp("us")), -2047944441),
        (pa.array([1510871468000000000]).view(pa.timestamp("ns")), -2047944441),
        (pa.array(["iceberg"]), 1210000089),
        (pa.array([UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7").bytes], pa.binary(16)), 1488055340),
        (pa.array([b"\x00\x01\x02\x03"], pa.binary(4)), -188683207),
        (pa.array([b"\x00\x01\x02\x03"]), -188683207),
    ]

    for array, hashed in values:
        assert transformed("bucket[2147483647]", array)[0].as_py() == (hashed & 0x7FFFFFFF) % 0x7FFFFFFF


def test_sliced_and_dictionary_columns_are_transformed_alike() -> None:
    texts = pa.array(["skip", "iceberg", None, "b"]).slice(1)

    for name in ("bucket[13]", "truncate[3]", "identity"):
        plain = transformed(name, texts)
        assert transformed(name, texts.dictionary_encode()).to_pylist() == plain.to_pylist()
        assert plain.to_pylist() == transformed(name, pa.array(texts.to_pylist())).to_pylist()


def test_void_is_null() -> None:
    assert transformed("void", pa.array([1, 2])).to_pylist() == [None, None]


@pytest.mark.parametrize("name", ["zorder", "bucket", "truncate[x]"])
def test_unknown_transforms_are_refused(name: str) -> None:
    with pytest.raises(UnsupportedTable):
        transformed(name, pa.array([1]))


@pytest.mark.parametrize("name", ["bucket[4]", "truncate[4]"])
def test_transforms_of_other_types_are_refused(name: str) -> None:
    with pytest.raises(UnsupportedTable):
        transformed(name, pa.array([1.5]))
