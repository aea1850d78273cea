"""What a driver tells the operator: how far it is, and how its attempt ended.

Written by the driver (`lithify drive`), read by the launchers. The outcome of a pod travels in its
termination message, which holds 4,096 bytes, so there are counts and a few samples only. Both sides may be of
different releases: unknown fields are dropped, missing ones have defaults.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum

from pydantic import Field, ValidationError

from lithify.errors import Failure
from lithify.resources.compaction import PlanSummary, Reason, ResultSummary
from lithify.resources.modelling import MESSAGE_LENGTH, part, plain, read
from lithify.resources.table import BucketBlock

MOST_BYTES = 4096
_SHORT = 80
"""Characters of a message that still say what is wrong."""


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

    `failure` is unset if it succeeded; `reason` is one of the final ones. `blocked` are some of the
    `blocked_count` buckets that it could not compact.
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
    blocked: tuple[BucketBlock, ...] = ()
    blocked_count: int = 0


def write_outcome(outcome: Outcome) -> str:
    """The outcome as JSON of at most `MOST_BYTES` bytes; see `_smaller` for what goes if it is too long."""
    text = ""
    for each in _smaller(outcome):
        text = _json(each)
        if len(text.encode()) <= MOST_BYTES:
            break
    return text


def _smaller(outcome: Outcome) -> Iterator[Outcome]:
    """An outcome, cut down more and more.

    First go the samples, then what is said of blocked buckets, then most of the message. Which buckets are
    blocked goes last: without that they would be tried again for nothing.
    """
    message = outcome.message[:MESSAGE_LENGTH]
    yield replace(outcome, message=message)
    bare = replace(outcome, result=outcome.result and replace(outcome.result, skipped_samples=()))
    yield replace(bare, message=message)
    for length in (_SHORT, 0):
        blocked = tuple(replace(each, message=each.message[:length]) for each in bare.blocked)
        bare = replace(bare, blocked=blocked)
        yield replace(bare, message=message)
    while len(message) > _SHORT:
        message = message[: len(message) // 2]
        yield replace(bare, message=message)
    while bare.blocked:
        bare = replace(bare, blocked=bare.blocked[: len(bare.blocked) // 2])
        yield replace(bare, message=message)
    yield replace(bare, message="")


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
