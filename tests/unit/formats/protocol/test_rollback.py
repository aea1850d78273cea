"""What people read about commits that a rollback undoes, and when they have to agree."""

from __future__ import annotations

import pytest

from lithify.errors import CommitsWouldBeLost, InvalidOption
from lithify.formats.protocol.maintenance import MOST_SAMPLES, MaintenanceSettings
from lithify.formats.protocol.model import SnapshotId
from lithify.formats.protocol.rollback import UndoneCommit, check_losses, shown, target_of

COMPACTION = UndoneCommit(SnapshotId("9"), "COMPACT", is_compaction=True, millis=0, records=0)
SETTINGS = MaintenanceSettings(snapshot=SnapshotId("1"))
LOSING = MaintenanceSettings(snapshot=SnapshotId("1"), loses_commits=True)


def append(number: int) -> UndoneCommit:
    return UndoneCommit(SnapshotId(str(number)), "APPEND", records=3000)


@pytest.mark.parametrize(
    ("commit", "said"),
    [
        (COMPACTION, "snapshot 9 (COMPACT, 1970-01-01 00:00:00 UTC, +0 records)"),
        (append(3), "snapshot 3 (APPEND, +3,000 records)"),
        (UndoneCommit(SnapshotId("3"), "delete", records=-5), "snapshot 3 (delete, -5 records)"),
        (
            UndoneCommit(SnapshotId("3"), "COMPACT", changelog=7),
            "snapshot 3 (COMPACT, a changelog of 7 records)",
        ),
        (UndoneCommit(SnapshotId("3")), "snapshot 3 (unreadable)"),
    ],
)
def test_commit_is_said_in_a_line(commit: UndoneCommit, said: str) -> None:
    assert str(commit) == said


def test_what_writers_have_written_steers_no_terminal() -> None:
    commit = UndoneCommit(SnapshotId("3"), "AP\x1b[2JPEND" + "x" * 1000)
    (line, other) = shown([commit], "tag \x1b]0;\n" + "y" * 1000)
    assert line.isprintable()
    assert other.isprintable()
    assert max(map(len, (str(commit), line, other))) <= 310


def test_losses_are_shown_first_and_bounded() -> None:
    lines = shown([COMPACTION, append(3), COMPACTION], "a tag")
    assert [line.split(" (")[0] for line in lines] == ["snapshot 3", "snapshot 9", "snapshot 9", "a tag"]
    assert len(shown([append(number) for number in range(2 * MOST_SAMPLES)])) == MOST_SAMPLES


def test_only_losses_need_permission() -> None:
    check_losses("db.t", [COMPACTION], SETTINGS)
    check_losses("db.t", [COMPACTION, append(3)], LOSING)
    with pytest.raises(CommitsWouldBeLost, match="snapshot 3"):
        check_losses("db.t", [COMPACTION, append(3)], SETTINGS)


def test_error_names_a_few_and_counts_the_others() -> None:
    with pytest.raises(CommitsWouldBeLost, match=r"snapshot 4 \(APPEND, \+3,000 records\) and 15 more"):
        check_losses("db.t", [append(number) for number in range(20)], SETTINGS)


def test_rollback_without_a_target_is_refused() -> None:
    assert target_of(SETTINGS) == "1"
    with pytest.raises(InvalidOption, match="snapshot"):
        target_of(MaintenanceSettings())
