"""Texts of reasons: exact, with all figures, so that people and their alerts can rely on them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lithify.controller.deciding.decision_input import Decision, Due
from lithify.controller.deciding.failing import AttemptFailure
from lithify.controller.deciding.reasons import (
    CommitsReached,
    DueReason,
    HoldReason,
    IntervalNotOver,
    IntervalOver,
    LimitReached,
    LittleGain,
    NamespaceRuns,
    NotDue,
    NothingFound,
    NotReady,
    OlderLakeTable,
    OperatorRuns,
    PolicyBytes,
    PolicyInvalid,
    PolicyMissing,
    PolicyRuns,
    PolicySuspended,
    Requested,
    RunActive,
    RunCancelled,
    RunsFailed,
    ScheduledTime,
    TableSuspended,
    TriggerFired,
    WindowClosed,
)
from lithify.controller.deciding.sentences import due_text, hold_text, why_text
from lithify.formats.protocol.observation import CommitCount
from lithify.resources.compaction import Reason, RunStrategy
from lithify.resources.windows import Day, Window
from support.cases import case
from support.deciding.situations import NOON, QUIET, SORTED_RUNS, UNREACHABLE

UNTIL = NOON + timedelta(minutes=10)
NIGHTS = Window(start="22:00", end="06:00", days=(Day.FRIDAY, Day.SATURDAY))
LOST = AttemptFailure(2, "DriverLost", "gone.", Reason.BACKING_OFF, is_lasting=True, next_attempt=UNTIL)


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (
            Requested("today", RunStrategy.MINOR, is_understood=True),
            "Requested: the annotation requested-at is today",
        ),
        (
            Requested("today", RunStrategy.MINOR, is_understood=False),
            (
                "Requested: the annotation requested-at is today, requested-strategy is neither Minor nor "
                "Full: Minor is used"
            ),
        ),
        (
            IntervalOver(86400, NOON),
            "Interval: a full compaction is due every 1 d, the last one was at 2026-03-10 12:00:00 UTC",
        ),
        (IntervalOver(60, None), "Interval: a full compaction is due every 1 min, there was none yet"),
        (ScheduledTime(NOON), "Schedule: a full compaction was due at 2026-03-10 12:00:00 UTC"),
        (
            CommitsReached(CommitCount(5, 5, "commits.wanted")),
            "Commits: 5 commits since the last full compaction, commits.wanted is 5",
        ),
        (
            TriggerFired(replace(SORTED_RUNS, buckets=3)),
            "SortedRuns: bucket 3 of dt=2026-01-02 has 9 sorted runs, the trigger is 5 (and 2 more like it)",
        ),
    ],
)
def test_due_reason_begins_with_its_trigger(reason: DueReason, text: str) -> None:
    assert due_text(Due(RunStrategy.FULL, reason)) == text


@pytest.mark.parametrize(
    ("held", "text"),
    [
        (TableSuspended(), "spec.suspend of the LakeTable is true"),
        (NotReady(UNREACHABLE), "http://catalog did not answer"),
        (PolicyMissing("nightly"), "there is no CompactionPolicy nightly; create it or change policyRef"),
        (
            PolicyInvalid("nightly", "bad zone"),
            "CompactionPolicy nightly cannot be followed: bad zone",
        ),
        (PolicySuspended("nightly"), "spec.suspend of CompactionPolicy nightly is true"),
        (RunActive("orders-7", None), "Compaction orders-7 is active"),
        (
            RunActive("orders-7", LOST),
            (
                "Compaction orders-7 is active, but attempt 2 failed with DriverLost: gone; the next one "
                "starts at 2026-03-10 12:10:00 UTC"
            ),
        ),
        (OlderLakeTable("older"), "LakeTable older is older and is for the same table"),
        (
            RunsFailed(2, UNTIL),
            "2 compactions failed in a row; the next one starts no earlier than 2026-03-10 12:10:00 UTC",
        ),
        (
            NothingFound("orders-6", UNTIL),
            (
                "Compaction orders-6 found nothing to do, and nothing has been written since; the next one "
                "starts once something is written, or at 2026-03-10 12:10:00 UTC"
            ),
        ),
        (
            RunCancelled("orders-6", UNTIL),
            (
                "Compaction orders-6 was cancelled; the next one starts once the table, the LakeTable or its "
                "policy changes, one is requested, or at 2026-03-10 12:10:00 UTC"
            ),
        ),
        (
            IntervalNotOver("orders-6", NOON, 600, UNTIL),
            (
                "Compaction orders-6 ended at 2026-03-10 12:00:00 UTC and minIntervalSeconds is 600, so the "
                "next one starts no earlier than 2026-03-10 12:10:00 UTC"
            ),
        ),
        (
            LittleGain(4000, 10, 50, 64 << 20),
            "it would read 3.9Ki and remove at most 10 files; minGain requires 50 files or 64.0Mi",
        ),
        (
            WindowClosed(NIGHTS, "Europe/Berlin"),
            "the next window is 22:00 to 06:00 Europe/Berlin on Fri, Sat",
        ),
        (LimitReached(OperatorRuns(4)), "the operator's limit of 4 active runs is reached"),
        (LimitReached(NamespaceRuns(4)), "the limit of 4 active runs in a namespace is reached"),
        (
            LimitReached(PolicyRuns("nightly", 4)),
            "CompactionPolicy nightly's limit of 4 active runs is reached",
        ),
        (
            LimitReached(PolicyBytes("nightly", 1 << 30)),
            "CompactionPolicy nightly allows 1.0Gi an hour, which its runs have used",
        ),
    ],
)
def test_hold_names_its_object_and_figures(held: HoldReason, text: str) -> None:
    assert hold_text(held) == text


DUE = Due(RunStrategy.MINOR, TriggerFired(SORTED_RUNS))
FIRED = "SortedRuns: bucket 3 of dt=2026-01-02 has 9 sorted runs, the trigger is 5"
IDLE = NotDue(QUIET, full_gains=True, next_full=None)


@pytest.mark.parametrize(
    ("decision", "text"),
    [
        case(Decision(DUE, None, None), FIRED, id="it starts"),
        case(
            Decision(DUE, None, TableSuspended()),
            f"{FIRED}; held back: spec.suspend of the LakeTable is true",
            id="due, and held back",
        ),
        case(Decision(None, IDLE, None), "at most 3 sorted runs in a bucket, due above 5", id="not due"),
        case(
            Decision(None, IDLE, TableSuspended()),
            "spec.suspend of the LakeTable is true; at most 3 sorted runs in a bucket, due above 5",
            id="held back anyway",
        ),
        case(
            Decision(None, NotDue(None, full_gains=True, next_full=None), NotReady(UNREACHABLE)),
            "http://catalog did not answer",
            id="a table that cannot be observed says only that",
        ),
    ],
)
def test_why_has_what_is_due_and_what_holds_it_back(decision: Decision, text: str) -> None:
    assert why_text(decision) == text
