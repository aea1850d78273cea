"""Where tasks run: the `TaskRunner` protocol, and the runner that needs no Spark.

`driver` hands its tasks to a runner and gets one result each. Commands and drivers use `spark.SparkRunner`;
`InlineRunner` runs tasks in this process, one after the other, for tests and programs with small tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from lithify.clock import Clock
from lithify.formats.protocol.results import TaskResult
from lithify.formats.protocol.tasks import Task

Progress = Callable[[int], None]
"""Receives the number of tasks that are done."""


class TaskRunner(Protocol):
    """Runs tasks, each at least once, and returns one result each in any order."""

    def run(self, tasks: Sequence[Task], clock: Clock, progress: Progress) -> list[TaskResult]:
        """Runs all tasks to their end.

        Raises:
            TaskFailed: a task failed again and again.
        """
        ...


class InlineRunner:
    """Runs the tasks one by one in this process, without retries."""

    def run(self, tasks: Sequence[Task], clock: Clock, progress: Progress) -> list[TaskResult]:
        """Runs all tasks to their end."""
        results = []
        for number, task in enumerate(tasks, start=1):
            results.append(task.run(clock, attempt_id=number))
            progress(number)
        return results
