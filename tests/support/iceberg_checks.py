"""What holds of every Iceberg table after a run: files, deletes, summaries and figures of manifests agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote, urlparse

from pyiceberg.manifest import DataFile, DataFileContent, ManifestContent
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Snapshot

from infrastructure.iceberg.model import ScanTask
from infrastructure.iceberg.tables import SparkTable

Entry = tuple[DataFileContent, DataFile]
_DELETED = 2
_CONTENTS = {
    "total-data-files": (DataFileContent.DATA,),
    "total-delete-files": (DataFileContent.POSITION_DELETES, DataFileContent.EQUALITY_DELETES),
}
_ROWS = {
    "total-records": DataFileContent.DATA,
    "total-position-deletes": DataFileContent.POSITION_DELETES,
    "total-equality-deletes": DataFileContent.EQUALITY_DELETES,
}


def assert_whole(table: SparkTable, branch: str) -> None:
    """Checks a branch as Java plans its scans, and as pyiceberg reads its manifests."""
    loaded = table.load()
    snapshot = loaded.snapshot_by_name(branch)
    if snapshot is None:
        return
    tasks = table.spark.scan(table.name, branch=branch)
    _assert_files(tasks)
    entries = [*_entries(loaded, snapshot)]
    live = [file.file_path for content, file in entries if content is DataFileContent.DATA]
    assert sorted(live) == sorted(task.file.path for task in tasks)
    _assert_summary(snapshot, entries)


def _assert_files(tasks: Sequence[ScanTask]) -> None:
    """Every file is there and referenced once, and has one vector at most."""
    paths = Counter(task.file.path for task in tasks)
    assert max(paths.values(), default=1) == 1, paths
    for task in tasks:
        vectors = [each.path for each in task.deletes if each.format.lower() == "puffin"]
        assert len(vectors) <= 1, (task.file.path, vectors)
    deletes = {each.path for task in tasks for each in task.deletes}
    missing = [path for path in (*paths, *deletes) if not path_of(path).is_file()]
    assert not missing, missing


def data_files(table: SparkTable) -> frozenset[Path]:
    """The files in the table's data folder."""
    folder = path_of(table.spark.state(table.name).metadata["location"]) / "data"
    return frozenset(each for each in folder.rglob("*") if each.is_file())


def assert_nothing_left_over(table: SparkTable, before: Collection[Path]) -> None:
    """Checks that a run without others has left no file of data or deletes that no snapshot has."""
    new = data_files(table).difference(before)
    tasks = table.spark.scan(table.name)
    left = new - {path_of(each.path) for task in tasks for each in (task.file, *task.deletes)}
    if left:
        known = table.spark.sql(f"SELECT file_path FROM {table.name}.all_files")["file_path"]
        left -= {path_of(path) for path in known.to_pylist()}
    assert not left, left


def path_of(location: str) -> Path:
    """A local file."""
    return Path(unquote(urlparse(location).path))


def _entries(table: Table, snapshot: Snapshot) -> Iterator[Entry]:
    """The live entries; figures of the list must be those of the manifests."""
    for manifest in snapshot.manifests(table.io):
        entries = manifest.fetch_manifest_entry(table.io, discard_deleted=False)
        by_status = Counter(int(each.status) for each in entries)
        listed = (manifest.existing_files_count, manifest.added_files_count, manifest.deleted_files_count)
        assert listed == tuple(by_status[status] for status in range(3)), manifest.manifest_path
        is_data = manifest.content != ManifestContent.DELETES
        for each in entries:
            if int(each.status) < _DELETED:  # files of version 1 do not say what they are
                yield DataFileContent.DATA if is_data else each.data_file.content, each.data_file


def _assert_summary(snapshot: Snapshot, entries: Sequence[Entry]) -> None:
    """The totals of the summary, where it has them, are those of the live files."""
    assert snapshot.summary is not None
    summary = snapshot.summary.additional_properties
    for name, contents in _CONTENTS.items():
        found = sum(each in contents for each, _ in entries)
        assert summary.get(name, str(found)) == str(found), (name, summary, found)
    for name, content in _ROWS.items():
        rows = sum(file.record_count for each, file in entries if each is content)
        assert summary.get(name, str(rows)) == str(rows), (name, summary, rows)
