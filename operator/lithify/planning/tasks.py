"""Splits rewrites into tasks of even bytes, so that one large bucket keeps a whole cluster busy.

Called by the job's driver. A rewrite is cut between its sections, and inside a large section at keys where a
file ends (everything at or below such a key is merged by one task, everything above it by the next). A
rewrite that is too small to be cut stays whole, because every cut may leave a small file behind.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise

from lithify.planning.rewrites import Rewrite
from lithify.planning.sections import Section
from lithify.tables.model import DataFile, OrderKey

_MAX_REREADING = 2


@dataclass(frozen=True, slots=True)
class KeySpan:
    """The keys above `after` up to and including `upto`; None leaves an end open."""

    after: OrderKey | None = None
    upto: OrderKey | None = None

    def touches(self, file: DataFile) -> bool:
        """Whether the file may hold keys of the span."""
        above = self.after is None or file.max_key > self.after
        return above and (self.upto is None or file.min_key <= self.upto)

    def covers(self, file: DataFile) -> bool:
        """Whether all keys of the file are in the span."""
        above = self.after is None or file.min_key > self.after
        return above and (self.upto is None or file.max_key <= self.upto)


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """What one task merges: sections in key order, of which it takes the keys of its span.

    Attributes:
        sections: the sections that the span touches, each with the files that it touches.
        span: the keys to take.
        size: estimated bytes to read.
        is_last: whether the rewrite ends with this task.
    """

    sections: tuple[Section, ...]
    span: KeySpan
    size: int
    is_last: bool


def split_rewrite(rewrite: Rewrite, task_bytes: int) -> list[TaskPlan]:
    """Cuts a rewrite into tasks of about `task_bytes`, in key order.

    A file that several tasks touch is read by each of them, so fewer cuts are made where that would come to
    more than reading everything twice.
    """
    count = max(1, round(rewrite.size / task_bytes))
    tasks = _cut(rewrite, count)
    while sum(task.size for task in tasks) > _MAX_REREADING * rewrite.size:
        count = count * 2 // 3
        tasks = _cut(rewrite, count)
    return tasks


def _cut(rewrite: Rewrite, count: int) -> list[TaskPlan]:
    cuts = list(_cuts(rewrite, count)) if count > 1 else []
    return [_task(rewrite, KeySpan(after, upto)) for after, upto in pairwise([None, *cuts, None])]


def _cuts(rewrite: Rewrite, count: int) -> Iterator[OrderKey]:
    """Keys that divide the rewrite into `count` parts of even bytes or fewer, as far as file bounds allow.

    Counted in quarters of a part: a cut may come a quarter early rather than a whole file late, and nothing
    smaller than a quarter is cut off at the end.
    """
    ending: dict[OrderKey, int] = {}
    for file in rewrite.files:
        ending[file.max_key] = ending.get(file.max_key, 0) + file.size
    keys = sorted(ending)
    size = rewrite.size
    parts = 1
    for key, reached in zip(keys, accumulate(ending[key] for key in keys), strict=True):
        quarters = 4 * count * reached // size
        if 4 * parts - 1 <= quarters < 4 * count - 1:
            yield key
            parts = (quarters + 1) // 4 + 1


def _task(rewrite: Rewrite, span: KeySpan) -> TaskPlan:
    sections = tuple(part for part in (_clip(section, span) for section in rewrite.sections) if part.runs)
    return TaskPlan(
        sections=sections,
        span=span,
        size=sum(section.size for section in sections),
        is_last=span.upto is None,
    )


def _clip(section: Section, span: KeySpan) -> Section:
    """The files of a section that may hold keys of the span."""
    runs = (tuple(file for file in run if span.touches(file)) for run in section.runs)
    return Section(tuple(run for run in runs if run))
