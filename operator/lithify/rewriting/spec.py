"""What a merge has to know of the rows: their key, their sequence, and what happens to equal keys.

Format adapters make a `MergeSpec`; the merge only reads it. Rows are Arrow batches with the table's value
columns (the key columns among them) and two system columns, whose names the spec holds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lithify.rewriting.order import Part, descending, parts_of_column

RETRACTS = (1, 3)
"""Row kinds that retract their key: -U and -D."""


@dataclass(frozen=True, slots=True)
class SequenceField:
    """A column whose value decides which of two records of a key is newer."""

    name: str
    ascending: bool = True


@dataclass(frozen=True, slots=True)
class MergeSpec:
    """How rows are ordered and merged.

    Attributes:
        key: names of the key columns, in key order.
        sequence_fields: user-defined sequence; asked before the sequence number.
        ignore_deletes: records that retract never replace or remove another (`ignore-delete`).
        drop_deletes: the output holds no records that retract their key.
        sequence_number: name of the BIGINT column with the writer's sequence number.
        row_kind: name of the TINYINT column with the row kind (0 +I, 1 -U, 2 +U, 3 -D).
    """

    key: tuple[str, ...]
    sequence_fields: tuple[SequenceField, ...] = ()
    ignore_deletes: bool = False
    drop_deletes: bool = False
    sequence_number: str = "_SEQUENCE_NUMBER"
    row_kind: str = "_VALUE_KIND"

    def key_parts(self, rows: pa.RecordBatch) -> list[Part]:
        """The comparable parts of the rows' keys; key columns are never null."""
        return [part for name in self.key for part in parts_of_column(rows.column(name))]

    def sequence_parts(self, rows: pa.RecordBatch) -> list[Part]:
        """The comparable parts of the rows' sequence; comparable within this batch only."""
        parts: list[Part] = []
        for field in self.sequence_fields:
            valid, *values = parts_of_column(rows.column(field.name), nullable=True)
            parts.append(valid)
            parts.extend(values if field.ascending else [descending(part) for part in values])
        return [*parts, *parts_of_column(rows.column(self.sequence_number))]

    def column_with_nan(self, rows: pa.RecordBatch) -> str | None:
        """A column of the key or sequence that holds a NaN, if there is one.

        Comparisons of NaN are all false, so to Paimon 1.4 it equals every number, and no order has room for
        it.
        """
        names = [*self.key, *(field.name for field in self.sequence_fields)]
        floating = (name for name in names if pa.types.is_floating(rows.column(name).type))
        return next((name for name in floating if pc.any(pc.is_nan(rows.column(name))).as_py()), None)

    def retracts(self, rows: pa.RecordBatch) -> npt.NDArray[np.bool_]:
        """Which rows retract their key."""
        return np.isin(rows.column(self.row_kind).to_numpy(), RETRACTS)
