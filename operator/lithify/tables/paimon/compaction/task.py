"""What tasks of every kind of table have in common.

Tasks are made by the planners, numbered by `step`, shipped to executors by a runner, and run there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from lithify.clock import Clock
from lithify.rewriting.budget import Budget
from lithify.tables.format import TaskResult
from lithify.tables.io.storage import Storage
from lithify.tables.paimon.schema.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionTask(ABC):
    """Everything that an executor needs to run a task; a `Task` of `tables.format`.

    Attributes:
        index: number of the task in its attempt; 0 until `numbered`.
        prefix: the attempt's prefix of file names; empty until `numbered`.
        schemas: the schemas of the input files, by id.
        storage: access to the files.
        budget: memory budget.
    """

    index: int = 0
    prefix: str = ""
    schemas: Mapping[int, Schema]
    storage: Storage
    budget: Budget

    @property
    @abstractmethod
    def input_sizes(self) -> dict[str, int]:
        """Bytes of the files to read, by path."""

    @abstractmethod
    def run(self, clock: Clock, attempt: int = 0, attempt_id: int = 0) -> TaskResult:
        """Does the work, and cleans up after itself if that fails; see `task_running.carry_out`."""


AnyWork = TypeVar("AnyWork")
AnyTask = TypeVar("AnyTask", bound=CompactionTask)


def numbered(work: Iterable[tuple[AnyWork, AnyTask]], prefix: str) -> list[tuple[AnyWork, AnyTask]]:
    """Numbers the tasks of units and assigns them to an attempt, whose prefix starts their file names."""
    return [(unit, replace(task, index=index, prefix=prefix)) for index, (unit, task) in enumerate(work)]
