"""Which row groups are copied and which decoded, and where files end."""

from __future__ import annotations

from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.planning.row_groups import PlannedFile, RowGroupRun, RowGroupShape, plan_copies, plan_files

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
def test_runs(groups: str, expected: str) -> None:
    assert told(plan_copies(shapes(groups), "schema", SMALLEST)) == expected


groups = st.lists(
    st.builds(
        RowGroupShape, st.integers(1, 10**6), st.integers(1, 300), st.sampled_from(["schema", "other", None])
    ),
    max_size=40,
)


@given(groups, st.integers(1, 1000))
def test_files_have_every_row_group_once_in_order(groups: list[RowGroupShape], target: int) -> None:
    files = plan_files(groups, "schema", target, SMALLEST)
    runs = [run for file in files for run in file.runs]
    assert [*chain.from_iterable(range(run.start, run.stop) for run in runs)] == [*range(len(groups))]
    for run in runs:
        alike = groups[run.start : run.stop]
        assert not run.is_copied or {group.schema for group in alike} == {"schema"}
        if not run.is_copied:
            assert len(alike) > 1 or alike[0].schema != "schema"
    assert [file.bytes for file in files] == [
        sum(group.bytes for run in file.runs for group in groups[run.start : run.stop]) for file in files
    ]


@given(groups, st.integers(1, 1000))
def test_files_are_near_the_target(groups: list[RowGroupShape], target: int) -> None:
    files = plan_files(groups, "schema", target, SMALLEST)
    largest = max((group.bytes for group in groups), default=0)
    for file in files[:-1]:
        assert target - largest <= file.bytes <= max(largest, target + largest)
    assert len(files) < 2 or files[-1].bytes >= 0.7 * target


def test_a_small_rest_joins_the_file_before() -> None:
    (file,) = plan_files(shapes("LLL"), "schema", 200, SMALLEST)
    assert file == PlannedFile((RowGroupRun(0, 3, is_copied=True),), 300)
    assert len(plan_files(shapes("LLLL"), "schema", 200, SMALLEST)) == 2
