"""The progress bar of a run, on stderr. Used by `lithify compact` and the demo."""

from __future__ import annotations

from collections.abc import Sequence

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from lithify.amounts import bytes_text
from lithify.cli.output import err, number
from lithify.engine.run.report import Report
from lithify.formats.protocol.planning import Plan
from lithify.formats.protocol.tasks import Task


class ProgressBar:
    """Shows on stderr how many tasks are done; an `Observer` of the driver and a context manager.

    Args:
        noun: what the format calls a group.
    """

    def __init__(self, noun: str) -> None:
        self._noun = noun
        console = err()
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
            redirect_stdout=False,
            redirect_stderr=False,  # the runner does that, to hide what Spark prints
        )
        self._what = "planning"
        self._bar = self._progress.add_task(self._what, total=None)

    def __enter__(self) -> ProgressBar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def planned(self, plan: Plan, tasks: Sequence[Task]) -> None:
        """Starts the bar of a round."""
        size = sum(unit.read_bytes for unit in plan.units)
        what = f"merging {bytes_text(size)} in {number(len(plan.units), self._noun)}"
        self._what = what
        self._progress.update(self._bar, description=what, total=len(tasks), completed=0)

    def progressed(self, done: int) -> None:
        """Moves the bar."""
        self._progress.update(self._bar, completed=done)

    def committing(self) -> None:
        """Says so; the bar stays where it is."""
        self._progress.update(self._bar, description="committing")

    def committed(self, report: Report) -> None:
        """Leaves it to the report."""

    def blocked(self, report: Report) -> None:
        """Leaves it to the report."""

    def continued(self) -> None:
        """Says so; the bar goes on."""
        self._progress.update(self._bar, description=self._what)
