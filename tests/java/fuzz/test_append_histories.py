"""Random histories of append tables; `make fuzz` plays others."""

from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle
from java.fuzz.append import AppendHistory

pytestmark = pytest.mark.oracle

STEPS = 14


@pytest.mark.sampled(4)
def test_history_is_as_with_java(oracle: Oracle, tmp_path: Path, seed: int) -> None:
    AppendHistory(seed, oracle, tmp_path).play(STEPS)


def test_histories_copy_row_groups(oracle: Oracle, tmp_path: Path) -> None:
    """Else the others would prove nothing of copies."""
    copied = 0
    for seed in range(30):
        history = AppendHistory(seed, oracle, tmp_path / str(seed))
        history.play(STEPS)
        copied += history.copied_bytes > 0
        if copied == 2:
            return
    pytest.fail("none of the histories has copied row groups")
