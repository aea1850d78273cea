"""Writes entries of a manifest again without decoding what stays as it is.

Called by the commit, which removes files from manifests, and by `merging`. Statistics and fields that this
release does not know are carried over byte by byte, so nothing of them is lost. Sequence numbers and ids that
entries inherit become their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from lithify.columns.column_groups import Flags, Numbers, integers, whole, with_columns
from lithify.files.avro.encoding import encoded
from lithify.files.avro.metadata_files import Unpacked, reading
from lithify.files.avro.record_columns import group_name
from lithify.formats.iceberg.manifests.entries import (
    DELETED,
    ENTRY_COLUMNS,
    EXISTING,
    FILE_COLUMNS,
    Entries,
)
from lithify.formats.iceberg.manifests.entry_columns import (
    EntryRequest,
    decode_entries,
    plain_file_fields,
    unpack_manifest,
)
from lithify.formats.iceberg.manifests.inheritance import inherited
from lithify.formats.iceberg.manifests.manifest_lists import ManifestFile
from lithify.formats.iceberg.manifests.schemas import (
    BLOCK_SIZE,
    DATA_FILE,
    PARTITION,
    file_fields,
)

_DROPPED = frozenset({BLOCK_SIZE})
"""Fields of version 1 that later ones do not have."""


def carried_entries(
    manifest: ManifestFile, content: bytes, version: int, snapshot_id: int, removed: Numbers
) -> Entries:
    """The entries of a committed manifest, to be written by another snapshot.

    Live files become existing ones, and those that are removed become deleted ones. Entries of files that
    earlier snapshots deleted are left out.

    Args:
        manifest: the manifest, as the list of a snapshot names it.
        content: its bytes.
        version: the table's format version.
        snapshot_id: the snapshot that writes them.
        removed: positions in the manifest of the files that this snapshot removes.

    Raises:
        CorruptTable: the manifest cannot be read.
    """
    return removing(committed_entries(manifest, content, version), snapshot_id, removed)


@dataclass(frozen=True, slots=True)
class CommittedEntries:
    """All entries of a committed manifest, and which of them are live."""

    entries: Entries
    is_live: Flags


def committed_entries(manifest: ManifestFile, content: bytes, version: int) -> CommittedEntries:
    """Decodes a committed manifest; see `carried_entries`."""
    with reading(manifest.path, "manifest"):
        return CommittedEntries(*_decoded(manifest, content, version))


def removing(committed: CommittedEntries, snapshot_id: int, removed: Numbers) -> Entries:
    """The entries that another snapshot writes; see `carried_entries`."""
    entries, rows = committed.entries, committed.entries.rows
    is_removed = np.zeros(len(rows), dtype=bool)
    is_removed[removed] = True
    status = np.where(is_removed, DELETED, EXISTING).astype(np.int32)
    snapshots = np.where(is_removed, snapshot_id, integers(rows["snapshot_id"]))
    return chosen_entries(_with_rows(entries, status=status, snapshot_id=snapshots), committed.is_live)


def _decoded(manifest: ManifestFile, content: bytes, version: int) -> tuple[Entries, Flags]:
    """All entries of a manifest, and which of them are live."""
    unpacked = unpack_manifest(content)
    _check_fields(unpacked)
    stored = plain_file_fields(unpacked)
    declared = [field["name"] for field in file_fields(version, ())]
    unknown_names = [name for name in stored if name not in declared and name not in _DROPPED]
    groups = (*_groups(stored, declared), *((name,) for name in unknown_names if name not in FILE_COLUMNS))
    decoded = decode_entries(unpacked, EntryRequest(carried=groups))
    rows = inherited(decoded, manifest)
    cells = {names: encoded(whole(rows[group_name(names)])) for names in groups}
    chosen = rows.select([*ENTRY_COLUMNS, *FILE_COLUMNS])
    unknown = [decoded.file_fields[name] for name in unknown_names]
    partitions = whole(rows[PARTITION])
    entries = Entries(chosen, partitions, decoded.partition_type, cells, unknown)
    return entries, integers(rows["status"]) != DELETED


def _check_fields(unpacked: Unpacked) -> None:
    """Checks that entries have no fields of their own that would be lost."""
    unknown = {each["name"] for each in unpacked.schema["fields"]} - {*ENTRY_COLUMNS, DATA_FILE}
    if unknown:
        raise ValueError(
            f"its entries have fields that this release does not know: {', '.join(sorted(unknown))}"
        )


def _groups(stored: Sequence[str], wanted: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Groups of known fields to carry over: adjacent ones that are adjacent in what is written, too."""
    following = dict(pairwise(wanted))
    typed = {*FILE_COLUMNS, PARTITION}
    groups: list[list[str]] = []
    last = None
    for name in stored:
        is_carried = name in wanted and name not in typed
        if is_carried and groups and last is not None and following.get(last) == name:
            groups[-1].append(name)
        elif is_carried:
            groups.append([name])
        last = name if is_carried else None
    return tuple(tuple(names) for names in groups)


def _with_rows(entries: Entries, **columns: Any) -> Entries:
    return replace(entries, rows=with_columns(entries.rows, **columns))


def chosen_entries(entries: Entries, chosen: Flags) -> Entries:
    """Some of the entries, in their order."""
    if chosen.all():
        return entries
    mask = pa.array(chosen)
    cells = {names: each.chosen(chosen) for names, each in entries.encoded.items()}
    return replace(
        entries, rows=entries.rows.filter(mask), partitions=entries.partitions.filter(mask), encoded=cells
    )
