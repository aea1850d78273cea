"""One task: writes the live rows of some data files into new ones of the current schema and spec.

Made by planning; runs on executors. Rows keep the order of the files unless the task sorts them, or has to
divide them by the current partition spec; then they go through local disk if they do not fit into memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pyarrow as pa

from lithify.clock import Clock
from lithify.columns.order import IntPart
from lithify.engine.attempts.stop_file import StopCheck
from lithify.engine.rewrite.budget import MAX_PIECE, Budget
from lithify.engine.rewrite.places import Places, places_of
from lithify.engine.rewrite.rolling import RollingWriter
from lithify.engine.rewrite.sort_keys import RowKey, chained
from lithify.engine.rewrite.sorted_rows import SortedRows
from lithify.engine.tasks.execution import carry_out
from lithify.engine.tasks.task import StepTask
from lithify.faults import failpoint
from lithify.files.written_files import rolling_of
from lithify.formats.iceberg.data_files.reader import FileReader
from lithify.formats.iceberg.data_files.stored import NameMapping, names_of
from lithify.formats.iceberg.deletes.applied import AppliedDeletes, DeletesOfFiles
from lithify.formats.iceberg.deletes.positions import DeletedPositions
from lithify.formats.iceberg.manifests.view import PUFFIN
from lithify.formats.iceberg.model import DataFile, DeleteFile, NewDataFile, NewDeleteFile, Partition
from lithify.formats.iceberg.rewriting.destinations import Destination, KeptFile, RowDivider
from lithify.formats.iceberg.rewriting.live_rows import LiveRows
from lithify.formats.iceberg.rewriting.maps import write_map
from lithify.formats.iceberg.rewriting.new_deletes import write_deletes, write_new_vectors
from lithify.formats.iceberg.rewriting.new_files import NewFiles
from lithify.formats.iceberg.rewriting.packing import packing_of
from lithify.formats.iceberg.rewriting.partitioning import Partitioner
from lithify.formats.iceberg.rewriting.target import WriteTarget
from lithify.formats.iceberg.table.partition_paths import PartitionSpec
from lithify.formats.protocol.results import TaskOutputs, TaskResult
from lithify.io.storage import Storage
from lithify.scratch import scratch_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteTask(StepTask):
    """Rewrites data files.

    Attributes:
        files: the files with the deletes that apply to them, in the order of their rows.
        target: what is written.
        storage: access to the files.
        budget: memory of the task.
        specs: the partition specs of the files.
        mapping: the table's name mapping, for files without field ids.
        order: how rows are sorted; None keeps their order.
        divider: what divides rows between destinations; None for the partition spec.
        deletes: finds the deleted rows.
        kept: files that stay; deleted rows of them are written into position delete files, or vectors.
        has_vectors: whether they are written into vectors; `deletes` then has all that are deleted.
        maps: the folder for what says where rows went; None if nobody asks.
    """

    files: tuple[DataFile, ...]
    target: WriteTarget
    storage: Storage
    budget: Budget
    specs: tuple[PartitionSpec, ...] = ()
    mapping: NameMapping | None = None
    order: RowKey | None = None
    divider: RowDivider | None = None
    deletes: AppliedDeletes = field(default_factory=DeletesOfFiles)
    kept: tuple[KeptFile, ...] = ()
    has_vectors: bool = False
    maps: str | None = None

    @property
    def input_sizes(self) -> Mapping[str, int]:
        """Bytes of the files to read, by path."""
        return {each.path: each.size for each in self._read_files}

    def run(self, clock: Clock, attempt: int = 0, attempt_id: int = 0) -> TaskResult:
        """Runs the task; see `Task` of the protocol."""
        del clock
        files = NewFiles(self.writer(attempt_id), self.target, self.storage)
        write = partial(self._write, self.stop_check())
        return carry_out(write, files, self.index, self.target.folder, attempt)

    def _write(self, stop: StopCheck, files: NewFiles) -> TaskOutputs:
        stop.check()
        reader = FileReader(
            self.storage,
            self.mapping,
            {spec.id: spec.constants for spec in self.specs},
            self.budget.reading // 2,
            len(self.target.columns),
            {each.path: each.format for each in self._read_files},
            names_of(self.target.schema.columns),
        )
        with scratch_folder() as folder:
            every = self._data_files
            deleted = self.deletes.positions(every, reader, self.target.schema, self.budget, folder)
            outputs = self._rewrite(stop, files, reader, deleted, folder) if self.files else TaskOutputs()
            return replace(outputs, deletes=tuple(self._delete(stop, files, reader, deleted)))

    @property
    def _data_files(self) -> list[DataFile]:
        return [*self.files, *(each.file for each in self.kept)]

    @property
    def _read_files(self) -> list[DataFile | DeleteFile]:
        deletes = [each for file in self._data_files for each in file.deletes]
        return [*self.deletes.files, *deletes, *self._data_files]

    @property
    def _destination(self) -> Destination | None:
        """Where all rows go, if they are not divided."""
        spec = self.target.spec
        if spec.fields or self.target.destination is not None or self.divider is not None:
            return self.target.destination
        return Destination(Partition(spec.id))

    def _rewrite(
        self, stop: StopCheck, files: NewFiles, reader: FileReader, deleted: DeletedPositions, folder: Path
    ) -> TaskOutputs:
        places: Places | None = None
        if self.order is None and self._destination is not None:
            outputs = self._pack(stop, files, reader, deleted, self._destination)
        else:
            places = self._new_places(deleted, folder)
            outputs = TaskOutputs(data=tuple(self._sort(stop, files, reader, deleted, folder, places)))
        if self.maps is None:
            return outputs
        found = write_map(files, self.storage, self.maps, self.files, deleted, outputs.data, places)
        failpoint("map-written")
        return replace(outputs, maps=(found,))

    def _new_places(self, deleted: DeletedPositions, folder: Path) -> Places | None:
        """What collects the places of rows that are moved."""
        if self.maps is None:
            return None
        live = sum(each.rows - len(deleted.get(each.path, ())) for each in self.files)
        return places_of(live, self.target.folder, self.budget, folder)

    def _delete(
        self, stop: StopCheck, files: NewFiles, reader: FileReader, deleted: DeletedPositions
    ) -> Iterator[NewDeleteFile]:
        """Writes the deleted rows of files that stay."""
        if self.has_vectors:
            found = [each.file for each in self.kept if deleted.get(each.file.path)]
            stop.check()
            if found:
                yield from write_new_vectors(self.storage, files.next_path(PUFFIN), found, deleted)
            return
        for each in self.kept:
            positions = deleted.get(each.file.path)
            if positions is not None:
                stop.check()
                written = write_deletes(files, self.target, each, positions, reader)
                yield from () if written is None else (written,)

    def _pack(
        self,
        stop: StopCheck,
        files: NewFiles,
        reader: FileReader,
        deleted: DeletedPositions,
        place: Destination,
    ) -> TaskOutputs:
        """Writes rows in the order of their files; columns that all files require are required again.

        Row groups can only be copied into files that say the same of nulls.
        """
        survey = reader.survey(self.files, self.target.columns)
        target = replace(self.target, schema=self.target.schema.narrowed(survey.required))
        live = LiveRows(reader, target, deleted, self.budget, survey.texts)
        packing = packing_of(self.files, reader, target, deleted, self.budget, live)
        writer = RollingWriter(
            lambda: files.open_next(place, packing.like, target),
            rolling_of(self.files, target.options.files, self.budget),
            lambda: packing.to_come,
        )
        data = tuple(writer.write_all(stop.between(packing.rows())))
        return TaskOutputs(data=data, copied_bytes=packing.copied_bytes)

    def _sort(
        self,
        stop: StopCheck,
        files: NewFiles,
        reader: FileReader,
        deleted: DeletedPositions,
        folder: Path,
        places: Places | None,
    ) -> Iterator[NewDataFile]:
        """Writes rows by destination, and in the task's order within each."""
        divider = self._divider
        orders = [order for order in (divider, self.order) if order is not None]
        budget = self.budget if places is None else Budget(self.budget.total - places.memory)
        rows = SortedRows(chained(orders), budget, folder)
        live = LiveRows(reader, self.target, deleted, self.budget)
        for file in self.files:
            for batch in stop.between(live.of(file, most=min(MAX_PIECE, self.budget.reading // 4))):
                rows.add(batch)
        yield from self._write_sorted(files, _placed(stop.between(rows.numbered()), places), divider)

    @property
    def _divider(self) -> RowDivider | None:
        """What divides the rows; None if all have one destination."""
        if self._destination is not None:
            return None
        return self.divider or Partitioner(self.target.spec, self.target.schema)

    def _write_sorted(
        self, files: NewFiles, rows: Iterator[pa.RecordBatch], divider: RowDivider | None
    ) -> Iterator[NewDataFile]:
        rolling = rolling_of(self.files, self.target.options.files, self.budget)
        current: Destination | None = None
        writer: RollingWriter[NewDataFile] | None = None
        try:
            for batch in rows:
                for place, part in self._split(batch, divider):
                    if writer is None or place != current:
                        yield from writer.finish() if writer is not None else ()
                        current = place
                        writer = RollingWriter(partial(files.open_next, place), rolling)
                    writer.write(part)
            yield from writer.finish() if writer is not None else ()
        except BaseException:
            if writer is not None:
                writer.abort()
            raise

    def _split(
        self, rows: pa.RecordBatch, divider: RowDivider | None
    ) -> Iterator[tuple[Destination, pa.RecordBatch]]:
        if divider is not None:
            yield from divider.split(rows)
        elif self._destination is not None:
            yield self._destination, rows


def _placed(
    rows: Iterator[tuple[pa.RecordBatch, IntPart]], places: Places | None
) -> Iterator[pa.RecordBatch]:
    """Rows in the order in which they are written; tells `places` of them."""
    for batch, numbers in rows:
        if places is not None:
            places.add(numbers)
        yield batch
