"""Append tables with a column of each type, questions about them, and the order in which files are compared.

Used by the tests of copied row groups and of joined pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from infrastructure.oracle.arguments import Filter
from infrastructure.oracle.client import Oracle
from infrastructure.oracle.model import DataFile, Table

COMMITS, ROWS = 6, 3_000
"""Number of commits, and of rows in each."""
COLUMNS = {
    "id": "BIGINT",
    "text": "STRING",
    "city": "STRING",
    "ratio": "DOUBLE",
    "share": "FLOAT",
    "money": "DECIMAL(12, 2)",
    "little": "DECIMAL(8, 2)",
    "large": "DECIMAL(30, 4)",
    "day": "DATE",
    "moment": "TIMESTAMP(6)",
    "instant": "TIMESTAMP(3) WITH LOCAL TIME ZONE",
    "flag": "BOOLEAN",
    "small": "SMALLINT",
    "raw": "BYTES",
    "tags": "ARRAY<INT>",
    "spot": "ROW<x INT, y STRING>",
    "nothing": "INT",
}
VALUES: Mapping[str, dict[str, Any]] = {
    "id": {"kind": "random", "min": 0, "max": 1 << 40, "nulls": 0.1},
    "text": {"kind": "random", "min": 0, "max": 60, "nulls": 0.1},
    "city": {"kind": "low", "values": 9, "prefix": "city-"},
    "tags": {"kind": "nested", "items": 2, "of": {"kind": "low", "values": 9}},
    "spot": {"kind": "nested", "of": {"kind": "random", "min": 4, "max": 12}},
    "nothing": {"kind": "random", "min": 0, "max": 9, "nulls": 1.0},
}
FILTERS: list[Filter] = [
    {"column": "id", "op": "greater_than", "literal": 1 << 39},
    {"column": "id", "op": "less_than", "literal": 1 << 30},
    {"column": "city", "op": "equal", "literal": "city-000000000003"},
    {"column": "text", "op": "starts_with", "literal": "b"},
    {"column": "ratio", "op": "greater_than", "literal": 1e5},
    {"column": "money", "op": "less_than", "literal": "12.00"},
]
IN_A_BUCKET = {"bucket": "1", "bucket-key": "id"}
STATS = {"metadata.stats-mode": "full", "metadata.stats-dense-store": "false"}
INDEXES = {"file-index.bloom-filter.columns": "id", "file-index.bitmap.columns": "city"}
INDEXED: list[Filter] = [
    {"column": "id", "op": "equal", "literal": -7},
    {"column": "city", "op": "equal", "literal": "city-000000000003"},
    {"column": "city", "op": "equal", "literal": "none"},
]
"""What file indexes are asked; no row has the first value."""


def make(oracle: Oracle, folder: Path, options: Mapping[str, str]) -> Table:
    """Java writes the table."""
    table = Table(folder, "db.t")
    oracle.create_table(table, COLUMNS, options=options)
    append(oracle, table, COMMITS, seed=1)
    return table


def append(oracle: Oracle, table: Table, commits: int, seed: int) -> None:
    """Java adds `ROWS` rows in each of this number of commits."""
    oracle.generate(table, rows=commits * ROWS, commits=commits, seed=seed, columns=VALUES)


def in_order(files: Iterable[DataFile]) -> list[DataFile]:
    """The files in the order of their rows."""
    return sorted(files, key=lambda file: (file.min_sequence, file.rows))


def rows_by_question(oracle: Oracle, *tables: Table) -> list[list[Any]]:
    """For each table, the rows that its file indexes leave of each file, in any order of the files."""
    return [[sorted(rows.values()) for rows in oracle.file_index_rows(each, INDEXED)] for each in tables]
