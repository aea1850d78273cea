"""Executes a driver's instructions: makes the attempts, on Spark, and writes their outcomes.

Called by `lithify drive`, which reads instructions and environment. Nothing here talks to the operator, so an
attempt outlives it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from lithify.contract.order import Instructions
from lithify.contract.outcome import Outcome, write_outcome, write_shared_outcome
from lithify.engine.application.attempt import Compact, DriverAttempt
from lithify.engine.application.environment import DriverEnvironment
from lithify.engine.application.log import AttemptLog
from lithify.engine.application.outcome import replace_file, save_outcome
from lithify.engine.application.progress import DriveObserver
from lithify.engine.application.request import clock_of
from lithify.engine.application.shared import SharedAttempts
from lithify.engine.application.spark_settings import spark_settings
from lithify.engine.application.stopping import StopSignal
from lithify.engine.run.driver import Request, compact
from lithify.engine.run.report import Report
from lithify.engine.run.spark import SparkRunner

Result = TypeVar("Result")


def run_driver(told: Instructions, environment: DriverEnvironment, stop: StopSignal, *, verbose: bool) -> int:
    """Runs one attempt, or those of all members, and writes the outcome; returns the exit code.

    Raises:
        Stopped: the driver is to end, and there is nothing left to report.
    """
    run = _run_alone if told.members is None else _run_shared
    return run(told, environment, stop, AttemptLog(told, verbose=verbose))


def _run_alone(told: Instructions, environment: DriverEnvironment, stop: StopSignal, log: AttemptLog) -> int:
    with environment.telling() as tell:
        attempt = DriverAttempt(told, log, stop, tell)
        outcome = attempt.execute(environment.secrets, _on_spark(told, environment, stop, log))
    if outcome is not None:
        log.write("ended", outcome=json.loads(write_outcome(outcome)))
        save_outcome(outcome, environment.outcome)
    return attempt.exit_code


def _on_spark(
    told: Instructions, environment: DriverEnvironment, stop: StopSignal, log: AttemptLog
) -> Compact:
    """Runs a request over a Spark session of its own."""

    def run(request: Request, observer: DriveObserver) -> Report:
        with spark_settings(told, environment.pod_ip, log.verbose, lambda: observer.plan) as found:
            runner = SparkRunner(replace(found, executors=observer.executors))

            def to_the_end() -> Report:
                report = compact(request, runner, clock_of(told), observer)
                stop.shield()
                return replace(report, core_seconds=runner.processor_time.charge())

            return _within(runner, to_the_end, log)

    return run


def _run_shared(told: Instructions, environment: DriverEnvironment, stop: StopSignal, log: AttemptLog) -> int:
    with environment.telling() as tell:
        members = SharedAttempts(told, environment.exchange, stop, tell, verbose=log.verbose)
        untold = _over_one_spark(members, told, environment, log)
    replace_file(environment.outcome, write_shared_outcome(untold))
    return members.exit_code


def _over_one_spark(
    members: SharedAttempts, told: Instructions, environment: DriverEnvironment, log: AttemptLog
) -> Sequence[Outcome]:
    """Runs the members on one Spark session, started for the first member that has work."""
    watching: list[DriveObserver] = []

    def executors(ready: int, wanted: int) -> None:
        watching[-1].executors(ready, wanted)

    with spark_settings(told, environment.pod_ip, log.verbose) as found:
        runner = SparkRunner(replace(found, executors=executors))

        def run(request: Request, observer: DriveObserver) -> Report:
            watching.append(observer)
            try:
                report = compact(request, runner, clock_of(told), observer)
            finally:  # what a run that fails has taken is not charged to the next one
                seconds = runner.processor_time.charge()
            return replace(report, core_seconds=seconds)

        def all_members() -> Sequence[Outcome]:
            return members.execute(environment.secrets, run, lambda: runner.is_lost)

        return _within(runner, all_members, log)


def _within(runner: SparkRunner, work: Callable[[], Result], log: AttemptLog) -> Result:
    """The result of work on Spark. With a result, a failure to stop Spark is only logged."""
    results: list[Result] = []
    try:
        with runner:
            results.append(work())
    except Exception as error:
        if not results:
            raise
        log.failure(error)
    return results[0]
