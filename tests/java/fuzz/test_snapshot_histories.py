"""Random histories with expiry of snapshots; `make fuzz` plays others."""

from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle
from java.fuzz.snapshot_histories import SnapshotHistory

pytestmark = pytest.mark.oracle

STEPS = 20


@pytest.mark.sampled(20)
def test_expiry_leaves_the_files_that_java_leaves(oracle: Oracle, tmp_path: Path, seed: int) -> None:
    SnapshotHistory(seed, oracle, tmp_path).play(STEPS)
