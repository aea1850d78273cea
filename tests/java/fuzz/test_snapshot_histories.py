"""Random histories with expiry of snapshots and rollbacks; `make fuzz` plays others."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from infrastructure.oracle.client import Oracle, Table
from java.fuzz.snapshot_histories import SnapshotHistory
from support.expired_snapshots import numbers
from support.rolled_back_tables import roll_back_both

pytestmark = pytest.mark.oracle

STEPS = 20


@pytest.mark.sampled(8)
def test_expiry_leaves_the_files_that_java_leaves(oracle: Oracle, tmp_path: Path, seed: int) -> None:
    SnapshotHistory(seed, oracle, tmp_path).play(STEPS)


@pytest.mark.sampled(2)
def test_rollback_leaves_the_files_that_java_leaves(oracle: Oracle, tmp_path: Path, seed: int) -> None:
    """Also of tables with branches, which the histories themselves do not roll back."""
    SnapshotHistory(seed, oracle, tmp_path).play(STEPS // 2)
    table, random = Table(tmp_path / "table", "db.t"), Random(seed)
    for turn in range(3):
        roll_back_both(oracle, table, random.choice(numbers(table)), tmp_path / f"both-{turn}")
