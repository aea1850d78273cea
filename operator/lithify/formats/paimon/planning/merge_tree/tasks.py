"""Splits rewrites into tasks of even bytes, so that one large bucket keeps a whole cluster busy.

Called by a run's driver. A rewrite is cut between its sections, and inside a large section at keys where a
file ends (everything at or below such a key is merged by one task, everything above it by the next). A
rewrite that is too small to be cut stays whole, because every cut may leave a small file behind.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from lithify.columns.order_key import OrderKey
from lithify.formats.paimon.model import DataFile
from lithify.formats.paimon.planning.merge_tree.rewrites import Rewrite
from lithify.formats.paimon.planning.merge_tree.sections import Section

_MAX_REREADING = 2
"""Upper bound of bytes read by all tasks, relative to the input: files across cuts are read several times."""

_DIGITS = 16
"""Number of key bytes used to interpolate between two keys; enough for two integer columns."""


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
    """The input of one task: sections in key order, restricted to the keys of a span.

    Attributes:
        sections: the sections that the span touches, each with only the files that the span touches.
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

    A file that several tasks touch is read by each of them, so there are fewer cuts where that would exceed
    reading everything twice.
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
    size = rewrite.size
    parts = 1
    for key, reached in _bytes_upto_ends(rewrite.files):
        quarters = 4 * count * reached // size
        if 4 * parts - 1 <= quarters < 4 * count - 1:
            yield key
            parts = (quarters + 1) // 4 + 1


def _bytes_upto_ends(files: Sequence[DataFile]) -> Iterator[tuple[OrderKey, int]]:
    """For every key at which a file ends, in order: the bytes at or below that key.

    A file that extends beyond the key counts proportionally, as if its keys were spread evenly. The files
    that span a key are represented as a sum of linear functions, each from zero to the file's size.
    """
    begins = sorted(files, key=lambda file: file.min_key)
    scale = _Scale(min(file.min_key for file in files), max(file.max_key for file in files))
    closed, slope, offset, opened = 0, 0.0, 0.0, 0
    for key, ending in groupby(sorted(files, key=lambda file: file.max_key), key=lambda file: file.max_key):
        while opened < len(begins) and begins[opened].min_key <= key:
            steep, low = _line(begins[opened], scale)
            slope, offset, opened = slope + steep, offset + steep * low, opened + 1
        for file in ending:
            steep, low = _line(file, scale)
            slope, offset, closed = slope - steep, offset - steep * low, closed + file.size
        yield key, closed + max(0, round(slope * scale.at(key) - offset))


class _Scale:
    """Maps keys to the range from 0 to 1, by their first bytes as one large integer."""

    def __init__(self, first: OrderKey, last: OrderKey) -> None:
        self._first = self._number(first)
        self._length = max(1, self._number(last) - self._first)

    def at(self, key: OrderKey) -> float:
        return (self._number(key) - self._first) / self._length

    @staticmethod
    def _number(key: OrderKey) -> int:
        return int.from_bytes(key[:_DIGITS].ljust(_DIGITS, b"\x00"), "big")


def _line(file: DataFile, scale: _Scale) -> tuple[float, float]:
    """Slope and start of the linear function by which the bytes of a file accumulate."""
    low, high = scale.at(file.min_key), scale.at(file.max_key)
    return (file.size / (high - low) if high > low else 0.0), low


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
