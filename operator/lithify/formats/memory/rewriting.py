"""The task of reference tables: it streams the rows of some Parquet files into a new one.

Runs on executors. Holds one batch of rows at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq

from lithify.clock import Clock
from lithify.engine.attempts.stop_file import StopCheck
from lithify.engine.tasks.execution import carry_out
from lithify.engine.tasks.task import StepTask
from lithify.errors import CorruptTable, LithifyError, MissingFile
from lithify.formats.memory.snapshot import DataFile
from lithify.formats.protocol.results import TaskOutputs, TaskResult
from lithify.io.storage import Storage

_BATCH_ROWS = 65_536


class NewFile:
    """The file that a task writes."""

    def __init__(self, storage: Storage, path: str) -> None:
        self._storage = storage
        self.path = path

    def write(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> DataFile:
        """Writes all rows; returns the file's metadata."""
        new, rows = self._storage.create(self.path), 0
        with closing(new.sink), pq.ParquetWriter(new.sink, schema) as writer:
            for batch in batches:
                writer.write_batch(batch)
                rows += batch.num_rows
        with closing(self._storage.open(self.path)) as written:
            return DataFile(self.path.rpartition("/")[2], written.size(), rows)

    def delete(self) -> None:
        """Deletes it; suppresses errors, which would hide the original."""
        with suppress(LithifyError):
            self._storage.delete(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryTask(StepTask):
    """Joins the files of one group.

    Attributes:
        storage: access to the files.
        folder: where the new file is written.
        input_sizes: bytes of the files by path, in the order of their rows.
    """

    storage: Storage
    folder: str
    input_sizes: Mapping[str, int] = field(default_factory=dict)

    def run(self, clock: Clock, attempt: int = 0, attempt_id: int = 0) -> TaskResult:
        """Runs the task; see `Task` of the protocol."""
        del clock
        name = f"{self.writer(attempt_id)}.parquet"
        file = NewFile(self.storage, f"{self.folder}/{name}")
        write = partial(self._write, self.stop_check())
        return carry_out(write, file, self.index, self.folder, attempt)

    def _write(self, stop: StopCheck, file: NewFile) -> TaskOutputs:
        stop.check()
        schema = self._schema()
        return TaskOutputs(data=(file.write(schema, stop.between(self._rows(schema))),))

    def _schema(self) -> pa.Schema:
        with self._reader(next(iter(self.input_sizes))) as reader:
            return reader.schema_arrow

    def _rows(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        for path in self.input_sizes:
            with self._reader(path) as reader:
                for batch in reader.iter_batches(_BATCH_ROWS):
                    yield batch.cast(schema)

    def _reader(self, path: str) -> pq.ParquetFile:
        try:
            return pq.ParquetFile(self.storage.open(path), pre_buffer=False)
        except FileNotFoundError as error:
            raise MissingFile(path) from error
        except pa.ArrowInvalid as error:
            raise CorruptTable(path, f"it is no Parquet file ({error})") from error
