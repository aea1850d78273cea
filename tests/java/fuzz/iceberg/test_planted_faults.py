"""Random histories of Iceberg tables find planted faults of the product: their power is a number."""

from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.iceberg.spark import SparkIceberg
from infrastructure.jvm.process import OracleError
from java.fuzz.iceberg.drawing import draw
from java.fuzz.iceberg.planted import PLANTED
from java.fuzz.iceberg.playing import play
from lithify.errors import LithifyError

MOST = 60
"""Histories in which each fault must be found."""


@pytest.mark.sampled(1)
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("fault", PLANTED)
def test_histories_find_a_planted_fault(spark_iceberg: SparkIceberg, tmp_path: Path, fault: str) -> None:
    for number in range(MOST):
        failure = _failure(spark_iceberg, tmp_path / f"{number}-planted", number, fault)
        if failure is not None:
            break
    else:
        raise AssertionError(f"{fault} was not found by {MOST} histories")
    print(f"{fault}: found by history {number}, as {failure}")
    assert _failure(spark_iceberg, tmp_path / f"{number}-clean", number, None) is None


def _failure(spark: SparkIceberg, folder: Path, number: int, fault: str | None) -> str | None:
    """How a history fails with a fault, or without any; None if it does not."""
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        if fault is not None:
            PLANTED[fault](patch)
        try:
            play(draw(number), spark, folder)
        except (AssertionError, LithifyError, OracleError) as error:
            return f"{type(error).__name__}: {str(error)[:200]}"
    return None
