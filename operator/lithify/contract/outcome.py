"""A driver's reports to the operator: its progress, and the outcome of its attempt.

Written by the driver (`lithify drive`), read by the launchers. The outcome of a pod travels in its
termination message, which holds 4,096 bytes, so it has only counts and a few samples. Both sides may have
different releases: unknown fields are dropped, missing ones have defaults. Any user who may change a pod can
write these texts, so reading an invalid one returns None and never raises.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum

from pydantic import Field, ValidationError

from lithify.errors import Failure
from lithify.resources.compaction import MaintenanceSummary, PlanSummary, Reason, ResultSummary
from lithify.resources.modelling import MESSAGE_LENGTH, Part, part, plain, read_text
from lithify.resources.table import BucketBlock

MOST_BYTES = 4096
_SHORT = 80
"""Number of characters to which a message is cut; enough to tell the cause."""
_LARGEST_NUMBER = 2**63 - 1
"""Largest number that the API server stores in a status."""


class Stage(StrEnum):
    """Stage of a driver's work."""

    PLANNING = "Planning"
    RUNNING = "Running"
    COMMITTING = "Committing"


@part()
class Progress:
    """Progress of a driver.

    `executors_ready` is the number of executors registered with the driver; unset where it starts none.
    `run` is the run under way in a shared driver, else unset.
    """

    stage: Stage
    done: int = Field(default=0, ge=0)
    total: int = Field(default=0, ge=0)
    executors_ready: int | None = Field(default=None, ge=0)
    executors_wanted: int | None = Field(default=None, ge=0)
    run: str | None = Field(default=None, max_length=64)
    plan: PlanSummary | None = None

    @property
    def lacks_executors(self) -> bool:
        """Whether tasks wait because there is no executor at all."""
        return self.stage is Stage.RUNNING and self.executors_ready == 0


@part()
class Outcome:
    """How an attempt ended.

    `failure` is unset if it succeeded; `reason` is one of the final ones. `blocked` are some of the
    `blocked_count` groups that it could not compact.
    """

    run: str
    attempt: int = Field(ge=0)
    reason: Reason
    failure: Failure | None = None
    message: str = Field(default="")
    plan: PlanSummary | None = None
    result: ResultSummary | None = None
    maintenance: MaintenanceSummary | None = None
    base_snapshot_id: str | None = None
    committed_snapshot_id: str | None = None
    blocked: tuple[BucketBlock, ...] = ()
    blocked_count: int = Field(default=0, ge=0)


@part()
class SharedOutcome:
    """The termination message of a shared driver: outcomes that it could not report earlier."""

    outcomes: tuple[Outcome, ...] = Field(default=(), max_length=50)


def write_outcome(outcome: Outcome) -> str:
    """The outcome as JSON of at most `MOST_BYTES` bytes; `_smaller` shortens a longer one."""
    text = ""
    for each in _smaller(outcome):
        text = _json(each)
        if len(text.encode()) <= MOST_BYTES:
            break
    return text


def _smaller(outcome: Outcome) -> Iterator[Outcome]:
    """Yields ever smaller versions of an outcome.

    Samples are dropped first, then the messages of blocked groups, then most of the message. The names of
    blocked groups are dropped last: without them the next run would try those groups again in vain.
    """
    message = outcome.message[:MESSAGE_LENGTH]
    yield replace(outcome, message=message)
    bare = _without_samples(outcome)
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
    """Parses an outcome; None if there is none, e.g. because the driver died before it could write it."""
    return _read(Outcome, text)


def write_shared_outcome(outcomes: Sequence[Outcome]) -> str:
    """Outcomes as JSON of at most `MOST_BYTES` bytes.

    If they are too long together, each is shortened, then successes are left out (their tables record them),
    then others from the end. For a run without an outcome the operator searches the table.
    """
    bare = [_bare(outcome) for outcome in outcomes]
    failed = [outcome for outcome in bare if outcome.committed_snapshot_id is None]
    fewer = [failed[:count] for count in range(len(failed), -1, -1)]
    text = ""
    for each in (outcomes, bare, *fewer):
        text = _json(SharedOutcome(outcomes=tuple(each)))
        if len(text.encode()) <= MOST_BYTES:
            break
    return text


def _bare(outcome: Outcome) -> Outcome:
    """The parts of an outcome that must never be dropped."""
    message = outcome.message[:_SHORT]
    return replace(_without_samples(outcome), message=message, plan=None, blocked=())


def _without_samples(outcome: Outcome) -> Outcome:
    result = outcome.result and replace(outcome.result, skipped_samples=())
    maintenance = outcome.maintenance and replace(outcome.maintenance, samples=())
    return replace(outcome, result=result, maintenance=maintenance)


def read_shared_outcome(text: str) -> tuple[Outcome, ...]:
    """Parses the outcomes of a shared driver; empty if the text is invalid."""
    found = _read(SharedOutcome, text)
    return () if found is None else found.outcomes


def read_progress(text: str) -> Progress | None:
    """Parses progress; None if the text contains none."""
    return _read(Progress, text)


def write_progress(progress: Progress) -> str:
    """The progress as JSON."""
    return _json(progress)


def _json(value: object) -> str:
    text = json.dumps(plain(value), ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace").decode()  # names of files may hold lone surrogates


def _read(kind: type[Part], text: str) -> Part | None:
    if not text or len(text) > MOST_BYTES:
        return None
    try:
        found = read_text(kind, text)
    except ValidationError:
        return None
    return found if _is_bounded(plain(found)) else None


def _is_bounded(value: object) -> bool:
    """Whether all numbers in plain data are small enough for status."""
    if isinstance(value, dict):
        return all(_is_bounded(entry) for entry in value.values())
    if isinstance(value, list):
        return all(_is_bounded(entry) for entry in value)
    return not isinstance(value, int) or value <= _LARGEST_NUMBER
