"""The data files that one task writes, one after the other, and their removal if the task fails.

Used by every kind of task; made by `compaction.task` with the writer's id, which only the executor knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import count

from lithify.clock import Clock, wall_millis
from lithify.engine.rewrite.budget import Budget
from lithify.engine.rewrite.rolling import Rolling
from lithify.errors import LithifyError
from lithify.files.model import InputFile
from lithify.files.names import GATHERED_SHARE
from lithify.files.parquet.copying.source import RowGroupSource
from lithify.formats.paimon.data_files.summaries import FileSummary
from lithify.formats.paimon.data_files.writer import FileTarget, OpenDataFile
from lithify.io.storage import Storage


class NewFiles:
    """The files of one writer, numbered in the order in which they are opened, wherever they are.

    Args:
        writer: id of the writer, part of the names.
        storage: access to the file system.
        clock: source of creation times.
    """

    def __init__(self, writer: str, storage: Storage, clock: Clock) -> None:
        self._writer = writer
        self._storage = storage
        self._clock = clock
        self._numbers = count()
        self._written: list[str] = []

    def open_next(
        self, target: FileTarget, summary: FileSummary | None = None, like: RowGroupSource | None = None
    ) -> OpenDataFile:
        """Opens the next file; see `OpenDataFile`."""
        name = target.name(self._writer, next(self._numbers))
        self._written += target.paths(name)
        clock = self._clock
        return OpenDataFile(name, target, self._storage, lambda: wall_millis(clock.now()), summary, like=like)

    def delete(self) -> None:
        """Deletes all written files and their indexes; suppresses errors, which would hide the original."""
        for path in self._written:
            with suppress(LithifyError):  # the driver finds remaining files by the attempt's prefix
                self._storage.delete(path)


def rolling_of(
    files: Sequence[InputFile],
    target: FileTarget,
    budget: Budget,
    *,
    absorbs_rest: bool = True,
    share: float = 1.0,
) -> Rolling:
    """When new files end that get the rows of `files`; `share` is that of the budget's rows in memory."""
    options = target.options
    return Rolling(
        target_size=options.target_size,
        row_group_bytes=int(budget.row_group * GATHERED_SHARE[options.format] * share),
        bytes_per_row=sum(file.size for file in files) / max(1, sum(file.rows for file in files)),
        absorbs_rest=absorbs_rest,
        unit_size=options.unit_size,
    )
