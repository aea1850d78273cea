"""When the operator maintains a table: which kind goes first, what lets it, and what delays it."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from lithify.controller.deciding.conditions import SNAPSHOTS_EXPIRE, table_status
from lithify.controller.deciding.decide import decide
from lithify.controller.deciding.decision_input import DecisionInput
from lithify.controller.deciding.reasons import OperatorRuns
from lithify.controller.deciding.sentences import due_text, why_text
from lithify.formats.protocol.maintenance import MaintenanceKind
from lithify.formats.protocol.observation import KeptSnapshots, MaintenanceNeed
from lithify.resources.maintenance import OrphanRemoval, RunKind
from lithify.resources.objects import condition_of
from lithify.resources.policy import CompactionPolicySpec
from lithify.resources.table import LakeTableStatus, MaintenanceRecord
from support.cases import case
from support.deciding.situations import BUSY, EXPIRY, NOON, QUIET, REFUSED, policy, situation

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
SEEN = replace(QUIET, needs=(EXPIRY,))
WRITTEN = replace(SEEN, snapshot_time=NOON)
UNASKED = replace(QUIET, needs=(replace(EXPIRY, is_asked=False),))
EXPIRE, ORPHANS, MERGE = RunKind.EXPIRE_SNAPSHOTS, RunKind.REMOVE_ORPHANS, RunKind.MERGE_MANIFESTS


def rule(kind: str, **fields: Any) -> CompactionPolicySpec:
    return policy(timeZone="UTC", maintenance={kind: fields})


def mode(name: str) -> CompactionPolicySpec:
    return rule("expireSnapshots", mode=name)


def recorded(ago: timedelta, kind: RunKind = EXPIRE, **fields: Any) -> LakeTableStatus:
    """The status after a run of a kind that ended so long ago."""
    ended = {"name": "orders-6", "reason": "Maintained", "completion_time": NOON - ago, **fields}
    return LakeTableStatus(maintenance=(MaintenanceRecord(kind=kind.value, **ended),))


def started(asked: DecisionInput, now: datetime = NOON) -> RunKind | None:
    """What is started."""
    start = decide(asked, now).start
    return None if start is None else start.kind


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        case(situation(SEEN), EXPIRE, id="the table asks and nobody says no"),
        case(situation(SEEN, mode("Never")), None, id="the policy says no"),
        case(situation(UNASKED), None, id="the writers expire snapshots themselves"),
        case(situation(UNASKED, mode("Always")), EXPIRE, id="the policy wants it nevertheless"),
        case(situation(QUIET, mode("Always")), None, id="there is nothing to expire"),
        case(situation(replace(SEEN, refusals=REFUSED.refusals)), None, id="the table is not supported"),
        case(situation(SEEN, suspend=True), None, id="the table is suspended"),
        case(situation(SEEN, policy(suspend=True)), None, id="the policy is suspended"),
        case(situation(SEEN, active="orders-7"), None, id="another run is active"),
        case(situation(SEEN, duplicate_of="older"), None, id="an older LakeTable is for the table"),
        case(situation(SEEN, limit=OperatorRuns(4)), None, id="no slot is free"),
        case(situation(None, mode("Always")), None, id="nothing is known yet"),
        case(situation(replace(BUSY, needs=(EXPIRY,))), EXPIRE, id="before a compaction by a trigger"),
        case(
            situation(replace(BUSY, needs=(EXPIRY,)), requested="now"),
            RunKind.COMPACT,
            id="after a compaction that somebody requested",
        ),
        case(situation(BUSY, mode("Never")), RunKind.COMPACT, id="compactions are not held back by it"),
        case(situation(QUIET, rule("removeOrphans")), ORPHANS, id="orphans, the first time"),
        case(situation(QUIET, rule("mergeManifests")), MERGE, id="manifests, the first time"),
    ],
)
def test_what_is_started(asked: DecisionInput, expected: RunKind | None) -> None:
    assert started(asked) is expected


@pytest.mark.parametrize(
    ("kind", "ago", "expected"),
    [
        case(EXPIRE, HOUR, True, id="snapshots after an hour"),
        case(EXPIRE, HOUR - SECOND, False, id="snapshots not before"),
        case(MERGE, 24 * HOUR, True, id="manifests after a day"),
        case(MERGE, 24 * HOUR - SECOND, False, id="manifests not before"),
        case(ORPHANS, 7 * 24 * HOUR, True, id="orphans after a week"),
        case(ORPHANS, 7 * 24 * HOUR - SECOND, False, id="orphans not before"),
    ],
)
def test_intervals_that_no_policy_sets(kind: RunKind, ago: timedelta, *, expected: bool) -> None:
    wanted = policy(maintenance={"mergeManifests": {}, "removeOrphans": {}})
    others = tuple(
        MaintenanceRecord(kind=other.value, name="orders-5", reason="Maintained", completion_time=NOON)
        for other in (EXPIRE, MERGE, ORPHANS)
        if other is not kind
    )
    status = replace(recorded(ago, kind), maintenance=(*recorded(ago, kind).maintenance, *others))
    assert (started(situation(SEEN, wanted, status=status)) is kind) is expected


def test_an_interval_of_the_policy_counts_and_wakes() -> None:
    spec = rule("expireSnapshots", intervalSeconds=600)
    asked = situation(WRITTEN, spec, status=recorded(MINUTE))
    decision = decide(asked, NOON)
    assert decision.start is None
    assert decision.wake == NOON + 9 * MINUTE
    assert started(asked, NOON + 9 * MINUTE) is EXPIRE


def test_a_schedule_counts_from_the_time_that_status_has_promised() -> None:
    """A new schedule makes nobody's table due for times in the past."""
    spec = rule("expireSnapshots", schedule="0 13 * * *")
    first = decide(situation(SEEN, spec), NOON)
    assert first.start is None
    promised = table_status(situation(SEEN, spec), first, NOON)
    (record,) = promised.maintenance
    assert (record.kind, record.next_time, record.name) == ("ExpireSnapshots", NOON + HOUR, None)
    asked = situation(SEEN, spec, status=promised)
    assert started(asked, NOON + HOUR - SECOND) is None
    assert started(asked, NOON + HOUR) is EXPIRE
    assert started(asked, NOON + 3 * HOUR) is EXPIRE, "late, if no operator ran"


def test_a_schedule_that_is_gone_promises_nothing() -> None:
    status = recorded(MINUTE, next_time=NOON + HOUR)
    asked = situation(SEEN, status=status)
    (record,) = table_status(asked, decide(asked, NOON), NOON).maintenance
    assert (record.name, record.next_time) == ("orders-6", None)


@pytest.mark.parametrize(
    ("spec", "now", "expected"),
    [
        case(
            {"maintenance": {"windows": [{"start": "22:00", "end": "06:00"}]}},
            NOON,
            None,
            id="its own window",
        ),
        case({"windows": [{"start": "22:00", "end": "06:00"}]}, NOON, None, id="the policy's window"),
        case(
            {
                "windows": [{"start": "22:00", "end": "06:00"}],
                "maintenance": {"windows": [{"start": "12:00", "end": "13:00"}]},
            },
            NOON,
            EXPIRE,
            id="its own window instead of the policy's",
        ),
    ],
)
def test_windows(spec: dict[str, Any], now: datetime, expected: RunKind | None) -> None:
    asked = situation(SEEN, policy(timeZone="UTC", **spec))
    assert started(asked, now) is expected
    if expected is None:
        assert decide(asked, now).wake == NOON + 10 * HOUR


class TestWaits:
    def test_a_failure_delays_this_kind_alone(self) -> None:
        status = recorded(MINUTE, reason="AccessDenied", held_until=NOON + MINUTE, consecutive_failures=2)
        wanted = policy(maintenance={"mergeManifests": {}, "expireSnapshots": {"intervalSeconds": 60}})
        asked = situation(WRITTEN, wanted, status=status)
        assert started(asked) is MERGE
        assert decide(asked, NOON).wake == NOON + MINUTE
        assert started(asked, NOON + MINUTE) is EXPIRE

    @pytest.mark.parametrize("reason", ["NothingToDo", "Maintained"])
    def test_a_table_that_nobody_writes_to_is_left_alone_for_a_while(self, reason: str) -> None:
        """A consumer may keep its snapshots for ever, and the observation is that of the last commit."""
        status = recorded(2 * HOUR, reason=reason)
        quiet = replace(SEEN, snapshot_time=NOON - 3 * HOUR)
        assert started(situation(quiet, status=status)) is None
        assert started(situation(quiet, status=status), NOON + 4 * HOUR) is EXPIRE
        written = replace(SEEN, snapshot_time=NOON - HOUR)
        assert started(situation(written, status=status)) is EXPIRE

    def test_a_time_that_a_wrong_clock_has_written_does_not_count(self) -> None:
        status = recorded(2 * HOUR, held_until=NOON + timedelta(days=90))
        assert started(situation(SEEN, status=status)) is EXPIRE


PARTITIONS = MaintenanceNeed(
    MaintenanceKind.EXPIRE_PARTITIONS, "partition.expiration-time is 7 d", is_asked=True
)


@pytest.mark.parametrize(
    ("zone", "spec", "expected"),
    [
        case(None, policy(), None, id="nobody has named the zone"),
        case("America/New_York", policy(), RunKind.EXPIRE_PARTITIONS, id="the zone is named"),
        case(None, rule("expirePartitions", mode="Always"), RunKind.EXPIRE_PARTITIONS, id="UTC is meant"),
    ],
)
def test_partitions_are_not_dropped_by_the_time_of_a_zone_that_nobody_named(
    zone: str | None, spec: CompactionPolicySpec, expected: RunKind | None
) -> None:
    asked = situation(replace(QUIET, needs=(PARTITIONS,)), spec)
    asked = replace(asked, table=replace(asked.table, spec=replace(asked.table.spec, time_zone=zone)))
    decision = decide(asked, NOON)
    assert started(asked) is expected
    assert ("ExpirePartitions wait until spec.timeZone" in why_text(decision)) is (expected is None)


def test_the_run_says_why_and_what() -> None:
    due = decide(situation(SEEN), NOON).start
    assert due is not None
    assert due_text(due) == "ExpireSnapshots: 120 snapshots are kept, snapshot.num-retained.max is 100"


def test_orphans_are_only_deleted_if_the_policy_says_so() -> None:
    listed = decide(situation(QUIET, rule("removeOrphans")), NOON).start
    assert listed is not None
    assert listed.orphans == OrphanRemoval(min_age_seconds=259_200, delete=False)
    deleted = decide(situation(QUIET, rule("removeOrphans", delete=True, minAgeSeconds=86_400)), NOON).start
    assert deleted is not None
    assert deleted.orphans == OrphanRemoval(min_age_seconds=86_400, delete=True)


@pytest.mark.parametrize(
    ("due", "old", "expected"),
    [
        case(0, 0, None, id="nothing"),
        case(4000, 0, "3.9Ki", id="files to compact"),
        case(0, 5 << 20, "0+5.0Mi", id="old files to delete"),
        case(4000, 5 << 20, "3.9Ki+5.0Mi", id="both"),
    ],
)
def test_debt_tells_what_only_old_snapshots_hold(due: int, old: int, expected: str | None) -> None:
    found = BUSY if due else QUIET
    seen = replace(found, needs=(replace(EXPIRY, bytes=old),) if old else ())
    asked = situation(seen, mode("Never"))
    status = table_status(asked, decide(asked, NOON), NOON)
    assert status.debt == expected
    assert ("ExpireSnapshots: 120 snapshots" in (status.due or "")) is (bool(old) and not due)


BY_WRITERS = KeptSnapshots(7, NOON, 0, writers_expire=True, operator_expires=False)
BY_OPERATOR = KeptSnapshots(7, NOON, 0, writers_expire=False, operator_expires=True)
BY_NOBODY = KeptSnapshots(7, NOON, 0, writers_expire=False, operator_expires=False)
UNABLE = KeptSnapshots(7, NOON, 0, writers_expire=False)
FAILED = recorded(MINUTE, reason="AccessDenied", message="no rights", consecutive_failures=2)


@pytest.mark.parametrize(
    ("kept", "spec", "status", "expected"),
    [
        case(BY_WRITERS, policy(), LakeTableStatus(), "WritersExpire", id="writers"),
        case(BY_OPERATOR, policy(), LakeTableStatus(), "OperatorExpires", id="the operator"),
        case(BY_OPERATOR, policy(), recorded(MINUTE), "OperatorExpires", id="the operator, which has"),
        case(BY_OPERATOR, policy(), FAILED, "ExpiryFails", id="the operator in vain"),
        case(BY_OPERATOR, mode("Never"), LakeTableStatus(), "NobodyExpires", id="the policy says never"),
        case(BY_NOBODY, policy(), LakeTableStatus(), "NobodyExpires", id="nobody has asked for it"),
        case(BY_NOBODY, mode("Always"), LakeTableStatus(), "OperatorExpires", id="the policy asks for it"),
        case(UNABLE, mode("Always"), LakeTableStatus(), "NobodyExpires", id="this release cannot"),
    ],
)
def test_the_condition_says_who_expires_snapshots(
    kept: KeptSnapshots, spec: CompactionPolicySpec, status: LakeTableStatus, expected: str
) -> None:
    asked = situation(replace(QUIET, snapshots=kept), spec, status=status)
    found = condition_of(table_status(asked, decide(asked, NOON), NOON).conditions, SNAPSHOTS_EXPIRE)
    assert found is not None
    assert found.reason == expected
