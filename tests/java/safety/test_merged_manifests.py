"""Conflicts and errors while manifests are merged: no manifest is lost, none is left behind.

That a kill there is harmless, every adapter has to show: see `formats.test_contract`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify.formats.paimon.commit.found_runs import find_run
from lithify.formats.paimon.opening import open_table
from support.runs import Held, request, run_inline, start
from support.tables import append, copy_of, expire, journals, make_plain, stray_files

pytestmark = pytest.mark.oracle


@pytest.fixture(scope="module")
def model(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Every commit to it merges manifests."""
    warehouse = tmp_path_factory.mktemp("model")
    return make_plain(oracle, warehouse, commits=3, keys=30, **{"manifest.merge-min-count": "2"})


def test_java_commit_in_the_middle_of_a_merge(oracle: Oracle, table: Table, tmp_path: Path) -> None:
    """Java's commit has merged the same manifests, so that ours have to be made anew."""
    twin = copy_of(table, tmp_path / "twin")
    append(oracle, twin)
    held = Held(tmp_path)
    run = start(table, faults={"manifests-merged": held.action})
    held.reached()
    append(oracle, table)
    held.release()

    outcome = run.wait()

    assert outcome.code == 0, outcome.error
    assert outcome.report["commit_tries"] == 2
    assert oracle.read(table) == oracle.read(twin)
    assert stray_files(oracle, table) == set()
    assert len(oracle.manifests(table)["base"]) == 1


def test_full_disk_in_the_middle_of_a_merge_leaves_nothing(oracle: Oracle, table: Table) -> None:
    rows = oracle.read(table)

    outcome = start(table, faults={"manifests-merged": "raise:28"}).wait()

    assert outcome.code != 0
    assert oracle.read(table) == rows
    assert (stray_files(oracle, table), journals(table)) == (set(), set())


def test_manifests_that_a_tag_names_stay(oracle: Oracle, table: Table) -> None:
    tagged = oracle.read(table)
    oracle.create_tag(table, "before")
    append(oracle, table)
    rows = oracle.read(table)

    run_inline(table)
    expire(oracle, table)

    assert oracle.read(table, tag="before") == tagged
    assert oracle.read(table) == rows
    assert stray_files(oracle, table) == set()


def test_a_snapshot_of_java_that_has_our_properties_is_not_ours(oracle: Oracle, table: Table) -> None:
    """Java hands all properties on when it merges manifests: by them alone it would be a stray of ours."""
    run_inline(table, run="first")
    append(oracle, table)
    run_inline(table, run="second")
    oracle.compact_manifests(table)
    *_, ours, merged = oracle.snapshots(table)
    assert ours["properties"] == merged["properties"]
    assert merged["commitKind"] == "COMPACT"
    rows = oracle.read(table)

    report = run_inline(table, run="third")

    assert report.status == "NothingToDo"
    assert oracle.snapshots(table)[-1]["id"] == merged["id"]
    assert oracle.read(table) == rows
    opened = open_table(request(table).table)
    found = find_run(opened, "second")
    assert found is not None
    assert (found.snapshot, found.input_files > 0) == (str(ours["id"]), True)
