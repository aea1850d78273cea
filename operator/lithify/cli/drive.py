"""`lithify drive`: one attempt at a Compaction, as a launcher starts it in a pod or a process.

The order comes through the environment or stdin, progress and outcome go where the environment says. Nothing
here talks to the operator, so an attempt outlives it. What was committed is reported as such, whatever goes
wrong afterwards, unless another attempt may do the rest. One that is asked to stop before its last commit
says nothing, and the operator looks at the table.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from zoneinfo import ZoneInfo

import click

from lithify.clock import SystemClock
from lithify.contract.executors import executor_conf
from lithify.contract.order import (
    OUTCOME_VARIABLE,
    POD_ADDRESS_VARIABLE,
    POD_NAME_VARIABLE,
    POD_NAMESPACE_VARIABLE,
    PROGRESS_VARIABLE,
    SECRETS_VARIABLE,
    VARIABLE,
    Instructions,
    read_instructions,
)
from lithify.contract.outcome import Outcome, Progress, write_outcome
from lithify.contract.reasons import failure_of, outcome_of_error, outcome_of_plan
from lithify.errors import Failure, LithifyError, NotFound, UserError, in_fields
from lithify.job.attempt.outcome import outcome_of_found, outcome_of_report, save_outcome, with_blocked
from lithify.job.attempt.progress import (
    DriveObserver,
    PodAddress,
    Stopped,
    StopSignal,
    Tell,
    Throttled,
    to_file,
)
from lithify.job.driver import Request, compact
from lithify.job.dry_run import plan_only
from lithify.job.report import Report
from lithify.job.spark import SparkRunner, SparkSettings
from lithify.job.steps import Commits
from lithify.plain_text import json_escaped
from lithify.redaction import NOTHING_KNOWN, Redactor, names_of
from lithify.resources.compaction import PlanSummary
from lithify.rewriting.budget import Budget
from lithify.tables.format import Sizing
from lithify.tables.registry import open_table

STOPPED = 128 + signal.SIGTERM
DEFAULT_OUTCOME = "/dev/termination-log"

_PASSING = frozenset({Failure.INFRASTRUCTURE, Failure.SCHEDULING, Failure.OUT_OF_MEMORY})
"""What may be different in the next attempt."""

Compact = Callable[[Request, DriveObserver], Report]
"""Runs a request to its end."""


@click.command(hidden=True)
@click.pass_context
def drive(context: click.Context) -> None:
    """Run one attempt at a Compaction, as the operator has ordered it."""
    stop = StopSignal()
    signal.signal(signal.SIGTERM, stop.handle)
    try:
        code = _drive(os.environ, stop, verbose=bool(context.obj))
    except Stopped:
        code = STOPPED
    context.exit(code)


def _drive(environment: MutableMapping[str, str], stop: StopSignal, *, verbose: bool) -> int:
    """Runs the attempt, leaves its outcome where it is looked for, and returns the exit code."""
    text = environment.pop(VARIABLE, None)
    instructions = read_instructions(sys.stdin.read() if text is None else text)
    if instructions.members is not None:
        from lithify.cli.drive_shared import drive_members  # it makes attempts of this module

        return drive_members(instructions, environment, stop, verbose=verbose)
    log = Log(instructions, verbose=verbose)
    with telling(environment) as tell:
        attempt = DriverAttempt(instructions, log, stop, tell)
        outcome = attempt.execute(Path(environment.get(SECRETS_VARIABLE, "")), environment)
    if outcome is not None:
        log.write("ended", outcome=json.loads(write_outcome(outcome)))
        save_outcome(outcome, Path(environment.get(OUTCOME_VARIABLE, DEFAULT_OUTCOME)))
    return attempt.exit_code


@contextmanager
def telling(environment: Mapping[str, str]) -> Iterator[Tell]:
    """Where progress goes: to a file, to the pod's annotation, or nowhere."""
    if PROGRESS_VARIABLE in environment:
        yield to_file(Path(environment[PROGRESS_VARIABLE]))
    elif (pod := pod_address(environment)) is not None:
        with Throttled(pod.annotate) as tell:
            yield tell
    else:
        yield _silent


def pod_address(environment: Mapping[str, str]) -> PodAddress | None:
    """The pod that this process is in; None if it is in none."""
    if POD_NAME_VARIABLE not in environment or "KUBERNETES_SERVICE_HOST" not in environment:
        return None
    return PodAddress(
        host=environment["KUBERNETES_SERVICE_HOST"],
        port=int(environment.get("KUBERNETES_SERVICE_PORT", "443")),
        namespace=environment[POD_NAMESPACE_VARIABLE],
        name=environment[POD_NAME_VARIABLE],
    )


def _silent(progress: Progress) -> None:
    del progress


class Log:
    """Structured lines on stderr, each with the run's id; credentials are left out of them."""

    def __init__(self, instructions: Instructions, *, verbose: bool) -> None:
        self._fixed = {
            "run": instructions.run,
            "attempt": instructions.attempt,
            "table": instructions.table.name,
        }
        self._clock = SystemClock(ZoneInfo("UTC"))
        self._own = names_of(instructions.table.name)
        self._redactor = NOTHING_KNOWN
        self.verbose = verbose

    def hide(self, secrets: Mapping[str, str]) -> None:
        """From here on these values are left out."""
        self._redactor = Redactor(secrets.values())

    def clean(self, text: str) -> str:
        """A text without credentials."""
        return self._redactor.redact(text, lambda: self._own)

    def write(self, message: str, **fields: object) -> None:
        """Writes a line."""
        line = {"time": self._clock.now().isoformat(), "message": message, **self._fixed, **fields}
        click.echo(json_escaped(json.dumps(self._cleaned(line), ensure_ascii=False)), err=True)

    def _cleaned(self, value: object) -> object:
        """Plain data whose texts hold no credentials."""
        if isinstance(value, str):
            return self.clean(value)
        if isinstance(value, dict):
            return {name: self._cleaned(entry) for name, entry in value.items()}
        return [self._cleaned(entry) for entry in value] if isinstance(value, list) else value

    def error(self, error: BaseException) -> None:
        """Writes a line about an error, with where it came from unless it is one of ours."""
        fields: dict[str, object] = {"error": type(error).__name__, "problem": str(error)}
        if self.verbose or not isinstance(error, LithifyError):
            fields["traceback"] = "".join(traceback.format_exception(error))
        self.write("failed", **fields)


class DriverAttempt:
    """One attempt, from its instructions to its outcome.

    Attributes:
        exit_code: what a process ends with that made this attempt alone.
        error: what ended the attempt early, None if nothing did.
    """

    def __init__(
        self,
        instructions: Instructions,
        log: Log,
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

    def execute(
        self, secrets: Path, environment: Mapping[str, str], runs: Compact | None = None
    ) -> Outcome | None:
        """Runs the attempt and says how it ended; None if it was stopped before it had committed.

        Args:
            secrets: the folder of the mounted Secret.
            environment: where the pod's address stands.
            runs: what runs a request; by default Spark.
        """
        told = self._instructions
        self._log.write("started", planOnly=told.plan_only, strategy=told.selection.strategy.value)
        try:
            credentials = credentials_of(told, secrets)
            self._log.hide(credentials)
            request = request_of(told, credentials)
            if told.plan_only:
                return self._plan(request)
            report = (runs or self._spark(environment))(request, self._observer)
            self._stop.shield()
            return self._ended(request, report)
        except BaseException as error:  # noqa: BLE001  # whatever it is, the operator is told
            return self._after(error)

    def _ended(self, request: Request, report: Report) -> Outcome:
        """What an attempt comes to that reached its end."""
        attempt = self._instructions.attempt
        if report.status == "AlreadyCommitted":
            # Whatever fails here, the run has succeeded; the operator can look for itself.
            with suppress(LithifyError):
                found = open_table(request.table).find_run(report.run)
                if found is not None:
                    return with_blocked(outcome_of_found(report.run, attempt, found), report)
        return outcome_of_report(report, attempt, self._observer.plan)

    def _after(self, error: BaseException) -> Outcome | None:
        """What an attempt comes to that did not reach its end."""
        self._stop.shield()
        self.error = error
        told, report = self._instructions, self._observer.committed_so_far
        if isinstance(error, LithifyError):
            error = in_fields(error)
        if not self._stop.requested:
            self._log.error(error)
        sentence = self._log.clean(" ".join(str(error).split()))
        if report is not None and not (report.to_come and self._goes_on_after(error)):
            why = "it was stopped" if self._stop.requested else sentence
            message = f"some buckets were compacted, then the run was given up: {why}"
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
        """Whether another attempt does what this one has left; it begins where this one ended."""
        return self._stop.requested or failure_of(error) in _PASSING

    def _plan(self, request: Request) -> Outcome:
        """Plans as the run would, without Spark. Operators of older releases ask drivers for it."""
        told = self._instructions
        found = plan_only(
            open_table(request.table),
            request.selection,
            clock_of(told),
            request.sizing,
        )
        if found.problem:
            self._log.write("failed", problem=found.problem)
            self.exit_code = 1 if any(each.is_corrupt for each in found.blocked) else UserError.exit_code
        return outcome_of_plan(told.run, told.attempt, found)

    def _spark(self, environment: Mapping[str, str]) -> Compact:
        def run(request: Request, observer: DriveObserver) -> Report:
            told, verbose = self._instructions, self._log.verbose
            with spark_settings(told, environment, verbose, lambda: observer.plan) as found:
                settings = replace(found, executors=observer.executors)
                ended = Ended()
                try:
                    with SparkRunner(settings) as runner:
                        ended.report = compact(request, runner, clock_of(self._instructions), observer)
                        self._stop.shield()
                except Exception as error:
                    if ended.report is None:
                        raise
                    self._log.error(error)  # Spark could not be stopped; the run is over all the same
                assert ended.report is not None  # noqa: S101  # else it was raised
                return ended.report

        return run


@dataclass(slots=True)
class Ended:
    """What a run came to, once it has."""

    report: Report | None = None


@contextmanager
def spark_settings(
    told: Instructions,
    environment: Mapping[str, str],
    verbose: bool,
    planned: Callable[[], PlanSummary | None] = lambda: None,
) -> Iterator[SparkSettings]:
    """Settings of Spark; `planned` is asked for the whole run, of which Spark sees but the first step."""

    def sized(size: int, tasks: int) -> dict[str, str]:
        plan = planned()
        if plan is not None:
            size, tasks = max(size, plan.bytes), max(tasks, plan.tasks)
        return {} if told.sizing is None else executor_conf(told.sizing, size, tasks)

    conf = dict(told.conf)
    if POD_ADDRESS_VARIABLE in environment:
        verbose = True  # a pod's log is read by nobody but who looks for what Spark says
        address = environment[POD_ADDRESS_VARIABLE]
        conf["spark.driver.host"] = f"[{address}]" if ":" in address else address
    with tempfile.TemporaryDirectory(prefix="lithify-drive-") as folder:
        if told.executor_template is not None:
            template = Path(folder) / "executor.json"
            template.write_text(json.dumps(told.executor_template), encoding="utf-8")
            conf["spark.kubernetes.executor.podTemplateFile"] = str(template)
        yield SparkSettings(
            master=told.master,
            conf=conf,
            zone=told.table.zone(),
            verbose=verbose,
            sized=sized,
            patience=told.patience,
        )


def credentials_of(told: Instructions, folder: Path) -> dict[str, str]:
    """The catalog options that are kept in a Secret.

    Raises:
        NotFound: the Secret, or a key of it, does not exist.
    """
    found = dict(told.credentials)
    for option, key in told.credential_files.items():
        try:
            found[option] = (folder / key).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            hint = f"the Catalog's spec.secretRef takes {option} from it ({type(error).__name__})"
            raise NotFound("key", f"{key} in Secret {told.secret}", hint) from error
    return found


def request_of(told: Instructions, credentials: Mapping[str, str]) -> Request:
    """What is to be compacted.

    Raises:
        InvalidOption: nobody knows the time zone.
    """
    told.table.zone()
    options = {**told.table.catalog_options, **credentials}
    return Request(
        table=replace(told.table, catalog_options=options),
        selection=told.selection,
        run=told.run,
        sizing=Sizing(told.task_size, Budget(told.task_memory), told.task_share),
        commits=Commits(told.commit_every),
    )


def clock_of(told: Instructions) -> SystemClock:
    """The machine's clock in the table's zone."""
    return SystemClock(told.table.zone())
