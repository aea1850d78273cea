"""Plans which row groups of a section are copied: those of its largest run whose keys no other run has.

Called by `section_copier`. A section is merged in stages: the rows up to a copied row group, that row group,
the rows up to the next one, and so on. Only row groups of files that `InputFile.is_copyable` allows are
copied, and only if no row of the file is deleted.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from lithify.columns.key_range import EVERYTHING, KeyRange
from lithify.columns.order import (
    KeyValue,
    Part,
    count_upto,
    key_at,
    parts_of_column,
)
from lithify.engine.rewrite.row_groups import SMALLEST_COPIED
from lithify.engine.rewrite.runs import RunSource
from lithify.files.model import InputFile
from lithify.files.parquet.copying import copied_groups
from lithify.files.parquet.copying.bounds import has_sound_statistics
from lithify.files.parquet.copying.source import RowGroupSource
from lithify.files.parquet.sound_statistics import flat_columns
from lithify.files.parquet.statistics import raw_bounds
from lithify.files.types import ColumnType, order_parts
from lithify.formats.paimon.schema.schema import Schema

Bound = tuple[KeyValue, ...]

_ORDERED = ("TINYINT", "SMALLINT", "INT", "BIGINT", "DATE", "CHAR", "VARCHAR", "DECIMAL", "TIMESTAMP")
"""First columns of keys for which the statistics of row groups have the order of the key."""

_MOST_OTHERS = 0.5
"""Bytes of the other runs, relative to what could be copied, above which looking for it does not pay."""


@dataclass(frozen=True, slots=True)
class Group:
    """A row group of the largest run.

    Attributes:
        file: its file.
        number: its number in the file.
        low: lower bound of the first key column.
        high: upper bound of the first key column.
        is_copied: whether it is copied.
    """

    file: InputFile
    number: int
    low: Bound
    high: Bound
    is_copied: bool


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of a section: row groups that are merged with the other runs' rows, or one that is copied.

    Attributes:
        groups: row groups of the largest run.
        upto: upper bound of the first key column of the other runs' rows; None for all that are left.
    """

    groups: tuple[Group, ...]
    upto: Bound | None = None

    @property
    def is_copy(self) -> bool:
        """Whether the stage is a row group to be copied."""
        return len(self.groups) == 1 and self.groups[0].is_copied


def may_copy(schema: Schema) -> bool:
    """Whether row groups of a table's files can be copied where no other run has their keys.

    Not if the first column of its key has another order in Parquet's statistics.
    """
    first = schema.key_types[0]
    is_ordered = first.root in _ORDERED and not first.is_wide_decimal
    return is_ordered and copied_groups.may_copy(column.type for column in schema.columns)


def largest_run(section: Sequence[Sequence[InputFile]]) -> int | None:
    """The number of the run from which row groups may be copied, None if none is large enough."""
    sizes = [sum(file.size for file in run if copied_groups.is_copyable(file)) for run in section]
    number = max(range(len(sizes)), key=sizes.__getitem__, default=0)
    others = sum(file.size for run in section for file in run) - sum(file.size for file in section[number])
    is_worth_it = sizes[number] >= SMALLEST_COPIED and others <= _MOST_OTHERS * sizes[number]
    return number if is_worth_it else None


def groups_of_file(
    file: InputFile,
    source: RowGroupSource,
    like: RowGroupSource,
    first: tuple[str, ColumnType],
    keys: KeyRange,
) -> list[Group] | None:
    """The row groups of a file; None if the bounds of their keys are unknown.

    Args:
        file: the file.
        source: the same file, open.
        like: a file as the output's writer makes it.
        first: name and type of the first key column.
        keys: the keys that the task merges; row groups that are not certainly inside are decoded.
    """
    name, kind = first
    metadata = source.footer.metadata
    column = flat_columns(metadata).get(name)
    if column is None or not has_sound_statistics(source.footer, column):
        return None
    bounds = [
        raw_bounds(metadata.row_group(n).column(column).statistics, kind)
        for n in range(metadata.num_row_groups)
    ]
    if any(bound is None for bound in bounds):
        return None
    is_alike = copied_groups.is_copyable(file) and copied_groups.is_alike(source, like)
    found = []
    for number, bound in enumerate(bounds):
        low, high = (order_parts(kind, raw) for raw in bound or ())
        group = source.footer.row_groups[number]
        is_inside = keys == EVERYTHING or file.is_inside or _is_inside(low, high, keys)
        is_copied = is_alike and is_inside and group.bytes >= SMALLEST_COPIED
        is_copied = is_copied and copied_groups.fits(source, number, like)
        found.append(Group(file, number, low, high, is_copied))
    return found


def _is_inside(low: Bound, high: Bound, keys: KeyRange) -> bool:
    after, upto = (None if key is None else key[: len(low)] for key in (keys.after, keys.upto))
    return (after is None or low > after) and (upto is None or high < upto)


def stages_of(
    groups: Sequence[Group], others: Sequence[RunSource], first: str, piece_bytes: int
) -> list[Stage]:
    """The stages in which a section is merged; empty if nothing can be copied.

    Args:
        groups: the row groups of the largest run, in order.
        others: the other runs, readable for the first key column alone.
        first: name of that column.
        piece_bytes: bytes to read of them at a time.
    """
    has_bounds = all(group.low <= group.high for group in groups)
    if not has_bounds or any(before.high > after.low for before, after in pairwise(groups)):
        return []
    copied = [group.is_copied for group in groups]
    touching = _Touching(groups)
    for run in others:
        for piece in run.pieces(piece_bytes):
            touching.add(parts_of_column(piece.rows.column(first)))
    for number in touching.groups:
        copied[number] = False
    for number in sorted(touching.gaps):
        # Rows between two row groups go into one of them rather than into a small one of their own.
        around = [each for each in (number - 1, number) if 0 <= each < len(groups)]
        if all(copied[each] for each in around):
            copied[around[0]] = False
    return [*_stages(groups, copied)] if any(copied) else []


def _stages(groups: Sequence[Group], copied: Sequence[bool]) -> Iterator[Stage]:
    merged: list[Group] = []
    for group, is_copied in zip(groups, copied, strict=True):
        if not is_copied:
            merged.append(replace(group, is_copied=False))
            continue
        yield Stage(tuple(merged), group.high)
        yield Stage((group,))
        merged = []
    yield Stage(tuple(merged))


class _Touching:
    """Row groups that have keys of other runs between their bounds, and gaps between them that have some.

    Attributes:
        groups: numbers of row groups.
        gaps: numbers of the row groups before which there are rows; one more for rows after the last.
    """

    def __init__(self, groups: Sequence[Group]) -> None:
        self._lows = [group.low for group in groups]
        self._highs = [group.high for group in groups]
        self.groups: set[int] = set()
        self.gaps: set[int] = set()

    def add(self, keys: Sequence[Part]) -> None:
        """Adds sorted values of the first key column."""
        rows = len(keys[0])
        at = 0
        while at < rows:
            value = key_at(keys, at)
            number = bisect_left(self._highs, value)
            if number == len(self._highs):
                self.gaps.add(number)
                return
            low, high = self._lows[number], self._highs[number]
            if value >= low:
                at = count_upto(keys, high)
                while number < len(self._lows) and self._lows[number] <= high:
                    self.groups.add(number)  # keys of two columns may end and begin with the same value
                    number += 1
            else:
                self.gaps.add(number)
                at = self._first_from(keys, low, at)

    @staticmethod
    def _first_from(keys: Sequence[Part], low: Bound, at: int) -> int:
        """The first row from `at` that is not below `low`."""
        end = len(keys[0])
        while at < end:
            middle = (at + end) // 2
            if key_at(keys, middle) < low:
                at = middle + 1
            else:
                end = middle
        return at
