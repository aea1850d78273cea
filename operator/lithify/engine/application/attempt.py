"""One attempt at a Compaction, from its instructions to its outcome.

Called by `execution`, and by `shared` for each run of a shared driver. Commits are reported even if
something fails afterwards, unless another attempt may do the rest. An attempt asked to stop before its
last commit has no outcome, and the operator searches the table.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from lithify.contract.order import Instructions, MaintenanceInstructions
from lithify.contract.outcome import Outcome
from lithify.contract.reasons import failure_of, outcome_of_error
from lithify.engine.application.log import AttemptLog
from lithify.engine.application.outcome import (
    outcome_of_found,
    outcome_of_maintenance,
    outcome_of_report,
    with_blocked,
)
from lithify.engine.application.progress import DriveObserver, Tell
from lithify.engine.application.request import clock_of, credentials_of, request_of, settings_of
from lithify.engine.application.stopping import STOPPED, StopSignal
from lithify.engine.run.driver import Request
from lithify.engine.run.maintaining import maintain, maintain_fully
from lithify.engine.run.report import Report
from lithify.errors import Failure, LithifyError, in_fields
from lithify.formats.registry import open_table

_PASSING = frozenset({Failure.INFRASTRUCTURE, Failure.SCHEDULING, Failure.OUT_OF_MEMORY})
"""Failures that may not occur again in the next attempt."""

Compact = Callable[[Request, DriveObserver], Report]
"""Runs a request to its end."""


class DriverAttempt:
    """One attempt, from its instructions to its outcome.

    Attributes:
        exit_code: exit code of a process that made only this attempt.
        error: the error that ended the attempt early; None if there is none.
    """

    def __init__(
        self,
        instructions: Instructions,
        log: AttemptLog,
        stop: StopSignal,
        tell: Tell,
        observer: DriveObserver | None = None,
    ) -> None:
        self._instructions = instructions
        self._log = log
        self._stop = stop
        needs_executors = instructions.patience is not None
        self._observer = observer or DriveObserver(tell, stop, needs_executors=needs_executors)
        self.exit_code = 0
        self.error: BaseException | None = None

    def execute(self, secrets: Path, runs: Compact) -> Outcome | None:
        """Runs the attempt and returns its outcome; None if it was stopped before it had committed.

        Args:
            secrets: the folder of the mounted Secret.
            runs: what runs a request.
        """
        told = self._instructions
        kind = told.selection.strategy if told.maintenance is None else told.maintenance.kind
        self._log.write("started", strategy=kind.value)
        try:
            credentials = credentials_of(told, secrets)
            self._log.hide(credentials)
            request = request_of(told, credentials)
            if told.maintenance is not None:
                return self._maintained(told.maintenance, request)
            report = runs(request, self._observer)
            self._stop.shield()
            return self._ended(request, report)
        except BaseException as error:  # noqa: BLE001  # the operator gets an outcome for any error
            return self._after(error)

    def _maintained(self, maintenance: MaintenanceInstructions, request: Request) -> Outcome:
        """Outcome of maintenance, which needs no Spark. If it is stopped, the next run goes on."""
        self._observer.maintaining()
        kind, clock, settings = maintenance.kind, clock_of(self._instructions), settings_of(maintenance)
        if maintenance.is_dry_run:
            report = maintain(request.table, kind, clock, settings, is_dry_run=True)
        else:
            report = maintain_fully(request.table, kind, clock, settings)
        self._stop.shield()
        return outcome_of_maintenance(self._instructions.run, self._instructions.attempt, report)

    def _ended(self, request: Request, report: Report) -> Outcome:
        """Outcome of an attempt that reached its end."""
        attempt = self._instructions.attempt
        if report.status == "AlreadyCommitted":
            # The run has succeeded even if this fails; the operator can search the table itself.
            with suppress(LithifyError):
                past = open_table(request.table).find_run(report.run)
                if past is not None:
                    return with_blocked(outcome_of_found(report.run, attempt, past.found), report)
        return outcome_of_report(report, attempt, self._observer.plan)

    def _after(self, error: BaseException) -> Outcome | None:
        """Outcome of an attempt that failed or was stopped."""
        self._stop.shield()
        self.error = error
        told, report = self._instructions, self._observer.committed_so_far
        if isinstance(error, LithifyError):
            error = in_fields(error)
        if not self._stop.requested:
            self._log.failure(error)
        sentence = self._log.clean(" ".join(str(error).split()))
        if report is not None and not (report.to_come and self._goes_on_after(error)):
            why = "it was stopped" if self._stop.requested else sentence
            message = f"some {report.noun}s were compacted, then the run was given up: {why}"
            outcome = outcome_of_report(report, told.attempt, self._observer.plan, message)
            return with_blocked(outcome, self._observer.blocked_so_far)
        if self._stop.requested or isinstance(error, KeyboardInterrupt):
            self._log.write("stopped")
            self.exit_code = STOPPED
            return None
        self.exit_code = error.exit_code if isinstance(error, LithifyError) else 1
        outcome = outcome_of_error(told.run, told.attempt, error, self._observer.plan)
        outcome = with_blocked(outcome, self._observer.blocked_so_far)
        return replace(outcome, message=self._log.clean(outcome.message))

    def _goes_on_after(self, error: BaseException) -> bool:
        """Whether another attempt does the remaining work; it begins where this one ended."""
        return self._stop.requested or failure_of(error) in _PASSING
