"""A table's status says what is known and decided, stays as it is when nothing changes, and never lies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.controller.deciding.conditions import summary_of, table_status
from lithify.controller.deciding.decide import decide
from lithify.controller.deciding.decision_input import DecisionInput
from lithify.controller.deciding.problems import TableProblem, TableReason
from lithify.formats.protocol.observation import KeptSnapshots, Observation, OtherCompactor
from lithify.resources.crd import definition_of
from lithify.resources.modelling import plain, read
from lithify.resources.names import LAKE_TABLE
from lithify.resources.objects import Condition, condition_of
from lithify.resources.table import LakeTableStatus, RunSummary, TableHealth
from support.cases import case
from support.deciding.situations import (
    BRIEFLY,
    BUSY,
    BUSY_FLAT,
    DROPPED,
    FLAT,
    NOON,
    QUIET,
    REFUSED,
    SORTED_RUNS,
    UNREACHABLE,
    moments,
    policy,
    situation,
    situations,
    table,
)
from support.observations import with_levels

AMORO = OtherCompactor("Amoro", "the property self-optimizing.enabled = true", "set it to false")
SPARK = OtherCompactor("Spark", "snapshot 7 (replace)", "stop the job", NOON)
ALL_KINDS = {
    "Ready",
    "CompactionNeeded",
    "PolicyReady",
    "WriterCompacts",
    "SnapshotsExpire",
    "BucketsBlocked",
    "Reconciling",
    "Stalled",
}


def status_of(asked: DecisionInput, now: datetime = NOON) -> LakeTableStatus:
    return table_status(asked, decide(asked, now), now)


def after(asked: DecisionInput, now: datetime = NOON) -> DecisionInput:
    """The same once its status was written and read again."""
    written = read(LakeTableStatus, plain(status_of(asked, now)))
    return replace(asked, table=replace(asked.table, status=written))


def condition(status: LakeTableStatus, kind: str) -> Condition:
    found = condition_of(status.conditions, kind)
    assert found is not None, kind
    return found


def said(status: LakeTableStatus, kind: str) -> tuple[str, str]:
    found = condition(status, kind)
    return found.status.value, found.reason


class TestConditions:
    @pytest.mark.parametrize(
        ("asked", "expected"),
        [
            case(
                situation(QUIET),
                {"Ready": "True Ready", "Reconciling": "False Observed", "Stalled": "False NotStalled"},
                id="healthy",
            ),
            case(
                situation(None),
                {
                    "Ready": "Unknown NeverObserved",
                    "CompactionNeeded": "Unknown NeverObserved",
                    "Reconciling": "True Progressing",
                    "Stalled": "False NotStalled",
                },
                id="never looked at",
            ),
            case(
                situation(BUSY, active="orders-7"),
                {
                    "Ready": "True Ready",
                    "Reconciling": "False Observed",
                    "CompactionNeeded": "True SortedRuns",
                },
                id="being compacted is nothing to wait for",
            ),
            case(
                situation(BUSY, problem=UNREACHABLE),
                {
                    "Ready": "False CatalogUnreachable",
                    "CompactionNeeded": "Unknown CatalogUnreachable",
                    "Reconciling": "False CatalogUnreachable",
                    "Stalled": "False CatalogUnreachable",
                },
                id="what may pass does not stall",
            ),
            case(
                situation(BUSY, problem=DROPPED),
                {"Ready": "False TableNotFound", "Stalled": "True TableNotFound"},
                id="what a person must mend stalls",
            ),
            case(
                situation(REFUSED),
                {
                    "Ready": "False UnsupportedOption",
                    "Stalled": "True UnsupportedOption",
                    "CompactionNeeded": "Unknown UnsupportedOption",
                },
                id="refused",
            ),
            case(situation(BUSY), {"CompactionNeeded": "True SortedRuns"}, id="a trigger fired"),
            case(situation(QUIET), {"CompactionNeeded": "False NotDue"}, id="no trigger fired"),
            case(
                situation(replace(QUIET, full_bytes=0)),
                {"CompactionNeeded": "False UpToDate"},
                id="nothing is left to compact",
            ),
            case(
                situation(QUIET, policy(full={"intervalSeconds": 60})),
                {"CompactionNeeded": "True Interval"},
                id="a full one is due",
            ),
            case(situation(QUIET, requested="a"), {"CompactionNeeded": "True Requested"}, id="asked for"),
            case(situation(QUIET), {"PolicyReady": "True Followed"}, id="policy followed"),
            case(
                replace(situation(QUIET), policy=None), {"PolicyReady": "False PolicyMissing"}, id="no policy"
            ),
            case(
                situation(QUIET, policy_problem="?"), {"PolicyReady": "False PolicyInvalid"}, id="bad policy"
            ),
            case(
                situation(QUIET, policy(suspend=True)),
                {"PolicyReady": "False PolicySuspended"},
                id="suspended policy",
            ),
            case(
                situation(QUIET),
                {"WriterCompacts": "False WriteOnly", "SnapshotsExpire": "False NobodyExpires"},
                id="write-only",
            ),
            case(
                situation(
                    replace(
                        QUIET,
                        write_only=False,
                        snapshots=KeptSnapshots(3, None, 0, writers_expire=True),
                    )
                ),
                {"WriterCompacts": "True NotWriteOnly", "SnapshotsExpire": "True WritersExpire"},
                id="not write-only",
            ),
            case(
                situation(replace(QUIET, other_compactors=(AMORO,))),
                {"WriterCompacts": "True OtherCompacts", "Ready": "True Ready"},
                id="a service compacts it",
            ),
            case(
                situation(replace(QUIET, write_only=False, other_compactors=(AMORO,))),
                {"WriterCompacts": "True NotWriteOnly"},
                id="its writers and a service compact it",
            ),
        ],
    )
    def test_conditions_say_what_is_wrong_and_where(
        self, asked: DecisionInput, expected: Mapping[str, str]
    ) -> None:
        status = status_of(asked)
        assert {kind: " ".join(said(status, kind)) for kind in expected} == dict(expected)

    @pytest.mark.parametrize("reason", [reason for reason in TableReason if reason is not TableReason.READY])
    def test_every_reason_can_be_seen(self, reason: TableReason) -> None:
        status = status_of(situation(QUIET, problem=TableProblem(reason, "as it happens")))
        assert said(status, "Ready") == ("False", reason.value)
        assert said(status, "Stalled")[0] == str(reason.needs_person)

    def test_others_that_compact_are_named_with_evidence_and_remedy(self) -> None:
        """The text has no ages, so it stays the same until another compaction is seen."""
        asked = situation(replace(QUIET, other_compactors=(AMORO, SPARK)))
        found = condition(status_of(asked), "WriterCompacts")
        assert found.message == (
            "others compact the table, too, and of two that compact the same files the second fails to "
            "commit. Leave it to one: suspend it here (spec.suspend), or turn the other off. "
            "Amoro: found by the property self-optimizing.enabled = true; set it to false; "
            f"Spark: found by snapshot 7 (replace), last at {NOON:%Y-%m-%d %H:%M:%S} UTC; stop the job"
        )
        assert condition(status_of(after(asked), NOON + timedelta(hours=1)), "WriterCompacts") == found

    def test_refusals_are_named(self) -> None:
        message = condition(status_of(situation(REFUSED)), "Ready").message
        assert all(refusal in message for refusal in REFUSED.refusals)

    def test_what_holds_back_is_said_where_it_is_needed(self) -> None:
        status = status_of(situation(BUSY, active="orders-7-k2x9q"))
        assert "9 sorted runs" in condition(status, "CompactionNeeded").message
        assert "orders-7-k2x9q" in condition(status, "CompactionNeeded").message
        assert status.due == condition(status, "CompactionNeeded").message

    def test_snapshots_are_counted_dated_and_weighed(self) -> None:
        message = condition(status_of(situation(QUIET)), "SnapshotsExpire").message
        assert [text for text in ("7 snapshots", "2026-03-07", "5.0Mi") if text not in message] == []

    def test_a_duplicate_names_the_older_one_until_that_is_gone(self) -> None:
        status = status_of(situation(BUSY, duplicate_of="older"))
        assert said(status, "Duplicate") == ("True", "OlderLakeTable")
        assert "LakeTable older" in condition(status, "Duplicate").message
        alone = status_of(situation(BUSY, status=status))
        assert "Duplicate" not in {one.type for one in alone.conditions}

    def test_long_messages_are_cut_to_the_limits_of_the_schema(self) -> None:
        refused = replace(QUIET, refusals=("x" * 5000,))
        for asked in (situation(refused), situation(QUIET, policy_problem="y" * 5000)):
            status = status_of(asked)
            assert len(status.due or "") <= 1024
            assert max(len(found.message) for found in status.conditions) <= 1024


class TestSummary:
    def test_shows_what_was_seen(self) -> None:
        status = status_of(situation(BUSY))
        assert status.observation is not None
        assert status.observation == summary_of(BUSY)
        assert (status.table_uuid, status.observation.snapshot_id) == ("t-1", "41")
        assert status.observation.due_bytes == 4000
        assert (status.observation.groups, status.observation.due_groups) == (4, 1)
        assert plain(status.observation)["mergeTree"]["dueBuckets"] == 1
        assert status.observation.snapshots is not None
        assert status.observation.snapshots.count == 7

    @pytest.mark.parametrize(
        "seen",
        [
            case(
                with_levels(replace(QUIET, snapshot=None, snapshot_time=None), sortedRunsBucket=None),
                id="empty",
            ),
            case(with_levels(QUIET, sortedRunsBucket="p=" + "x" * 3000), id="a long path"),
            case(with_levels(QUIET, maxLevel0Bucket="p=" + "x" * 3000), id="another long path"),
            case(replace(QUIET, delete_percent=130), id="more deletes than rows"),
            case(replace(QUIET, delete_percent=None), id="deletes unknown"),
        ],
    )
    def test_every_summary_fits_its_schema(self, seen: Observation) -> None:
        summary = summary_of(seen)
        assert read(type(summary), plain(summary)) == summary

    def test_sums_fit_into_64_bits(self) -> None:
        """Each figure of a worker does; the API server would refuse a sum that does not."""
        huge = replace(SORTED_RUNS, bytes=2**63 - 1, buckets=2**63 - 1)
        summary = summary_of(with_levels(replace(BUSY, findings=(huge, huge)), level0Files=2**64))
        assert (summary.due_bytes, summary.due_groups) == (2**63 - 1, 2**63 - 1)
        assert plain(summary)["mergeTree"]["level0Files"] == 2**63 - 1
        assert status_of(situation(replace(BUSY, findings=(huge, huge)))).debt == "8.0Ei"

    @pytest.mark.parametrize("seen", [case(BUSY, id="since this start"), case(None, id="before this start")])
    def test_stays_while_the_table_cannot_be_looked_at(self, seen: Observation | None) -> None:
        before = after(situation(BUSY))
        status = status_of(replace(before, observation=seen, problem=UNREACHABLE))
        assert status.observation == before.table.status.observation
        assert said(status, "Ready") == ("False", "CatalogUnreachable")
        assert said(status, "WriterCompacts") == said(before.table.status, "WriterCompacts")


def columns(status: LakeTableStatus) -> dict[str, object]:
    """What `kubectl get -o wide` shows of a status, by heading; None for an empty cell."""
    shown: dict[str, object] = {}
    for column in definition_of(LAKE_TABLE).columns:
        if column.path.startswith(".status.") and "[" not in column.path:
            found: object = {"status": plain(status)}
            for name in column.path[1:].split("."):
                found = found.get(name) if isinstance(found, Mapping) else None
            shown[column.name] = found
    return shown


class TestTablesWithoutLevels:
    """Tables of other kinds pass through everything that decides and tells."""

    @pytest.mark.parametrize(
        ("seen", "reason", "debt"),
        [case(FLAT, "NotDue", None, id="nothing due"), case(BUSY_FLAT, "SmallFiles", "3.9Ki", id="due")],
    )
    def test_say_the_same_as_others(self, seen: Observation, reason: str, debt: str | None) -> None:
        status = status_of(situation(seen))
        needed = condition(status, "CompactionNeeded")
        assert (status.health, said(status, "Ready")) == (TableHealth.HEALTHY, ("True", "Ready"))
        assert (needed.reason, status.due) == (reason, needed.message)
        assert "sorted run" not in needed.message
        assert status.observation is not None
        assert not {"mergeTree", "append"} & plain(status.observation).keys()
        assert read(LakeTableStatus, plain(status)) == status
        assert columns(status) == {
            "Health": "Healthy",
            "Files": 12,
            "Small": 3,
            "Size": "8.8Ki",
            "Debt": debt,
            "Last": None,
            "Snapshot": "41",
            "Level0": None,
            "Runs": None,
            "Deletes": None,
            "Changes": None,
            "Active": None,
            "Why": status.due,
        }

    def test_small_files_are_shown_where_files_are_joined(self) -> None:
        small: dict[str, int | str | None] = {
            "buckets": 3,
            "dueBuckets": 1,
            "maxSmallFiles": 40,
            "maxSmallFilesBucket": "dt=1/bucket-0",
            "deletedRows": 9,
        }
        summary = summary_of(replace(BUSY_FLAT, blocks={"append": small}))
        assert plain(summary)["append"] == small
        assert read(type(summary), plain(summary)) == summary
        long = {**small, "maxSmallFilesBucket": "p=" + "x" * 3000}
        cut = summary_of(replace(FLAT, blocks={"append": long}))
        assert read(type(cut), plain(cut)) == cut
        assert "append" not in plain(summary_of(BUSY))

    def test_levels_are_shown_where_there_are_some(self) -> None:
        shown = columns(status_of(situation(BUSY)))
        assert (shown["Size"], shown["Debt"], shown["Level0"], shown["Runs"]) == ("8.8Ki", "3.9Ki", 2, 9)

    def test_what_an_older_release_stored_is_read_and_replaced(self) -> None:
        """It had the figures of levels beside the others."""
        flat = {"files": 7, "dueBytes": 9, "buckets": 4, "level0Files": 2, "sortedRuns": 3, "dueBuckets": 1}
        old = read(LakeTableStatus, {"observation": {**flat, "sortedRunsBucket": "bucket-0"}})
        assert old.observation is not None
        assert (old.observation.files, old.observation.due_bytes) == (7, 9)
        assert (columns(old)["Files"], columns(old)["Level0"], columns(old)["Runs"]) == (7, None, None)
        new = status_of(situation(BUSY, status=old))
        assert (new.observation, columns(new)["Runs"]) == (summary_of(BUSY), 9)


class TestWhatIsCarriedOver:
    def test_what_runs_came_to_stays(self) -> None:
        run = RunSummary(name="orders-6", strategy="Full", reason="Compacted", completion_time=NOON)
        old = LakeTableStatus(
            last_compaction=run,
            last_success_time=NOON,
            last_full_time=NOON,
            consecutive_failures=2,
            held_until=NOON,
            handled_request="a",
            runs=6,
        )
        new = status_of(situation(BUSY, status=old, active="orders-7"))
        kept = replace(
            new,
            observed_generation=-1,
            conditions=(),
            health=TableHealth.UNKNOWN,
            table_uuid=None,
            observation=None,
            size=None,
            debt=None,
            due=None,
            active_compaction=None,
        )
        assert kept == old
        assert (new.observed_generation, new.active_compaction) == (1, "orders-7")

    def test_the_time_of_a_condition_is_when_its_status_changed(self) -> None:
        later = NOON + timedelta(hours=1)
        ready = condition(status_of(after(situation(QUIET)), later), "Ready")
        failed = condition(status_of(replace(after(situation(QUIET)), problem=DROPPED), later), "Ready")
        assert (ready.last_transition_time, failed.last_transition_time) == (NOON, later)

    def test_times_are_kept_to_the_second(self) -> None:
        status = status_of(situation(QUIET), NOON.replace(microsecond=999_999))
        assert {found.last_transition_time for found in status.conditions} == {NOON}


class TestRestart:
    def test_until_the_first_look_status_stays(self) -> None:
        before = after(situation(BUSY, status=LakeTableStatus(last_full_time=NOON)))
        assert status_of(replace(before, observation=None), NOON) == before.table.status

    def test_a_run_that_is_over_is_not_shown_as_active(self) -> None:
        before = after(situation(BUSY, active="orders-7"))
        assert status_of(replace(before, observation=None, active=None)).active_compaction is None

    def test_another_spec_is_progress_until_the_first_look(self) -> None:
        before = after(situation(QUIET))
        changed = replace(before, observation=None, table=replace(table(before.table.status, generation=2)))
        waiting = after(changed)
        assert said(waiting.table.status, "Reconciling") == ("True", "Progressing")
        assert waiting.table.status.observed_generation == 2
        assert status_of(waiting) == waiting.table.status
        seen = status_of(replace(waiting, observation=QUIET))
        assert said(seen, "Reconciling") == ("False", "Observed")

    def test_a_policy_that_went_away_meanwhile_is_noticed_at_once(self) -> None:
        before = after(situation(QUIET))
        status = status_of(replace(before, observation=None, policy=None))
        assert said(status, "PolicyReady") == ("False", "PolicyMissing")


@st.composite
def asked_at(draw: st.DrawFn) -> tuple[DecisionInput, datetime]:
    now = draw(moments)
    return draw(situations(now)), now


class TestFixpoint:
    @BRIEFLY
    @given(asked_at(), st.floats(0, 1))
    def test_nothing_is_written_when_nothing_changes(
        self, asked: tuple[DecisionInput, datetime], share: float
    ) -> None:
        found, now = asked
        once = after(found, now)
        assert status_of(once, now) == once.table.status
        wake = decide(once, now).wake or now + timedelta(days=1000)
        between = min(now + (wake - now) * share, wake - timedelta(seconds=1))
        assert status_of(once, max(now, between)) == once.table.status

    @BRIEFLY
    @given(asked_at())
    def test_nothing_is_written_after_a_restart(self, asked: tuple[DecisionInput, datetime]) -> None:
        found, now = asked
        once = after(found, now)
        restarted = replace(once, observation=None, problem=None)
        assert status_of(restarted, now) == once.table.status
        if found.problem is not None:
            failing = replace(once, observation=None)
            assert status_of(failing, now) == once.table.status

    @BRIEFLY
    @given(asked_at())
    def test_ready_and_stalled_and_reconciling_agree(self, asked: tuple[DecisionInput, datetime]) -> None:
        status = status_of(*asked)
        ready, _ = said(status, "Ready")
        assert said(status, "Stalled")[0] == "False" or ready == "False"
        assert said(status, "Reconciling")[0] == "False" or ready == "Unknown"
        assert {found.type for found in status.conditions} <= ALL_KINDS


def test_summaries_keep_the_zone_of_times() -> None:
    summary = summary_of(QUIET)
    assert summary.snapshots is not None
    assert summary.snapshots.oldest_time == datetime(2026, 3, 7, tzinfo=UTC)
