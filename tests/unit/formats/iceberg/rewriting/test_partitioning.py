"""Partitions of rows, and the folders of partitions."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

from lithify.errors import UnsupportedTable
from lithify.formats.iceberg.model import Partition, PartitionValue
from lithify.formats.iceberg.rewriting.partitioning import Partitioner, PartitionField, PartitionSpec
from support.iceberg_files import schema_of

MOMENT = datetime(2024, 5, 6, 7, 8, 9, 10)  # a timestamp without a zone
VALUES: list[tuple[str, str, Any, PartitionValue, str]] = [
    ("boolean", "identity", True, True, "true"),
    ("int", "identity", 5, 5, "5"),
    ("string", "identity", "a/b=c d", "a/b=c d", "a%2Fb%3Dc+d"),
    ("string", "identity", None, None, "null"),
    ("decimal(9, 2)", "identity", Decimal("1.50"), Decimal("1.50"), "1.50"),
    ("date", "identity", date(2024, 5, 6), date(2024, 5, 6), "2024-05-06"),
    ("date", "year", date(2024, 5, 6), 54, "2024"),
    ("date", "month", date(1969, 12, 6), -1, "1969-12"),
    ("date", "day", date(2024, 5, 6), date(2024, 5, 6), "2024-05-06"),
    ("timestamp", "hour", datetime(1970, 1, 2, 3), 27, "1970-01-02-03"),
    ("timestamp", "identity", MOMENT, MOMENT, "2024-05-06T07%3A08%3A09.000010"),
    ("timestamptz", "day", MOMENT.replace(tzinfo=UTC), date(2024, 5, 6), "2024-05-06"),
    ("timestamp_ns", "identity", 7, 7, "7"),
    ("time", "identity", time(1, 2, 3), time(1, 2, 3), "01%3A02%3A03"),
    ("uuid", "identity", bytes(15) + b"\x01", UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    ("binary", "truncate[1]", b"\x0a\xff", b"\x0a", "0a"),
    ("long", "bucket[8]", 34, 3, "3"),
    ("int", "void", 34, None, "null"),
    ("date", "identity", 3_000_000, 3_000_000, "3000000"),
    ("timestamp", "identity", 1 << 60, 1 << 60, str(1 << 60)),
    ("timestamptz", "day", -(1 << 60), -13_343_999, "-13343999"),
    ("timestamp", "hour", 1 << 60, 320_255_973, "320255973"),
    ("uuid", "identity", None, None, "null"),
    ("time", "identity", None, None, "null"),
]


@pytest.mark.parametrize(("kind", "transform", "value", "expected", "text"), VALUES)
def test_partition_has_the_transformed_value(
    kind: str, transform: str, value: Any, expected: PartitionValue, text: str
) -> None:
    schema = schema_of(("c", kind))
    spec = PartitionSpec(4, (PartitionField(1, "f x", transform),))
    rows = pa.RecordBatch.from_arrays([pa.array([value], schema.rows_schema().field(0).type)], ["c"])

    ((place, part),) = Partitioner(spec, schema).split(rows)

    assert (place.partition, part.num_rows) == (Partition(4, (expected,)), 1)
    assert type(place.partition.values[0]) is type(expected)
    assert spec.folder(place.partition) == f"f+x={text}"


def test_rows_are_divided_where_a_value_changes() -> None:
    schema = schema_of(("a", "int"), ("b", "string"))
    spec = PartitionSpec(1, (PartitionField(1, "a", "identity"), PartitionField(2, "b", "identity")))
    columns = [pa.array([None, None, 1, 1, 1]), pa.array(["x", "x", "x", None, "y"])]
    rows = pa.RecordBatch.from_arrays(columns, ["a", "b"])

    found = [(place.partition.values, part.num_rows) for place, part in Partitioner(spec, schema).split(rows)]

    assert found == [((None, "x"), 2), ((1, "x"), 1), ((1, None), 1), ((1, "y"), 1)]


@pytest.mark.parametrize("kind", ["float", "double"])
def test_both_zeros_are_partitions_and_nan_is_one_as_in_java(kind: str) -> None:
    schema = schema_of(("c", kind))
    values = pa.array([-0.0, -0.0, 0.0, math.nan, -math.nan, None], schema.rows_schema().field(0).type)
    partitioner = Partitioner(PartitionSpec(1, (PartitionField(1, "c", "identity"),)), schema)

    found = [*partitioner.split(pa.RecordBatch.from_arrays([values], ["c"]))]

    assert [str(place.partition.values[0]) for place, _ in found] == ["-0.0", "0.0", "nan", "None"]
    assert [part.num_rows for _, part in found] == [2, 1, 2, 1]
    assert len({partition for partition, _ in found}) == 4


def test_partitions_are_equal_as_java_compares_them() -> None:
    assert Partition(1, (0.0,)) != Partition(1, (-0.0,))
    assert Partition(1, (float("nan"),)) == Partition(1, (float("nan"),))
    assert len({Partition(1, (float("nan"),)), Partition(1, (float("nan"),))}) == 1
    assert Partition(1, (1.5, None)) == Partition(1, (1.5, None))
    assert Partition(1) != Partition(2)


@pytest.mark.parametrize(
    ("value", "text"), [(math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity"), (-0.0, "-0.0")]
)
def test_folders_of_numbers_are_named_as_java_names_them(value: float, text: str) -> None:
    spec = PartitionSpec(1, (PartitionField(1, "c", "identity"),))
    assert spec.folder(Partition(1, (value,))) == f"c={text}"


def test_field_of_a_struct_can_be_a_source() -> None:
    inner = {"type": "struct", "fields": [{"id": 7, "name": "x", "required": False, "type": "int"}]}
    schema = schema_of(("s", inner))
    spec = PartitionSpec(1, (PartitionField(7, "x", "identity"),))
    rows = pa.RecordBatch.from_arrays([pa.array([{"x": 3}, None], schema.rows_schema().field(0).type)], ["s"])

    found = [place.partition.values for place, _ in Partitioner(spec, schema).split(rows)]

    assert found == [(3,), (None,)]


def test_source_that_the_schema_lacks_is_refused() -> None:
    spec = PartitionSpec(1, (PartitionField(9, "x", "identity"),))
    rows = pa.RecordBatch.from_arrays([pa.array([1])], ["c"])

    with pytest.raises(UnsupportedTable):
        Partitioner(spec, schema_of(("c", "long"))).columns(rows)
