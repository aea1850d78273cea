"""The data files that one task writes, one after the other.

Used by every kind of task; made by `compaction.task` with the writer's id, which only the executor knows.
"""

from __future__ import annotations

from lithify.clock import Clock, wall_millis
from lithify.files.parquet.copying.source import RowGroupSource
from lithify.files.row_file import in_parquet
from lithify.files.written_files import WrittenFiles
from lithify.formats.paimon.data_files.summaries import FileSummary
from lithify.formats.paimon.data_files.writer import FileTarget, OpenDataFile
from lithify.io.storage import Storage


class NewFiles(WrittenFiles):
    """The files of one writer, wherever they are.

    Args:
        writer: id of the writer, part of the names.
        storage: access to the file system.
        clock: source of creation times.
    """

    def __init__(self, writer: str, storage: Storage, clock: Clock) -> None:
        super().__init__(writer, storage)
        self._clock = clock

    def open_next(
        self, target: FileTarget, summary: FileSummary | None = None, like: RowGroupSource | None = None
    ) -> OpenDataFile:
        """Opens the next file; see `OpenDataFile`."""
        name = target.name(self._writer, next(self._numbers))
        self._will_write(*target.paths(name), *target.paths(in_parquet(name)))
        clock = self._clock
        return OpenDataFile(name, target, self._storage, lambda: wall_millis(clock.now()), summary, like=like)
