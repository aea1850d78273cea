"""Avro files of metadata are unpacked within bounds, and their rows become columns, whatever the format."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from fastavro import writer

from lithify.columns.avro_columns import Unsure, rows_as_columns
from lithify.columns.column_groups import Numbers
from lithify.columns.row_lanes import ByteBlock
from lithify.files.avro.metadata_files import field_names, unpack

SCHEMA: dict[str, Any] = {
    "type": "record",
    "name": "entry",
    "fields": [
        {"name": "status", "type": "int"},
        {
            "name": "file",
            "type": {"type": "record", "name": "f", "fields": [{"name": "path", "type": "string"}]},
        },
        {"name": "snapshot", "type": ["null", "long"]},
    ],
}
WANTED = pa.struct([("status", pa.int32()), ("snapshot", pa.int64()), ("added", pa.int64())])


def written(schema: dict[str, Any], rows: list[dict[str, Any]]) -> bytes:
    stream = BytesIO()
    writer(stream, schema, rows, "deflate")
    return stream.getvalue()


def entry(number: int) -> dict[str, Any]:
    return {"status": 1, "file": {"path": f"f{number}"}, "snapshot": number or None}


def anywhere(block: ByteBlock, _prefix: bytes) -> Numbers:
    return np.arange(block.size)


def test_rows_become_the_wanted_columns_wherever_they_start() -> None:
    unpacked = unpack(written(SCHEMA, [entry(number) for number in range(300)]), SCHEMA)
    found = rows_as_columns(unpacked.schema, [*unpacked.blocks()], WANTED, anywhere)
    assert found.to_pylist() == [{"status": 1, "snapshot": n or None, "added": None} for n in range(300)]


def test_rows_are_read_one_by_one_where_no_start_is_known() -> None:
    unpacked = unpack(written(SCHEMA, [entry(7)]), SCHEMA)
    with pytest.raises(Unsure):
        rows_as_columns(unpacked.schema, [*unpacked.blocks()], WANTED, lambda *_: np.arange(0))
    assert [*unpacked.records()] == [entry(7)]


def test_names_of_nested_fields_are_known() -> None:
    assert field_names(unpack(written(SCHEMA, []), SCHEMA).schema) == {"status", "file", "path", "snapshot"}


def test_field_of_another_type_is_refused() -> None:
    other = {"type": "record", "name": "entry", "fields": [{"name": "status", "type": "string"}]}
    with pytest.raises(ValueError, match="status is of type string"):
        unpack(written(other, [{"status": "added"}]), SCHEMA)


def test_deep_schema_is_refused() -> None:
    kind: Any = "int"
    for number in range(20):
        kind = {"type": "record", "name": f"r{number}", "fields": [{"name": "inner", "type": kind}]}
    with pytest.raises(ValueError, match="nested too deep"):
        unpack(written(kind, []), SCHEMA)


def test_fields_may_be_called_by_their_ids() -> None:
    fields = [{"name": "state", "type": "int", "field-id": 0}]
    other = {"type": "record", "name": "entry", "fields": fields}
    names = {0: "status"}
    unpacked = unpack(written(other, [{"state": 2}]), SCHEMA, lambda field: names[field["field-id"]])
    assert [*unpacked.records()] == [{"status": 2}]


def test_fixed_types_and_records_without_fields_are_read() -> None:
    fixed = {"type": "fixed", "name": "two", "size": 2}
    empty = {"type": "record", "name": "empty", "fields": []}
    fields = [
        {"name": "a", "type": fixed},
        {"name": "b", "type": ["null", "two"]},
        {"name": "c", "type": empty},
    ]
    schema = {"type": "record", "name": "entry", "fields": fields}
    row = {"a": b"xy", "b": b"zz", "c": {}}
    assert [*unpack(written(schema, [row]), SCHEMA).records()] == [row]


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ({"type": "fixed", "name": "f", "size": 0}, "without a size"),
        ({"type": "fixed", "name": "f", "size": 1 << 30}, "without a size"),
        ({"type": "array", "items": {"type": "record", "name": "e", "fields": []}}, "no bytes"),
    ],
)
def test_types_that_could_take_any_memory_are_refused(kind: Any, problem: str) -> None:
    schema = {"type": "record", "name": "entry", "fields": [{"name": "a", "type": kind}]}
    with pytest.raises(ValueError, match=problem):
        unpack(written(schema, []), SCHEMA)


def test_rows_without_fields_are_refused() -> None:
    with pytest.raises(ValueError, match="rows without fields"):
        unpack(written({"type": "record", "name": "entry", "fields": []}, []), SCHEMA)
