"""Finds references to files of an attempt: in the snapshots of all branches and tags, and in metadata files.

Called by `remains` before it deletes. Files are compared by their names, which are unique, because a table
may spell its folders in several ways. Thorough rather than fast: every manifest that may name a file is read
before that is reported as unreferenced, and one that cannot be read is an error.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import listed, whole
from lithify.engine.maintenance.spared_paths import names_of_paths
from lithify.errors import CorruptTable, MissingFile
from lithify.formats.iceberg.manifests.manifest_lists import ManifestFile
from lithify.formats.iceberg.manifests.view import ManifestReader
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.snapshots import Snapshot
from lithify.formats.iceberg.table.table import IcebergTable

_AT_ONCE = 32
"""Manifests that are decoded at a time, to bound memory."""


def unreferenced(table: IcebergTable, names: Collection[str], since: int) -> set[str]:
    """Those of some data and metadata files, by name, that no snapshot and no metadata file references.

    Args:
        table: the table.
        names: the files; none is older than the snapshot with the sequence number `since`.
        since: manifests up to this sequence number cannot name them, except in version 1.

    Raises:
        CorruptTable: metadata that should be readable is not, so references are unknown.
    """
    metadata = table.refresh()
    left = set(names) - {name_of(path) for path in named_by_metadata(metadata)}
    reader, seen = ManifestReader(table.storage), set[str]()
    for snapshot in sorted(metadata.snapshots.values(), key=lambda each: each.millis, reverse=True):
        if not left:
            break
        manifests = [each for each in _manifests(table, reader, snapshot) if each.path not in seen]
        seen.update(each.path for each in manifests)
        left -= {name_of(each.path) for each in manifests}
        may_name = [each for each in manifests if not each.sequence or each.sequence > since]
        for found in _named_in(reader, may_name, left):
            left -= found
    return left


def name_of(path: str) -> str:
    """The name of a file, without its folder."""
    return path.rpartition("/")[2]


def named_by_metadata(metadata: TableMetadata) -> set[str]:
    """The files that table metadata names itself."""
    log = {str(entry.get("metadata-file")) for entry in metadata.json.get("metadata-log") or ()}
    lists = {each.manifest_list for each in metadata.snapshots.values() if each.manifest_list}
    statistics = {
        str(entry.get("statistics-path"))
        for name in ("statistics", "partition-statistics")
        for entry in metadata.json.get(name) or ()
    }
    return {metadata.file, *log, *lists, *statistics}


def _manifests(table: IcebergTable, reader: ManifestReader, snapshot: Snapshot) -> Sequence[ManifestFile]:
    if snapshot.manifest_list is None:
        raise CorruptTable(table.metadata.file, f"snapshot {snapshot.id} has no manifest list")
    try:
        return reader.manifests(snapshot.manifest_list)
    except MissingFile:
        if snapshot.id in table.refresh().snapshots:
            raise
        return ()  # it expired while being read


def _named_in(
    reader: ManifestReader, manifests: Sequence[ManifestFile], wanted: Collection[str]
) -> Iterator[set[str]]:
    """The wanted files that are live in some manifests."""
    names = pa.array(list(wanted), pa.string())
    for start in range(0, len(manifests), _AT_ONCE):
        view = reader.view(manifests[start : start + _AT_ONCE])
        for rows in (view.data, view.deletes):
            found = names_of_paths(whole(rows["file_path"]))
            yield set(listed(found.filter(pc.is_in(found, value_set=names))))
