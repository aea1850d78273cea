"""The parts of a step that formats share: numbered tasks, heartbeats, results by unit, and its end.

Base of the steps of adapters, which write the journal entry first. A format adds what results become, how
they are committed, and which of its files an attempt leaves behind. This module decides in which order an
attempt ends: condemned, swept, closed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Generic

from lithify.clock import Clock
from lithify.engine.attempts.attempt import Attempt, Scope
from lithify.engine.attempts.heartbeat import Heartbeat
from lithify.engine.attempts.journal import Journal
from lithify.engine.attempts.stop_file import StopFile
from lithify.engine.tasks.task import AnyTask, Unit, numbered
from lithify.errors import CorruptTable, LithifyError, StorageError
from lithify.faults import failpoint
from lithify.formats.protocol.results import Block, TaskResult


class AttemptStep(ABC, Generic[Unit, AnyTask, Scope]):
    """A step with a journal entry; with `commit`, it implements `CommitStep` of `formats.protocol`.

    Attributes:
        has_stragglers: whether a task may still be running; then the journal entry stays open.
        finds_lost: whether the format says which groups are lost, and its tasks stop when asked for it.

    Args:
        journal: the table's journal.
        attempt: the journal entry.
        work: the units' tasks.
        clock: source of the time for the heartbeat and the commit.
    """

    finds_lost = False

    def __init__(
        self,
        journal: Journal[Scope],
        attempt: Attempt[Scope],
        work: Iterable[tuple[Unit, AnyTask]],
        clock: Clock,
    ) -> None:
        self._journal = journal
        self._attempt = attempt
        self._stop_file: StopFile | None = _stop_file_of(journal, attempt) if self.finds_lost else None
        self._work = numbered(work, attempt.prefix, self._stop_file)
        self._clock = clock
        self._heartbeat = Heartbeat(journal, attempt, clock)
        self.has_stragglers = False
        self._lost: dict[Any, str] = {}
        self._has_stopped = False

    @property
    def number(self) -> int:
        """The number of the attempt."""
        return self._attempt.number

    @property
    def tasks(self) -> list[AnyTask]:
        """The tasks of all units."""
        return [task for _, task in self._work]

    def beat(self) -> None:
        """Writes a heartbeat."""
        self._heartbeat.beat()

    def stop_lost(self) -> None:
        """Stops the tasks of groups that can no longer be committed.

        Suppresses errors of the catalog and the store: tasks may as well run on, and the commit looks again.
        """
        if self._stop_file is None:
            return
        with suppress(LithifyError):
            found = self._find_lost()
            if found.keys() <= self._lost.keys():
                return
            self._lost.update(found)
            self._has_stopped = True  # also if the answer to the write is lost
            self._stop_file.write({task.index for unit, task in self._work if unit.group in self._lost})

    def followers(self, results: Sequence[TaskResult]) -> list[AnyTask]:
        """The tasks that follow when all others are done."""
        del results
        return []

    def finish(self, results: Sequence[TaskResult], followed: Sequence[TaskResult]) -> Sequence[Block]:
        """Accepts the tasks' results; returns the groups that their tasks found to be blocked.

        Raises:
            LithifyError: a task failed for a reason that affects more than its own group.
        """
        done = self._attributed(results, followed)
        failpoint("tasks-done")
        return self._accept([(unit, result) for unit, result in done if unit.group not in self._lost])

    def clean(self) -> Sequence[str]:
        """Deletes uncommitted files, then closes the journal entry; returns why that failed.

        A failure does not affect the commit: a later run finds the remaining files by the journal.
        """
        try:
            if self._delete_leftovers():
                failpoint("leftovers-deleted")
                if not self.has_stragglers:
                    self._forget_stops()
                    self._close()
        except (CorruptTable, StorageError) as error:
            return (str(error),)
        return ()

    def give_up(self) -> None:
        """Ends an attempt that can no longer be committed.

        Suppresses errors, which would hide the original one; later runs find remaining files by the journal.
        """
        with suppress(LithifyError):
            self._condemn()
        with suppress(LithifyError):
            self._sweep()
            if not self.has_stragglers:
                self._forget_stops()
            if not self.has_stragglers and not self._may_write_late:
                self._journal.close(self._attempt)

    def _attributed(
        self, results: Sequence[TaskResult], followed: Sequence[TaskResult]
    ) -> list[tuple[Unit, TaskResult]]:
        """The results, each with its unit."""
        units = {task.index: unit for unit, task in self._work}
        return [(units[each.index], each) for each in (*results, *followed)]

    def _condemn(self) -> None:
        """Records that the attempt never commits from now on, so that its files may be deleted."""
        self._journal.condemn(self._attempt, self._clock.now())

    def _forget_stops(self) -> None:
        """Deletes the stop file, which nobody reads any more."""
        if self._stop_file is not None and self._has_stopped:
            self._stop_file.delete()

    def _find_lost(self) -> Mapping[Any, str]:
        """The groups of the step that can no longer be committed as of now, with the reason.

        Only asked where `finds_lost`. Cheap where nothing was committed since the last call.
        """
        return {}

    def _close(self) -> None:
        """Closes the journal entry of an attempt that is over."""
        self._journal.close(self._attempt)

    @property
    def _may_write_late(self) -> bool:
        """Whether writes of an attempt that was given up may still arrive; then its entry stays open."""
        return False

    @abstractmethod
    def _accept(self, done: Sequence[tuple[Unit, TaskResult]]) -> Sequence[Block]:
        """Turns results into changes; returns the groups that their tasks found to be blocked."""

    @abstractmethod
    def _delete_leftovers(self) -> bool:
        """Deletes the files of groups that were not committed; returns whether the attempt is over."""

    @abstractmethod
    def _sweep(self) -> None:
        """Deletes all unreferenced files of the condemned attempt."""


def _stop_file_of(journal: Journal[Scope], attempt: Attempt[Scope]) -> StopFile:
    return StopFile(journal.storage, journal.stop_path(attempt), attempt.prefix)
