"""The layout of records: their key, their order, and which of them retract.

Format adapters create a `RecordLayout`; code in here only reads it. Records are rows of Arrow batches with
the table's value columns, the key columns among them, and the system columns that the layout names. Features
that a format lacks are None or empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.order import KeyValue, Part, descending, parts_of_column
from lithify.columns.orders import SequenceField

Mask = npt.NDArray[np.bool_]
KeyParts = tuple[KeyValue, ...]


@dataclass(frozen=True, slots=True)
class RowKinds:
    """The column that tells how a record changes its key.

    Attributes:
        column: name of an integer column.
        retracting: its values in records that retract their key.
    """

    column: str
    retracting: tuple[int, ...]

    def retracts(self, kinds: pa.Array) -> Mask:
        """Mask of the kinds that retract."""
        return np.isin(kinds.to_numpy(zero_copy_only=False), self.retracting)


class KnownDisorder(Protocol):
    """Why keys in files of a format may be out of order although nothing is damaged."""

    def problem(self, origin: str, column: str, before: KeyParts, after: KeyParts) -> str | None:
        """The cause, if it explains that `after` does not follow `before` in this key column."""
        ...


@dataclass(frozen=True, slots=True)
class RecordLayout:
    """Which columns order records, and how.

    Attributes:
        key: names of the key columns, in key order.
        sequence: columns that make one record of a key newer than another, most significant first; ties are
            broken by run number.
        kinds: the kinds of records, None if no record retracts.
        nan_problem: why rows with a NaN in a column of the key or sequence are refused, None if they are not.
        disorder: known causes of keys that are out of order, None if there are none.
    """

    key: tuple[str, ...]
    sequence: tuple[SequenceField, ...] = ()
    kinds: RowKinds | None = None
    nan_problem: str | None = None
    disorder: KnownDisorder | None = None

    def key_parts(self, rows: pa.RecordBatch) -> list[Part]:
        """The comparable parts of the rows' keys; key columns are never null."""
        return [part for name in self.key for part in parts_of_column(rows.column(name))]

    def sequence_parts(self, rows: pa.RecordBatch) -> list[Part]:
        """The comparable parts of the rows' sequence; comparable within this batch only."""
        return [part for field in self.sequence for part in _parts_of(field, rows)]

    def column_with_nan(self, rows: pa.RecordBatch) -> str | None:
        """A column of the key or sequence that holds a NaN, if NaN is refused."""
        if self.nan_problem is None:
            return None
        names = [*self.key, *(field.name for field in self.sequence)]
        floating = (name for name in names if pa.types.is_floating(rows.column(name).type))
        return next((name for name in floating if pc.any(pc.is_nan(rows.column(name))).as_py()), None)

    def known_disorder(
        self, origin: str, rows: pa.RecordBatch, before: KeyParts, after: KeyParts
    ) -> str | None:
        """The column and the known cause of a key that does not follow the one before, None if unknown.

        Args:
            origin: the file of the keys.
            rows: any rows of it.
            before: the parts of a key.
            after: the parts of the next one.
        """
        if self.disorder is None:
            return None
        for name, earlier, later in self._by_column(rows, before, after):
            problem = self.disorder.problem(origin, name, earlier, later) if earlier >= later else None
            if problem is not None:
                return f"column {name}: {problem}"
            if earlier != later:
                return None
        return None

    def _by_column(
        self, rows: pa.RecordBatch, before: KeyParts, after: KeyParts
    ) -> Iterator[tuple[str, KeyParts, KeyParts]]:
        """Each key column with its parts of both keys."""
        start = 0
        for name in self.key:
            stop = start + len(parts_of_column(rows.column(name).slice(0, 1)))
            yield name, before[start:stop], after[start:stop]
            start = stop

    def retracts(self, rows: pa.RecordBatch) -> Mask:
        """Mask of the rows that retract their key."""
        if self.kinds is None:
            return np.zeros(rows.num_rows, dtype=bool)
        return self.kinds.retracts(rows.column(self.kinds.column))


def _parts_of(field: SequenceField, rows: pa.RecordBatch) -> list[Part]:
    column = rows.column(field.name)
    nullable = column.null_count > 0
    parts = parts_of_column(column, nullable=nullable)
    valid, values = (parts[:1], parts[1:]) if nullable else ([], parts)
    return [*valid, *(values if field.ascending else [descending(part) for part in values])]
