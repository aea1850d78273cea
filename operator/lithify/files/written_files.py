"""The new files of one task: their numbers, when they end, and their removal if the task fails.

Base of what opens data files in adapters, with the writer's id, which only the executor knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from typing import Protocol

from lithify.engine.rewrite.budget import Budget
from lithify.engine.rewrite.rolling import Rolling
from lithify.errors import LithifyError
from lithify.files.names import GATHERED_SHARE
from lithify.files.options import FileOptions
from lithify.io.storage import Storage


class WrittenFiles:
    """The files of one writer, numbered in the order in which they are opened.

    Args:
        writer: id of the writer, part of the names.
        storage: access to the file system.
    """

    def __init__(self, writer: str, storage: Storage) -> None:
        self._writer = writer
        self._storage = storage
        self._numbers = count()
        self._written: list[str] = []

    def delete(self) -> None:
        """Deletes all written files; suppresses errors, which would hide the original."""
        for path in self._written:
            with suppress(LithifyError):  # the driver finds remaining files by the attempt's prefix
                self._storage.delete(path)

    def _will_write(self, *paths: str) -> None:
        """Remembers where a file may be, to delete it."""
        self._written += dict.fromkeys(paths)


class SizedFile(Protocol):
    """A file whose rows are written again."""

    @property
    def size(self) -> int:
        """Its bytes."""
        ...

    @property
    def rows(self) -> int:
        """The number of its rows."""
        ...


def rolling_of(
    files: Sequence[SizedFile],
    options: FileOptions,
    budget: Budget,
    *,
    absorbs_rest: bool = True,
    share: float = 1.0,
) -> Rolling:
    """When new files end that get the rows of `files`.

    Args:
        files: the files.
        options: how the new ones are written.
        budget: memory of the task.
        absorbs_rest: whether a small remainder is appended to the file before.
        share: the share of the budget's rows in memory.
    """
    return Rolling(
        target_size=options.target_size,
        row_group_bytes=int(budget.row_group * GATHERED_SHARE[options.format] * share),
        bytes_per_row=sum(file.size for file in files) / max(1, sum(file.rows for file in files)),
        absorbs_rest=absorbs_rest,
        unit_size=options.unit_size,
    )
