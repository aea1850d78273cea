"""A runner whose tasks write wrong rows: what a mistake in the merge would do, found by canaries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from lithify.clock import Clock
from lithify.engine.run.digesting import DigestTask
from lithify.engine.run.runner import InlineRunner, Progress
from lithify.formats.protocol.results import TaskResult
from lithify.formats.protocol.tasks import Task

Damage = Callable[[pa.Table], pa.Table]


def lose_a_row(rows: pa.Table) -> pa.Table:
    """The rows without the last one."""
    return rows.slice(0, len(rows) - 1)


def repeat_a_row(rows: pa.Table) -> pa.Table:
    """The rows with the first one in place of the last one; as many as before."""
    return rows.take(pa.array([*range(len(rows) - 1), 0]))


@dataclass
class WrongRewrites(InlineRunner):
    """Damages one new data file in the folder of a table, after the tasks that write.

    Attributes:
        folder: the folder.
        damage: what becomes of the rows of the file.
        digested: the number of tasks that only read.
    """

    folder: Path
    damage: Damage | None = None
    digested: int = field(default=0)

    def run(self, tasks: Sequence[Task], clock: Clock, progress: Progress) -> list[TaskResult]:
        """Runs the tasks, then damages."""
        if any(isinstance(task, DigestTask) for task in tasks):
            self.digested += len(tasks)
            return super().run(tasks, clock, progress)
        before = self._files()
        results: list[Any] = super().run(tasks, clock, progress)
        for path in sorted(self._files() - before)[:1]:
            if self.damage is not None:
                pq.write_table(self.damage(pq.read_table(path, partitioning=None)), path)
        return results

    def _files(self) -> set[Path]:
        return {*self.folder.rglob("*.parquet")}
