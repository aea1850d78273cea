"""A version of a table's schema in the form that readers, writers and the merge use.

Created by `schema_files` from pypaimon's schema and shipped to executors, so it is small, frozen and free of
pypaimon. Column order is the table's; keys are in the order in which they were declared.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass

import pyarrow as pa

from lithify.files.field_ids import field_with_ids, with_id
from lithify.files.types import ColumnType, arrow_type
from lithify.formats.paimon.schema.part_ids import part_id

SEQUENCE_NUMBER = "_SEQUENCE_NUMBER"
VALUE_KIND = "_VALUE_KIND"
SYSTEM_COLUMNS = {
    SEQUENCE_NUMBER: ColumnType("BIGINT", nullable=False),
    VALUE_KIND: ColumnType("TINYINT", nullable=False),
}
"""The system columns that follow the key columns, in order."""
RETRACTING_KINDS = (1, 3)
"""Row kinds that retract their key: -U and -D (0 is +I, 2 is +U)."""
KEY_PREFIX = "_KEY_"
_KEY_ID_OFFSET = 1073741823
_SYSTEM_IDS = {SEQUENCE_NUMBER: 2147483646, VALUE_KIND: 2147483645}


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its id never changes, its name may."""

    id: int
    name: str
    type: ColumnType


@dataclass(frozen=True, slots=True)
class Schema:
    """One version of a table's schema.

    Attributes:
        id: version, from 0.
        columns: value columns in table order.
        primary_key: names of the key columns without partition columns (Paimon's trimmed primary key).
        partition_keys: names of the partition columns.
        options: table options as stored.
    """

    id: int
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    partition_keys: tuple[str, ...]
    options: Mapping[str, str]

    def column(self, name: str) -> Column:
        """The column of a name.

        Raises:
            KeyError: there is none.
        """
        return next(column for column in self.columns if column.name == name)

    @property
    def system_columns(self) -> Mapping[str, ColumnType]:
        """The system columns of data files; files of tables without a primary key have none."""
        return SYSTEM_COLUMNS if self.primary_key else {}

    @property
    def stored_types(self) -> dict[str, ColumnType]:
        """The types of value and system columns, by name."""
        return {**{column.name: column.type for column in self.columns}, **self.system_columns}

    @property
    def key_types(self) -> tuple[ColumnType, ...]:
        """Types of the key columns."""
        return tuple(self.column(name).type for name in self.primary_key)

    @property
    def partition_types(self) -> tuple[ColumnType, ...]:
        """Types of the partition columns."""
        return tuple(self.column(name).type for name in self.partition_keys)

    def rows_schema(
        self, dictionaries: Container[str] = (), variants: Mapping[str, pa.DataType] | None = None
    ) -> pa.Schema:
        """The rows of a compaction: the value columns, then the system columns.

        Columns named in `dictionaries` are dictionary-encoded; `variants` has the form of VARIANT columns
        that are shredded.
        """
        values = [_encoded(_field(column.name, column.type), dictionaries) for column in self.columns]
        values = [field.with_type((variants or {}).get(field.name, field.type)) for field in values]
        return pa.schema([*values, *_fields(self.system_columns)])

    def file_schema(self, *, thin: bool) -> pa.Schema:
        """The columns of a data file, in file order and with Paimon's field ids."""
        keys = [] if thin else [self._key_field(self.column(name)) for name in self.primary_key]
        system = [with_id(field, _SYSTEM_IDS[field.name]) for field in _fields(self.system_columns)]
        values = [field_with_ids(each.name, each.type, each.id, part_id) for each in self.columns]
        return pa.schema([*keys, *system, *values])

    @staticmethod
    def _key_field(column: Column) -> pa.Field:
        return with_id(_field(KEY_PREFIX + column.name, column.type), column.id + _KEY_ID_OFFSET)


def _fields(columns: Mapping[str, ColumnType]) -> list[pa.Field]:
    return [_field(name, column) for name, column in columns.items()]


def _field(name: str, column: ColumnType) -> pa.Field:
    return pa.field(name, arrow_type(column), column.nullable)


def _encoded(field: pa.Field, dictionaries: Container[str]) -> pa.Field:
    return field.with_type(pa.dictionary(pa.int32(), field.type)) if field.name in dictionaries else field
