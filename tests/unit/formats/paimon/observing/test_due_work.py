"""What is said of the buckets of a frame is what planning says of each, and for how long that holds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.clock import epoch_millis
from lithify.columns.order_key import OrderKey
from lithify.errors import CorruptTable
from lithify.files.types import ColumnType
from lithify.formats.paimon.model import Bucket, DataFile
from lithify.formats.paimon.observing.due_work import Judge
from lithify.formats.paimon.observing.expiring import by_the_hour
from lithify.formats.paimon.planning.merge_tree.levels import build_levels
from lithify.formats.paimon.planning.merge_tree.plan import Unit, plan_bucket
from lithify.formats.paimon.planning.merge_tree.policy import MergeTreeOptions
from lithify.formats.paimon.planning.universal.policy import EarlyFull, OffPeak
from lithify.formats.paimon.planning.universal.triggers import last_full_compaction, level0_fires
from lithify.formats.paimon.rows.binary_row import encode_row, order_key
from lithify.formats.paimon.rows.key_columns import order_keys
from lithify.formats.paimon.schema.type_texts import parse_type
from lithify.formats.protocol.model import fingerprint_of
from lithify.formats.protocol.strategy import Strategy
from support.cases import case
from support.live_files import live_files, path_of
from support.merge_trees import (
    HOUR_MILLIS,
    MIDNIGHT,
    MIDNIGHT_MILLIS,
    SMALL_FILE,
    file,
    random_files,
    random_ladder,
    random_policy,
    repeatable,
    stack,
)

DOUBLE, INT = parse_type("DOUBLE NOT NULL"), parse_type("INT NOT NULL")
ZONES = (UTC, ZoneInfo("Europe/Berlin"), ZoneInfo("Asia/Kolkata"))


def judge(policy: MergeTreeOptions, now: datetime) -> Judge:
    return Judge(policy, now, pa.Array.to_pylist, path_of, "db.t")


def random_table(rng: Random, policy: MergeTreeOptions) -> list[Bucket]:
    return [
        Bucket(path_of(f"dt={number % 3}".encode(), number), random_bucket(rng, policy), 0)
        for number in range(rng.randint(1, 9))
    ]


def random_bucket(rng: Random, policy: MergeTreeOptions) -> tuple[DataFile, ...]:
    files = random_ladder(rng, policy) if rng.random() < 0.5 else random_files(rng)
    ages = (0, 1, HOUR_MILLIS, 30 * HOUR_MILLIS)
    times = (None, 0, MIDNIGHT_MILLIS // 1000 - rng.randrange(200_000), 1 << 60)
    return tuple(
        replace(each, created_millis=each.created_millis - rng.choice(ages), earliest=rng.choice(times))
        for each in files
    )


def random_timed_policy(rng: Random) -> MergeTreeOptions:
    """A policy under which time matters more often than under others."""
    policy = random_policy(rng)
    interval = rng.choice((None, 0, HOUR_MILLIS, 30 * HOUR_MILLIS))
    early_full = replace(policy.early_full, interval_millis=interval)
    return replace(
        policy,
        early_full=early_full,
        expire_seconds=rng.choice((None, 0, 3600, 100_000)),
        level0_trigger=rng.choice((1, 1, 4)),
        level0_millis=rng.choice((None, HOUR_MILLIS)),
    )


@pytest.mark.thorough
@repeatable
@given(st.randoms(use_true_random=False))
def test_each_bucket_is_judged_as_planning_does(rng: Random) -> None:
    policy = random_timed_policy(rng)
    now = (MIDNIGHT + timedelta(minutes=rng.randrange(1440))).replace(tzinfo=rng.choice(ZONES))
    buckets = random_table(rng, policy)

    figures = judge(policy, now).figures(live_files(buckets))

    assert len(figures) == len(buckets)
    for found in figures.to_pylist():
        bucket = next(each for each in buckets if each.id.path == found["path"])
        assert {name: found[name] for name in planned(bucket, policy, now)} == planned(bucket, policy, now)
        assert (found["problem"], found["fingerprint"]) == (None, None)


def planned(bucket: Bucket, policy: MergeTreeOptions, now: datetime) -> dict[str, Any]:
    """The figures that follow from plans of the bucket's objects."""
    expiring = by_the_hour(policy, now)
    minor = plan_bucket(bucket, expiring, Strategy.MINOR, now)
    full = plan_bucket(bucket, expiring, Strategy.FULL, now)
    levels = build_levels(bucket.files, policy.num_levels)
    is_due = isinstance(minor, Unit) and bool(minor.inputs)
    interval, last = policy.early_full.interval_millis, last_full_compaction(levels, now)
    is_waiting = not isinstance(minor, Unit) and interval is not None and last is not None
    waits = [(last or 0) + (interval or 0) + 1] if is_waiting and len(levels.runs) > 1 else []
    age = level0_fires(levels, policy, now) if policy.force_level0 and not isinstance(minor, Unit) else None
    waits += [age] if age is not None and age > epoch_millis(now) else []
    return {
        "trigger": minor.trigger if isinstance(minor, Unit) and is_due else None,
        "full_bytes": full.read_bytes if isinstance(full, Unit) and full.inputs else None,
        "next_trigger": min(waits, default=None),
        "sorted_runs": len(levels.runs),
        "bytes": bucket.size,
        "files": len(bucket.files),
    }


@pytest.mark.thorough
@repeatable
@given(st.randoms(use_true_random=False))
def test_figures_hold_until_they_say(rng: Random) -> None:
    """Judged later, a bucket has the same figures, unless the time has come at which it was to be judged."""
    policy = random_timed_policy(rng)
    now = (MIDNIGHT + timedelta(minutes=rng.randrange(1440))).replace(tzinfo=rng.choice(ZONES))
    later = now + timedelta(minutes=rng.choice((0, 1, 59, 60, 600, 3000)))
    files = live_files(random_table(rng, policy))
    before, after = (judge(policy, moment).figures(files) for moment in (now, later))
    millis = epoch_millis(later)

    judged = zip(before.to_pylist(), after.to_pylist(), strict=True)
    same = [pair for pair in judged if pair[0]["valid_until"] is None or pair[0]["valid_until"] > millis]
    for was, found in same:
        assert {**was, "valid_until": found["valid_until"]} == found


@pytest.mark.parametrize(
    ("policy", "runs", "hours", "changes"),
    [
        case(MergeTreeOptions(), ((0, 1), (5, 9)), 0, None, id="time does not matter"),
        case(
            MergeTreeOptions(early_full=EarlyFull(interval_millis=HOUR_MILLIS)),
            ((0, 1), (5, 9)),
            0,
            MIDNIGHT_MILLIS + HOUR_MILLIS + 1,
            id="an interval",
        ),
        case(
            MergeTreeOptions(
                early_full=EarlyFull(interval_millis=HOUR_MILLIS), run_trigger=2, size_ratio=2000
            ),
            ((0, 1), (5, 9)),
            0,
            MIDNIGHT_MILLIS + HOUR_MILLIS + 1,
            id="an interval of a bucket that is due for another reason",
        ),
        case(
            MergeTreeOptions(early_full=EarlyFull(interval_millis=HOUR_MILLIS)),
            ((0, 1), (5, 9)),
            2,
            None,
            id="an interval that is over",
        ),
        case(
            MergeTreeOptions(off_peak=OffPeak(3, 6, 50), run_trigger=2),
            ((0, 1), (5, 9)),
            1,
            MIDNIGHT_MILLIS + 3 * HOUR_MILLIS,
            id="off-peak hours",
        ),
        case(
            MergeTreeOptions(off_peak=OffPeak(3, 6, 50)),
            ((0, 1), (5, 9)),
            1,
            None,
            id="off-peak, but few runs",
        ),
        case(
            MergeTreeOptions(off_peak=OffPeak(3, 6, 50), force_level0=True),
            ((0, 1), (5, 9)),
            4,
            MIDNIGHT_MILLIS + 6 * HOUR_MILLIS,
            id="off-peak, and level 0 is forced whatever the number of runs",
        ),
        case(
            MergeTreeOptions(force_level0=True, level0_trigger=3, level0_millis=HOUR_MILLIS),
            ((0, 1), (5, 9)),
            0,
            MIDNIGHT_MILLIS + HOUR_MILLIS,
            id="level 0 waits for more files, but not for ever",
        ),
        case(
            MergeTreeOptions(expire_seconds=60),
            ((5, 9),),
            0,
            MIDNIGHT_MILLIS + 3 * HOUR_MILLIS,
            id="rows expire, counted by the hour",
        ),
        case(MergeTreeOptions(expire_seconds=60), ((5, 9),), 3, None, id="rows that have expired"),
    ],
)
def test_when_a_bucket_has_to_be_judged_again(
    policy: MergeTreeOptions, runs: tuple[tuple[int, int], ...], hours: int, changes: int | None
) -> None:
    files = [replace(each, earliest=(MIDNIGHT_MILLIS + 2 * HOUR_MILLIS) // 1000) for each in stack(*runs)]
    bucket = Bucket(path_of(b"dt=a", 0), tuple(files), 0)
    figures = judge(policy, MIDNIGHT + timedelta(hours=hours)).figures(live_files([bucket]))
    assert figures["valid_until"].to_pylist() == [changes]


class TestBlocked:
    GOOD = Bucket(path_of(b"dt=a", 0), stack((0, 1), (0, 2), (5, 900)), 0)
    POLICY = MergeTreeOptions(small_file_size=SMALL_FILE)

    def blocked(self, *files: DataFile, columns: Mapping[str, ColumnType] | None = None) -> Any:
        """What is said of a bucket with these files, beside one that is as always.

        The key bounds are rows of these columns if there are some, else order keys.
        """
        bad = Bucket(path_of(b"dt=b", 1), files, 0)
        judging = judge(self.POLICY, MIDNIGHT)
        if columns:
            types = tuple(columns.values())
            one = partial(order_key, types=types, names=tuple(columns))
            judging = replace(judging, order_keys=partial(order_keys, types=types, one=one))
        good = [] if columns else [self.GOOD]
        *others, found = judging.figures(live_files([*good, bad])).sort_by("path").to_pylist()
        assert all(other["full_bytes"] == 3 + 900 for other in others)
        assert found["fingerprint"] == fingerprint_of((each.name, each.level) for each in files)
        assert (found["files"], found["bytes"]) == (len(files), sum(each.size for each in files))
        assert (found["trigger"], found["full_bytes"], found["next_trigger"]) == (None, None, None)
        return found

    def test_files_of_a_level_that_overlap(self) -> None:
        files = [file("m-0", (0, 9), level=3), file("m-1", (9, 19), level=3), file("new", (0, 1))]
        found = self.blocked(*files)
        with pytest.raises(CorruptTable) as raised:
            build_levels(files, 6)
        assert (found["problem"], found["is_corrupt"]) == (str(raised.value), True)

    @pytest.mark.parametrize(
        ("low", "high", "columns", "named", "is_corrupt"),
        [
            case([1.0], [math.nan], {"price": DOUBLE}, "column price", False, id="NaN"),
            case([1.0], [None], {"price": DOUBLE}, "column price", True, id="null"),
            case([1.0, 1], [2.0, None], {"price": DOUBLE, "id": INT}, "column id", True, id="second column"),
        ],
    )
    def test_key_bounds_without_a_place_in_the_order(
        self,
        low: list[Any],
        high: list[Any],
        columns: dict[str, ColumnType],
        named: str,
        is_corrupt: bool,
    ) -> None:
        types = list(columns.values())
        bounds = [OrderKey(encode_row(values, types)) for values in (low, high)]
        files = [
            replace(file("good"), min_key=bounds[0], max_key=bounds[0]),
            replace(file("bad"), min_key=bounds[0], max_key=bounds[1]),
        ]
        found = self.blocked(*files, columns=columns)
        assert found["problem"].startswith("bad: ")
        assert named in found["problem"]
        assert found["is_corrupt"] == is_corrupt

    def test_key_bounds_that_are_no_rows(self) -> None:
        garbage = OrderKey(b"\x00\x00\x00\x01\x00")
        found = self.blocked(replace(file("bad"), min_key=garbage), file("other"), columns={"id": INT})
        assert found["is_corrupt"]
        assert found["problem"].startswith("bad: ")
