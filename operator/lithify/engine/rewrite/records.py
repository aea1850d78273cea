"""The layout of records: their key, their order, and which of them retract.

Format adapters create a `RecordLayout`; code in here only reads it. Records are rows of Arrow batches with
the table's value columns, the key columns among them, and the system columns that the layout names. Features
that a format lacks are None or empty.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.order import Part, descending, parts_of_column
from lithify.columns.orders import SequenceField

Mask = npt.NDArray[np.bool_]


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


@dataclass(frozen=True, slots=True)
class RecordLayout:
    """The columns that order records.

    Attributes:
        key: names of the key columns, in key order.
        sequence: columns that make one record of a key newer than another, most significant first; ties are
            broken by run number.
        kinds: the kinds of records, None if no record retracts.
        nan_problem: why rows with a NaN in a column of the key or sequence are refused, None if they are not.
    """

    key: tuple[str, ...]
    sequence: tuple[SequenceField, ...] = ()
    kinds: RowKinds | None = None
    nan_problem: str | None = None

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
