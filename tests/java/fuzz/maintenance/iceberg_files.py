"""Writes manifests and their lists of Iceberg tables, record by record; data files have only names.

The schemas of the files are Lithify's, which are compared with Java's elsewhere; the records are made here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import fastavro

from java.fuzz.maintenance.drawing import put, uuid_of
from java.fuzz.maintenance.iceberg_reach import content_of, local
from lithify.formats.iceberg.manifests.partition_types import PartitionField
from lithify.formats.iceberg.manifests.schemas import entry_schema, list_schema
from support.iceberg_manifests import Entry, entry

EXISTING, ADDED, DELETED = 0, 1, 2
"""The status of entries."""
DATA, POSITIONS, EQUALITY = 0, 1, 2
"""What the files of entries are."""


@cache
def _entry_schema(version: int, is_partitioned: bool) -> Any:
    fields = (PartitionField(1000, "name", "string"),) if is_partitioned else ()
    return fastavro.parse_schema(entry_schema(version, fields))


@cache
def _list_schema(version: int) -> Any:
    return fastavro.parse_schema(list_schema(version))


@dataclass
class IcebergFiles:
    """The folder of a table, and what draws the names of new files in it."""

    folder: Path
    random: Random
    version: int
    is_partitioned: bool
    contents: dict[str, int] = field(default_factory=dict)
    """What the files at some paths are."""

    def path(self, folder: str, start: str, end: str) -> str:
        """A new path, in one of the spellings that writers use."""
        scheme = self.random.choice(["file://", "file://", "file:", ""])
        return f"{scheme}{self.folder}/{folder}/{start}{uuid_of(self.random)}{end}"

    def data(self, content: int = DATA, path: str | None = None, **fields: Any) -> Entry:
        """Creates a data or delete file; returns its entry, which a commit adds."""
        kind = str(fields.get("file_format", "PARQUET"))
        path = path or self.path("data", "00000-0-", f"-00001.{kind.lower()}")
        put(Path(local(path)))
        self.contents[local(path)] = content
        name = self.random.choice(["a", "b", "c"])
        partition = {"name": name} if self.is_partitioned else {}
        return entry(status=ADDED, content=content, file_path=path, **{"partition": partition, **fields})

    def manifest(
        self, entries: Sequence[Entry], snapshot: int, sequence: int, first_row: int
    ) -> dict[str, Any]:
        """Writes a manifest of data files or of delete files; returns what lists say of it."""
        is_deletes = content_of(entries[0]) != DATA
        path = self.path("metadata", "", "-m0.avro")
        properties = {
            "partition-spec-id": "0",
            "format-version": str(self.version),
            "content": "deletes" if is_deletes else "data",
        }
        stream = BytesIO()
        fastavro.writer(
            stream, _entry_schema(self.version, self.is_partitioned), entries, "deflate", metadata=properties
        )
        put(Path(local(path)), stream.getvalue())
        counts = [sum(each["status"] == status for each in entries) for status in (ADDED, EXISTING, DELETED)]
        known = [each["sequence_number"] for each in entries if each.get("sequence_number") is not None]
        return {
            "manifest_path": path,
            "manifest_length": stream.tell(),
            "partition_spec_id": 0,
            "content": int(is_deletes),
            "sequence_number": sequence,
            "min_sequence_number": min([sequence, *known]),
            "added_snapshot_id": snapshot,
            **dict(
                zip(("added_files_count", "existing_files_count", "deleted_files_count"), counts, strict=True)
            ),
            **dict(
                zip(
                    ("added_rows_count", "existing_rows_count", "deleted_rows_count"),
                    (10 * count for count in counts),
                    strict=True,
                )
            ),
            "first_row_id": None if is_deletes or self.version < 3 else first_row,
        }

    def manifest_list(self, manifests: Iterable[Mapping[str, Any]], snapshot: int) -> str:
        """Writes a manifest list; returns its path."""
        path = self.path("metadata", f"snap-{snapshot}-1-", ".avro")
        stream = BytesIO()
        fastavro.writer(stream, _list_schema(self.version), manifests, "deflate")
        put(Path(local(path)), stream.getvalue())
        return path
