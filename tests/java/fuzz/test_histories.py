"""Two hundred random histories; `make fuzz` plays others. What they found has tests by name elsewhere."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from traceback import extract_tb

import pytest

from infrastructure.oracle.client import Oracle
from java.fuzz.drawing import draw
from java.fuzz.history import History
from java.fuzz.playing import play
from java.fuzz.shrinking import smallest

pytestmark = pytest.mark.oracle


@pytest.mark.sampled(40)
def test_history_is_as_with_java(
    oracle: Oracle, tmp_path: Path, seed: int, request: pytest.FixtureRequest
) -> None:
    history = draw(seed)
    print(history)
    try:
        play(history, oracle, tmp_path)
    except Exception:
        if request.config.getoption("--cut", default=False):
            smaller, failure = least(history, oracle)
            print("it failed, and not again" if failure is None else f"{failure}: {smaller}")
        raise


def least(history: History, oracle: Oracle) -> tuple[History, str | None]:
    """The least of a history that fails as all of it does, and how; all of it if it does not fail."""

    def fails(history: History) -> str | None:
        with TemporaryDirectory(prefix="lithify-fuzz-") as folder:
            try:
                play(history, oracle, Path(folder))
            except Exception as error:  # noqa: BLE001 - whatever it is, it is a finding
                *_, last = extract_tb(error.__traceback__)
                return f"{type(error).__name__} in {last.name}, line {last.lineno}"
        return None

    failure = fails(history)
    return (history if failure is None else smallest(history, fails, failure)), failure
