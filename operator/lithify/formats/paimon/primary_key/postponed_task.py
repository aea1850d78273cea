"""One task: moves the rows of postponed files to their real buckets, as sorted files of level 0.

Made by `postponed`; `compaction.task` runs it on an executor. The rows are read file by file in the order in
which they were written. Each gets its bucket and the next sequence number there, as if a writer wrote it now;
the rows of each bucket are then sorted and merged, as a writer merges what it has buffered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lithify.engine.rewrite.budget import MAX_PIECE
from lithify.engine.rewrite.rolling import RollingWriter
from lithify.engine.rewrite.sorting import UnsortedRows
from lithify.engine.rewrite.spec import MergeSpec
from lithify.errors import CorruptTable, UnsupportedTable
from lithify.files.model import InputFile
from lithify.files.written_files import rolling_of
from lithify.formats.paimon.compaction.task import CompactionTask
from lithify.formats.paimon.data_files.new_files import NewFiles
from lithify.formats.paimon.data_files.reader import FileRun, Reading
from lithify.formats.paimon.data_files.writer import FileTarget
from lithify.formats.paimon.manifests.entries import FileMeta
from lithify.formats.paimon.model import BucketId
from lithify.formats.paimon.options.bucket_key import BucketKey
from lithify.formats.paimon.primary_key.buckets import buckets_of
from lithify.formats.paimon.schema.schema import SEQUENCE_NUMBER, VALUE_KIND, Schema
from lithify.formats.protocol.results import TaskOutputs
from lithify.scratch import scratch_folder


@dataclass(frozen=True, slots=True)
class TargetBucket:
    """A bucket to which rows are moved.

    Attributes:
        bucket: the bucket.
        target: where and how to write.
        first_sequence: the sequence number of the first row that the task moves there.
    """

    bucket: BucketId
    target: FileTarget
    first_sequence: int


@dataclass(frozen=True, slots=True)
class MovedFile:
    """A new file, and the bucket in which it is."""

    bucket: BucketId
    file: FileMeta

    @property
    def name(self) -> str:
        """Name of the file."""
        return self.file.name


@dataclass(frozen=True, slots=True, kw_only=True)
class PostponedTask(CompactionTask):
    """Moves postponed rows to their buckets.

    Attributes:
        files: the files to read, in the order in which their rows were written.
        key: how the buckets of rows are computed.
        targets: all buckets of the partition, by their numbers.
        ignored_kinds: row kinds that are left out.
        spec: how records are merged.
    """

    files: tuple[InputFile, ...]
    key: BucketKey
    targets: tuple[TargetBucket, ...]
    ignored_kinds: tuple[int, ...]
    spec: MergeSpec

    @property
    def read_files(self) -> tuple[InputFile, ...]:
        """The input files."""
        return self.files

    @property
    def folder(self) -> str:
        """The directory of the partition's first bucket."""
        return self.targets[0].target.folder

    @property
    def schema(self) -> Schema:
        """The newest schema."""
        return self.targets[0].target.schema

    def write(self, files: NewFiles) -> TaskOutputs:
        """Writes the rows into their buckets and returns the metadata of the files."""
        return _Move(self, files).run()


class _Move:
    """The reader, the buckets and the writers of one task."""

    def __init__(self, task: PostponedTask, files: NewFiles) -> None:
        self._task = task
        self._files = files
        self._next = np.array([each.first_sequence for each in task.targets], np.int64)
        self._rows: dict[int, UnsortedRows] = {}
        self._buffered = 0
        self._has_spilled = False

    def run(self) -> TaskOutputs:
        """Writes the rows into their buckets and returns the metadata of the files."""
        with scratch_folder() as folder:
            for batch, path in self._read():
                self._distribute(batch, path, folder)
            if self._has_spilled:
                self._spill()
            moved = [
                MovedFile(self._task.targets[bucket].bucket, file)
                for bucket in sorted(self._rows)
                for file in self._write(bucket)
            ]
        return TaskOutputs(data=tuple(moved))

    def _read(self) -> Iterator[tuple[pa.RecordBatch, str]]:
        """Yields the rows in the order in which they were written, each batch with its file."""
        task = self._task
        names = [column.name for column in task.schema.columns]
        reading = Reading(
            task.files,
            task.schemas,
            task.schema,
            names,
            task.storage,
            share=task.budget.reading // 2,
            options=task.targets[0].target.options.parquet.variants,
        )
        for file in task.files:
            for piece in FileRun([file], reading).pieces(min(MAX_PIECE, task.budget.reading // 4)):
                unordered = task.spec.layout.column_with_nan(piece.rows)
                if unordered is not None:
                    problem = f"column {unordered}: {task.spec.layout.nan_problem}"
                    raise UnsupportedTable(file.path, (problem,))
                yield self._wanted(piece.rows), file.path

    def _wanted(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        ignored = self._task.ignored_kinds
        if not ignored:
            return rows
        return rows.filter(pa.array(~np.isin(rows.column(VALUE_KIND).to_numpy(), ignored)))

    def _distribute(self, rows: pa.RecordBatch, path: str, folder: Path) -> None:
        """Numbers rows and adds them to their buckets; spills if too many are in memory."""
        if not rows.num_rows:
            return
        try:
            buckets = buckets_of(self._task.key, rows, len(self._task.targets))
        except ValueError as error:
            raise CorruptTable(path, str(error)) from error
        order = np.argsort(buckets, kind="stable")
        counts = np.bincount(buckets, minlength=len(self._task.targets))
        starts = np.cumsum(counts) - counts
        ordered = buckets[order]
        sequence = self._next[ordered] + np.arange(len(order)) - starts[ordered]
        self._next += counts
        gathered = _numbered(pc.take(rows, pa.array(order)), sequence)
        for bucket in np.flatnonzero(counts).tolist():
            if bucket not in self._rows:
                task = self._task
                self._rows[bucket] = UnsortedRows(task.spec, task.budget, folder / str(bucket))
            self._rows[bucket].add(gathered.slice(starts[bucket], counts[bucket]))
        self._buffered += gathered.nbytes
        if self._buffered > self._task.budget.reading:
            self._spill()

    def _spill(self) -> None:
        for rows in self._rows.values():
            rows.spill()
        self._buffered, self._has_spilled = 0, True

    def _write(self, bucket: int) -> list[FileMeta]:
        target = self._task.targets[bucket].target
        rolling = rolling_of(self._task.files, target.options, self._task.budget, absorbs_rest=False)
        writer = RollingWriter(lambda: self._files.open_next(target), rolling)
        return writer.write_all(self._rows.pop(bucket).merged())


def _numbered(rows: pa.RecordBatch, sequence: npt.NDArray[np.int64]) -> pa.RecordBatch:
    """The rows with new sequence numbers."""
    position = rows.schema.get_field_index(SEQUENCE_NUMBER)
    return rows.set_column(position, rows.schema.field(position), pa.array(sequence))
