"""Files and trees for the tests of planning: built by hand, or at random around the planners' edges.

The random ones are made from a `Random`, so that hypothesis can shrink them and a seed can replay thousands.
They are small and aim at what planners may get wrong: narrow key spaces with touching and equal bounds, equal
sizes and sequences, sizes at the small-file limit, crumbs above heavy levels, unknown delete counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st

from lithify.columns.order import decode_key, encode_key
from lithify.columns.order_key import OrderKey
from lithify.engine.pack.figures import FileFigures
from lithify.formats.paimon.model import Bucket, BucketId, DataFile
from lithify.formats.paimon.planning.merge_tree.levels import build_levels
from lithify.formats.paimon.planning.merge_tree.policy import MergeTreeOptions
from lithify.formats.paimon.planning.universal.levels import Levels
from lithify.formats.paimon.planning.universal.policy import EarlyFull, OffPeak, PickingRule
from support.properties import examples

T = TypeVar("T")

SMALL_FILE = 700
"""Files below this are small under the policies of these tests."""

MIDNIGHT = datetime(2026, 3, 1, tzinfo=UTC)
MIDNIGHT_MILLIS = 1_772_323_200_000
HOUR_MILLIS = 3_600_000

repeatable = settings(derandomize=True, deadline=None, max_examples=examples(60))
"""Every run of a property tries the same examples."""


def key(number: int) -> OrderKey:
    return encode_key((number,))


def key_number(order_key: OrderKey) -> int:
    (number,) = decode_key(order_key, [int])
    assert isinstance(number, int)
    return number


def file(
    name: str,
    keys: tuple[int, int] = (0, 9),
    *,
    level: int = 0,
    size: int = 100,
    sequences: tuple[int, int] = (0, 0),
    created: int = MIDNIGHT_MILLIS,
    deletes: int | None = 0,
) -> DataFile:
    return DataFile(
        name=name,
        size=size,
        rows=10,
        level=level,
        min_key=key(keys[0]),
        max_key=key(keys[1]),
        min_sequence=sequences[0],
        max_sequence=sequences[1],
        created_millis=created,
        delete_rows=deletes,
    )


def stack(*runs: tuple[int, int], **changes: Any) -> tuple[DataFile, ...]:
    """A file for each run, given newest first as (level, size); all of them have the same keys."""
    return tuple(
        file(f"L{level}-{age}", level=level, size=size, sequences=(0, len(runs) - age), **changes)
        for age, (level, size) in enumerate(runs)
    )


def levels_of(*runs: tuple[int, int], num_levels: int = 6) -> Levels:
    return build_levels(stack(*runs), num_levels)


def bucket_of(files: Iterable[DataFile]) -> Bucket:
    return Bucket(BucketId(b"", 3, "dt=1/bucket-3"), tuple(files), 4)


def names(files: Iterable[FileFigures]) -> list[str]:
    return [file.name for file in files]


def trees() -> st.SearchStrategy[tuple[DataFile, ...]]:
    """The files of a bucket, at least one, in any order."""
    return _random(random_files)


def policies() -> st.SearchStrategy[MergeTreeOptions]:
    """Policies under any of the rules."""
    return _random(lambda rng: random_policy(rng, rng.choice(list(PickingRule))))


def moments() -> st.SearchStrategy[datetime]:
    return _random(random_moment)


def random_moment(rng: Random) -> datetime:
    """A full hour of one day."""
    return MIDNIGHT + timedelta(hours=rng.randrange(24))


def random_files(rng: Random) -> tuple[DataFile, ...]:
    """The files of a bucket, at least one, in any order."""
    space = rng.choice((range(-2, 3), range(-12, 13), range(-500, 500)))
    sizes = rng.choice(_SIZES)
    last_sequences = rng.choice(((7, 7), (2, 5), (2, 10**6)))
    level0 = rng.choice((0, 1, 2, 4, 9))
    ranges = {0: [_any_range(rng, space) for _ in range(level0)]}
    for level in rng.sample(range(1, 6), rng.randint(0 if level0 else 1, 3)):
        ranges[level] = _disjoint_ranges(rng, space, rng.randint(1, 4))
    files = [
        file(
            f"L{level}-{number}",
            keys,
            level=level,
            size=rng.randint(*sizes[level > 0]),
            sequences=(rng.randint(0, 2), rng.randint(*last_sequences)),
            created=MIDNIGHT_MILLIS - rng.randint(0, 2),
            deletes=rng.choice((0, 0, 3, None)),
        )
        for level, of_level in ranges.items()
        for number, keys in enumerate(of_level)
    ]
    rng.shuffle(files)
    return tuple(files)


def random_ladder(rng: Random, policy: MergeTreeOptions) -> tuple[DataFile, ...]:
    """One file a run, each about as large as the triggers compare it with."""
    level0 = rng.randint(0, 6)
    levels = [0] * level0 + sorted(rng.sample(range(1, 6), rng.randint(0 if level0 else 1, 4)))
    sizes = [rng.choice((1, 100, 2**33 + 1))]
    for remaining in reversed(range(len(levels) - 1)):
        newer = sum(sizes)
        limits = [1, newer * (100 + policy.size_ratio) // 100]
        if not remaining:
            limits.append(newer * 100 // max(1, policy.size_amplification_percent))
        sizes.append(max(1, rng.choice(limits) + rng.randint(-1, 1)))
    return stack(*zip(levels, sizes, strict=True), created=MIDNIGHT_MILLIS - rng.randint(0, 2))


def random_policy(rng: Random, rule: PickingRule = PickingRule.V1_4) -> MergeTreeOptions:
    """A policy whose early-full conditions are mostly off, so that the later triggers get their turn."""
    return MergeTreeOptions(
        num_levels=rng.choice((2, 3, 4, 6)),
        run_trigger=rng.choice((1, 2, 3, 5, 8)),
        size_amplification_percent=rng.choice((0, 25, 200, 10_000)),
        size_ratio=rng.choice((0, 1, 20, 100)),
        early_full=EarlyFull(
            interval_millis=_seldom(rng, rng.choice((0, 12 * HOUR_MILLIS + 1))),
            total_size=_seldom(rng, rng.choice((10, 1000, 10**6))),
            incremental_size=_seldom(rng, rng.choice((0, 10, 1000, 10**6))),
        ),
        off_peak=rng.choice((None, OffPeak(rng.randrange(24), rng.randrange(25), rng.choice((50, 1000))))),
        force_level0=rng.choice((False, True)),
        force_rewrite=rng.choice((False, False, True)),
        small_file_size=SMALL_FILE,
        rule=rule,
    )


_SIZES = (
    ((100, 100), (100, 100)),
    ((1, 10), (1, 10)),
    ((SMALL_FILE - 1, SMALL_FILE + 1), (SMALL_FILE - 1, SMALL_FILE + 1)),
    ((1, 10), (10**6, 10**6)),
    ((1, 100), (200, 20_000)),
    ((1, 2**40), (1, 2**40)),
)
"""Smallest and largest size of a file in level 0, and in the levels above."""


def _random(make: Callable[[Random], T]) -> st.SearchStrategy[T]:
    return st.randoms(use_true_random=False).map(make)


def _seldom(rng: Random, value: int) -> int | None:
    return value if rng.randrange(8) == 0 else None


def _any_range(rng: Random, space: range) -> tuple[int, int]:
    """First and last key, which may be one and the same; often from the very first key on."""
    first, last = sorted((rng.choice(space), rng.choice(space)))
    return (space[0], last) if rng.randrange(4) == 0 else (first, last)


def _disjoint_ranges(rng: Random, space: range, count: int) -> list[tuple[int, int]]:
    """Ranges in key order that may touch (end at 4, begin at 5) and never overlap."""
    starts = sorted(rng.sample(space, count))
    return [
        (start, rng.choice((start, following - 1, rng.randint(start, following - 1))))
        for start, following in zip(starts, [*starts[1:], space.stop], strict=True)
    ]
