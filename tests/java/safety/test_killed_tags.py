"""`lithify manage-tags` is killed at each point; Java reads on, and the next one completes it."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from infrastructure.oracle.client import Oracle, Table
from lithify.faults import TAG_POINTS
from support.expired_snapshots import files_of, numbers, set_ages
from support.managed_tags import tags_of
from support.runs import DEADLINE, LITHIFY, run_inline
from support.tables import append, copy_of, make_plain, stray_files

pytestmark = pytest.mark.oracle

POINTS = (*TAG_POINTS, "expired-files-deleted", "expired-manifests-deleted", "expired-lists-deleted")
MADE = {"tag.automatic-creation": "process-time", "tag.creation-period": "hourly"}
MOST = {**MADE, "tag.num-retained-max": "2"}


@pytest.fixture(scope="module")
def tagged(oracle: Oracle, tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Tags of expired snapshots, of which two are to stay, one by hand, and two snapshots without one yet."""
    table = make_plain(oracle, tmp_path_factory.mktemp("tagged"), commits=3, **{"write-only": "true", **MOST})
    oracle.create_tag(table, "by hand", 2)
    there = numbers(table)
    set_ages(table, {number: (len(there) + 3 - at) * 120 for at, number in enumerate(there)})
    oracle.manage_tags(table, {"tag.num-retained-max": "9"})
    run_inline(table)
    append(oracle, table)
    newest = numbers(table)[-2:]
    oracle.expire_snapshots(table, retain_max=2)
    set_ages(table, {newest[0]: 240, newest[1]: 60})
    assert len(tags_of(table)) == 5
    return table


@pytest.fixture(scope="module")
def whole(tagged: Table, tmp_path_factory: pytest.TempPathFactory) -> Table:
    table = copy_of(tagged, tmp_path_factory.mktemp("whole") / "table")
    assert manage(table) == 0
    assert len(tags_of(table)) == 3
    return table


def manage(table: Table, point: str | None = None) -> int:
    """Runs the command in a process, killed at a point; returns its exit code."""
    environment = {**os.environ, "LITHIFY_FAULTS": f"{point}=kill" if point else ""}
    command = [LITHIFY, "manage-tags", "--warehouse", str(table.warehouse), "--table", str(table.name)]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=DEADLINE, check=False)
    return done.returncode


@pytest.mark.sampled(3)
@pytest.mark.parametrize("point", POINTS)
def test_kill_at_any_point_leaves_tags_that_the_next_run_completes(
    oracle: Oracle, tagged: Table, whole: Table, tmp_path: Path, point: str
) -> None:
    table = copy_of(tagged, tmp_path / "killed")
    stays = {name: oracle.read(whole, tag=name.removeprefix("tag-")) for name in tags_of(whole)}

    assert manage(table, point) == -signal.SIGKILL

    left = stays.keys() & tags_of(table).keys()
    assert {name: oracle.read(table, tag=name.removeprefix("tag-")) for name in left} == {
        name: stays[name] for name in left
    }
    assert manage(table) == 0
    assert tags_of(table) == tags_of(whole)
    assert files_of(table) == files_of(whole)
    assert {name: oracle.read(table, tag=name.removeprefix("tag-")) for name in stays} == stays
    assert stray_files(oracle, table) == set()
