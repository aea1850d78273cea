"""`lithify merge-manifests` on small tables: what it says, writes and refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.iceberg_tables import NAME, Lakehouse, rows
from support.small_tables import SmallTable
from unit.cli.conftest import Lithify


@pytest.fixture
def small(tmp_path: Path) -> SmallTable:
    table = SmallTable(tmp_path / "warehouse").create()
    for _ in range(6):
        table.append()
    return table


def words(small: SmallTable) -> list[str]:
    return ["merge-manifests", "--warehouse", str(small.warehouse), "--table", small.name]


def test_run_says_what_it_has_rewritten(lithify: Lithify, small: SmallTable) -> None:
    found = lithify(*words(small), "--dry-run")
    assert "would rewrite 6 manifests, 1 new manifest" in found.out
    assert len(small.numbers) == 6

    done = lithify(*words(small), "--json")

    report = json.loads(done.out)
    assert (report["kind"], report["status"]) == ("MergeManifests", "Done")
    assert (report["figures"]["manifests"], report["figures"]["new_manifests"]) == (6, 1)
    assert len(small.numbers) == 7
    snapshot = small.snapshot(7)
    assert (snapshot["commitKind"], snapshot["deltaRecordCount"]) == ("COMPACT", 0)
    assert "nothing to do" in lithify(*words(small)).out


def test_table_of_iceberg_is_merged(lithify: Lithify, tmp_path: Path) -> None:
    lakehouse = Lakehouse(tmp_path)
    table = lakehouse.table()
    for number in range(6):
        table.append(rows(number))
    options = [f"--catalog-option={name}={value}" for name, value in lakehouse.options.items()]
    found = lithify(
        *("merge-manifests", "--format", "iceberg", "--warehouse", lakehouse.warehouse),
        *(*options, "--table", NAME),
    )
    assert "rewrote 6 manifests" in found.out


def test_options_that_concern_commits_are_refused(lithify: Lithify, tmp_path: Path) -> None:
    small = SmallTable(tmp_path / "warehouse", options={"commit.callbacks": "a.B"}).create()
    found = lithify(*words(small))
    assert found.code == 2
    assert "cannot be maintained yet: option commit.callbacks" in found.err
