"""Errors of workers that plan, as ends of an attempt."""

from __future__ import annotations

import pytest

from lithify import errors
from lithify.controller.reconciling.planning import outcome_of_failure
from lithify.errors import Failure, LithifyError
from lithify.resources.compaction import Reason
from support.cases import case


@pytest.mark.parametrize(
    ("error", "reason", "failure"),
    [
        case(
            errors.ProcessLimit("planning", "too much memory"),
            Reason.OUT_OF_MEMORY,
            Failure.USER,
            id="at a limit of the worker",
        ),
        case(
            errors.TimedOut("planning", 30),
            Reason.STORAGE_UNAVAILABLE,
            Failure.INFRASTRUCTURE,
            id="time-out",
        ),
        case(errors.ProcessLost("planning", "died"), Reason.DRIVER_LOST, Failure.INFRASTRUCTURE, id="died"),
        case(
            errors.CatalogSilent("lake", "no answer", 5.0),
            Reason.STORAGE_UNAVAILABLE,
            Failure.INFRASTRUCTURE,
            id="silent catalog",
        ),
        case(errors.NotAllowed("lake", "wrong token"), Reason.ACCESS_DENIED, Failure.USER, id="refused"),
        case(errors.NotFound("table", "db.t"), Reason.TABLE_NOT_FOUND, Failure.USER, id="no table"),
        case(errors.UnsupportedTable("db.t", ("x",)), Reason.UNSUPPORTED, Failure.USER, id="unsupported"),
        case(errors.InvalidOption("partitions", "x"), Reason.INVALID_SPEC, Failure.USER, id="bad selection"),
    ],
)
def test_every_failure_has_its_reason(error: LithifyError, reason: Reason, failure: Failure) -> None:
    outcome = outcome_of_failure("run", 2, error)
    assert (outcome.run, outcome.attempt) == ("run", 2)
    assert (outcome.reason, outcome.failure) == (reason, failure)


@pytest.mark.parametrize(
    "error", [errors.ProcessLimit("planning", "too much memory"), errors.TimedOut("planning", 30)]
)
def test_a_plan_that_is_too_large_can_be_made_elsewhere(error: LithifyError) -> None:
    assert "lithify plan" in outcome_of_failure("run", 1, error).message
