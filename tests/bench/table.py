"""The tables that are compacted: orders, as a shop's change stream leaves them in one bucket, and events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from infrastructure.oracle.client import Oracle, Table

RUNS = 6
_OPTIONS = {"bucket": "1", "write-buffer-size": "2 gb", "target-file-size": "1 gb"}


@dataclass(frozen=True, slots=True)
class Layout:
    """What a table holds.

    Attributes:
        columns: their types; the first is the key.
        values: how they are drawn, where that is not random.
        rows: how many are written by default.
        options: of the table.
    """

    columns: Mapping[str, str]
    values: Mapping[str, dict[str, Any]]
    rows: int
    options: Mapping[str, str] = field(default_factory=dict)


LAYOUTS = {
    "orders": Layout(
        {
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
        },
        {
            "customer_id": {"kind": "random", "min": 0, "max": 200_000},
            "status": {"kind": "low", "values": 6},
            "city": {"kind": "low", "values": 300},
            "product": {"kind": "low", "values": 2_000},
            "quantity": {"kind": "random", "min": 1, "max": 20},
            "price": {"kind": "random", "min": 100, "max": 5_000_000},
            "comment": {"kind": "random", "min": 10, "max": 40, "nulls": 0.5},
        },
        rows=5_000_000,
    ),
    "variants": Layout(
        {"event_id": "BIGINT NOT NULL", "body": "VARIANT"},
        {"body": {"kind": "nested", "items": 10, "of": {"kind": "random", "max": 1 << 40}}},
        rows=1_000_000,
        options={"variant.inferShreddingSchema": "true"},
    ),
}


def make(oracle: Oracle, warehouse: Path, layout: Layout, rows: int) -> Table:
    """Writes `rows` rows in six commits: keys drawn from as many, one in twenty a delete."""
    table = Table(warehouse, "shop.bench")
    key = next(iter(layout.columns))
    oracle.create_table(table, layout.columns, primary_key=[key], options={**_OPTIONS, **layout.options})
    oracle.generate(table, rows=rows, commits=RUNS, seed=1, columns=layout.values, delete_ratio=0.05)
    files = oracle.files(table)
    assert len(files) == RUNS, f"expected a file a run, found {len(files)}"
    return table
