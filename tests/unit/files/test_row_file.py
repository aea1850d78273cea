"""Rows as the columns of a new file, which starts over in Parquet, is read back and is given up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lithify.files.options import FileOptions
from lithify.files.row_file import RowFile, as_fields
from lithify.files.types import ColumnType
from lithify.io.local_storage import local_storage
from support.cases import case
from support.data_files import target
from support.manifests import schema as table_schema

FIELD_ID = "PARQUET:field_id"
NANOS = pa.schema([("t", pa.timestamp("ns"))])
TYPES = {"t": ColumnType("TIMESTAMP", 9)}


def options(name: str) -> FileOptions:
    return target(Path(), table_schema([("t", "TIMESTAMP(9)")], []), {"file.format": name}).options


class Nanoseconds(RowFile):
    """A file with a column of timestamps; says which rows were added since it was opened."""

    def __init__(self, folder: Path, name: str) -> None:
        self.added: list[int] = []
        super().__init__(local_storage([str(folder)]), f"{folder}/f.{name}", options(name), TYPES)

    @property
    def path(self) -> Path:
        return Path(self._path)

    def write(self, *nanos: int) -> None:
        self._write(pa.table({"t": pa.array(nanos, pa.timestamp("ns"))}, schema=NANOS))

    def finish(self) -> int:
        return self._finish()

    def _in_file(self, rows: pa.Table) -> pa.Table:
        return as_fields(rows, ["t"], [*NANOS])

    def _opened(self) -> None:
        self.added = []

    def _added(self, in_file: pa.Table) -> None:
        self.added += in_file["t"].cast(pa.int64()).to_pylist()


GOOD, BAD = (5_000_000_000, 7_000_000_000), (-1,)
"""Nanoseconds that ORC can hold, and one that it cannot: it is in the second before 1970."""


def test_a_file_starts_over_in_parquet_if_its_format_cannot_hold_a_value(tmp_path: Path) -> None:
    file = Nanoseconds(tmp_path, "orc")
    file.write(*GOOD)
    first = file.path
    file.write(*BAD)
    size = file.finish()
    assert (first.name, file.path.name, first.exists()) == ("f.orc", "f.parquet", False)
    assert file.added == [*GOOD, *BAD]
    assert pq.read_table(file.path)["t"].cast(pa.int64()).to_pylist() == [*GOOD, *BAD]
    assert size == file.path.stat().st_size


def test_a_file_that_holds_all_values_stays_as_it_is(tmp_path: Path) -> None:
    file = Nanoseconds(tmp_path, "orc")
    file.write(*GOOD)
    assert file.path.name == "f.orc"
    assert file.added == [*GOOD]


@pytest.mark.parametrize("name", ["parquet", "orc"])
def test_rows_are_read_back_in_their_order(name: str, tmp_path: Path) -> None:
    file = Nanoseconds(tmp_path, name)
    file.write(GOOD[0])
    file.write(GOOD[1])
    found = [value for unit in file.read_back() for value in unit["t"].cast(pa.int64()).to_pylist()]
    assert found == [*GOOD]


def test_an_empty_file_has_nothing_to_read_back(tmp_path: Path) -> None:
    assert [*Nanoseconds(tmp_path, "parquet").read_back()] == []


def test_a_file_that_is_given_up_is_gone(tmp_path: Path) -> None:
    file = Nanoseconds(tmp_path, "parquet")
    file.write(*GOOD)
    file.abort()
    assert [*tmp_path.iterdir()] == []


def with_id(name: str, kind: pa.DataType, number: int) -> pa.Field:
    return pa.field(name, kind, metadata={FIELD_ID: str(number)})


STRUCT = pa.struct([with_id("metadata", pa.binary(), 2), with_id("typed_value", pa.int64(), 3)])
VARIANT = pa.struct([("value", pa.binary()), ("metadata", pa.binary())])
SHREDDED = pa.struct([("metadata", pa.binary()), ("value", pa.binary()), ("typed_value", pa.int64())])
CODED = pa.dictionary(pa.int32(), pa.string())


@pytest.mark.parametrize(
    ("field", "values", "expected"),
    [
        case(with_id("x", pa.string(), 1), pa.array(["a"]).dictionary_encode(), CODED, id="dictionary"),
        case(with_id("x", VARIANT, 1), pa.nulls(1, SHREDDED), SHREDDED, id="shredded variant"),
        case(
            with_id("x", STRUCT, 1),
            pa.nulls(1, pa.struct([("metadata", pa.binary()), ("typed_value", pa.int64())])),
            STRUCT,
            id="a struct whose fields only have the names of a variant's",
        ),
    ],
)
def test_columns_stay_as_they_come_and_others_keep_their_ids(
    field: pa.Field, values: Any, expected: pa.DataType
) -> None:
    found = as_fields(pa.table({"x": values}), ["x"], [field]).schema.field("x")
    assert found.type.equals(expected)
    assert found.metadata == field.metadata
    if pa.types.is_struct(expected):
        ids = [part.metadata for part in found.type]
        assert ids == [part.metadata for part in expected]
