"""Java reads files that consist of copied row groups, and goes on compacting them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from infrastructure.oracle.arguments import Filter
from infrastructure.oracle.client import Oracle, Table
from lithify.engine.rewrite.budget import Budget
from lithify.formats.paimon.primary_key import copying
from lithify.formats.protocol.tasks import Sizing
from support.runs import run_inline
from support.tables import copy_of, stray_files

pytestmark = pytest.mark.oracle

ROWS = 60_000
COLUMNS = {
    "id": "BIGINT NOT NULL",
    "text": "STRING",
    "city": "STRING",
    "ratio": "DOUBLE",
    "money": "DECIMAL(12, 2)",
    "moment": "TIMESTAMP(6)",
    "tags": "ARRAY<INT>",
}
VALUES = {
    "text": {"kind": "random", "min": 30, "max": 60, "nulls": 0.1},
    "city": {"kind": "low", "values": 9, "prefix": "city-"},
    "tags": {"kind": "nested", "items": 2, "of": {"kind": "random", "min": 0, "max": 9}},
}
FILTERS: list[Filter] = [
    *({"column": "id", "op": "equal", "literal": key} for key in (0, 17, 30_001, 30_500, ROWS - 1, ROWS)),
    {"column": "id", "op": "greater_than", "literal": 59_000},
    {"column": "id", "op": "less_or_equal", "literal": 31_000},
    {"column": "city", "op": "equal", "literal": "city-000000000003"},
    {"column": "text", "op": "starts_with", "literal": "b"},
    {"column": "ratio", "op": "greater_than", "literal": 1e5},
    {"column": "money", "op": "less_than", "literal": "12.00"},
]
SMALL = Sizing(budget=Budget(4 << 20))
"""Makes row groups of about a megabyte of rows."""


def make(oracle: Oracle, folder: Path, options: Mapping[str, str], *, by_java: bool) -> Table:
    """A table with one large run at the top level, and new keys in a small part of its range."""
    table = Table(folder, "db.t")
    small = {"parquet.block.size": "1048576"} if by_java else {}
    oracle.create_table(table, COLUMNS, ["id"], options={"bucket": "1", **small, **options})
    oracle.generate(table, rows=ROWS, seed=1, columns=VALUES, key={"mode": "sequential"})
    oracle.generate(table, rows=50, seed=2, columns=VALUES, key={"mode": "uniform", "range": ROWS})
    if by_java:
        oracle.manager_round(table, full=True, commit=True)
    else:
        run_inline(table, sizing=SMALL)
    key = {"mode": "uniform", "range": 1_000, "start": ROWS // 2}
    oracle.generate(table, rows=500, commits=2, seed=3, columns=VALUES, key=key, delete_ratio=0.2)
    return table


@pytest.mark.parametrize("by_java", [False, True], ids=["own row groups", "Java's row groups"])
@pytest.mark.parametrize(
    "options",
    [{}, {"parquet.bloom.filter.enabled": "true", "data-file.thin-mode": "true"}],
    ids=["plain", "bloom filters and thin files"],
)
def test_java_reads_copied_row_groups(
    oracle: Oracle,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: Mapping[str, str],
    *,
    by_java: bool,
) -> None:
    monkeypatch.setattr(copying, "SMALLEST_COPIED", 1)
    monkeypatch.setattr(copying, "_MOST_OTHERS", 1e9)  # Java's filters have a megabyte each
    original = make(oracle, tmp_path / "original", options, by_java=by_java)
    table = copy_of(original, tmp_path / "ours")

    report = run_inline(table, sizing=SMALL)

    large = max(file.size for file in oracle.files(original) if file.level > 0)
    has_javas_filters = by_java and bool(options)  # of other columns than ours, and a megabyte each
    assert (report.copied_bytes > large / 2) == (not has_javas_filters)
    assert oracle.digest(table) == oracle.digest(original)
    expected = oracle.filtered_digests(original, FILTERS, skipping=False)
    assert oracle.filtered_digests(table, FILTERS) == expected
    assert stray_files(oracle, table) == set()

    java = copy_of(original, tmp_path / "java")
    oracle.manager_round(java, full=True, commit=True)
    assert facts(oracle, table) == facts(oracle, java)
    oracle.generate(table, rows=100, seed=9, columns=VALUES, key={"mode": "uniform", "range": ROWS})
    rows = oracle.digest(table)
    oracle.manager_round(table, full=True, commit=True)
    assert oracle.digest(table) == rows


def facts(oracle: Oracle, table: Table) -> list[tuple[object, ...]]:
    """What manifests say of the files, except what depends on how they are encoded."""
    return [
        (
            *(file.level, file.rows, file.min_key, file.max_key, file.min_sequence, file.max_sequence),
            *(file.delete_rows, file.key_stats, file.file_source, file.schema_id),
            file.value_stats_cols,
            file.value_stats,
        )
        for file in oracle.files(table)
    ]
