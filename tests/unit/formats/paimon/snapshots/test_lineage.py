"""Which snapshots of ours are no part of a history: what stands beside them tells, where that is certain."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lithify.formats.paimon.snapshots.lineage import Surroundings
from support.cases import case

OURS = 5
"""Its base, 4, is never in its place here: either nothing is, or another snapshot."""

SURROUNDINGS: list[tuple[Sequence[int], int | None, bool, bool]] = [
    case([5], 4, False, False, id="the base expired, ours is the newest"),
    case([5], 5, False, False, id="it expired after the hint had moved"),
    case([5], None, False, False, id="it expired and there is no hint"),
    case([5, 6, 7], 7, True, False, id="it expired and others built on ours"),
    case([5, 6, 7], 4, True, False, id="they did, and the hint is behind"),
    case([1, 5], 1, False, True, id="rolled back to 1"),
    case([1, 2, 5], 2, False, True, id="rolled back to 1, and 2 was appended"),
    case([1, 2, 3, 4, 5], 4, False, True, id="others caught up with the base"),
    case([1, 2, 3, 4, 5], 5, False, True, id="they did, and the hint is at ours"),
    case([1, 2, 3, 4, 5], None, False, True, id="they did, and there is no hint"),
    case([1, 2, 3, 4, 5, 6], 6, True, False, id="they did, and built on ours: too late"),
    case([5, 60, 61], 61, False, True, id="expired far beyond ours"),
    case([5, 6, 7], 7, False, True, id="expired up to ours, which came late"),
    case([2, 5], 4, False, False, id="2 could not be deleted by an expiry, the hint is expired"),
    case([2, 5], 5, False, False, id="2 could not be deleted, the hint is at ours"),
    case([2, 5], None, False, False, id="2 could not be deleted, and there is no hint"),
    case([5, 9], 4, False, False, id="another stray stands beyond ours, the hint is expired"),
    case([5, 9], 5, False, False, id="another stray stands beyond ours"),
    case([5, 6], 5, False, False, id="another stray stands right beyond ours"),
]


@pytest.mark.parametrize(("numbers", "hint", "is_built_on", "is_stray"), SURROUNDINGS)
def test_what_stands_beside_it_tells(
    numbers: Sequence[int], hint: int | None, is_built_on: bool, is_stray: bool
) -> None:
    assert Surroundings(OURS, frozenset(numbers), hint, is_built_on).is_stray == is_stray


def newest(numbers: set[int], hint: int | None) -> int | None:
    """What Java takes for the newest snapshot (`HintFileUtils.findLatest`), in its place or not."""
    if hint is not None and hint > 0 and hint + 1 not in numbers:
        return hint
    return max(numbers, default=None)


@given(
    numbers=st.sets(st.integers(1, 12)).map(lambda numbers: numbers | {OURS}),
    hint=st.none() | st.integers(0, 12),
    is_built_on=st.booleans(),
)
def test_a_table_keeps_a_newest_snapshot(numbers: set[int], hint: int | None, is_built_on: bool) -> None:
    assume(newest(numbers, hint) in numbers)
    if Surroundings(OURS, frozenset(numbers), hint, is_built_on).is_stray:
        # `Snapshots.remove` deletes a hint to what it removes.
        assert newest(numbers - {OURS}, None if hint == OURS else hint) in numbers - {OURS}
