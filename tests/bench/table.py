"""The table that is compacted: orders, as a shop's change stream leaves them behind in one bucket."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from oracle.client import Oracle, Table

RUNS = 6
_COLUMNS = {
    "order_id": "BIGINT NOT NULL",
    "customer_id": "BIGINT",
    "status": "STRING",
    "city": "STRING",
    "product": "STRING",
    "quantity": "INT",
    "price": "DECIMAL(10, 2)",
    "created": "TIMESTAMP(6)",
    "paid": "BOOLEAN",
    "comment": "STRING",
}
_VALUES: dict[str, dict[str, Any]] = {
    "customer_id": {"kind": "random", "min": 0, "max": 200_000},
    "status": {"kind": "low", "values": 6},
    "city": {"kind": "low", "values": 300},
    "product": {"kind": "low", "values": 2_000},
    "quantity": {"kind": "random", "min": 1, "max": 20},
    "price": {"kind": "random", "min": 100, "max": 5_000_000},
    "comment": {"kind": "random", "min": 10, "max": 40, "nulls": 0.5},
}
_OPTIONS = {"bucket": "1", "write-buffer-size": "2 gb", "target-file-size": "1 gb"}


def make(oracle: Oracle, warehouse: Path, rows: int) -> Table:
    """Writes `rows` rows in six commits: keys drawn from as many, one in twenty a delete."""
    table = Table(warehouse, "shop.orders")
    oracle.create_table(table, _COLUMNS, primary_key=["order_id"], options=_OPTIONS)
    oracle.generate(table, rows=rows, commits=RUNS, seed=1, columns=_VALUES, delete_ratio=0.05)
    files = oracle.files(table)
    assert len(files) == RUNS, f"expected a file a run, found {len(files)}"
    return table
