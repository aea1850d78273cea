"""Rollback of a small table: what goes and stays, what is refused, races, and crashes at any point."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lithify import faults
from lithify.errors import (
    CommitsWouldBeLost,
    CorruptTable,
    InvalidOption,
    LithifyError,
    MissingFile,
    NotFound,
    RollbackOutrun,
    StalePlan,
    UnsupportedTable,
)
from lithify.formats.paimon.maintenance import rollback_planning
from lithify.formats.paimon.maintenance.rollback_plan import RollbackPlan
from lithify.formats.paimon.maintenance.table_rollback import TableRollback
from lithify.formats.paimon.opening import open_table
from lithify.formats.protocol.address import TableAddress
from lithify.formats.protocol.maintenance import MOST_SAMPLES, MaintenanceSettings
from lithify.formats.protocol.model import SnapshotId
from support.races import step_at
from support.runs import ShiftedClock
from support.small_tables import SmallTable

CLOCK = ShiftedClock()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> SmallTable:
    """Five snapshots, of which the last is said to be a compaction: it has removed files of the fourth."""
    table = SmallTable(tmp_path_factory.mktemp("model") / "warehouse").create()
    for _ in range(4):
        table.append()
    table.overwrite("a")
    change(table, 5, commitKind="COMPACT")
    return table


@pytest.fixture
def small(model: SmallTable, tmp_path: Path) -> SmallTable:
    shutil.copytree(model.warehouse, tmp_path / "warehouse")
    return SmallTable(tmp_path / "warehouse", commits=model.commits)


def change(small: SmallTable, number: int, **changes: Any) -> None:
    hold(small, number, f"snapshot/snapshot-{number}", **changes)


def hold(small: SmallTable, number: int, place: str, **changes: Any) -> Path:
    """Copies a snapshot to another place, as tags, branches and changelogs are made."""
    path = small.folder / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**small.snapshot(number), **changes}))
    return path


def rollback(small: SmallTable, to: int | str, *, lose: bool = True) -> TableRollback:
    settings = MaintenanceSettings(snapshot=SnapshotId(str(to)), loses_commits=lose)
    return TableRollback(open_table(small.address), settings)


def roll_back(small: SmallTable, to: int, *, lose: bool = True) -> RollbackPlan:
    made = rollback(small, to, lose=lose)
    plan = made.plan(CLOCK)
    made.execute(plan)
    return plan


def files(small: SmallTable) -> set[str]:
    paths = (path for path in small.folder.rglob("*") if path.is_file())
    return {str(path.relative_to(small.folder)) for path in paths if path.name not in ("EARLIEST", "LATEST")}


def hint(small: SmallTable) -> str:
    return (small.folder / "snapshot" / "LATEST").read_text()


def newest(small: SmallTable) -> int:
    found = open_table(small.address).snapshots.latest()
    assert found is not None
    return int(found.id)


def test_later_snapshots_go_and_all_other_files_stay(small: SmallTable) -> None:
    before = files(small)
    plan = roll_back(small, 3)
    assert before - files(small) == {"snapshot/snapshot-4", "snapshot/snapshot-5"}
    assert (hint(small), newest(small)) == ("3", 3)
    assert (plan.figures["snapshots"], plan.figures["lostCommits"], plan.oldest) == (2, 1, "1")


def test_writers_go_on_with_the_next_id(small: SmallTable) -> None:
    roll_back(small, 3)
    small.append("b")
    assert small.numbers == [1, 2, 3, 4]
    assert small.snapshot(4)["totalRecordCount"] == small.snapshot(3)["totalRecordCount"] + 20


def test_plan_changes_nothing(small: SmallTable) -> None:
    before = files(small)
    assert not rollback(small, 1).plan(CLOCK).is_empty
    assert (files(small), hint(small)) == (before, "5")


def test_compaction_is_undone_without_permission(small: SmallTable) -> None:
    assert roll_back(small, 4, lose=False).figures["lostCommits"] == 0
    assert newest(small) == 4


def test_commits_of_writers_are_only_lost_with_permission(small: SmallTable) -> None:
    before = files(small)
    made = rollback(small, 2, lose=False)
    plan = made.plan(CLOCK)
    with pytest.raises(CommitsWouldBeLost, match=r"snapshot 4 \(APPEND, .* UTC, \+40 records\), snapshot 3 "):
        made.execute(plan)
    assert (files(small), hint(small)) == (before, "5")


def test_analysis_counts_as_a_commit_of_a_writer(small: SmallTable) -> None:
    change(small, 5, commitKind="ANALYZE")
    with pytest.raises(CommitsWouldBeLost, match="snapshot 5"):
        roll_back(small, 4, lose=False)


def test_samples_name_losses_first_then_compactions_and_tags(small: SmallTable) -> None:
    change(small, 5, commitKind="COMPACT", changelogRecordCount=3)
    hold(small, 4, "tag/tag-daily")
    first, second, third = rollback(small, 3).plan(CLOCK).samples
    assert first.startswith("snapshot 4 (APPEND, ")
    assert second.startswith("snapshot 5 (COMPACT, ")
    assert second.endswith(", a changelog of 3 records)")
    assert third == "tag daily of snapshot 4"


def test_samples_are_bounded(small: SmallTable) -> None:
    for number in range(2 * MOST_SAMPLES):
        hold(small, 4, f"tag/tag-{number}")
    assert len(rollback(small, 3).plan(CLOCK).samples) == MOST_SAMPLES


def test_consumers_that_are_ahead_are_named(small: SmallTable) -> None:
    (small.folder / "consumer").mkdir()
    for name, position in {"behind": 3, "next": 4, "ahead": 6}.items():
        (small.folder / "consumer" / f"consumer-{name}").write_text(json.dumps({"nextSnapshot": position}))
    said = rollback(small, 3).plan(CLOCK).samples[-1]
    assert said.startswith("consumer ahead expects snapshot 6")
    assert "consumer next" not in " ".join(rollback(small, 3).plan(CLOCK).samples)


def test_tags_of_later_snapshots_go_and_others_stay(small: SmallTable) -> None:
    for number in (2, 3, 4):
        hold(small, number, f"tag/tag-t{number}")
    hold(small, 5, "branch/branch-b/tag/tag-t5")
    plan = roll_back(small, 3)
    assert plan.figures["tags"] == 1
    assert {path.name for path in (small.folder / "tag").iterdir()} == {"tag-t2", "tag-t3"}
    assert (small.folder / "branch/branch-b/tag/tag-t5").exists()


@pytest.mark.parametrize(("kept", "expected"), [([2], "2"), ([], "-1")], ids=["one stays", "none stays"])
def test_hint_to_long_lived_changelogs_moves_with_them(
    small: SmallTable, kept: list[int], expected: str
) -> None:
    for number in (*kept, 4):
        hold(small, number, f"changelog/changelog-{number}")
    plan = roll_back(small, 3)
    assert plan.figures["changelogs"] == 1
    assert (small.folder / "changelog" / "LATEST").read_text() == expected
    assert sorted(path.name for path in (small.folder / "changelog").glob("changelog-*")) == [
        f"changelog-{number}" for number in kept
    ]


def test_newest_snapshot_as_target_is_nothing_to_do(small: SmallTable) -> None:
    before = files(small)
    plan = roll_back(small, 5, lose=False)
    assert plan.is_empty
    assert not any(plan.figures.values())
    assert files(small) == before


def test_hint_to_a_snapshot_that_is_gone_is_moved(small: SmallTable) -> None:
    small.roll_back_to(3)
    (small.folder / "snapshot" / "LATEST").write_text("5")
    assert roll_back(small, 3).is_empty
    assert hint(small) == "3"


def test_snapshot_behind_a_gap_goes_too(small: SmallTable) -> None:
    """As a writer leaves it that commits while Java rolls back; Java looks for none beyond its hint."""
    hold(small, 5, "snapshot/snapshot-9", id=9)
    roll_back(small, 3)
    assert small.numbers == [1, 2, 3]


@pytest.mark.parametrize(
    ("target", "expire", "said"),
    [
        (7, 5, "newer than the newest, which is 5"),
        (2, 2, r"it has expired \(the table has snapshots from 4 to 5\)"),
        (3, 2, "only tag kept has it"),
        ("x", 5, "no id of a Paimon snapshot"),
        ("-1", 5, "no id of a Paimon snapshot"),
    ],
)
def test_target_that_does_not_exist_is_explained(
    small: SmallTable, target: int | str, expire: int, said: str
) -> None:
    hold(small, 3, "tag/tag-kept")
    small.expire(keep=expire)
    with pytest.raises((NotFound, InvalidOption), match=said):
        rollback(small, target).plan(CLOCK)


def test_target_in_a_gap_is_explained(small: SmallTable) -> None:
    (small.folder / "snapshot" / "snapshot-3").unlink()
    with pytest.raises(NotFound, match="it was deleted"):
        rollback(small, 3).plan(CLOCK)


def test_table_without_snapshots_says_so(tmp_path: Path) -> None:
    empty = SmallTable(tmp_path / "warehouse").create()
    with pytest.raises(NotFound, match="the table has no snapshot"):
        rollback(empty, 1).plan(CLOCK)


def test_target_is_needed(small: SmallTable) -> None:
    with pytest.raises(InvalidOption, match="snapshot"):
        TableRollback(open_table(small.address), MaintenanceSettings()).plan(CLOCK)


def test_unreadable_snapshot_counts_as_lost_and_goes(small: SmallTable) -> None:
    (small.folder / "snapshot" / "snapshot-5").write_text("{")
    with pytest.raises(CommitsWouldBeLost, match=r"snapshot 5 \(unreadable\)"):
        roll_back(small, 4, lose=False)
    roll_back(small, 4)
    assert newest(small) == 4


def test_unreadable_tag_ends_the_plan(small: SmallTable) -> None:
    """It may be of a later snapshot."""
    hold(small, 2, "tag/tag-broken").write_text("{")
    with pytest.raises(CorruptTable, match="tag-broken"):
        rollback(small, 3).plan(CLOCK)


def manifest_of_target(small: SmallTable) -> Path:
    table = open_table(small.address)
    return Path(
        table.manifests.path(table.manifests.names_in_list(small.snapshot(4)["deltaManifestList"])[0])
    )


def file_that_was_removed_since(small: SmallTable) -> Path:
    table = open_table(small.address)
    fourth, fifth = (table.snapshots.get(number) for number in (4, 5))
    assert fourth is not None
    assert fifth is not None
    after = set(table.manifests.live_columns(fifth)["name"].to_pylist())
    gone = [name for name in table.manifests.live_columns(fourth)["name"].to_pylist() if name not in after]
    (path,) = small.folder.rglob(gone[0])
    return path


@pytest.mark.parametrize("damaged", [manifest_of_target, file_that_was_removed_since])
def test_target_that_could_not_be_read_is_refused(
    small: SmallTable, damaged: Callable[[SmallTable], Path]
) -> None:
    damaged(small).unlink()
    before = files(small)
    with pytest.raises(MissingFile):
        roll_back(small, 4)
    assert files(small) == before


def test_table_whose_newest_manifests_are_gone_is_rolled_back(small: SmallTable) -> None:
    (small.folder / "manifest" / small.snapshot(5)["deltaManifestList"]).unlink()
    roll_back(small, 4)
    assert newest(small) == 4


def test_table_that_cannot_be_compacted_is_refused(small: SmallTable) -> None:
    small.set_option("metadata.iceberg.storage", "table-location")
    with pytest.raises(UnsupportedTable, match=r"cannot be rolled back yet.*metadata\.iceberg"):
        rollback(small, 3).plan(CLOCK)


# Others


def tag(small: SmallTable) -> None:
    hold(small, 5, "tag/tag-late")


def commit(small: SmallTable) -> None:
    small.append("b")


def others_roll_back(small: SmallTable) -> None:
    small.roll_back_to(4)


def replace(small: SmallTable) -> None:
    small.roll_back_to(2)
    small.append("b")
    small.append("b")
    small.append("b")


@pytest.mark.parametrize("act", [tag, commit, others_roll_back, replace], ids=lambda act: act.__name__)
def test_plan_is_stale_once_the_table_has_changed(
    small: SmallTable, act: Callable[[SmallTable], None]
) -> None:
    made = rollback(small, 3)
    plan = made.plan(CLOCK)
    act(small)
    before = files(small)
    with pytest.raises(StalePlan):
        made.execute(plan)
    assert files(small) == before


def test_expiry_of_older_snapshots_does_not_matter(small: SmallTable) -> None:
    made = rollback(small, 4)
    plan = made.plan(CLOCK)
    small.expire(keep=2)
    made.execute(plan)
    assert small.numbers == [4]


@pytest.mark.parametrize("point", ["rollback-hint-written", "rolled-back-snapshots-deleted"])
def test_commit_in_between_is_kept_and_said(
    small: SmallTable, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    """A writer had read snapshot 5 before it went: its commit has all rows that should be undone."""
    late = json.dumps({**small.snapshot(5), "id": 6, "commitKind": "APPEND"})
    step_at(monkeypatch, point, lambda: (small.folder / "snapshot" / "snapshot-6").write_text(late))

    with pytest.raises(RollbackOutrun, match="snapshot 6 was committed while"):
        roll_back(small, 3)

    assert (hint(small), newest(small)) == ("6", 6)
    with pytest.raises(CommitsWouldBeLost, match=r"snapshot 6 \(APPEND"):
        roll_back(small, 3, lose=False)
    roll_back(small, 3)
    assert small.numbers == [1, 2, 3]


def test_snapshot_that_took_the_id_of_an_undone_one_is_not_deleted(
    small: SmallTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else rolled back faster, and a writer committed again."""

    def others() -> None:
        small.roll_back_to(3)
        small.append("b")

    step_at(monkeypatch, "rollback-hint-written", others)
    with pytest.raises(RollbackOutrun):
        roll_back(small, 3)
    assert (small.numbers, newest(small)) == ([1, 2, 3, 4], 4)


@pytest.mark.parametrize(
    "point",
    [
        "rollback-hint-written",
        "rolled-back-tag-deleted",
        "rolled-back-snapshot-deleted",
        "rolled-back-snapshots-deleted",
    ],
)
def test_target_that_expires_meanwhile_brings_everything_back(
    small: SmallTable, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    """An expiry that began before keeps the newest snapshots: both together would delete all."""
    hold(small, 5, "tag/tag-late")
    before = files(small)

    def expire() -> None:
        for number in (1, 2, 3):
            (small.folder / "snapshot" / f"snapshot-{number}").unlink()

    step_at(monkeypatch, point, expire)
    with pytest.raises(StalePlan, match="snapshot 3 was replaced or deleted"):
        roll_back(small, 3)
    assert files(small) == before - {f"snapshot/snapshot-{number}" for number in (1, 2, 3)}
    assert (hint(small), newest(small)) == ("5", 5)


@pytest.mark.parametrize("commits", [0, 1, 2], ids=["", "and a commit", "and two commits"])
def test_rollback_of_others_to_an_earlier_snapshot_stays(
    small: SmallTable, monkeypatch: pytest.MonkeyPatch, commits: int
) -> None:
    def others() -> None:
        small.roll_back_to(2)
        for _ in range(commits):
            small.append("b")

    step_at(monkeypatch, "rolled-back-snapshot-deleted", others)
    with pytest.raises(StalePlan):
        roll_back(small, 3)
    assert small.numbers == [*range(1, 3 + commits)]
    assert newest(small) == 2 + commits


@pytest.mark.parametrize("point", ["rollback-planned", "rolled-back-snapshots-deleted"])
def test_file_of_the_target_that_expires_meanwhile_brings_everything_back(
    small: SmallTable, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    """An expiry deletes files before it deletes the snapshot."""
    hold(small, 5, "tag/tag-late")
    gone = file_that_was_removed_since(small)
    before = files(small)
    step_at(monkeypatch, point, gone.unlink)
    with pytest.raises(MissingFile):
        roll_back(small, 4)
    assert files(small) == before - {str(gone.relative_to(small.folder))}
    assert (hint(small), newest(small)) == ("5", 5)


class Killed(BaseException):
    """Stands for the end of a process."""


@pytest.mark.thorough
@pytest.mark.parametrize("killed_at", range(7))
def test_crash_at_any_point_leaves_a_table_that_the_next_rollback_completes(
    small: SmallTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed_at: int
) -> None:
    hold(small, 4, "tag/tag-a")
    hold(small, 5, "tag/tag-b")
    whole = SmallTable(tmp_path / "whole")
    shutil.copytree(small.warehouse, whole.warehouse)
    roll_back(whole, 3)
    points = iter(range(100))

    def act(action: str, attempt: int) -> None:
        del attempt
        if action and next(points) == killed_at:
            raise Killed

    monkeypatch.setattr(faults, "_act", act)
    monkeypatch.setenv("LITHIFY_FAULTS", ";".join(f"{point}=kill" for point in faults.ROLLBACK_POINTS))
    with pytest.raises(Killed):
        roll_back(small, 3)
    monkeypatch.delenv("LITHIFY_FAULTS")

    left = newest(small)
    assert left in range(3, 6)
    assert open_table(small.address).manifests.live_columns(open_table(small.address).snapshots.get(left))
    assert small.numbers == [*range(1, left + 1)]
    roll_back(small, 3)
    assert (files(small), hint(small)) == (files(whole), hint(whole))


def test_branch_is_rolled_back_and_main_stays(small: SmallTable) -> None:
    for folder in ("schema", "snapshot"):
        shutil.copytree(small.folder / folder, small.folder / "branch" / "branch-b" / folder)
    address = TableAddress(str(small.warehouse), f"{small.name}$branch_b")
    settings = MaintenanceSettings(snapshot=SnapshotId("3"), loses_commits=True)
    made = TableRollback(open_table(address), settings)
    made.execute(made.plan(CLOCK))
    found = open_table(address).snapshots.latest()
    assert found is not None
    assert (found.id, newest(small), small.numbers) == (3, 5, [1, 2, 3, 4, 5])


def test_error_of_the_race_is_a_stale_plan() -> None:
    """So that a run plans again by itself, and lists the commit."""
    error: LithifyError = RollbackOutrun("db.t", "snapshot 6 was committed")
    assert isinstance(error, StalePlan)
    assert "nothing was deleted" not in str(error)


def test_existence_of_a_bounded_number_of_files_is_checked(
    small: SmallTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first and the last are among them."""
    whole = rollback(small, 1).plan(CLOCK).needed
    data = [path for path in whole if "bucket-" in path]
    monkeypatch.setattr(rollback_planning, "MOST_CHECKED", 2)
    some = [path for path in rollback(small, 1).plan(CLOCK).needed if "bucket-" in path]
    assert len(data) == 2, "the overwritten day's, of two buckets"
    monkeypatch.setattr(rollback_planning, "MOST_CHECKED", 1)
    assert some == data
    assert [path for path in rollback(small, 1).plan(CLOCK).needed if "bucket-" in path] == data[:1]
