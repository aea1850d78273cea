"""The data files that one task writes, and their removal if the task fails."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import count

from lithify.engine.rewrite.budget import Budget
from lithify.engine.rewrite.rolling import Rolling
from lithify.errors import LithifyError
from lithify.files.names import GATHERED_SHARE
from lithify.files.parquet.copying.source import RowGroupSource
from lithify.formats.iceberg.model import DataFile, Partition
from lithify.formats.iceberg.rewriting.target import WriteTarget
from lithify.formats.iceberg.rewriting.writer import OpenDataFile, in_parquet
from lithify.io.storage import Storage


class NewFiles:
    """The files of one writer, numbered in the order in which they are opened.

    Args:
        writer: id of the writer, the beginning of the names.
        target: columns and options.
        storage: access to the file system.
    """

    def __init__(self, writer: str, target: WriteTarget, storage: Storage) -> None:
        self._writer = writer
        self._target = target
        self._storage = storage
        self._numbers = count()
        self._written: list[str] = []

    def open_next(
        self, partition: Partition, like: RowGroupSource | None = None, target: WriteTarget | None = None
    ) -> OpenDataFile:
        """Opens the next file; see `OpenDataFile`. Its columns may be narrower than those of all files."""
        name = f"{self._writer}-{next(self._numbers):05}.{self._target.options.files.format}"
        path = self._target.path(partition, name)
        self._written += {path, in_parquet(path)}
        return OpenDataFile(path, partition, target or self._target, self._storage, like)

    def delete(self) -> None:
        """Deletes all written files; suppresses errors, which would hide the original."""
        for path in self._written:
            with suppress(LithifyError):  # the driver finds remaining files by the attempt's prefix
                self._storage.delete(path)


def rolling_of(files: Sequence[DataFile], target: WriteTarget, budget: Budget) -> Rolling:
    """When new files end that get the rows of `files`."""
    options = target.options.files
    return Rolling(
        target_size=options.target_size,
        row_group_bytes=int(budget.row_group * GATHERED_SHARE[options.format]),
        bytes_per_row=sum(file.size for file in files) / max(1, sum(file.rows for file in files)),
        absorbs_rest=True,
        unit_size=options.unit_size,
    )
