"""Sorts rows by a `RowKey` in bounded memory: every row stays, equal keys keep the order in which they came.

Called by tasks that cluster rows. The key is added to the rows as hidden columns, with the number of the row
last, so that no two keys are equal. Thus the machinery that merges sorted runs (`sorting`, `passes`) sorts
rows as it is: sorted chunks go to local disk if the rows do not fit into memory, and are merged at the end.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa

from lithify.columns.order import IntPart, Part
from lithify.engine.rewrite.budget import Budget
from lithify.engine.rewrite.functions import LoneRecords, Merged
from lithify.engine.rewrite.groups import Groups
from lithify.engine.rewrite.records import RecordLayout
from lithify.engine.rewrite.sort_keys import RowKey
from lithify.engine.rewrite.sorting import UnsortedRows
from lithify.engine.rewrite.spec import MergeSpec


@dataclass(frozen=True, slots=True)
class EveryRecord:
    """The merge function of records of which no two have the same key; a `MergeFunction`."""

    @property
    def columns(self) -> Collection[str]:
        """Empty: records stay as they are."""
        return ()

    @property
    def lone_records(self) -> LoneRecords:
        """Every record is the only one of its key."""
        return LoneRecords.KEPT

    def merge(self, groups: Groups) -> Merged:
        """The record of each group."""
        return Merged(groups.members)

    def reduce(self, groups: Groups) -> IntPart:
        """The record of each group."""
        return groups.members


class SortedRows:
    """Rows that are sorted once all are added.

    Args:
        key: by what they are sorted.
        budget: memory to use.
        folder: an existing local folder for chunks on disk.
    """

    def __init__(self, key: RowKey, budget: Budget, folder: Path) -> None:
        self._key = key
        self._budget = budget
        self._folder = folder
        self._rows: UnsortedRows | None = None
        self._names: tuple[str, ...] = ()
        self._width = 0
        self._buffered = 0

    def add(self, rows: pa.RecordBatch) -> None:
        """Adds rows; writes a sorted chunk to disk if too many are in memory.

        Raises:
            StorageError: the local disk is full or refuses.
        """
        if not rows.num_rows:
            return
        parts = self._key.parts(rows)
        if self._rows is None:
            self._width = rows.num_columns
            self._names = _hidden_names(rows.schema.names, len(parts) + 1)
            spec = MergeSpec(RecordLayout(self._names), EveryRecord())
            self._rows = UnsortedRows(spec, self._budget, self._folder / "sorted")
        numbers = np.arange(self._rows.rows, self._rows.rows + rows.num_rows, dtype=np.int64)
        keyed = _with_columns(rows, self._names, [*parts, numbers])
        self._rows.add(keyed)
        self._buffered += keyed.nbytes
        if self._buffered > self._budget.reading:
            self._rows.spill()
            self._buffered = 0

    def sorted(self) -> Iterator[pa.RecordBatch]:
        """Yields all rows in order; may be called only once, and not beside `numbered`.

        Raises:
            StorageError: the local disk is full or refuses.
        """
        return (rows for rows, _ in self.numbered())

    def numbered(self) -> Iterator[tuple[pa.RecordBatch, IntPart]]:
        """Yields all rows in order, each batch with the numbers of its rows in the order of `add`.

        Raises:
            StorageError: the local disk is full or refuses.
        """
        if self._rows is None:
            return
        for rows in self._rows.merged():
            yield rows.select(list(range(self._width))), rows.column(self._names[-1]).to_numpy()


def _hidden_names(taken: Sequence[str], number: int) -> tuple[str, ...]:
    """Names that no column has."""
    marks = ("_" * length for length in count(2))
    prefix = next(f"{mark}sort_" for mark in marks if not _begin_with(taken, f"{mark}sort_"))
    return tuple(f"{prefix}{place}" for place in range(number))


def _begin_with(names: Iterable[str], prefix: str) -> bool:
    return any(name.startswith(prefix) for name in names)


def _with_columns(rows: pa.RecordBatch, names: Iterable[str], parts: Iterable[Part]) -> pa.RecordBatch:
    arrays = [pa.array(part) if isinstance(part, np.ndarray) else part for part in parts]
    fields = [pa.field(name, array.type) for name, array in zip(names, arrays, strict=True)]
    return pa.RecordBatch.from_arrays([*rows.columns, *arrays], schema=pa.schema([*rows.schema, *fields]))
