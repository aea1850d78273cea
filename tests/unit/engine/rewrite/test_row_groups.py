"""Which row groups are copied and which decoded."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.engine.rewrite.row_groups import RowGroupRun, RowGroupShape, plan_copies

SMALLEST = 10


def shapes(text: str) -> list[RowGroupShape]:
    """L and s are large and small row groups, x and y those of another schema."""
    sizes = {"L": 100, "s": 1, "x": 100, "y": 1}
    return [RowGroupShape(1000, sizes[letter], None if letter in "xy" else "schema") for letter in text]


def told(runs: tuple[RowGroupRun, ...]) -> str:
    return " ".join(("copy" if run.is_copied else "decode") + str(run.stop - run.start) for run in runs)


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ("", ""),
        ("LLL", "copy3"),
        ("sss", "decode3"),
        ("s", "copy1"),
        ("LsL", "copy3"),
        ("LssL", "copy1 decode2 copy1"),
        ("x", "decode1"),
        ("LxL", "copy1 decode1 copy1"),
        ("Lys", "copy1 decode2"),
        ("sL", "copy2"),
        ("ssLs", "decode2 copy2"),
    ],
)
def test_adjacent_row_groups_are_copied_together(groups: str, expected: str) -> None:
    assert told(plan_copies(shapes(groups), "schema", SMALLEST)) == expected


groups = st.lists(
    st.builds(
        RowGroupShape, st.integers(1, 10**6), st.integers(1, 300), st.sampled_from(["schema", "other", None])
    ),
    max_size=40,
)


@given(groups)
def test_every_row_group_is_in_one_run_in_order(groups: list[RowGroupShape]) -> None:
    runs = plan_copies(groups, "schema", SMALLEST)
    assert [*chain.from_iterable(range(run.start, run.stop) for run in runs)] == [*range(len(groups))]
    for run in runs:
        alike = groups[run.start : run.stop]
        assert not run.is_copied or {group.schema for group in alike} == {"schema"}
        if not run.is_copied:
            assert len(alike) > 1 or alike[0].schema != "schema"
