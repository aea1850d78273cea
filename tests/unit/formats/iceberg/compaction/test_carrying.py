"""Commits carry deletes over that land on replaced files: those of their own view, wholly or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from pyiceberg.expressions import EqualTo

from lithify.engine.commit.loop import CommitOutcome
from lithify.formats.iceberg.commit.rules import NEW_DELETE, REPLACED_INPUT
from lithify.formats.iceberg.compaction.carrying import NOT_CARRIED
from lithify.formats.iceberg.table.opening import open_iceberg_table
from support.cases import case
from support.iceberg_commits import (
    Group,
    commit,
    delete_positions,
    map_of,
    plan,
    rewritten,
    view_of,
)
from support.iceberg_tables import NAME, Lakehouse, rows

pytestmark = pytest.mark.thorough

Meanwhile = Callable[[int], None]


class Play:
    """Four files of two rows each (0 and 1, 2 and 3...); row 4 was deleted when they were planned.

    The first three are group `g`, the last one is group `h`.
    """

    def __init__(self, folder: Path) -> None:
        self.lakehouse = Lakehouse(folder)
        table = self.lakehouse.table(properties={"format-version": "2"})
        for number in range(4):
            table.append(rows(2 * number, 2 * number + 1))
        self.delete(4)
        self.planned = plan(self.lakehouse.address())
        g, h = self.planned.of(0, 2, 4), self.planned.of(6)
        self.changes = [rewritten(self.planned, g, "g"), rewritten(self.planned, h, "h")]
        self.maps = {change.group: map_of(self.planned, change) for change in self.changes}

    def delete(self, *ids: int, names_file: bool = True) -> None:
        """Others delete rows by position, each file's in a delete file of its own or all in one."""
        planned, places = plan(self.lakehouse.address()), dict[str, list[int]]()
        for number in ids:
            places.setdefault(planned.of(number)[0].path, []).append(number % 2)
        if names_file:
            for path, found in places.items():
                delete_positions(self.lakehouse.address(), {path: found})
        else:
            delete_positions(self.lakehouse.address(), places, names_file=False)

    def commit(self, meanwhile: Mapping[int, Callable[[], None]] | None = None) -> CommitOutcome:
        """Commits both groups; `meanwhile` has what others do after a try has written its files."""
        steps = meanwhile or {}
        return commit(
            self.planned,
            *self.changes,
            maps=self.maps,
            meanwhile=lambda number: steps.get(number, lambda: None)(),
        )

    def ids(self) -> list[int]:
        found: list[int] = self.lakehouse.catalog().load_table(NAME).scan().to_arrow()["id"].to_pylist()
        return sorted(found)

    def summary(self) -> dict[str, str]:
        head = open_iceberg_table(self.lakehouse.address()).head()
        assert head is not None
        return dict(head.summary)

    def stray_deletes(self) -> set[str]:
        """Delete files that no snapshot names."""
        table = self.lakehouse.catalog().load_table(NAME)
        folder = Path(table.location().removeprefix("file://")) / "data"
        named = {path.rpartition("/")[2] for path in table.inspect.all_files().to_pydict()["file_path"]}
        return {path.name for path in folder.rglob("*-deletes-*")} - named


@pytest.fixture
def play(tmp_path: Path) -> Play:
    return Play(tmp_path)


GROUPS = {Group("g"), Group("h")}


def without(*ids: int) -> list[int]:
    return [each for each in range(8) if each not in {4, *ids}]


@pytest.mark.parametrize("names_file", [True, False], ids=["for one file", "for a partition"])
@pytest.mark.parametrize(
    "deleted",
    [case((3,), id="one row"), case((1, 3, 5, 7), id="rows of all files"), case((6, 7), id="a whole file")],
)
def test_rows_that_others_delete_after_the_plan_stay_deleted(
    play: Play, deleted: tuple[int, ...], names_file: bool
) -> None:
    play.delete(*deleted, names_file=names_file)
    outcome = play.commit()
    assert ({*outcome.committed}, outcome.conflicts, outcome.tries) == (GROUPS, {}, 1)
    assert play.ids() == without(*deleted)
    assert play.summary()["lithify.carried-deletes"] == str(len(deleted))


def test_without_late_deletes_no_delete_file_is_written(play: Play) -> None:
    play.commit()
    assert play.ids() == without()
    assert not {"lithify.carried-deletes", "added-delete-files"} & play.summary().keys()


def test_deletes_that_land_between_two_tries_are_carried_by_the_second(play: Play) -> None:
    play.delete(1)
    outcome = play.commit({0: lambda: play.delete(7)})
    assert ({*outcome.committed}, outcome.tries) == (GROUPS, 2)
    assert play.ids() == without(1, 7)
    assert play.stray_deletes() == set(), "those of the first try are deleted"


def test_what_was_rolled_back_between_two_tries_is_not_carried(play: Play) -> None:
    play.delete(1)
    head = open_iceberg_table(play.lakehouse.address()).head()
    assert head is not None
    play.delete(3)

    def roll_back() -> None:
        play.lakehouse.catalog().load_table(NAME).manage_snapshots().set_current_snapshot(head.id).commit()

    outcome = play.commit({0: roll_back})
    assert ({*outcome.committed}, outcome.tries) == (GROUPS, 2)
    assert play.ids() == without(1)


def test_new_deletes_are_about_one_new_file_each_and_older_ones_are_dropped(play: Play) -> None:
    play.delete(1, 3, 7)
    play.commit()
    view = view_of(open_iceberg_table(play.lakehouse.address()))
    assert sorted(view.deletes["referenced"].to_pylist()) == sorted(view.data["file_path"].to_pylist())
    assert sorted(view.deletes["record_count"].to_pylist()) == [1, 2]
    head = open_iceberg_table(play.lakehouse.address()).head()
    assert head is not None
    assert {*view.deletes["sequence_number"].to_pylist()} == {head.sequence}
    assert {*view.data["sequence_number"].to_pylist()} == {play.planned.start.sequence}
    found = play.summary()
    assert (found["added-position-delete-files"], found["added-position-deletes"]) == ("2", "3")
    assert (found["removed-position-delete-files"], found["removed-position-deletes"]) == ("4", "4")


def test_a_group_with_a_removed_input_is_in_conflict_and_the_other_one_is_carried(play: Play) -> None:
    play.delete(7)
    play.lakehouse.catalog().load_table(NAME).delete(EqualTo("id", 1))
    outcome = play.commit()
    assert (outcome.committed, outcome.conflicts) == ((Group("h"),), {Group("g"): REPLACED_INPUT})
    assert play.ids() == without(1, 7)


@pytest.mark.parametrize("lost", [("g",), ("g", "h")])
def test_a_group_without_a_map_is_in_conflict_as_soon_as_rows_of_it_are_deleted(
    play: Play, lost: Sequence[str]
) -> None:
    for name in lost:
        del play.maps[Group(name)]
    play.delete(1)
    outcome = play.commit()
    assert (outcome.committed, outcome.conflicts) == ((Group("h"),), {Group("g"): NEW_DELETE})
    assert play.ids() == without(1)


def test_a_group_whose_map_is_gone_is_in_conflict(play: Play) -> None:
    (path,) = play.maps[Group("g")].paths
    Path(path.removeprefix("file://")).unlink()
    play.delete(5, 7)
    outcome = play.commit()
    assert outcome.committed == (Group("h"),)
    assert outcome.conflicts[Group("g")].startswith(NOT_CARRIED)
    assert play.ids() == without(5, 7)


def test_a_group_with_a_damaged_late_delete_is_in_conflict(play: Play) -> None:
    play.delete(7)
    play.delete(1)
    view = view_of(open_iceberg_table(play.lakehouse.address()))
    path = view.deletes["file_path"][view.deletes["sequence_number"].to_pylist().index(7)].as_py()
    Path(path.removeprefix("file://")).write_bytes(b"PAR1" * 10)
    outcome = play.commit()
    assert outcome.committed == (Group("h"),)
    assert outcome.conflicts[Group("g")].startswith(NOT_CARRIED)
