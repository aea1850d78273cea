"""What is due, what holds it back, in which order; and that nothing changes before `wake`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.controller.deciding.decide import decide
from lithify.controller.deciding.decision_input import Decision, DecisionInput
from lithify.controller.deciding.due_compactions import MOST_PARTITIONS, handled_request
from lithify.controller.deciding.hold_reasons import held_until
from lithify.controller.deciding.reasons import Hold, OperatorRuns
from lithify.controller.deciding.sentences import why_text
from lithify.formats.protocol.model import BlockedGroup
from lithify.formats.protocol.observation import Finding, Observation
from lithify.resources.compaction import RunStrategy
from lithify.resources.policy import CompactionPolicySpec
from lithify.resources.table import CancelledRun, LakeTableStatus, RunSummary
from support.cases import case
from support.deciding.situations import (
    BRIEFLY,
    BUSY,
    CREATED,
    FLAT,
    NOON,
    QUIET,
    REFUSED,
    UNREACHABLE,
    moments,
    policy,
    situation,
    situations,
)

SECOND = timedelta(seconds=1)
HOUR = timedelta(hours=1)
DAILY = policy(full={"intervalSeconds": 86400})
RECENTLY = LakeTableStatus(last_full_time=NOON - HOUR)
NIGHTLY = policy(timeZone="Europe/Berlin", full={"schedule": "30 2 * * *"})
PROMISED = datetime.fromisoformat("2026-03-10T01:30:00+00:00")
CLOSED = policy(timeZone="Europe/Berlin", windows=[{"start": "22:00", "end": "06:00"}])
OPENS = datetime.fromisoformat("2026-03-10T21:00:00+00:00")
FULL_OPERATOR = OperatorRuns(4)
FAILED = LakeTableStatus(consecutive_failures=2, held_until=NOON + timedelta(seconds=90))


class TestDue:
    @pytest.mark.parametrize(
        ("asked", "trigger", "strategy"),
        [
            case(situation(QUIET), None, None, id="nothing"),
            case(situation(BUSY), "SortedRuns", RunStrategy.MINOR, id="a finding"),
            case(situation(QUIET, DAILY), "Interval", RunStrategy.FULL, id="the interval is over"),
            case(situation(QUIET, DAILY, status=RECENTLY), None, None, id="the interval is not over"),
            case(
                situation(BUSY, DAILY), "Interval", RunStrategy.FULL, id="a full one goes before a minor one"
            ),
            case(
                situation(replace(QUIET, full_bytes=0), DAILY), None, None, id="a full one would gain nothing"
            ),
            case(
                situation(QUIET, NIGHTLY, status=LakeTableStatus(next_full_time=PROMISED)),
                "Schedule",
                RunStrategy.FULL,
                id="a time of the schedule has come",
            ),
            case(situation(QUIET, NIGHTLY), None, None, id="no time of the schedule was promised"),
            case(situation(QUIET, requested="a"), "Requested", RunStrategy.MINOR, id="asked for"),
            case(
                situation(BUSY, DAILY, requested="a"),
                "Requested",
                RunStrategy.MINOR,
                id="asked for goes first",
            ),
            case(
                situation(QUIET, requested="a", requested_strategy="Full"),
                "Requested",
                RunStrategy.FULL,
                id="asked for in full",
            ),
            case(
                situation(QUIET, requested="a", requested_strategy=" full "),
                "Requested",
                RunStrategy.FULL,
                id="whatever the case",
            ),
            case(
                situation(QUIET, requested="a", requested_strategy="all"),
                "Requested",
                RunStrategy.MINOR,
                id="a strategy that there is not counts as minor",
            ),
            case(
                situation(QUIET, requested="a", status=LakeTableStatus(handled_request="b")),
                "Requested",
                RunStrategy.MINOR,
                id="another request was acted upon",
            ),
            case(
                situation(
                    QUIET, requested="a\x1b\u202e", status=LakeTableStatus(handled_request=r"a\x1b\u202e")
                ),
                None,
                None,
                id="this request was acted upon, as status shows it",
            ),
            case(
                situation(QUIET, requested="a", status=LakeTableStatus(handled_request="a")),
                None,
                None,
                id="this request was acted upon",
            ),
            case(situation(QUIET, requested=""), None, None, id="an empty request is none"),
            case(
                situation(
                    QUIET,
                    requested="a" * 300,
                    status=LakeTableStatus(handled_request=handled_request("a" * 300)),
                ),
                None,
                None,
                id="a request that is too long to be echoed was acted upon",
            ),
        ],
    )
    def test_a_run_is_due_for_the_first_trigger_that_fired(
        self, asked: DecisionInput, trigger: str | None, strategy: RunStrategy | None
    ) -> None:
        decision = decide(asked, NOON)
        due = decision.due
        assert (due and due.reason.trigger, due and due.strategy) == (trigger, strategy)
        assert decision.start == due

    @pytest.mark.parametrize(
        ("seen", "said"),
        [
            case(QUIET, ["at most 3 sorted runs", "above 5"], id="runs and the trigger"),
            case(FLAT, ["no trigger fires;"], id="no figure is near to a trigger"),
            case(replace(QUIET, files=0), ["no files"], id="an empty table"),
            case(replace(QUIET, waits=("a", "b")), ["; a; b;"], id="what files wait for"),
            case(
                replace(QUIET, full_bytes=0, full_wait="it waits"),
                ["; it waits"],
                id="what a full one waits for",
            ),
            case(
                replace(QUIET, blocked=(BlockedGroup("bucket-0", True, "broken", "f"),)),
                ["1 group left out because of BucketsBlocked"],
                id="blocked buckets",
            ),
            case(replace(QUIET, full_bytes=0), ["nothing to do"], id="nothing for a full one"),
        ],
    )
    def test_why_nothing_is_due_is_said_in_numbers(self, seen: Observation, said: list[str]) -> None:
        message = why_text(decide(situation(seen, DAILY, status=RECENTLY), NOON))
        assert [text for text in said if text not in message] == []

    @pytest.mark.parametrize(
        ("finding", "said"),
        [
            case(
                BUSY.findings[0],
                "SortedRuns: bucket 3 of dt=2026-01-02 has 9 sorted runs, the trigger is 5",
                id="one bucket",
            ),
            case(
                Finding("SizeAmplification", "bucket-0", "in bucket 0, newer runs have 9 bytes", 3, 1),
                "SizeAmplification: in bucket 0, newer runs have 9 bytes (and 2 more like it)",
                id="and others",
            ),
        ],
    )
    def test_the_strongest_finding_is_named(self, finding: Finding, said: str) -> None:
        assert why_text(decide(situation(replace(QUIET, findings=(finding,))), NOON)) == said


A, B = {"dt": "a"}, {"dt": "b"}
FILTERED = {"partitions": [A, B], "full": {"intervalSeconds": 60}}


class TestPartitions:
    @pytest.mark.parametrize(
        ("seen", "fields", "asked", "partitions", "size"),
        [
            case(BUSY, {}, {}, (), 4000, id="all that is due"),
            case(
                replace(BUSY, partitions_due=(A,)), {"partitions": [A, B]}, {}, (A,), 4000, id="some are due"
            ),
            case(BUSY, {"partitions": [A, B]}, {}, (A, B), 4000, id="the filter, if none is named"),
            case(replace(QUIET, full_partitions=(B,)), FILTERED, {}, (B,), 8000, id="full: those that gain"),
            case(QUIET, FILTERED, {}, (A, B), 8000, id="full: the filter, if none is named"),
            case(
                replace(QUIET, full_partitions=(B,)),
                {**FILTERED, "partitionIdleSeconds": 60},
                {"requested": "a", "requested_strategy": "Full"},
                (A, B),
                9000,
                id="asked for in full: busy ones, too",
            ),
            case(
                replace(BUSY, partitions_due=(A,)),
                {"partitions": [A, B]},
                {"requested": "a"},
                (A,),
                4000,
                id="asked for: those that are due",
            ),
            case(QUIET, {}, {"requested": "a"}, (), 0, id="asked for: all"),
            case(
                replace(BUSY, findings=BUSY.findings * 3),
                {},
                {},
                (),
                9000,
                id="never more bytes than the table has",
            ),
        ],
    )
    def test_which_and_how_much(
        self,
        seen: Observation,
        fields: Mapping[str, Any],
        asked: Mapping[str, Any],
        partitions: tuple[Mapping[str, str], ...],
        size: int,
    ) -> None:
        due = decide(situation(seen, policy(**fields), **asked), NOON).due
        assert due is not None
        assert (due.partitions, due.bytes) == (partitions, size)

    def test_no_idle_partition_does_not_mean_all_of_them(self) -> None:
        spec = policy(full={"intervalSeconds": 60}, partitionIdleSeconds=60)
        assert decide(situation(QUIET, spec), NOON).due is None
        assert decide(situation(replace(QUIET, full_partitions=(A,)), spec), NOON).due is not None

    def test_a_compaction_names_no_more_than_its_schema_allows(self) -> None:
        many = tuple({"dt": str(day)} for day in range(MOST_PARTITIONS + 1))
        due = decide(situation(replace(BUSY, partitions_due=many)), NOON).due
        assert due is not None
        assert due.partitions == many[:-1]


EVERYTHING: dict[str, Any] = {
    "suspend": True,
    "problem": UNREACHABLE,
    "active": "orders-7-k2x9q",
    "limit": FULL_OPERATOR,
    "duplicate_of": "older",
    "status": FAILED,
    "policy_problem": "no such zone",
}
"""Each of these holds a table back; without the first, the second does, and so on."""


class TestHolds:
    @pytest.mark.parametrize(
        ("without", "spec", "hold"),
        [
            case([], replace(CLOSED, suspend=True), Hold.SUSPENDED, id="suspended"),
            case(["suspend"], replace(CLOSED, suspend=True), Hold.NOT_READY, id="not ready"),
            case(["suspend", "problem"], None, Hold.POLICY_MISSING, id="no policy"),
            case(["suspend", "problem"], replace(CLOSED, suspend=True), Hold.POLICY_INVALID, id="bad policy"),
            case(
                ["suspend", "problem", "policy_problem"],
                replace(CLOSED, suspend=True),
                Hold.POLICY_SUSPENDED,
                id="suspended policy",
            ),
            case(["suspend", "problem", "policy_problem"], CLOSED, Hold.ALREADY_ACTIVE, id="active"),
            case(["suspend", "problem", "policy_problem", "active"], CLOSED, Hold.DUPLICATE, id="duplicate"),
            case(
                ["suspend", "problem", "policy_problem", "active", "duplicate_of"],
                CLOSED,
                Hold.BACK_OFF,
                id="back-off",
            ),
            case(
                ["suspend", "problem", "policy_problem", "active", "duplicate_of", "status"],
                CLOSED,
                Hold.OUTSIDE_WINDOW,
                id="outside the window",
            ),
            case(
                ["suspend", "problem", "policy_problem", "active", "duplicate_of", "status"],
                policy(),
                Hold.CONCURRENCY_LIMIT,
                id="limit",
            ),
            case([*EVERYTHING], policy(), None, id="nothing"),
        ],
    )
    def test_the_first_in_order_is_named(
        self, without: list[str], spec: CompactionPolicySpec | None, hold: Hold | None
    ) -> None:
        fields = {name: value for name, value in EVERYTHING.items() if name not in without}
        decision = decide(replace(situation(BUSY, **fields), policy=spec), NOON)
        assert decision.hold == hold
        assert decision.waits_for_slot == (hold is Hold.CONCURRENCY_LIMIT)
        assert (decision.start is None) == (hold is not None)

    @pytest.mark.parametrize(
        ("asked", "hold"),
        [
            case(situation(None), Hold.NOT_READY, id="never seen"),
            case(situation(REFUSED), Hold.NOT_READY, id="refused"),
            case(situation(QUIET, problem=UNREACHABLE), Hold.NOT_READY, id="cannot be seen"),
            case(situation(QUIET, policy(suspend=True)), Hold.POLICY_SUSPENDED, id="policy suspended"),
            case(replace(situation(QUIET), policy=None), Hold.POLICY_MISSING, id="policy missing"),
            case(situation(QUIET, active="orders-7"), Hold.ALREADY_ACTIVE, id="active"),
            case(situation(QUIET, duplicate_of="older"), Hold.DUPLICATE, id="a duplicate"),
            case(situation(QUIET, status=FAILED), None, id="back-off holds only what is due"),
            case(situation(QUIET, CLOSED), None, id="windows hold only what is due"),
            case(situation(QUIET, limit=FULL_OPERATOR), None, id="limits hold only what is due"),
        ],
    )
    def test_when_nothing_is_due(self, asked: DecisionInput, hold: Hold | None) -> None:
        decision = decide(asked, NOON)
        assert (decision.due, decision.hold, decision.start) == (None, hold, None)
        assert why_text(decision)

    @pytest.mark.parametrize(
        ("fields", "spec", "hold"),
        [
            case({}, CLOSED, None, id="not for a window"),
            case({"duplicate_of": "older"}, policy(), None, id="not for an older LakeTable of the table"),
            case({"status": FAILED}, policy(), None, id="not for the end of a back-off"),
            case({"suspend": True}, policy(), Hold.SUSPENDED, id="for a suspended table"),
            case({"problem": UNREACHABLE}, policy(), Hold.NOT_READY, id="for a table that cannot be seen"),
            case({}, None, Hold.POLICY_MISSING, id="for a policy that is missing"),
            case({"policy_problem": "?"}, policy(), Hold.POLICY_INVALID, id="for a policy that is invalid"),
            case({}, policy(suspend=True), Hold.POLICY_SUSPENDED, id="for a policy that is suspended"),
            case({"active": "orders-7"}, policy(), Hold.ALREADY_ACTIVE, id="for the run that is active"),
            case({"limit": FULL_OPERATOR}, policy(), Hold.CONCURRENCY_LIMIT, id="for limits"),
        ],
    )
    def test_what_a_request_waits_for(
        self, fields: Mapping[str, Any], spec: CompactionPolicySpec | None, hold: Hold | None
    ) -> None:
        decision = decide(replace(situation(QUIET, requested="now", **fields), policy=spec), NOON)
        assert decision.due is not None
        assert (decision.due.reason.trigger, decision.hold) == ("Requested", hold)

    @pytest.mark.parametrize(
        ("until", "hold", "wake"),
        [
            case(NOON, None, None, id="over to the second"),
            case(NOON + SECOND, Hold.BACK_OFF, NOON + SECOND, id="one more second"),
            case(
                NOON + timedelta(seconds=601), Hold.BACK_OFF, NOON + timedelta(seconds=601), id="the longest"
            ),
            case(NOON + timedelta(seconds=602), None, NOON + SECOND, id="longer than any: a wrong clock"),
        ],
    )
    def test_a_table_is_held_until_its_back_off_ends(
        self, until: datetime, hold: Hold | None, wake: datetime | None
    ) -> None:
        decision = decide(situation(BUSY, status=LakeTableStatus(held_until=until)), NOON)
        assert (decision.hold, decision.wake) == (hold, wake)

    @pytest.mark.parametrize(
        ("reason", "strategy", "age", "hold"),
        [
            case("NothingToDo", "Minor", 600, Hold.BACK_OFF, id="in vain, and nothing written since"),
            case("NothingToDo", "Minor", 601, None, id="in vain, but long ago"),
            case("NothingToDo", "Minor", -5, None, id="in vain, by a clock that is ahead"),
            case("NothingToDo", "Full", 600, None, id="another strategy"),
            case("Compacted", "Minor", 600, None, id="not in vain"),
        ],
    )
    def test_a_run_is_held_back_after_one_in_vain(
        self, reason: str, strategy: str, age: int, hold: Hold | None
    ) -> None:
        last = RunSummary(
            name="orders-6", strategy=strategy, reason=reason, completion_time=NOON - age * SECOND
        )
        written = replace(BUSY, snapshot_time=NOON - 601 * SECOND)
        asked = situation(written, status=LakeTableStatus(last_compaction=last))
        assert decide(asked, NOON).hold == hold

    def test_a_run_in_vain_holds_back_nothing_that_was_written_since(self) -> None:
        last = RunSummary(name="orders-6", strategy="Minor", reason="NothingToDo", completion_time=NOON)
        asked = situation(BUSY, status=LakeTableStatus(last_compaction=last))
        assert decide(asked, NOON).hold is Hold.BACK_OFF
        written = replace(BUSY, snapshot_time=NOON + SECOND)
        assert decide(replace(asked, observation=written), NOON).hold is None

    @pytest.mark.parametrize(
        ("changes", "hold"),
        [
            case({}, Hold.CANCELLED, id="nothing has changed"),
            case({"spec": policy(full={"intervalSeconds": 60})}, Hold.CANCELLED, id="a full one is due"),
            case({"policy_generation": 3}, None, id="the policy has changed"),
            case({"table": {"generation": 2}}, None, id="the LakeTable has changed"),
            case({"requested": "now"}, None, id="somebody asks for one"),
            case({"written": SECOND}, None, id="written since"),
            case({"age": 600}, Hold.CANCELLED, id="at the end of the back-off"),
            case({"age": 601}, None, id="the back-off is over"),
        ],
    )
    def test_after_a_cancelled_run(self, changes: dict[str, Any], hold: Hold | None) -> None:
        ended = NOON - changes.pop("age", 0) * SECOND
        cancelled = CancelledRun(
            name="orders-6", completion_time=ended, table_generation=1, policy_generation=2
        )
        written = replace(BUSY, snapshot_time=NOON + changes.pop("written", -1000 * SECOND))
        status = LakeTableStatus(cancelled_run=cancelled)
        asked = situation(written, changes.pop("spec", None), status=status, policy_generation=2)
        metadata = replace(asked.table.metadata, **changes.pop("table", {}))
        asked = replace(asked, table=replace(asked.table, metadata=metadata), **changes)
        decision = decide(asked, NOON)
        assert decision.hold is hold
        if hold is not None:
            assert decision.wake == ended + 601 * SECOND
            assert "orders-6" in why_text(decision)

    def test_the_window_is_named_with_its_zone(self) -> None:
        decision = decide(situation(BUSY, CLOSED), NOON)
        assert "22:00" in why_text(decision)
        assert "Europe/Berlin" in why_text(decision)
        assert decision.wake == OPENS


class TestFullTimes:
    @pytest.mark.parametrize(
        ("asked", "next_full", "wake"),
        [
            case(situation(QUIET), None, None, id="never"),
            case(situation(QUIET, DAILY), CREATED + 24 * HOUR, None, id="due since"),
            case(
                situation(QUIET, DAILY, status=RECENTLY),
                NOON + 23 * HOUR,
                NOON + 23 * HOUR,
                id="some time after the last",
            ),
            case(situation(replace(QUIET, full_bytes=0), DAILY), None, None, id="would gain nothing"),
            case(
                situation(QUIET, NIGHTLY), PROMISED + 24 * HOUR, PROMISED + 24 * HOUR, id="at its next time"
            ),
            case(
                situation(QUIET, NIGHTLY, status=LakeTableStatus(next_full_time=PROMISED)),
                PROMISED,
                PROMISED + 24 * HOUR,
                id="promised and due",
            ),
            case(
                situation(
                    replace(QUIET, full_bytes=0), NIGHTLY, status=LakeTableStatus(next_full_time=PROMISED)
                ),
                PROMISED + 24 * HOUR,
                PROMISED + 24 * HOUR,
                id="promised and nothing to gain: the promise moves on",
            ),
            case(
                situation(
                    replace(QUIET, full_bytes=0),
                    NIGHTLY,
                    status=LakeTableStatus(next_full_time=PROMISED),
                    problem=UNREACHABLE,
                ),
                PROMISED,
                PROMISED + 24 * HOUR,
                id="promised and nobody knows what to gain: the promise stays",
            ),
        ],
    )
    def test_next_full_compaction_is_also_when_to_decide_again(
        self, asked: DecisionInput, next_full: datetime | None, wake: datetime | None
    ) -> None:
        decision = decide(asked, NOON)
        assert (decision.next_full, decision.wake) == (next_full, wake)


@st.composite
def asked_at(draw: st.DrawFn) -> tuple[DecisionInput, datetime]:
    now = draw(moments)
    return draw(situations(now)), now


class TestTime:
    @BRIEFLY
    @given(asked_at())
    def test_the_same_question_has_the_same_answer(self, asked: tuple[DecisionInput, datetime]) -> None:
        assert decide(*asked) == decide(*asked)

    @BRIEFLY
    @given(asked_at(), st.floats(0, 1), st.integers(1, 10**7))
    def test_nothing_changes_before_wake(
        self, asked: tuple[DecisionInput, datetime], share: float, seconds: int
    ) -> None:
        found, now = asked
        decision = decide(found, now)
        wake = decision.wake
        if wake is None:
            assert decide(found, now + timedelta(seconds=seconds)) == decision
            return
        assert wake > now
        between = min(now + (wake - now) * share, wake - timedelta(microseconds=1))
        assert decide(found, between) == decision
        assert decide(found, max(now, wake - SECOND)) == decision

    @BRIEFLY
    @given(asked_at())
    def test_only_what_is_due_and_not_held_back_starts(self, asked: tuple[DecisionInput, datetime]) -> None:
        found, now = asked
        decision = decide(found, now)
        if decision.start is None:
            assert why_text(decision)
            return
        assert found.policy is not None
        assert (found.policy.suspend, found.table.spec.suspend) == (False, False)
        assert (found.active, found.problem, found.limit) == (None, None, None)
        assert found.observation is not None
        assert not found.observation.refusals

    @pytest.mark.thorough
    @BRIEFLY
    @given(asked_at())
    def test_asking_at_each_wake_starts_what_a_table_is_owed(
        self, asked: tuple[DecisionInput, datetime]
    ) -> None:
        """Going from wake to wake, as the operator does, something due is held back for good or starts."""
        found, now = asked
        found = replace(found, active=None, problem=None, limit=None, observation=BUSY)
        decision = decide(found, now)
        for _ in range(200):
            if decision.start is not None or decision.wake is None:
                break
            now = decision.wake
            status = replace(found.table.status, next_full_time=decision.next_full)
            found = replace(found, table=replace(found.table, status=status))
            decision = decide(found, now)
        assert decision.start is not None or is_held_for_good(decision)


def is_held_for_good(decision: Decision) -> bool:
    return decision.hold in {Hold.SUSPENDED, Hold.POLICY_MISSING, Hold.POLICY_SUSPENDED}


class TestHeldUntil:
    SPEC = policy(retries={"backoffSeconds": 10, "maxBackoffSeconds": 100, "infrastructure": 0})

    def test_begins_where_the_retries_of_a_run_ended(self) -> None:
        until = held_until(1, policy(retries={"backoffSeconds": 10, "infrastructure": 3}), "u-1", NOON)
        assert until is not None
        assert 60 <= (until - NOON).total_seconds() <= 81

    def test_no_failure_holds_nothing(self) -> None:
        assert held_until(0, self.SPEC, "u-1", NOON) is None

    @pytest.mark.parametrize(("failures", "longest"), [(1, 10), (2, 20), (4, 80), (5, 100), (10**6, 100)])
    def test_doubles_up_to_the_longest(self, failures: int, longest: int) -> None:
        waits = []
        for seed in range(50):
            until = held_until(failures, self.SPEC, str(seed), NOON)
            assert until is not None
            waits.append((until - NOON).total_seconds())
        assert min(waits) > longest * 0.75
        assert max(waits) <= longest + 1
        assert len(set(waits)) > 1

    def test_is_the_same_again(self) -> None:
        assert held_until(3, self.SPEC, "u-1", NOON) == held_until(3, self.SPEC, "u-1", NOON)

    @given(st.integers(1, 40), st.text(), moments)
    def test_is_believed_by_decide(self, failures: int, seed: str, now: datetime) -> None:
        until = held_until(failures, self.SPEC, seed, now)
        assert until is not None
        status = LakeTableStatus(held_until=until, consecutive_failures=failures)
        decision = decide(situation(BUSY, self.SPEC, status=status), now)
        assert (decision.hold, decision.wake) == (Hold.BACK_OFF, until)
