"""Decides which row groups of some files are copied; the others are decoded and encoded again.

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


def _alike(copied: Sequence[bool]) -> Iterator[RowGroupRun]:
    start = 0
    for is_copied, members in groupby(copied):
        stop = start + len(list(members))
        yield RowGroupRun(start, stop, is_copied=is_copied)
        start = stop
