"""The texts that `kubectl get compactions` shows: files, bytes, duration. Used by `ending`. Pure."""

from __future__ import annotations

from collections.abc import Callable

from lithify.amounts import size_text
from lithify.formats.protocol.model import SnapshotId
from lithify.resources.compaction import UNDO_LENGTH, PlanSummary, ResultSummary

_WHAT = "what was to be compacted"
_FILES = "of files that cannot be compacted"
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_LONGEST_IN_SECONDS = 600


def files_text(result: ResultSummary) -> str:
    """Files before and after, for example `412→9`."""
    return f"{result.input_files}→{result.output_files}"


def bytes_text(result: ResultSummary) -> str:
    """Bytes before and after, for example `6.1Gi→5.8Gi`."""
    return f"{size_text(result.input_bytes)}→{size_text(result.output_bytes)}"


def undo_field(undo: Callable[[SnapshotId], str] | None, base: str | None) -> dict[str, str]:
    """The field of status that says how to undo a compaction; none if nobody knows, or it would be too long.

    A command that is cut off would be worse than none.
    """
    text = undo(SnapshotId(base)) if undo is not None and base is not None else ""
    return {"undo": text} if 0 < len(text) <= UNDO_LENGTH else {}


def duration_text(seconds: float) -> str:
    """A duration: `94s`, from ten minutes on `12m`, then `3h5m` and `2d4h`."""
    whole = max(0, int(seconds))
    if whole < _LONGEST_IN_SECONDS:
        return f"{whole}s"
    if whole < _HOUR:
        return f"{whole // _MINUTE}m"
    if whole < _DAY:
        return f"{whole // _HOUR}h{whole % _HOUR // _MINUTE}m"
    return f"{whole // _DAY}d{whole % _DAY // _HOUR}h"


def plan_text(plan: PlanSummary) -> str:
    """A plan as a part of a sentence."""
    unread = f", and up to {_count(plan.unread_files, 'more file')} in which the driver looks for deletes"
    return (
        f"{_count(plan.files, 'file')} ({size_text(plan.bytes)}) of {_count(plan.buckets, 'group')} "
        f"in {_count(plan.tasks, 'task')}{unread if plan.unread_files else ''}"
    )


def result_text(result: ResultSummary) -> str:
    """A run's result, as sentences; names samples of what was left out."""
    became = (
        f"{_count(result.input_files, 'file')} became {result.output_files} "
        f"({bytes_text(result)}) in {_count(result.buckets, 'group')}."
    )
    if not result.skipped_buckets:
        return became
    blocked = min(result.blocked_buckets, result.skipped_buckets)
    changed = result.skipped_buckets - blocked
    left = [
        *([f"{_count(changed, 'group')} left out because others changed {_WHAT}"] if changed else []),
        *([f"{_count(blocked, 'group')} left out because {_FILES}"] if blocked else []),
    ]
    samples = f": {'; '.join(result.skipped_samples)}." if result.skipped_samples else "."
    return f"{became} {', '.join(left)}{samples}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
