"""Two hundred random histories; `make fuzz` plays others. What they found has tests by name elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle
from java.fuzz.drawing import draw
from java.fuzz.playing import play
from java.fuzz.shrinking import cut_down
from java.fuzz.simpler import simpler

pytestmark = pytest.mark.oracle


@pytest.mark.sampled(12)
def test_history_is_as_with_java(
    oracle: Oracle, tmp_path: Path, seed: int, request: pytest.FixtureRequest
) -> None:
    history = draw(seed)
    print(history)
    try:
        play(history, oracle, tmp_path)
    except Exception:
        if request.config.getoption("--cut", default=False):
            print(cut_down(history, lambda each, folder: play(each, oracle, folder), simpler))
        raise
