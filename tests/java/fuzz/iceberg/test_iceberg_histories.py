"""Random histories of Iceberg tables; `make fuzz` plays others. What they found has tests elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.iceberg.spark import SparkIceberg
from java.fuzz.iceberg.drawing import draw
from java.fuzz.iceberg.playing import play
from java.fuzz.iceberg.simpler import simpler
from java.fuzz.shrinking import cut_down


@pytest.mark.sampled(5)
def test_history_reads_as_before(
    spark_iceberg: SparkIceberg, tmp_path: Path, seed: int, request: pytest.FixtureRequest
) -> None:
    history = draw(seed)
    print(history)
    try:
        play(history, spark_iceberg, tmp_path)
    except Exception:
        if request.config.getoption("--cut", default=False):
            print(cut_down(history, lambda each, folder: play(each, spark_iceberg, folder), simpler))
        raise
