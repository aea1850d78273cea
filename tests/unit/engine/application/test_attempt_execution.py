"""What becomes of a result when Spark cannot be stopped after it."""

from __future__ import annotations

import json
from types import TracebackType
from typing import cast

import pytest

from lithify.controller.launching.ordering import instructions_of
from lithify.engine.application.execution import _within
from lithify.engine.application.log import AttemptLog
from lithify.engine.run.spark import SparkRunner
from support.launching.orders import order


class Unstoppable:
    def __enter__(self) -> Unstoppable:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        raise ConnectionError("the JVM is gone")


RUNNER = cast(SparkRunner, Unstoppable())


@pytest.fixture
def log() -> AttemptLog:
    told = instructions_of(order("/w"), master="local[1]", conf={}, credentials={})
    return AttemptLog(told, verbose=False)


def test_a_result_stands_though_spark_cannot_be_stopped(
    log: AttemptLog, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _within(RUNNER, lambda: "done", log) == "done"
    (line,) = capsys.readouterr().err.splitlines()
    assert json.loads(line)["error"] == "ConnectionError"


def test_without_a_result_the_error_is_raised(log: AttemptLog, capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> str:
        raise ValueError("planted")

    with pytest.raises(ConnectionError) as raised:
        _within(RUNNER, fail, log)
    assert isinstance(raised.value.__context__, ValueError)
    assert capsys.readouterr().err == ""
