"""Reports an attempt's progress to the operator.

Used by `attempt` and `environment`. Reports are best effort and never affect the run: a pod's annotation is
patched in a thread of its own, at most every few seconds, and errors there are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Condition, Event, Thread

from lithify.contract.outcome import Progress, Stage, write_progress
from lithify.engine.application.outcome import plan_summary, replace_file
from lithify.engine.application.stopping import StopSignal
from lithify.engine.run.report import Report
from lithify.formats.protocol.planning import Plan
from lithify.formats.protocol.tasks import Task
from lithify.resources.compaction import PlanSummary

Tell = Callable[[Progress], None]

_PATCH_SECONDS = 2.0


class DriveObserver:
    """An `Observer` of a run's driver.

    Args:
        tell: receives each change.
        stop: the request to stop.
        needs_executors: whether tasks wait for executors, so that the first tasks start with none ready.

    Attributes:
        plan: what the first round does; later ones only repeat parts of it.
        committed_so_far: the run as it stood after its last commit.
        blocked_so_far: the run as it stood when it last found groups that cannot be compacted.
    """

    def __init__(self, tell: Tell, stop: StopSignal, *, needs_executors: bool = False) -> None:
        self._tell = tell
        self._needs_executors = needs_executors
        self._stop = stop
        self._progress = Progress(stage=Stage.PLANNING)
        self.plan: PlanSummary | None = None
        self.committed_so_far: Report | None = None
        self.blocked_so_far: Report | None = None
        tell(self._progress)

    def planned(self, plan: Plan, tasks: Sequence[Task]) -> None:
        """A round begins."""
        self._stop.unshield()
        self.plan = self.plan or plan_summary(plan, tasks)
        ready = self._progress.executors_ready
        if ready is None and tasks and self._needs_executors:
            ready = 0
        running = replace(self._progress, stage=Stage.RUNNING, done=0, total=len(tasks), plan=self.plan)
        self._show(replace(running, executors_ready=ready))

    def maintaining(self) -> None:
        """Maintenance begins; it has no tasks."""
        self._show(replace(self._progress, stage=Stage.RUNNING))

    def executors(self, ready: int, wanted: int) -> None:
        """Reports the numbers of ready and of requested executors."""
        self._show(replace(self._progress, executors_ready=ready, executors_wanted=wanted))

    def progressed(self, done: int) -> None:
        """Some tasks are done, or time has passed."""
        self._stop.check()
        self._show(replace(self._progress, done=done))

    def committing(self) -> None:
        """From here on, a stop request is deferred until the commit ends."""
        self._stop.check()
        self._stop.shield()
        self._show(replace(self._progress, stage=Stage.COMMITTING))

    def committed(self, report: Report) -> None:
        """Keeps what is done. A deferred stop request takes effect when more work begins."""
        self.committed_so_far = report

    def blocked(self, report: Report) -> None:
        """Keeps the blocked groups for the outcome, so that the next run need not try them again."""
        self.blocked_so_far = report

    def continued(self) -> None:
        """The next step begins."""
        self._stop.unshield()
        self._show(replace(self._progress, stage=Stage.RUNNING))

    def _show(self, progress: Progress) -> None:
        if progress != self._progress:
            self._progress = progress
            self._tell(progress)


def to_file(path: Path) -> Tell:
    """Reports progress to a file, which is replaced each time."""

    def tell(progress: Progress) -> None:
        with suppress(OSError):
            replace_file(path, write_progress(progress))

    return tell


class Throttled:
    """Reports only the newest progress, from a thread, with a pause between reports; a context manager.

    Args:
        tell: sends a report; may be slow and may fail.
        seconds: the pause.
    """

    def __init__(self, tell: Tell, seconds: float = _PATCH_SECONDS) -> None:
        self._slow = tell
        self._seconds = seconds
        self._newest: Progress | None = None
        self._changed = Condition()
        self._closed = Event()
        self._thread = Thread(target=self._run, name="progress", daemon=True)

    def __enter__(self) -> Tell:
        self._thread.start()
        return self._tell

    def __exit__(self, *_: object) -> None:
        # Does not wait: the outcome supersedes any progress, and the API server may be slow.
        self._closed.set()
        with self._changed:
            self._changed.notify()

    def _tell(self, progress: Progress) -> None:
        with self._changed:
            self._newest = progress
            self._changed.notify()

    def _run(self) -> None:
        while not self._closed.is_set():
            with self._changed:
                self._changed.wait_for(lambda: self._newest is not None or self._closed.is_set())
                progress, self._newest = self._newest, None
            if progress is not None and not self._closed.is_set():
                with suppress(Exception):
                    self._slow(progress)
                self._closed.wait(self._seconds)
