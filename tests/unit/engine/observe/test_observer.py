"""Observations of a tiny format: what each reads and judges, and that it finds what a full one finds."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.clock import epoch_millis
from lithify.formats.protocol.model import SnapshotId
from lithify.formats.protocol.observing import CommittedRun
from support.cases import case
from support.properties import examples
from unit.engine.observe.lake import LAYOUT, NOW, File, Follower, Lake, file

HOUR = timedelta(hours=1)
LATER = epoch_millis(NOW + HOUR)


@pytest.fixture
def lake() -> Lake:
    lake = Lake()
    lake.commit(file("eu", 1, "a"), file("eu", 2, "b"), file("us", 1, "c", due=LATER))
    lake.commit(file("eu", 1, "d"), file("us", 1, "e"))
    return lake


@pytest.fixture
def follower(lake: Lake, tmp_path: Path) -> Follower:
    return Follower({"t": lake}, tmp_path / "caches")


def cached_file(follower: Follower) -> Path:
    """The database of the only cached table."""
    (path,) = follower.folder.rglob("*.kept")
    return path


def without_files(path: Path) -> None:
    """Removes the files of all groups from a cache."""
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("DELETE FROM files")


class TestOrder:
    def test_first_observation_reads_everything(self, lake: Lake, follower: Follower) -> None:
        found = follower.find()
        assert (found.snapshot, found.partitions, found.files, found.bytes) == ("2", 3, 5, 50)
        assert lake.take_asked() == ["open", "everything"]

    @pytest.mark.parametrize("changes", [{}, {"reconsider": True}, {"is_full": True}])
    def test_observation_tells_which_runs_were_rolled_back(
        self, lake: Lake, follower: Follower, changes: dict[str, bool]
    ) -> None:
        follower.find()
        lake.commit(file("eu", 1, "f"))
        runs = (
            CommittedRun(SnapshotId("1"), SnapshotId("removed"), NOW),
            CommittedRun(SnapshotId("1"), SnapshotId("3"), NOW),
        )
        found = follower.look(committed=runs, **changes)
        assert found is not None
        assert found.rolled_back == ("removed",)

    def test_unchanged_table_is_asked_once(self, lake: Lake, follower: Follower) -> None:
        follower.find()
        lake.take_asked()
        assert follower.look() is None
        assert lake.take_asked() == ["unchanged, exactly?"]

    def test_change_is_read_alone_and_only_its_groups_are_judged(
        self, lake: Lake, follower: Follower
    ) -> None:
        follower.find()
        lake.take_asked()
        lake.judged.clear()
        lake.commit(file("eu", 1, "f"), removed=[file("eu", 1, "a")])
        assert follower.find().files == 5
        assert lake.take_asked() == ["unchanged, exactly?", "changes"]
        assert lake.judged == [2]

    def test_group_without_files_is_gone(self, lake: Lake, follower: Follower, tmp_path: Path) -> None:
        follower.find()
        lake.commit(removed=[file("eu", 2, "b")])
        found = follower.find()
        assert (found.partitions, found.files) == (2, 4)
        assert found == follower.fresh(tmp_path / "fresh")

    def test_reconsidering_an_unchanged_table_reads_nothing(self, lake: Lake, follower: Follower) -> None:
        seen = follower.find()
        lake.take_asked()
        lake.judged.clear()
        assert follower.find(reconsider=True) == seen
        assert lake.take_asked() == ["unchanged, exactly?"]
        assert lake.judged == []

    def test_new_process_continues_with_the_cache(self, lake: Lake, follower: Follower) -> None:
        seen = follower.find()
        lake.take_asked()
        follower.start_again()
        assert follower.look() is None
        assert lake.take_asked() == ["open", "unchanged?"]
        assert follower.find(reconsider=True) == seen
        lake.commit(file("eu", 3, "f"))
        assert follower.find().partitions == 4
        assert lake.take_asked()[-1] == "changes"

    def test_table_without_snapshots_is_unchanged_until_the_first(self, tmp_path: Path) -> None:
        lake = Lake()
        follower = Follower({"t": lake}, tmp_path)
        found = follower.find()
        assert (found.snapshot, found.files) == (None, 0)
        assert follower.look() is None
        lake.commit(file("eu", 1, "a"))
        assert follower.find().files == 1

    def test_closed_tables_are_opened_again(self, tmp_path: Path) -> None:
        lakes = {name: Lake() for name in "ab"}
        follower = Follower(lakes, tmp_path, most_open=1)
        for lake in lakes.values():
            lake.commit(file("eu", 1, "a"))
        for name in "aba":
            follower.look(name)
        assert lakes["a"].take_asked() == ["open", "everything", "open", "unchanged?"]

    def test_columns_that_do_not_come_with_commits_are_followed(
        self, lake: Lake, follower: Follower, tmp_path: Path
    ) -> None:
        follower.find()
        lake.judged.clear()
        lake.commit(file("us", 1, "f"), marks={("eu", 2): "x", ("nowhere", 9): "y"})
        found = follower.find()
        assert found.small_files == 1
        assert found == follower.fresh(tmp_path / "fresh")
        lake.commit(file("us", 1, "g"), marks={})
        assert follower.find().small_files == 0


class TestHistory:
    """A cache that the table's snapshots do not continue is not used."""

    @pytest.mark.parametrize("commits", [1, 2])
    def test_rolled_back_and_written_again(
        self, commits: int, lake: Lake, follower: Follower, tmp_path: Path
    ) -> None:
        follower.find()
        lake.roll_back_to(1)
        for number in range(commits):
            lake.commit(file("eu", 9, f"new-{number}"))
        found = follower.find()
        assert found == follower.fresh(tmp_path / "fresh")
        assert found.files == 3 + commits

    def test_created_again(self, lake: Lake, follower: Follower, tmp_path: Path) -> None:
        follower.find()
        lake.uuid = "uuid-2"
        lake.roll_back_to(0)
        lake.commit(file("eu", 1, "a"))
        found = follower.find(is_full=True)
        assert (found.table_uuid, found.files) == ("uuid-2", 1)
        assert found == follower.fresh(tmp_path / "fresh")

    def test_snapshot_between_has_expired(self, lake: Lake, follower: Follower, tmp_path: Path) -> None:
        follower.find()
        lake.commit(file("eu", 1, "f"))
        lake.commit(file("eu", 1, "g"))
        lake.lost.add(3)
        lake.take_asked()
        assert follower.find() == follower.fresh(tmp_path / "fresh")
        assert lake.take_asked() == ["unchanged, exactly?", "changes", "open", "everything"]

    @pytest.mark.parametrize(
        ("added", "removed"),
        [
            case([file("eu", 1, "a")], [], id="a file is added that is there"),
            case([], [file("eu", 1, "zz")], id="a file is removed that is not there"),
        ],
    )
    def test_changes_that_contradict_the_cache(
        self, added: list[File], removed: list[File], lake: Lake, follower: Follower
    ) -> None:
        follower.find()
        lake.commit(*added, removed=removed)
        lake.take_asked()
        follower.find()
        assert lake.take_asked()[-1] == "everything"

    def test_new_schema_opens_the_table_again(self, lake: Lake, follower: Follower) -> None:
        follower.find()
        lake.schema_id = 1
        lake.commit(file("eu", 1, "f"))
        lake.take_asked()
        assert follower.find().schema_id == 1
        assert lake.take_asked() == ["unchanged, exactly?", "open", "everything"]

    def test_other_layout_is_not_used(self, lake: Lake, follower: Follower) -> None:
        seen = follower.find()
        follower.layout = replace(LAYOUT, name="lake 2")
        follower.start_again()
        lake.take_asked()
        assert follower.find(reconsider=True) == seen
        assert lake.take_asked() == ["open", "unchanged?", "everything"]


class TestTime:
    """Figures hold until `valid_until`, and for the options with which they were judged."""

    def test_only_groups_whose_figures_expired_are_judged_again(self, lake: Lake, follower: Follower) -> None:
        assert follower.find().findings == ()
        lake.judged.clear()
        follower.clock.moment += HOUR
        assert follower.look() is None, "there is no new snapshot"
        found = follower.find(reconsider=True)
        assert [finding.bucket for finding in found.findings] == ["us"]
        assert lake.judged == [2]

    def test_update_judges_expired_groups_too(self, lake: Lake, follower: Follower, tmp_path: Path) -> None:
        follower.find()
        lake.commit(file("eu", 2, "f"))
        lake.judged.clear()
        follower.clock.moment += HOUR
        found = follower.find()
        assert sorted(lake.judged) == [2, 2]
        assert found == follower.fresh(tmp_path / "fresh")
        assert found.full_bytes == 6, "details are made of all figures"

    @pytest.mark.parametrize("is_changed", [False, True])
    def test_other_options_judge_every_group_once(
        self, is_changed: bool, lake: Lake, follower: Follower, tmp_path: Path
    ) -> None:
        follower.find()
        if is_changed:
            lake.commit(file("eu", 2, "f"))
        lake.take_asked()
        lake.judged.clear()
        lake.options = "others"
        found = follower.find(reconsider=True)
        assert "everything" not in lake.take_asked()
        assert sum(lake.judged) == found.files
        assert found == follower.fresh(tmp_path / "fresh")

    def test_clock_that_went_back_judges_every_group(self, lake: Lake, follower: Follower) -> None:
        follower.clock.moment += HOUR
        assert follower.find().findings
        follower.clock.moment -= HOUR
        assert follower.find(reconsider=True).findings == ()


class TestPortions:
    """Only some files are in memory at a time."""

    def test_full_read_and_update_judge_bounded_portions(self, tmp_path: Path) -> None:
        lake = Lake()
        for number in range(40):
            lake.commit(*(file(region, group, f"{number}") for region in ("eu", "us") for group in range(20)))
        follower = Follower({"t": lake}, tmp_path / "caches", layout=replace(LAYOUT, portion=200))
        found = follower.find()
        assert (found.files, max(lake.judged) <= 600) == (1600, True)
        assert len(lake.judged) > 4
        assert found == follower.fresh(tmp_path / "fresh")

        lake.judged.clear()
        lake.commit(*(file(region, group, "new") for region in ("eu", "us") for group in range(20)))
        assert follower.find() == follower.fresh(tmp_path / "fresh again")
        assert max(lake.judged) <= 200 + 41
        assert len(lake.judged) >= 8

    def test_nothing_but_the_cache_stays_on_disk(self, follower: Follower) -> None:
        follower.layout = replace(LAYOUT, portion=1)
        follower.start_again()
        follower.find()
        names = {path.suffix or path.name for path in follower.folder.rglob("*") if path.is_file()}
        assert names == {".kept", "used"}


class TestCaches:
    @pytest.mark.parametrize(
        "damage",
        [
            case(lambda path: path.write_bytes(b"garbage"), id="garbage"),
            case(lambda path: path.unlink(), id="gone"),
            case(lambda path: path.write_bytes(path.read_bytes()[:50]), id="cut off"),
            case(without_files, id="files of a group are gone"),
        ],
    )
    def test_damage_costs_a_full_read(
        self, damage: Callable[[Path], object], lake: Lake, follower: Follower, tmp_path: Path
    ) -> None:
        follower.find()
        damage(cached_file(follower))
        lake.commit(*(file("eu", number, "f") for number in (1, 2)), file("us", 1, "f"))
        lake.take_asked()
        assert follower.find() == follower.fresh(tmp_path / "fresh")
        assert lake.take_asked()[-1] == "everything"
        lake.commit(file("eu", 1, "g"))
        follower.find()
        assert lake.take_asked()[-1] == "changes"

    def test_cache_that_another_process_writes_is_left_to_it(
        self, lake: Lake, follower: Follower, tmp_path: Path
    ) -> None:
        follower.find()
        lake.commit(file("eu", 1, "f"))
        with closing(sqlite3.connect(cached_file(follower), isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            lake.take_asked()
            found = follower.find()
        assert lake.take_asked()[-1] == "everything"
        assert found == follower.fresh(tmp_path / "fresh")
        follower.start_again()
        assert follower.look() is None

    def test_evicted_table_is_read_again(self, tmp_path: Path) -> None:
        lakes = {name: Lake() for name in "ab"}
        for lake in lakes.values():
            lake.commit(*(file("eu", number, f"f{number}") for number in range(50)))
        follower = Follower(lakes, tmp_path / "caches", limit=1)
        follower.find("a")
        follower.find("b")
        assert len([*follower.folder.rglob("*.kept")]) == 1, "the one that is too large alone stays"
        for name, read in (("a", "everything"), ("b", "everything")):
            lakes[name].take_asked()
            lakes[name].commit(file("eu", 1, "new"))
            assert follower.find(name) == follower.fresh(tmp_path / f"fresh {name}", name)
            assert lakes[name].take_asked()[-1] == read

    def test_folder_that_cannot_be_written_costs_full_reads(
        self, lake: Lake, follower: Follower, tmp_path: Path
    ) -> None:
        follower.folder.rmdir()
        follower.folder.write_text("in the way")
        found = follower.find()
        assert found == follower.fresh(tmp_path / "fresh")
        assert follower.look() is None
        lake.commit(file("eu", 1, "f"))
        assert follower.find() == follower.fresh(tmp_path / "fresh again")


@settings(derandomize=True, deadline=None, max_examples=examples(10))
@given(st.randoms(use_true_random=False))
def test_following_finds_what_a_full_read_finds(rng: Random) -> None:
    """Whatever happens to a table, and however many commits lie between two observations."""
    with TemporaryDirectory() as folder:
        lake, number = Lake(), 0
        follower = Follower({"t": lake}, Path(folder) / "caches", layout=replace(LAYOUT, portion=7))
        for step in range(6):
            for _ in range(rng.choice((0, 1, 3))):
                number += 1
                change(lake, rng, number)
            follower.clock.moment += rng.choice((timedelta(), HOUR))
            lake.options = rng.choice((lake.options, "others"))
            if rng.randrange(4) == 0:
                follower.start_again()
            found = follower.look() or follower.find(reconsider=True)
            assert found == follower.fresh(Path(folder) / f"fresh-{step}")


def change(lake: Lake, rng: Random, number: int) -> None:
    """Some change; after a rollback enough commits that the newest snapshot has a number of its own."""
    before = len(lake.commits)
    if before and rng.randrange(6) == 0:
        lake.roll_back_to(rng.randrange(before))
    while len(lake.commits) <= before:
        commit(lake, rng, f"{number}-{len(lake.commits)}")


def commit(lake: Lake, rng: Random, name: str) -> None:
    live = set[File]()
    for each in lake.commits:
        live = (live | {*each.added}) - {*each.removed}
    removed = rng.sample(sorted(live, key=repr), rng.randint(0, min(3, len(live))))
    due = rng.choice((None, epoch_millis(NOW + rng.randrange(8) * HOUR)))
    groups = [(region, each) for region in ("eu", "us") for each in range(3)]
    added = [file(*rng.choice(groups), f"{name}-{each}", due=due) for each in range(2)]
    marks = rng.choice((None, {("eu", rng.randrange(3)): f"m{name}"}))
    lake.commit(*added, removed=removed, marks=marks)
