"""Full compactions after a number of commits, and how often a table is looked at, where the table says so."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lithify.controller.deciding.decide import decide
from lithify.controller.deciding.limits import OperatorLimits
from lithify.controller.deciding.sentences import why_text
from lithify.controller.reconciling.addressing import poll_intervals
from lithify.formats.protocol.observation import CommitCount, Observation
from lithify.resources.catalog import CatalogSpec
from lithify.resources.compaction import RunStrategy
from lithify.resources.modelling import read
from support.cases import case
from support.deciding.situations import BUSY, NOON, QUIET, policy, situation, table

OPTION = "full-compaction.delta-commits"


def counted(seen: Observation, found: int) -> Observation:
    return replace(seen, commits=CommitCount(found, 5, OPTION))


@pytest.mark.parametrize("seen", [QUIET, BUSY], ids=["nothing else is due", "before a minor one"])
def test_a_full_compaction_is_due_after_as_many_commits(seen: Observation) -> None:
    decision = decide(situation(counted(seen, 5)), NOON)
    assert decision.start is not None
    assert (decision.start.strategy, decision.start.reason.trigger) == (RunStrategy.FULL, "Commits")
    assert all(part in why_text(decision) for part in ("5 commits", OPTION, "is 5"))


def test_before_that_the_count_stands_beside_the_reason_why_none_is_due() -> None:
    decision = decide(situation(counted(QUIET, 4)), NOON)
    assert decision.start is None
    assert "4 commits since the last full compaction" in why_text(decision)


@pytest.mark.parametrize(
    "seen",
    [
        case(replace(counted(QUIET, 5), full_bytes=0), id="a full compaction would gain nothing"),
        case(replace(counted(QUIET, 5), refusals=("bucket=-2",)), id="the table cannot be compacted"),
    ],
)
def test_none_starts_where_that_makes_no_sense(seen: Observation) -> None:
    assert decide(situation(seen), NOON).start is None


@pytest.mark.parametrize(
    ("of_table", "of_policy", "seen", "every"),
    [
        case({}, {}, None, 60, id="nobody says"),
        case({}, {}, 30, 30, id="the table's own option"),
        case({}, {"checkIntervalSeconds": 90}, 30, 90, id="the policy before the table's option"),
        case({"checkIntervalSeconds": 20}, {"checkIntervalSeconds": 90}, 30, 20, id="the LakeTable first"),
        case({}, {}, 1, 10, id="not more often than the operator allows"),
    ],
)
def test_how_often_a_table_is_looked_at(
    of_table: dict[str, int], of_policy: dict[str, int], seen: int | None, every: int
) -> None:
    catalog = read(CatalogSpec, {"format": "Paimon", "warehouse": "/lake"})
    limits = OperatorLimits(check_seconds=10)
    found = replace(QUIET, check_seconds=seen)
    assert poll_intervals(table(**of_table), policy(**of_policy), catalog, limits, found).every == every
