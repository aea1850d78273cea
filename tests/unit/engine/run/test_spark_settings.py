"""What Spark is told before it starts, and what its end stands for."""

from __future__ import annotations

import signal

import pytest

from lithify.engine.run.spark import (
    SparkSettings,
    _end_of_spark,
    _failure,
    _Patience,
    configuration,
)
from lithify.errors import LithifyError, NoExecutors, OutOfMemory, ProcessLost, TaskFailed
from support.cases import case


def test_callers_change_our_defaults() -> None:
    conf = {"spark.driver.memory": "2g", "spark.eventLog.enabled": "true"}
    assert conf.items() <= configuration(SparkSettings("local[2]", conf)).items()


def test_nobody_switches_speculation_on() -> None:
    """A copy of a task that is killed when the other is done would leave files that nobody knows of."""
    asked = SparkSettings("local[2]", {"spark.speculation": "true"})
    assert configuration(asked)["spark.speculation"] == "false"


def test_executors_in_pods_have_small_jvms_too_and_their_driver_is_not_found_at_loopback() -> None:
    conf = configuration(SparkSettings("k8s://https://kubernetes.default.svc"))
    assert "-XX:+UseSerialGC" in conf["spark.executor.extraJavaOptions"]
    assert "spark.driver.host" not in conf


LOST = (
    "Job aborted due to stage failure: Task 3 in stage 0.0 failed 4 times, most recent failure: "
    "ExecutorLostFailure (executor 7 exited caused by one of the running tasks) Reason:\n"
)


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        case(
            LOST + "The executor with id 7 exited with exit code 137(SIGKILL, possible container OOM).",
            OutOfMemory,
            id="executor",
        ),
        case("Python worker exited unexpectedly (crashed)", OutOfMemory, id="worker"),
        case("java.lang.OutOfMemoryError: Java heap space", OutOfMemory, id="heap"),
        case(LOST + "The executor with id 7 exited with exit code 1(unexpected).", TaskFailed, id="executor"),
        case("ValueError: no such thing", TaskFailed, id="a bug"),
    ],
)
def test_the_error_of_a_failed_task_is_found_in_its_message(message: str, kind: type[LithifyError]) -> None:
    assert type(_failure(message)) is kind


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        case(-signal.SIGKILL, OutOfMemory, id="killed"),
        case(11, ProcessLost, id="too many executors failed"),
        case(1, ProcessLost, id="crashed"),
    ],
)
def test_end_of_spark_itself(code: int, kind: type[LithifyError]) -> None:
    assert type(_end_of_spark(code)) is kind


class Tracker:
    """What Spark knows of its executors, the driver included."""

    executors = 0

    def getExecutorInfos(self) -> list[object]:  # noqa: N802  # Spark's own name
        return [None] * (1 + self.executors)


def test_first_executor_is_not_waited_for_for_ever() -> None:
    tracker, times = Tracker(), [0.0]
    told: list[int] = []
    patience = _Patience(tracker, 60, lambda: times[0], told.append)
    for now in (1.0, 30.0, 60.0):
        times[0] = now
        patience.check()
    tracker.executors, times[0] = 1, 90.0  # it came just before anybody looked
    patience.check()
    tracker.executors, times[0] = 0, 149.0  # and was lost again
    patience.check()
    times[0] = 152.0
    with pytest.raises(NoExecutors) as caught:
        patience.check()
    assert caught.value.seconds == 60
    assert told == [0, 0, 1, 0, 0]
