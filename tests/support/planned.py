"""A driver's run whose tasks do nothing, in a process of its own, and the memory that it takes.

`python -m support.planned` plans, makes the tasks and the journal, and, as if no row had been left, commits.
So tables can be compacted of which there are no data files. What it has taken is printed as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC
from unittest.mock import patch

from infrastructure.oracle.client import Table
from lithify.clock import Clock, SystemClock
from lithify.engine.run.driver import compact
from lithify.engine.run.runner import Progress
from lithify.formats.paimon.compaction import planning
from lithify.formats.paimon.compaction.planning import MOST_FILES
from lithify.formats.protocol.results import TaskOutputs, TaskResult
from lithify.formats.protocol.tasks import Task
from support.runs import TESTS, request, resident


@dataclass(frozen=True, slots=True)
class Taken:
    """What a run has taken.

    Attributes:
        files: files that its tasks read.
        tasks: their number.
        planned_bytes: the largest resident memory when its first tasks began.
        peak_bytes: the same at its end.
    """

    files: int = 0
    tasks: int = 0
    planned_bytes: int = 0
    peak_bytes: int = 0


def run_without_data(table: Table, *, commit: bool = True, at_once: int = MOST_FILES) -> Taken:
    """Runs a full compaction whose tasks do nothing.

    Args:
        table: the table.
        commit: whether it commits; otherwise it ends before its first task.
        at_once: number of files above which a plan takes no more buckets.
    """
    words = [f"--at-once={at_once}", *([] if commit else ["--plan-only"])]
    command = [sys.executable, "-m", "support.planned", str(table.warehouse), str(table.name), *words]
    found = subprocess.run(command, cwd=TESTS, check=True, stdout=subprocess.PIPE)
    return Taken(**json.loads(found.stdout))


class _Planned(BaseException):
    """The first tasks would begin now."""


class _NoRows:
    """A runner whose tasks return no files, as if all rows had been deleted."""

    def __init__(self, *, commits: bool) -> None:
        self.taken = Taken()
        self._commits = commits

    def run(self, tasks: Sequence[Task], clock: Clock, progress: Progress) -> list[TaskResult]:
        """Counts the tasks."""
        del clock
        taken = self.taken
        self.taken = replace(
            taken,
            files=taken.files + sum(len(task.input_sizes) for task in tasks),
            tasks=taken.tasks + len(tasks),
            planned_bytes=taken.planned_bytes or resident("VmHWM"),
        )
        if not self._commits:
            raise _Planned
        progress(len(tasks))
        return [TaskResult(task.index, TaskOutputs(), 0.0, 0) for task in tasks]


def main(words: Sequence[str]) -> None:
    parser = ArgumentParser()
    parser.add_argument("warehouse")
    parser.add_argument("table")
    parser.add_argument("--at-once", type=int, default=MOST_FILES)
    parser.add_argument("--plan-only", action="store_true")
    given = parser.parse_args(words)
    runner = _NoRows(commits=not given.plan_only)
    with suppress(_Planned), patch.object(planning, "MOST_FILES", given.at_once):
        compact(request(Table(given.warehouse, given.table)), runner, SystemClock(UTC))
    print(json.dumps(asdict(replace(runner.taken, peak_bytes=resident("VmHWM")))))


if __name__ == "__main__":
    main(sys.argv[1:])
