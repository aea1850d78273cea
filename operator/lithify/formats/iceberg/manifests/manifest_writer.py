"""Encodes manifests, column by column.

Called by the commit and by `merging`. The entries come from `carrying` and `new_entries`; the fields, their
ids and their order are those of Iceberg's own writer (`schemas`). Does no I/O.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa

from lithify.columns.column_groups import integers, is_null, whole
from lithify.files.avro.container import new_header, packed_blocks
from lithify.files.avro.encoding import Bytes, Cells, Lengths, encode_rows
from lithify.formats.iceberg.manifests.entries import ADDED, DELETED, EXISTING, FILE_COLUMNS, Entries
from lithify.formats.iceberg.manifests.manifest_lists import (
    BLOCK_BYTES,
    CODEC,
    FieldSummary,
    ManifestContent,
    ManifestFile,
    packed,
)
from lithify.formats.iceberg.manifests.partition_types import PartitionType, partition_struct, promoted
from lithify.formats.iceberg.manifests.schemas import (
    BLOCK_SIZE,
    PARTITION,
    entry_fields,
    entry_schema,
    file_fields,
)
from lithify.formats.iceberg.manifests.summaries import partition_summaries

_BLOCK_SIZE_VALUE = 64 << 20
"""What Iceberg writes into the meaningless field of version 1."""
_ROWS_AT_ONCE = 8_192
_NULL = 0
"""The byte of a union's branch for null."""


@dataclass(frozen=True, slots=True)
class ManifestOwner:
    """What a manifest says of itself.

    Attributes:
        version: the format's version.
        snapshot_id: the snapshot that writes it.
        content: data files or deletes.
        spec_id: the partition spec of its entries.
        partition: the fields of that spec.
        spec: the fields of the spec as JSON, as table metadata has them.
        schema: the table's schema as JSON.
    """

    version: int
    snapshot_id: int
    content: ManifestContent
    spec_id: int
    partition: PartitionType
    spec: str
    schema: str


@dataclass(frozen=True, slots=True)
class EncodedManifest:
    """A manifest that was encoded.

    Attributes:
        content: the bytes of the file.
        file: how a manifest list names it.
    """

    content: bytes
    file: ManifestFile


def encode_manifest(parts: Sequence[Entries], owner: ManifestOwner, path: str) -> EncodedManifest:
    """Encodes a manifest.

    Args:
        parts: its entries, in their order.
        owner: what it says of itself.
        path: where it will be.

    Raises:
        ValueError: the entries cannot be in one manifest.
    """
    unknown = _unknown_fields(parts)
    schema = entry_schema(owner.version, owner.partition, unknown)
    header, sync = new_header(schema, CODEC, manifest_properties(owner))
    chunks = [header]
    for part in chain.from_iterable(map(_portions, parts)):
        rows, lengths = _encoded(part, owner, unknown)
        chunks += packed_blocks(rows, lengths, BLOCK_BYTES, packed, sync)
    content = b"".join(chunks)
    return EncodedManifest(content, describe_manifest(parts, owner, path, len(content)))


def manifest_properties(owner: ManifestOwner) -> dict[str, str]:
    """The entries of a manifest's header."""
    properties = {
        "schema": owner.schema,
        "partition-spec": owner.spec,
        "partition-spec-id": str(owner.spec_id),
        "format-version": str(owner.version),
    }
    if owner.version > 1:
        properties["content"] = "data" if owner.content is ManifestContent.DATA else "deletes"
    return properties


def encode_entries(entries: Entries, owner: ManifestOwner) -> Cells:
    """The bytes of entries without unknown fields, as they are in a manifest.

    Raises:
        ValueError: the entries cannot be in such a manifest.
    """
    portions = [_encoded(portion, owner, ()) for portion in _portions(entries)]
    if not portions:
        return Cells(np.empty(0, dtype=np.uint8), np.empty(0, dtype=np.int64))
    return Cells(*(np.concatenate(each) for each in zip(*portions, strict=True)))


def _unknown_fields(parts: Sequence[Entries]) -> list[Mapping[str, Any]]:
    """The fields that this release does not know, of all parts.

    Raises:
        ValueError: parts declare one of them differently, or a required one is missing in a part.
    """
    found: dict[str, Mapping[str, Any]] = {}
    for part in parts:
        for field in part.unknown:
            if found.setdefault(field["name"], field) != field:
                raise ValueError(f"manifests declare the field {field['name']} differently")
    for part in parts:
        names = {field["name"] for field in part.unknown}
        for name, field in found.items():
            if name not in names and not isinstance(field["type"], list):
                raise ValueError(f"a manifest lacks the required field {name}")
    return list(found.values())


def _portions(entries: Entries) -> Iterator[Entries]:
    """The entries in portions: the offsets of all bytes of a portion take eight times as much memory."""
    ends = {names: np.concatenate([[0], np.cumsum(each.lengths)]) for names, each in entries.encoded.items()}
    for start in range(0, len(entries), _ROWS_AT_ONCE):
        stop = min(start + _ROWS_AT_ONCE, len(entries))
        cells = {
            names: Cells(each.data[ends[names][start] : ends[names][stop]], each.lengths[start:stop])
            for names, each in entries.encoded.items()
        }
        rows, partitions = (each.slice(start, stop - start) for each in (entries.rows, entries.partitions))
        yield replace(entries, rows=rows, partitions=partitions, encoded=cells)


def _encoded(
    entries: Entries, owner: ManifestOwner, unknown: Sequence[Mapping[str, Any]]
) -> tuple[Bytes, Lengths]:
    """The bytes of some entries."""
    file = Cells(*encode_rows(*_file_columns(entries, owner, unknown)))
    fields = entry_fields(owner.version)
    columns = [whole(entries.rows[field["name"]]) for field in fields]
    return encode_rows([*columns, file], [*map(_is_nullable, fields), False])


def _is_nullable(field: Mapping[str, Any]) -> bool:
    return isinstance(field["type"], list)


def _file_columns(
    entries: Entries, owner: ManifestOwner, unknown: Sequence[Mapping[str, Any]]
) -> tuple[list[pa.Array | Cells], list[bool]]:
    """The columns of files in the order of the schema, and which of them are nullable."""
    fields = [*file_fields(owner.version, owner.partition), *unknown]
    groups = {names[0]: names for names in entries.encoded}
    columns: list[pa.Array | Cells] = []
    nullable: list[bool] = []
    inside: set[str] = set()
    for field in fields:
        name = field["name"]
        if name in groups:
            inside.update(groups[name])
            columns.append(entries.encoded[groups[name]])
        elif name in inside:
            continue
        else:
            columns.append(_column(entries, owner, field))
        nullable.append(_is_nullable(field))
    return columns, nullable


def _column(entries: Entries, owner: ManifestOwner, field: Mapping[str, Any]) -> pa.Array | Cells:
    """A column that is not encoded yet, or that entries do not have."""
    name, count = field["name"], len(entries)
    if name == PARTITION:
        return stored_partitions(entries, owner.partition)
    if name in FILE_COLUMNS:
        return whole(entries.rows[name])
    if name == BLOCK_SIZE:
        return pa.array(np.full(count, _BLOCK_SIZE_VALUE))
    if not _is_nullable(field):
        raise ValueError(f"entries have no {name}")
    return Cells(np.full(count, _NULL, dtype=np.uint8), np.ones(count, dtype=np.int64))


def stored_partitions(entries: Entries, partition: PartitionType) -> pa.StructArray:
    """Partitions with the types of the manifest that is written."""
    wanted = partition_struct(partition)
    if entries.partitions.type == wanted:
        return entries.partitions
    if [field.id for field in entries.partition_type] != [field.id for field in partition]:
        raise ValueError("entries are of another partition spec")
    columns = [
        promoted(column, field.type)
        for column, field in zip(entries.partitions.flatten(), partition, strict=True)
    ]
    return pa.StructArray.from_arrays(columns, fields=list(wanted))


def describe_manifest(parts: Sequence[Entries], owner: ManifestOwner, path: str, length: int) -> ManifestFile:
    """How a manifest list names a manifest with some entries."""
    rows = pa.concat_tables([part.rows for part in parts])
    status, counts = integers(rows["status"]), integers(rows["record_count"])
    files, totals = (
        np.bincount(status, weights, minlength=3).astype(np.int64).tolist() for weights in (None, counts)
    )
    sequences = integers(rows["sequence_number"])
    own = sequences[~is_null(rows["sequence_number"]) & (status != DELETED)]
    partitions = pa.chunked_array(
        [stored_partitions(part, owner.partition) for part in parts], partition_struct(owner.partition)
    )
    summaries: tuple[FieldSummary, ...] = partition_summaries(whole(partitions), owner.partition)
    is_first = owner.version == 1
    return ManifestFile(
        path=path,
        length=length,
        spec_id=owner.spec_id,
        content=owner.content,
        sequence=0 if is_first else None,
        min_sequence=0 if is_first else (int(own.min()) if len(own) else None),
        snapshot_id=owner.snapshot_id,
        added_files=files[ADDED],
        existing_files=files[EXISTING],
        deleted_files=files[DELETED],
        added_rows=totals[ADDED],
        existing_rows=totals[EXISTING],
        deleted_rows=totals[DELETED],
        partitions=summaries,
    )
