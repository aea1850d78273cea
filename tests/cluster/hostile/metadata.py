"""Hostile metadata: what somebody who may write a table's folder puts there. Each of these is one table.

Used by `test_metadata`. A table is made by pypaimon, and then one file of it is replaced.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import cramjam
import fastavro
from pypaimon.manifest.schema.manifest_entry import MANIFEST_ENTRY_SCHEMA
from pypaimon.manifest.schema.manifest_file_meta import MANIFEST_FILE_META_SCHEMA

from lithify.files.avro.container import as_long, block, new_header
from lithify.files.avro.metadata_files import unpack
from support.small_tables import SmallTable

MIB = 1 << 20
_NULLS: dict[str, Any] = {"type": "array", "items": "null"}
_NOTHING: dict[str, Any] = {"type": "array", "items": {"type": "record", "name": "e", "fields": []}}
_FIXED: dict[str, Any] = {"type": "array", "items": {"type": "fixed", "name": "f", "size": 0}}


def newest_manifest(table: SmallTable) -> Path:
    """The manifest of the newest commit's files."""
    found = (path for path in (table.folder / "manifest").glob("manifest-*") if "list" not in path.name)
    return max(found, key=lambda path: path.stat().st_mtime_ns)


def _delta(table: SmallTable) -> Path:
    return table.folder / "manifest" / json.loads(_snapshot(table).read_text())["deltaManifestList"]


def _snapshot(table: SmallTable) -> Path:
    return table.folder / "snapshot" / f"snapshot-{table.commits}"


def _schema(table: SmallTable) -> Path:
    return table.folder / "schema" / "schema-0"


def _edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def _options(**changes: str) -> Callable[[SmallTable], None]:
    def damage(table: SmallTable) -> None:
        path = _schema(table)
        options = json.loads(path.read_text())["options"]
        _edit(path, options={**options, **changes})

    return damage


def _with_field(kind: Any, data: bytes, rows: int = 1) -> Callable[[SmallTable], None]:
    """A manifest with a first field of a type of its own, whose rows are what is left of `data`."""

    def damage(table: SmallTable) -> None:
        fields = [{"name": "z", "type": kind}, *MANIFEST_ENTRY_SCHEMA["fields"]]
        head, marker = new_header({**MANIFEST_ENTRY_SCHEMA, "fields": fields}, "null")
        newest_manifest(table).write_bytes(head + block(rows, data, marker))

    return damage


def _bomb(path: Callable[[SmallTable], Path], schema: Any, size: int) -> Callable[[SmallTable], None]:
    """Zeros that decompress to megabytes, as many rows as they can be."""

    def damage(table: SmallTable) -> None:
        head, marker = new_header(schema, "zstandard")
        rows = size // 40
        path(table).write_bytes(head + block(rows, bytes(cramjam.zstd.compress(bytes(size))), marker))

    return damage


def _text(path: Callable[[SmallTable], Path], text: str) -> Callable[[SmallTable], None]:
    def damage(table: SmallTable) -> None:
        path(table).write_text(text)

    return damage


def _pipe(table: SmallTable) -> None:
    _snapshot(table).unlink()
    os.mkfifo(_snapshot(table))


def _endless(table: SmallTable) -> None:
    _delta(table).unlink()
    _delta(table).symlink_to("/dev/zero")


def _large(path: Callable[[SmallTable], Path], size: int) -> Callable[[SmallTable], None]:
    """A file of that size, without the space: it is sparse."""

    def damage(table: SmallTable) -> None:
        os.truncate(path(table), size)

    return damage


def _many_entries(table: SmallTable) -> None:
    """A manifest list that says of a manifest that it has 2^40 files, which decides how work is divided."""
    from io import BytesIO

    import fastavro

    from lithify.files.avro.metadata_files import unpack

    content = _delta(table).read_bytes()
    records = list(unpack(content, MANIFEST_FILE_META_SCHEMA).records())
    for record in records:
        record["_NUM_ADDED_FILES"] = 1 << 39
    stream = BytesIO()
    fastavro.writer(stream, MANIFEST_FILE_META_SCHEMA, records, codec="null")
    _delta(table).write_bytes(stream.getvalue())


def _far_ahead(table: SmallTable) -> None:
    """A snapshot that says that it is another one."""
    _edit(_snapshot(table), id=1 << 60)


def _deep_type(depth: int) -> Callable[[SmallTable], None]:
    def damage(table: SmallTable) -> None:
        kind: Any = "INT"
        for _ in range(depth):
            kind = {"type": "ARRAY", "element": kind}
        found = json.loads(_schema(table).read_text())
        fields = [*found["fields"], {"id": 3, "name": "deep", "type": kind}]
        _edit(_schema(table), fields=fields, highestFieldId=3)

    return damage


def _wide(table: SmallTable) -> None:
    found = json.loads(_schema(table).read_text())
    more = [{"id": number, "name": f"c{number}", "type": "INT"} for number in range(3, 60_000)]
    _edit(_schema(table), fields=[*found["fields"], *more], highestFieldId=60_000)


def _keys_without_end(table: SmallTable) -> None:
    _edit(_schema(table), primaryKeys=["dt", "id"] * 100_000)


HOSTILE: dict[str, Callable[[SmallTable], None]] = {
    "an array of 2^40 nulls": _with_field(_NULLS, as_long(1 << 40)),
    "an array of 2^40 empty records": _with_field(_NOTHING, as_long(1 << 40)),
    "an array of 2^40 values of no bytes": _with_field(_FIXED, as_long(1 << 40)),
    "a block of 2^40 rows": _with_field("int", bytes(100), rows=1 << 40),
    "a manifest that inflates": _bomb(newest_manifest, MANIFEST_ENTRY_SCHEMA, 1000 * MIB),
    "a manifest of as many entries as it may have": _bomb(newest_manifest, MANIFEST_ENTRY_SCHEMA, 64 * MIB),
    "a manifest list of as many as it may have": _bomb(_delta, MANIFEST_FILE_META_SCHEMA, 64 * MIB),
    "a manifest list of 2^39 files": _many_entries,
    "a manifest of 100 GiB": _large(newest_manifest, 100 << 30),
    "a snapshot of 100 GiB": _large(_snapshot, 100 << 30),
    "a schema of 100 GiB": _large(_schema, 100 << 30),
    "a snapshot that is a pipe": _pipe,
    "a manifest list without end": _endless,
    "a snapshot of another number": _far_ahead,
    "a snapshot nested deep": _text(_snapshot, '{"id":' + "[" * 1_000_000),
    "a snapshot of lists": _text(_snapshot, '{"id":[' + "[]," * 2_000_000 + "1]}"),
    "a snapshot of as many lists as it may have": _text(_snapshot, '{"id":[' + "[]," * 300_000 + "1]}"),
    "a schema of as many lists as it may have": _text(_schema, '{"fields":[' + "[]," * 1_300_000 + "1]}"),
    "a snapshot in the year 146,138,512": lambda table: _edit(_snapshot(table), timeMillis=1 << 62),
    "a snapshot of a number without end": _text(_snapshot, '{"id": 1e400, "schemaId": ' + "9" * 4_000 + "}"),
    "a schema with half a character": lambda table: _edit(_schema(table), comment="\ud800"),
    "a schema with a deep type": _deep_type(400),
    "a schema with a type as deep as Python goes": _deep_type(60),
    "a schema of 60,000 columns": _wide,
    "a schema of 200,000 keys": _keys_without_end,
    "an option of 2^80 levels": _options(**{"num-levels": str(1 << 80)}),
    "an interval of 10^18 days": _options(**{"compaction.optimization-interval": f"{10**18} d"}),
    "a ratio beyond all numbers": _options(**{"compaction.small-file-ratio": "1e308"}),
    "a target of no bytes": _options(**{"target-file-size": "0 b"}),
    "a target of 2^90 bytes": _options(**{"target-file-size": f"{1 << 90} b"}),
    "a name of a megabyte": lambda table: _edit(_schema(table), comment="x" * MIB, primaryKeys=["k" * MIB]),
}
"""What is wrong with each table, and what makes it so."""


def burn_processor(table: SmallTable) -> None:
    """A table whose list names one manifest of many entries a hundred thousand times."""
    records = list(unpack(_delta(table).read_bytes(), MANIFEST_FILE_META_SCHEMA).records())
    stream = BytesIO()
    fastavro.writer(stream, MANIFEST_FILE_META_SCHEMA, records * 100_000, codec="deflate")
    _delta(table).write_bytes(stream.getvalue())
