"""A bucket ten times the memory budget, however many runs it has and however wide its rows are.

The address space of the process may grow by a fixed amount only (RLIMIT_AS), in which the bucket does not fit
once, let alone the two copies that a merge of everything at once would make; and resident memory is measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from oracle.client import Oracle, Table
from support.runs import start

pytestmark = pytest.mark.oracle

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Case:
    """A bucket and what merging it may take.

    Attributes:
        name: a telling id.
        rows: rows written, in so many `commits`.
        commits: level-0 runs.
        text: bytes of each of the two text columns.
        budget: bytes that the merge may hold; the bucket is at least ten times as large.
        headroom: bytes by which the address space may grow; the kernel counts what allocators and threads
            reserve as well as what they use. PyArrow reads ORC in threads of its own, which reserve much.
        allowed: bytes by which resident memory may grow. Beyond the budget that is what Parquet does not let
            a reader divide: Java ends a page after 100 rows at the earliest, whatever their width.
        format: the format of all files.
    """

    name: str
    rows: int
    commits: int
    text: int
    budget: int
    headroom: int
    allowed: int
    format: str = "parquet"


CASES = [
    Case("two runs", 1_400_000, 2, text=150, budget=20 * MIB, headroom=512 * MIB, allowed=60 * MIB),
    Case("500 runs", 1_150_000, 500, text=150, budget=20 * MIB, headroom=512 * MIB, allowed=80 * MIB),
    Case("rows of 1 MiB", 800, 6, text=MIB // 2, budget=32 * MIB, headroom=1024 * MIB, allowed=320 * MIB),
    Case("ORC", 650_000, 6, text=150, budget=10 * MIB, headroom=2048 * MIB, allowed=80 * MIB, format="orc"),
    Case("Avro", 650_000, 6, text=150, budget=10 * MIB, headroom=512 * MIB, allowed=60 * MIB, format="avro"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_memory_stays_within_bounds(oracle: Oracle, tmp_path: Path, case: Case) -> None:
    table = Table(tmp_path, "db.t")
    text: dict[str, Any] = {"kind": "random", "min": case.text, "max": case.text}
    oracle.create_table(
        table,
        {"id": "BIGINT NOT NULL", "a": "STRING", "b": "STRING"},
        primary_key=["id"],
        options={
            "bucket": "1",
            "write-buffer-size": "1 gb",
            "target-file-size": "1 gb",
            "file.format": case.format,
        },
    )
    oracle.generate(table, rows=case.rows, commits=case.commits, columns={"a": text, "b": text})
    before = oracle.digest(table)
    files = oracle.files(table)
    assert len(files) == case.commits
    assert sum(file.size for file in files) >= 10 * case.budget

    outcome = start(table, "--budget", str(case.budget), "--headroom", str(case.headroom)).wait()

    assert outcome.code == 0, outcome.error
    assert outcome.report["grown_by"] <= case.allowed
    assert oracle.digest(table) == before
    assert {file.level for file in oracle.files(table)} == {5}
