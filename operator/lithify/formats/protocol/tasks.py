"""Tasks of a table in any format: how work is split, and what one executor runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from lithify.clock import Clock
from lithify.engine.rewrite.budget import Budget
from lithify.formats.protocol.results import TaskResult


@dataclass(frozen=True, slots=True)
class Sizing:
    """How work is split into tasks.

    Attributes:
        task_bytes: approximate bytes that one task reads; None for four times the target file size.
        budget: memory budget of one task.
        share: fraction of the default size that one task reads if `task_bytes` is None.
    """

    task_bytes: int | None = None
    budget: Budget = field(default_factory=Budget)
    share: float = 1.0


class Task(Protocol):
    """Work for one executor; picklable."""

    @property
    def index(self) -> int:
        """Number of the task in its step."""
        ...

    @property
    def input_sizes(self) -> Mapping[str, int]:
        """Bytes of the files that the task reads, by path."""
        ...

    def run(self, clock: Clock, attempt: int = 0, attempt_id: int = 0) -> TaskResult:
        """Runs the task on an executor.

        Args:
            clock: source of creation times.
            attempt: number of the try, from 0.
            attempt_id: unique among all tries of all tasks of the step; part of the file names.
        """
        ...
