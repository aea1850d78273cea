"""Random histories of append tables; `make fuzz` plays others."""

from __future__ import annotations

from pathlib import Path

import pytest

from fuzz.append import AppendHistory
from infrastructure.oracle.client import Oracle

pytestmark = pytest.mark.oracle

STEPS = 14


@pytest.mark.sampled(10)
def test_history_is_as_with_java(oracle: Oracle, tmp_path: Path, seed: int) -> None:
    AppendHistory(seed, oracle, tmp_path).play(STEPS)


def test_histories_copy_row_groups(oracle: Oracle, tmp_path: Path) -> None:
    """Else the others would prove nothing of copies."""
    histories = [AppendHistory(seed, oracle, tmp_path / str(seed)) for seed in range(6)]
    for history in histories:
        history.play(STEPS)
    assert sum(history.copied_bytes > 0 for history in histories) > 1
