"""Compactions of Iceberg tables without planning and tasks, and delete files that pyiceberg cannot write."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lithify.clock import SystemClock
from lithify.columns.column_groups import with_columns
from lithify.engine.attempts.names import PREFIX_LENGTH
from lithify.engine.commit import loop
from lithify.engine.commit.loop import CommitOutcome
from lithify.engine.commit.patience import Patience, backoff_of
from lithify.files.avro.encoding import Cells, encode_rows
from lithify.formats.iceberg.commit.changes import GroupChange, Start
from lithify.formats.iceberg.commit.committer import Committer
from lithify.formats.iceberg.compaction.carrying import MapCarrier
from lithify.formats.iceberg.deletes.bitmaps import bitmap_of
from lithify.formats.iceberg.manifests.delete_index import delete_index
from lithify.formats.iceberg.manifests.file_objects import FileObjects
from lithify.formats.iceberg.manifests.manifest_lists import ListOwner, ManifestContent, write_list
from lithify.formats.iceberg.manifests.manifest_writer import ManifestOwner, encode_manifest
from lithify.formats.iceberg.manifests.new_entries import added_delete_files
from lithify.formats.iceberg.manifests.partition_types import PartitionField
from lithify.formats.iceberg.manifests.view import ManifestReader, View
from lithify.formats.iceberg.model import (
    Content,
    DataFile,
    FileMetrics,
    NewDataFile,
    NewDeleteFile,
    Partition,
)
from lithify.formats.iceberg.rewriting.maps import TaskMap, write_map
from lithify.formats.iceberg.rewriting.new_deletes import write_new_vectors
from lithify.formats.iceberg.rewriting.new_files import NewFiles
from lithify.formats.iceberg.rewriting.target import WriteTarget
from lithify.formats.iceberg.table.evolving import with_snapshot
from lithify.formats.iceberg.table.opening import open_iceberg_table
from lithify.formats.iceberg.table.partition_specs import partition_fields
from lithify.formats.iceberg.table.table import IcebergTable
from lithify.formats.protocol.address import TableAddress
from lithify.scratch import scratch_folder

CLOCK = SystemClock(UTC)
_NO_PARTITION = Partition(0)
PATIENCE = Patience(max_retries=20, min_wait=0.001, max_wait=0.01, timeout=1.0)


@dataclass(frozen=True, slots=True)
class Group:
    """A group of files, by a name."""

    path: str


@dataclass(frozen=True, slots=True)
class Planned:
    """A table with a snapshot that was planned on."""

    table: IcebergTable
    start: Start
    files: tuple[DataFile, ...]

    def of(self, *ids: int) -> tuple[DataFile, ...]:
        """The files that have a row with one of these ids."""
        return tuple(each for each in self.files if set(ids) & set(_ids(each.path)))


def plan(address: TableAddress) -> Planned:
    """Opens a table and lists the live files of its branch with their deletes."""
    table = open_iceberg_table(address)
    head, metadata = table.head(), table.metadata
    assert head is not None
    assert head.manifest_list is not None
    view = view_of(table)
    objects = FileObjects(view, delete_index(view.data, view.deletes, _unpartitioned(table)))
    files = tuple(objects.data_files(np.arange(len(view.data))))
    start = Start(head.id, head.sequence, metadata.schema_id, metadata.spec_id, metadata.format_version)
    return Planned(table, start, files)


def view_of(table: IcebergTable) -> View:
    """The live files of the newest snapshot."""
    head = table.refresh().head(table.branch)
    assert head is not None
    reader = ManifestReader(table.storage)
    return reader.view(reader.manifests(head.manifest_list or ""))


def rewritten(planned: Planned, inputs: Sequence[DataFile], name: str = "g") -> GroupChange:
    """Writes the live rows of some files into a new one, as a task does."""
    parts = [live_rows(file) for file in inputs]
    rows = pa.concat_tables(parts)
    if not len(rows):
        return GroupChange(Group(name), tuple(inputs), ())
    partition = inputs[0].partition
    return GroupChange(Group(name), tuple(inputs), (write_data(planned.table, rows, partition),))


def write_data(table: IcebergTable, rows: pa.Table, partition: Partition) -> NewDataFile:
    """Writes a data file."""
    path = f"{table.metadata.data_folder}/{uuid4()}.parquet"
    local = Path(path.removeprefix("file://"))
    local.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, local)
    return NewDataFile(path, "parquet", local.stat().st_size, len(rows), partition, FileMetrics())


def live_rows(file: DataFile) -> pa.Table:
    """The rows of a file that none of its position deletes deletes."""
    rows, gone = _read(file.path), _deleted(file)
    return rows.take(pa.array([place for place in range(len(rows)) if place not in gone], pa.int64()))


def _deleted(file: DataFile) -> set[int]:
    return {
        position for delete in file.deletes for path, position in _positions(delete.path) if path == file.path
    }


def _read(path: str) -> pa.Table:
    return pq.read_table(path.removeprefix("file://"), partitioning=None)


def _positions(path: str) -> Iterable[tuple[str, int]]:
    found = _read(path).to_pydict()
    return zip(found["file_path"], found["pos"], strict=True)


def _ids(path: str) -> list[int]:
    ids: list[int] = _read(path)["id"].to_pylist()
    return ids


def map_of(planned: Planned, change: GroupChange) -> TaskMap:
    """The map that a task writes which rewrites files as `rewritten` does."""
    table = planned.table
    deleted = {file.path: bitmap_of(gone) for file in change.inputs if (gone := _deleted(file))}
    files = NewFiles(str(uuid4()), cast(WriteTarget, None), table.storage)
    folder = table.metadata.metadata_folder
    return write_map(files, table.storage, folder, change.inputs, deleted, change.outputs, None)


def commit(
    planned: Planned,
    *changes: GroupChange,
    maps: Mapping[Group, TaskMap] | None = None,
    run: str = "run",
    meanwhile: Callable[[int], None] = lambda _: None,
    check_fence: Callable[[], None] = lambda: None,
    notes: Mapping[str, str] | None = None,
) -> CommitOutcome:
    """Commits some groups; `meanwhile` gets the number of each try between its files and its publishing.

    Late deletes are carried over where there are maps.
    """
    prefix = str(uuid4())[:PREFIX_LENGTH]
    tries = iter(range(10**6))

    def check() -> None:
        check_fence()
        meanwhile(next(tries))

    given = {"lithify.run": run, "lithify.attempt": prefix, **(notes or {})}
    by_group: dict[Any, GroupChange] = {change.group: change for change in changes}
    with scratch_folder() as folder:
        carrier = None
        if maps is not None:
            listed = {group: (each,) for group, each in maps.items()}
            carrier = MapCarrier(planned.table, planned.start, by_group, listed, folder)
        committer = Committer(
            planned.table, prefix, planned.start, lambda _: given, check, CLOCK, carrier=carrier
        )
        return loop.commit(committer, by_group, backoff_of(prefix, PATIENCE, CLOCK))


def _unpartitioned(table: IcebergTable) -> frozenset[int]:
    return frozenset(number for number, spec in table.metadata.specs.items() if not spec["fields"])


def delete_positions(
    address: TableAddress, positions: Mapping[str, Sequence[int]], *, names_file: bool = True, times: int = 1
) -> None:
    """Others delete rows of data files by their positions, in one position delete file.

    Args:
        address: the table.
        positions: positions by data file, all of one partition.
        names_file: whether the delete file says that it is for one data file only.
        times: how often the manifest lists it.
    """
    table = open_iceberg_table(address)
    view = view_of(table)
    paths = [path for path, places in positions.items() for _ in places]
    rows = pa.table({"file_path": paths, "pos": [place for each in positions.values() for place in each]})
    stored = pa.schema(
        [
            pa.field("file_path", pa.string(), False, {"PARQUET:field_id": "2147483546"}),
            pa.field("pos", pa.int64(), False, {"PARQUET:field_id": "2147483545"}),
        ]
    )
    partition = _partition_of(view, paths[0])
    referenced = paths[0] if names_file and len(positions) == 1 else None
    new = _written(table, rows.cast(stored), partition, referenced)
    _commit_deletes(table, view, [new] * times, ())


def delete_by_vectors(address: TableAddress, positions: Mapping[str, Sequence[int]]) -> None:
    """Others delete rows of data files that have no vectors yet, of one partition, by vectors."""
    table = open_iceberg_table(address)
    view = view_of(table)
    files = [each for each in plan(address).files if each.path in positions]
    path = f"{table.metadata.data_folder}/{uuid4()}.puffin"
    found = {file: bitmap_of(places) for file, places in positions.items()}
    _commit_deletes(table, view, write_new_vectors(table.storage, path, files, found), ())


def _partition_of(view: View, path: str) -> Partition:
    place = view.data["file_path"].to_pylist().index(path)
    return view.partitions.partition(view.data["partition"][place].as_py())


def delete_equal(
    address: TableAddress, rows: pa.Table, partition: Partition = _NO_PARTITION, *, times: int = 1
) -> None:
    """Others delete rows by equality with the columns of some rows, which have field ids from 1 on.

    The manifest lists the delete file `times` times.
    """
    table = open_iceberg_table(address)
    fields = {
        field["name"]: field["id"] for field in table.metadata.schemas[table.metadata.schema_id]["fields"]
    }
    new = _written(table, rows, partition, None)
    _commit_deletes(table, view_of(table), [new] * times, [fields[name] for name in rows.column_names])


def _written(
    table: IcebergTable, rows: pa.Table, partition: Partition, referenced: str | None
) -> NewDeleteFile:
    data = write_data(table, rows, partition)
    return NewDeleteFile(data.path, "parquet", data.size, data.rows, partition, referenced)


def _commit_deletes(
    table: IcebergTable, view: View, new: Sequence[NewDeleteFile], equality_ids: Sequence[int]
) -> None:
    """Commits delete files of one spec as a writer of merge-on-read deletes does."""
    metadata, head = table.metadata, table.head()
    assert head is not None
    spec_id, count = new[0].partition.spec_id, len(new)
    snapshot_id, sequence = uuid4().int >> 65, metadata.last_sequence + 1
    spec = metadata.specs[spec_id]["fields"]
    fields = tuple(PartitionField(*each) for each in partition_fields(metadata, spec_id))
    entries = added_delete_files(new, fields, snapshot_id, None)
    if equality_ids:
        ids = pa.array([[*equality_ids]] * count, pa.list_(pa.field("element", pa.int32(), nullable=False)))
        cells = Cells(*encode_rows([ids], [True]))
        content = pa.array([int(Content.EQUALITY_DELETES)] * count, pa.int32())
        entries = replace(
            entries,
            rows=with_columns(entries.rows, content=content),
            encoded={**entries.encoded, ("equality_ids",): cells},
        )
    owner = ManifestOwner(
        metadata.format_version, snapshot_id, ManifestContent.DELETES, spec_id, fields,
        json.dumps(spec), json.dumps(metadata.schemas[metadata.schema_id]),
    )  # fmt: skip
    folder = metadata.metadata_folder
    manifest = encode_manifest([entries], owner, f"{folder}/{uuid4()}-m0.avro")
    first = metadata.next_row_id if metadata.format_version > 2 else None
    listed = write_list(
        [*view.manifests, manifest.file],
        ListOwner(metadata.format_version, snapshot_id, head.id, sequence, first),
    )
    place = f"{folder}/snap-{snapshot_id}.avro"
    for path, content_of in ((manifest.file.path, manifest.content), (place, listed.content)):
        Path(path.removeprefix("file://")).write_bytes(content_of)
    snapshot = {
        "snapshot-id": snapshot_id,
        "parent-snapshot-id": head.id,
        "sequence-number": sequence,
        "timestamp-ms": metadata.last_updated,
        "summary": {"operation": "delete"},
        "manifest-list": place,
        "schema-id": metadata.schema_id,
    }
    if first is not None:
        snapshot |= {"first-row-id": first, "added-rows": (listed.next_row_id or 0) - first}
    publish_by_others(table, snapshot)


def publish_by_others(table: IcebergTable, snapshot: Mapping[str, Any]) -> None:
    """Another writer commits a snapshot to a catalog that holds pointers."""
    text = with_snapshot(table.metadata, snapshot, table.branch).text
    location = table.pointers.next_location(table.pointer, table.metadata.metadata_folder, str(uuid4()))
    Path(location.removeprefix("file://")).write_text(text, "utf-8")
    assert table.pointers.swap(table.address, table.pointer, location, text, lambda: True)
