"""Who shares a driver: groups keep their bounds, leave nobody out, and never wait for ever."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.controller.deciding.admission import Active, Caps, PolicyLimits, Pool, Waiting, admit
from lithify.controller.deciding.decision_input import Due
from lithify.controller.deciding.reasons import Requested, TriggerFired
from lithify.controller.deciding.sharing import (
    Candidate,
    bytes_of_sharing,
    group,
    pool_of,
    shared_bytes,
)
from lithify.resources.compaction import (
    AutomaticRun,
    Compaction,
    CompactionSpec,
    CompactionStatus,
    FailureCounts,
    RunStrategy,
)
from lithify.resources.names import LABEL_TABLE, ObjectKey
from lithify.resources.objects import Metadata, Reference
from lithify.resources.policy import Approval, SharedRuns
from support.cases import case
from support.deciding.situations import BRIEFLY, NOON, SORTED_RUNS, policy, table

SECOND = timedelta(seconds=1)
MIB = 1 << 20
RULES = SharedRuns(max_tables=3, max_bytes="10Mi", max_table_bytes="5Mi", wait_seconds=30)
SHARING = replace(policy(), shared_runs=RULES)
REQUESTED = Requested("now", RunStrategy.MINOR, is_understood=True)
SMALL = Due(RunStrategy.MINOR, TriggerFired(SORTED_RUNS), bytes=MIB)


def ready(name: str, age: int = 0, size: int = MIB) -> Candidate:
    return Candidate(ObjectKey("lake", name), NOON - age * SECOND, size)


def names(candidates: list[Candidate]) -> list[list[str]]:
    return [[one.key.name for one in each] for each in group(candidates, RULES, NOON).groups]


OWN = AutomaticRun(shared_bytes=1000)
CLAIMED = {"lithify.dev/shared-run-bytes": "1"}


def compaction(record: AutomaticRun | None = OWN, attempts: int = 0, **spec: Any) -> Compaction:
    """A run with all that its author may write to look like one of the operator's."""
    metadata = Metadata(
        name="orders-1", namespace="lake", labels={LABEL_TABLE: "orders"}, annotations=CLAIMED
    )
    made = CompactionSpec(table_ref=Reference(name="orders"), **spec)
    status = CompactionStatus(attempts=attempts, automatic=record)
    return Compaction(metadata=metadata, spec=made, status=status)


class TestGroups:
    @pytest.mark.parametrize(
        ("candidates", "groups"),
        [
            case([], [], id="nobody"),
            case([ready("a", 29)], [], id="it waits for others"),
            case([ready("a", 30)], [["a"]], id="alone when nobody comes"),
            case([ready("a", 30), ready("b", 0)], [["a", "b"]], id="with who has come by then"),
            case([ready("a"), ready("b"), ready("c")], [["a", "b", "c"]], id="full at once"),
            case([ready("a"), ready("b"), ready("c"), ready("d")], [["a", "b", "c"]], id="the fourth waits"),
            case([ready("a", 2, 6 * MIB), ready("b", 1, 6 * MIB)], [["a"]], id="too large together"),
            case([ready("b", 1), ready("a", 2), ready("c", 3)], [["c", "a", "b"]], id="by their wait"),
        ],
    )
    def test_runs_start_together_within_the_limits_of_a_group(
        self, candidates: list[Candidate], groups: list[list[str]]
    ) -> None:
        assert names(candidates) == groups

    @BRIEFLY
    @given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), max_size=12))
    def test_bounds_are_kept_and_nobody_is_left_out(self, drawn: list[tuple[int, int]]) -> None:
        candidates = [ready(f"r{n:02}", age, size * MIB) for n, (age, size) in enumerate(drawn)]
        found = group(candidates, RULES, NOON)
        for each in found.groups:
            assert 1 <= len(each) <= RULES.max_tables
            assert len(each) == 1 or sum(one.bytes for one in each) <= 10 * MIB
        started = [one for each in found.groups for one in each]
        assert len(set(started)) == len(started)
        rest = [one for one in candidates if one not in started]
        assert (found.until is None) == (not rest)
        if found.until is not None:
            assert NOON < found.until <= NOON + 30 * SECOND
            later = group(rest, RULES, found.until)
            assert sorted(one.key for each in later.groups for one in each) == sorted(one.key for one in rest)


class TestWhoMayShare:
    @pytest.mark.parametrize(
        ("spec", "due", "runs", "expected"),
        [
            case(SHARING, SMALL, (), MIB, id="a small table"),
            case(policy(), SMALL, (), None, id="a policy without shared runs"),
            case(replace(SHARING, approval=Approval.MANUAL), SMALL, (), None, id="with approval"),
            case(SHARING, replace(SMALL, bytes=5 * MIB + 1), (), None, id="too large"),
            case(SHARING, replace(SMALL, bytes=0), (), None, id="of unknown size"),
            case(SHARING, replace(SMALL, reason=REQUESTED), (), None, id="a person asked for it"),
            case(SHARING, replace(SMALL, partitions=({"dt": "1"},) * 17), (), None, id="many partitions"),
            case(SHARING, SMALL, (FailureCounts(out_of_memory=1),), None, id="ran out of memory before"),
            case(SHARING, SMALL, (FailureCounts(bug=1),), None, id="failed unexpectedly before"),
            case(SHARING, SMALL, (FailureCounts(infrastructure=1),), None, id="its driver died before"),
            case(SHARING, SMALL, (FailureCounts(user=1, conflict=2),), MIB, id="other failures do not count"),
        ],
    )
    def test_only_small_runs_of_the_operator_may_share(
        self, spec: Any, due: Due, runs: tuple[FailureCounts, ...], expected: int | None
    ) -> None:
        earlier = [
            replace(compaction(), status=CompactionStatus(attempts=2, failures=counts)) for counts in runs
        ]
        assert shared_bytes(table(), spec, earlier, due) == expected

    @pytest.mark.parametrize(
        ("run", "expected"),
        [
            case(compaction(), 1000, id="the first attempt"),
            case(compaction(attempts=1), None, id="later attempts are alone"),
            case(compaction(None), None, id="a person's, with label and annotation"),
            case(
                compaction(None, strategy=RunStrategy.FULL, partitions=({"dt": "1"},) * 200),
                None,
                id="a person's full run of 200 partitions that claims one byte",
            ),
            case(compaction(AutomaticRun()), None, id="the operator's, too large to share"),
            case(compaction(cancel=True), None, id="cancelled"),
            case(compaction(suspend=True), None, id="suspended"),
            case(compaction(dry_run=True), None, id="a dry run"),
            case(compaction(approval=Approval.MANUAL), None, id="to be approved"),
        ],
    )
    def test_only_first_attempts_without_wishes_share(self, run: Compaction, expected: int | None) -> None:
        assert bytes_of_sharing(run) == expected

    def test_pools_are_apart_by_catalog_policy_and_time_zone(self) -> None:
        pools = [
            pool_of(table(), SHARING, 1),
            pool_of(table(policyRef={"name": "other"}), SHARING, 1),
            pool_of(table(catalogRef={"name": "other"}), SHARING, 1),
            pool_of(table(timeZone="Europe/Berlin"), SHARING, 1),
        ]
        assert None not in pools
        assert len(set(pools)) == len(pools)
        assert (pool_of(table(), SHARING, None), pool_of(table(), policy(), 1)) == (None, None)


class TestSlots:
    POLICY = ObjectKey("lake", "small")
    POOL = Pool(("lake", "warehouse", "small"), 3, 10 * MIB)

    def waits(self, name: str, size: int = MIB, pool: Pool | None = POOL) -> Waiting:
        return Waiting(ObjectKey("lake", name), 100, NOON, self.POLICY, size, pool)

    def runs(self, name: str, pool: Pool | None = None, driver: str = "") -> Active:
        return Active(ObjectKey("lake", name), self.POLICY, MIB, NOON, pool, driver)

    @pytest.mark.parametrize(
        ("active", "waiting", "admitted"),
        [
            case([], "abcd", "abc", id="three tables take one slot"),
            case(["x"], "abc", "ab", id="with one that waits for others already"),
            case(["driver"], "ab", "", id="a driver that has begun takes nobody in"),
        ],
    )
    def test_runs_that_share_a_driver_share_a_slot(
        self, active: list[str], waiting: str, admitted: str
    ) -> None:
        known = [
            self.runs(name, self.POOL if name == "x" else None, "" if name == "x" else name)
            for name in active
        ]
        limits = {self.POLICY: PolicyLimits(active_runs=1)}
        found = admit(map(self.waits, waiting), known, [], Caps(), limits, NOON)
        assert "".join(key.name for key in found.admitted) == admitted

    def test_runs_of_one_driver_count_once(self) -> None:
        known = [self.runs(name, driver="lead") for name in "abc"]
        limits = {self.POLICY: PolicyLimits(active_runs=2)}
        found = admit(
            [self.waits("d", pool=None), self.waits("e", pool=None)], known, [], Caps(), limits, NOON
        )
        assert [key.name for key in found.admitted] == ["d"]

    @BRIEFLY
    @given(
        st.lists(st.tuples(st.booleans(), st.integers(0, 12)), max_size=14),
        st.integers(1, 4),
    )
    def test_slots_suffice_for_the_drivers_that_follow(
        self, drawn: list[tuple[bool, int]], slots: int
    ) -> None:
        waiting = [
            self.waits(f"r{n:02}", size * MIB, self.POOL if shares else None)
            for n, (shares, size) in enumerate(drawn)
        ]
        limits = {self.POLICY: PolicyLimits(active_runs=slots)}
        admitted = set(admit(waiting, [], [], Caps(), limits, NOON).admitted)
        alone = [one for one in waiting if one.key in admitted and one.pool is None]
        together = [
            Candidate(one.key, one.since, one.bytes)
            for one in waiting
            if one.key in admitted and one.pool is not None
        ]
        drivers = group(together, RULES, NOON + 60 * SECOND).groups
        assert len(alone) + len(drivers) <= slots
