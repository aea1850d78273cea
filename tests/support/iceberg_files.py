"""Data and delete files of Iceberg tables, written by PyArrow, and tasks that rewrite them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lithify.clock import SystemClock
from lithify.engine.rewrite.budget import Budget
from lithify.files.registry import open_writer
from lithify.files.types import Field
from lithify.formats.iceberg.data_files.reader import FileReader
from lithify.formats.iceberg.data_files.schema import Schema, parse_schema
from lithify.formats.iceberg.deletes.bitmaps import bitmap_of
from lithify.formats.iceberg.deletes.position_files import PATH, POSITION
from lithify.formats.iceberg.deletes.vectors import write_vectors
from lithify.formats.iceberg.model import Content, DataFile, DeleteFile, NewDataFile, Partition
from lithify.formats.iceberg.rewriting.options import parse_write_options
from lithify.formats.iceberg.rewriting.target import WriteTarget
from lithify.formats.iceberg.rewriting.task import RewriteTask
from lithify.formats.iceberg.table.data_locations import DataLocations
from lithify.formats.iceberg.table.partition_paths import PartitionSpec
from lithify.formats.protocol.results import TaskOutputs
from lithify.io.local_storage import local_storage

NOWHERE = Partition(0)


def schema_of(*columns: tuple[str, Any] | tuple[str, Any, Mapping[str, Any]], first: int = 1) -> Schema:
    """A schema with these columns, numbered from `first`; a third part has more of a field's JSON."""
    return parse_schema(schema_json(*columns, first=first))


def schema_json(
    *columns: tuple[str, Any] | tuple[str, Any, Mapping[str, Any]], first: int = 1
) -> dict[str, Any]:
    """The JSON of a schema."""
    fields = [
        {"id": number, "name": name, "required": False, "type": kind, **dict(*more)}
        for number, (name, kind, *more) in enumerate(columns, first)
    ]
    return {"schema-id": 0, "fields": fields}


class Files:
    """Files in a folder.

    Args:
        folder: the folder.
        schema: the schema of data files.
    """

    def __init__(self, folder: Path, schema: Schema) -> None:
        self.folder = folder
        self.schema = schema
        self.storage = local_storage([str(folder)])
        self._number = 0

    @property
    def reader(self) -> FileReader:
        """A reader of the files."""
        return FileReader(self.storage)

    def data(
        self,
        rows: Mapping[str, Sequence[Any]] | pa.Table,
        *,
        schema: Schema | None = None,
        more: Sequence[Field] = (),
        sequence: int = 1,
        partition: Partition = NOWHERE,
        first_row_id: int | None = None,
        kind: str = "parquet",
        **how: Any,
    ) -> DataFile:
        """Writes a data file of a kind: by PyArrow if it is Parquet, else as tasks write them."""
        path, columns = self._path(kind), schema or self.schema
        table = rows if isinstance(rows, pa.Table) else pa.table(dict(rows), schema=columns.file_schema(more))
        if kind == "parquet":
            pq.write_table(table, path, **{"store_schema": False, **how})
        else:
            _write(table, path, columns.stored(more), kind)
        return DataFile(
            str(path), path.stat().st_size, table.num_rows, kind, sequence, partition, first_row_id
        )

    def positions(
        self,
        deleted: Sequence[tuple[DataFile, int]],
        *,
        sequence: int = 9,
        has_statistics: bool = True,
        kind: str = "parquet",
    ) -> DeleteFile:
        """Writes a position delete file."""
        path, schema = self._path(kind), Schema(0, (PATH, POSITION))
        rows = [[file.path for file, _ in deleted], [at for _, at in deleted]]
        table = pa.table(rows, schema=schema.file_schema())
        if kind == "parquet":
            pq.write_table(table, path, write_statistics=has_statistics)
        else:
            _write(table, path, schema.columns, kind)
        size, content = path.stat().st_size, Content.POSITION_DELETES
        return DeleteFile(str(path), size, len(deleted), content, kind, sequence, NOWHERE)

    def vector(self, file: DataFile, deleted: Sequence[int]) -> DeleteFile:
        """Writes a deletion vector."""
        path = str(self._path("puffin"))
        place = write_vectors(self.storage, path, {file.path: bitmap_of(deleted)})[file.path]
        size, content = Path(path).stat().st_size, Content.POSITION_DELETES
        return DeleteFile(
            *(path, size, place.positions, content, "puffin", 9, NOWHERE, (), file.path),
            offset=place.offset,
            length=place.length,
        )

    def equality(
        self,
        rows: Mapping[str, Sequence[Any]],
        ids: Sequence[int],
        *,
        schema: Schema | None = None,
        sequence: int = 9,
        partition: Partition = NOWHERE,
        kind: str = "parquet",
    ) -> DeleteFile:
        """Writes an equality delete file with the columns of `rows`."""
        path, columns = self._path(kind), schema or self.schema
        whole = columns.file_schema()
        table = pa.table(dict(rows), schema=pa.schema([whole.field(name) for name in rows]))
        if kind == "parquet":
            pq.write_table(table, path)
        else:
            _write(table, path, columns.columns, kind)
        size, content = path.stat().st_size, Content.EQUALITY_DELETES
        return DeleteFile(str(path), size, table.num_rows, content, kind, sequence, partition, tuple(ids))

    def _path(self, extension: str) -> Path:
        self._number += 1
        return self.folder / f"{self._number:05}.{extension}"


def _write(rows: pa.Table, path: Path, columns: Sequence[Field], kind: str) -> None:
    """Writes ORC or Avro as tasks do."""
    options = parse_write_options({"write.format.default": kind}).files
    with pa.OSFile(str(path), "wb") as sink:
        writer = open_writer(sink, options, str(path), {each.name: each.type for each in columns})
        writer.write(rows)
        writer.finish()


def with_deletes(file: DataFile, *deletes: DeleteFile) -> DataFile:
    """A file to which deletes apply."""
    return replace(file, deletes=deletes)


def task_of(files: Files, inputs: Sequence[DataFile], **changes: Any) -> RewriteTask:
    """A task; `changes` are fields of the target and of the task, or `properties` of the table."""
    options = parse_write_options(changes.pop("properties", {}))
    inside = {name: changes.pop(name) for name in list(changes) if name in WriteTarget.__slots__}
    target = WriteTarget(
        **{
            "locations": DataLocations(str(files.folder / "data")),
            "schema": files.schema,
            "spec": PartitionSpec(0),
            "options": options,
            **inside,
        }
    )
    settings = {"prefix": "run", "budget": Budget(), "storage": files.storage, **changes}
    return RewriteTask(files=tuple(inputs), target=target, **settings)


def run(task: RewriteTask) -> TaskOutputs:
    """What a task returns.

    Raises:
        LithifyError: it fails for good.
    """
    result = task.run(SystemClock())
    if result.failure is not None:
        raise result.failure.as_error()
    return result.outputs


def rewritten(files: Files, inputs: Sequence[DataFile], **changes: Any) -> list[dict[str, Any]]:
    """The rows that a task writes, in order."""
    return rows_of(run(task_of(files, inputs, **changes)).data)


def rows_of(written: Sequence[NewDataFile]) -> list[dict[str, Any]]:
    """The rows of files, in order."""
    return [row for file in written for row in pq.ParquetFile(file.path).read().to_pylist()]
