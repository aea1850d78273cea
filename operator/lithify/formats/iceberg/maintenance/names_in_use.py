"""The names of all files that the metadata of an Iceberg table names, as columns.

Called by the removal of orphans: once for the plan, and again before files are deleted, for what was
committed since. Counts what Iceberg's `DeleteOrphanFilesSparkAction` counts: the live files of all
snapshots, their manifests and lists, statistics, and the metadata files of the log. A manifest is read once;
one that cannot be read ends the search, unless its snapshot has expired meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from lithify.columns.column_groups import whole
from lithify.engine.maintenance.spared_paths import names_of_paths
from lithify.errors import CorruptTable, MissingFile
from lithify.formats.iceberg.attempts.references import name_of, named_by_metadata
from lithify.formats.iceberg.manifests.manifest_lists import ManifestFile
from lithify.formats.iceberg.manifests.view import NO_STATISTICS, ManifestReader, live_entries
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.snapshots import Snapshot
from lithify.formats.iceberg.table.table import IcebergTable
from lithify.formats.protocol.model import SnapshotId


class NamesInUse:
    """The names that were read so far; implements `engine.maintenance.orphan_plan.NameReader`."""

    def __init__(self, table: IcebergTable) -> None:
        self._table = table
        self._reader = ManifestReader(table.storage)
        self._snapshots: set[int] = set()
        self._manifests: set[str] = set()
        self._oldest: SnapshotId | None = None

    @property
    def has_read(self) -> bool:
        """Whether anything was read."""
        return bool(self._snapshots)

    @property
    def oldest(self) -> SnapshotId | None:
        """The oldest snapshot when the metadata was first read; None without any."""
        return self._oldest

    def unread(self) -> Iterator[pa.Array]:
        """The names in the newest metadata, and those of snapshots that were not read before.

        Raises:
            MissingFile: a manifest or list is missing of a snapshot that exists.
            CorruptTable: one cannot be read.
            NotFound, CatalogUnavailable: see `IcebergTable.refresh`.
        """
        metadata = self._table.refresh()
        yield pa.array(map(name_of, named_by_metadata(metadata)), pa.string())
        for snapshot in metadata.snapshots.values():
            if snapshot.id not in self._snapshots:
                yield from self._names(snapshot)
                self._snapshots.add(snapshot.id)
        if self._oldest is None:
            self._oldest = _oldest(metadata)

    def _names(self, snapshot: Snapshot) -> Iterator[pa.Array]:
        try:
            yield from self._names_of(snapshot)
        except MissingFile:
            if snapshot.id in self._table.refresh().snapshots:
                raise

    def _names_of(self, snapshot: Snapshot) -> Iterator[pa.Array]:
        if snapshot.manifest_list is None:
            raise CorruptTable(self._table.metadata.file, f"snapshot {snapshot.id} has no manifest list")
        manifests = self._reader.manifests(snapshot.manifest_list)
        yield pa.array([name_of(each.path) for each in manifests], pa.string())
        yield from self._names_in([each for each in manifests if each.path not in self._manifests])

    def _names_in(self, manifests: Sequence[ManifestFile]) -> Iterator[pa.Array]:
        for manifest, content in self._reader.contents(manifests):
            rows = live_entries(manifest, content, NO_STATISTICS).rows
            yield names_of_paths(whole(rows["file_path"]))
            self._manifests.add(manifest.path)


def _oldest(metadata: TableMetadata) -> SnapshotId | None:
    first = min(metadata.snapshots.values(), key=lambda each: (each.sequence, each.millis), default=None)
    return None if first is None else first.snapshot_id
