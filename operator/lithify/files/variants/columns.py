"""The VARIANT columns of rows: their form during a merge, and their form in new files.

Called by adapters and by the Parquet reader and writer; other code uses only this module and `options` of the
package. A merge only moves rows, so columns that are shredded alike in all files and stay so in the new ones
are not converted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa

from lithify.files.field_ids import field_with_ids, id_of
from lithify.files.nesting import rebuilt
from lithify.files.types import VARIANT, ColumnType, arrow_type
from lithify.files.variants.encoding import Malformed
from lithify.files.variants.inference import inferred
from lithify.files.variants.joining import is_shredded, joined
from lithify.files.variants.options import InferenceOptions, VariantOptions
from lithify.files.variants.shape import is_canonical, stored_type
from lithify.files.variants.shredding import shredded

__all__ = ["Malformed", "VariantColumns", "in_form", "is_shredded", "merged_form"]
_WHOLE = arrow_type(VARIANT)


def merged_form(name: str, options: VariantOptions, stored: pa.DataType | None) -> pa.DataType | None:
    """The type of a VARIANT column during a merge, None for unshredded values.

    Args:
        name: name of the column.
        options: the table's shredding options.
        stored: its type in most of the rows, as far as known.
    """
    if name in options.types:
        return arrow_type(stored_type(options.types[name]))
    if options.inference and stored is not None and is_shredded(stored) and is_canonical(stored):
        return stored
    return None


def in_form(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Converts variants to another form, shredded or not.

    Raises:
        Malformed: a value is not a valid variant.
    """
    if values.type == kind:
        return values
    whole = joined(values, _WHOLE) if is_shredded(values.type) else rebuilt(values, _WHOLE, pa.Array.cast)
    return whole if kind == _WHOLE else shredded(whole, kind)


class VariantColumns:
    """Converts the VARIANT columns of one file to their form in the file, which its first rows determine.

    Args:
        types: the types of its columns.
        options: the table's shredding options.
    """

    def __init__(self, types: Mapping[str, ColumnType], options: VariantOptions) -> None:
        self._types = {name: kind for name, kind in types.items() if kind.root == "VARIANT"}
        self._options = options
        self._fields: dict[str, pa.Field] | None = None

    def in_file(self, rows: pa.Table) -> pa.Table:
        """Rows with the VARIANT columns in the file's form.

        Raises:
            Malformed: a value is not a valid variant.
        """
        if self._fields is None:
            self._fields = {field.name: field for field in self._decided(rows)}
        for name, field in self._fields.items():
            column = _in_chunks(rows.column(name), field.type)
            rows = rows.set_column(rows.schema.get_field_index(name), field, column)
        return rows

    def read_back(self, name: str, column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
        """A column of the file in the form that the rows had; columns without variants are unchanged."""
        return _in_chunks(column, kind) if name in self._types else column

    def _decided(self, first: pa.Table) -> Iterator[pa.Field]:
        inference = self._options.inference
        types = _inferred(first, list(self._types), inference) if inference else self._options.types
        for name, column in self._types.items():
            stored = stored_type(types[name]) if name in types else column
            number = id_of(first.schema.field(name))
            yield field_with_ids(name, stored, number, self._options.part_ids)


def _in_chunks(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Applies `in_form` to each chunk."""
    return pa.chunked_array([in_form(chunk, kind) for chunk in column.chunks], kind)


def _inferred(first: pa.Table, names: list[str], options: InferenceOptions) -> dict[str, ColumnType]:
    rows = first.select(names).slice(0, options.rows)
    columns = [pa.concat_arrays(_in_chunks(column, _WHOLE).chunks) for column in rows.columns]
    return dict(zip(names, inferred(columns, options), strict=True))
