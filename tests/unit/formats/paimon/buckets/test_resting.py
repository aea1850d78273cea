"""What is said of a bucket by its statistics alone is what planning says of its files."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from random import Random
from zoneinfo import ZoneInfo

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from lithify.formats.paimon.buckets.resting import resting_reasons
from lithify.formats.paimon.buckets.statistics import bucket_statistics
from lithify.formats.paimon.model import Bucket, BucketId, DataFile
from lithify.formats.paimon.planning.merge_tree.levels import build_levels
from lithify.formats.paimon.planning.merge_tree.plan import LEFT_TO_WRITERS, plan_bucket
from lithify.formats.paimon.planning.merge_tree.policy import MergeTreeOptions
from lithify.formats.paimon.planning.universal.policy import EarlyFull
from lithify.formats.paimon.planning.work import Idle
from lithify.formats.protocol.strategy import Strategy
from support.cases import case
from support.live_files import files_of_one, live_files
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

ZONES = (UTC, timezone(timedelta(hours=5, minutes=30)), ZoneInfo("Europe/Berlin"))
POLICY = MergeTreeOptions(run_trigger=3, small_file_size=SMALL_FILE)
GENTLE = replace(POLICY, force_level0=True, level0_trigger=3, level0_millis=HOUR_MILLIS)


def random_bucket(rng: Random, number: int, policy: MergeTreeOptions) -> Bucket:
    files = random_ladder(rng, policy) if rng.random() < 0.5 else random_files(rng)
    moved = tuple(
        replace(each, created_millis=each.created_millis - rng.choice((0, 1, 43_200_000))) for each in files
    )
    return Bucket(BucketId(b"p", number, f"bucket-{number}"), moved, 4)


def runs_of(bucket: Bucket, policy: MergeTreeOptions) -> int:
    return len(build_levels(bucket.files, policy.num_levels).runs)


@pytest.mark.thorough
@pytest.mark.parametrize("strategy", Strategy)
@repeatable
@given(st.randoms(use_true_random=False))
def test_a_bucket_that_is_said_to_rest_rests_for_that_reason(strategy: Strategy, rng: Random) -> None:
    policy = replace(
        random_policy(rng),
        writers_compact=rng.random() < 0.3,
        level0_trigger=rng.choice((1, 3)),
        level0_millis=rng.choice((None, HOUR_MILLIS)),
    )
    zone = rng.choice(ZONES)
    now = (MIDNIGHT + timedelta(hours=rng.randrange(24), milliseconds=rng.choice((0, 1, 2)))).replace(
        tzinfo=zone
    )
    buckets = [random_bucket(rng, number, policy) for number in range(8)]
    statistics = bucket_statistics(live_files(buckets), policy.small_file_size)

    said = resting_reasons(statistics, policy, strategy, now).to_pylist()
    reasons = dict(zip(statistics["bucket"].to_pylist(), said, strict=True))

    for bucket in buckets:
        planned = plan_bucket(bucket, policy, strategy, now)
        reason = reasons[bucket.id.bucket]
        event(f"{strategy}: {type(planned).__name__}, said: {reason}")
        if reason is not None:
            assert isinstance(planned, Idle)
            assert planned.reason == reason
        elif strategy is Strategy.FULL or not (
            policy.writers_compact or runs_of(bucket, policy) == policy.run_trigger
        ):
            assert not isinstance(planned, Idle), "only as many runs as the trigger leave a doubt"


@pytest.mark.parametrize(
    ("files", "policy", "strategy", "reason"),
    [
        case(stack((0, 1), (5, 9)), POLICY, Strategy.MINOR, "no trigger fired", id="few runs"),
        case(stack((0, 1), (0, 1), (5, 9)), POLICY, Strategy.MINOR, None, id="as many runs as the trigger"),
        case(stack((5, 9)), replace(POLICY, run_trigger=1), Strategy.MINOR, "no trigger fired", id="one run"),
        case(
            stack((0, 1), (5, 9)),
            replace(POLICY, force_level0=True),
            Strategy.MINOR,
            None,
            id="forced level 0",
        ),
        case(
            stack((5, 9)),
            replace(POLICY, force_level0=True),
            Strategy.MINOR,
            "no trigger fired",
            id="no level 0 to force",
        ),
        case(
            stack((0, 1), (5, 9), created=MIDNIGHT_MILLIS - HOUR_MILLIS + 1),
            GENTLE,
            Strategy.MINOR,
            "no trigger fired",
            id="level 0 is young, and gently forced",
        ),
        case(
            stack((0, 1), (5, 9), created=MIDNIGHT_MILLIS - HOUR_MILLIS),
            GENTLE,
            Strategy.MINOR,
            None,
            id="level 0 is old",
        ),
        case(
            stack((0, 1), (4, 9)),
            replace(POLICY, early_full=EarlyFull(interval_millis=HOUR_MILLIS)),
            Strategy.MINOR,
            None,
            id="interval: the top level has never been written",
        ),
        case(
            stack((0, 1), (5, 9), created=MIDNIGHT_MILLIS - HOUR_MILLIS),
            replace(POLICY, early_full=EarlyFull(interval_millis=HOUR_MILLIS)),
            Strategy.MINOR,
            "no trigger fired",
            id="interval: it is just over",
        ),
        case(
            stack((0, 1), (5, 9), created=MIDNIGHT_MILLIS - HOUR_MILLIS - 1),
            replace(POLICY, early_full=EarlyFull(interval_millis=HOUR_MILLIS)),
            Strategy.MINOR,
            None,
            id="interval: it is over",
        ),
        case(
            stack((4, 9), (5, 9)),
            replace(POLICY, writers_compact=True),
            Strategy.FULL,
            LEFT_TO_WRITERS,
            id="left to writers",
        ),
        case(
            stack((0, 1), (5, 9)),
            replace(POLICY, writers_compact=True),
            Strategy.FULL,
            None,
            id="not left to writers",
        ),
        case(
            stack((5, 9)),
            POLICY,
            Strategy.FULL,
            "all files are in the top level already",
            id="all at the top",
        ),
        case(stack((4, 9)), POLICY, Strategy.FULL, None, id="below the top"),
        case(
            stack((7, 9)),
            POLICY,
            Strategy.FULL,
            "all files are in the top level already",
            id="more levels once",
        ),
        case(
            stack((5, 9)), replace(POLICY, force_rewrite=True), Strategy.FULL, None, id="rewriting is forced"
        ),
    ],
)
def test_what_is_said_of_a_bucket(
    files: tuple[DataFile, ...], policy: MergeTreeOptions, strategy: Strategy, reason: str | None
) -> None:
    statistics = bucket_statistics(files_of_one(files), policy.small_file_size)
    assert resting_reasons(statistics, policy, strategy, MIDNIGHT).to_pylist() == [reason]


def test_a_table_without_files() -> None:
    policy = replace(POLICY, early_full=EarlyFull(interval_millis=HOUR_MILLIS))
    statistics = bucket_statistics(files_of_one(()), SMALL_FILE)
    assert [list(resting_reasons(statistics, policy, each, MIDNIGHT)) for each in Strategy] == [[], []]


def test_the_hour_that_clocks_show_twice() -> None:
    """02:30 of that night is 00:30 and 01:30 in UTC; as in planning, the first counts."""
    zone = ZoneInfo("Europe/Berlin")
    shown = datetime(2026, 10, 25, 2, 30, tzinfo=UTC)
    policy = replace(POLICY, early_full=EarlyFull(interval_millis=HOUR_MILLIS))
    statistics = bucket_statistics(
        files_of_one(stack((0, 1), (5, 9), created=int(shown.timestamp()) * 1000)), 1
    )
    for minutes, reason in ((60, "no trigger fired"), (61, None)):
        now = (datetime(2026, 10, 25, 0, 30, tzinfo=UTC) + timedelta(minutes=minutes)).astimezone(zone)
        assert resting_reasons(statistics, policy, Strategy.MINOR, now).to_pylist() == [reason]


def test_statistics_of_a_bucket() -> None:
    files = [
        *stack((0, 100), (0, 120), created=MIDNIGHT_MILLIS + 5),
        file("m-0", (0, 9), level=3, size=SMALL_FILE - 1, deletes=4),
        file("m-1", (10, 19), level=3, size=SMALL_FILE, created=MIDNIGHT_MILLIS + 1),
    ]
    (found,) = bucket_statistics(files_of_one(files), SMALL_FILE).to_pylist()
    assert found == {
        "partition": b"",
        "bucket": 3,
        "files": 4,
        "bytes": 219 + 2 * SMALL_FILE,
        "rows": 40,
        "delete_rows": 4,
        "vector_files": 0,
        "deleted_rows": 0,
        "small_files": 3,
        "level0_files": 2,
        "sorted_runs": 3,
        "created_millis": MIDNIGHT_MILLIS + 5,
        "level0_created_millis": MIDNIGHT_MILLIS + 5,
        "highest_level": 3,
        "highest_bytes": 2 * SMALL_FILE - 1,
        "highest_created_millis": MIDNIGHT_MILLIS + 1,
        "earliest": None,
    }


def test_deletes_that_a_writer_did_not_count_are_unknown() -> None:
    files = files_of_one([file("a", deletes=3), file("b", (10, 19), deletes=None)])
    assert bucket_statistics(files, SMALL_FILE)["delete_rows"].to_pylist() == [None]
