"""One task: merges a key range of a rewrite and returns the metadata of the files written.

Made by `planning`, shipped to an executor by a runner, run there. The result holds no rows. If the task
fails, the files that it has written are deleted; see `task_running`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from lithify.clock import Clock, wall_millis
from lithify.errors import LithifyError
from lithify.rewriting.budget import Budget
from lithify.rewriting.passes import merge_section
from lithify.rewriting.rolling import Rolling, RollingWriter
from lithify.rewriting.runs import KeyRange
from lithify.rewriting.spec import MergeSpec
from lithify.tables.files.model import InputFile
from lithify.tables.files.names import GATHERED_SHARE
from lithify.tables.format import TaskOutputs, TaskResult
from lithify.tables.io.storage import Storage
from lithify.tables.paimon.commit.journal import writer_id
from lithify.tables.paimon.primary_key.copying import CopiedGroup
from lithify.tables.paimon.primary_key.expired_rows import ExpiredRows
from lithify.tables.paimon.primary_key.reader import FileRun, Reading
from lithify.tables.paimon.primary_key.section_copier import SectionCopier, copying_of
from lithify.tables.paimon.primary_key.task_running import carry_out
from lithify.tables.paimon.primary_key.writer import FileTarget, KeyValueFile
from lithify.tables.paimon.schema.schema import SYSTEM_COLUMNS, Schema

Sections = tuple[tuple[tuple[InputFile, ...], ...], ...]
"""Sections of runs of files, in key order."""


@dataclass(frozen=True, slots=True)
class MergeTask:
    """Everything that an executor needs to run the task.

    Attributes:
        index: number of the task in its attempt.
        prefix: the attempt's prefix of file names.
        sections: the input files.
        keys: the key range to merge.
        is_last: whether this is the last task of the rewrite in key order.
        spec: how records are merged.
        schemas: the schemas of the input files, by id.
        target: where and how to write; the writer's id is filled in by the executor.
        storage: access to the files.
        budget: memory budget.
        expired: filter of expired rows; None if rows of the table do not expire.
        known: runs of which only the keys are read; the task then has one section.
    """

    index: int
    prefix: str
    sections: Sections
    keys: KeyRange
    is_last: bool
    spec: MergeSpec
    schemas: Mapping[int, Schema]
    target: FileTarget
    storage: Storage
    budget: Budget
    expired: ExpiredRows | None = None
    known: tuple[tuple[InputFile, ...], ...] = ()

    @property
    def input_sizes(self) -> dict[str, int]:
        """Bytes of the files to read, by path."""
        known = (file for run in self.known for file in run)
        return {file.path: file.size for file in (*self.inputs, *known)}

    def run(self, clock: Clock, attempt: int = 0, attempt_id: int = 0) -> TaskResult:
        """Merges, writes, and cleans up after itself if that fails; see `run_task`."""
        return run_task(self, clock, attempt, attempt_id)

    @property
    def inputs(self) -> list[InputFile]:
        """All files that are merged."""
        return [file for section in self.sections for run in section for file in run]


def run_task(task: MergeTask, clock: Clock, attempt: int = 0, attempt_id: int = 0) -> TaskResult:
    """Merges, writes, and cleans up after itself if that fails.

    Args:
        task: the task.
        clock: source of creation times.
        attempt: number of the try, from 0.
        attempt_id: unique among all tries of all tasks of the attempt; part of the file names.
    """
    merge = _Merge(task, writer_id(task.prefix, task.index, attempt_id), clock)
    return carry_out(merge, task.index, task.target.folder, attempt)


class _Merge:
    """The readers, the merge and the writer of one task."""

    def __init__(self, task: MergeTask, writer: str, clock: Clock) -> None:
        self._task = task
        self._target = replace(task.target, writer_id=writer)
        self._names = self._target.names()
        self._written: list[str] = []
        self._clock = clock
        self._copying: SectionCopier | None = None

    def run(self) -> TaskOutputs:
        """Writes the merged rows and returns the metadata of the files."""
        inputs = self._task.inputs
        rolling = Rolling(
            target_size=self._target.options.target_size,
            row_group_bytes=int(self._task.budget.row_group * GATHERED_SHARE[self._target.options.format]),
            bytes_per_row=sum(file.size for file in inputs) / max(1, sum(file.rows for file in inputs)),
            absorbs_rest=not self._task.is_last,
            unit_size=self._target.options.unit_size,
        )
        sections = self._open_runs()
        with tempfile.TemporaryDirectory(prefix="lithify-spill-") as folder:
            files = RollingWriter(self._open_file, rolling).write_all(self._rows(sections, Path(folder)))
        return TaskOutputs(data=tuple(files), copied_bytes=self._copied_bytes)

    @property
    def _copied_bytes(self) -> int:
        """Bytes of row groups that were copied rather than decoded."""
        return 0 if self._copying is None else self._copying.bytes

    def _reading(self) -> Reading:
        task = self._task
        most = max((len(section) for section in task.sections), default=1) + len(task.known)
        return Reading(
            task.inputs,
            task.schemas,
            task.target.schema,
            task.spec.compared_columns,
            task.storage,
            task.keys,
            share=task.budget.reading // 2 // max(1, most),
            options=task.target.options.parquet.variants,
            expired=task.expired,
        )

    def _open_runs(self) -> list[list[FileRun]]:
        task, reading = self._task, self._reading()
        self._copying = copying_of(task, reading, self._target)
        only = {*task.target.schema.primary_key, *SYSTEM_COLUMNS}
        known = [FileRun(run, reading, only) for run in task.known]
        return [[*(FileRun(run, reading) for run in section), *known] for section in task.sections]

    def _rows(
        self, sections: list[list[FileRun]], spill_folder: Path
    ) -> Iterator[pa.RecordBatch | CopiedGroup]:
        task = self._task
        for files, runs in zip(task.sections, sections, strict=True):
            if self._copying is None:
                yield from merge_section(runs, task.spec, task.budget, spill_folder, task.keys)
            else:
                yield from self._copying.rows(files, runs, spill_folder)

    def _open_file(self) -> KeyValueFile:
        name = next(self._names)
        self._written.append(name)
        like = None if self._copying is None else self._copying.like
        return KeyValueFile(
            name, self._target, self._task.storage, lambda: wall_millis(self._clock.now()), like=like
        )

    def delete_files(self) -> None:
        """Deletes all written files; suppresses errors, which would hide the original one."""
        for name in self._written:
            with suppress(LithifyError):  # the driver finds remaining files by the attempt's prefix
                self._task.storage.delete(self._target.path(name))
