"""Which files of a clustered table are sorted together, to which level, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.formats.paimon.model import DataFile
from lithify.formats.paimon.planning.clustering.plan import (
    HISTORY,
    ClusteredUnit,
    build_runs,
    history_due_millis,
    plan_bucket,
    verdicts,
)
from lithify.formats.paimon.planning.clustering.policy import ClusteringOptions, HistoryOptions
from lithify.formats.paimon.planning.universal.policy import UniversalOptions
from lithify.formats.paimon.planning.work import ALL_AT_TOP, Idle
from lithify.formats.protocol.strategy import NO_TRIGGER, Strategy
from support.cases import case
from support.clustered import COLUMNS, leveled, random_files, random_options
from support.merge_trees import HOUR_MILLIS, MIDNIGHT, MIDNIGHT_MILLIS, names, repeatable
from support.small_files import bucket_of

UNIVERSAL = UniversalOptions(num_levels=4, run_trigger=3)
PLAIN = ClusteringOptions(COLUMNS, UNIVERSAL)
AGED = replace(PLAIN, history=HistoryOptions(HOUR_MILLIS, 5))
BELOW = [leveled("new", 0, 10), leveled("mid", 2, 500), leveled("top", 3, 9_000)]


def unit_of(
    files: Sequence[DataFile],
    options: ClusteringOptions = PLAIN,
    strategy: Strategy = Strategy.MINOR,
    schemas: Sequence[int] = (0,),
) -> ClusteredUnit | str:
    """The unit, or why there is none."""
    planned = plan_bucket(bucket_of(files), options, strategy, MIDNIGHT, lambda number: number in schemas)
    return planned.reason if isinstance(planned, Idle) else planned


def picked(files: Sequence[DataFile], options: ClusteringOptions = PLAIN) -> tuple[str, list[str], int] | str:
    unit = unit_of(files, options)
    return unit if isinstance(unit, str) else (unit.trigger, names(unit.inputs), unit.output_level)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        case([leveled("a", 0), leveled("b", 0)], NO_TRIGGER, id="too few runs"),
        case(BELOW, NO_TRIGGER, id="runs that grow"),
        case([leveled(name, 0) for name in "abc"], ("SizeRatio", ["a", "b", "c"], 3), id="files of one size"),
        case(
            [leveled("a", 0), leveled("b", 0), *BELOW[1:]],
            ("SizeRatio", ["a", "b"], 1),
            id="into the free level below the next run",
        ),
        case(
            [leveled("a", 0, 9_000), leveled("b", 0, 9_001), leveled("top", 3, 10)],
            ("SizeAmplification", ["a", "b", "top"], 3),
            id="more new than old",
        ),
        case(
            [leveled("one", 1, 100), leveled("other", 1, 100), *BELOW[1:]],
            NO_TRIGGER,
            id="files of a level are one run",
        ),
    ],
)
def test_universal_compaction_picks_runs(
    files: list[DataFile], expected: tuple[str, list[str], int] | str
) -> None:
    assert picked(files) == expected


def test_all_runs_of_level_0_come_first_in_the_order_of_their_numbers() -> None:
    late, early = replace(leveled("late", 0), min_sequence=9), leveled("early", 0)
    runs = build_runs([leveled("top", 3), late, early], PLAIN).runs
    assert [(run.level, names(run.files)) for run in runs] == [(0, ["early"]), (0, ["late"]), (3, ["top"])]


class TestFull:
    @pytest.mark.parametrize(
        "files",
        [
            case(BELOW, id="several runs"),
            case([leveled("a", 0)], id="one file of level 0"),
            case([leveled("a", 2)], id="a level below the top"),
        ],
    )
    def test_takes_all_files_to_the_top(self, files: list[DataFile]) -> None:
        unit = unit_of(files, strategy=Strategy.FULL)
        assert isinstance(unit, ClusteredUnit)
        assert (names(unit.inputs), unit.output_level, unit.trigger) == (names(files), 3, "Full")

    def test_rests_if_all_is_sorted(self) -> None:
        files = [leveled("a", 3), leveled("b", 3)]
        assert unit_of(files, strategy=Strategy.FULL) == ALL_AT_TOP

    def test_sorts_again_what_was_sorted_by_other_columns(self) -> None:
        files = [leveled("a", 3, schema_id=1)]
        assert isinstance(unit_of(files, strategy=Strategy.FULL), ClusteredUnit)
        assert unit_of(files, strategy=Strategy.FULL, schemas=[0, 1]) == ALL_AT_TOP

    def test_the_number_of_levels_grows_in_buckets_alone(self) -> None:
        """As in Java, where a bucket's levels are restored from its files."""
        files = [leveled("a", 0), leveled("b", 6)]
        for grows, level in ((False, 3), (True, 6)):
            unit = unit_of(files, replace(PLAIN, grows=grows), Strategy.FULL)
            assert isinstance(unit, ClusteredUnit)
            assert unit.output_level == level


class TestHistory:
    @pytest.mark.parametrize(
        ("files", "fires"),
        [
            case([leveled("a", 0, created=HOUR_MILLIS + 1)], True, id="old"),
            case([leveled("a", 0, created=HOUR_MILLIS)], False, id="not old enough"),
            case([leveled("a", 0, created=2 * HOUR_MILLIS), leveled("b", 1)], False, id="a new file"),
            case(
                [leveled("a", 0, created=2 * HOUR_MILLIS), leveled("b", 3)], True, id="new in the top level"
            ),
            case([leveled("a", 3, created=2 * HOUR_MILLIS)], False, id="all at the top"),
        ],
    )
    def test_the_age_of_files_below_the_top_level_counts(self, files: list[DataFile], fires: bool) -> None:
        expected = (HISTORY, names(files), 3) if fires else NO_TRIGGER
        assert picked(files, AGED) == expected
        assert picked(files) == NO_TRIGGER, "only if the table asks for it"
        (history, *_) = verdicts(bucket_of(files), AGED, MIDNIGHT)
        assert (history.trigger, history.fired) == (HISTORY, fires)

    def test_is_left_out_beyond_the_limit(self) -> None:
        files = [leveled("a", 0, created=2 * HOUR_MILLIS)]
        planned = plan_bucket(
            bucket_of(files), AGED, Strategy.MINOR, MIDNIGHT, lambda _: True, takes_history=False
        )
        assert isinstance(planned, Idle)

    @repeatable
    @given(st.integers(0, 1 << 32))
    def test_becomes_due_when_it_says(self, seed: int) -> None:
        rng = Random(seed)
        options = replace(random_options(rng), history=HistoryOptions(HOUR_MILLIS * 2, 5))
        files = random_files(rng, options)
        due = history_due_millis(files, options)
        if due is None:
            assert {file.level for file in files} == {options.universal.num_levels - 1}
            return
        for millis, fired in ((due, False), (due + 1, True)):
            now = MIDNIGHT + timedelta(milliseconds=millis - MIDNIGHT_MILLIS)
            assert verdicts(bucket_of(files), options, now)[0].fired == fired


@repeatable
@given(st.integers(0, 1 << 32))
def test_a_unit_is_whole_runs_from_the_top_and_nothing_is_left_below_its_level(seed: int) -> None:
    rng = Random(seed)
    options = random_options(rng)
    files = random_files(rng, options)
    unit = unit_of(files, options, rng.choice([*Strategy]))
    if isinstance(unit, str):
        return
    runs = build_runs(files, options).runs
    taken = sum(set(names(run.files)) <= set(names(unit.inputs)) for run in runs)
    assert names(unit.inputs) == names(file for run in runs[:taken] for file in run.files)
    assert all(run.level > unit.output_level for run in runs[taken:])
    assert unit.output_level > 0
