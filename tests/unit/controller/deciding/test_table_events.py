"""Events of a LakeTable are told once each: due, started, compacted with figures, failed with the reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lithify.controller.deciding.conditions import table_status
from lithify.controller.deciding.decide import decide
from lithify.controller.deciding.failing import AttemptFailure
from lithify.controller.deciding.problems import TableProblem, TableReason
from lithify.controller.deciding.table_events import table_events
from lithify.resources.compaction import Reason
from lithify.resources.table import LakeTableStatus, RunSummary
from support.cases import case
from support.deciding.situations import BUSY, NOON, QUIET, REFUSED, UNREACHABLE, situation


def status_of(seen: object, **fields: object) -> LakeTableStatus:
    asked = situation(seen, **fields)  # type: ignore[arg-type]
    return table_status(asked, decide(asked, NOON), NOON)


def ended(status: LakeTableStatus, name: str, reason: Reason) -> LakeTableStatus:
    run = RunSummary(
        name=name, strategy="Full", reason=reason.value, completion_time=NOON, message="9 → 1 files"
    )
    return replace(status, last_compaction=run, active_compaction=None)


WELL, DUE = status_of(QUIET), status_of(BUSY)
STARTED = status_of(BUSY, active="orders-7")


TWICE = AttemptFailure(2, "DriverFailed", "?", Reason.RUNNING, is_lasting=True)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        case(LakeTableStatus(), WELL, [], id="seen for the first time"),
        case(WELL, DUE, [("Normal", "CompactionDue")], id="due"),
        case(DUE, STARTED, [("Normal", "CompactionStarted")], id="started"),
        case(WELL, STARTED, [("Normal", "CompactionStarted")], id="started as soon as it was due"),
        case(STARTED, ended(WELL, "orders-7", Reason.COMPACTED), [("Normal", "Compacted")], id="compacted"),
        case(STARTED, ended(DUE, "orders-7", Reason.OUT_OF_MEMORY), [("Warning", "OutOfMemory")], id="bad"),
        case(
            ended(WELL, "orders-7", Reason.COMPACTED),
            ended(WELL, "orders-7", Reason.ROLLED_BACK),
            [("Warning", "RolledBack")],
            id="rolled back later",
        ),
        case(STARTED, ended(DUE, "orders-7", Reason.CANCELLED), [("Normal", "Cancelled")], id="cancelled"),
        case(WELL, status_of(QUIET, problem=UNREACHABLE), [], id="a catalog that is down"),
        *(
            case(WELL, status_of(QUIET, problem=TableProblem(reason, "?")), [("Warning", reason)], id=reason)
            for reason in (
                TableReason.CORRUPT_TABLE,
                TableReason.SECRET_KEY_MISSING,
                TableReason.SECRET_NOT_FOUND,
                TableReason.ACCESS_DENIED,
                TableReason.TABLE_NOT_FOUND,
            )
        ),
        case(WELL, status_of(REFUSED), [("Warning", "UnsupportedOption")], id="unsupported"),
        case(LakeTableStatus(), status_of(REFUSED), [("Warning", "UnsupportedOption")], id="from the start"),
        case(
            DUE,
            status_of(
                BUSY,
                status=DUE,
                active="orders-7",
                failing=TWICE,
            ),
            [("Warning", "CompactionsFailing"), ("Normal", "CompactionStarted")],
            id="attempts that fail",
        ),
        case(
            STARTED,
            replace(ended(DUE, "orders-7", Reason.COMPACTED), active_compaction="orders-8"),
            [("Normal", "Compacted"), ("Normal", "CompactionStarted")],
            id="one ends and the next begins",
        ),
    ],
)
def test_each_change_of_a_condition_is_one_event(
    old: LakeTableStatus, new: LakeTableStatus, expected: list[tuple[str, str]]
) -> None:
    assert [(severity, reason) for severity, reason, _ in table_events(old, new)] == expected
    assert table_events(new, new) == []


def test_messages_say_why_and_what() -> None:
    ((_, _, due),) = table_events(WELL, DUE)
    ((_, _, started),) = table_events(WELL, STARTED)
    ((_, _, done),) = table_events(STARTED, ended(WELL, "orders-7", Reason.COMPACTED))
    assert "sorted runs" in due
    assert "orders-7" in started
    assert "sorted runs" in started
    assert "9 → 1 files" in done
