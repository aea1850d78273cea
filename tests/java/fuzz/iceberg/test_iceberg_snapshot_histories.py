"""Random histories of Iceberg snapshots that expire; `make fuzz` plays others."""

from __future__ import annotations

import pytest

from infrastructure.iceberg.tables import SparkTable
from java.fuzz.iceberg.snapshot_histories import SnapshotHistory

STEPS = 12


@pytest.mark.sampled(1)
def test_expiry_leaves_the_metadata_and_files_that_java_leaves(sql_table: SparkTable, seed: int) -> None:
    history = SnapshotHistory(seed, sql_table)
    try:
        history.play(STEPS)
    finally:
        print(history.version, history.log, history.expired)
