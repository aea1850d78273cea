"""Runs tasks on Spark: the only module that imports pyspark.

Made by the command line. A session is started when the first tasks come and stopped with the runner, so a run
that finds nothing to do never starts a JVM. One Spark task a merge task; results are metadata only.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import tzinfo
from importlib import resources
from typing import Any, Self

from lithify.clock import Clock, SystemClock
from lithify.errors import InvalidOption, OutOfMemory, TaskFailed
from lithify.job.runner import Progress
from lithify.job.task import MergeTask, TaskResult, run_task

_POLL_SECONDS = 0.2
_REST_SECONDS = 10.0
_TASK_TRIES = 4
_FIXED = {"spark.speculation": "false"}
"""A copy of a task is killed when the other is done, and nobody would know of the files that it leaves."""

_LOCAL = re.compile(r"local(?:\[(?P<cores>\*|\d+)\])?")
_KILLED = re.compile(r"Python worker exited unexpectedly[^\n]*|exit code 137|OOMKilled")
_CAUSE = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Interrupt|Exit|Failed)\b")


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """Where and how Spark runs.

    Attributes:
        master: Spark master URL; `local[...]` gets retries, which Spark leaves out there.
        conf: settings beside our defaults.
        zone: time zone of the executors' clocks, for the creation times of files; None for theirs.
        verbose: whether what the JVM prints is shown.
    """

    master: str = "local[*]"
    conf: Mapping[str, str] = field(default_factory=dict)
    zone: tzinfo | None = None
    verbose: bool = False


class SparkRunner:
    """A `TaskRunner` with a Spark session of its own; a context manager."""

    def __init__(self, settings: SparkSettings) -> None:
        self._settings = settings
        self._open = ExitStack()
        self._session: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def run(self, tasks: Sequence[MergeTask], clock: Clock, progress: Progress) -> list[TaskResult]:
        """Runs all tasks to their end, the largest first.

        Raises:
            InvalidOption: Spark cannot be started with these settings.
            TaskFailed: a task failed again and again.
        """
        largest_first = sorted(tasks, key=lambda task: -sum(file.size for file in task.inputs))
        context = self._start().sparkContext
        work = context.parallelize(largest_first, len(largest_first)).map(_Execute(self._settings.zone))
        with ThreadPoolExecutor(1) as waiting:
            results = waiting.submit(work.collect)
            try:
                _watch(results, context.statusTracker(), progress)
                return _results(results)
            except BaseException:
                with suppress(Exception):  # whatever ended the run matters more; the pool waits for the job
                    context.cancelAllJobs()
                    _await_rest(context, clock)
                raise

    def _start(self) -> Any:
        if self._session is None:
            self._session = _start_session(self._settings, self._open)
        return self._session


class _Execute:
    """What an executor does with a task; shipped there by Spark."""

    def __init__(self, zone: tzinfo | None) -> None:
        self._zone = zone

    def __call__(self, task: MergeTask) -> TaskResult:
        from pyspark import TaskContext

        context = TaskContext.get()
        if context is None:
            raise TaskFailed("a merge task was started outside Spark")
        return run_task(task, SystemClock(self._zone), context.attemptNumber(), context.taskAttemptId())


def _watch(results: Future[list[TaskResult]], tracker: Any, progress: Progress) -> None:
    """Tells how many tasks are done until all are."""
    while not results.done():
        try:
            results.exception(_POLL_SECONDS)
        except NotYet:
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            progress(sum(stage.numCompletedTasks for stage in stages if stage is not None))


def _await_rest(context: Any, clock: Clock) -> None:
    """Waits for tasks that a failed job has left running, so that they write nothing behind the clean-up.

    Spark kills their workers after `spark.python.task.killTimeout`; who is not heard of for longer is left to
    the journal.
    """
    tracker = context._jsc.sc().statusTracker()  # noqa: SLF001  PySpark shows no running tasks
    waited = 0.0
    while waited < _REST_SECONDS and any(info.numRunningTasks() for info in tracker.getExecutorInfos()):
        clock.sleep(_POLL_SECONDS)
        waited += _POLL_SECONDS


def _results(results: Future[list[TaskResult]]) -> list[TaskResult]:
    try:
        return results.result()
    except Exception as error:
        raise _failure(str(error)) from error


def _failure(message: str) -> TaskFailed:
    """What Spark gave up on. A worker that is gone without a word was killed, mostly for its memory."""
    if (killed := _KILLED.search(message)) is not None:
        return OutOfMemory("Spark", f"a task failed again and again ({killed[0]})")
    return TaskFailed(f"a task failed {_TASK_TRIES} times: {_cause(message)}")


def _cause(message: str) -> str:
    """What a Python worker raised, out of the wall of text that Spark makes of it."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    raised = [line for line in lines if _CAUSE.match(line) and not line.startswith("org.apache.spark")]
    return (raised or lines or ["no reason was given"])[0]


def _start_session(settings: SparkSettings, open_: ExitStack) -> Any:
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(_with_retries(settings.master)).appName("lithify")
    for key, value in configuration(settings).items():
        builder = builder.config(key, value)
    if not settings.verbose:
        open_.enter_context(_jvm_output_hidden())
    try:
        session = builder.getOrCreate()
    except (PySparkException, Py4JError, RuntimeError, OSError) as error:
        problem = f"Spark cannot be started on {settings.master} ({_cause(str(error))}); -v shows its output"
        raise InvalidOption("--master", problem) from error
    open_.callback(session.stop)
    return session


def _with_retries(master: str) -> str:
    """Spark retries no task of a local master unless it is told how often."""
    match = _LOCAL.fullmatch(master)
    return master if match is None else f"local[{match['cores'] or 1},{_TASK_TRIES}]"


def configuration(settings: SparkSettings) -> dict[str, str]:
    """The settings of a session: our defaults, the caller's, and those that nobody may change."""
    return {**_defaults(settings), **settings.conf, **_FIXED}


def _defaults(settings: SparkSettings) -> dict[str, str]:
    """A small, quiet JVM: the data never passes through it."""
    logging = resources.files("lithify.job").joinpath("log4j2.properties")
    java = f"-Dlog4j2.configurationFile={logging} -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto"
    defaults = {
        "spark.driver.memory": "512m",
        "spark.driver.extraJavaOptions": java,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.task.maxFailures": str(_TASK_TRIES),
    }
    if settings.master.startswith("local"):
        defaults["spark.driver.host"] = "127.0.0.1"
        defaults["spark.driver.bindAddress"] = "127.0.0.1"
    return defaults


@contextmanager
def _jvm_output_hidden() -> Iterator[None]:
    """Sends stderr to a file while the JVM, which keeps it, is started and stopped.

    Our own output goes through Python's `sys.stderr`, which is pointed to the real one meanwhile.
    """
    with tempfile.TemporaryFile() as hidden, os.fdopen(os.dup(2), "w", buffering=1) as real:
        os.dup2(hidden.fileno(), 2)
        python_stderr, sys.stderr = sys.stderr, real
        try:
            yield
        finally:
            sys.stderr = python_stderr
            os.dup2(real.fileno(), 2)
