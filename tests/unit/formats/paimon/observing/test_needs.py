"""What an observation says of a table's snapshots: whether they may expire, and when that changes."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from lithify.clock import earliest
from lithify.formats.paimon.observing.needs import FoundNeed, expiry_need, needs_by_options
from lithify.formats.protocol.maintenance import MaintenanceKind
from lithify.formats.protocol.observation import KeptSnapshots
from support.cases import case

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
HOUR, SECOND = timedelta(hours=1), timedelta(seconds=1)
LIMITED = {"snapshot.num-retained.max": "20"}


def found(count: int, age: timedelta, options: Mapping[str, str] | None = None) -> FoundNeed:
    kept = KeptSnapshots(count, NOON - age, 0, writers_expire=False)
    return expiry_need(kept, options or {}, NOON, is_asked=True)


@pytest.mark.parametrize(
    ("count", "age", "options", "detail"),
    [
        case(11, HOUR, {}, "snapshot.time-retained is 1 h", id="one is as old as it may be"),
        case(21, SECOND, LIMITED, "snapshot.num-retained.max is 20", id="one more than there may be"),
        case(3, HOUR, {"snapshot.num-retained.min": "2"}, "3 snapshots are kept", id="the table keeps fewer"),
        case(11, 2 * SECOND, {"snapshot.time-retained": "1 s"}, "is 1 s", id="the table keeps them shorter"),
    ],
)
def test_snapshots_may_expire(count: int, age: timedelta, options: Mapping[str, str], detail: str) -> None:
    (need,) = found(count, age, options).needs
    assert (need.kind, need.is_asked) == (MaintenanceKind.EXPIRE_SNAPSHOTS, True)
    assert detail in need.detail


@pytest.mark.parametrize(
    ("count", "age", "options", "changes"),
    [
        case(10, 9 * HOUR, {}, None, id="so many are always kept"),
        case(11, HOUR - SECOND, {}, NOON + SECOND, id="none is old enough yet"),
        case(20, SECOND, LIMITED, NOON + HOUR - SECOND, id="there may be so many"),
        case(99, 9 * HOUR, {"snapshot.num-retained.max": "lots"}, None, id="an option that cannot be read"),
    ],
)
def test_no_snapshot_may_expire(
    count: int, age: timedelta, options: Mapping[str, str], changes: datetime | None
) -> None:
    assert found(count, age, options) == FoundNeed((), changes)


def test_table_without_snapshots_needs_nothing() -> None:
    kept = KeptSnapshots(0, None, 0, writers_expire=False)
    assert expiry_need(kept, {}, NOON, is_asked=True) == FoundNeed()


def test_the_earliest_time() -> None:
    assert earliest(None, NOON + SECOND, NOON) == NOON
    assert earliest(None, None) is None


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        case({}, [], id="none"),
        case({"partition.expiration-time": "7 d"}, ["ExpirePartitions"], id="partitions"),
        case({"tag.automatic-creation": "process-time"}, ["ManageTags"], id="tags"),
        case({"tag.automatic-creation": "NONE"}, [], id="no tags"),
        case(
            {"partition.expiration-time": "lots"}, ["ExpirePartitions"], id="a value that the run will refuse"
        ),
    ],
)
def test_options_that_ask_for_maintenance(options: Mapping[str, str], expected: list[str]) -> None:
    found = [*needs_by_options(options, is_asked=False)]
    assert [each.kind.value for each in found] == expected
    assert not any(each.is_asked for each in found)
