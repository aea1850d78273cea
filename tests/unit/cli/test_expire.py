"""`lithify expire` on a table of six snapshots: what it deletes, says and refuses."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest
from pypaimon import CatalogFactory

import lithify as public
from lithify.engine.run.maintaining import MOST_PLANS
from lithify.errors import UnsupportedTable
from lithify.formats.protocol.maintenance import MaintenanceKind
from support.holding import Hold
from support.runs import LITHIFY
from support.small_tables import SmallTable
from unit.cli.conftest import Lithify, named

OLD = timedelta(hours=2)
"""Longer than a table keeps a snapshot by its own options."""
ONE = ["--option", "snapshot.num-retained.min=1"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> SmallTable:
    """Six snapshots of two hours ago: two days, each overwritten once."""
    table = SmallTable(tmp_path_factory.mktemp("model") / "warehouse").create()
    table.append()
    table.append()
    table.overwrite("a")
    table.append("b")
    table.overwrite("b")
    table.append("a")
    table.grow_old(OLD)
    return table


@pytest.fixture
def small(model: SmallTable, tmp_path: Path) -> SmallTable:
    shutil.copytree(model.warehouse, tmp_path / "warehouse")
    return SmallTable(tmp_path / "warehouse", commits=model.commits)


def files(small: SmallTable) -> set[str]:
    paths = (path for path in small.folder.rglob("*") if path.is_file())
    return {str(path.relative_to(small.folder)) for path in paths if path.name not in ("EARLIEST", "LATEST")}


def rows(small: SmallTable, **options: str) -> int:
    """The number of rows that pypaimon reads, of the newest snapshot or of a tag."""
    table = CatalogFactory.create({"warehouse": str(small.warehouse)}).get_table(small.name)
    builder = table.copy(options).new_read_builder()
    return int(builder.new_read().to_arrow(builder.new_scan().plan().splits()).num_rows)


def test_snapshots_go_by_the_options_of_this_run(lithify: Lithify, small: SmallTable) -> None:
    before, newest = files(small), rows(small)

    found = lithify("expire", *named(small.address), *ONE, "--json").json

    gone = before - files(small)
    assert (found["table"], found["status"], found["oldest_snapshot"]) == ("db.t", "Done", "6")
    assert sum(found["figures"].values()) == len(gone)
    assert found["figures"]["snapshots"] == 5
    assert found["figures"]["data_files"] == len([path for path in gone if "bucket-" in path])
    assert small.numbers == [6]
    assert rows(small) == newest


def test_people_read_what_went_and_what_is_left(lithify: Lithify, small: SmallTable) -> None:
    ended = lithify("expire", *named(small.address), *ONE, "--option", "snapshot.expire.limit=1")
    assert (ended.code, ended.err) == (0, "")
    told = " ".join(ended.out.split())
    assert told.startswith("db.t deleted 1 snapshot, ")
    assert told.endswith("the oldest snapshot that is left is 2")
    assert "changelog" not in told, "there was none"


def test_dry_run_says_the_same_and_deletes_nothing(lithify: Lithify, small: SmallTable) -> None:
    before = files(small)
    told = lithify("expire", *named(small.address), *ONE, "--dry-run").out
    planned = lithify("expire", *named(small.address), *ONE, "--dry-run", "--json").json
    assert files(small) == before
    done = lithify("expire", *named(small.address), *ONE, "--json").json
    assert told.startswith("db.t  would delete 5 snapshots, ")
    assert planned == {**done, "status": "Planned"}


@pytest.mark.parametrize("words", [[], ["--dry-run"]], ids=["a run", "a dry run"])
def test_nothing_to_do_is_said(lithify: Lithify, small: SmallTable, words: list[str]) -> None:
    """By its own options a table keeps ten snapshots."""
    told = lithify("expire", *named(small.address), *words).out
    found = lithify("expire", *named(small.address), *words, "--json").json
    assert "nothing to do" in told
    assert "the oldest is 1" in told
    assert (found["status"], found["oldest_snapshot"]) == ("NothingToDo", "1")


def test_table_without_snapshots_has_nothing_to_do(lithify: Lithify, tmp_path: Path) -> None:
    empty = SmallTable(tmp_path / "warehouse").create()
    assert "no snapshot" in lithify("expire", *named(empty.address)).out


def test_options_of_the_table_count(lithify: Lithify, small: SmallTable) -> None:
    small.set_option("snapshot.num-retained.min", "2")
    assert lithify("expire", *named(small.address), "--json").json["oldest_snapshot"] == "5"


@pytest.mark.parametrize(
    ("words", "at_fault"),
    [
        (["--option", "manifest.merge-min-count=3"], "manifest.merge-min-count"),
        (["--option", "changelog.time-retained=1 h"], "changelog.time-retained"),
        (["--option", "snapshot.num-retained.max=3"], "snapshot.num-retained.min"),
        (["--option", "snapshot.time-retained=soon"], "snapshot.time-retained"),
        (["--bucket", "1"], "--bucket"),
    ],
    ids=["of compactions", "of changelogs", "fewer than the fewest", "no duration", "a part of the table"],
)
def test_what_cannot_be_overridden_is_refused_by_name(
    lithify: Lithify, small: SmallTable, words: list[str], at_fault: str
) -> None:
    before = files(small)
    ended = lithify("expire", *named(small.address), *words)
    assert ended.code == 2
    assert at_fault in ended.sentence
    assert files(small) == before


def test_compactions_take_no_option_of_an_expiry(lithify: Lithify, small: SmallTable) -> None:
    ended = lithify("plan", *named(small.address), *ONE)
    assert ended.code == 2
    assert "snapshot.num-retained.min" in ended.sentence


@pytest.mark.parametrize("kind", public.MaintenanceKind, ids=lambda kind: kind.value)
def test_format_without_maintenance_says_so(small: SmallTable, kind: MaintenanceKind) -> None:
    other = public.TableAddress(str(small.warehouse), small.name, format="memory")
    with pytest.raises(UnsupportedTable, match=f"no {kind} for tables of format memory"):
        public.maintain(other, kind)


def test_another_table_of_the_same_name_is_left_alone(small: SmallTable) -> None:
    before = files(small)
    other = public.TableAddress(str(small.warehouse), small.name, uuid="another")
    with pytest.raises(Exception, match="dropped and created again"):
        public.maintain(other, public.MaintenanceKind.EXPIRE_SNAPSHOTS)
    assert files(small) == before


def started(small: SmallTable, action: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "LITHIFY_FAULTS": f"expiry-planned={action}"}
    command = [LITHIFY, "expire", *named(small.address), *ONE, "--json"]
    return subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def tag(small: SmallTable, number: int) -> None:
    """Tags a snapshot, as Paimon does."""
    (small.folder / "tag").mkdir(exist_ok=True)
    shutil.copy(small.folder / "snapshot" / f"snapshot-{number}", small.folder / "tag" / f"tag-late-{number}")


@pytest.mark.thorough
def test_a_tag_that_comes_after_the_plan_is_planned_for(small: SmallTable, tmp_path: Path) -> None:
    hold = Hold(tmp_path / "hold")
    hold.arm()
    with started(small, f"hold:{tmp_path / 'hold'}") as process:
        hold.reached()
        tag(small, 4)
        hold.release()
        out, err = process.communicate(timeout=60)

    assert process.returncode == 0, err
    assert json.loads(out)["oldest_snapshot"] == "6"
    assert rows(small, **{"scan.tag-name": "late-4"}) == 25


@pytest.mark.thorough
def test_a_table_that_changes_each_time_is_given_up(small: SmallTable, tmp_path: Path) -> None:
    hold = Hold(tmp_path / "hold")
    hold.arm()
    before = files(small)
    with started(small, f"hold:{tmp_path / 'hold'}") as process:
        for number in range(1, MOST_PLANS + 1):
            hold.reached()
            tag(small, number)
            hold.release(for_good=number == MOST_PLANS)
        _, err = process.communicate(timeout=60)

    assert process.returncode == 3, err
    assert "nothing was deleted" in err
    assert before <= files(small)
