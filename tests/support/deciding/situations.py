"""Tables, policies, observations and situations for the tests of decisions, and strategies for them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

from lithify.controller.deciding.decision_input import DecisionInput
from lithify.controller.deciding.problems import TableProblem, TableReason
from lithify.controller.deciding.reasons import OperatorRuns
from lithify.formats.protocol.maintenance import MaintenanceKind
from lithify.formats.protocol.model import SnapshotId
from lithify.formats.protocol.observation import (
    Finding,
    KeptSnapshots,
    MaintenanceNeed,
    Observation,
)
from lithify.resources.modelling import read
from lithify.resources.policy import CompactionPolicySpec
from lithify.resources.table import LakeTable, LakeTableStatus, MaintenanceRecord, RunSummary
from lithify.resources.windows import Day, Window
from support.observations import with_levels
from support.properties import examples

BRIEFLY = settings(max_examples=examples(40), deadline=None)
"""For properties whose every example takes milliseconds; the machine may be busy with other tests."""

CREATED = datetime(2026, 1, 1, tzinfo=UTC)
NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
"""A Tuesday; in Berlin it is one o'clock."""

SORTED_RUNS = Finding(
    "SortedRuns",
    "dt=2026-01-02/bucket-3",
    "bucket 3 of dt=2026-01-02 has 9 sorted runs, the trigger is 5",
    1,
    4000,
)
QUIET = Observation(
    table_uuid="t-1",
    snapshot=SnapshotId("41"),
    snapshot_time=datetime(2026, 3, 10, 11, 58, tzinfo=UTC),
    schema_id=0,
    refusals=(),
    write_only=True,
    partitions=2,
    files=12,
    bytes=9000,
    small_files=3,
    delete_percent=1,
    findings=(),
    full_bytes=8000,
    snapshots=KeptSnapshots(7, datetime(2026, 3, 7, tzinfo=UTC), 5 << 20, writers_expire=False),
    groups=4,
    deleted_rows=2,
    nearest="at most 3 sorted runs in a bucket, due above 5",
    blocks={
        "mergeTree": {
            "buckets": 4,
            "dueBuckets": 0,
            "level0Files": 2,
            "maxLevel0Files": 1,
            "maxLevel0Bucket": "dt=2026-01-02/bucket-3",
            "sortedRuns": 3,
            "sortedRunsBucket": "dt=2026-01-02/bucket-3",
            "sizeAmplificationPercent": None,
        }
    },
)
BUSY = with_levels(replace(QUIET, findings=(SORTED_RUNS,)), sortedRuns=9, dueBuckets=1)
FLAT = replace(QUIET, blocks={}, nearest="")
"""A table whose files have no levels."""
BUSY_FLAT = replace(
    FLAT, findings=(Finding("SmallFiles", "dt=2026-01-02", "9 small files", 1, 4000, files=9),)
)
REFUSED = replace(QUIET, refusals=("merge-engine=aggregation", "bucket=-2"))
EXPIRY = MaintenanceNeed(
    MaintenanceKind.EXPIRE_SNAPSHOTS,
    "120 snapshots are kept, snapshot.num-retained.max is 100",
    is_asked=True,
)
UNREACHABLE = TableProblem(TableReason.CATALOG_UNREACHABLE, "http://catalog did not answer")
DROPPED = TableProblem(TableReason.TABLE_NOT_FOUND, "there is no table sales.orders")


def policy(**fields: Any) -> CompactionPolicySpec:
    """A policy's spec from fields as in YAML."""
    return read(CompactionPolicySpec, fields)


def table(status: LakeTableStatus | None = None, generation: int = 1, **spec: Any) -> LakeTable:
    """A LakeTable `lake/orders` of `sales.orders`."""
    body = {
        "metadata": {
            "name": "orders",
            "namespace": "lake",
            "uid": "u-1",
            "generation": generation,
            "creationTimestamp": CREATED,
        },
        "spec": {"catalogRef": {"name": "warehouse"}, "identifier": "sales.orders", **spec},
    }
    return replace(read(LakeTable, body), status=status or LakeTableStatus())


def situation(
    observation: Observation | None = QUIET,
    spec: CompactionPolicySpec | None = None,
    *,
    status: LakeTableStatus | None = None,
    suspend: bool = False,
    **fields: Any,
) -> DecisionInput:
    """A situation in which nothing holds a compaction back."""
    made = DecisionInput(
        table=table(status, suspend=suspend),
        policy=spec or policy(),
        policy_name="default",
        observation=observation,
    )
    return replace(made, **fields)


ZONES = st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "UTC"])

clock_changes = st.sampled_from(
    [
        datetime(2026, 3, 29, 1, tzinfo=UTC),
        datetime(2026, 10, 25, 1, tzinfo=UTC),
        datetime(2026, 3, 8, 7, tzinfo=UTC),
        datetime(2026, 11, 1, 6, tzinfo=UTC),
        datetime(2026, 4, 4, 15, tzinfo=UTC),
        datetime(2026, 4, 23, 22, tzinfo=UTC),
    ]
)
"""Moments at which clocks are changed in one of the zones."""

moments = st.builds(
    lambda base, seconds: base + timedelta(seconds=seconds),
    clock_changes,
    st.integers(-4 * 86400, 4 * 86400) | st.integers(-7200, 7200),
)
"""Moments around changes of clocks."""

_WALLS = ("00:00", "00:30", "01:30", "02:10", "02:30", "03:00", "06:00", "12:59", "22:00")
_DAYS: tuple[tuple[Day, ...], ...] = ((), (), (Day.SUNDAY,), (Day.SATURDAY, Day.SUNDAY), tuple(Day)[:5])

windows = st.sampled_from(
    [
        Window(start=start, end=end, days=days)
        for start in _WALLS
        for end in _WALLS
        for days in _DAYS
        if start != end
    ]
)
"""Windows, often around the hours in which clocks are changed."""

schedules = st.sampled_from(
    [
        "30 2 * * *",
        "30 2 * * Sun",
        "0 3 1 * *",
        "*/20 * * * *",
        "15 * * * *",
        "0,30 2,3 * * *",
        "*/30 2 * * *",
        "0 0 * * *",
    ]
)


maintenances = st.fixed_dictionaries(
    {},
    optional={
        "expireSnapshots": st.sampled_from(
            [{"mode": "Never"}, {"mode": "Always", "intervalSeconds": 600}, {"schedule": "*/20 * * * *"}]
        ),
        "mergeManifests": st.sampled_from([{}, {"schedule": "30 2 * * *"}]),
        "removeOrphans": st.sampled_from(
            [{"intervalSeconds": 7200}, {"schedule": "0 3 1 * *", "delete": True}]
        ),
        "windows": st.sampled_from([[], [{"start": "02:10", "end": "03:00"}]]),
    },
)
"""A policy's maintenance, as in YAML."""


@st.composite
def policies(draw: st.DrawFn) -> CompactionPolicySpec:
    """A policy with windows, and full compactions by interval or schedule."""
    fields: dict[str, Any] = {"timeZone": draw(ZONES), "suspend": draw(st.sampled_from([False] * 9 + [True]))}
    full = draw(st.sampled_from(["none", "interval", "schedule"]))
    if full == "interval":
        fields["full"] = {"intervalSeconds": draw(st.sampled_from([60, 3600, 86400]))}
    if full == "schedule":
        fields["full"] = {"schedule": draw(schedules)}
        grace = draw(st.sampled_from([None, 60, 5400]))
        if grace is not None:
            fields["full"]["startingDeadlineSeconds"] = grace
    fields["maintenance"] = draw(maintenances)
    made = policy(**fields)
    return replace(made, windows=tuple(draw(st.lists(windows, max_size=3))))


def _records(ended: Any, following: Any) -> Any:
    """Records of maintenance."""
    return st.builds(
        MaintenanceRecord,
        kind=st.sampled_from(["ExpireSnapshots", "MergeManifests", "RemoveOrphans"]),
        name=st.just("orders-6"),
        reason=st.sampled_from(["Maintained", "NothingToDo", "AccessDenied"]),
        completion_time=st.none() | ended,
        held_until=st.none() | ended,
        next_time=st.none() | following,
    )


def _kind(record: MaintenanceRecord) -> str:
    return record.kind


@st.composite
def situations(draw: st.DrawFn, now: datetime) -> DecisionInput:
    """Any situation at `now`, with times of the past and, from clocks that were wrong, of the future."""
    near = st.integers(-3 * 86400, 600).map(lambda seconds: now + timedelta(seconds=seconds))
    far = st.integers(1, 400).map(lambda days: now + timedelta(days=days))
    status = LakeTableStatus(
        last_full_time=draw(st.none() | near | far),
        next_full_time=draw(st.none() | near.map(_to_minute) | far),
        held_until=draw(st.none() | near | far),
        consecutive_failures=draw(st.integers(0, 5)),
        last_compaction=draw(st.none() | st.builds(_in_vain, near | far)),
        maintenance=draw(
            st.lists(_records(near | far, near.map(_to_minute) | far), max_size=3, unique_by=_kind)
        ),
    )
    seen = draw(st.sampled_from([QUIET, BUSY, BUSY_FLAT, FLAT, replace(QUIET, full_bytes=0), REFUSED, None]))
    if seen is not None:
        seen = replace(seen, needs=draw(st.sampled_from([(), (EXPIRY,), (replace(EXPIRY, is_asked=False),)])))
    return DecisionInput(
        table=table(status, suspend=draw(st.sampled_from([False] * 9 + [True]))),
        policy=draw(policies() | policies() | st.none()),
        policy_name="default",
        observation=seen,
        problem=draw(st.sampled_from([None, None, None, UNREACHABLE])),
        active=draw(st.sampled_from([None, None, None, "orders-7-k2x9q"])),
        limit=draw(st.sampled_from([None, OperatorRuns(4)])),
        requested=draw(st.sampled_from([None, None, "today"])),
        requested_strategy=draw(st.sampled_from([None, "Full"])),
    )


def _in_vain(moment: datetime) -> RunSummary:
    return RunSummary(name="orders-6", strategy="Minor", reason="NothingToDo", completion_time=moment)


def _to_minute(moment: datetime) -> datetime:
    return moment.replace(second=0, minute=moment.minute // 10 * 10)
