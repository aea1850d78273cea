"""Files that only expired snapshots reach: data, deletes, manifests, their lists, and statistics, as columns.

Called by `snapshot_expiry` when it plans, and again after the commit. Follows `ReachableFileCleanup` of Java,
for any history. Only reads. Every manifest is read once: those of expired snapshots alone for the files that
may go, then those that stay, one at a time. So memory depends on the files that the manifests name which go,
and not on the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import Numbers, flagged, flags, integers, with_columns
from lithify.errors import CorruptTable, MissingFile
from lithify.formats.iceberg.maintenance.named_files import (
    TEXT,
    FileKind,
    are_below,
    digests_in,
    digests_of,
    distinct,
    files_of,
    is_in_sorted,
    keys_of,
)
from lithify.formats.iceberg.maintenance.next_metadata import statistics_paths
from lithify.formats.iceberg.manifests.manifest_lists import ManifestFile
from lithify.formats.iceberg.manifests.view import NO_STATISTICS, ManifestReader, live_entries
from lithify.formats.iceberg.model import Content
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.snapshots import Snapshot
from lithify.io.prefetching import prefetched


@dataclass(frozen=True, slots=True)
class DoomedFiles:
    """The files that may be deleted.

    Attributes:
        files: a row per file: `path`, `kind`, `digest`, and `is_own`, whether it lies in the table's folders.
        read: the manifests and lists of staying snapshots whose files are left out, by path.
    """

    files: pa.Table
    read: frozenset[str] = frozenset()

    @property
    def own(self) -> pa.Table:
        """Those in the table's folders. Others may belong to other tables, from which they were added."""
        return flagged(self.files, flags(self.files["is_own"]))

    @property
    def counts(self) -> Numbers:
        """The number of those in the table's folders, by `FileKind`."""
        return np.bincount(integers(self.own["kind"]), minlength=len(FileKind))

    @property
    def foreign(self) -> int:
        """The number of those that lie elsewhere."""
        return len(self.files) - int(flags(self.files["is_own"]).sum())


NONE = DoomedFiles(with_columns(distinct([]), is_own=pa.array([], pa.bool_())))
"""No files."""


def doomed_files(
    reader: ManifestReader,
    roots: Sequence[str],
    before: Sequence[TableMetadata],
    after: Sequence[TableMetadata],
    more: Iterable[pa.Table] = (),
) -> DoomedFiles:
    """The files that tables reach before an expiry, and not after it: tables that name files of each other.

    Files of expired snapshots that are gone already are passed over: what they named is unknown, and stays.

    Args:
        reader: reads manifests.
        roots: the tables' folders.
        before: the metadata of each table.
        after: the metadata of each without the expired snapshots.
        more: further files that may be deleted if nothing names them.

    Raises:
        MissingFile: a file of a snapshot that stays is gone.
        CorruptTable: metadata cannot be read.
    """
    gone = [
        each
        for had, has in zip(before, after, strict=True)
        for number, each in had.snapshots.items()
        if number not in has.snapshots
    ]
    more = tuple(more)
    if not gone and not more:
        return NONE
    leaving = _named_in_lists(reader, gone, may_be_missing=True)
    kept = _named_in_lists(reader, [each for has in after for each in has.snapshots.values()])
    alone = [each for path, each in leaving.manifests.items() if path not in kept.manifests]
    statistics = [path for had in before for path in statistics_paths(had.json)]
    others = (
        files_of([each.path for each in alone], FileKind.MANIFEST),
        files_of([*leaving.lists], FileKind.LIST),
        files_of(statistics, FileKind.STATISTICS),
    )
    files = distinct(chain(_live_files(reader, alone, may_be_missing=True), others, more))
    doomed = _unless_named(reader, DoomedFiles(files), after, kept)
    left = doomed.files.combine_chunks()
    is_own = are_below(left["path"], roots) & ~_is_never_deleted(left)
    return replace(doomed, files=with_columns(left, is_own=is_own))


def still_doomed(
    reader: ManifestReader, doomed: DoomedFiles, metadata: Sequence[TableMetadata]
) -> DoomedFiles:
    """Those of some files that newer metadata does not reach either; reads only what is new in it.

    Raises:
        MissingFile: a file of a snapshot is gone.
        CorruptTable: metadata cannot be read.
    """
    if not len(doomed.files):
        return doomed
    every = (each for has in metadata for each in has.snapshots.values())
    new = [each for each in every if each.manifest_list not in doomed.read]
    found = _named_in_lists(reader, new)
    fresh = {path: each for path, each in found.manifests.items() if path not in doomed.read}
    return _unless_named(reader, doomed, metadata, replace(found, manifests=fresh))


def _unless_named(
    reader: ManifestReader, doomed: DoomedFiles, metadata: Sequence[TableMetadata], kept: _ListedManifests
) -> DoomedFiles:
    """The files that neither metadata nor some manifests name, nor are among these."""
    named = pa.array([*chain(*map(_named_by, metadata)), *kept.lists, *kept.manifests], TEXT)
    live = (entries["path"] for entries in _live_files(reader, [*kept.manifests.values()]))
    files = _unless_among(doomed.files, chain([named], live))
    return DoomedFiles(files, doomed.read | {*kept.lists, *kept.manifests})


def _unless_among(files: pa.Table, kept: Iterable[Any]) -> pa.Table:
    """The files that are not among some paths, which come in parts."""
    digests = digests_in(files)
    order = np.argsort(digests)
    known, stays = digests[order], np.zeros(len(files), dtype=bool)
    left = len(files)
    for paths in kept if left else ():
        found = np.unique(digests_of(paths))
        found = found[is_in_sorted(found, known)]
        stays[order[np.searchsorted(known, found)]] = True
        left -= len(found)
        if left <= 0 and stays.all():
            break
    return flagged(files, ~stays)


def _live_files(
    reader: ManifestReader, manifests: Sequence[ManifestFile], *, may_be_missing: bool = False
) -> Iterator[pa.Table]:
    """The live files of each of some manifests."""
    read = _missing_as_none(reader.content) if may_be_missing else reader.content
    for manifest, content in prefetched([each for each in manifests if each.may_have_live], read):
        if content is not None:
            rows = live_entries(manifest, content, NO_STATISTICS).rows
            kinds = np.where(integers(rows["content"]) == Content.DATA, FileKind.DATA, FileKind.DELETES)
            yield with_columns(files_of(rows["file_path"], FileKind.DATA), kind=kinds.astype(np.int8))


@dataclass(frozen=True, slots=True)
class _ListedManifests:
    """Manifest lists, and the manifests in them by path."""

    lists: tuple[str, ...]
    manifests: Mapping[str, ManifestFile]


def _named_in_lists(
    reader: ManifestReader, snapshots: Iterable[Snapshot], *, may_be_missing: bool = False
) -> _ListedManifests:
    """The lists of some snapshots, and all manifests in them."""
    paths = [*dict.fromkeys(map(_list_of, snapshots))]
    read = _missing_as_none(reader.manifests) if may_be_missing else reader.manifests
    found: dict[str, ManifestFile] = {}
    for _, manifests in prefetched(paths, read):
        for each in manifests or ():
            if each.path not in found:  # without what is said of its partitions: there may be very many
                found[each.path] = replace(each, partitions=None)
    return _ListedManifests(tuple(paths), found)


def _list_of(snapshot: Snapshot) -> str:
    if snapshot.manifest_list is None:
        raise CorruptTable(f"snapshot {snapshot.id}", "it has no manifest list")
    return snapshot.manifest_list


def _named_by(metadata: TableMetadata) -> Iterator[str]:
    """The files that metadata names itself, but for the lists of its snapshots."""
    yield metadata.file
    yield from (str(each.get("metadata-file")) for each in metadata.json.get("metadata-log") or ())
    yield from statistics_paths(metadata.json)


def _is_never_deleted(files: pa.Table) -> Any:
    """Mask of the files whose names say that they are none of those which an expiry deletes."""
    pattern = r"\.metadata\.json|/version-hint\.text$|/lithify/(?:attempts|expiry)/"
    return flags(pc.match_substring_regex(keys_of(files["path"]), pattern))


def _missing_as_none(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def reads(item: Any) -> Any:
        try:
            return read(item)
        except MissingFile:
            return None

    return reads
