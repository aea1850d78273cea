"""Merges manifests during a commit, so that their number stays small however many commits there are.

Called by `committer` in a try, with the manifests of the base snapshot. `manifest_plan` decides what is
merged; this module reads and writes it, one entry at a time. Besides a few compressed files, only the
identity of each deletion in the merged manifests is held in memory: at most as many as fit the threshold of a
full merge.

Entries are copied without interpretation: the content of a snapshot is the same before and after. Manifests
with unknown fields are left unchanged, because this release could not write them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, TypeAlias, cast

from pypaimon.manifest.schema.manifest_file_meta import ManifestFileMeta

from lithify.errors import CorruptTable
from lithify.formats.paimon.manifests.encoded_entries import UnknownFields
from lithify.formats.paimon.manifests.entries import DELETE, identity_of_record
from lithify.formats.paimon.manifests.manifest_files import ManifestFiles
from lithify.formats.paimon.manifests.manifest_lists import from_pypaimon
from lithify.formats.paimon.manifests.manifest_plan import (
    ColumnRange,
    full_is_due,
    may_hold,
    minor_groups,
    must_change,
    partition_ranges,
)
from lithify.formats.paimon.manifests.manifest_writer import ManifestWriter
from lithify.formats.paimon.manifests.manifests import Manifests
from lithify.formats.paimon.options.snapshot_options import ManifestOptions

Identity: TypeAlias = tuple[object, ...]
Record: TypeAlias = dict[str, Any]


class _Seen(Enum):
    """Which entries of a removed file have been seen in its group so far."""

    NEITHER = auto()
    ADDED = auto()
    REMOVED = auto()


@dataclass(frozen=True, slots=True)
class MergedManifests:
    """The manifests of a snapshot after merging.

    Attributes:
        before: their names.
        manifests: equivalent manifests; the order of old and new ones is significant.
        written: names of the new ones among them.
    """

    before: tuple[str, ...]
    manifests: tuple[ManifestFileMeta, ...]
    written: tuple[str, ...] = ()

    def rebased(self, listed: Sequence[ManifestFileMeta]) -> MergedManifests | None:
        """The same merge applied to a longer list; None if that list does not extend the merged one."""
        rest = listed[len(self.before) :]
        if self.before != tuple(meta.file_name for meta in listed[: len(self.before)]):
            return None
        return MergedManifests(
            tuple(meta.file_name for meta in listed), (*self.manifests, *rest), self.written
        )


class ManifestMerger:
    """Merges the manifests of one table.

    Args:
        manifests: reads them.
        files: writes and deletes them.
        options: when to merge.
    """

    def __init__(self, manifests: Manifests, files: ManifestFiles, options: ManifestOptions) -> None:
        self._manifests = manifests
        self._files = files
        self._types = manifests.partition_types
        self._options = options

    def merge(self, listed: Sequence[ManifestFileMeta], prefix: str) -> MergedManifests:
        """Merges what is due; new manifests are named by the prefix. Reads nothing if nothing is due.

        Raises:
            MissingFile: a manifest is gone; its snapshot may have expired concurrently.
            CorruptTable: a manifest cannot be read, or adds a file that an earlier one has removed.
            StorageError: the file system refuses or is full. Files of the prefix may remain then.
        """
        before = tuple(meta.file_name for meta in listed)
        writer = self._files.writer(prefix)
        try:
            result = self._full(listed, writer) if full_is_due(listed, self._options) else None
            if result is None:
                result = self._minor(listed, writer)
        except UnknownFields:
            self._files.delete(self._manifests.names_with(prefix))
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
        """Merges a group, dropping files that are both added and removed in it (`FileEntry.mergeEntries`)."""
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
        """Applies all deletions; None if fewer than two manifests are affected."""
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
        """The manifests that must change, and those that may contain a removed file."""
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
        """The identities of the files that the manifests remove."""
        for _, record in self._records([meta for meta in listed if meta.num_deleted_files > 0]):
            if record["_KIND"] == DELETE:
                yield identity_of_record(record)

    def _records(self, listed: Sequence[ManifestFileMeta]) -> Iterator[tuple[str, Record]]:
        """The entries of manifests, in their order, each with the name of its manifest."""
        for meta, content in self._manifests.contents(listed):
            for record in self._decoded(meta, content):
                yield meta.file_name, record

    def _decoded(self, meta: ManifestFileMeta, content: bytes) -> Iterator[Record]:
        return self._files.records(meta.file_name, content)
