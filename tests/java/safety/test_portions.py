"""Runs whose plans take a few buckets at a time, so that very many files fit into memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle
from infrastructure.oracle.model import Table
from lithify.formats.paimon.compaction import planning
from support.cases import case
from support.races import Meanwhile, steps_at
from support.runs import run_inline
from support.tables import copy_of, stray_files

pytestmark = pytest.mark.oracle

PARTITIONS = 4
FILES = 3
CLUSTERED = {"clustering.incremental": "true", "clustering.columns": "a"}
MERGED = {"bucket": "1"}
CHANGELOG = {"bucket": "1", "changelog-producer": "lookup"}
Step = Callable[[Oracle, Table], object]


@pytest.fixture(autouse=True)
def few_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan takes two partitions."""
    monkeypatch.setattr(planning, "MOST_FILES", FILES + 1)


@pytest.fixture(params=[{}, CLUSTERED, MERGED, CHANGELOG], ids=["joined", "clustered", "merged", "changelog"])
def table(request: pytest.FixtureRequest, oracle: Oracle, tmp_path: Path) -> Table:
    """Some files in each of several partitions."""
    table = Table(tmp_path / "warehouse", "db.t")
    columns, options = {"a": "INT", "b": "STRING", "p": "INT"}, request.param
    keys = ["a", "p"] if "bucket" in options else []
    options = {**options, "write-only": "true"}
    oracle.create_table(table, columns, keys, ["p"], options)
    for number in range(FILES):
        insert(oracle, table, number)
    return table


def insert(oracle: Oracle, table: Table, number: int) -> object:
    rows = [["+I", key * 31 % 97, f"{number}-{key}", key % PARTITIONS] for key in range(40)]
    return oracle.write(table, rows)


def files_by_partition(oracle: Oracle, table: Table) -> dict[str, int]:
    found: dict[str, int] = {}
    for file in oracle.files(table):
        found[file.partition["p"]] = found.get(file.partition["p"], 0) + 1
    return found


def test_every_partition_is_compacted(oracle: Oracle, table: Table) -> None:
    rows = oracle.read(table)

    report = run_inline(table)

    assert (report.status, report.commits, report.rounds, report.to_come) == ("Compacted", 2, 1, 0)
    assert len(report.groups) == len(files_by_partition(oracle, table)) == len(oracle.files(table)) == 4
    assert oracle.read(table) == rows
    assert stray_files(oracle, table) == set()
    assert run_inline(table).status == "NothingToDo"


def overwrite(oracle: Oracle, table: Table) -> object:
    return oracle.write(table, [["+I", 1, "new", 3]], overwrite_partition={"p": "3"})


def drop(oracle: Oracle, table: Table) -> object:
    return oracle.drop_partition(table, {"p": "3"})


def insert_late(oracle: Oracle, table: Table) -> object:
    return insert(oracle, table, 99)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "step",
    [
        case(overwrite, id="an overwrite"),
        case(drop, id="a dropped partition"),
        case(insert_late, id="an insert"),
    ],
)
def test_what_others_commit_before_the_second_plan_stays(
    oracle: Oracle, table: Table, tmp_path: Path, step: Step
) -> None:
    twin = copy_of(table, tmp_path / "twin")
    step(oracle, twin)

    report = run_inline(table, runner=Meanwhile(after=lambda: step(oracle, table)))

    assert report.status == "Compacted"
    assert oracle.read(table) == oracle.read(twin)
    assert stray_files(oracle, table) == set()


def test_a_run_that_ended_between_two_plans_goes_on(
    oracle: Oracle, table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, planned = oracle.read(table), 0

    def end() -> None:
        nonlocal planned
        planned += 1
        if planned == 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        steps_at(patch, {"planned": end})
        with pytest.raises(KeyboardInterrupt):
            run_inline(table, run="first")
    assert sorted(files_by_partition(oracle, table).values()) == [1, 1, 3, 3]

    assert run_inline(table, run="first").status == "Compacted"

    assert sorted(files_by_partition(oracle, table).values()) == [1, 1, 1, 1]
    assert oracle.read(table) == rows
    assert stray_files(oracle, table) == set()


def test_new_files_of_a_clustered_table_are_taken_oldest_first(oracle: Oracle, tmp_path: Path) -> None:
    table = Table(tmp_path, "db.t")
    oracle.create_table(
        table, {"a": "INT", "b": "STRING"}, options={**CLUSTERED, "compaction.file-num-limit": "2"}
    )
    for number in range(5):
        oracle.write(table, [["+I", number * 7 % 5, f"{number}"]])
    rows, written = oracle.read(table), [file.name for file in oracle.files(table)]
    shapes = []
    while run_inline(table).status == "Compacted":
        files = oracle.files(table)
        shapes.append([file.level for file in files])
        assert {file.name for file in files if file.level == 0} == {*written[2 * len(shapes) :]}
        assert sorted(oracle.read(table)) == sorted(rows)
    assert [sorted(levels) for levels in shapes] == [[0, 0, 0, 5], [0, 5], [5]]
    assert stray_files(oracle, table) == set()
    oracle.compact(table, full=True)
    assert sorted(oracle.read(table)) == sorted(rows), "Java goes on from there"
