"""Whether an observation says that an Iceberg table's snapshots may expire."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from lithify.formats.iceberg.observing.needs import expiry_needs
from lithify.formats.protocol.maintenance import MaintenanceKind
from lithify.formats.protocol.observation import KeptSnapshots
from support.cases import case

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def kept(count: int, age: timedelta, size: int = 0) -> KeptSnapshots:
    return KeptSnapshots(count, NOON - age, size, writers_expire=False, operator_expires=False)


@pytest.mark.parametrize(
    ("count", "age", "properties", "is_needed"),
    [
        case(2, 6 * DAY, {}, True, id="older than five days"),
        case(2, 4 * DAY, {}, False, id="not older"),
        case(1, 60 * DAY, {}, False, id="the only one"),
        case(
            2, 2 * DAY, {"history.expire.max-snapshot-age-ms": "86400000"}, True, id="the table keeps a day"
        ),
        case(9, 60 * DAY, {"history.expire.min-snapshots-to-keep": "9"}, False, id="the table keeps nine"),
        case(9, 60 * DAY, {"history.expire.min-snapshots-to-keep": "many"}, False, id="cannot be read"),
    ],
)
def test_snapshots_that_may_expire(
    count: int, age: timedelta, properties: Mapping[str, str], *, is_needed: bool
) -> None:
    found = expiry_needs(kept(count, age), properties, NOON)
    kinds = [(each.kind, each.is_asked) for each in found]
    assert kinds == ([(MaintenanceKind.EXPIRE_SNAPSHOTS, False)] if is_needed else [])


def test_bytes_that_older_snapshots_hold_are_told() -> None:
    (need,) = expiry_needs(kept(3, 6 * DAY, 5 << 20), {}, NOON)
    assert need.bytes == 5 << 20
    assert "5.0Mi" in need.detail


def test_table_without_snapshots_needs_nothing() -> None:
    empty = KeptSnapshots(0, None, 0, writers_expire=False)
    assert expiry_needs(empty, {}, NOON) == ()
