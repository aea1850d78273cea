"""Metrics of new files: counts and bounds as manifests have them."""

from __future__ import annotations

import math
import struct
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.conversions import to_bytes
from pyiceberg.types import DecimalType

from lithify.files.types import ColumnType
from lithify.formats.iceberg.model import FileMetrics
from lithify.formats.iceberg.rewriting.metrics import FloatMetrics, serialized, serialized_bounds
from support.iceberg_files import Files, run, schema_of, task_of

INT = struct.Struct("<i").pack
LONG = struct.Struct("<q").pack
DOUBLE = struct.Struct("<d").pack


def _metrics(tmp_path: Path, kind: Any, values: list[Any], **properties: str) -> FileMetrics:
    files = Files(tmp_path, schema_of(("c", kind)))
    (new,) = run(task_of(files, [files.data({"c": values})], properties=properties)).data
    return new.metrics


BOUNDS = [
    ("boolean", [True, False, None], b"\0", b"\1"),
    ("int", [3, -1, None], INT(-1), INT(3)),
    ("long", [3, None], LONG(3), LONG(3)),
    ("double", [1.5, math.nan, None], DOUBLE(1.5), DOUBLE(1.5)),
    ("double", [0.0, 0.0], DOUBLE(-0.0), DOUBLE(0.0)),
    ("float", [-0.5, 2.0], struct.pack("<f", -0.5), struct.pack("<f", 2.0)),
    ("date", [date(1969, 12, 31)], INT(-1), INT(-1)),
    ("time", [time(0, 0, 1)], LONG(1_000_000), LONG(1_000_000)),
    ("timestamp", [datetime(1970, 1, 1, 0, 0, 1)], LONG(1_000_000), LONG(1_000_000)),
    ("timestamp_ns", [-5, 7], LONG(-5), LONG(7)),
    ("decimal(9, 2)", [Decimal("-1.28"), Decimal("1.27")], b"\x80", b"\x7f"),
    ("decimal(18, 2)", [Decimal("1.28")], b"\x00\x80", b"\x00\x80"),
    ("decimal(38, 2)", [Decimal("-1.29"), Decimal("655.36")], b"\xff\x7f", b"\x01\x00\x00"),
    ("string", ["a", "z" * 20], b"a", b"z" * 15 + b"{"),
    ("string", ["é" * 16], "é".encode() * 16, "é".encode() * 16),
    ("string", ["\U0010ffff" * 17], "\U0010ffff".encode() * 16, None),
    ("binary", [b"\x00" * 17, b"\xff" * 15 + b"\x01\x02"], b"\x00" * 16, b"\xff" * 15 + b"\x02"),
    ("binary", [b"\xff" * 17], b"\xff" * 16, None),
    ("fixed[2]", [b"ab", b"cd"], b"ab", b"cd"),
    ("uuid", [b"\x01" * 16], b"\x01" * 16, b"\x01" * 16),
    ("int", [None, None], None, None),
    ("double", [math.nan], None, None),
]


@pytest.mark.parametrize(("kind", "values", "low", "high"), BOUNDS)
def test_bounds_are_serialized_values(
    tmp_path: Path, kind: str, values: list[Any], low: bytes | None, high: bytes | None
) -> None:
    found = _metrics(tmp_path, kind, values)

    assert (found.lower_bounds.get(1), found.upper_bounds.get(1)) == (low, high)
    assert found.value_counts == {1: len(values)}
    assert found.null_counts == {1: values.count(None)}
    nans = sum(isinstance(value, float) and math.isnan(value) for value in values)
    assert found.nan_counts == ({1: nans} if kind in ("float", "double") else {})
    assert found.column_sizes[1] > 0


@pytest.mark.parametrize("form", ["orc", "avro"])
@pytest.mark.parametrize(("kind", "values", "low", "high"), BOUNDS)
def test_bounds_of_orc_and_avro_come_from_the_rows(
    tmp_path: Path, form: str, kind: str, values: list[Any], low: bytes | None, high: bytes | None
) -> None:
    found = _metrics(tmp_path, kind, values, **{"write.format.default": form})

    is_bounded = kind not in ("binary", "fixed[2]", "uuid")
    written = form if (kind, form) != ("timestamp_ns", "orc") else "parquet"  # there is one before 1970
    assert (found.lower_bounds.get(1), found.upper_bounds.get(1)) == (
        (low, high) if is_bounded else (None,) * 2
    )
    assert found.value_counts == {1: len(values)}
    assert found.null_counts == {1: values.count(None)}
    nans = sum(isinstance(value, float) and math.isnan(value) for value in values)
    assert found.nan_counts == ({1: nans} if kind in ("float", "double") else {})
    assert bool(found.column_sizes) is (written != "avro")


@pytest.mark.parametrize("form", ["orc", "avro"])
def test_bounds_of_orc_and_avro_are_those_of_all_writes(tmp_path: Path, form: str) -> None:
    files = Files(tmp_path, schema_of(("c", "long"), ("t", "string")))
    inputs = [
        files.data({"c": [5, None], "t": ["b", None]}),
        files.data({"c": [None], "t": [None]}),
        files.data({"c": [-7, 9], "t": ["a", "c"]}),
    ]

    (new,) = run(task_of(files, inputs, properties={"write.format.default": form})).data

    assert new.metrics.lower_bounds == {1: LONG(-7), 2: b"a"}
    assert new.metrics.upper_bounds == {1: LONG(9), 2: b"c"}
    assert new.metrics.null_counts == {1: 2, 2: 2}


def test_structs_lists_and_maps_of_orc_have_counts_and_what_is_in_lists_has_none(tmp_path: Path) -> None:
    inner = [
        {"id": 2, "name": "x", "required": False, "type": "double"},
        {"id": 3, "name": "l", "required": False, "type": _list(4)},
        {"id": 5, "name": "m", "required": False, "type": _map(6, 7)},
    ]
    value = {"x": 2.5, "l": [1, 2], "m": [("a", 1)]}

    found = _metrics(
        tmp_path, {"type": "struct", "fields": inner}, [value, None], **{"write.format.default": "orc"}
    )

    assert found.value_counts == {1: 2, 2: 2, 3: 2, 5: 2}
    assert found.null_counts == {1: 1, 2: 1, 3: 1, 5: 1}
    assert found.lower_bounds == {2: DOUBLE(2.5)}
    assert sorted(found.column_sizes) == [1, 2, 3, 5]


@pytest.mark.parametrize(
    ("mode", "has_counts", "upper"),
    [
        ("none", False, None),
        ("counts", True, None),
        ("truncate(2)", True, b"ac"),
        ("full", True, b"abz"),
    ],
)
def test_modes_say_which_metrics_there_are(
    tmp_path: Path, mode: str, upper: bytes | None, *, has_counts: bool
) -> None:
    properties = {"write.metadata.metrics.default": "full", "write.metadata.metrics.column.c": mode}

    found = _metrics(tmp_path, "string", ["abz"], **properties)

    assert bool(found.value_counts) is bool(found.null_counts) is has_counts
    assert found.upper_bounds.get(1) == upper
    assert 1 in found.column_sizes


def test_only_the_first_columns_have_metrics_unless_the_table_says_more(tmp_path: Path) -> None:
    files = Files(tmp_path, schema_of(*((f"c{number}", "int") for number in range(5))))
    file = files.data({f"c{number}": [1] for number in range(5)})
    name = "write.metadata.metrics.max-inferred-column-defaults"

    (new,) = run(task_of(files, [file], properties={name: "2"})).data
    assert sorted(new.metrics.value_counts) == [1, 2]
    more = {name: "2", "write.metadata.metrics.default": "counts", "write.metadata.metrics.column.c0": "none"}
    (new,) = run(task_of(files, [file], properties=more)).data
    assert sorted(new.metrics.value_counts) == [2, 3, 4, 5]


def test_fields_of_structs_have_metrics_and_those_of_lists_and_maps_have_sizes_only(tmp_path: Path) -> None:
    inner = [
        {"id": 2, "name": "x", "required": False, "type": "double"},
        {"id": 3, "name": "l", "required": False, "type": _list(4)},
        {"id": 5, "name": "m", "required": False, "type": _map(6, 7)},
    ]
    value = {"x": 2.5, "l": [1, 2], "m": [("a", 1)]}

    found = _metrics(tmp_path, {"type": "struct", "fields": inner}, [value, None])

    assert found.value_counts == {2: 2}
    assert found.null_counts == {2: 1}
    assert found.lower_bounds == {2: DOUBLE(2.5)}
    assert sorted(found.column_sizes) == [2, 4, 6, 7]


def _list(number: int) -> dict[str, Any]:
    return {"type": "list", "element-id": number, "element": "int", "element-required": False}


def _map(key: int, value: int) -> dict[str, Any]:
    ids = {"key-id": key, "value-id": value, "value-required": False}
    return {"type": "map", "key": "string", "value": "int", **ids}


@pytest.mark.parametrize("bounds", [(math.nan, math.nan), (1.0, math.nan), (math.nan, 1.0)])
def test_bounds_of_a_copied_chunk_that_are_no_numbers_are_none(bounds: tuple[float, float]) -> None:
    """Old writers had such; comparing with them would leave rows outside of the bounds."""
    statistics = SimpleNamespace(
        has_null_count=True, null_count=0, has_min_max=True, min=bounds[0], max=bounds[1]
    )
    found = FloatMetrics()

    found.add(pa.chunked_array([[5.0]]))
    found.add_chunk(SimpleNamespace(statistics=statistics, num_values=3))  # type: ignore[arg-type]

    assert not found.is_bounded
    assert (found.least, found.most) == (5.0, 5.0)


def test_copied_row_groups_have_bounds_but_no_number_of_nans(tmp_path: Path) -> None:
    files = Files(tmp_path, schema_of(("id", "long"), ("f", "double")))
    rng = np.random.default_rng(1)
    rows = {"id": rng.integers(0, 1 << 60, 1_500_000), "f": rng.random(1_500_000)}
    file = files.data(rows, row_group_size=2_000_000, use_dictionary=False, compression="zstd")

    outputs = run(task_of(files, [file]))

    (new,) = outputs.data
    assert outputs.copied_bytes > 0
    assert new.metrics.nan_counts == {}
    assert new.metrics.lower_bounds == {1: LONG(rows["id"].min()), 2: DOUBLE(rows["f"].min())}
    assert new.metrics.upper_bounds == {1: LONG(rows["id"].max()), 2: DOUBLE(rows["f"].max())}
    assert new.metrics.null_counts == {1: 0, 2: 0}


def test_split_offsets_are_the_beginnings_of_row_groups(tmp_path: Path) -> None:
    files = Files(tmp_path, schema_of(("c", "long")))
    file = files.data({"c": np.random.default_rng(1).integers(0, 1 << 60, 100_000)})
    small = {"write.parquet.row-group-size-bytes": "200000"}

    (new,) = run(task_of(files, [file], properties=small)).data

    footer = pq.read_metadata(new.path)
    assert footer.num_row_groups > 2
    assert len(new.split_offsets) == footer.num_row_groups
    assert list(new.split_offsets) == sorted(new.split_offsets)
    assert new.split_offsets[0] == 4


@given(st.integers(-(10**38) + 1, 10**38 - 1))
def test_decimals_take_the_bytes_that_pyiceberg_gives_them(unscaled: int) -> None:
    value = Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -3))

    assert serialized(unscaled, ColumnType("DECIMAL", 38, 3)) == to_bytes(DecimalType(38, 3), value)


@given(low=st.binary(max_size=6), high=st.binary(max_size=6), length=st.integers(1, 4))
def test_cut_bounds_stay_bounds(low: bytes, high: bytes, length: int) -> None:
    lower, upper = serialized_bounds((low, high), ColumnType("VARBINARY"), f"truncate({length})")

    assert lower <= low
    assert len(lower) <= length
    assert upper is None or (upper >= high and len(upper) <= length)
