"""Writes the metadata of a Paimon table as commits do, record by record; data files have only names.

Nothing of Lithify is used: what maintenance reads was written by somebody else.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import fastavro
from pypaimon.manifest.index_manifest_file import INDEX_MANIFEST_ENTRY_SCHEMA
from pypaimon.manifest.schema.manifest_entry import MANIFEST_ENTRY_SCHEMA
from pypaimon.manifest.schema.manifest_file_meta import MANIFEST_FILE_META_SCHEMA

from java.fuzz.maintenance.drawing import put, uuid_of

ADD, DELETE = 0, 1
APPENDED, COMPACTED = 0, 1
"""The sources of data files."""
_ENTRY = fastavro.parse_schema(MANIFEST_ENTRY_SCHEMA)
_META = fastavro.parse_schema(MANIFEST_FILE_META_SCHEMA)
_INDEX = fastavro.parse_schema(INDEX_MANIFEST_ENTRY_SCHEMA)


@cache
def text_row(value: str) -> bytes:
    """A BinaryRow of one text: of up to seven bytes within the row, of more behind it."""
    content, arity = value.encode(), (1).to_bytes(4, "big")
    if len(content) <= 7:
        return arity + bytes(8) + content.ljust(7, b"\0") + bytes([0x80 | len(content)])
    padded = content.ljust(-(-len(content) // 8) * 8, b"\0")
    return arity + bytes(8) + len(content).to_bytes(4, "little") + (16).to_bytes(4, "little") + padded


_NO_ROW = (0).to_bytes(4, "big") + bytes(8)
_NO_STATS = {"_MIN_VALUES": _NO_ROW, "_MAX_VALUES": _NO_ROW, "_NULL_COUNTS": []}
_KEY = (1).to_bytes(4, "big") + bytes(8) + bytes(8)


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data or changelog file.

    Attributes:
        day: its partition.
        bucket: its bucket.
        name: its name.
        level: its level.
        source: who wrote it.
        extra: names of the files beside it.
        millis: when it was written.
    """

    day: str
    bucket: int
    name: str
    level: int = 0
    source: int = APPENDED
    extra: tuple[str, ...] = ()
    millis: int = 0

    @property
    def folder(self) -> str:
        """Its folder, relative to the table's."""
        return f"dt={self.day}/bucket-{self.bucket}"

    @property
    def paths(self) -> list[str]:
        """Its path, and those of the files beside it."""
        return [f"{self.folder}/{name}" for name in (self.name, *self.extra)]

    def upgraded(self) -> DataFile:
        """The same file one level higher."""
        return replace(self, level=self.level + 1)


Entry = tuple[int, DataFile]


@dataclass(frozen=True, slots=True)
class Index:
    """An index file of a bucket: deletion vectors, or the keys of a dynamic bucket."""

    day: str
    bucket: int
    name: str
    kind: str = "DELETION_VECTORS"


@dataclass
class PaimonFiles:
    """The folder of a table, and what draws the names of new files in it."""

    folder: Path
    random: Random
    index_in_buckets: bool = False

    def name(self, stem: str, end: str = "") -> str:
        """A new name."""
        return f"{stem}-{uuid_of(self.random)}-0{end}"

    def data(self, entries: Iterable[DataFile]) -> None:
        """Creates data files."""
        for file in entries:
            for path in file.paths:
                put(self.folder / path)

    def manifest(self, entries: Sequence[Entry]) -> dict[str, Any]:
        """Writes a manifest; returns what lists say of it."""
        name = self.name("manifest")
        size = self._write(f"manifest/{name}", _ENTRY, [_record(*each) for each in entries])
        days = sorted(file.day for _, file in entries)
        kinds = [kind for kind, _ in entries]
        stats = {"_MIN_VALUES": text_row(days[0]), "_MAX_VALUES": text_row(days[-1]), "_NULL_COUNTS": [0]}
        return {
            "_VERSION": 2,
            "_FILE_NAME": name,
            "_FILE_SIZE": size,
            "_NUM_ADDED_FILES": kinds.count(ADD),
            "_NUM_DELETED_FILES": kinds.count(DELETE),
            "_PARTITION_STATS": stats,
            "_SCHEMA_ID": 0,
        }

    def manifest_list(self, metas: Sequence[Mapping[str, Any]]) -> str:
        """Writes a manifest list; returns its name."""
        name = self.name("manifest-list")
        self._write(f"manifest/{name}", _META, metas)
        return name

    def index_manifest(self, indexes: Iterable[Index]) -> str:
        """Writes an index manifest; returns its name."""
        name = self.name("index-manifest")
        records = [
            {
                "_VERSION": 1,
                "_KIND": ADD,
                "_PARTITION": text_row(each.day),
                "_BUCKET": each.bucket,
                "_INDEX_TYPE": each.kind,
                "_FILE_NAME": each.name,
                "_FILE_SIZE": 1,
                "_ROW_COUNT": 1,
            }
            for each in indexes
        ]
        self._write(f"manifest/{name}", _INDEX, records)
        return name

    def index_path(self, index: Index) -> str:
        """Where an index file lies, relative to the table's folder."""
        return (
            f"dt={index.day}/bucket-{index.bucket}/{index.name}"
            if self.index_in_buckets
            else f"index/{index.name}"
        )

    def holder(self, path: str, snapshot: Mapping[str, Any]) -> None:
        """Writes the file of a snapshot, tag or changelog."""
        put(self.folder / path, json.dumps(snapshot).encode())

    def _write(self, path: str, schema: Any, records: Iterable[Mapping[str, Any]]) -> int:
        stream = BytesIO()
        fastavro.writer(stream, schema, records)
        put(self.folder / path, stream.getvalue())
        return stream.tell()


def _record(kind: int, file: DataFile) -> dict[str, Any]:
    return {
        "_VERSION": 2,
        "_KIND": kind,
        "_PARTITION": text_row(file.day),
        "_BUCKET": file.bucket,
        "_TOTAL_BUCKETS": 2,
        "_FILE": {
            "_FILE_NAME": file.name,
            "_FILE_SIZE": 100,
            "_ROW_COUNT": 10,
            "_MIN_KEY": _KEY,
            "_MAX_KEY": _KEY,
            "_KEY_STATS": _NO_STATS,
            "_VALUE_STATS": _NO_STATS,
            "_MIN_SEQUENCE_NUMBER": 1,
            "_MAX_SEQUENCE_NUMBER": 2,
            "_SCHEMA_ID": 0,
            "_LEVEL": file.level,
            "_EXTRA_FILES": list(file.extra),
            "_CREATION_TIME": file.millis,
            "_DELETE_ROW_COUNT": 0,
            "_FILE_SOURCE": file.source,
        },
    }
