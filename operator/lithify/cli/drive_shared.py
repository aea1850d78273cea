"""`lithify drive` for several runs that share a driver: their tables one after the other, over one Spark.

Called by `drive` if the instructions name members. Each run has its own journal, attempt and outcome, which
is told as soon as it is there; what becomes of one is no concern of the others, unless Spark itself is lost.
Runs that have not begun then have no outcome, and the operator starts them alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Protocol

from lithify.cli.drive import (
    DEFAULT_OUTCOME,
    STOPPED,
    Compact,
    DriverAttempt,
    Log,
    clock_of,
    pod_address,
    spark_settings,
    telling,
)
from lithify.contract.order import (
    MEMBERS_VARIABLE,
    OUTCOME_VARIABLE,
    SECRETS_VARIABLE,
    Instructions,
    MemberInstructions,
)
from lithify.contract.outcome import Outcome, Progress, write_outcome, write_shared_outcome
from lithify.errors import Failure
from lithify.job.attempt.outcome import replace_file
from lithify.job.attempt.progress import DriveObserver, PodAddress, Stopped, StopSignal, Tell
from lithify.job.driver import Request, compact
from lithify.job.report import Report
from lithify.job.spark import SparkRunner
from lithify.resources.compaction import Reason
from lithify.resources.names import OUTCOME_PREFIX, STOP_PREFIX

_ASK_SECONDS = 3.0
"""Between two questions whether a run is to end early."""


class Exchange(Protocol):
    """Where outcomes of single runs go while the driver goes on, and where wishes to end one come from."""

    def tell(self, outcome: Outcome) -> bool:
        """Leaves an outcome where the operator looks; whether that is certain."""
        ...

    def unwanted(self) -> Collection[str]:
        """The ids of the runs that are to end early; those that are known, if nobody answers."""
        ...


@dataclass(frozen=True, slots=True)
class FolderExchange:
    """An exchange by files `<run>.json` and `<run>.stop` of a folder, for processes."""

    folder: Path

    def tell(self, outcome: Outcome) -> bool:
        """Writes the outcome into a file of its own."""
        try:
            replace_file(self.folder / f"{outcome.run}.json", write_outcome(outcome))
        except OSError:
            return False
        return True

    def unwanted(self) -> Collection[str]:
        """The runs for which there is a mark."""
        return {path.stem for path in self.folder.glob("*.stop")}


@dataclass(frozen=True, slots=True)
class PodExchange:
    """An exchange by annotations of the pod."""

    pod: PodAddress

    def tell(self, outcome: Outcome) -> bool:
        """Writes the outcome into an annotation of its own."""
        with suppress(Exception):
            return self.pod.patch({f"{OUTCOME_PREFIX}{outcome.run}": write_outcome(outcome)})
        return False

    def unwanted(self) -> Collection[str]:
        """The runs for which there is a mark."""
        with suppress(Exception):
            marks = self.pod.annotations()
            return {name.removeprefix(STOP_PREFIX) for name in marks if name.startswith(STOP_PREFIX)}
        return ()


class NoExchange:
    """For a driver that is neither in a pod nor in a folder: everything is said in the end."""

    def tell(self, outcome: Outcome) -> bool:
        """Leaves it to the last words."""
        del outcome
        return False

    def unwanted(self) -> Collection[str]:
        """Nobody can say."""
        return ()


class MemberObserver(DriveObserver):
    """An observer that asks now and then whether its run is still wanted."""

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
    """The runs of a shared driver, on their way.

    Attributes:
        exit_code: what the process ends with.
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
        """Compacts one table after the other; the outcomes that could not be told meanwhile.

        Args:
            secrets: the folder of the mounted Secret.
            runs: what runs a request.
            is_lost: whether it cannot run any more, so that the rest is left to others.
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
        log = Log(told, verbose=self._verbose)
        observer = MemberObserver(
            self._teller(member),
            self._stop,
            lambda: member.run in self._drop_unwanted(),
            needs_executors=told.patience is not None,
        )
        attempt = DriverAttempt(told, log, self._stop, self._tell, observer)
        outcome = attempt.execute(secrets, {}, runs)
        if outcome is None and (self._stop.is_final or isinstance(attempt.error, KeyboardInterrupt)):
            raise Stopped
        self._end(log, outcome or _given_up(told, "The run was told to end."))

    def _teller(self, member: MemberInstructions) -> Tell:
        """Tells progress as that of one run."""

        def tell(progress: Progress) -> None:
            self._tell(replace(progress, run=member.run))

        return tell

    def _drop_unwanted(self) -> Collection[str]:
        """Gives up the runs that are to end before their turn has come; all that are to end early."""
        unwanted = self._exchange.unwanted()
        for member in [one for one in self._left if one.run in unwanted]:
            self._left.remove(member)
            told = self._told.of_member(member)
            log = Log(told, verbose=self._verbose)
            self._end(log, _given_up(told, "The run was told to end before its turn came."))
        return unwanted

    def _end(self, log: Log, outcome: Outcome) -> None:
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


def drive_members(
    told: Instructions, environment: Mapping[str, str], stop: StopSignal, *, verbose: bool
) -> int:
    """Runs the members of a shared driver, leaves what else there is to say, and returns the exit code."""
    secrets = Path(environment.get(SECRETS_VARIABLE, ""))
    with telling(environment) as tell:
        members = SharedAttempts(told, exchange_in(environment), stop, tell, verbose=verbose)
        untold = _over_spark(members, told, environment, secrets, verbose=verbose)
    replace_file(Path(environment.get(OUTCOME_VARIABLE, DEFAULT_OUTCOME)), write_shared_outcome(untold))
    return members.exit_code


def exchange_in(environment: Mapping[str, str]) -> Exchange:
    """Where the operator looks for outcomes of single runs."""
    if MEMBERS_VARIABLE in environment:
        return FolderExchange(Path(environment[MEMBERS_VARIABLE]))
    pod = pod_address(environment)
    return NoExchange() if pod is None else PodExchange(pod)


def _over_spark(
    members: SharedAttempts,
    told: Instructions,
    environment: Mapping[str, str],
    secrets: Path,
    *,
    verbose: bool,
) -> Sequence[Outcome]:
    """Runs the members over one Spark, which is started for the first of them that has something to do."""
    watching: list[DriveObserver] = []

    def executors(ready: int, wanted: int) -> None:
        watching[-1].executors(ready, wanted)

    with spark_settings(told, environment, verbose) as found:
        runner = SparkRunner(replace(found, executors=executors))

        def run(request: Request, observer: DriveObserver) -> Report:
            watching.append(observer)
            return compact(request, runner, clock_of(told), observer)

        untold: Sequence[Outcome] | None = None
        try:
            with runner:
                untold = members.execute(secrets, run, lambda: runner.is_lost)
        except Exception as error:
            if untold is None:
                raise
            Log(told, verbose=verbose).error(error)  # Spark could not be stopped; the runs are over
    assert untold is not None  # noqa: S101  # else it was raised
    return untold
