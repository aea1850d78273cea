"""Files as large as Java's, however the work is cut into tasks: none is small where Java's would not be."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from infrastructure.oracle.client import FOR_LARGE_TABLES, Oracle, Table
from lithify.formats.protocol.tasks import Sizing
from support.runs import run_inline
from support.tables import stray_files

pytestmark = pytest.mark.oracle

MIB = 1 << 20
TARGET = 8 * MIB
SMALL = 0.7 * TARGET
KEYS = 1_000_000


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    """A Java for large tables."""
    with Oracle.start(jvm_args=FOR_LARGE_TABLES) as started:
        yield started


@dataclass(frozen=True, slots=True)
class Case:
    """What happens to a table of several files, and how its compaction is cut.

    Attributes:
        name: a telling id.
        rows: rows that are written on top.
        deletes: the share of them that are deletes.
        task_bytes: about what a task reads.
        tasks: tasks that this makes, joins included.
    """

    name: str
    rows: int
    deletes: float
    task_bytes: int
    tasks: int


CASES = [
    Case("one task", 100_000, 0.0, 1 << 40, 1),
    Case("tasks of a few files", 100_000, 0.0, 20 * MIB, 2),
    Case("tasks of a file and a half", 100_000, 0.0, 14 * MIB, 3),
    Case("tasks of little more than a file", 100_000, 0.0, 9 * MIB, 5),
    Case("tasks whose rest goes into the file before", 400_000, 0.0, 15 * MIB, 4),
    Case("tasks that shrink to less than a file", KEYS, 0.99, 12 * MIB, 11),
]


@pytest.fixture(scope="module")
def compacted(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Table:
    """A table with several files on the top level."""
    table = Table(tmp_path_factory.mktemp("compacted"), "db.t")
    oracle.create_table(
        table,
        {"id": "BIGINT NOT NULL", "text": "STRING", "number": "INT"},
        primary_key=["id"],
        options={"bucket": "1", "target-file-size": f"{TARGET} b", "write-buffer-size": "256 mb"},
    )
    generate(oracle, table, rows=700_000)
    oracle.manager_round(table, full=True, commit=True)
    return table


def generate(oracle: Oracle, table: Table, *, rows: int, deletes: float = 0.0) -> None:
    text = {"kind": "random", "min": 80, "max": 160}
    key = {"mode": "sequential" if deletes else "uniform", "range": KEYS}
    oracle.generate(table, rows=rows, key=key, columns={"text": text}, delete_ratio=deletes)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_files_are_as_large_as_javas(oracle: Oracle, compacted: Table, tmp_path: Path, case: Case) -> None:
    java = copy(compacted, tmp_path / "java")
    generate(oracle, java, rows=case.rows, deletes=case.deletes)
    ours = copy(java, tmp_path / "ours")
    before = oracle.digest(java)
    oracle.manager_round(java, full=True, commit=True)

    report = run_inline(ours, sizing=Sizing(case.task_bytes))

    assert oracle.digest(ours) == before
    theirs, mine = sizes(oracle, java), sizes(oracle, ours)
    assert abs(len(theirs) - len(mine)) <= 1
    assert not any(a < SMALL and b < SMALL for a, b in pairwise(mine))
    assert all(size >= SMALL for size in mine[:-1])
    assert max(mine) <= 1.8 * TARGET
    assert report.tasks == case.tasks
    assert stray_files(oracle, ours) == set()


def copy(table: Table, warehouse: Path) -> Table:
    shutil.copytree(Path(str(table.warehouse)), warehouse)
    return Table(warehouse, table.name)


def sizes(oracle: Oracle, table: Table) -> list[int]:
    """Sizes of the table's files, in key order."""
    return [file.size for file in sorted(oracle.files(table), key=lambda file: file.min_key)]
