"""Which row groups of some files are copied, which are decoded and encoded again, and where files end.

Called by adapters whose file format can copy row groups. Copying is cheap but keeps row groups as small as
they are, and readers pay for each; so small ones that are neighbours are decoded and become larger ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

SMALLEST_COPIED = 1 << 20
"""Bytes below which a row group is worth decoding; design note 0050 has the measurements."""

SMALLEST_CHUNK = 16 << 10
"""The same for an average column chunk: each costs some work, whatever its size is."""

_SMALL_REST = 0.7
"""Share of the target size below which the last file is joined with the one before."""


@dataclass(frozen=True, slots=True)
class RowGroupShape:
    """A row group as planning sees it.

    Attributes:
        rows: number of rows.
        bytes: encoded bytes.
        schema: fingerprint of its file's schema; None if it cannot be copied.
    """

    rows: int
    bytes: int
    schema: str | None


@dataclass(frozen=True, slots=True)
class RowGroupRun:
    """Consecutive row groups, from `start` up to but not including `stop`, with the same treatment."""

    start: int
    stop: int
    is_copied: bool


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """The runs of row groups that become one file, in order, and the sum of their bytes."""

    runs: tuple[RowGroupRun, ...]
    bytes: int


def plan_copies(
    groups: Sequence[RowGroupShape], schema: str, smallest: int = SMALLEST_COPIED
) -> tuple[RowGroupRun, ...]:
    """Divides row groups into runs that are copied and runs that are decoded, in order.

    A run of small row groups is decoded unless it is a single one, which would come out as small as it was.

    Args:
        groups: the row groups in the order of the output.
        schema: fingerprint of the output's schema; groups of others are decoded.
        smallest: bytes from which a row group is copied whatever its neighbours are.
    """
    fits = [group.schema == schema for group in groups]
    copied = [fit and group.bytes >= smallest for fit, group in zip(fits, groups, strict=True)]
    runs = []
    for run in _alike(copied):
        is_alone = run.stop - run.start == 1 and fits[run.start]
        runs.append(RowGroupRun(run.start, run.stop, is_copied=run.is_copied or is_alone))
    copied = [run.is_copied for run in runs for _ in range(run.start, run.stop)]
    return tuple(_alike(copied))


def plan_files(
    groups: Sequence[RowGroupShape], schema: str, target_size: int, smallest: int = SMALLEST_COPIED
) -> list[PlannedFile]:
    """Divides row groups into files near the target size, each with its runs.

    A file ends between two row groups, where its size is nearest to the target. A small rest is added to the
    file before it. Decoded row groups count with their present size.
    """
    cuts = [*_cuts([group.bytes for group in groups], target_size)]
    files = []
    for start, stop in zip([0, *cuts], [*cuts, len(groups)], strict=True):
        runs = plan_copies(groups[start:stop], schema, smallest)
        moved = tuple(RowGroupRun(run.start + start, run.stop + start, run.is_copied) for run in runs)
        files.append(PlannedFile(moved, sum(group.bytes for group in groups[start:stop])))
    return files if groups else []


def _alike(copied: Sequence[bool]) -> Iterator[RowGroupRun]:
    start = 0
    for is_copied, members in groupby(copied):
        stop = start + len(list(members))
        yield RowGroupRun(start, stop, is_copied=is_copied)
        start = stop


def _cuts(sizes: Sequence[int], target_size: int) -> list[int]:
    """The positions at which files end, except the last."""
    cuts: list[int] = []
    size = 0
    for position, more in enumerate(sizes):
        if size and abs(size + more - target_size) > abs(target_size - size):
            cuts.append(position)
            size = 0
        size += more
    if cuts and size < target_size * _SMALL_REST:
        cuts.pop()
    return cuts
