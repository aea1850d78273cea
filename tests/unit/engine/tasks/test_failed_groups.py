"""An error about the files of one group blocks that group only."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from lithify.engine.tasks.failed_groups import FailedGroups
from lithify.errors import CorruptTable, LithifyError, MissingFile, StorageError, UnsupportedTable


@dataclass(frozen=True, slots=True)
class Group:
    path: str


A, B = Group("a"), Group("b")
CORRUPT, MISSING = CorruptTable("t/a/1.parquet", "it is torn"), MissingFile("t/a/2.parquet")
UNSUPPORTED = UnsupportedTable("t", ("column v: no such type",))


def failed(*errors: tuple[Group, LithifyError], has_moved_on: bool = False) -> FailedGroups[Group]:
    found: FailedGroups[Group] = FailedGroups(
        "db.t", lambda group: f"files of {group.path}", lambda *_: has_moved_on
    )
    for group, error in errors:
        with found.isolate(group):
            raise error
    return found


@pytest.mark.parametrize(
    ("error", "is_corrupt"),
    [
        pytest.param(CORRUPT, True, id="a file contradicts the metadata"),
        pytest.param(MISSING, True, id="a file is lost"),
        pytest.param(UNSUPPORTED, False, id="a file that this release cannot rewrite"),
    ],
)
def test_an_error_about_its_files_blocks_the_group(error: LithifyError, is_corrupt: bool) -> None:
    ((block,), conflicts) = failed((A, error)).sorted_out()
    assert (block.group, block.error, conflicts) == (A, error, {})
    assert (block.told.is_corrupt, block.told.fingerprint) == (is_corrupt, "files of a")


def test_blocked_groups_come_in_the_order_of_their_paths() -> None:
    blocks, _ = failed((B, CORRUPT), (A, CORRUPT)).sorted_out()
    assert [block.group for block in blocks] == [A, B]


def test_an_error_that_concerns_more_than_a_group_ends_the_run() -> None:
    with pytest.raises(StorageError):
        failed((A, StorageError("t", "it is full")))


def test_a_group_that_others_have_compacted_meanwhile_is_in_conflict() -> None:
    blocks, conflicts = failed((A, MISSING), (B, CORRUPT), has_moved_on=True).sorted_out()
    assert ([block.group for block in blocks], conflicts.keys()) == ([B], {A})


@pytest.mark.parametrize("errors", [[CORRUPT, MISSING], [MISSING, CORRUPT]], ids=["first", "last"])
def test_a_missing_file_is_told_rather_than_a_torn_one(errors: list[LithifyError]) -> None:
    assert failed(*((A, error) for error in errors)).errors == {A: MISSING}


def test_the_first_of_several_torn_files_is_told() -> None:
    assert failed((A, CORRUPT), (A, UNSUPPORTED)).errors == {A: CORRUPT}
