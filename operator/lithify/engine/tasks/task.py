"""The base of tasks: its number and its attempt, of which the names of its files are made.

Subclassed by the tasks of adapters; numbered by a step when its attempt begins, and shipped to executors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from lithify.clock import Clock
from lithify.engine.attempts.names import writer_id
from lithify.engine.attempts.stop_file import StopCheck, StopFile
from lithify.formats.protocol.model import GroupId
from lithify.formats.protocol.results import TaskResult


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTask(ABC):
    """Everything that an executor needs to run a task; a `Task` of `formats.protocol.tasks`.

    Attributes:
        index: number of the task in its attempt; 0 until `numbered`.
        prefix: the attempt's prefix of file names; empty until `numbered`.
        stop_file: what stops it; None where the format does not say which groups are lost.
    """

    index: int = 0
    prefix: str = ""
    stop_file: StopFile | None = None

    @property
    @abstractmethod
    def input_sizes(self) -> Mapping[str, int]:
        """Bytes of the files to read, by path."""

    @abstractmethod
    def run(self, clock: Clock, attempt: int = 0, attempt_id: int = 0) -> TaskResult:
        """Reads, writes, and deletes the new files if that fails; see `execution.carry_out`."""

    def stop_check(self) -> StopCheck:
        """Ends one try of the task if its driver asks for it; see `StopCheck`."""
        return StopCheck(self.stop_file, self.index)

    def writer(self, attempt_id: int) -> str:
        """The unique part of the names of the files that one try of the task writes."""
        return writer_id(self.prefix, self.index, attempt_id)


class Grouped(Protocol):
    """A unit of work, as far as steps read it."""

    @property
    def group(self) -> GroupId:
        """The group of the unit."""
        ...


Unit = TypeVar("Unit", bound=Grouped)
AnyTask = TypeVar("AnyTask", bound=StepTask)


def numbered(
    work: Iterable[tuple[Unit, AnyTask]], prefix: str, stop_file: StopFile | None = None
) -> list[tuple[Unit, AnyTask]]:
    """Numbers the tasks of units and assigns them to an attempt, whose prefix starts their file names."""
    return [
        (unit, replace(task, index=index, prefix=prefix, stop_file=stop_file))
        for index, (unit, task) in enumerate(work)
    ]
