"""The data files that one task writes, one after the other, and their removal if the task fails.

Used by tasks that write the rows of their input one after the other, whatever the kind of table.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from lithify.clock import Clock, wall_millis
from lithify.errors import LithifyError
from lithify.rewriting.budget import Budget
from lithify.rewriting.rolling import Rolling
from lithify.tables.files.model import InputFile
from lithify.tables.files.names import GATHERED_SHARE
from lithify.tables.files.parquet.copying.source import RowGroupSource
from lithify.tables.io.storage import Storage
from lithify.tables.paimon.data_files.summaries import FileSummary
from lithify.tables.paimon.data_files.writer import FileTarget, OpenDataFile


class NewFiles:
    """The files of one writer.

    Args:
        target: where and how to write.
        writer: id of the writer, part of the names.
        storage: access to the file system.
        clock: source of creation times.
    """

    def __init__(self, target: FileTarget, writer: str, storage: Storage, clock: Clock) -> None:
        self.target = replace(target, writer_id=writer)
        self._storage = storage
        self._clock = clock
        self._names = self.target.names()
        self._written: list[str] = []

    def open_next(self, like: RowGroupSource | None = None) -> OpenDataFile:
        """Opens the next file; with `like`, row groups can be copied into it."""
        name = next(self._names)
        self._written += self.target.paths(name)
        return OpenDataFile(
            name,
            self.target,
            self._storage,
            lambda: wall_millis(self._clock.now()),
            self._summary(),
            like=like,
        )

    def _summary(self) -> FileSummary | None:
        """What collects the metadata of the next file's rows; None for rows with system columns."""
        return None

    def delete(self) -> None:
        """Deletes all written files and their indexes; suppresses errors, which would hide the original."""
        for path in self._written:
            with suppress(LithifyError):  # the driver finds remaining files by the attempt's prefix
                self._storage.delete(path)


def rolling_of(
    files: Sequence[InputFile], target: FileTarget, budget: Budget, *, absorbs_rest: bool = True
) -> Rolling:
    """When new files end that get the rows of `files`."""
    options = target.options
    return Rolling(
        target_size=options.target_size,
        row_group_bytes=int(budget.row_group * GATHERED_SHARE[options.format]),
        bytes_per_row=sum(file.size for file in files) / max(1, sum(file.rows for file in files)),
        absorbs_rest=absorbs_rest,
        unit_size=options.unit_size,
    )
