"""Expiry of a small table: what goes and stays, what is refused, and crashes at any point."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lithify.errors import CorruptTable, LithifyError, MissingFile, StalePlan
from lithify.formats.paimon.maintenance import deleting
from lithify.formats.paimon.maintenance.deleting import phases
from lithify.formats.paimon.maintenance.plan import ExpiryPlan
from lithify.formats.paimon.maintenance.snapshot_expiry import READER_FLOOR, SnapshotExpiry
from lithify.formats.paimon.manifests.entries import ADD
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.options.retention_options import ChangelogRetention, RetentionOptions
from lithify.formats.paimon.snapshots.snapshot_files import parse_snapshot
from lithify.formats.paimon.table import PaimonTable
from support.runs import ShiftedClock
from support.small_tables import SmallTable

LATER = ShiftedClock(timedelta(days=2))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> SmallTable:
    """Six snapshots: two days, each overwritten once."""
    table = SmallTable(tmp_path_factory.mktemp("model") / "warehouse").create()
    for _ in range(2):
        table.append()
    table.overwrite("a")
    table.append("b")
    table.overwrite("b")
    table.append("a")
    return table


@pytest.fixture
def small(model: SmallTable, tmp_path: Path) -> SmallTable:
    shutil.copytree(model.warehouse, tmp_path / "warehouse")
    return SmallTable(tmp_path / "warehouse", commits=model.commits)


def expiry(small: SmallTable, keep: int = 1, floor: timedelta = READER_FLOOR) -> SnapshotExpiry:
    return SnapshotExpiry(open_table(small.address), RetentionOptions(least=keep, most=keep), floor)


def opened(small: SmallTable) -> PaimonTable:
    return open_table(small.address)


def expire(small: SmallTable, keep: int = 1) -> ExpiryPlan:
    made = expiry(small, keep)
    plan = made.plan(LATER)
    made.execute(plan)
    return plan


def files(small: SmallTable) -> set[str]:
    paths = (path for path in small.folder.rglob("*") if path.is_file())
    return {str(path.relative_to(small.folder)) for path in paths}


def hold(small: SmallTable, number: int, place: str, **changes: Any) -> Path:
    """Copies a snapshot to another place, as tags, branches and changelogs are made."""
    path = small.folder / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**small.snapshot(number), **changes}))
    return path


def change(small: SmallTable, number: int, **changes: Any) -> None:
    hold(small, number, f"snapshot/snapshot-{number}", **changes)


def rows(small: SmallTable, number: int) -> int:
    table = opened(small)
    snapshot = table.snapshots.get(number)
    assert snapshot is not None
    live = table.manifests.live_columns(snapshot)
    paths = [
        table.folder(table.bucket_id(p.as_py(), b.as_py()))
        for p, b in zip(live["partition"], live["bucket"], strict=True)
    ]
    assert all(
        (Path(folder) / name.as_py()).exists() for folder, name in zip(paths, live["name"], strict=True)
    )
    return len(live)


def test_only_what_the_newest_snapshot_needs_is_left(small: SmallTable) -> None:
    live = rows(small, 6)

    plan = expire(small)

    assert plan.snapshots == (1, 2, 3, 4, 5)
    assert small.numbers == [6]
    assert rows(small, 6) == live
    data = {path for path in files(small) if "bucket-" in path}
    assert len(data) == live
    assert (small.folder / "snapshot" / "EARLIEST").read_text() == "6"


def test_figures_are_those_of_the_files_that_went(small: SmallTable) -> None:
    before = files(small)
    plan = expire(small, keep=2)
    gone = before - files(small)
    assert sum(plan.figures.values()) == len(gone)
    assert plan.figures["snapshots"] == 4
    assert plan.figures["dataFiles"] == len([path for path in gone if "bucket-" in path])


def test_second_expiry_has_nothing_to_do(small: SmallTable) -> None:
    expire(small)
    before = files(small)
    plan = expire(small)
    assert plan.is_empty
    assert files(small) == before


def test_plan_deletes_nothing(small: SmallTable) -> None:
    before = files(small)
    assert not expiry(small).plan(LATER).is_empty
    assert files(small) == before


def test_missing_hint_is_written_without_any_expiry(small: SmallTable) -> None:
    (small.folder / "snapshot" / "EARLIEST").unlink(missing_ok=True)
    plan = expire(small, keep=10)
    assert plan.is_empty
    assert (small.folder / "snapshot" / "EARLIEST").read_text() == "1"


def test_hint_to_a_snapshot_that_is_gone_is_moved(small: SmallTable) -> None:
    """A run was killed after it had deleted the snapshots."""
    hint = small.folder / "snapshot" / "EARLIEST"
    hint.write_text("1")
    small.expire(keep=2)
    plan = expire(small, keep=2)
    assert plan.is_empty
    assert hint.read_text() == "5"


def test_table_without_snapshots_has_nothing_to_do(tmp_path: Path) -> None:
    empty = SmallTable(tmp_path / "warehouse").create()
    before = files(empty)
    assert expire(empty).is_empty
    assert files(empty) == before


def test_snapshots_that_were_replaced_just_now_stay(small: SmallTable) -> None:
    made = expiry(small)
    assert made.plan(ShiftedClock()).is_empty
    assert expiry(small, floor=timedelta()).plan(ShiftedClock()).snapshots == (1, 2, 3, 4, 5)


def test_options_of_the_table_count_unless_others_are_given(small: SmallTable) -> None:
    small.set_option("snapshot.num-retained.min", "3")
    assert SnapshotExpiry(opened(small)).plan(LATER).snapshots == (1, 2, 3)


@pytest.mark.parametrize(
    "place",
    [
        "tag/tag-kept",
        "branch/branch-b/snapshot/snapshot-2",
        "branch/branch-b/tag/tag-kept",
        "branch/branch-feature/b/snapshot/snapshot-2",
        "tag/tag-release/1/0",
    ],
    ids=["a tag", "a branch", "a tag of a branch", "a branch with a slash", "a tag with slashes"],
)
def test_held_snapshot_keeps_all_of_its_files(small: SmallTable, place: str) -> None:
    held = rows(small, 2)
    path = hold(small, 2, place)

    plan = expire(small)

    assert 2 in plan.snapshots
    path.rename(small.folder / "snapshot" / "snapshot-2")
    assert rows(small, 2) == held


@pytest.mark.parametrize("name", ["c", "jobs/c", "jobs/of/c"])
def test_consumer_keeps_the_snapshots_that_it_has_still_to_read(small: SmallTable, name: str) -> None:
    path = small.folder / "consumer" / f"consumer-{name}"
    path.parent.mkdir(parents=True)
    path.write_text('{"nextSnapshot": 4}')
    expire(small)
    assert small.numbers == [4, 5, 6]


def test_statistics_go_with_the_last_snapshot_that_names_them(small: SmallTable) -> None:
    for number, name in {1: "stat-old", 2: "stat-old", 3: "stat-both", 6: "stat-both"}.items():
        change(small, number, statistics=name)
        (small.folder / "statistics").mkdir(exist_ok=True)
        (small.folder / "statistics" / name).write_text("{}")
    plan = expire(small)
    assert plan.figures["statisticsFiles"] == 1
    assert [path.name for path in (small.folder / "statistics").iterdir()] == ["stat-both"]


def paths_in_order(plan: ExpiryPlan, small: SmallTable) -> list[Path]:
    """Everything that an execution deletes, in its order."""
    snapshots = [small.folder / "snapshot" / f"snapshot-{number}" for number in plan.snapshots]
    return [*(Path(path) for phase in phases(plan.doomed) for path in phase), *snapshots]


@pytest.mark.thorough
@pytest.mark.parametrize("tenths", range(11))
@pytest.mark.parametrize("keep", [1, 2])
def test_crash_at_any_point_is_completed_by_the_next_run(
    small: SmallTable, tmp_path: Path, tenths: int, keep: int
) -> None:
    hold(small, 3, "tag/tag-kept")
    whole = SmallTable(tmp_path / "whole")
    shutil.copytree(small.warehouse, whole.warehouse)
    expire(whole, keep)
    paths = paths_in_order(expiry(small, keep).plan(LATER), small)

    for path in paths[: len(paths) * tenths // 10]:
        path.unlink()
    expire(small, keep)

    assert files(small) == files(whole)
    assert (small.folder / "snapshot" / "EARLIEST").read_text() == str(7 - keep)


def tag(small: SmallTable) -> None:
    hold(small, 3, "tag/tag-late")


def branch(small: SmallTable) -> None:
    hold(small, 3, "branch/branch-late/snapshot/snapshot-3")


def consume(small: SmallTable) -> None:
    (small.folder / "consumer").mkdir()
    (small.folder / "consumer" / "consumer-late").write_text('{"nextSnapshot": 3}')


def roll_back(small: SmallTable) -> None:
    small.roll_back_to(5)


def replace(small: SmallTable) -> None:
    small.roll_back_to(5)
    small.append("a")


def test_plan_is_stale_once_the_newest_snapshot_is_rolled_back(small: SmallTable) -> None:
    """Fewer snapshots are left, so more are kept; a killed run would leave one of them without its files."""
    made = expiry(small, 2)
    plan = made.plan(LATER)
    small.roll_back_to(small.numbers[-2])
    before = files(small)
    with pytest.raises(StalePlan, match="rolled back"):
        made.execute(plan)
    assert files(small) == before


@pytest.mark.parametrize("act", [tag, branch, consume, roll_back, replace], ids=lambda act: act.__name__)
def test_plan_is_stale_once_somebody_may_need_its_files(
    small: SmallTable, act: Callable[[SmallTable], None]
) -> None:
    made = expiry(small)
    plan = made.plan(LATER)
    act(small)
    before = files(small)
    with pytest.raises(StalePlan):
        made.execute(plan)
    assert files(small) == before


def test_snapshots_that_get_the_ids_of_expiring_ones_stay(
    small: SmallTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To delete many files takes long; meanwhile somebody may roll back and commit."""

    def roll_back_and_write(point: str, attempt: int = 0) -> None:
        if point == "expired-files-deleted":
            small.roll_back_to(4)
            small.append("a")

    monkeypatch.setattr(deleting, "failpoint", roll_back_and_write)
    made = expiry(small)
    plan = made.plan(LATER)
    with pytest.raises(StalePlan):
        made.execute(plan)
    assert small.numbers[-2:] == [4, 5]


def test_commits_after_the_plan_do_not_matter(small: SmallTable) -> None:
    made = expiry(small)
    plan = made.plan(LATER)
    small.append("a", "b")
    live = rows(small, 7)
    made.execute(plan)
    assert small.numbers == [6, 7]
    assert rows(small, 7) == live


def without_manifest(small: SmallTable, number: int) -> None:
    table = opened(small)
    snapshot = table.snapshots.get(number)
    assert snapshot is not None
    Path(table.manifests.path(table.manifests.names_in_list(snapshot.delta_manifest_list)[0])).unlink()


def break_newest(small: SmallTable) -> None:
    without_manifest(small, 6)


def break_tag(small: SmallTable) -> None:
    hold(small, 3, "tag/tag-kept")
    without_manifest(small, 3)


def damage_tag(small: SmallTable) -> None:
    hold(small, 3, "tag/tag-kept").write_text("{}")


def misname(small: SmallTable) -> None:
    hold(small, 6, "snapshot/snapshot-3")


def damage_consumer(small: SmallTable) -> None:
    consume(small)
    (small.folder / "consumer" / "consumer-late").write_text('{"nextSnapshot": "3"}')


def damage_changelog(small: SmallTable) -> None:
    hold(small, 6, "changelog/changelog-1")


@pytest.mark.parametrize(
    ("act", "error"),
    [
        (break_newest, MissingFile),
        (break_tag, MissingFile),
        (damage_tag, CorruptTable),
        (misname, CorruptTable),
        (damage_consumer, CorruptTable),
        (damage_changelog, CorruptTable),
    ],
    ids=lambda each: each.__name__,
)
def test_nothing_goes_while_it_is_unknown_what_is_needed(
    small: SmallTable, act: Callable[[SmallTable], None], error: type[LithifyError]
) -> None:
    act(small)
    before = files(small)
    with pytest.raises(error):
        expire(small)
    assert files(small) == before


def test_broken_branch_does_not_keep_a_table_from_expiry(small: SmallTable) -> None:
    """Java breaks branches whose tag is deleted; nobody can read them."""
    hold(small, 3, "branch/branch-b/snapshot/snapshot-3")
    (small.folder / "manifest" / small.snapshot(3)["baseManifestList"]).unlink()
    assert expire(small).snapshots == (1, 2, 3, 4, 5)


def consumer(small: SmallTable, name: str, position: int, days: float) -> Path:
    """A consumer that has not moved for some days."""
    path = small.folder / "consumer" / f"consumer-{name}"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f'{{"nextSnapshot": {position}}}')
    written = time.time() - days * 86_400
    os.utime(path, (written, written))
    return path


def with_options(small: SmallTable, **options: Any) -> SnapshotExpiry:
    return SnapshotExpiry(opened(small), RetentionOptions(least=1, most=1, **options))


def test_idle_consumer_goes_and_releases_its_snapshots_in_the_same_run(small: SmallTable) -> None:
    idle, busy = consumer(small, "idle", 1, days=3), consumer(small, "busy", 4, days=0)
    made = with_options(small, consumer_millis=4 * 86_400_000)
    plan = made.plan(LATER)  # two days from now
    assert plan.figures["consumers"] == 1

    made.execute(plan)

    assert not idle.exists()
    assert busy.exists()
    assert small.numbers == [4, 5, 6]


def test_consumers_stay_without_the_option(small: SmallTable) -> None:
    consumer(small, "idle", 5, days=1000)
    assert expire(small).figures["consumers"] == 0
    assert small.numbers == [5, 6]


def test_damaged_consumer_that_is_due_goes_like_any_other(small: SmallTable) -> None:
    """Java does not read it either."""
    path = consumer(small, "idle", 1, days=9)
    path.write_text("{}")
    os.utime(path, (0, 0))
    made = with_options(small, consumer_millis=86_400_000)
    made.execute(made.plan(LATER))
    assert small.numbers == [6]


def test_consumer_behind_all_snapshots_does_not_stop_the_expiry_of_changelogs(small: SmallTable) -> None:
    made = outliving(small)
    made.execute(made.plan(LATER))
    consumer(small, "idle", 1, days=9)
    consumer(small, "busy", 5, days=0)
    later = outliving(small, least=1, consumer_millis=4 * 86_400_000)
    later.execute(later.plan(LATER))
    assert changelogs(small) == [5]


def test_plan_is_stale_once_a_consumer_moves_that_was_due(small: SmallTable) -> None:
    path = consumer(small, "idle", 1, days=9)
    made = with_options(small, consumer_millis=86_400_000)
    plan = made.plan(LATER)
    os.utime(path)
    before = files(small)
    with pytest.raises(StalePlan, match="consumer-idle was written"):
        made.execute(plan)
    assert files(small) == before


def test_consumers_of_a_table_without_snapshots_go(tmp_path: Path) -> None:
    empty = SmallTable(tmp_path / "warehouse").create()
    path = consumer(empty, "idle", 1, days=9)
    made = with_options(empty, consumer_millis=86_400_000)
    made.execute(made.plan(LATER))
    assert not path.exists()


def outliving(small: SmallTable, least: int = 3, **options: Any) -> SnapshotExpiry:
    """One snapshot stays; `least` are snapshots or changelogs. The table has no changelog files."""
    changelogs = ChangelogRetention(least=least, most=9, millis=0, is_of_files=False)
    return with_options(small, changelogs=changelogs, **options)


def changelogs(small: SmallTable) -> list[int]:
    found = (small.folder / "changelog").glob("changelog-*")
    return sorted(int(path.name.removeprefix("changelog-")) for path in found)


def test_snapshots_leave_changelogs_with_the_files_that_they_appended(small: SmallTable) -> None:
    appended = {number: delta(small, number) for number in (4, 5, 6)}
    made = outliving(small)
    made.execute(made.plan(LATER))

    assert small.numbers == [6]
    assert changelogs(small) == [4, 5]
    assert (small.folder / "changelog" / "EARLIEST").read_text() == "4"
    assert (small.folder / "changelog" / "LATEST").read_text() == "5"
    left = {path for path in files(small) if "bucket-" in path}
    assert set().union(*appended.values()) <= left
    assert {number: delta(small, number, "changelog") for number in (4, 5)} == {
        number: appended[number] for number in (4, 5)
    }


def test_changelogs_go_later_with_their_files(small: SmallTable) -> None:
    whole = outliving(small)
    whole.execute(whole.plan(LATER))
    before = files(small)
    made = outliving(small, least=1)
    plan = made.plan(LATER)
    assert plan.changelogs == (4,)

    made.execute(plan)

    assert changelogs(small) == [5]
    assert sum(plan.figures.values()) == len(before - files(small))
    assert (small.folder / "changelog" / "EARLIEST").read_text() == "5"


def test_changelogs_that_options_no_longer_ask_for_stay_with_their_files(small: SmallTable) -> None:
    """Java deletes the data files of such changelogs, and the changelogs never."""
    made = outliving(small)
    made.execute(made.plan(LATER))
    kept = {number: delta(small, number, "changelog") for number in (4, 5)}
    small.overwrite("a")
    small.overwrite("b")
    expire(small)
    assert small.numbers == [8]
    assert changelogs(small) == [4, 5]
    assert set().union(*kept.values()) <= files(small)


def test_consumer_of_changelogs_keeps_no_snapshot(small: SmallTable) -> None:
    consumer(small, "c", 2, days=0)
    made = outliving(small, least=1, is_consumer_of_changelogs=True)
    made.execute(made.plan(LATER))
    assert small.numbers == [6]
    assert changelogs(small) == [2, 3, 4, 5]


@pytest.mark.thorough
@pytest.mark.parametrize("tenths", range(11))
def test_crash_while_changelogs_are_left_is_completed(small: SmallTable, tmp_path: Path, tenths: int) -> None:
    """What a killed run has left: some files are gone, the first snapshots have become changelogs."""
    hold(small, 3, "tag/tag-kept")
    whole = SmallTable(tmp_path / "whole")
    shutil.copytree(small.warehouse, whole.warehouse)
    outliving(whole).execute(outliving(whole).plan(LATER))
    plan = outliving(small).plan(LATER)
    paths = [Path(path) for phase in phases(plan.doomed) for path in phase]
    for path in paths[: len(paths) * tenths // 5]:
        path.unlink()
    for number in plan.snapshots[: max(0, tenths - 5)]:
        if number in plan.becoming:
            hold(small, number, f"changelog/changelog-{number}")
            (small.folder / "changelog" / "LATEST").write_text(str(number))
        (small.folder / "snapshot" / f"snapshot-{number}").unlink()

    made = outliving(small)
    made.execute(made.plan(LATER))

    assert files(small) == files(whole)


def delta(small: SmallTable, number: int, kind: str = "snapshot") -> set[str]:
    """The data files that a snapshot or changelog appended."""
    text = (small.folder / kind / f"{kind}-{number}").read_text()
    table = opened(small)
    entries = table.manifests.delta(parse_snapshot(text))
    added = [entry for entry in entries if entry.kind == ADD]
    paths = (Path(table.path(entry)) for entry in added)
    return {str(path.relative_to(small.folder)) for path in paths}
