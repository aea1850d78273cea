"""Manifest lists: the manifests of a snapshot, with what the list says of each.

Called by `view` and by the commit. A list has a row per manifest, so rows become objects here, unlike entries
of manifests. Does no I/O.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

import pyarrow as pa

from lithify.files.avro.container import compress, new_header, packed_blocks
from lithify.files.avro.encoding import encode_rows
from lithify.files.avro.metadata_files import unpack
from lithify.formats.iceberg.manifests.schemas import KNOWN_LIST, canonical_name, list_schema

CODEC = "deflate"
DEFLATE_LEVEL = 1
"""Manifests are small and read once per snapshot; higher levels take several times as long for 10 %."""
BLOCK_BYTES = 64_000
"""Bytes that Java's library collects in a block."""
_MOST_MANIFESTS = 1 << 20
_MOST_TEXT = 1 << 12


class ManifestContent(IntEnum):
    """What the entries of a manifest are, by Iceberg's numbers."""

    DATA = 0
    DELETES = 1


@dataclass(frozen=True, slots=True)
class FieldSummary:
    """The values of one partition field in a manifest.

    Attributes:
        contains_null: whether one is null.
        contains_nan: whether one is NaN; None if its writer did not say.
        lower: least value, in single-value serialization; None if there is none.
        upper: greatest value, likewise.
    """

    contains_null: bool
    contains_nan: bool | None = None
    lower: bytes | None = None
    upper: bytes | None = None


@dataclass(frozen=True, slots=True)
class ManifestFile:
    """A manifest, as a manifest list names it.

    Attributes:
        path: location of the file.
        length: its bytes.
        spec_id: the partition spec of its entries.
        content: whether they are data files or delete files.
        sequence: sequence number of the commit that added it; None if that is the commit being made.
        min_sequence: lowest data sequence number of its live files; None as before.
        snapshot_id: the snapshot that added it.
        added_files: entries with status ADDED; None if its writer (of version 1) did not count.
        existing_files: entries with status EXISTING.
        deleted_files: entries with status DELETED.
        added_rows: rows of added files.
        existing_rows: rows of existing files.
        deleted_rows: rows of deleted files.
        partitions: summary of each partition field; None if its writer made none.
        key_metadata: how it is encrypted; None if it is not.
        first_row_id: the `_row_id` from which rows of its files without one are numbered; None in tables
            before version 3, for deletes, and for a manifest to which the list being written gives one.
    """

    path: str
    length: int
    spec_id: int
    content: ManifestContent
    sequence: int | None
    min_sequence: int | None
    snapshot_id: int
    added_files: int | None
    existing_files: int | None
    deleted_files: int | None
    added_rows: int | None
    existing_rows: int | None
    deleted_rows: int | None
    partitions: tuple[FieldSummary, ...] | None = None
    key_metadata: bytes | None = None
    first_row_id: int | None = None

    @property
    def may_have_live(self) -> bool:
        """Whether it may have entries that are not deleted."""
        return self.added_files != 0 or self.existing_files != 0

    @property
    def is_counted(self) -> bool:
        """Whether its writer counted files and rows, as all versions but 1 demand."""
        files = (self.added_files, self.existing_files, self.deleted_files)
        return None not in (*files, self.added_rows, self.existing_rows, self.deleted_rows)


def read_list(content: bytes) -> tuple[ManifestFile, ...]:
    """Reads a manifest list of any version, in its order.

    Args:
        content: the bytes of the file.

    Raises:
        ValueError, LookupError, EOFError: it is no manifest list, or a damaged one.
    """
    found = []
    for record in unpack(content, KNOWN_LIST, canonical_name).records():
        found.append(_manifest(record))
        if len(found) > _MOST_MANIFESTS:
            raise ValueError(f"it has more than {_MOST_MANIFESTS} manifests")
    return tuple(found)


def _manifest(record: Mapping[str, Any]) -> ManifestFile:
    path = _text(record["manifest_path"])
    if not path or len(path) > _MOST_TEXT:
        raise ValueError("a manifest in it has no path")
    summaries = record.get("partitions")
    return ManifestFile(
        path=path,
        length=record["manifest_length"],
        spec_id=record["partition_spec_id"],
        content=ManifestContent(record.get("content") or 0),
        sequence=record.get("sequence_number") or 0,
        min_sequence=record.get("min_sequence_number") or 0,
        snapshot_id=record["added_snapshot_id"],
        added_files=record.get("added_files_count"),
        existing_files=record.get("existing_files_count"),
        deleted_files=record.get("deleted_files_count"),
        added_rows=record.get("added_rows_count"),
        existing_rows=record.get("existing_rows_count"),
        deleted_rows=record.get("deleted_rows_count"),
        partitions=None if summaries is None else tuple(map(_summary, summaries)),
        key_metadata=record.get("key_metadata"),
        first_row_id=record.get("first_row_id"),
    )


def _text(stored: Any) -> str:
    return stored.decode() if isinstance(stored, bytes) else str(stored)


def _summary(record: Mapping[str, Any]) -> FieldSummary:
    nan = record.get("contains_nan")
    bounds = record.get("lower_bound"), record.get("upper_bound")
    return FieldSummary(bool(record["contains_null"]), None if nan is None else bool(nan), *bounds)


@dataclass(frozen=True, slots=True)
class ListOwner:
    """The snapshot whose manifest list is written.

    Attributes:
        version: the format's version.
        snapshot_id: its id.
        parent_id: id of the snapshot before it; None for the first one.
        sequence: its sequence number; 0 in version 1.
        first_row_id: the table's `next-row-id` before the commit; only in version 3.
    """

    version: int
    snapshot_id: int
    parent_id: int | None
    sequence: int = 0
    first_row_id: int | None = None


@dataclass(frozen=True, slots=True)
class WrittenList:
    """A manifest list that was encoded.

    Attributes:
        content: the bytes of the file.
        manifests: the manifests as the list names them, with what the commit gave them.
        next_row_id: the table's `next-row-id` after the commit; None before version 3.
    """

    content: bytes
    manifests: tuple[ManifestFile, ...]
    next_row_id: int | None


def write_list(manifests: Sequence[ManifestFile], owner: ListOwner) -> WrittenList:
    """Encodes a manifest list.

    Manifests without sequence numbers get those of the commit. In version 3, manifests of data files without
    a first row id get one, and room for the rows of all their files, as Java gives them.

    Raises:
        ValueError: a manifest cannot be in a list of that version.
    """
    given, next_row_id = _with_row_ids([_committed(each, owner) for each in manifests], owner)
    schema = list_schema(owner.version)
    columns = _columns(given)
    names = [field["name"] for field in schema["fields"]]
    nullable = [isinstance(field["type"], list) for field in schema["fields"]]
    rows, lengths = encode_rows([columns[name] for name in names], nullable)
    header, sync = new_header(schema, CODEC, _properties(owner))
    blocks = packed_blocks(rows, lengths, BLOCK_BYTES, packed, sync)
    return WrittenList(b"".join([header, *blocks]), tuple(given), next_row_id)


def packed(data: bytes) -> bytes:
    """A compressed block of metadata."""
    return compress(CODEC, data, 0, DEFLATE_LEVEL)


def _committed(manifest: ManifestFile, owner: ListOwner) -> ManifestFile:
    if manifest.content is ManifestContent.DELETES and owner.version == 1:
        raise ValueError(f"{manifest.path} has deletes, which tables of version 1 do not have")
    if manifest.sequence is not None and manifest.min_sequence is not None:
        return manifest
    if manifest.snapshot_id != owner.snapshot_id:
        raise ValueError(f"{manifest.path} is of another snapshot and has no sequence number")
    sequence = owner.sequence if manifest.sequence is None else manifest.sequence
    least = owner.sequence if manifest.min_sequence is None else manifest.min_sequence
    return replace(manifest, sequence=sequence, min_sequence=least)


def _with_row_ids(manifests: list[ManifestFile], owner: ListOwner) -> tuple[list[ManifestFile], int | None]:
    if owner.version < 3:
        return manifests, None
    if owner.first_row_id is None:
        raise ValueError("a snapshot of version 3 has a first row id")
    given, following = [], owner.first_row_id
    for manifest in manifests:
        if manifest.content is ManifestContent.DATA and manifest.first_row_id is None:
            given.append(replace(manifest, first_row_id=following))
            following += (manifest.existing_rows or 0) + (manifest.added_rows or 0)
        else:
            given.append(manifest)
    return given, following


def _properties(owner: ListOwner) -> dict[str, str]:
    parent = "null" if owner.parent_id is None else str(owner.parent_id)
    properties = {"snapshot-id": str(owner.snapshot_id), "parent-snapshot-id": parent}
    if owner.version > 1:
        properties["sequence-number"] = str(owner.sequence)
    if owner.version > 2:
        properties["first-row-id"] = str(owner.first_row_id)
    return {**properties, "format-version": str(owner.version)}


_SUMMARY_TYPE = pa.struct(
    [
        pa.field("contains_null", pa.bool_(), nullable=False),
        pa.field("contains_nan", pa.bool_()),
        pa.field("lower_bound", pa.binary()),
        pa.field("upper_bound", pa.binary()),
    ]
)
_SUMMARIES_TYPE = pa.list_(pa.field("element", _SUMMARY_TYPE, nullable=False))


def _columns(manifests: Sequence[ManifestFile]) -> dict[str, pa.Array]:
    """The fields of a list, by name."""

    def column(name: str, kind: pa.DataType) -> pa.Array:
        return pa.array([getattr(each, name) for each in manifests], kind)

    counts = {
        f"{status}_{what}_count": column(f"{status}_{what}", kind)
        for what, kind in (("files", pa.int32()), ("rows", pa.int64()))
        for status in ("added", "existing", "deleted")
    }
    summaries = [None if each.partitions is None else [*map(_stored, each.partitions)] for each in manifests]
    return {
        "manifest_path": column("path", pa.string()),
        "manifest_length": column("length", pa.int64()),
        "partition_spec_id": column("spec_id", pa.int32()),
        "content": column("content", pa.int32()),
        "sequence_number": column("sequence", pa.int64()),
        "min_sequence_number": column("min_sequence", pa.int64()),
        "added_snapshot_id": column("snapshot_id", pa.int64()),
        **counts,
        "partitions": pa.array(summaries, _SUMMARIES_TYPE),
        "key_metadata": column("key_metadata", pa.binary()),
        "first_row_id": column("first_row_id", pa.int64()),
    }


def _stored(summary: FieldSummary) -> dict[str, Any]:
    return {
        "contains_null": summary.contains_null,
        "contains_nan": summary.contains_nan,
        "lower_bound": summary.lower,
        "upper_bound": summary.upper,
    }
