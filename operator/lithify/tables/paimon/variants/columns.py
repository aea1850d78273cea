"""The VARIANT columns of a Parquet file that is being written, and of one that is read back.

Called by the Parquet writer. What the columns are shredded into is decided by the first rows of each file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa

from lithify.tables.paimon.schema import field_with_ids, id_of
from lithify.tables.paimon.types import ColumnType
from lithify.tables.paimon.variants.inference import InferenceOptions, inferred
from lithify.tables.paimon.variants.joining import is_shredded, joined
from lithify.tables.paimon.variants.options import VariantOptions
from lithify.tables.paimon.variants.shape import stored_type
from lithify.tables.paimon.variants.shredding import shredded


class VariantColumns:
    """Shreds the VARIANT columns of one file.

    Args:
        types: the types of its columns.
        options: what the table says of shredding.
    """

    def __init__(self, types: Mapping[str, ColumnType], options: VariantOptions) -> None:
        self._names = [name for name, kind in types.items() if kind.root == "VARIANT"]
        self._options = options
        self._fields: dict[str, pa.Field] | None = None

    def shredded(self, rows: pa.Table) -> pa.Table:
        """Rows with the columns that the file has for variants.

        Raises:
            Malformed: a value is no variant.
        """
        if self._fields is None:
            self._fields = {field.name: field for field in self._decided(rows)}
        for name, field in self._fields.items():
            chunks = [shredded(chunk, field.type) for chunk in rows.column(name).chunks]
            column = pa.chunked_array(chunks, field.type)
            rows = rows.set_column(rows.schema.get_field_index(name), field, column)
        return rows

    def _decided(self, first: pa.Table) -> Iterable[pa.Field]:
        inference = self._options.inference
        types = _inferred(first, self._names, inference) if inference else self._options.types
        for name in self._names:
            if name in types:
                field = first.schema.field(name)
                yield field_with_ids(name, stored_type(types[name], nullable=field.nullable), id_of(field))


def _inferred(first: pa.Table, names: list[str], options: InferenceOptions) -> dict[str, ColumnType]:
    rows = first.select(names).slice(0, options.rows)
    columns = [pa.concat_arrays(column.chunks) for column in rows.columns]
    return dict(zip(names, inferred(columns, options), strict=True))


def whole(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """A column that was read from a file, as one of whole variants if it is shredded."""
    if not is_shredded(column.type) or is_shredded(kind):
        return column
    return pa.chunked_array([joined(chunk, kind) for chunk in column.chunks], kind)
