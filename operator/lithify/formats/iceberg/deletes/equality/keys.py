"""Keys of rows as columns that are equal exactly if Iceberg says that the keys are.

Called by `anti_join`; `engine.rewrite.key_tables` compares them.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from lithify.engine.rewrite.key_tables import comparable_parts
from lithify.formats.iceberg.deletes.equality.scopes import KeyColumn


def key_table(rows: pa.RecordBatch, columns: Sequence[KeyColumn]) -> pa.Table:
    """The keys of rows in which these columns come in their order."""
    arrays = [
        part
        for number, column in enumerate(columns)
        for part in comparable_parts(_inner(rows.column(number), column.depth))
    ]
    return pa.table(arrays, [f"k{number}" for number in range(len(arrays))])


def _inner(values: pa.Array, depth: int) -> pa.Array:
    """The part in that many structs with one field each; null where one of them is."""
    for _ in range(depth):
        values = pc.struct_field(values, [0])
    return values
