"""Tables with postponed rows: two days, whose first rows Java has moved to their buckets already."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from infrastructure.oracle.client import Oracle, Table
from support.tables import copy_of

BUCKETS = 2
DAYS = ("a", "b")
COLUMNS = {"dt": "STRING NOT NULL", "id": "INT NOT NULL", "v": "STRING", "n": "BIGINT"}
MOVED_ONLY = {"write-only": "true"}
"""Options with which Java moves rows without compacting them."""


def make_postponed(oracle: Oracle, warehouse: Path, **options: str) -> Table:
    """Four commits: one in the buckets of both days, three postponed."""
    table = Table(warehouse, "db.t")
    always = {"bucket": "-2", "postpone.default-bucket-num": str(BUCKETS)}
    oracle.create_table(table, COLUMNS, ["dt", "id"], ["dt"], options={**always, **options})
    for commit in range(4):
        append_postponed(oracle, table, f"of {commit}", range(10 * commit, 10 * commit + 40))
        if commit == 0:
            oracle.move_postponed(table, options=MOVED_ONLY)
    return table


def append_postponed(oracle: Oracle, table: Table, word: str, keys: range = range(20, 35)) -> None:
    """Others postpone more rows; every seventh key is deleted."""
    rows = [["-D" if key % 7 == 6 else "+I", day, key, word, key] for day in DAYS for key in keys]
    oracle.write(table, rows)


def rows_of(oracle: Oracle, table: Table) -> list[Any]:
    """The rows that a reader sees as soon as all postponed rows are in their buckets."""
    aside = table.warehouse.parent / f"{table.warehouse.name}-moved"
    moved = copy_of(table, aside)
    oracle.move_postponed(moved, options=MOVED_ONLY)
    rows = oracle.read(moved)
    shutil.rmtree(aside)
    return rows
