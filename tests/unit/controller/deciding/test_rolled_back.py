"""Which runs are asked for, and which of them an observation found rolled back."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lithify.controller.deciding.rolled_back import MOST_ASKED, committed_runs, is_rolled_back
from lithify.formats.protocol.model import SnapshotId
from lithify.formats.protocol.observing import CommittedRun
from lithify.resources.compaction import SUCCEEDED, Compaction, Reason
from lithify.resources.objects import Condition
from support.cases import case
from support.deciding.situations import NOON, QUIET
from support.running.runs import run_of


def run(number: int = 1, reason: Reason = Reason.COMPACTED, **status: object) -> Compaction:
    """A run that ended so many minutes after noon, on snapshot 0."""
    made, when = run_of(f"orders-{number}", f"uid-{number}"), NOON + timedelta(minutes=number)
    said = Condition(type=SUCCEEDED, status=reason.status, reason=reason.value, last_transition_time=when)
    fields = {
        "base_snapshot_id": "0",
        "committed_snapshot_id": str(number),
        "completion_time": when,
        **status,
    }
    return replace(made, status=replace(made.status, conditions=(said,), **fields))


@pytest.mark.parametrize(
    ("known", "is_asked"),
    [
        case(run(), True, id="compacted"),
        case(run(reason=Reason.ROLLED_BACK), False, id="rolled back already"),
        case(run(reason=Reason.COMMIT_CONFLICT), False, id="failed"),
        case(run(reason=Reason.RUNNING), False, id="unfinished"),
        case(run(base_snapshot_id=None), False, id="without a base"),
        case(run(committed_snapshot_id=None), False, id="without a snapshot"),
        case(run(completion_time=None), False, id="without the time of its end"),
    ],
)
def test_compacted_runs_are_asked_for(known: Compaction, is_asked: bool) -> None:
    asked = CommittedRun(SnapshotId("0"), SnapshotId("1"), NOON + timedelta(minutes=1))
    assert committed_runs([known]) == ((asked,) if is_asked else ())


def test_only_the_newest_are_asked_for() -> None:
    asked = committed_runs(run(number) for number in range(1, MOST_ASKED + 9))
    assert [int(each.snapshot) for each in asked] == list(range(MOST_ASKED + 8, 8, -1))


@pytest.mark.parametrize(
    ("known", "snapshots", "expected"),
    [
        case(run(), ("1",), True, id="named"),
        case(run(), ("2",), False, id="another was"),
        case(run(), (), False, id="none was"),
        case(run(), None, False, id="not observed yet"),
        case(run(reason=Reason.ROLLED_BACK), ("1",), False, id="known already"),
    ],
)
def test_observations_name_runs_by_their_snapshots(
    known: Compaction, snapshots: tuple[str, ...] | None, expected: bool
) -> None:
    seen = None if snapshots is None else replace(QUIET, rolled_back=tuple(map(SnapshotId, snapshots)))
    assert is_rolled_back(known, seen) == expected
