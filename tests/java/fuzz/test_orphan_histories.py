"""Random histories with leftovers of crashed writers; `make fuzz` plays others."""

from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle
from java.fuzz.orphan_histories import OrphanHistory

pytestmark = pytest.mark.oracle

STEPS = 15


@pytest.mark.sampled(3)
def test_orphans_of_java_go_but_for_those_with_a_reason(oracle: Oracle, tmp_path: Path, seed: int) -> None:
    OrphanHistory(seed, oracle, tmp_path).play(STEPS)
