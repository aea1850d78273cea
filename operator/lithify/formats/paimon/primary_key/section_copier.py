"""Merges the sections of a task, copying row groups where the keys of other runs leave them alone.

Made by `merge_task` for tasks that may copy. Which row groups are copied is decided in `copying`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from lithify.columns.key_range import KeyRange
from lithify.columns.order import first_disorder, key_at, parts_of_column
from lithify.engine.rewrite.budget import Budget
from lithify.engine.rewrite.passes import merge_section
from lithify.engine.rewrite.runs import RunSource
from lithify.engine.rewrite.spec import MergeSpec
from lithify.errors import CorruptTable, UnsupportedTable
from lithify.files.model import InputFile
from lithify.files.parquet.copying.copied_groups import CopiedGroup, open_source
from lithify.files.parquet.copying.source import RowGroupSource
from lithify.files.parquet.reader import ParquetReader
from lithify.formats.paimon.data_files.reader import FileRun, Reading
from lithify.formats.paimon.data_files.writer import FileTarget, OpenDataFile
from lithify.formats.paimon.primary_key.copying import (
    Group,
    Stage,
    groups_of_file,
    largest_run,
    stages_of,
)
from lithify.formats.paimon.primary_key.key_order import in_key_order
from lithify.formats.paimon.primary_key.staged_runs import StagedRun
from lithify.formats.paimon.schema.schema import SYSTEM_COLUMNS

_KEY_PIECE_BYTES = 1 << 20
"""Bytes of key columns to read at a time."""

_SCAN_PIECE_BYTES = 8 << 20

_MOST_CHUNKS = 20_000
"""Column chunks of a section's largest run whose metadata is held, a few KiB each."""


class SectionCopier:
    """Merges and copies the sections of one task.

    Attributes:
        like: a file as the task's writer makes it.
        bytes: bytes of the row groups copied so far.

    Args:
        spec: how records are merged.
        keys: the key range to merge.
        budget: the task's memory budget.
        reading: how files are read for the merge.
        target: how new files are written, in Parquet.
    """

    def __init__(
        self, spec: MergeSpec, keys: KeyRange, budget: Budget, reading: Reading, target: FileTarget
    ) -> None:
        self._spec = spec
        self._keys = keys
        self._budget = budget
        self._reading = reading
        self.like = OpenDataFile.like(target)
        schema = target.schema
        floats = (column.name for column in schema.columns if column.type.is_float)
        self._first = schema.primary_key[0]
        self._first_type = schema.key_types[0]
        self._indexed = target.indexes.columns
        self._scanned_columns = {*schema.primary_key, *SYSTEM_COLUMNS, *floats, *self._indexed}
        self._chunks = 0
        self.bytes = 0

    def rows(
        self, section: Sequence[Sequence[InputFile]], runs: Sequence[FileRun], spill_folder: Path
    ) -> Iterator[pa.RecordBatch | CopiedGroup]:
        """The rows of a section, and the row groups that are copied, in key order.

        Raises:
            CorruptTable: a run is not sorted, or a file cannot be read.
        """
        number = largest_run(section)
        sources: dict[str, RowGroupSource] = {}
        stages = [] if number is None else self._stages(section, number, sources)
        if number is None or not stages:
            yield from self._merged(runs, spill_folder)
            return
        parts = self._staged(runs, number, stages, sources, spill_folder)
        yield from in_key_order(parts, self._spec.layout, section[number][0].path)

    def _staged(
        self,
        runs: Sequence[FileRun],
        number: int,
        stages: Sequence[Stage],
        sources: dict[str, RowGroupSource],
        spill_folder: Path,
    ) -> Iterator[pa.RecordBatch | CopiedGroup]:
        with ExitStack() as opened:
            others = [StagedRun(run, self._first) for at, run in enumerate(runs) if at != number]
            for run in others:
                opened.callback(run.close)
            for stage in stages:
                if stage.is_copy:
                    yield from self._copied(stage.groups[0], sources, spill_folder)
                else:
                    own = self._run_of(stage.groups)
                    parts = [run.upto(stage.upto) for run in others]
                    yield from self._merged([*own, *parts], spill_folder)

    def _stages(
        self,
        section: Sequence[Sequence[InputFile]],
        number: int,
        sources: dict[str, RowGroupSource],
    ) -> list[Stage]:
        """The stages of a section; reads the footers of its largest run."""
        self._chunks = 0
        groups: list[Group] = []
        for file in section[number]:
            found = self._groups(file, sources)
            if found is None:
                return []
            groups += found
        others = [
            FileRun(run, self._reading, {self._first}) for at, run in enumerate(section) if at != number
        ]
        if not any(group.is_copied for group in groups):
            return []
        return stages_of(groups, others, self._first, _KEY_PIECE_BYTES)

    def _groups(self, file: InputFile, sources: dict[str, RowGroupSource]) -> list[Group] | None:
        """The row groups of a file; None if they cannot be read: merging then reports the cause."""
        reader = self._reading.readers.of(file.path)
        if not isinstance(reader, ParquetReader):
            return None
        first = (self._first, self._first_type)
        try:
            footer = reader.footers.of(file.path)
            self._chunks += footer.num_row_groups * footer.num_columns
            if self._chunks > _MOST_CHUNKS:
                return None
            source = open_source(self._reading.storage, file)
            if source is None:
                return None
            sources[file.path] = source
            found = groups_of_file(file, source, self.like, first, self._keys)
        except (CorruptTable, UnsupportedTable):
            return None
        if found is None:
            return None
        return [replace(each, is_copied=each.is_copied and self._fits(each, source)) for each in found]

    def _fits(self, group: Group, source: RowGroupSource) -> bool:
        """Whether the columns that have to be read of a copied row group fit into the budget."""
        metadata = source.footer.metadata.row_group(group.number)
        chunks = (metadata.column(number) for number in range(metadata.num_columns))
        wanted = self._scanned_columns
        read = [chunk for chunk in chunks if chunk.path_in_schema.partition(".")[0] in wanted]
        size = sum(int(chunk.total_uncompressed_size) for chunk in read)
        return size <= self._budget.reading

    def _copied(
        self, group: Group, sources: dict[str, RowGroupSource], spill_folder: Path
    ) -> Iterator[pa.RecordBatch | CopiedGroup]:
        """A row group as it is; merged if its rows need a change after all."""
        rows = self._scanned(group)
        source, path = sources[group.file.path], group.file.path
        if self._is_clean(rows, group, source):
            with self._reading.storage.open(path, group.file.size) as stream:
                copied = CopiedGroup(source.over(stream), group.number, (rows,), self._indexed)
                self.bytes += copied.bytes
                yield copied
        else:
            yield from self._merged(self._run_of([group]), spill_folder)

    def _scanned(self, group: Group) -> pa.Table:
        """The columns that metadata is computed from: keys, system columns, floats and indexed ones."""
        run = FileRun([group.file], self._reading, self._scanned_columns, {group.file.path: [group.number]})
        pieces = [piece.rows for piece in run.pieces(_SCAN_PIECE_BYTES)]
        return pa.Table.from_batches(pieces, self._reading.schema)

    def _is_clean(self, rows: pa.Table, group: Group, source: RowGroupSource) -> bool:
        """Whether the rows are those that the footer describes, sorted, and none retracts its key.

        Raises:
            CorruptTable: there are keys outside of the row group's bounds, on which the stages rely.
        """
        layout = self._spec.layout
        if not 0 < rows.num_rows == source.footer.row_groups[group.number].rows:
            return False
        batch = rows.combine_chunks().to_batches()[0]
        keys = parts_of_column(batch.column(self._first))
        if key_at(keys, 0) < group.low or key_at(keys, batch.num_rows - 1) > group.high:
            raise CorruptTable(group.file.path, f"row group {group.number} has keys beyond its statistics")
        is_sorted = first_disorder(layout.key_parts(batch)) is None
        return is_sorted and not layout.retracts(batch).any() and layout.column_with_nan(batch) is None

    def _run_of(self, groups: Sequence[Group]) -> list[FileRun]:
        """Some row groups as a run; none without row groups."""
        by_path: dict[str, list[int]] = {}
        files: dict[str, InputFile] = {}
        for group in groups:
            by_path.setdefault(group.file.path, []).append(group.number)
            files[group.file.path] = group.file
        return [FileRun([*files.values()], self._reading, None, by_path)] if groups else []

    def _merged(self, runs: Sequence[RunSource], spill_folder: Path) -> Iterator[pa.RecordBatch]:
        yield from merge_section(runs, self._spec, self._budget, spill_folder, self._keys)
