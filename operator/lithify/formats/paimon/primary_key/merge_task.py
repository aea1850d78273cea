"""One task: merges a key range of a rewrite and returns the metadata of the files written.

Made by `tasks`; `compaction.task` runs it on an executor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from lithify.columns.bitmaps import serialize
from lithify.columns.key_range import EVERYTHING, FirstKeys, KeyRange
from lithify.engine.rewrite.functions import LoneRecords
from lithify.engine.rewrite.merge import Record, forget
from lithify.engine.rewrite.passes import merge_section
from lithify.engine.rewrite.rolling import RollingWriter
from lithify.engine.rewrite.spec import MergeSpec
from lithify.files.model import InputFile
from lithify.files.parquet.copying.copied_groups import CopiedGroup
from lithify.files.written_files import rolling_of
from lithify.formats.paimon.compaction.task import CompactionTask
from lithify.formats.paimon.data_files.expired_rows import ExpiredRows
from lithify.formats.paimon.data_files.new_files import NewFiles
from lithify.formats.paimon.data_files.reader import FileRun, Reading
from lithify.formats.paimon.data_files.writer import FileTarget, OpenDataFile
from lithify.formats.paimon.manifests.entries import FileMeta
from lithify.formats.paimon.primary_key.copying import largest_run, may_copy
from lithify.formats.paimon.primary_key.looked_up_keys import MOST_KEYS, WORTH_BYTES, first_keys_of
from lithify.formats.paimon.primary_key.merge_functions.superseding import Superseded, Superseding
from lithify.formats.paimon.primary_key.section_copier import SectionCopier
from lithify.formats.paimon.schema.schema import SYSTEM_COLUMNS
from lithify.formats.protocol.results import TaskOutputs
from lithify.scratch import scratch_folder

Sections = tuple[tuple[tuple[InputFile, ...], ...], ...]
"""Sections of runs of files, in key order."""


@dataclass(frozen=True, slots=True)
class SupersededRows:
    """Rows of a file above the output level that a task's rows supersede.

    Attributes:
        file: name of the file.
        positions: positions of the rows, as `bitmaps.serialize` writes them.
    """

    file: str
    positions: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeTask(CompactionTask):
    """Merges sections of sorted runs, or looks up the keys of files that only change level.

    Attributes:
        sections: the input files.
        keys: the key range to merge.
        is_last: whether this is the last task of the rewrite in key order.
        spec: how records are merged.
        target: where and how to write.
        expired: filter of expired rows; None if rows of the table do not expire.
        known: runs above the output level in which keys are looked up; the task then has one section.
        known_columns: the columns that are read of these, None for all.
        known_keys: range of keys that are looked up.
        first_upper_run: number of the first run above level 0; keys of the runs before are looked up.
        changelog: where and how to write the changelog; None if the task writes none.
        rewrites: whether the merged rows are written; if not, the files only change level, and the task
            writes the changelog or finds superseded rows.
    """

    sections: Sections
    keys: KeyRange
    is_last: bool
    spec: MergeSpec
    target: FileTarget
    expired: ExpiredRows | None = None
    known: tuple[tuple[InputFile, ...], ...] = ()
    known_columns: frozenset[str] | None = None
    known_keys: KeyRange = EVERYTHING
    first_upper_run: int = 0
    changelog: FileTarget | None = None
    rewrites: bool = True

    @property
    def looked_up(self) -> list[InputFile]:
        """All files in which keys are looked up."""
        return [file for run in self.known for file in run]

    @property
    def read_files(self) -> list[InputFile]:
        """All files that are merged, and those in which keys are looked up."""
        return [*self.inputs, *self.looked_up]

    @property
    def folder(self) -> str:
        """The bucket's directory."""
        return self.target.folder

    @property
    def inputs(self) -> list[InputFile]:
        """All files that are merged."""
        return [file for section in self.sections for run in section for file in run]

    @property
    def can_copy_row_groups(self) -> bool:
        """Whether row groups may be copied where no other run has their keys.

        Changelogs and lookups need the values of rows that a copy does not decode.
        """
        return (
            self.target.options.format == "parquet"
            and self.expired is None
            and not self.known
            and self.rewrites
            and self.changelog is None
            and self.spec.changelog is None
            and self.spec.function.lone_records is not LoneRecords.MERGED
            and may_copy(self.target.schema)
            and any(largest_run(section) is not None for section in self.sections)
        )

    def write(self, files: NewFiles) -> TaskOutputs:
        """Writes the merged rows and the changelog; returns the metadata of the files."""
        return _Merge(self, files).run()


class _Merge:
    """The readers, the merge and the writers of one task."""

    def __init__(self, task: MergeTask, files: NewFiles) -> None:
        self._superseded = Superseded()
        self._task = task
        if isinstance(task.spec.function, Superseding):
            function = replace(task.spec.function, superseded=self._superseded)
            self._task = replace(task, spec=replace(task.spec, function=function))
        self._files = files
        self._copying: SectionCopier | None = None

    def run(self) -> TaskOutputs:
        """Writes the merged rows and the changelog; returns the metadata of the files."""
        task = self._task
        data = self._writer_of(task.target)
        changelog = None if task.changelog is None else self._writer_of(task.changelog)
        try:
            with scratch_folder() as folder:
                record = forget if changelog is None else changelog.write
                for rows in self._rows(self._open_runs(), folder, record):
                    if task.rewrites:
                        data.write(rows)
            changes = [] if changelog is None else changelog.finish()
            return TaskOutputs(
                data=tuple(data.finish()),
                changelog=tuple(changes),
                index=self._superseded_rows(),
                copied_bytes=self._copied_bytes,
            )
        except BaseException:
            data.abort()
            if changelog is not None:
                changelog.abort()
            raise

    def _writer_of(self, target: FileTarget) -> RollingWriter[FileMeta]:
        task = self._task
        rolling = rolling_of(
            task.inputs,
            target.options,
            task.budget,
            absorbs_rest=not task.is_last and target is task.target,
            share=0.5 if task.changelog is not None and task.rewrites else 1.0,
        )
        return RollingWriter(lambda: self._open_file(target), rolling)

    def _superseded_rows(self) -> tuple[SupersededRows, ...]:
        """The rows of other files that the merged rows supersede."""
        paths = {file.number: file.path for file in self._task.looked_up}
        return tuple(
            SupersededRows(paths[number].rpartition("/")[2], serialize(rows))
            for number, rows in self._superseded.rows.items()
        )

    @property
    def _copied_bytes(self) -> int:
        """Bytes of row groups that were copied rather than decoded."""
        return 0 if self._copying is None else self._copying.bytes

    def _reading(self) -> Reading:
        task = self._task
        most = max((len(section) for section in task.sections), default=1) + len(task.known)
        return Reading(
            task.inputs if task.known_columns is not None else [*task.inputs, *task.looked_up],
            task.schemas,
            task.target.schema,
            task.spec.compared_columns,
            task.storage,
            task.keys,
            share=task.budget.reading // 2 // max(1, most),
            options=task.target.options.parquet.variants,
            expired=task.expired,
            has_places=isinstance(task.spec.function, Superseding),
        )

    def _open_runs(self) -> list[list[FileRun]]:
        task, reading = self._task, self._reading()
        if task.can_copy_row_groups:
            self._copying = SectionCopier(task.spec, task.keys, task.budget, reading, task.target)
        among = self._looked_up(reading)
        only, keys = task.known_columns, task.known_keys
        known = [FileRun(run, reading, only, keys=keys, among=among) for run in task.known]
        is_written = task.rewrites or task.changelog is not None
        only = None if is_written else only
        return [[*(FileRun(run, reading, only) for run in section), *known] for section in task.sections]

    def _looked_up(self, reading: Reading) -> FirstKeys | None:
        """The keys to look up in known runs; None if it is not worth knowing them."""
        task, first = self._task, reading.first_key
        runs = [run for section in task.sections for run in section]
        new = [[file for file in run if file.run < task.first_upper_run] for run in runs]
        rows = sum(file.rows for run in new for file in run)
        size = sum(file.size for run in task.known for file in run)
        if size < WORTH_BYTES or rows > MOST_KEYS:
            return None
        return first_keys_of((FileRun(run, reading, {first}) for run in new if run), first)

    def _rows(
        self, sections: list[list[FileRun]], spill_folder: Path, record: Record
    ) -> Iterator[pa.RecordBatch | CopiedGroup]:
        task = self._task
        if self._copying is not None:
            for files, runs in zip(task.sections, sections, strict=True):
                yield from self._copying.rows(files, runs, spill_folder)
            return
        columns = [*(column.name for column in task.target.schema.columns), *SYSTEM_COLUMNS]
        for runs in sections:
            for rows in merge_section(runs, task.spec, task.budget, spill_folder, task.keys, record):
                yield rows.select(columns)

    def _open_file(self, target: FileTarget) -> OpenDataFile:
        like = None if self._copying is None else self._copying.like
        return self._files.open_next(target, like=like)
