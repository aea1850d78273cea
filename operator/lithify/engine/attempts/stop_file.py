"""The file that stops tasks: numbers of tasks of a living attempt whose results nobody can commit any more.

Written by a step's driver beside the journal, read by its tasks on executors: the one place that both of them
reach, whichever way tasks are run. Without a journal it is deleted like other temporary files that a crash
leaves behind. It only saves work; what is committed does not depend on it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import TypeVar

from lithify.errors import LithifyError, TaskStopped
from lithify.io.storage import Storage

LOOK_SECONDS = 10.0
"""Seconds between two looks of a running task: each is one small request."""
_MOST_BYTES = 8 << 20

Batch = TypeVar("Batch")


@dataclass(frozen=True, slots=True)
class StopFile:
    """The stop file of one attempt; picklable.

    Attributes:
        storage: access to it.
        path: its place.
        prefix: the attempt's prefix: another attempt may have had the same number.
        seconds: seconds between two looks of a running task.
    """

    storage: Storage
    path: str
    prefix: str
    seconds: float = LOOK_SECONDS

    def write(self, tasks: Collection[int]) -> None:
        """Stops some tasks, by their numbers; replaces what was written before."""
        self.storage.write_text(self.path, json.dumps({"prefix": self.prefix, "tasks": sorted(tasks)}))

    def delete(self) -> None:
        """Deletes it."""
        self.storage.delete(self.path)

    def has(self, task: int) -> bool:
        """Whether a task is to stop; not if the file cannot be read."""
        with suppress(LithifyError, ValueError, RecursionError):
            text = self.storage.read_text(self.path, _MOST_BYTES)
            found = None if text is None else json.loads(text)
            if isinstance(found, dict) and found.get("prefix") == self.prefix:
                listed = found.get("tasks")
                return isinstance(listed, list) and task in listed
        return False


class StopCheck:
    """Ends one try of a task whose results nobody can commit any more.

    Args:
        file: the stop file; None where the format does not say which groups are lost.
        task: the task's number.
    """

    def __init__(self, file: StopFile | None, task: int) -> None:
        self._file = file
        self._task = task
        self._looked: float | None = None

    def check(self) -> None:
        """Looks into the stop file, at first and every few seconds.

        Raises:
            TaskStopped: it names the task.
        """
        now = monotonic()
        if self._file is None or (self._looked is not None and now < self._looked + self._file.seconds):
            return
        self._looked = now
        if self._file.has(self._task):
            raise TaskStopped(self._file.path)

    def between(self, batches: Iterable[Batch]) -> Iterator[Batch]:
        """The batches, with a check before each."""
        for batch in batches:
            self.check()
            yield batch
