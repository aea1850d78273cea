"""Tasks that compute digests of rows, and the comparison of two snapshots by them.

Made by `canary`; run like the tasks of a compaction. Parts whose files are the same in both snapshots are
left out. Tasks return figures only, never rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from lithify.clock import Clock
from lithify.columns.row_digests import RowsDigest, digest_of
from lithify.engine.tasks.execution import carry_out
from lithify.formats.protocol.canary import RowsPart
from lithify.formats.protocol.results import TaskOutputs, TaskResult

TASK_BYTES = 512 << 20
"""Bytes that one task reads, unless one part has more."""


@dataclass(frozen=True, slots=True)
class GroupDigest:
    """The digest of rows of one group, before or after the compaction."""

    group: str
    is_after: bool
    digest: RowsDigest


@dataclass(frozen=True, slots=True)
class Side:
    """A part of one of the two snapshots."""

    part: RowsPart
    is_after: bool


@dataclass(frozen=True, slots=True)
class DigestTask:
    """Reads some parts and returns the digest of each; a `Task` of `formats.protocol.tasks`."""

    index: int
    sides: tuple[Side, ...]

    @property
    def input_sizes(self) -> Mapping[str, int]:
        """Bytes of the parts, by the path of a file of each."""
        sizes: Counter[str] = Counter()
        for side in self.sides:
            sizes[side.part.path] += side.part.size
        return sizes

    def run(self, clock: Clock, attempt: int = 0, attempt_id: int = 0) -> TaskResult:
        """Reads the rows; see the Protocol."""
        del clock, attempt_id
        return carry_out(self._digests, _NoFiles(), self.index, self.sides[0].part.path, attempt)

    def _digests(self, files: _NoFiles) -> TaskOutputs:
        del files
        return TaskOutputs(
            data=tuple(
                GroupDigest(side.part.group, side.is_after, digest_of(side.part.read()))
                for side in self.sides
            )
        )


class _NoFiles:
    """The files that a task has written that only reads."""

    def delete(self) -> None:
        """Does nothing."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A group whose rows are not the same."""

    group: str
    before: RowsDigest
    after: RowsDigest

    def __str__(self) -> str:
        return f"{self.group or 'the table'}: {self.before} before, {self.after} after"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The comparison of two snapshots.

    Attributes:
        groups: the number of groups that were read.
        rows: the number of rows in them before the compaction.
        differences: groups whose rows are not the same.
    """

    groups: int
    rows: int
    differences: tuple[Difference, ...]


def changed_sides(before: Sequence[RowsPart], after: Sequence[RowsPart]) -> Iterator[Side]:
    """The parts that are not in both snapshots; one that is listed more often in one of them is changed."""
    common = Counter(map(_key, before)) & Counter(map(_key, after))
    for parts, is_after in ((before, False), (after, True)):
        same = Counter(common)
        for part in parts:
            if same[_key(part)]:
                same[_key(part)] -= 1
            else:
                yield Side(part, is_after)


def _key(part: RowsPart) -> tuple[str, Hashable]:
    return part.group, part.files


def digest_tasks(sides: Iterable[Side], most_bytes: int) -> Iterator[DigestTask]:
    """Tasks for some parts: several small ones a task."""
    gathered, size, index = list[Side](), 0, 0
    for side in sides:
        if gathered and size + side.part.size > most_bytes:
            yield DigestTask(index, tuple(gathered))
            gathered, size, index = [], 0, index + 1
        gathered.append(side)
        size += side.part.size
    if gathered:
        yield DigestTask(index, tuple(gathered))


def compared(results: Iterable[TaskResult]) -> Comparison:
    """The comparison, from the results of all tasks.

    Raises:
        LithifyError: a task could not read its rows.
    """
    sums: dict[tuple[str, bool], RowsDigest] = {}
    for result in results:
        if result.failure is not None:
            raise result.failure.as_error()
        for found in result.outputs.data:
            place = (found.group, found.is_after)
            sums[place] = sums.get(place, RowsDigest()) + found.digest
    groups = sorted({group for group, _ in sums})
    pairs = [
        (sums.get((group, False), RowsDigest()), sums.get((group, True), RowsDigest())) for group in groups
    ]
    differences = (
        Difference(group, before, after)
        for group, (before, after) in zip(groups, pairs, strict=True)
        if before != after
    )
    return Comparison(len(groups), sum(before.rows for before, _ in pairs), tuple(differences))
