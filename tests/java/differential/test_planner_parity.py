"""Our planning against the Java planner classes of Paimon 1.4.2, called directly over random trees.

What is random is seeded, so a run repeats the one before. Java and Lithify differ on purpose in one thing:
the clock of the optimisation interval starts empty in Java 1.4. These tests set it to the newest file of the
top level, where we read it and where Java starts it from 2.0 on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import product
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from infrastructure.oracle.process import OracleError
from lithify.errors import CorruptTable
from lithify.formats.paimon.model import DataFile
from lithify.formats.paimon.planning.merge_tree.levels import build_levels
from lithify.formats.paimon.planning.merge_tree.plan import Unit, plan_bucket
from lithify.formats.paimon.planning.merge_tree.policy import MergeTreeOptions
from lithify.formats.paimon.planning.merge_tree.sections import partition_sections
from lithify.formats.paimon.planning.universal.picks import Pick, pick_level0, pick_universal
from lithify.formats.paimon.planning.universal.policy import OffPeak
from lithify.formats.paimon.planning.universal.triggers import Trigger
from lithify.formats.paimon.planning.work import Idle
from lithify.formats.protocol.strategy import Strategy
from support.merge_trees import (
    HOUR_MILLIS,
    MIDNIGHT,
    MIDNIGHT_MILLIS,
    bucket_of,
    file,
    key_number,
    names,
    random_files,
    random_ladder,
    random_moment,
    random_policy,
    stack,
)

if TYPE_CHECKING:
    from infrastructure.oracle.client import Oracle

pytestmark = pytest.mark.oracle

Link = tuple[str, int | None]


@dataclass(frozen=True)
class Question:
    """What both planners are asked about a bucket."""

    files: tuple[DataFile, ...]
    policy: MergeTreeOptions
    now: datetime

    def java(self) -> dict[str, Any]:
        return {
            "files": [java_file(file) for file in self.files],
            "num_levels": self.policy.num_levels,
            "strategy": "force-up-level-0" if self.policy.force_level0 else "universal",
            "options": self._options(),
        }

    def our_pick(self) -> Pick | None:
        pick = pick_level0 if self.policy.force_level0 else pick_universal
        return pick(build_levels(self.files, self.policy.num_levels), self.policy, self.now)

    def _options(self) -> dict[str, Any]:
        policy, early = self.policy, self.policy.early_full
        return {
            "max_size_amp": policy.size_amplification_percent,
            "size_ratio": policy.size_ratio,
            "trigger": policy.run_trigger,
            "full_interval_millis": early.interval_millis,
            "last_full_millis": self._last_full(),
            "now_millis": MIDNIGHT_MILLIS + self.now.hour * HOUR_MILLIS,
            "total_size_threshold": early.total_size,
            "incremental_size_threshold": early.incremental_size,
            "offpeak": java_off_peak(policy.off_peak, self.now.hour),
            "force_rewrite_all": policy.force_rewrite,
            "num_levels": policy.num_levels,
            "compaction_file_size": policy.small_file_size,
        }

    def _last_full(self) -> int | None:
        top = max(self.policy.num_levels - 1, *(file.level for file in self.files))
        return max((file.created_millis for file in self.files if file.level == top), default=None)


def test_levels_and_their_runs_agree(oracle: Oracle) -> None:
    rng = Random(1)
    questions = [(random_files(rng), rng.randint(2, 7)) for _ in range(2000)]
    cases = [
        {"files": [java_file(file) for file in files], "num_levels": number} for files, number in questions
    ]
    ours = [levels_as_java_says(files, number) for files, number in questions]
    assert_agreement(questions, ours, oracle.levels(cases))


def test_overlap_in_a_level_is_refused_alike(oracle: Oracle) -> None:
    """All pairs of ranges over four keys: apart, touching, sharing a key, one inside the other, equal."""
    for first, last, other_first, other_last in product(range(4), repeat=4):
        if first <= last and other_first <= other_last:
            files = [file("a", (first, last), level=2), file("b", (other_first, other_last), level=2)]
            assert is_refused_by_us(files) == is_refused_by_java(oracle, files), files


def test_sections_agree_and_need_as_few_runs(oracle: Oracle) -> None:
    rng = Random(2)
    trees = [random_files(rng) for _ in range(3000)]
    ours = [
        section_links(files, [[names(run) for run in section.runs] for section in partition_sections(files)])
        for files in trees
    ]
    replies = oracle.sections({"files": [java_file(file) for file in files]} for files in trees)
    java = [section_links(files, sections) for files, sections in zip(trees, replies, strict=True)]
    assert_agreement(trees, ours, java)


class TestPicks:
    def test_of_random_trees_agree(self, oracle: Oracle) -> None:
        rng = Random(3)
        assert_picks_agree(oracle, random_questions(rng, 3000))

    def test_at_the_very_limits_of_the_triggers_agree(self, oracle: Oracle) -> None:
        rng = Random(4)
        assert_picks_agree(oracle, [question_at_the_limits(rng) for _ in range(3000)])

    def test_of_every_hour_of_off_peak_windows_agree(self, oracle: Oracle) -> None:
        """The second run is taken only while the ratio is relaxed."""
        files = stack((0, 100), (0, 150))
        questions = [
            Question(
                files,
                MergeTreeOptions(
                    run_trigger=2, size_amplification_percent=10_000, off_peak=OffPeak(start, end, 100)
                ),
                MIDNIGHT + timedelta(hours=hour),
            )
            for start in range(24)
            for end in (0, 1, 6, 12, 23, 24)
            for hour in range(24)
        ]
        assert_picks_agree(oracle, questions)

    def test_of_the_random_questions_reach_every_trigger(self) -> None:
        rng = Random(3)
        picks = [question.our_pick() for question in random_questions(rng, 3000)]
        fired = Counter(pick.verdict.trigger if pick else None for pick in picks)
        assert all(fired[trigger] > 20 for trigger in (None, *Trigger)), fired


@pytest.mark.parametrize("strategy", Strategy)
def test_decisions_of_the_whole_manager_agree(oracle: Oracle, strategy: Strategy) -> None:
    questions = random_questions(Random(5), 3000)
    ours = [
        decision_of(question, plan_bucket(bucket_of(question.files), question.policy, strategy, question.now))
        for question in questions
    ]
    cases = [question.java() | {"full": strategy is Strategy.FULL} for question in questions]
    replies = oracle.manager(cases)
    java = [java_decision(question, reply) for question, reply in zip(questions, replies, strict=True)]
    assert_agreement(questions, ours, java)


def is_refused_by_us(files: Sequence[DataFile]) -> bool:
    try:
        build_levels(files, 6)
    except CorruptTable:
        return True
    return False


def is_refused_by_java(oracle: Oracle, files: Sequence[DataFile]) -> bool:
    try:
        oracle.levels([{"files": [java_file(file) for file in files]}])
    except OracleError:
        return True
    return False


def random_questions(rng: Random, count: int) -> list[Question]:
    return [Question(random_files(rng), random_policy(rng), random_moment(rng)) for _ in range(count)]


def question_at_the_limits(rng: Random) -> Question:
    """A bucket whose sizes are those that the triggers ask for, or miss or exceed them by a byte."""
    policy = random_policy(rng)
    files = random_ladder(rng, policy)
    total = sum(file.size for file in files)
    incremental = total - files[-1].size
    early = replace(
        policy.early_full,
        total_size=rng.choice((None, None, None, total, total + 1)),
        incremental_size=rng.choice((None, None, None, incremental - 1, incremental)),
    )
    return Question(files, replace(policy, early_full=early), random_moment(rng))


def assert_agreement(questions: Sequence[Any], ours: Sequence[Any], java: Sequence[Any]) -> None:
    """Shows one disagreement, that of the smallest question."""
    wrong = [trio for trio in zip(questions, ours, java, strict=True) if trio[1] != trio[2]]
    if wrong:
        question, our, their = min(wrong, key=lambda trio: len(repr(trio[0])))
        pytest.fail(f"{len(wrong)} of {len(ours)} differ:\n{question}\nours: {our}\nJava: {their}")


def assert_picks_agree(oracle: Oracle, questions: Sequence[Question]) -> None:
    picks = [question.our_pick() for question in questions]
    ours = [
        pick
        and {"output_level": pick.output_level, "files": names(f for run in pick.runs for f in run.files)}
        for pick in picks
    ]
    replies = oracle.pick(question.java() for question in questions)
    java = [reply and {name: reply[name] for name in ("output_level", "files")} for reply in replies]
    assert_agreement(questions, ours, java)


def levels_as_java_says(files: Iterable[DataFile], num_levels: int) -> dict[str, Any]:
    levels = build_levels(files, num_levels)
    return {
        "runs": [{"level": run.level, "files": names(run.files)} for run in levels.runs],
        "numberOfLevels": levels.number_of_levels,
        "nonEmptyHighestLevel": levels.highest_non_empty,
    }


def decision_of(question: Question, plan: Unit | Idle) -> dict[str, Any] | None:
    if isinstance(plan, Idle):
        return None
    return {
        "output_level": plan.output_level,
        "drop_delete": plan.drop_deletes,
        "rewrites": [
            section_links(
                question.files, [[names(run) for run in section.runs] for section in rewrite.sections]
            )
            for rewrite in plan.work.rewrites
        ],
        "upgrades": names(plan.work.upgrades),
    }


def java_decision(question: Question, reply: dict[str, Any] | None) -> dict[str, Any] | None:
    """The manager's decision in our words; a task that leaves everything in place is no decision at all."""
    if reply is None or not (reply["rewrites"] or reply["upgrades"]):
        return None
    outputs = [(rewrite["output_level"], rewrite["drop_delete"]) for rewrite in reply["rewrites"]]
    assert set(outputs) <= {(reply["output_level"], reply["drop_delete"])}
    assert {upgrade["output_level"] for upgrade in reply["upgrades"]} <= {reply["output_level"]}
    return {
        "output_level": reply["output_level"],
        "drop_delete": reply["drop_delete"],
        "rewrites": [section_links(question.files, rewrite["sections"]) for rewrite in reply["rewrites"]],
        "upgrades": [upgrade["name"] for upgrade in reply["upgrades"]],
    }


def section_links(files: Iterable[DataFile], sections: Iterable[Iterable[Sequence[str]]]) -> list[set[Link]]:
    """Sections as sets of (file, last key of the file before it in its run).

    Which of two runs that end at the same key a file joins is up to Java's heap, and so is the order of the
    runs. Everything else is compared: the files, the number of runs, and the runs where their ends differ.
    """
    ends: dict[str | None, int | None] = {file.name: key_number(file.max_key) for file in files}
    return [
        {
            (name, ends.get(before))
            for run in section
            for before, name in zip([None, *run[:-1]], run, strict=True)
        }
        for section in sections
    ]


def java_file(file: DataFile) -> dict[str, Any]:
    return {
        "name": file.name,
        "level": file.level,
        "size": file.size,
        "minKey": key_number(file.min_key),
        "maxKey": key_number(file.max_key),
        "minSequence": file.min_sequence,
        "maxSequence": file.max_sequence,
        "creationTime": file.created_millis,
        "deleteRows": file.delete_rows,
    }


def java_off_peak(off_peak: OffPeak | None, hour: int) -> dict[str, int] | None:
    if off_peak is None:
        return None
    return {"start": off_peak.start_hour, "end": off_peak.end_hour, "ratio": off_peak.ratio, "hour": hour}
