"""What the triggers say: their limits, the clock of the interval, off-peak hours, the order of `explain`."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.formats.paimon.model import DataFile
from lithify.formats.paimon.planning.merge_tree.levels import build_levels
from lithify.formats.paimon.planning.merge_tree.policy import MergeTreeOptions
from lithify.formats.paimon.planning.universal.picks import explain, pick_level0, pick_universal
from lithify.formats.paimon.planning.universal.policy import EarlyFull, OffPeak
from lithify.formats.paimon.planning.universal.triggers import (
    Trigger,
    early_full_verdicts,
    last_full_compaction,
    size_amplification,
    size_ratio,
    sorted_runs,
)
from support.cases import case
from support.merge_trees import (
    HOUR_MILLIS,
    MIDNIGHT,
    file,
    levels_of,
    moments,
    policies,
    repeatable,
    stack,
    trees,
)

BERLIN = ZoneInfo("Europe/Berlin")
ALL_EARLY = EarlyFull(interval_millis=1, total_size=1000, incremental_size=0)


def wall(month: int, day: int, hour: int, minute: int = 0) -> int:
    """What a wall clock shows in 2026, as files store it."""
    return int(datetime(2026, month, day, hour, minute, tzinfo=UTC).timestamp()) * 1000


class TestOffPeak:
    @pytest.mark.parametrize(
        ("start", "end", "hours"),
        [
            case(8, 17, range(8, 17), id="office hours, the end is outside"),
            case(0, 24, range(24), id="the whole day"),
            case(0, 1, [0], id="the first hour"),
            case(23, 24, [23], id="the last hour"),
            case(22, 6, [22, 23, 0, 1, 2, 3, 4, 5], id="over midnight"),
            case(23, 0, [23], id="up to midnight"),
            case(9, 8, set(range(24)) - {8}, id="all hours but one"),
            case(5, 5, [], id="an empty window"),
        ],
    )
    def test_off_peak_ratio_holds_in_its_hours_only(self, start: int, end: int, hours: list[int]) -> None:
        off_peak = OffPeak(start, end, ratio=30)
        assert {hour: off_peak.ratio_at(hour) for hour in range(24)} == {
            hour: 30 if hour in hours else 0 for hour in range(24)
        }


class TestSizeAmplification:
    @pytest.mark.parametrize(
        ("runs", "percent", "fires"),
        [
            case([(0, 100), (0, 100), (5, 100)], 200, False, id="exactly the limit"),
            case([(0, 100), (0, 101), (5, 100)], 200, True, id="a byte above the limit"),
            case([(0, 100), (0, 100), (0, 1)], 200, True, id="level 0 alone, the oldest file is small"),
            case([(0, 500), (5, 100)], 200, False, id="too few runs to be asked"),
            case([(0, 1), (0, 1), (5, 10**6)], 0, True, id="nothing above the oldest run is allowed"),
        ],
    )
    def test_size_amplification_fires_above_its_percentage(
        self, runs: list[tuple[int, int]], percent: int, fires: bool
    ) -> None:
        policy = MergeTreeOptions(run_trigger=3, size_amplification_percent=percent)
        verdict = size_amplification(levels_of(*runs), policy)
        assert (verdict.trigger, verdict.fired) == (Trigger.SIZE_AMPLIFICATION, fires)


@pytest.mark.parametrize(
    ("runs", "taken", "fires"),
    [
        case(2, 2, False, id="too few runs to be asked"),
        case(3, 1, False, id="the ratio lets only the newest be taken"),
        case(3, 2, True, id="two of three"),
    ],
)
def test_size_ratio_needs_two_runs_and_enough_of_them(runs: int, taken: int, fires: bool) -> None:
    levels = levels_of(*[(0, 1)] * runs)
    verdict = size_ratio(levels, MergeTreeOptions(run_trigger=3), taken, hour=0)
    assert (verdict.trigger, verdict.fired) == (Trigger.SIZE_RATIO, fires)


@pytest.mark.parametrize(("runs", "fires"), [case(3, False, id="at the trigger"), case(4, True, id="above")])
def test_sorted_runs_fires_above_its_trigger(runs: int, fires: bool) -> None:
    verdict = sorted_runs(levels_of(*[(0, 1)] * runs), MergeTreeOptions(run_trigger=3))
    assert (verdict.trigger, verdict.fired) == (Trigger.SORTED_RUNS, fires)


class TestEarlyFull:
    @pytest.mark.parametrize(
        ("early", "fired"),
        [
            case(EarlyFull(), {}, id="nothing is switched on"),
            case(EarlyFull(total_size=111), {Trigger.TOTAL_SIZE: False}, id="as large as the threshold"),
            case(EarlyFull(total_size=112), {Trigger.TOTAL_SIZE: True}, id="smaller than the threshold"),
            case(
                EarlyFull(incremental_size=11),
                {Trigger.INCREMENTAL_SIZE: False},
                id="as much outside the top level as allowed",
            ),
            case(
                EarlyFull(incremental_size=10),
                {Trigger.INCREMENTAL_SIZE: True},
                id="more outside the top level than allowed",
            ),
            case(
                EarlyFull(total_size=0, incremental_size=0),
                {Trigger.TOTAL_SIZE: False, Trigger.INCREMENTAL_SIZE: True},
                id="a threshold of 0 is switched on",
            ),
            case(
                EarlyFull(interval_millis=10**15, total_size=112, incremental_size=11),
                {Trigger.INTERVAL: False, Trigger.TOTAL_SIZE: True, Trigger.INCREMENTAL_SIZE: False},
                id="all three answer, in the order of asking",
            ),
        ],
    )
    def test_early_full_compactions_fire_at_their_thresholds(
        self, early: EarlyFull, fired: dict[Trigger, bool]
    ) -> None:
        levels = levels_of((0, 1), (1, 10), (5, 100))
        verdicts = early_full_verdicts(levels, MergeTreeOptions(early_full=early), MIDNIGHT)
        assert [(verdict.trigger, verdict.fired) for verdict in verdicts] == list(fired.items())

    @pytest.mark.parametrize(
        ("runs", "num_levels"),
        [
            case([(0, 1), (2, 10), (5, 100)], 3, id="a lowered option leaves the old top level in place"),
            case([(0, 1), (2, 10)], 6, id="an empty top level makes no other level the top"),
        ],
    )
    def test_all_but_the_top_level_of_the_tree_is_incremental(
        self, runs: list[tuple[int, int]], num_levels: int
    ) -> None:
        levels = levels_of(*runs, num_levels=num_levels)
        policy = MergeTreeOptions(num_levels=num_levels, early_full=EarlyFull(incremental_size=10))
        (verdict,) = early_full_verdicts(levels, policy, MIDNIGHT)
        assert verdict.fired

    @pytest.mark.parametrize("level", [0, 3, 5])
    def test_a_single_run_never_needs_one(self, level: int) -> None:
        levels = levels_of((level, 1))
        verdicts = early_full_verdicts(levels, MergeTreeOptions(early_full=ALL_EARLY), MIDNIGHT)
        assert [verdict.fired for verdict in verdicts] == [False, False, False]


class TestInterval:
    @pytest.mark.parametrize(
        ("now", "created", "fires"),
        [
            case(datetime(2026, 3, 1, 13, tzinfo=UTC), wall(3, 1, 12), False, id="just as old"),
            case(
                datetime(2026, 3, 1, 13, 0, 0, 1000, tzinfo=UTC),
                wall(3, 1, 12),
                True,
                id="a millisecond older",
            ),
            case(
                datetime(2026, 3, 1, 12, 30, tzinfo=BERLIN),
                wall(3, 1, 12),
                False,
                id="the writer's wall clock is read in the table's zone",
            ),
            case(
                datetime(2026, 3, 1, 12, 30, tzinfo=timezone(timedelta(hours=-8))),
                wall(3, 1, 11),
                True,
                id="west of Greenwich",
            ),
            case(
                datetime(2026, 3, 29, 3, 30, tzinfo=BERLIN),
                wall(3, 29, 1, 30),
                False,
                id="two hours on the wall, one in time, when clocks go forward",
            ),
            case(
                datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=BERLIN),
                wall(10, 25, 1, 45),
                True,
                id="less than an hour on the wall, more in time, when clocks go back",
            ),
            case(datetime(2026, 3, 1, tzinfo=UTC), wall(3, 2, 0), False, id="written in the future"),
        ],
    )
    def test_an_interval_fires_an_hour_after_the_last_full_compaction(
        self, now: datetime, created: int, fires: bool
    ) -> None:
        levels = build_levels(stack((0, 1), (5, 1), created=created), 6)
        (verdict,) = early_full_verdicts(
            levels, MergeTreeOptions(early_full=EarlyFull(interval_millis=HOUR_MILLIS)), now
        )
        assert (verdict.trigger, verdict.fired) == (Trigger.INTERVAL, fires)

    def test_fires_where_the_top_level_was_never_written(self) -> None:
        policy = MergeTreeOptions(early_full=EarlyFull(interval_millis=10**15))
        (verdict,) = early_full_verdicts(levels_of((0, 1), (4, 1)), policy, MIDNIGHT)
        assert verdict.fired

    def test_the_clock_starts_at_the_newest_file_of_the_top_level(self) -> None:
        files = [
            file("level 0", created=9000),
            file("below the top", level=4, created=8000),
            file("top, newer", (0, 4), level=5, created=7000),
            file("top, older", (5, 9), level=5, created=6000),
        ]
        assert last_full_compaction(build_levels(files, 6), MIDNIGHT) == 7000
        assert last_full_compaction(build_levels(files, 7), MIDNIGHT) is None

    @given(created=st.integers(0, 5_000_000_000_000), age=st.integers(0, HOUR_MILLIS))
    @repeatable
    def test_is_exact_to_the_millisecond(self, created: int, age: int) -> None:
        levels = build_levels(stack((0, 1), (5, 1), created=created), 6)
        now = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=created + age)
        for interval, fires in ((age, False), (age - 1, True)):
            policy = MergeTreeOptions(early_full=EarlyFull(interval_millis=interval))
            assert [verdict.fired for verdict in early_full_verdicts(levels, policy, now)] == [fires]


class TestExplain:
    def test_tells_nothing_of_an_empty_bucket(self) -> None:
        assert explain(build_levels((), 6), MergeTreeOptions(early_full=ALL_EARLY), MIDNIGHT) == []

    @pytest.mark.parametrize(
        ("policy", "asked"),
        [
            case(
                MergeTreeOptions(),
                [Trigger.SIZE_AMPLIFICATION, Trigger.SIZE_RATIO, Trigger.SORTED_RUNS],
                id="the three that are always there",
            ),
            case(
                MergeTreeOptions(early_full=ALL_EARLY, force_level0=True),
                [
                    Trigger.INTERVAL,
                    Trigger.TOTAL_SIZE,
                    Trigger.INCREMENTAL_SIZE,
                    Trigger.SIZE_AMPLIFICATION,
                    Trigger.SIZE_RATIO,
                    Trigger.SORTED_RUNS,
                    Trigger.FORCED_LEVEL0,
                ],
                id="everything switched on",
            ),
        ],
    )
    def test_tells_what_every_trigger_says_in_the_order_of_asking(
        self, policy: MergeTreeOptions, asked: list[Trigger]
    ) -> None:
        verdicts = explain(levels_of((0, 1), (5, 1)), policy, MIDNIGHT)
        assert [verdict.trigger for verdict in verdicts] == asked
        assert all(verdict.detail for verdict in verdicts)

    @pytest.mark.parametrize(
        ("changes", "detail"),
        [
            case({}, "2 level-0 files, compacted as soon as there is one", id="radical"),
            case(
                {"level0_trigger": 9, "level0_millis": 90_000},
                "2 level-0 files, compacted from 9 on, or when the oldest is 90 s old",
                id="gentle",
            ),
        ],
    )
    def test_tells_when_level_0_is_taken(self, changes: dict[str, int], detail: str) -> None:
        policy = replace(MergeTreeOptions(force_level0=True), **changes)
        told = explain(levels_of((0, 1), (0, 1), (5, 9)), policy, MIDNIGHT)[-1]
        assert (told.trigger, told.fired, told.detail) == (Trigger.FORCED_LEVEL0, not changes, detail)

    @given(files=trees(), policy=policies(), now=moments())
    @repeatable
    def test_names_the_trigger_that_picks(
        self, files: tuple[DataFile, ...], policy: MergeTreeOptions, now: datetime
    ) -> None:
        levels = build_levels(files, policy.num_levels)
        pick = (pick_level0 if policy.force_level0 else pick_universal)(levels, policy, now)
        fired = [verdict.trigger for verdict in explain(levels, policy, now) if verdict.fired]
        assert fired[:1] == ([pick.verdict.trigger] if pick else [])
