"""The live files of a snapshot as columns, read from its manifests.

Called by planning, the commit and observers. Manifests never change, so a view of a newer snapshot takes over
what an earlier one has decoded and reads only the manifests that are new. Objects are made for single files
only (`file_objects`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import flagged, flags, integers, is_null, whole, with_columns
from lithify.errors import CorruptTable
from lithify.files.avro.metadata_files import reading
from lithify.formats.iceberg.manifests.entries import DELETED
from lithify.formats.iceberg.manifests.entry_columns import (
    DELETE_TYPES,
    ENTRY_TYPES,
    FILE_TYPES,
    EntryRequest,
    decode_entries,
    unpack_manifest,
)
from lithify.formats.iceberg.manifests.inheritance import inherited, with_referenced
from lithify.formats.iceberg.manifests.manifest_lists import ManifestContent, ManifestFile, read_list
from lithify.formats.iceberg.manifests.partition_types import PartitionType
from lithify.formats.iceberg.manifests.partitions import Partitions, number_partitions
from lithify.formats.iceberg.manifests.schemas import PARTITION, PATH_FIELD
from lithify.formats.iceberg.model import Content
from lithify.io.prefetching import prefetched

MOST_MANIFEST = 512 << 20
"""Bytes of a manifest or list; writers target 8 MiB."""

PUFFIN = "puffin"
"""The format of files with deletion vectors."""


class Files(Protocol):
    """Where manifests are read; `io.storage.Storage` is one."""

    def read_bytes(self, path: str, most: int) -> bytes:
        """Reads a file of at most `most` bytes."""


@dataclass(frozen=True, slots=True)
class LiveEntries:
    """The live entries of one manifest, with what they inherit from its list.

    Attributes:
        rows: a row per file: `file_path`, `file_format`, `content`, `record_count`, `file_size_in_bytes`,
            `sequence_number`, `file_sequence_number`, `snapshot_id`, `sort_order_id`, `first_row_id`,
            `status`, `position` in the manifest, and `partition`; what else deletes have; requested
            statistics.
        partition_type: the partition fields that the manifest declares.
        request: what was decoded.
    """

    rows: pa.Table
    partition_type: PartitionType
    request: EntryRequest


@dataclass(frozen=True, slots=True)
class View:
    """The live files of a snapshot.

    Attributes:
        manifests: the snapshot's manifests, in the order of its list.
        data: a row per data file: the columns of `LiveEntries`, with `partition` as a number, `spec_id`, and
            `manifest`, the index of its manifest.
        deletes: a row per delete file or vector, likewise; with `referenced`, the one data file from which
            it deletes, null if it may delete from several.
        partitions: the partitions by their numbers.
        entries: the entries by the path of their manifest, for the next view.
    """

    manifests: tuple[ManifestFile, ...]
    data: pa.Table
    deletes: pa.Table
    partitions: Partitions
    entries: Mapping[str, LiveEntries] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Statistics:
    """Field ids of the columns whose statistics a view has.

    Attributes:
        bounds: columns with bounds.
        counts: columns with numbers of values and nulls.
    """

    bounds: frozenset[int] = frozenset()
    counts: frozenset[int] = frozenset()


NO_STATISTICS = Statistics()


class ManifestReader:
    """Reads the manifests of one table.

    Args:
        files: where they are.
    """

    def __init__(self, files: Files) -> None:
        self._files = files

    def manifests(self, path: str | None) -> tuple[ManifestFile, ...]:
        """Reads a manifest list; None for the one of a branch without snapshots.

        Raises:
            MissingFile: it is gone; the snapshot may have expired concurrently.
            CorruptTable: it cannot be read.
        """
        if path is None:
            return ()
        with reading(path, "manifest list"):
            return read_list(self._files.read_bytes(path, MOST_MANIFEST))

    def content(self, manifest: ManifestFile) -> bytes:
        """The bytes of a manifest.

        Raises:
            MissingFile: it is gone; the snapshot may have expired concurrently.
        """
        with reading(manifest.path, "manifest"):
            return self._files.read_bytes(manifest.path, MOST_MANIFEST)

    def view(
        self,
        manifests: Sequence[ManifestFile],
        statistics: Statistics = NO_STATISTICS,
        previous: View | None = None,
    ) -> View:
        """The live files of some manifests.

        Args:
            manifests: the manifests of a snapshot.
            statistics: the columns whose statistics are needed.
            previous: a view whose decoded entries are taken over where they suffice.

        Raises:
            MissingFile: a manifest is gone; the snapshot may have expired concurrently.
            CorruptTable: a manifest cannot be read, or manifests do not fit together.
        """
        known = {} if previous is None else _reusable(previous, manifests, statistics)
        missing = [each for each in manifests if each.path not in known and each.may_have_live]
        for manifest, content in self.contents(missing):
            known[manifest.path] = live_entries(manifest, content, statistics)
        return make_view(manifests, known)

    def contents(self, manifests: Sequence[ManifestFile]) -> Iterator[tuple[ManifestFile, bytes]]:
        """The bytes of some manifests in their order; prefetches a few."""
        return prefetched(manifests, self.content)


def _reusable(
    view: View, manifests: Sequence[ManifestFile], statistics: Statistics
) -> dict[str, LiveEntries]:
    """The decoded entries of manifests that are still named as they were, with all requested statistics."""
    wanted = {request(content, statistics) for content in ManifestContent}
    unchanged = frozenset(view.manifests)
    return {
        each.path: view.entries[each.path]
        for each in manifests
        if each in unchanged and each.path in view.entries and view.entries[each.path].request in wanted
    }


def request(content: ManifestContent, statistics: Statistics) -> EntryRequest:
    """What to decode of a manifest: of deletes always the bounds of the paths from which they delete."""
    if content is ManifestContent.DATA:
        return EntryRequest(bounds=statistics.bounds, counts=statistics.counts)
    return EntryRequest(is_delete=True, bounds=statistics.bounds | {PATH_FIELD}, counts=statistics.counts)


def live_entries(manifest: ManifestFile, content: bytes, statistics: Statistics) -> LiveEntries:
    """Decodes the live entries of a manifest.

    Raises:
        CorruptTable: it cannot be read.
    """
    entries = all_entries(manifest, content, statistics)
    with reading(manifest.path, "manifest"):
        live = flagged(entries.rows, integers(entries.rows["status"]) != DELETED)
        _check_content(live, manifest.content)
    return replace(entries, rows=live)


def all_entries(manifest: ManifestFile, content: bytes, statistics: Statistics) -> LiveEntries:
    """Decodes the entries of a manifest, those of removed files included.

    Raises:
        CorruptTable: it cannot be read.
    """
    wanted = request(manifest.content, statistics)
    with reading(manifest.path, "manifest"):
        decoded = decode_entries(unpack_manifest(content), wanted)
        rows = with_columns(inherited(decoded, manifest), position=np.arange(len(decoded.rows)))
        if manifest.content is ManifestContent.DELETES:
            rows = with_referenced(rows)
    return LiveEntries(rows, decoded.partition_type, wanted)


def _check_content(live: pa.Table, content: ManifestContent) -> None:
    """Checks that files are of the manifest's kind, and that vectors say whose they are and where."""
    is_delete = integers(live["content"]) != Content.DATA
    if (is_delete != (content is ManifestContent.DELETES)).any():
        raise ValueError("a file in it is not of its kind")
    if content is ManifestContent.DATA:
        return
    is_vector = flags(pc.equal(live["file_format"], PUFFIN))
    for name in ("referenced", "content_offset", "content_size_in_bytes"):
        if (is_vector & is_null(live[name])).any():
            raise ValueError(f"a deletion vector in it has no {name}")


def make_view(manifests: Sequence[ManifestFile], entries: Mapping[str, LiveEntries]) -> View:
    """Joins the entries of manifests and numbers their partitions.

    Raises:
        CorruptTable: manifests of one spec have different partition fields.
    """
    present = [(place, each) for place, each in enumerate(manifests) if each.path in entries]
    stored = [
        (each.spec_id, entries[each.path].partition_type, whole(entries[each.path].rows[PARTITION]))
        for _, each in present
    ]
    try:
        numbers, partitions = number_partitions(stored)
    except ValueError as error:
        raise CorruptTable(manifests[0].path, f"its partitions do not fit together ({error})") from error
    parts: dict[ManifestContent, list[pa.Table]] = {content: [] for content in ManifestContent}
    for (place, manifest), codes in zip(present, numbers, strict=True):
        rows = entries[manifest.path].rows
        parts[manifest.content].append(
            with_columns(
                rows,
                partition=codes,
                spec_id=np.full(len(rows), manifest.spec_id, dtype=np.int32),
                manifest=np.full(len(rows), place, dtype=np.int32),
            )
        )
    data, deletes = (_table(parts[content], content) for content in ManifestContent)
    return View(tuple(manifests), data, deletes, partitions, dict(entries))


def _table(parts: Sequence[pa.Table], content: ManifestContent) -> pa.Table:
    """The rows of all manifests; an empty table has the usual columns."""
    return pa.concat_tables(parts) if parts else empty_rows(content)


def empty_rows(content: ManifestContent) -> pa.Table:
    """The columns of a view without rows."""
    own = {"position": pa.int64(), PARTITION: pa.int64(), "spec_id": pa.int32(), "manifest": pa.int32()}
    columns = {**ENTRY_TYPES, **FILE_TYPES, **own}
    if content is ManifestContent.DELETES:
        columns = {**columns, **DELETE_TYPES, "referenced": pa.string()}
    return pa.schema([*columns.items()]).empty_table()
