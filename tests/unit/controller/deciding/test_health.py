"""Nothing is green that is not well: what Ready, Stalled, HEALTH and WHY say of a table in trouble."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lithify.controller.deciding.conditions import table_status
from lithify.controller.deciding.decide import decide
from lithify.controller.deciding.decision_input import DecisionInput
from lithify.controller.deciding.health import catalog_health, health_of, problem_with
from lithify.controller.deciding.problems import TableProblem, TableReason
from lithify.controller.deciding.references import catalog_problem
from lithify.formats.protocol.model import BlockedGroup
from lithify.resources.compaction import Reason
from lithify.resources.objects import ConditionStatus, condition_of
from lithify.resources.table import LakeTableStatus, RunSummary, TableHealth
from support.cases import case
from support.deciding.situations import BUSY, DROPPED, NOON, QUIET, REFUSED, policy, situation, table

ERROR = "No space left on device"


def failing(failures: int = 1, reason: Reason = Reason.DRIVER_FAILED) -> LakeTableStatus:
    """The status of a table whose last runs failed."""
    last = RunSummary(
        name="orders-7", strategy="Minor", reason=reason.value, completion_time=NOON, message=ERROR
    )
    return LakeTableStatus(last_compaction=last, last_failure=last, consecutive_failures=failures)


def status_of(asked: DecisionInput) -> LakeTableStatus:
    return table_status(asked, decide(asked, NOON), NOON)


def said(status: LakeTableStatus, kind: str) -> tuple[str, str]:
    found = condition_of(status.conditions, kind)
    assert found is not None
    return found.status.value, found.reason


WORDS = {
    TableReason.SECRET_NOT_FOUND: "NoCredentials",
    TableReason.SECRET_KEY_MISSING: "NoCredentials",
    TableReason.SECRET_NOT_READABLE: "NoCredentials",
    TableReason.ACCESS_DENIED: "AccessDenied",
    TableReason.WAREHOUSE_NOT_FOUND: "WarehouseNotFound",
    TableReason.NOT_ALLOWED: "NotAllowed",
    TableReason.INVALID_OPTION: "InvalidOption",
    TableReason.OBSERVATION_FAILED: "ObservationFailed",
}
"""The word for each reason that blames the catalog and is no outage: another team mends it."""
BLOCKED = replace(
    QUIET,
    blocked=(BlockedGroup(group="bucket-1", problem="a file is broken", is_corrupt=True, fingerprint="f"),),
)


@pytest.mark.parametrize(
    ("asked", "health", "ready", "stalled"),
    [
        case(situation(QUIET), "Healthy", "Ready", False, id="well"),
        case(situation(None), "Unknown", "NeverObserved", False, id="not looked at yet"),
        case(situation(QUIET, suspend=True), "Suspended", "Ready", False, id="suspended table"),
        case(situation(QUIET, policy(suspend=True)), "Suspended", "Ready", False, id="suspended policy"),
        case(
            situation(QUIET, status=failing()),
            "Failing",
            "CompactionsFailing",
            False,
            id="the last run failed",
        ),
        case(
            situation(BUSY, status=failing(3)),
            "Failing",
            "CompactionsFailing",
            True,
            id="three failed in a row",
        ),
        case(
            situation(QUIET, status=failing(1, Reason.ACCESS_DENIED)),
            "Failing",
            "CompactionsFailing",
            True,
            id="a failure that only a person can mend",
        ),
        case(
            situation(QUIET, status=failing(), suspend=True),
            "Failing",
            "CompactionsFailing",
            False,
            id="suspension hides no failure",
        ),
        case(replace(situation(QUIET), policy=None), "NoPolicy", "PolicyMissing", True, id="no policy"),
        case(
            replace(situation(QUIET, status=failing()), policy=None),
            "NoPolicy",
            "PolicyMissing",
            True,
            id="without a policy no failure matters",
        ),
        case(
            situation(QUIET, policy_problem="?"), "InvalidPolicy", "PolicyInvalid", True, id="invalid policy"
        ),
        case(situation(QUIET, problem=DROPPED), "TableNotFound", "TableNotFound", True, id="no table"),
        case(
            situation(QUIET, status=failing(), problem=DROPPED),
            "TableNotFound",
            "TableNotFound",
            True,
            id="what cannot be looked at goes before failures",
        ),
        case(situation(REFUSED), "Unsupported", "UnsupportedOption", True, id="unsupported"),
        case(situation(BLOCKED), "Blocked", "Ready", False, id="blocked buckets"),
        *(
            case(
                situation(QUIET, problem=TableProblem(reason, "no")),
                WORDS.get(reason, "CatalogDown"),
                reason.value,
                reason.needs_person,
                id=reason.value,
            )
            for reason in TableReason
            if reason.blames_catalog
        ),
    ],
)
def test_what_a_table_says(asked: DecisionInput, health: str, ready: str, stalled: bool) -> None:
    status = status_of(asked)
    is_ready = TableHealth(health) in {TableHealth.HEALTHY, TableHealth.SUSPENDED, TableHealth.BLOCKED}
    expected = "Unknown" if ready == "NeverObserved" else str(is_ready)
    assert (status.health, said(status, "Ready")) == (health, (expected, ready))
    assert said(status, "Stalled")[0] == str(stalled)
    told = problem_with(replace(asked.table, status=status))
    assert (told is None) == TableHealth(health).is_well


DENIED = TableProblem(TableReason.ACCESS_DENIED, "403")
SILENT = TableProblem(TableReason.CATALOG_SILENT, "no answer")


@pytest.mark.parametrize(
    ("looks", "words"),
    [
        case([None, None], set(), id="all tables answer"),
        case([None, TableProblem(TableReason.CORRUPT_TABLE, "broken")], set(), id="a broken table"),
        case([DENIED, DENIED], {"AccessDenied"}, id="all are refused"),
        case([None, DENIED], {"AccessDenied"}, id="one is refused"),
        case([None, TableProblem(TableReason.STORAGE_UNAVAILABLE, "slow")], set(), id="one does not answer"),
        case([None, SILENT], {"CatalogDown"}, id="the catalog is not asked any more"),
        case([SILENT, DENIED], {"AccessDenied"}, id="some are refused, others not asked any more"),
        case([None, TableProblem(TableReason.SECRET_NOT_FOUND, "gone")], {"NoCredentials"}, id="no Secret"),
        case(
            [None, TableProblem(TableReason.NOT_ALLOWED, "elsewhere")], {"NotAllowed"}, id="one is elsewhere"
        ),
    ],
)
def test_catalog_has_the_words_of_its_tables(looks: list[TableProblem | None], words: set[str]) -> None:
    assert catalog_health(catalog_problem(looks), looks) == words


def test_every_reason_of_ready_has_its_word() -> None:
    for reason in TableReason:
        asked = situation(QUIET, problem=TableProblem(reason, "why"))
        known = {TableReason.READY, TableReason.NEVER_OBSERVED}
        assert (health_of(asked.table.spec, status_of(asked).conditions) is TableHealth.UNKNOWN) == (
            reason is TableReason.NEVER_OBSERVED
        )
        assert reason in known or not status_of(asked).health.is_well


def test_the_last_error_stands_in_ready_and_in_why() -> None:
    status = status_of(situation(BUSY, status=failing(2)))
    ready = condition_of(status.conditions, "Ready")
    assert ready is not None
    assert f"orders-7 ended with DriverFailed: {ERROR}" in ready.message
    assert status.due is not None
    assert f"orders-7 ended with DriverFailed: {ERROR}" in status.due


def test_a_failure_is_said_before_the_next_look() -> None:
    well = status_of(situation(QUIET))
    failed = replace(failing(), conditions=well.conditions, health=well.health)
    status = status_of(situation(None, status=failed))
    assert (status.health, said(status, "Ready")) == ("Failing", ("False", "CompactionsFailing"))
    assert status.due is not None
    assert ERROR in status.due


def test_a_success_forgives() -> None:
    before = status_of(situation(QUIET, status=failing()))
    healed = replace(before, consecutive_failures=0, last_failure=None)
    status = status_of(situation(QUIET, status=healed))
    assert (status.health, said(status, "Ready")) == ("Healthy", ("True", "Ready"))
    assert status.due is not None
    assert ERROR not in status.due


def test_a_status_of_an_older_release_counts() -> None:
    status = status_of(situation(QUIET, status=LakeTableStatus(consecutive_failures=2)))
    assert (status.health, said(status, "Ready")) == ("Failing", ("False", "CompactionsFailing"))


def test_words_that_nobody_knows_are_not_well() -> None:
    status = status_of(situation(QUIET))
    strange = tuple(
        replace(one, status=ConditionStatus.FALSE, reason="Unreadable") if one.type == "Ready" else one
        for one in status.conditions
    )
    assert health_of(table().spec, strange) is TableHealth.UNKNOWN
    assert problem_with(replace(table(), status=replace(status, conditions=strange))) is not None
