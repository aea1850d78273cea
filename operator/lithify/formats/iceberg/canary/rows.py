"""Rows of one snapshot as pyiceberg plans and reads them: made by `table_copies`, read by tasks.

Nothing here uses our own planning, reading or deletes, but for bytes of files, which come through `Storage`.
The only module of the adapter that calls private parts of pyiceberg's reader: its public ones decode a whole
file before they give the first batch. That reader is imported where rows are read: it needs pyroaring, which
the operator's image does not have.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn

import pyarrow as pa
from pyiceberg.expressions import AlwaysTrue
from pyiceberg.io import FileIO, InputFile, OutputFile
from pyiceberg.manifest import FileFormat
from pyiceberg.table import FileScanTask, ManifestGroupPlanner
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil

from lithify.columns.row_digests import columns_without_digests
from lithify.engine.tasks.foreign_rows import foreign_reading, not_checked
from lithify.io.storage import Storage

_WITHOUT_HISTORY: Mapping[str, Any] = {
    "snapshots": [],
    "refs": {},
    "snapshot-log": [],
    "metadata-log": [],
    "statistics": [],
}
_ALL = "all partitions"
_READ = frozenset({FileFormat.PARQUET, FileFormat.ORC})


class StoredFile(InputFile):
    """A file of the table, for pyiceberg."""

    def __init__(self, location: str, storage: Storage) -> None:
        super().__init__(location)
        self._storage = storage

    def __len__(self) -> int:
        with self.open() as stream:
            return int(stream.size())

    def exists(self) -> bool:
        """Whether it exists."""
        return self._storage.exists(self.location)

    def open(self, seekable: bool = True) -> Any:
        """Opens it."""
        del seekable
        return self._storage.open(self.location)


class StoredFiles(FileIO):
    """The files of the table, for pyiceberg, which may only read them."""

    def __init__(self, storage: Storage) -> None:
        super().__init__()
        self._storage = storage

    def new_input(self, location: str) -> StoredFile:
        """A file to read."""
        return StoredFile(location, self._storage)

    def new_output(self, location: str) -> OutputFile:
        """Refused."""
        self._refuse(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Refused."""
        self._refuse(str(location))

    def _refuse(self, location: str) -> NoReturn:
        raise PermissionError(f"{location} may only be read")


@dataclass(frozen=True)
class ForeignReader:
    """pyiceberg with the metadata of a table; picklable.

    Attributes:
        name: the table's name.
        text: its metadata as JSON, without its history.
        storage: access to its files.
    """

    name: str
    text: str
    storage: Storage

    @cached_property
    def metadata(self) -> TableMetadata:
        """The metadata as pyiceberg parses them."""
        return TableMetadataUtil.parse_raw(self.text)

    def __getstate__(self) -> Mapping[str, Any]:
        return {"name": self.name, "text": self.text, "storage": self.storage}

    def batches(self, task: FileScanTask) -> Iterator[pa.RecordBatch]:
        """The live rows of one file."""
        from pyiceberg.io.pyarrow import ArrowScan, _read_all_delete_files

        files, metadata = StoredFiles(self.storage), self.metadata
        schema = metadata.schema()
        scan = ArrowScan(metadata, files, schema, AlwaysTrue())
        deletes = _read_all_delete_files(files, [task])
        # Types may be large in one file and not in another; the digest does not depend on it.
        yield from scan._record_batches_from_scan_tasks_and_deletes([task], deletes)  # noqa: SLF001


@dataclass(frozen=True, slots=True)
class FileRows:
    """The rows of one data file; implements `RowsPart`."""

    reader: ForeignReader
    group: str
    task: FileScanTask

    @property
    def files(self) -> Hashable:
        """The file and its deletes."""
        return self.task.file.file_path, frozenset(each.file_path for each in self.task.delete_files)

    @property
    def path(self) -> str:
        """The file."""
        return str(self.task.file.file_path)

    @property
    def size(self) -> int:
        """Bytes of the file and its deletes."""
        return sum(file.file_size_in_bytes for file in (self.task.file, *self.task.delete_files))

    def read(self) -> Iterator[pa.RecordBatch]:
        """See the Protocol.

        Raises:
            UnsupportedTable: pyiceberg cannot read the file.
        """
        with _reading(self.reader.name, self.path):
            yield from self.reader.batches(self.task)


def foreign_reader(name: str, metadata: Mapping[str, Any], storage: Storage) -> ForeignReader:
    """Makes pyiceberg's reader for a table.

    Raises:
        UnsupportedTable: it cannot read the table's metadata, or a column.
    """
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    bare = {key: value for key, value in metadata.items() if key not in _WITHOUT_HISTORY}
    bare.pop("current-snapshot-id", None)
    bare.pop("partition-statistics", None)
    reader = ForeignReader(name, json.dumps({**bare, **_WITHOUT_HISTORY}), storage)
    with _reading(name, str(metadata.get("location"))):
        schema = schema_to_pyarrow(reader.metadata.schema())
    columns = columns_without_digests(schema)
    if columns:
        raise not_checked(name, *(f"column {each}: values of its type are not compared" for each in columns))
    return reader


def planned(reader: ForeignReader, manifest_list: str) -> Sequence[FileScanTask]:
    """The files of a snapshot with their deletes.

    Raises:
        UnsupportedTable: pyiceberg cannot read them; the error says what it is.
    """
    from pyiceberg.manifest import read_manifest_list

    files = StoredFiles(reader.storage)
    with _reading(reader.name, manifest_list):
        manifests = [*read_manifest_list(files.new_input(manifest_list))]
        found = [*ManifestGroupPlanner(reader.metadata, files).plan_files(manifests)]
    formats = {str(each.file.file_format) for each in found if each.file.file_format not in _READ}
    if formats:
        raise not_checked(
            reader.name, *(f"data files in {name}: pyiceberg does not read them" for name in sorted(formats))
        )
    return found


def rows_of(reader: ForeignReader, sides: Sequence[Sequence[FileScanTask]]) -> list[tuple[FileRows, ...]]:
    """The rows of snapshots by partition; all are one group if compactions may change a row's partition."""
    is_one = len({task.file.spec_id for tasks in sides for task in tasks}) > 1
    return [
        tuple(FileRows(reader, _ALL if is_one else _partition(reader.metadata, task), task) for task in tasks)
        for tasks in sides
    ]


def _partition(metadata: TableMetadata, task: FileScanTask) -> str:
    spec = metadata.specs()[task.file.spec_id]
    return "" if spec.is_unpartitioned() else spec.partition_to_path(task.file.partition, metadata.schema())


def _reading(table: str, path: str) -> AbstractContextManager[None]:
    return foreign_reading(table, "pyiceberg", "the table", path)
