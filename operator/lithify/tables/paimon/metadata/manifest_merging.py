"""Merges manifests while a commit is made, so that their list stays short however many commits there are.

Called by `commit` in a try, with the manifests of the snapshot that it builds on. `manifest_plan` says what
is merged; here it is read and written, an entry at a time. What is held besides a few compressed files is
the identity of each deletion in what is merged: as many as fit into the threshold of a full merge.

The entries themselves are not looked into: what a snapshot holds is the same before and after. Manifests with
fields that this release does not know are left as they are, because it could not write them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, TypeAlias, cast

from pypaimon.manifest.schema.manifest_file_meta import ManifestFileMeta

from lithify.errors import CorruptTable
from lithify.tables.files.types import ColumnType
from lithify.tables.paimon.metadata.entries import DELETE, identity_of_record
from lithify.tables.paimon.metadata.manifest_plan import (
    ColumnRange,
    full_is_due,
    may_hold,
    minor_groups,
    must_change,
    partition_ranges,
)
from lithify.tables.paimon.metadata.manifest_writer import ManifestWriter, from_pypaimon
from lithify.tables.paimon.metadata.manifests import Manifests, UnknownFields
from lithify.tables.paimon.options.table_options import ManifestOptions

Identity: TypeAlias = tuple[object, ...]
Record: TypeAlias = dict[str, Any]


class _Seen(Enum):
    """What of a file that a group removes has been met in it so far."""

    NEITHER = auto()
    ADDED = auto()
    REMOVED = auto()


@dataclass(frozen=True, slots=True)
class MergedManifests:
    """What became of the manifests of a snapshot.

    Attributes:
        before: their names.
        manifests: those that say the same; the order of old and new ones means something.
        written: names of the new ones among them.
    """

    before: tuple[str, ...]
    manifests: tuple[ManifestFileMeta, ...]
    written: tuple[str, ...] = ()

    def rebased(self, listed: Sequence[ManifestFileMeta]) -> MergedManifests | None:
        """The same merge in a longer list; None if the list does not go on from what was merged."""
        rest = listed[len(self.before) :]
        if self.before != tuple(meta.file_name for meta in listed[: len(self.before)]):
            return None
        return MergedManifests(
            tuple(meta.file_name for meta in listed), (*self.manifests, *rest), self.written
        )


class ManifestMerger:
    """Merges the manifests of one table.

    Args:
        manifests: reads and writes them.
        types: of the partition columns.
        options: when to merge.
    """

    def __init__(self, manifests: Manifests, types: Sequence[ColumnType], options: ManifestOptions) -> None:
        self._manifests = manifests
        self._types = types
        self._options = options

    def merge(self, listed: Sequence[ManifestFileMeta], prefix: str) -> MergedManifests:
        """Merges what is due; new manifests are named by the prefix. Reads nothing where nothing is due.

        Raises:
            MissingFile: a manifest is gone; perhaps its snapshot was expired meanwhile.
            CorruptTable: a manifest cannot be read, or adds a file that an earlier one has removed.
            StorageError: the file system refuses or is full. Files of the prefix may lie about then.
        """
        before = tuple(meta.file_name for meta in listed)
        writer = self._manifests.writer(prefix)
        try:
            result = self._full(listed, writer) if full_is_due(listed, self._options) else None
            if result is None:
                result = self._minor(listed, writer)
        except UnknownFields:
            self._manifests.delete(self._manifests.names_with(prefix))
            return MergedManifests(before, tuple(listed))
        old = set(before)
        written = tuple(meta.file_name for meta in result if meta.file_name not in old)
        return MergedManifests(before, tuple(result), written)

    def _minor(self, listed: Sequence[ManifestFileMeta], writer: ManifestWriter) -> list[ManifestFileMeta]:
        result: list[ManifestFileMeta] = []
        for group in minor_groups(listed, self._options):
            result += group if len(group) == 1 else self._joined(group, writer)
        return result

    def _joined(self, group: Sequence[ManifestFileMeta], writer: ManifestWriter) -> list[ManifestFileMeta]:
        """Writes a group as one, but for files that both come and go in it (`FileEntry.mergeEntries`)."""
        seen = dict.fromkeys(self._deletions(group), _Seen.NEITHER)
        for name, record in self._records(group):
            identity = identity_of_record(record)
            state = seen.get(identity)
            if record["_KIND"] == DELETE:
                if state is _Seen.NEITHER:
                    writer.write(record)
                seen[identity] = _Seen.REMOVED
            elif state is None:
                writer.write(record)
            elif state is _Seen.NEITHER:
                seen[identity] = _Seen.ADDED
            else:
                file = record["_FILE"]["_FILE_NAME"]
                raise CorruptTable(self._manifests.path(name), f"it adds {file}, which was added before")
        return writer.roll()

    def _full(
        self, listed: Sequence[ManifestFileMeta], writer: ManifestWriter
    ) -> list[ManifestFileMeta] | None:
        """Applies all deletions; None where fewer than two manifests are concerned."""
        removed = set(self._deletions(listed))
        concerned = self._concerned(listed, removed)
        if len(concerned) < 2:
            return None
        names = {meta.file_name for meta in concerned}
        result = [meta for meta in listed if meta.file_name not in names]
        for meta, content in self._manifests.contents(concerned):
            if must_change(meta, self._options) or self._has_any(meta, content, removed):
                for record in self._decoded(meta, content):
                    if record["_KIND"] != DELETE and identity_of_record(record) not in removed:
                        writer.write(record)
            else:
                result.append(meta)
        return [*result, *writer.roll()]

    def _concerned(
        self, listed: Sequence[ManifestFileMeta], removed: Set[Identity]
    ) -> list[ManifestFileMeta]:
        """The manifests that must change, and those that may hold a file that was removed."""
        partitions = {cast(bytes, identity[0]): 1 for identity in removed}
        ranges = partition_ranges(partitions, self._types)
        return [
            meta
            for meta in listed
            if must_change(meta, self._options) or (removed and self._may_hold(meta, ranges))
        ]

    def _may_hold(self, meta: ManifestFileMeta, ranges: Sequence[ColumnRange]) -> bool:
        entries = meta.num_added_files + meta.num_deleted_files
        return may_hold(entries, from_pypaimon(meta.partition_stats), ranges, self._types)

    def _has_any(self, meta: ManifestFileMeta, content: bytes, removed: Set[Identity]) -> bool:
        return any(identity_of_record(record) in removed for record in self._decoded(meta, content))

    def _deletions(self, listed: Sequence[ManifestFileMeta]) -> Iterator[Identity]:
        """What the manifests remove."""
        for _, record in self._records([meta for meta in listed if meta.num_deleted_files > 0]):
            if record["_KIND"] == DELETE:
                yield identity_of_record(record)

    def _records(self, listed: Sequence[ManifestFileMeta]) -> Iterator[tuple[str, Record]]:
        """The entries of manifests, in their order, each with the name of its manifest."""
        for meta, content in self._manifests.contents(listed):
            for record in self._decoded(meta, content):
                yield meta.file_name, record

    def _decoded(self, meta: ManifestFileMeta, content: bytes) -> Iterator[Record]:
        return self._manifests.records(meta.file_name, content)
