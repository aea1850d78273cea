"""DuckDB and Parquet's own command line read files that consist of copied row groups or joined pages.

Paimon and Polars do so in other tests, Spark in `tests/java/spark/test_copied_files.py`.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from infrastructure.oracle.client import Oracle
from infrastructure.parquet_cli import program
from support.cases import case
from support.copied_file import ROWS, copied_file

pytestmark = [
    pytest.mark.oracle,
    pytest.mark.parametrize("is_joined", [case(False, id="row groups"), case(True, id="pages")]),
]


def test_duckdb_reads_and_filters_every_row(oracle: Oracle, tmp_path: Path, *, is_joined: bool) -> None:
    path = copied_file(oracle, tmp_path, is_joined=is_joined)
    with duckdb.connect() as connection:
        rows = connection.read_parquet(str(path))
        assert rows.order("id").to_arrow_table().to_pylist() == pq.read_table(path).sort_by("id").to_pylist()
        assert len(rows.filter("id = 2500").fetchall()) == 1
        assert len(rows.filter("id > 2990").fetchall()) == ROWS - 2991


def test_the_parquet_command_line_finds_every_row_and_index(
    oracle: Oracle, tmp_path: Path, *, is_joined: bool
) -> None:
    path = copied_file(oracle, tmp_path, is_joined=is_joined)
    printed = program.run("cat", str(path), "-c", "id")
    assert sorted(int(line) for line in printed if line.isdecimal()) == list(range(ROWS))
    assert "has no corrupt stats" in "".join(program.run("check-stats", str(path)))
    indexes = "\n".join(program.run("column-index", str(path)))
    assert indexes.count("offset index for column id") == pq.read_metadata(path).num_row_groups
