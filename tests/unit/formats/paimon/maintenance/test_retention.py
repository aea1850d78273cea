"""Which snapshots may expire, as tables: numbers, ages, limits, consumers, and the floor for readers."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from lithify.formats.paimon.maintenance.retention import SnapshotTimes, expiry_end
from lithify.formats.paimon.options.retention_options import RetentionOptions

NOW = 1_000_000


def times(ages: Mapping[int, int], earliest: int | None = None) -> SnapshotTimes:
    """Snapshots by the milliseconds since their commits."""
    return SnapshotTimes(
        min(ages) if earliest is None else earliest,
        max(ages),
        {each: NOW - age for each, age in ages.items()},
    )


TEN = times({number: 1000 * (11 - number) for number in range(1, 11)})
"""Snapshots 1 to 10: the oldest of 10 seconds ago, the newest of one second ago."""


def end(
    snapshots: SnapshotTimes, options: RetentionOptions, floor: int = 0, consumer: int | None = None
) -> int:
    return expiry_end(snapshots, options, now_millis=NOW, floor_millis=floor, consumer=consumer)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param(RetentionOptions(least=1, millis=0), 10, id="all but the newest are old enough"),
        pytest.param(RetentionOptions(least=3, millis=0), 8, id="the newest three are always kept"),
        pytest.param(RetentionOptions(least=10, millis=0), 1, id="as few as are always kept"),
        pytest.param(RetentionOptions(least=99, millis=0), 1, id="fewer than are always kept"),
        pytest.param(RetentionOptions(least=1, millis=4500), 7, id="those older than an age go"),
        pytest.param(RetentionOptions(least=1, millis=5000), 6, id="one of exactly that age stays"),
        pytest.param(RetentionOptions(least=1, millis=60_000), 1, id="none is old enough"),
        pytest.param(
            RetentionOptions(least=1, most=4, millis=60_000), 7, id="above the number age is nothing"
        ),
        pytest.param(RetentionOptions(least=1, most=4, millis=2500), 9, id="above and below the number"),
        pytest.param(RetentionOptions(least=1, most=1, millis=60_000), 10, id="only one is kept"),
        pytest.param(RetentionOptions(least=1, most=1, millis=0, limit=3), 4, id="three at a time"),
        pytest.param(RetentionOptions(least=1, most=1, millis=0, limit=0), 1, id="none at a time"),
    ],
)
def test_numbers_and_ages(options: RetentionOptions, expected: int) -> None:
    assert end(TEN, options) == expected


@pytest.mark.parametrize(
    ("consumer", "expected"),
    [(5, 5), (1, 1), (0, 1), (11, 10)],
    ids=["in the middle", "at the oldest", "before the oldest", "after the newest"],
)
def test_consumer_keeps_what_it_has_still_to_read(consumer: int, expected: int) -> None:
    assert end(TEN, RetentionOptions(least=1, most=1), consumer=consumer) == expected


@pytest.mark.parametrize(
    ("floor", "expected"),
    [
        pytest.param(0, 10, id="no floor"),
        pytest.param(1000, 10, id="9 was replaced long enough ago"),
        pytest.param(1001, 9, id="9 was replaced too late"),
        pytest.param(5500, 5, id="5 was replaced after 5 s, by 6"),
        pytest.param(60_000, 1, id="all were replaced too late"),
    ],
)
def test_floor_counts_from_the_next_snapshot(floor: int, expected: int) -> None:
    """Else the snapshot that an idle table had for a week would go a moment after the next commit."""
    assert end(TEN, RetentionOptions(least=1, most=1), floor) == expected


def test_snapshot_of_an_idle_week_stays_after_the_next_commit() -> None:
    idle = times({1: 7 * 86_400_000, 2: 5})
    assert end(idle, RetentionOptions(least=1)) == 2
    assert end(idle, RetentionOptions(least=1), floor=600_000) == 1


@pytest.mark.parametrize(
    ("snapshots", "expected"),
    [
        pytest.param(times({1: 9000, 2: 500, 3: 9000, 4: 1}), 2, id="a clock was ahead: Java stops there"),
        pytest.param(times({1: 9000, 2: 8000, 4: 1}), 4, id="one is missing in between"),
        pytest.param(times({1: 9000, 2: 8000, 4: 500, 5: 1}), 4, id="one is missing, the next is too young"),
        pytest.param(times({1: 9000, 2: 8000, 3: 1}, earliest=2), 3, id="the hint names a later one"),
        pytest.param(times({7: 9000}), 7, id="one snapshot"),
    ],
)
def test_irregular_histories(snapshots: SnapshotTimes, expected: int) -> None:
    assert end(snapshots, RetentionOptions(least=1, millis=1000)) == expected


def test_end_is_an_existing_snapshot() -> None:
    gap = times({1: 9000, 2: 8000, 5: 7000, 6: 1})
    assert end(gap, RetentionOptions(least=1, most=1, limit=3)) == 2
