"""What a driver tells the operator: how far it is, and how its attempt ended.

Written by the driver (`lithify drive`), read by the launchers. The outcome of a pod travels in its
termination message, which holds 4,096 bytes, so there are counts and a few samples only. Both sides may be of
different releases: unknown fields are dropped, missing ones have defaults.
"""

from __future__ import annotations

import json
from dataclasses import replace
from enum import StrEnum

from pydantic import Field, ValidationError

from lithify.errors import Failure
from lithify.resources.compaction import PlanSummary, Reason, ResultSummary
from lithify.resources.modelling import MESSAGE_LENGTH, part, plain, read

MOST_BYTES = 4096


class Stage(StrEnum):
    """What a driver is doing."""

    PLANNING = "Planning"
    RUNNING = "Running"
    COMMITTING = "Committing"


@part()
class Progress:
    """How far a driver is."""

    stage: Stage
    done: int = 0
    total: int = 0
    plan: PlanSummary | None = None


@part()
class Outcome:
    """How an attempt ended.

    `failure` is unset if it succeeded; `reason` is one of the final ones.
    """

    run: str
    attempt: int
    reason: Reason
    failure: Failure | None = None
    message: str = Field(default="")
    plan: PlanSummary | None = None
    result: ResultSummary | None = None
    base_snapshot_id: str | None = None
    committed_snapshot_id: str | None = None


def write_outcome(outcome: Outcome) -> str:
    """The outcome as JSON of at most `MOST_BYTES` bytes: samples go first, then the message is cut."""
    text = _json(replace(outcome, message=outcome.message[:MESSAGE_LENGTH]))
    if len(text.encode()) <= MOST_BYTES:
        return text
    bare = outcome.result and replace(outcome.result, skipped_samples=())
    length = MESSAGE_LENGTH
    while length and len(text.encode()) > MOST_BYTES:
        length //= 2
        text = _json(replace(outcome, result=bare, message=outcome.message[:length]))
    return text


def read_outcome(text: str) -> Outcome | None:
    """The outcome in a text; None if there is none, because the driver died before it could write it."""
    try:
        return read(Outcome, json.loads(text))
    except (ValueError, ValidationError):
        return None


def read_progress(text: str) -> Progress | None:
    """The progress in a text; None if there is none."""
    try:
        return read(Progress, json.loads(text))
    except (ValueError, ValidationError):
        return None


def write_progress(progress: Progress) -> str:
    """The progress as JSON."""
    return _json(progress)


def _json(value: object) -> str:
    return json.dumps(plain(value), ensure_ascii=False, separators=(",", ":"))
