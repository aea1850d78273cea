"""Runs tasks on Spark: the only module that imports pyspark.

Made by the command line. Spark is started when the first tasks come and stopped with the runner, so a run
that finds nothing to do never starts a JVM. One Spark task a merge task; results are metadata only. Spark's
core is all it takes: a session of Spark SQL takes as long again to start, and jars that the image leaves out.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from importlib import resources
from subprocess import TimeoutExpired
from time import monotonic
from typing import Any, Self

from lithify.clock import Clock, SystemClock
from lithify.engine.run.processor_time import DriverProcess, ProcessorTime, executor_time
from lithify.engine.run.runner import Progress
from lithify.errors import InvalidOption, LithifyError, NoExecutors, OutOfMemory, ProcessLost, TaskFailed
from lithify.formats.protocol.results import TaskResult
from lithify.formats.protocol.tasks import Task
from lithify.settings import DRIVER_MEMORY, MASTER, SPARK_OUTPUT

_POLL_SECONDS = 0.2
_COUNT_SECONDS = 2.0
"""How often executors are counted."""
_REST_SECONDS = 10.0
_END_SECONDS = 2.0
"""Seconds until Spark's JVM has exited once it no longer responds."""
_TASK_TRIES = 4
_FIXED = {"spark.speculation": "false"}
"""No speculation: the slower copy of a task is killed, and the files that it leaves would be unknown."""

_KUBERNETES = "k8s://"
_LOCAL = re.compile(r"local(?:\[(?P<cores>\*|\d+)\])?")
_KILLED = re.compile(
    r"Python worker exited unexpectedly[^\n]*|exit code 137|OOMKilled|java\.lang\.OutOfMemoryError[^\n]*"
)
_MORE_FOR_DRIVER = ("give the driver more memory (", DRIVER_MEMORY, ")")
_TOO_MANY_LOST = 11
"""Exit code of Spark's JVM when more executors have failed than it tolerates."""
_CAUSE = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Interrupt|Exit|Failed)\b")


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """Where and how Spark runs.

    Attributes:
        master: Spark master URL; `local[...]` gets retries, which Spark leaves out there.
        conf: settings beside our defaults.
        zone: time zone of the executors' clocks, for the creation times of files; None for theirs.
        verbose: whether what the JVM prints is shown.
        sized: settings that follow from the tasks, by their bytes in all and their number.
        patience: seconds after which a run without any executor ends; None for never.
        executors: with `patience`, receives the numbers of ready and of requested executors periodically.
    """

    master: str = "local[*]"
    conf: Mapping[str, str] = field(default_factory=dict)
    zone: tzinfo | None = None
    verbose: bool = False
    sized: Callable[[int, int], Mapping[str, str]] = lambda _bytes, _tasks: {}
    patience: float | None = None
    executors: Callable[[int, int], None] = lambda _ready, _wanted: None


class SparkRunner:
    """A `TaskRunner` with a Spark context of its own; a context manager.

    Attributes:
        processor_time: of the driver and its executors.
    """

    def __init__(self, settings: SparkSettings) -> None:
        self.processor_time = ProcessorTime()
        self._settings = settings
        self._open = ExitStack()
        self._context: Any = None
        self._is_lost = False

    @property
    def is_lost(self) -> bool:
        """Whether no tasks can be run any more: Spark could not be started, found no room, or has ended."""
        return self._is_lost

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def run(self, tasks: Sequence[Task], clock: Clock, progress: Progress) -> list[TaskResult]:
        """Runs all tasks to their end, the largest first.

        Raises:
            InvalidOption: Spark cannot be started with these settings.
            TaskFailed: a task failed again and again.
            NoExecutors: there is no room for any executor.
            ProcessLost: Spark itself ended.
        """
        largest_first = sorted(tasks, key=lambda task: -sum(task.input_sizes.values()))
        try:
            context = self._start(tasks)
        except BaseException:
            self._is_lost = True
            raise
        work = context.parallelize(largest_first, len(largest_first)).map(
            _Execute(self._settings.zone, DriverProcess.own())
        )
        with ThreadPoolExecutor(1) as waiting:
            try:
                results = waiting.submit(work.collect)
                _watch(results, context, progress, self._settings)
                found = _results(results)
            except BaseException as error:  # the pool waits for the job, so it has to end
                lost = _give_up(context, clock)
                self._is_lost = lost is not None or isinstance(error, NoExecutors) or _has_ended(context)
                if lost is not None and isinstance(error, Exception):
                    raise lost from error
                raise
        self.processor_time.note(result.executor for result in found)
        return found

    def _start(self, tasks: Sequence[Task]) -> Any:
        if self._context is None:
            sizes = {path: size for task in tasks for path, size in task.input_sizes.items()}
            size = sum(sizes.values())
            conf = {**self._settings.conf, **self._settings.sized(size, len(tasks))}
            self._context = _start_context(replace(self._settings, conf=conf), self._open)
        return self._context


class _Execute:
    """The function that executors run for each task; shipped there by Spark."""

    def __init__(self, zone: tzinfo | None, driver: DriverProcess) -> None:
        self._zone = zone
        self._driver = driver

    def __call__(self, task: Task) -> TaskResult:
        from pyspark import TaskContext

        context = TaskContext.get()
        if context is None:
            raise TaskFailed("a merge task was started outside Spark")
        result = task.run(SystemClock(self._zone), context.attemptNumber(), context.taskAttemptId())
        return replace(result, executor=executor_time(self._driver))


class _Patience:
    """Limits the wait for executors; `tell` receives the number of executors."""

    def __init__(
        self,
        tracker: Any,
        seconds: float,
        now: Callable[[], float] = monotonic,
        tell: Callable[[int], None] = lambda _: None,
    ) -> None:
        self._tracker = tracker
        self._tell = tell
        self._seconds = seconds
        self._now = now
        self._last = self._counted = now()

    def check(self) -> None:
        """Counts executors now and then.

        Raises:
            NoExecutors: there has been none for too long.
        """
        now = self._now()
        if now < self._counted + _COUNT_SECONDS:
            return
        self._counted = now
        ready = max(0, len(self._tracker.getExecutorInfos()) - 1)  # the driver is one of them
        self._tell(ready)
        if ready:
            self._last = now
        elif now > self._last + self._seconds:
            raise NoExecutors(self._seconds)


def _watch(
    results: Future[list[TaskResult]], context: Any, progress: Progress, settings: SparkSettings
) -> None:
    """Reports the number of finished tasks until the job ends."""
    tracker = context.statusTracker()
    executors = None
    if settings.patience is not None:
        wanted = int(context.getConf().get("spark.executor.instances") or 1)
        executors = _Patience(
            _executor_tracker(context),
            settings.patience,
            tell=lambda ready: settings.executors(ready, wanted),
        )
    while not results.done():
        try:
            results.exception(_POLL_SECONDS)
        except NotYet:
            if executors is not None:
                executors.check()
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            progress(sum(stage.numCompletedTasks for stage in stages if stage is not None))


def _executor_tracker(context: Any) -> Any:
    return context._jsc.sc().statusTracker()  # noqa: SLF001  PySpark shows no executors


def _await_rest(context: Any, clock: Clock) -> None:
    """Waits for tasks that a failed job has left running, so that they write nothing behind the clean-up.

    Spark kills their workers after `spark.python.task.killTimeout`; tasks that run longer are left to
    the journal.
    """
    tracker = _executor_tracker(context)
    waited = 0.0
    while waited < _REST_SECONDS and any(info.numRunningTasks() for info in tracker.getExecutorInfos()):
        clock.sleep(_POLL_SECONDS)
        waited += _POLL_SECONDS


def _give_up(context: Any, clock: Clock) -> LithifyError | None:
    """Ends a failed or unwanted job; returns the error that ended Spark if Spark itself is gone."""
    try:
        context.cancelAllJobs()
        _await_rest(context, clock)
    except Exception:  # noqa: BLE001  # whatever ended the run matters more
        with suppress(TimeoutExpired):
            return _end_of_spark(context._gateway.proc.wait(_END_SECONDS))  # noqa: SLF001  PySpark does not say
    return None


def _results(results: Future[list[TaskResult]]) -> list[TaskResult]:
    try:
        return results.result()
    except Exception as error:
        raise _failure(str(error)) from error


def _end_of_spark(code: int) -> LithifyError:
    """The error for an exit code of Spark's JVM, which should outlive all tasks."""
    if code == -signal.SIGKILL:
        return OutOfMemory("Spark", "the driver's own JVM was killed", _MORE_FOR_DRIVER)
    if code == _TOO_MANY_LOST:
        return ProcessLost(
            "Spark", "it gave up because too many executors failed; their pods' events say why"
        )
    return ProcessLost("Spark", f"the driver's JVM ended with code {code}")


def _failure(message: str) -> TaskFailed:
    """The error for a failed job. A worker that vanished without error was killed, mostly for memory."""
    if (killed := _KILLED.search(message)) is not None:
        return OutOfMemory("Spark", f"a task failed again and again ({killed[0]})")
    return TaskFailed(f"a task failed {_TASK_TRIES} times: {_cause(message)}")


def _cause(message: str) -> str:
    """The error that a Python worker raised, extracted from Spark's long message."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    raised = [line for line in lines if _CAUSE.match(line) and not line.startswith("org.apache.spark")]
    return (raised or lines or ["no reason was given"])[0]


def _start_context(settings: SparkSettings, open_: ExitStack) -> Any:
    from py4j.protocol import Py4JError
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    conf = SparkConf().setMaster(_with_retries(settings.master)).setAppName("lithify")
    conf.setAll(list(configuration(settings).items()))
    if not settings.verbose:
        open_.enter_context(_jvm_output_hidden())
    try:
        context = SparkContext(conf=conf)
    except (PySparkException, Py4JError, RuntimeError, OSError) as error:
        problem = f"Spark cannot be started on {settings.master} ({_cause(str(error))}); its output is in "
        raise InvalidOption(MASTER, problem, SPARK_OUTPUT) from error
    open_.callback(_stop, context)
    return context


def _stop(context: Any) -> None:
    """Ends Spark and its executors; what has ended by itself is left alone."""
    if not _has_ended(context):
        context.stop()


def _has_ended(context: Any) -> bool:
    """Whether Spark's JVM is gone."""
    return context._gateway.proc.poll() is not None  # noqa: SLF001  PySpark does not say


def _with_retries(master: str) -> str:
    """A master URL with a number of retries: a local Spark retries no task otherwise."""
    match = _LOCAL.fullmatch(master)
    return master if match is None else f"local[{match['cores'] or 1},{_TASK_TRIES}]"


def configuration(settings: SparkSettings) -> dict[str, str]:
    """The settings of a context: our defaults, the caller's, and the fixed ones."""
    return {**_defaults(settings), **settings.conf, **_FIXED}


def _defaults(settings: SparkSettings) -> dict[str, str]:
    """A small, quiet JVM: the data never passes through it."""
    logging = resources.files("lithify.engine.run").joinpath("log4j2.properties")
    java = f"-Dlog4j2.configurationFile={logging} -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:auto"
    defaults = {
        "spark.driver.memory": "512m",
        "spark.driver.extraJavaOptions": java,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.task.maxFailures": str(_TASK_TRIES),
    }
    if settings.master.startswith(_KUBERNETES):
        defaults["spark.executor.extraJavaOptions"] = java
    if settings.master.startswith("local"):
        defaults["spark.driver.host"] = "127.0.0.1"
        defaults["spark.driver.bindAddress"] = "127.0.0.1"
    return defaults


@contextmanager
def _jvm_output_hidden() -> Iterator[None]:
    """Sends stderr to a file while the JVM, which keeps it, is started and stopped.

    Our own output goes through Python's `sys.stderr`, which is redirected to the real one.
    """
    with tempfile.TemporaryFile() as hidden, os.fdopen(os.dup(2), "w", buffering=1) as real:
        os.dup2(hidden.fileno(), 2)
        python_stderr, sys.stderr = sys.stderr, real
        try:
            yield
        finally:
            sys.stderr = python_stderr
            os.dup2(real.fileno(), 2)
