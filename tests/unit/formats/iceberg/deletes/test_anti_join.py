"""Equality deletes: a null-safe anti-join of key columns that may go through local disk."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lithify.engine.rewrite.budget import Budget
from lithify.errors import CorruptTable, MissingFile, UnsupportedTable
from lithify.formats.iceberg.data_files.schema import Schema, parse_schema
from lithify.formats.iceberg.deletes.equality.anti_join import deleted_by_equality
from lithify.formats.iceberg.model import DataFile, Partition
from support.iceberg_files import Files, schema_json, schema_of, with_deletes

SCHEMA = schema_of(("a", "long"), ("b", "string"), ("c", "double"))
SPILLING = Budget(1 << 10)
"""Less than any deletes take."""


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path, SCHEMA)


def _deleted(
    files: Files, inputs: Sequence[DataFile], budget: Budget | None = None, schema: Schema | None = None
) -> dict[str, list[int]]:
    found = deleted_by_equality(
        inputs, files.reader, schema or files.schema, budget or Budget(), files.folder
    )
    for left in files.folder.glob("equality-*"):
        left.unlink()
    return {path: sorted(bitmap) for path, bitmap in found.items()}


KEYS = st.tuples(
    st.none() | st.integers(0, 3),
    st.none() | st.sampled_from(["", "x", "y\0"]),
    st.none() | st.sampled_from([0.0, -0.0, math.nan, 1.5]),
)
DELETES = st.tuples(
    st.sampled_from([(1,), (2,), (3,), (1, 2), (1, 2, 3)]), st.integers(1, 4), st.lists(KEYS, max_size=4)
)


def _same(one: Any, other: Any) -> bool:
    """Whether Java's comparison of objects says that two values are equal."""
    if isinstance(one, float) and isinstance(other, float):
        is_nan = math.isnan(one) and math.isnan(other)
        return is_nan or struct.pack("d", one) == struct.pack("d", other)
    return bool(one == other)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(
        st.tuples(st.integers(1, 4), st.lists(KEYS, min_size=1, max_size=6)), min_size=1, max_size=3
    ),
    deletes=st.lists(DELETES, max_size=4),
    spills=st.booleans(),
)
def test_rows_are_deleted_by_newer_deletes_of_their_key(
    files: Files,
    rows: list[tuple[int, list[tuple[Any, ...]]]],
    deletes: list[tuple[tuple[int, ...], int, list[tuple[Any, ...]]]],
    *,
    spills: bool,
) -> None:
    data = [_data(files, keys, sequence) for sequence, keys in rows]
    written = [_delete(files, *each) for each in deletes]
    inputs = [
        with_deletes(file, *(each for each in written if each.sequence > file.sequence)) for file in data
    ]

    found = _deleted(files, inputs, SPILLING if spills else None)

    expected = {
        file.path: [
            at
            for at, row in enumerate(keys)
            if any(
                newer > sequence and any(all(_same(row[i - 1], key[i - 1]) for i in ids) for key in gone)
                for ids, newer, gone in deletes
            )
        ]
        for file, (sequence, keys) in zip(data, rows, strict=True)
    }
    assert found == {path: positions for path, positions in expected.items() if positions}


def _data(files: Files, keys: Sequence[tuple[Any, ...]], sequence: int) -> DataFile:
    columns = dict(zip("abc", zip(*keys, strict=True), strict=True))
    return files.data(columns, sequence=sequence)


def _delete(files: Files, ids: tuple[int, ...], sequence: int, keys: Sequence[tuple[Any, ...]]) -> Any:
    names = ["abc"[number - 1] for number in ids]
    columns = {name: [key["abc".index(name)] for key in keys] for name in names}
    return files.equality(columns, ids, sequence=sequence)


@pytest.mark.parametrize("spills", [False, True])
def test_deletes_of_another_partition_do_not_apply(files: Files, *, spills: bool) -> None:
    one, other = Partition(0, (1,)), Partition(0, (2,))
    first, second = (
        files.data({"a": [1, 2], "b": ["x", "y"], "c": [0.0, 0.0]}, partition=p) for p in (one, other)
    )
    delete = files.equality({"a": [1]}, [1], partition=one)
    another = files.equality({"a": [2]}, [1], partition=other)
    inputs = [with_deletes(first, delete), with_deletes(second, another)]

    assert _deleted(files, inputs, SPILLING if spills else None) == {first.path: [0], second.path: [1]}


VALUES = [
    ("boolean", [True, False]),
    ("int", [1, -1]),
    ("float", [0.5, 2.0]),
    ("date", [date(2024, 1, 1), date(1960, 1, 1)]),
    ("time", [time(1, 2, 3, 4), time(0)]),
    ("timestamp", [datetime(2024, 1, 1, 0, 0, 0, 5), datetime(1960, 1, 1)]),
    ("decimal(38, 3)", [Decimal("-1.125"), Decimal("123456789012345678901234567890.001")]),
    ("binary", [b"", b"\xff\x00"]),
    ("fixed[3]", [b"abc", b"abd"]),
    ("uuid", [bytes(16), bytes(range(16))]),
    ("timestamp_ns", [5, -7]),
]


@pytest.mark.parametrize(("kind", "values"), VALUES, ids=[kind for kind, _ in VALUES])
@pytest.mark.parametrize("spills", [False, True])
def test_keys_of_every_type_are_compared(
    tmp_path: Path, kind: str, values: list[Any], *, spills: bool
) -> None:
    files = Files(tmp_path, schema_of(("k", kind)))
    first, second = values
    file = files.data({"k": [first, None, second]})

    for wanted, at in ((second, 2), (None, 1)):
        inputs = [with_deletes(file, files.equality({"k": [wanted]}, [1]))]
        assert _deleted(files, inputs, SPILLING if spills else None) == {file.path: [at]}


def test_keys_are_compared_in_the_type_to_which_they_were_promoted(tmp_path: Path) -> None:
    old, new = schema_of(("k", "int"), ("f", "float")), schema_of(("k", "long"), ("f", "double"))
    files = Files(tmp_path, new)
    file = files.data({"k": [5, 6], "f": [0.5, 0.25]}, schema=old)

    inputs = [with_deletes(file, files.equality({"k": [6], "f": [0.25]}, [1, 2]))]
    assert _deleted(files, inputs) == {file.path: [1]}

    later = files.data({"k": [5, 1 << 40], "f": [0.5, 0.25]})
    inputs = [with_deletes(later, files.equality({"k": [5]}, [1], schema=old))]
    assert _deleted(files, inputs) == {later.path: [0]}


def test_column_that_a_file_lacks_has_its_default(tmp_path: Path) -> None:
    new = schema_of(("k", "int"), ("more", "int", {"initial-default": 7}), ("empty", "string"))
    files = Files(tmp_path, new)
    file = files.data({"k": [1, 2]}, schema=schema_of(("k", "int")))

    hit = with_deletes(file, files.equality({"more": [7], "k": [2]}, [1, 2]))
    assert _deleted(files, [hit]) == {file.path: [1]}
    nulls = with_deletes(file, files.equality({"empty": [None]}, [3]))
    assert _deleted(files, [nulls]) == {file.path: [0, 1]}


def test_field_of_a_struct_is_compared(tmp_path: Path) -> None:
    inner = [
        {"id": 3, "name": "x", "required": False, "type": "int"},
        {"id": 4, "name": "y", "required": False, "type": "string"},
    ]
    schema = schema_of(("k", "int"), ("s", {"type": "struct", "fields": inner}))
    files = Files(tmp_path, schema)
    values = [{"x": 1, "y": "a"}, None, {"x": None, "y": "b"}, {"x": 2, "y": "a"}]
    file = files.data({"k": range(4), "s": values})

    one = with_deletes(file, files.equality({"s": [{"x": 2, "y": None}]}, [3]))
    assert _deleted(files, [one]) == {file.path: [3]}
    nulls = with_deletes(file, files.equality({"s": [{"x": None, "y": "z"}]}, [3]))
    assert _deleted(files, [nulls]) == {file.path: [1, 2]}
    whole = with_deletes(file, files.equality({"s": [None, {"x": 1, "y": "a"}]}, [2]))
    assert _deleted(files, [whole]) == {file.path: [0, 1]}
    two = with_deletes(file, files.equality({"s": [{"x": 2, "y": "a"}, {"x": 2, "y": "b"}]}, [3, 4]))
    assert _deleted(files, [two]) == {file.path: [3]}


def test_list_as_a_key_is_refused(tmp_path: Path) -> None:
    kind = {"type": "list", "element-id": 2, "element": "int", "element-required": False}
    files = Files(tmp_path, schema_of(("l", kind)))
    file = files.data({"l": [[1]]})

    with pytest.raises(UnsupportedTable):
        _deleted(files, [with_deletes(file, files.equality({"l": [[1]]}, [1]))])


def test_column_that_no_schema_has_is_refused(files: Files) -> None:
    file = _data(files, [(1, "x", 0.5)], 1)
    delete = replace(files.equality({"a": [1]}, [1]), equality_ids=(77,))

    with pytest.raises(UnsupportedTable):
        _deleted(files, [with_deletes(file, delete)])


def test_dropped_column_is_compared(tmp_path: Path) -> None:
    old = schema_json(("id", "long"), ("code", "int"))
    schema = parse_schema({"schema-id": 1, "fields": old["fields"][:1]}, [old])
    files = Files(tmp_path, schema)
    file = files.data({"id": [1, 2], "code": [3, 4]}, schema=parse_schema(old))
    delete = files.equality({"code": [4]}, [2], schema=parse_schema(old))

    assert _deleted(files, [with_deletes(file, delete)]) == {file.path: [1]}


@pytest.mark.thorough
@pytest.mark.parametrize("budget", [Budget(), Budget(2 << 20)])
def test_many_deletes_of_many_rows(files: Files, budget: Budget) -> None:
    rows = 300_000
    data = [
        files.data(
            {
                "a": range(first, rows, 3),
                "b": [f"t{n}" for n in range(first, rows, 3)],
                "c": [0.5] * (rows // 3),
            }
        )
        for first in range(3)
    ]
    gone = range(0, rows, 7)
    delete = files.equality({"a": [*gone, *gone], "b": [f"t{n}" for n in (*gone, *gone)]}, [1, 2])

    found = _deleted(files, [with_deletes(file, delete) for file in data], budget)

    expected = {
        data[first].path: [at for at, number in enumerate(range(first, rows, 3)) if number % 7 == 0]
        for first in range(3)
    }
    assert found == expected


def test_row_groups_without_keys_between_the_bounds_are_not_read(files: Files) -> None:
    rows = {"a": range(100), "b": ["x"] * 100, "c": [0.5] * 100}
    file = files.data(pa.table(rows, schema=files.schema.file_schema()), row_group_size=10)
    delete = files.equality({"a": [42, 57]}, [1])
    data = bytearray(Path(file.path).read_bytes())
    data[4:100] = bytes(96)  # in the first row group
    Path(file.path).write_bytes(data)

    assert _deleted(files, [with_deletes(file, delete)]) == {file.path: [42, 57]}


@pytest.mark.parametrize(("keys", "is_read"), [([5, 25], False), ([5, 12, 25], True)])
def test_files_are_not_opened_that_have_no_deleted_key_between_their_bounds(
    files: Files, keys: list[int], is_read: bool
) -> None:
    delete = files.equality({"a": keys}, [1], sequence=2)
    gone = replace(files.data({"a": [10, 20], "b": ["", ""], "c": [0.0, 0.0]}), key_bounds={1: (10, 20)})
    Path(gone.path).unlink()
    if is_read:
        with pytest.raises(MissingFile):
            _deleted(files, [with_deletes(gone, delete)])
    else:
        assert _deleted(files, [with_deletes(gone, delete)]) == {}


@pytest.mark.parametrize(("keys", "is_read"), [([2, 28], False), ([2, 15, 28], True)])
def test_row_groups_are_not_read_that_have_no_deleted_key_between_their_bounds(
    files: Files, keys: list[int], is_read: bool
) -> None:
    """The row group in the middle is damaged: whoever reads it fails."""
    data = files.data({"a": [*range(30)], "b": [""] * 30, "c": [0.0] * 30}, row_group_size=10)
    chunk = pq.read_metadata(data.path).row_group(1).column(0)
    with Path(data.path).open("r+b") as file:
        file.seek(chunk.dictionary_page_offset or chunk.data_page_offset)
        file.write(b"\xff" * chunk.total_compressed_size)
    concerned = [with_deletes(data, files.equality({"a": keys}, [1], sequence=2))]
    if is_read:
        with pytest.raises(CorruptTable):
            _deleted(files, concerned)
    else:
        assert _deleted(files, concerned) == {data.path: keys}
