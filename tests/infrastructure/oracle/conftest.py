"""Tables that Java makes, for the tests of the oracle's operations."""

from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.sample_tables import COLUMNS, PLAIN, rich_row


@pytest.fixture
def plain(oracle: Oracle, tmp_path: Path) -> Table:
    """A table with an INT key, a STRING value and one bucket."""
    table = Table(tmp_path / "warehouse", "db.plain")
    oracle.create_table(table, PLAIN, primary_key=["id"], options={"bucket": "1"})
    return table


@pytest.fixture
def rich(oracle: Oracle, tmp_path: Path) -> Table:
    """A partitioned table with two buckets and many types, after inserts, updates and deletes."""
    table = Table(tmp_path / "warehouse", "db.rich")
    oracle.create_table(
        table, COLUMNS, primary_key=["dt", "id"], partition_keys=["dt"], options={"bucket": "2"}
    )
    for version in range(3):
        oracle.write(table, [rich_row(key, version, "+U" if version else "+I") for key in range(version, 20)])
    oracle.write(table, [rich_row(key, 3, "-D") for key in range(0, 20, 5)])
    return table
