"""Several runs that share a driver: their tables one after the other.

Called by `execution` if the instructions name members. Each run has its own journal, attempt and outcome,
which is reported at once. A run that fails does not affect the others, unless Spark itself is lost: runs that
have not begun then have no outcome, and the operator starts them alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path
from time import monotonic

from lithify.contract.order import Instructions, MemberInstructions
from lithify.contract.outcome import Outcome, Progress, write_outcome
from lithify.engine.application.attempt import Compact, DriverAttempt
from lithify.engine.application.exchange import Exchange
from lithify.engine.application.log import AttemptLog
from lithify.engine.application.progress import DriveObserver, Tell
from lithify.engine.application.stopping import STOPPED, Stopped, StopSignal
from lithify.errors import Failure
from lithify.resources.compaction import Reason

_ASK_SECONDS = 3.0
"""Seconds between two checks whether a run is to end early."""


class MemberObserver(DriveObserver):
    """An observer that checks periodically whether its run is still wanted."""

    def __init__(
        self, tell: Tell, stop: StopSignal, is_unwanted: Callable[[], bool], *, needs_executors: bool
    ) -> None:
        super().__init__(tell, stop, needs_executors=needs_executors)
        self._end = stop.end_attempt
        self._is_unwanted = is_unwanted
        self._asked = monotonic()

    def progressed(self, done: int) -> None:
        """Some tasks are done, or time has passed."""
        if monotonic() >= self._asked + _ASK_SECONDS:
            self._asked = monotonic()
            if self._is_unwanted():
                self._end()
        super().progressed(done)


class SharedAttempts:
    """The attempts of a shared driver's runs.

    Attributes:
        exit_code: exit code of the process.
    """

    def __init__(
        self, told: Instructions, exchange: Exchange, stop: StopSignal, tell: Tell, *, verbose: bool = False
    ) -> None:
        self._told = told
        self._exchange = exchange
        self._stop = stop
        self._tell = tell
        self._verbose = verbose
        self._untold: list[Outcome] = []
        self._left = list(told.members or ())
        self.exit_code = 0

    def execute(self, secrets: Path, runs: Compact, is_lost: Callable[[], bool]) -> Sequence[Outcome]:
        """Compacts one table after the other; returns the outcomes that could not be reported yet.

        Args:
            secrets: the folder of the mounted Secret.
            runs: runs a request.
            is_lost: whether `runs` can run no more requests, so that the remaining runs start elsewhere.
        """
        while self._left:
            try:
                self._stop.renew()
                self._drop_unwanted()
                if self._left:
                    self._one(self._left.pop(0), secrets, runs)
            except Stopped:
                self.exit_code = STOPPED
                break
            if is_lost():
                self.exit_code = 1
                break
        self._stop.shield()
        return tuple(self._untold)

    def _one(self, member: MemberInstructions, secrets: Path, runs: Compact) -> None:
        told = self._told.of_member(member)
        log = AttemptLog(told, verbose=self._verbose)
        observer = MemberObserver(
            self._teller(member),
            self._stop,
            lambda: member.run in self._drop_unwanted(),
            needs_executors=told.patience is not None,
        )
        attempt = DriverAttempt(told, log, self._stop, self._tell, observer)
        outcome = attempt.execute(secrets, runs)
        if outcome is None and (self._stop.is_final or isinstance(attempt.error, KeyboardInterrupt)):
            raise Stopped
        self._end(log, outcome or _given_up(told, "The run was told to end."))

    def _teller(self, member: MemberInstructions) -> Tell:
        """Returns a function that reports progress as that of one run."""

        def tell(progress: Progress) -> None:
            self._tell(replace(progress, run=member.run))

        return tell

    def _drop_unwanted(self) -> Collection[str]:
        """Cancels waiting runs that are to end early; returns the ids of all runs that are to end early."""
        unwanted = self._exchange.unwanted()
        for member in [one for one in self._left if one.run in unwanted]:
            self._left.remove(member)
            told = self._told.of_member(member)
            log = AttemptLog(told, verbose=self._verbose)
            self._end(log, _given_up(told, "The run was told to end before its turn came."))
        return unwanted

    def _end(self, log: AttemptLog, outcome: Outcome) -> None:
        log.write("ended", outcome=json.loads(write_outcome(outcome)))
        if not self._exchange.tell(outcome):
            self._untold.append(outcome)


def _given_up(told: Instructions, message: str) -> Outcome:
    """The outcome of a run that was told to end and has committed nothing."""
    return Outcome(
        run=told.run,
        attempt=told.attempt,
        reason=Reason.CANCELLED,
        failure=Failure.INFRASTRUCTURE,
        message=message,
    )
