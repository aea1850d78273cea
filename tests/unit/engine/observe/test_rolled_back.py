"""A run was rolled back if the history goes on from its base without its snapshot; else nothing is known."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

import pytest

from lithify.engine.observe.rolled_back import History, rolled_back
from lithify.formats.protocol.model import SnapshotId
from lithify.formats.protocol.observing import CommittedRun
from support.cases import case

ENDED = datetime(2026, 11, 27, tzinfo=UTC)


def run(base: str, snapshot: str) -> CommittedRun:
    return CommittedRun(SnapshotId(base), SnapshotId(snapshot), ENDED)


def history(snapshots: Iterable[str], seconds: float = 1) -> History:
    """A history whose metadata were changed so many seconds after the runs had ended."""
    return History(frozenset(map(SnapshotId, snapshots)), ENDED + timedelta(seconds=seconds))


@pytest.mark.parametrize(
    ("snapshots", "expected"),
    [
        case("c a", (), id="its snapshot is the newest"),
        case("w c a", (), id="others were built on it"),
        case("w a", ("c",), id="a writer's has its place"),
        case("a", ("c",), id="the table went back to its base"),
        case("w v a", ("c",), id="the writer has committed on since"),
        case("c v a", (), id="a writer committed between base and snapshot"),
        case("w v", (), id="both have expired"),
        case("w c", (), id="its base has expired"),
        case("", (), id="the table has no snapshot"),
    ],
)
def test_runs_are_rolled_back_if_only_their_base_is_left(snapshots: str, expected: tuple[str, ...]) -> None:
    assert rolled_back([run("a", "c")], history(snapshots.split())) == expected


@pytest.mark.parametrize("seconds", [-1, 0])
def test_metadata_from_before_the_end_of_a_run_say_nothing(seconds: float) -> None:
    assert rolled_back([run("a", "c")], history("wa", seconds)) == ()


def test_a_table_whose_compactions_give_way_to_nobody_says_nothing() -> None:
    assert rolled_back([run("a", "c")], None) == ()


def test_each_run_is_judged_by_itself() -> None:
    runs = [run("a", "b"), run("b", "c"), run("c", "d"), run("x", "y")]
    assert rolled_back(runs, history("wba")) == ("c",)
    assert rolled_back(runs[:2], history("wa")) == ("b",), "the base of the other was removed, too"
