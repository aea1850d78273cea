"""How the columns of files with one schema become the columns that are asked for.

Made by the reader, once for files of the same schema; most columns of most files are the table's already, and
then nothing is looked at for each batch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import pyarrow as pa

from lithify.errors import CorruptTable
from lithify.files.model import FileColumn
from lithify.files.types import AS_STORED, Field, arrow_type
from lithify.formats.iceberg.data_files.projection import is_same, projected
from lithify.formats.iceberg.data_files.stored import Stored

_CODED = pa.dictionary(pa.int32(), pa.string())
"""The type of text columns that are read with dictionaries."""

Missing = Callable[[int, Field], pa.Array]
"""A column that a file lacks, of a number of rows."""


class MappedColumns:
    """The columns of a schema, matched with those of files by field id.

    Attributes:
        stored: the columns of the files.
        columns: the columns that are asked for.
        found: the column of the files for each of them, None where files lack it.
        wanted: what to read of the files.

    Args:
        stored: see above.
        columns: see above.
        dictionaries: names of text columns that are read with dictionaries.
    """

    def __init__(
        self, stored: Sequence[Stored], columns: Sequence[Field], dictionaries: Collection[str]
    ) -> None:
        self.stored = stored
        self.columns = columns
        self.dictionaries = dictionaries
        by_id = {column.id: column for column in stored}
        self.found = [by_id.get(column.id) for column in columns]
        by_name = {  # two parts of one struct are read at once
            column.name: FileColumn(column.name, AS_STORED, as_dictionary=field.name in dictionaries)
            for column, field in zip(self.found, columns, strict=True)
            if column is not None
        }
        # The number of rows counts also where no column is found.
        self.wanted = [*by_name.values()] or [FileColumn(stored[0].name, AS_STORED)]
        self._looked_at: pa.Schema | None = None
        self._is_as_asked = False
        self._schema: pa.Schema | None = None

    def is_of(
        self, stored: Sequence[Stored], columns: Sequence[Field], dictionaries: Collection[str]
    ) -> bool:
        """Whether it is made of these arguments."""
        is_same_file = stored is self.stored
        return is_same_file and columns == self.columns and dictionaries == self.dictionaries

    def rows(self, batch: pa.RecordBatch, path: str, missing: Missing) -> pa.RecordBatch:
        """Rows of a file in the columns that are asked for.

        Args:
            batch: the rows, with the columns of `wanted`.
            path: the file, for messages.
            missing: makes a column that the file lacks.

        Raises:
            CorruptTable: a column has values of another type.
        """
        if self._looked_at is None or not batch.schema.equals(self._looked_at):
            self._looked_at, self._schema = batch.schema, None
            self._is_as_asked = self._are_as_asked(batch.schema)
        arrays = batch.columns if self._is_as_asked else self._converted(batch, path, missing)
        if self._schema is None:
            self._schema = _schema(self.columns, arrays)
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _are_as_asked(self, schema: pa.Schema) -> bool:
        """Whether batches have exactly the requested columns, in order and type."""
        return len(schema) == len(self.columns) and all(
            stored is not None
            and stored.name == have.name
            and (
                have.type == _CODED
                if field.name in self.dictionaries
                else have.type == arrow_type(field.type) and is_same(stored, field)
            )
            for stored, field, have in zip(self.found, self.columns, schema, strict=True)
        )

    def _converted(self, batch: pa.RecordBatch, path: str, missing: Missing) -> list[pa.Array]:
        return [
            self._column(batch, path, column, field, missing)
            for column, field in zip(self.found, self.columns, strict=True)
        ]

    def _column(
        self, batch: pa.RecordBatch, path: str, stored: Stored | None, column: Field, missing: Missing
    ) -> pa.Array:
        is_coded = column.name in self.dictionaries
        if stored is None:
            values = missing(batch.num_rows, column)
            return values.dictionary_encode() if is_coded else values
        values = batch.column(stored.name)
        if is_coded and values.type == _CODED:
            return values
        try:
            values = projected(values, stored, column)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            kind = arrow_type(column.type)
            problem = f"column {column.name} has values that are none of type {kind} ({error})"
            raise CorruptTable(path, problem) from error
        return values.dictionary_encode() if is_coded else values


def _schema(columns: Sequence[Field], arrays: Sequence[pa.Array]) -> pa.Schema:
    pairs = zip(columns, arrays, strict=True)
    return pa.schema([pa.field(column.name, array.type, column.type.nullable) for column, array in pairs])
