"""The tables that are compacted: orders, as a shop's change stream leaves them in one bucket, and events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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
        deletes: share of rows that are deletes.
    """

    columns: Mapping[str, str]
    values: Mapping[str, dict[str, Any]]
    rows: int
    options: Mapping[str, str] = field(default_factory=dict)
    deletes: float = 0.05


def _wide(count: int, rows: int, options: Mapping[str, str]) -> Layout:
    """Numbers and short texts in turn, half of which are null; `g` and `h` may order them."""
    numbers, texts = ([f"c{n}" for n in range(first, count, 2)] for first in (0, 1))
    order = {"kind": "random", "min": 0, "max": 1 << 40}
    return Layout(
        {
            "id": "BIGINT NOT NULL",
            "g": "BIGINT",
            "h": "BIGINT",
            **{name: "BIGINT" if name in numbers else "STRING" for name in sorted([*numbers, *texts])},
        },
        {
            "g": order,
            "h": order,
            **{name: {"kind": "random", "min": 0, "max": 1 << 20, "nulls": 0.5} for name in numbers},
            **{name: {"kind": "random", "min": 4, "max": 12, "nulls": 0.5} for name in texts},
        },
        rows=rows,
        options=options,
        deletes=0,
    )


_FIRST_ROW = {"merge-engine": "first-row"}
_PARTIAL = {"merge-engine": "partial-update"}
_GROUPS = {
    "fields.g.sequence-group": ",".join(f"c{n}" for n in range(5)),
    "fields.h.sequence-group": ",".join(f"c{n}" for n in range(5, 10)),
}

_ORDERS = Layout(
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
)
_TOTALS = {
    "merge-engine": "aggregation",
    "fields.quantity.aggregate-function": "sum",
    "fields.price.aggregate-function": "sum",
    "fields.created.aggregate-function": "max",
}
_COLLECTIONS = {
    "merge-engine": "aggregation",
    "fields.words.aggregate-function": "listagg",
    "fields.labels.aggregate-function": "listagg",
    "fields.labels.distinct": "true",
    "fields.numbers.aggregate-function": "collect",
    "fields.tags.aggregate-function": "collect",
    "fields.tags.distinct": "true",
}

LAYOUTS = {
    "orders": _ORDERS,
    # Every column keeps its last value that is not null, but for two sums and a maximum.
    "aggregation": replace(_ORDERS, options=_TOTALS, deletes=0),
    "collections": Layout(
        {
            "id": "BIGINT NOT NULL",
            "words": "STRING",
            "labels": "STRING",
            "numbers": "ARRAY<BIGINT>",
            "tags": "ARRAY<STRING>",
        },
        {
            "words": {"kind": "random", "min": 4, "max": 12, "nulls": 0.2},
            "labels": {"kind": "low", "values": 20},
            "numbers": {"kind": "nested", "items": 3, "of": {"kind": "random", "min": 0, "max": 1 << 20}},
            "tags": {"kind": "nested", "items": 2, "of": {"kind": "low", "values": 50}},
        },
        rows=2_000_000,
        options=_COLLECTIONS,
        deletes=0,
    ),
    "variants": Layout(
        {"event_id": "BIGINT NOT NULL", "body": "VARIANT"},
        {"body": {"kind": "nested", "items": 10, "of": {"kind": "random", "max": 1 << 40}}},
        rows=1_000_000,
        options={"variant.inferShreddingSchema": "true"},
    ),
    "partial-10": _wide(10, 2_000_000, _PARTIAL),
    "partial-100": _wide(100, 300_000, _PARTIAL),
    "partial-1000": _wide(1_000, 30_000, _PARTIAL),
    "partial-groups": _wide(10, 2_000_000, {**_PARTIAL, **_GROUPS}),
    "first-row": replace(_ORDERS, options=_FIRST_ROW, deletes=0),
    "first-row-wide": _wide(10, 2_000_000, _FIRST_ROW),
}


def make(oracle: Oracle, warehouse: Path, layout: Layout, rows: int) -> Table:
    """Writes `rows` rows in six commits: keys drawn from as many."""
    table = Table(warehouse, "shop.bench")
    key = next(iter(layout.columns))
    oracle.create_table(table, layout.columns, primary_key=[key], options={**_OPTIONS, **layout.options})
    oracle.generate(
        table, rows=rows, commits=RUNS, seed=1, columns=layout.values, delete_ratio=layout.deletes
    )
    files = oracle.files(table)
    assert len(files) == RUNS, f"expected a file a run, found {len(files)}"
    return table
