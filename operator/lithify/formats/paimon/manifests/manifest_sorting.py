"""Merges manifests into few full ones, sorted by partition and bucket, without the entries of removed files.

Called by the maintenance of manifests in each try of its commit. Unlike the merge that commits do
(`manifest_merging`), it reads each manifest by columns, first where its files lie, then its entries, portion
by portion in the new order; so memory depends on the size of a portion, and a few numbers for each entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pypaimon.manifest.schema.manifest_entry import MANIFEST_ENTRY_SCHEMA
from pypaimon.manifest.schema.manifest_file_meta import ManifestFileMeta

from lithify.columns.column_groups import (
    Flags,
    Numbers,
    flagged,
    integers,
    listed,
    taken,
    whole,
    with_columns,
)
from lithify.engine.pack.sorted_portions import sorted_portions
from lithify.files.avro.metadata_files import reading, unpack
from lithify.files.types import ColumnType
from lithify.formats.paimon.manifests.encoded_entries import encoded_entries
from lithify.formats.paimon.manifests.entries import ADD
from lithify.formats.paimon.manifests.live_entries import IDENTITY, without
from lithify.formats.paimon.manifests.manifest_files import ManifestFiles
from lithify.formats.paimon.manifests.manifest_plan import partition_order
from lithify.formats.paimon.manifests.manifests import Manifests

_PLACE = "place"
_BUCKET_BITS = 32
_FIRST_BUCKET = -2
"""The least number of a bucket: that of postponed rows."""


@dataclass(frozen=True, slots=True)
class _Source:
    """The entries of one manifest that stay.

    Attributes:
        manifest: the manifest.
        rows: their places in it.
        partitions: the number of each one's partition.
        buckets: their buckets.
        size: bytes of all entries, not compressed.
    """

    manifest: ManifestFileMeta
    rows: Numbers
    partitions: Numbers
    buckets: Numbers
    size: int


class ManifestSorter:
    """Sorts manifests of one table.

    Args:
        manifests: reads them.
        files: writes them.
        memory: bytes of entries that are held at a time, as they are encoded.
        beat: called after each manifest that was read: a merge may take minutes.
    """

    def __init__(
        self,
        manifests: Manifests,
        files: ManifestFiles,
        memory: int,
        beat: Callable[[], None] = lambda: None,
    ) -> None:
        self._manifests = manifests
        self._files = files
        self._memory = memory
        self._beat = beat

    def sort(self, chosen: Sequence[ManifestFileMeta], prefix: str) -> list[ManifestFileMeta]:
        """Writes the entries that stay as new manifests, named by the prefix.

        Args:
            chosen: manifests in the order of their list, with all of the snapshot that remove files.
            prefix: the prefix.

        Raises:
            MissingFile: a manifest is gone; its snapshot may have expired concurrently.
            CorruptTable: a manifest cannot be read.
            UnknownFields: a manifest is of a later format.
            StorageError: the file system refuses or is full. Files of the prefix may remain then.
        """
        partitions = _Partitions(self._manifests.partition_types)
        removed = removed_files(self._manifests, chosen)
        sources = [*self._sources(chosen, removed, partitions)]
        ranks = partitions.ranks()
        keys = [(ranks[each.partitions] << _BUCKET_BITS) + each.buckets - _FIRST_BUCKET for each in sources]
        writer = self._files.sorted_writer(prefix)
        for portion in sorted_portions(keys, [each.size for each in sources], self._memory):
            frames = [self._entries(sources[source], rows) for source, rows in portion.rows]
            writer.write(taken(pa.concat_tables(frames), portion.order))
        return writer.close()

    def _sources(
        self, chosen: Sequence[ManifestFileMeta], removed: pa.Table, partitions: _Partitions
    ) -> Iterator[_Source]:
        for meta, content in self._manifests.contents(chosen):
            self._beat()
            with reading(self._manifests.path(meta.file_name), "manifest"):
                size = sum(len(data) for _, data in unpack(content, MANIFEST_ENTRY_SCHEMA).blocks())
            frame = self._manifests.columns_in(meta.file_name, content)
            rows = staying(frame, removed)
            places = taken(frame.select(["partition", "bucket"]), rows)
            numbers = partitions.numbers(whole(places["partition"]))
            share = len(rows) / max(1, len(frame))
            yield _Source(meta, rows, numbers, integers(places["bucket"]).astype(np.int64), int(size * share))

    def _entries(self, source: _Source, rows: Numbers) -> pa.Table:
        self._beat()
        name = source.manifest.file_name
        content = self._manifests.content(name)
        with reading(self._manifests.path(name), "manifest"):
            return taken(encoded_entries(content), source.rows[rows])


class _Partitions:
    """Numbers the partitions of entries."""

    def __init__(self, types: Sequence[ColumnType]) -> None:
        self._types = types
        self._known = pa.array([], pa.binary())

    def numbers(self, partitions: pa.Array) -> Numbers:
        """The number of the partition of each entry."""
        found = pc.unique(partitions)
        new = found.filter(pc.invert(pc.is_in(found, value_set=self._known)))
        self._known = pa.concat_arrays([self._known, new])
        return integers(pc.index_in(partitions, value_set=self._known)).astype(np.int64)

    def ranks(self) -> Numbers:
        """The rank of each number in the order of the partitions' values."""
        order = partition_order(listed(self._known), self._types)
        ranks = np.empty(len(order), dtype=np.int64)
        ranks[order] = np.arange(len(order))
        return ranks


def removed_files(manifests: Manifests, listed_manifests: Sequence[ManifestFileMeta]) -> pa.Table:
    """The identities of the files that manifests remove."""
    deleting = [meta for meta in listed_manifests if meta.num_deleted_files > 0]
    parts = [
        flagged(frame.select(IDENTITY), integers(frame["kind"]) != ADD)
        for frame in manifests.frames(deleting)
    ]
    return pa.concat_tables(parts)


def staying(frame: pa.Table, removed: pa.Table) -> Numbers:
    """The rows of a manifest that add a file which is not removed."""
    is_added: Flags = integers(frame["kind"]) == ADD
    placed = with_columns(frame.select(IDENTITY), **{_PLACE: np.arange(len(frame))})
    return integers(without(flagged(placed, is_added), removed)[_PLACE])
