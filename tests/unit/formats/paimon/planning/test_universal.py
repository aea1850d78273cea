"""Picks of universal compaction and forced level 0, by hand for each rule and by property for any tree."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given

from lithify.formats.paimon.model import DataFile
from lithify.formats.paimon.planning.merge_tree.levels import build_levels
from lithify.formats.paimon.planning.merge_tree.policy import MergeTreeOptions
from lithify.formats.paimon.planning.universal.picks import Pick, pick_level0, pick_universal
from lithify.formats.paimon.planning.universal.policy import EarlyFull, OffPeak, PickingRule
from lithify.formats.paimon.planning.universal.triggers import Trigger
from support.cases import case
from support.merge_trees import MIDNIGHT, levels_of, moments, policies, repeatable, trees

Runs = list[tuple[int, int]]

TOLERANT = MergeTreeOptions(run_trigger=3, size_amplification_percent=10_000)
"""Newer runs may weigh a hundred times the oldest, so the later triggers are asked."""
FORCED = MergeTreeOptions(run_trigger=5, force_level0=True)


def summary(pick: Pick | None) -> tuple[int, int, Trigger] | None:
    return None if pick is None else (len(pick.runs), pick.output_level, pick.verdict.trigger)


class TestUniversal:
    @pytest.mark.parametrize(
        ("runs", "expected"),
        [
            case(
                [(0, 10), (2, 9), (5, 10**4)], (2, 4, Trigger.SIZE_RATIO), id="similar runs go above the next"
            ),
            case(
                [(0, 10), (0, 10), (2, 20), (4, 10**4)],
                (3, 3, Trigger.SIZE_RATIO),
                id="what was taken makes larger runs similar",
            ),
            case(
                [(0, 100), (3, 101), (5, 10**6)], (2, 4, Trigger.SIZE_RATIO), id="exactly one per cent larger"
            ),
            case([(0, 1)] * 3, (3, 5, Trigger.SIZE_RATIO), id="level 0 alone goes to the top"),
            case(
                [(0, 1), (0, 1), (0, 1), (2, 3)],
                (4, 5, Trigger.SIZE_RATIO),
                id="a pick of everything goes to the top, whatever its highest level",
            ),
            case(
                [(0, 10), (0, 10), (1, 500), (5, 10**6)],
                (3, 1, Trigger.SIZE_RATIO),
                id="nothing fits between level 0 and 1, so level 1 is taken",
            ),
            case(
                [(0, 10), (0, 10), (0, 500), (3, 10**4), (5, 10**7)],
                (4, 3, Trigger.SIZE_RATIO),
                id="a pick that ends inside level 0 goes on into the next level",
            ),
            case(
                [(0, 10), (0, 10), (0, 500), (3, 10**4)],
                (4, 5, Trigger.SIZE_RATIO),
                id="a pick that ends inside level 0 and so takes everything goes to the top",
            ),
            case(
                [(0, 1), (0, 100), (2, 10**4), (5, 10**6)],
                (2, 1, Trigger.SORTED_RUNS),
                id="one run too many",
            ),
            case(
                [(0, 1), (0, 100), (2, 102), (5, 10**6)],
                (3, 4, Trigger.SORTED_RUNS),
                id="one run too many, and the next is similar to both",
            ),
            case(
                [(0, 1), (0, 100), (1, 10**4), (5, 10**6), (6, 10**8)],
                (3, 4, Trigger.SORTED_RUNS),
                id="two runs too many in a tree with more levels than the option",
            ),
            case(
                [(0, 300), (0, 701), (5, 10)],
                (3, 5, Trigger.SIZE_AMPLIFICATION),
                id="newer runs weigh a hundred times the oldest",
            ),
        ],
    )
    def test_universal_compaction_picks_the_runs_of_its_trigger(
        self, runs: Runs, expected: tuple[int, int, Trigger]
    ) -> None:
        assert summary(pick_universal(levels_of(*runs), TOLERANT, MIDNIGHT)) == expected

    @pytest.mark.parametrize(
        "runs",
        [
            case([], id="an empty bucket"),
            case([(5, 1)], id="one settled run"),
            case([(0, 1), (0, 1)], id="fewer runs than the trigger"),
            case([(0, 1), (0, 100), (5, 10**4)], id="as many runs as the trigger, none of them similar"),
            case([(0, 100), (3, 102), (5, 10**6)], id="a byte too large for the ratio"),
        ],
    )
    def test_universal_compaction_picks_no_run_below_its_triggers(self, runs: Runs) -> None:
        assert pick_universal(levels_of(*runs), TOLERANT, MIDNIGHT) is None

    @pytest.mark.parametrize(
        ("early", "amplification", "trigger"),
        [
            case(EarlyFull(0, 10**6, 0), 0, Trigger.INTERVAL, id="first the interval"),
            case(EarlyFull(None, 10**6, 0), 0, Trigger.TOTAL_SIZE, id="then the total size"),
            case(EarlyFull(None, 1, 0), 0, Trigger.INCREMENTAL_SIZE, id="then the incremental size"),
            case(EarlyFull(None, 1, 30), 0, Trigger.SIZE_AMPLIFICATION, id="then the amplification"),
        ],
    )
    def test_asks_for_a_full_compaction_first(
        self, early: EarlyFull, amplification: int, trigger: Trigger
    ) -> None:
        policy = MergeTreeOptions(run_trigger=3, early_full=early, size_amplification_percent=amplification)
        pick = pick_universal(levels_of((0, 10), (0, 10), (2, 10)), policy, MIDNIGHT)
        assert summary(pick) == (3, 5, trigger)

    def test_takes_larger_runs_off_peak(self) -> None:
        levels = levels_of((0, 100), (0, 150), (5, 10**6))
        policy = MergeTreeOptions(run_trigger=3, off_peak=OffPeak(0, 6, ratio=49))
        taken = {hour: pick_universal(levels, policy, MIDNIGHT.replace(hour=hour)) for hour in (5, 6)}
        assert (summary(taken[5]), taken[6]) == ((2, 4, Trigger.SIZE_RATIO), None)


class TestForcedLevel0:
    @pytest.mark.parametrize(
        ("runs", "taken", "output"),
        [
            case([(0, 1)], 1, 5, id="a single file goes to the top"),
            case([(0, 1), (0, 5), (0, 10), (0, 20)], 4, 5, id="any number of files, however different"),
            case([(0, 1), (3, 100)], 1, 2, id="it goes just above the next run"),
            case([(0, 1), (1, 100), (5, 1000)], 2, 1, id="nothing fits above level 1, so it is taken"),
            case([(0, 5), (0, 5), (3, 10), (5, 1000)], 3, 4, id="similar runs below are taken, too"),
        ],
    )
    def test_forced_level_0_picks_all_of_it_and_what_follows(
        self, runs: Runs, taken: int, output: int
    ) -> None:
        pick = pick_level0(levels_of(*runs), FORCED, MIDNIGHT)
        assert summary(pick) == (taken, output, Trigger.FORCED_LEVEL0)

    @pytest.mark.parametrize(
        "runs", [case([], id="an empty bucket"), case([(2, 1), (5, 1)], id="no level 0")]
    )
    def test_forced_level_0_picks_no_run_where_level_0_is_empty(self, runs: Runs) -> None:
        assert pick_level0(levels_of(*runs), FORCED, MIDNIGHT) is None

    @pytest.mark.parametrize(("files", "is_picked"), [(2, False), (3, True), (4, True)])
    def test_a_gentle_pick_waits_for_files(self, files: int, *, is_picked: bool) -> None:
        gentle = replace(FORCED, level0_trigger=3)
        assert (pick_level0(levels_of(*[(0, 1)] * files), gentle, MIDNIGHT) is not None) is is_picked

    @pytest.mark.parametrize(
        ("seconds", "runs", "is_picked"),
        [
            case(3599, [(0, 1), (5, 9)], False, id="young"),
            case(3600, [(0, 1), (5, 9)], True, id="old"),
            case(3600, [(5, 9)], False, id="no level 0"),
        ],
    )
    def test_a_gentle_pick_takes_what_is_old(self, seconds: int, runs: Runs, *, is_picked: bool) -> None:
        """Readers of first-row and of tables with deletion vectors would never see it otherwise."""
        gentle = replace(FORCED, level0_trigger=3, level0_millis=3_600_000)
        pick = pick_level0(levels_of(*runs), gentle, MIDNIGHT + timedelta(seconds=seconds))
        assert (pick is not None) is is_picked

    def test_the_universal_pick_comes_first(self) -> None:
        pick = pick_level0(levels_of(*[(0, 1)] * 5), FORCED, MIDNIGHT)
        assert summary(pick) == (5, 5, Trigger.SIZE_AMPLIFICATION)


class TestRules:
    """Runs taken and output level under 1.4, 2.0 and 2.1, worked out by hand from the sources of each."""

    @pytest.mark.parametrize(
        ("runs", "expected"),
        [
            case(
                [(0, 1), (1, 99), (2, 100), (5, 10**6)],
                [(2, 1), (3, 4), (3, 4)],
                id="with level 1 in the pick, level 2 is similar to it",
            ),
            case(
                [(0, 1), (1, 99), (2, 102), (5, 10**6)],
                [(2, 1), (2, 1), (2, 1)],
                id="level 2 is too large even so, and nothing fits above it but level 1",
            ),
            case(
                [(0, 5), (0, 5), (1, 1000), (3, 2000)],
                [(3, 1), (3, 2), (3, 2)],
                id="what takes level 1 on purpose goes as deep as it can",
            ),
            case([(0, 1), (1, 100)], [(2, 5)] * 3, id="everything goes to the top under any rule"),
            case([(0, 10), (2, 1000)], [(1, 1)] * 3, id="only level 1 is special, not the next level"),
            case([(1, 10), (2, 10)], [None] * 3, id="level 1 alone forces nothing"),
        ],
    )
    def test_forced_level_0(self, runs: Runs, expected: list[tuple[int, int] | None]) -> None:
        levels = levels_of(*runs)
        picks = [pick_level0(levels, replace(FORCED, rule=rule), MIDNIGHT) for rule in PickingRule]
        assert [reach(pick) for pick in picks] == expected

    @pytest.mark.parametrize(
        ("runs", "expected"),
        [
            case(
                [(0, 10), (0, 10), (0, 500), (3, 10**4)],
                [(4, 5), (4, 5), (3, 2)],
                id="2.1 takes all of level 0 and so spares level 3",
            ),
            case(
                [(0, 10), (0, 10), (1, 100), (4, 10**4)],
                [(3, 1), (3, 1), (3, 3)],
                id="2.1 takes level 1 into the pick and goes below it",
            ),
            case(
                [(0, 10), (0, 20), (1, 970), (2, 1000)],
                [(3, 1), (3, 1), (4, 5)],
                id="too many runs: with level 1 in the pick, 2.1 finds level 2 similar",
            ),
            case(
                [(0, 10), (0, 10), (2, 100), (4, 10**4)],
                [(2, 1)] * 3,
                id="a large run of level 2 ends a pick under any rule",
            ),
            case(
                [(0, 1), (0, 100), (3, 10**4)],
                [None] * 3,
                id="a large second run lets no pick begin, not even in 2.1",
            ),
        ],
    )
    def test_each_rule_picks_its_runs(self, runs: Runs, expected: list[tuple[int, int] | None]) -> None:
        levels = levels_of(*runs)
        picks = [pick_universal(levels, replace(TOLERANT, rule=rule), MIDNIGHT) for rule in PickingRule]
        assert [reach(pick) for pick in picks] == expected


def reach(pick: Pick | None) -> tuple[int, int] | None:
    return None if pick is None else (len(pick.runs), pick.output_level)


@given(files=trees(), policy=policies(), now=moments())
@repeatable
def test_a_pick_is_whole_runs_from_the_top_and_goes_below_them(
    files: tuple[DataFile, ...], policy: MergeTreeOptions, now: datetime
) -> None:
    levels = build_levels(files, policy.num_levels)
    pick = (pick_level0 if policy.force_level0 else pick_universal)(levels, policy, now)
    if pick is None:
        assert not (policy.force_level0 and levels.level0)
        return
    left = levels.runs[len(pick.runs) :]
    assert pick.runs == levels.runs[: len(pick.runs)]
    assert pick.verdict.fired
    assert 1 <= pick.output_level <= levels.max_level
    assert pick.output_level >= max(run.level for run in pick.runs)
    assert all(run.level > pick.output_level for run in left)
    assert left or pick.output_level == levels.max_level
