"""Avro data files of accidents and of attackers: their rows, or an error that names the file.

What decodes many of them runs in a process of bounded memory. Rows are never wrong where the format tells.
"""

from __future__ import annotations

import bz2
import json
import lzma
import os
import secrets
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cramjam
import pyarrow as pa
import pytest

from lithify.errors import CorruptTable
from lithify.files.avro.container import (
    MAGIC,
    as_long,
    block,
    new_header,
)
from lithify.files.avro.reader import AvroReader
from lithify.files.model import FileColumn, InputFile, Wanted
from lithify.files.types import AS_STORED
from lithify.formats.paimon.schema.type_texts import parse_type
from support.data_files import local_storage
from support.properties import examples

TESTS = Path(__file__).resolve().parents[2]
MEBIBYTES = 3000
"""Of address space, of which a Python with PyArrow and Polars takes half."""
PATIENCE = 300.0


@pytest.mark.thorough
def test_damaged_files_are_read_right_or_refused_by_name() -> None:
    seed = secrets.randbelow(1 << 40)
    command = [
        sys.executable,
        "-m",
        "unit.files.avro_damage",
        str(seed),
        str(20 * examples(150)),
        str(MEBIBYTES),
    ]

    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": str(TESTS), "POLARS_MAX_THREADS": "2"},
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )

    assert done.returncode == 0, f"from seed {seed} on: {done.stderr[-3000:]}"
    found = json.loads(done.stdout)
    assert found["surprises"] == [], f"from seed {seed} on"
    assert {"refused", "same", "other values"} >= set(found["outcomes"])
    assert found["mebibytes"] < 600
    assert found["longest"] < 30


def read(folder: Path, content: bytes, rows: int, kind: Any = "INT") -> list[Any]:
    """The values of the column `v` of a file."""
    path = folder / "data.avro"
    path.write_bytes(content)
    reader = AvroReader(local_storage(folder))
    file = InputFile(str(path), len(content), rows, 0, 0, is_inside=True)
    reader.overhead(file)
    wanted = Wanted([FileColumn("v", parse_type(kind))], None)
    return [value for batch in reader.batches(file, wanted) for value in batch.column(0).to_pylist()]


def record(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "record", "name": "r", "fields": list(fields)}


def named(kind: Any) -> list[dict[str, Any]]:
    """Fields of this type, and of the name of a fixed type."""
    first = {"type": "fixed", "name": "f", "namespace": "x", "size": 2}
    return [{"name": "v", "type": first}, {"name": "w", "type": kind}]


def doubling(depth: int) -> dict[str, Any]:
    """A record of which each type has two of the one before: 2**depth types by their names."""
    fields = [{"name": "v", "type": {"type": "fixed", "name": "n0", "size": 1}}]
    for number in range(1, depth):
        parts = [{"name": name, "type": f"n{number - 1}"} for name in "ab"]
        fields.append({"name": f"v{number}", "type": {**record(*parts), "name": f"n{number}"}})
    return record(*fields)


NAMES = [
    ("unknown name", record(*named("y.f"))),
    ("itself", record({"name": "v", "type": "int"}, {"name": "w", "type": ["null", "r"]})),
    ("exponential", doubling(40)),
    ("endless nesting", record({"name": "v", "type": {"type": "array", "items": "r"}})),
    ("no size", record({"name": "v", "type": {"type": "fixed", "name": "f"}})),
    ("no bytes", record({"name": "v", "type": {"type": "fixed", "name": "f", "size": 0}})),
    ("id that is no number", record({"name": "v", "type": "int", "field-id": "x"})),
    ("no digits", record({"name": "v", "type": {"type": "bytes", "logicalType": "decimal", "precision": 0}})),
    ("field that is none", {"type": "record", "name": "r", "fields": [7]}),
    ("union of three", record({"name": "v", "type": ["null", "int", "long"]})),
]


@pytest.mark.parametrize(("what", "schema"), NAMES, ids=[each[0] for each in NAMES])
def test_schemas_that_are_none_of_a_table_are_refused(tmp_path: Path, what: str, schema: Any) -> None:
    del what
    path = tmp_path / "data.avro"
    path.write_bytes(content(schema, 1, b"\0"))

    with pytest.raises(CorruptTable):
        AvroReader(local_storage(tmp_path)).schema(str(path))


def test_named_types_are_found_in_their_namespace(tmp_path: Path) -> None:
    path = tmp_path / "data.avro"
    path.write_bytes(content(record(*named("x.f")), 1, b"abcd"))
    reader = AvroReader(local_storage(tmp_path))

    wanted = Wanted([FileColumn(name, AS_STORED) for name in ("w", "v")], None)
    (batch,) = reader.batches(InputFile(str(path), path.stat().st_size, 1, 0, 0), wanted)

    assert batch.to_pylist() == [{"w": b"cd", "v": b"ab"}]
    assert reader.schema(str(path)).types == [pa.binary(2)] * 2


INTEGERS = record({"name": "v", "type": "int"})
NOTHING = {"type": "record", "name": "n", "fields": []}


def content(schema: Any, rows: int, data: bytes, codec: str = "null", packed: bytes | None = None) -> bytes:
    """A file of one block."""
    head, sync = new_header(schema, codec)
    return head + block(rows, data if packed is None else packed, sync)


def nested(depth: int) -> dict[str, Any]:
    kind: Any = "int"
    for _ in range(depth):
        kind = {"type": "array", "items": kind}
    return record({"name": "v", "type": "int"}, {"name": "x", "type": kind})


def header_of(schema: bytes, entries: int = 1) -> bytes:
    """A header with any bytes as its schema."""
    key = b"avro.schema"
    pair = as_long(len(key)) + key + as_long(len(schema)) + schema
    return MAGIC + as_long(entries) + pair * entries + as_long(0) + bytes(16)


HOSTILE: dict[str, Callable[[], bytes]] = {
    "fewer bytes than rows": lambda: content(INTEGERS, 3, b"\2\2"),
    "more bytes than rows": lambda: content(INTEGERS, 2, b"\2\2\2"),
    "a zero and more bytes behind the rows": lambda: content(INTEGERS, 2, b"\2\2\0\2"),
    "a second array behind the rows": lambda: content(INTEGERS, 2, b"\2\2\2\2"),
    "rows without bytes": lambda: content(NOTHING, 1 << 40, b""),
    "values without bytes": lambda: content(
        record({"name": "v", "type": "int"}, {"name": "x", "type": {"type": "array", "items": NOTHING}}),
        1,
        b"\2" + as_long(1 << 40) + b"\0",
    ),
    "a list of more values than bytes": lambda: content(
        record({"name": "v", "type": {"type": "array", "items": "int"}}), 1, as_long(1 << 60) + b"\2"
    ),
    "a text longer than the block": lambda: content(
        record({"name": "v", "type": "int"}, {"name": "x", "type": "string"}), 1, b"\2" + as_long(1 << 60)
    ),
    "a schema nested 200 deep": lambda: content(nested(200), 1, b"\2" + bytes(1)),
    "a schema nested 900 deep": lambda: content(nested(900), 1, b"\2" + bytes(1)),
    "JSON nested a million deep": lambda: header_of(b"[" * 1_000_000),
    "a schema that is no JSON": lambda: header_of(b"{"),
    "a schema that is no text": lambda: header_of(b"\xff\xfe\xfd"),
    "a schema that is a number": lambda: header_of(b"5"),
    "a schema that is a list": lambda: header_of(b"[1, 2]"),
    "fields that are a number": lambda: content({"type": "record", "fields": 7}, 1, b"\2"),
    "fields that are numbers": lambda: content({"type": "record", "fields": [7]}, 1, b"\2"),
    "a type that is null": lambda: content(record({"name": "v", "type": None}), 1, b"\2"),
    "a type that is a union of a union": lambda: content(
        record({"name": "v", "type": ["null", ["null", "int"]]}), 1, b"\2\2\2"
    ),
    "two fields of one name": lambda: content(
        record({"name": "v", "type": "int"}, {"name": "v", "type": "int"}), 1, b"\2\2"
    ),
    "a header of more bytes than one may have": lambda: header_of(b"1" * (1 << 20), entries=5),
    "a header of more entries than one may have": lambda: header_of(b"1", entries=5000),
    "a header with no end": lambda: MAGIC + as_long(1 << 60) + bytes(5 << 20),
    "an unknown codec": lambda: content(INTEGERS, 1, b"\2", "brotli"),
    "bytes instead of integers": lambda: content(record({"name": "v", "type": "bytes"}), 1, b"\2\2"),
    "floats instead of integers": lambda: content(record({"name": "v", "type": "float"}), 1, bytes(4)),
    "a list instead of integers": lambda: content(
        record({"name": "v", "type": {"type": "array", "items": "int"}}), 1, b"\2\2\0"
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_files_that_lie_are_refused_by_name(tmp_path: Path, name: str) -> None:
    kind = {"type": "ARRAY", "element": "INT"} if name == "a list of more values than bytes" else "INT"
    with pytest.raises(CorruptTable) as raised:
        read(tmp_path, HOSTILE[name](), 1, kind)
    assert raised.value.path == str(tmp_path / "data.avro")


def test_bytes_are_not_taken_for_a_list_of_numbers(tmp_path: Path) -> None:
    with pytest.raises(CorruptTable):
        read(
            tmp_path,
            content(record({"name": "v", "type": "bytes"}), 1, b"\4\2\2"),
            1,
            {"type": "ARRAY", "element": "INT"},
        )


def test_decimals_have_at_most_the_digits_of_their_column(tmp_path: Path) -> None:
    schema = record({"name": "v", "type": "bytes"})
    assert read(tmp_path, content(schema, 1, b"\4" + (9999).to_bytes(2)), 1, "DECIMAL(4, 0)") == [9999]
    with pytest.raises(CorruptTable):
        read(tmp_path, content(schema, 1, b"\4" + (10_000).to_bytes(2)), 1, "DECIMAL(4, 0)")


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "zstandard": lambda data: bytes(cramjam.zstd.compress(data)),
    "deflate": lambda data: zlib.compress(data, wbits=-zlib.MAX_WBITS),
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}


@pytest.mark.thorough
@pytest.mark.parametrize("codec", PACKED)
def test_blocks_that_inflate_without_bound_are_refused(tmp_path: Path, codec: str) -> None:
    """Only before they are in memory: 80 MB of zeros take a few kB."""
    data = bytes(80_000_000)
    with pytest.raises(CorruptTable, match="more than"):
        read(tmp_path, content(INTEGERS, len(data), b"", codec, PACKED[codec](data)), len(data))


@pytest.mark.parametrize("codec", [*PACKED, "snappy"])
@pytest.mark.parametrize(
    "packed", [b"", b"\0", b"\xff" * 40, bytes(40)], ids=["none", "zero", "ones", "zeros"]
)
def test_blocks_that_no_codec_has_written_are_refused(tmp_path: Path, codec: str, packed: bytes) -> None:
    with pytest.raises(CorruptTable):
        read(tmp_path, content(INTEGERS, 3, b"", codec, packed), 3)


@pytest.mark.parametrize("codec", PACKED)
def test_blocks_whose_compressed_bytes_are_cut_off_are_refused(tmp_path: Path, codec: str) -> None:
    packed = PACKED[codec](bytes([2, 4, 6]) * 100)
    with pytest.raises(CorruptTable):
        read(tmp_path, content(INTEGERS, 300, b"", codec, packed[: len(packed) // 2]), 300)


@pytest.mark.thorough
def test_a_single_row_may_be_large(tmp_path: Path) -> None:
    """It is a block of its own, however large."""
    value = os.urandom(1 << 20) * 65
    schema = record({"name": "v", "type": "bytes"})
    (found,) = read(tmp_path, content(schema, 1, as_long(len(value)) + value), 1, "BYTES")
    assert found == value
