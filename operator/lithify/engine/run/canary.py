"""The canary of a run: compacts a copy of the table first, and compares its rows before and after.

Called by `driver` before it plans; the run goes on only if all rows are the same. The copy is a branch that
shares the table's files (`formats.protocol.canary`). It is dropped in the end, unless rows differ. Copies
that dead runs have left are dropped by later runs of the table, with or without a canary of their own.
Nothing here writes to the table itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Protocol

from lithify.clock import Clock
from lithify.engine.attempts.ages import RENEWED_EVERY, SAFE_AGE
from lithify.engine.attempts.canary_records import CanaryRecord, CanaryRecords, CanaryState
from lithify.engine.run.digesting import TASK_BYTES, changed_sides, compared, digest_tasks
from lithify.engine.run.report import CanaryReport
from lithify.engine.run.runner import TaskRunner
from lithify.errors import (
    CanaryFailed,
    LithifyError,
    MissingFile,
    StalePlan,
    StorageError,
    UnsupportedTable,
)
from lithify.faults import failpoint
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.canary import CanaryTable
from lithify.formats.protocol.model import SnapshotId
from lithify.formats.protocol.table import OpenTable
from lithify.formats.protocol.tasks import Sizing

PREFIX = "lithify-canary-"
"""What names of copies begin with; the run's id follows."""
_MOST_RUN = 63
_SHOWN = 3
"""Differences that a message has; the record has more."""

CompactCopy = Callable[[TableAddress, str, Callable[[], None]], object]
"""Compacts a copy as the run with an id, and calls a function now and then."""


class Progressed(Protocol):
    """Receives the number of tasks that are done; may end the run by raising."""

    def progressed(self, done: int) -> None:
        """Some tasks are done, or time has passed."""
        ...


def copy_of(run: str) -> str:
    """The name of the copy that a run makes."""
    return f"{PREFIX}{run}"


def run_of_copy(run: str) -> str:
    """The id of the run on the copy: another one, because snapshots of all branches may lie together."""
    name = f"canary-{run}"
    return name if len(name) <= _MOST_RUN else f"canary-{sha256(run.encode()).hexdigest()[:32]}"


class Canary:
    """The canary of one run.

    Args:
        table: the table of which copies are made.
        name: its name for people.
        run: id of the run.
        clock: the current time.
    """

    def __init__(self, table: CanaryTable, name: str, run: str, clock: Clock) -> None:
        self._table = table
        self._name = name
        self._run = run
        self._clock = clock
        self._records = CanaryRecords(table.home, table.storage)
        self._beaten = clock.now()

    @classmethod
    def of_table(cls, table: OpenTable, address: TableAddress, run: str, clock: Clock) -> Canary | None:
        """The canary of a run at a table; None if tables of its format have none."""
        found = table.canary(address)
        return None if found is None else cls(found, table.name, run, clock)

    def check_supported(self) -> None:
        """Checks that the table can have a canary, and that none is left for people to look at.

        Raises:
            UnsupportedTable: it cannot.
            CanaryFailed: the copy of one that failed is still there.
        """
        self._table.check_supported()
        for record in self._records.all():
            copy = copy_of(record.run)
            if record.state is CanaryState.FAILED and self._table.has_copy(copy):
                raise CanaryFailed(self._name, copy, record.differences)

    def clean_up(self) -> tuple[str, ...]:
        """Drops copies of dead runs and of earlier attempts of this one; returns why some could not be."""
        problems = []
        now = self._clock.now()
        for record in self._records.all():
            is_over = record.state is CanaryState.FAILED or record.silence(now) > SAFE_AGE
            if is_over or record.run == self._run:
                try:
                    self._forget(record)
                except LithifyError as error:
                    problems.append(str(error))
        return tuple(problems)

    def _forget(self, record: CanaryRecord) -> None:
        """Deletes a record, and the copy unless it failed; what has passed is not repeated by its run."""
        if record.state is not CanaryState.FAILED:
            self._drop(record.run)
        elif self._table.has_copy(copy_of(record.run)):
            return
        if record.run != self._run or record.state is not CanaryState.PASSED:
            self._records.delete(record.run)

    def prove(
        self, compact_copy: CompactCopy, runner: TaskRunner, sizing: Sizing, observer: Progressed
    ) -> CanaryReport:
        """Compacts a copy and compares its rows; does nothing if an earlier attempt of the run has done so.

        Raises:
            CanaryFailed: rows are not the same; the copy is kept.
            StalePlan: the copy's first snapshot was expired meanwhile.
            LithifyError: the copy cannot be made, compacted or read.
        """
        known = self._records.of(self._run)
        if known is not None and known.state is CanaryState.PASSED:
            return CanaryReport(known.groups, known.rows)
        self._write(CanaryState.RUNNING)
        try:
            self._drop(self._run)
            found = self._proved(compact_copy, runner, sizing, observer)
        except CanaryFailed:
            raise
        except BaseException:
            with suppress(LithifyError):
                self.end()
            raise
        self._write(CanaryState.PASSED, groups=found.groups, rows=found.rows)
        failpoint("canary-passed")
        with suppress(LithifyError):  # tried again in the end, and by later runs
            self._drop(self._run)
        return found

    def end(self) -> None:
        """Drops the copy and deletes the record: the run is over, or has given up.

        Raises:
            LithifyError: the copy could not be dropped; later runs try again.
        """
        if self._records.of(self._run) is not None:
            self._drop(self._run)
            self._records.delete(self._run)

    def _proved(
        self, compact_copy: CompactCopy, runner: TaskRunner, sizing: Sizing, observer: Progressed
    ) -> CanaryReport:
        first = self._table.make_copy(copy_of(self._run))
        failpoint("canary-copied")
        if first is None:
            return CanaryReport()
        try:
            compact_copy(self._table.address_of(copy_of(self._run)), run_of_copy(self._run), self._beat)
            failpoint("canary-compacted")
            return self._compared(first, runner, sizing, observer)
        except MissingFile as error:
            if self._table.has_expired(first):
                raise StalePlan(self._name, f"others expired what a canary read ({error.path})") from error
            raise

    def _compared(
        self, first: SnapshotId, runner: TaskRunner, sizing: Sizing, observer: Progressed
    ) -> CanaryReport:
        copy = copy_of(self._run)
        sides = changed_sides(*self._table.parts(copy, first))
        tasks = [*digest_tasks(sides, sizing.task_bytes or int(TASK_BYTES * sizing.share))]

        def heard(done: int) -> None:
            self._beat()
            observer.progressed(done)

        found = compared(runner.run(tasks, self._clock, heard) if tasks else [])
        if found.differences:
            told = [*map(str, found.differences)]
            self._write(CanaryState.FAILED, groups=found.groups, rows=found.rows, differences="; ".join(told))
            raise CanaryFailed(self._name, copy, _shortened(told))
        return CanaryReport(found.groups, found.rows)

    def _drop(self, run: str) -> None:
        self._table.drop_copy(copy_of(run), run_of_copy(run))

    def _beat(self) -> None:
        """Gives a sign of life if that is due; after a failure the next one is early enough."""
        now = self._clock.now()
        if now - self._beaten >= RENEWED_EVERY:
            with suppress(StorageError):
                self._write(CanaryState.RUNNING)

    def _write(self, state: CanaryState, *, groups: int = 0, rows: int = 0, differences: str = "") -> None:
        self._beaten = self._clock.now()
        self._records.write(
            CanaryRecord(self._run, state, self._beaten.isoformat(), groups, rows, differences)
        )


def refuse_format(table: str, noun: str) -> UnsupportedTable:
    """The error for tables of a format without canaries."""
    return UnsupportedTable(table, (f"option canary: this release has none for tables of format {noun}",))


def _shortened(told: Sequence[str]) -> str:
    more = f"; and {len(told) - _SHOWN:,} more" if len(told) > _SHOWN else ""
    return "; ".join(told[:_SHOWN]) + more
