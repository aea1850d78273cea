"""The earliest row time in each data file, from the statistics in its manifest entry.

Used by `manifests` for tables with record-level expiry: a file whose earliest time has expired is rewritten
instead of only changing level, and full compactions rewrite it at the top level. Follows Paimon's
`RecordLevelExpire.isExpireFile`. Files without statistics of the column have no earliest time. Does no I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import (
    ColumnGroups,
    listed,
    taken,
    whole,
)
from lithify.errors import CorruptTable, MissingFile
from lithify.files.types import ColumnType
from lithify.formats.paimon.options.record_expiry import Seconds, seconds_of_integers, seconds_of_millis
from lithify.formats.paimon.schema.schema import Schema

_Octets = npt.NDArray[np.uint8]
_Mask = npt.NDArray[np.bool_]
_ARITY_BYTES, _SLOT_BYTES = 4, 8
_INLINE_PRECISION = 3
"""Timestamps up to this precision are stored as milliseconds in the slot; others as a pointer."""
_INTEGERS = {"TINYINT": 1, "SMALLINT": 2, "INT": 4, "BIGINT": 8}
"""Number of slot bytes that each integer type uses."""


@dataclass(frozen=True, slots=True)
class EarliestTimes:
    """Computes the earliest time of each file.

    Attributes:
        column: name of the column with the time, in the newest schema.
        newest: the newest schema.
        schema_of: loads an older version of the schema.
    """

    column: str
    newest: Schema
    schema_of: Callable[[int], Schema]

    def of(self, frame: pa.Table) -> pa.Array:
        """The earliest time of each row's file in seconds since the epoch, null if unknown.

        Args:
            frame: entries with `schema_id`, `value_stats_columns` and `value_min`.

        Raises:
            ValueError: statistics cannot be read.
        """
        result = np.zeros(len(frame), dtype=np.int64)
        known = np.zeros(len(frame), dtype=bool)
        stored = pc.binary_join(whole(frame["value_stats_columns"]), "\0")
        kinds = pa.table({"schema_id": frame["schema_id"], "stored": stored})
        groups = ColumnGroups(kinds, kinds.column_names)
        firsts = taken(frame.select(["schema_id", "value_stats_columns"]), groups.firsts)
        for number, (schema_id, names) in enumerate(zip(*map(listed, firsts.columns), strict=True)):
            rows = np.flatnonzero(groups.numbers == number)
            found = self._of_alike(
                whole(taken(frame.select(["value_min"]), rows)["value_min"]), schema_id, names
            )
            if found is not None:
                result[rows], known[rows] = found
        return pa.array(result, pa.int64(), mask=~known)

    def _of_alike(
        self, rows: pa.Array, schema_id: int, names: Sequence[str] | None
    ) -> tuple[Seconds, _Mask] | None:
        """The times of files with the same schema and statistics columns; None without the time column."""
        try:
            schema = self.schema_of(schema_id)
        except (CorruptTable, MissingFile):
            return None  # a run that needs the schema reports the error
        wanted = self.newest.column(self.column)
        stored = next((column for column in schema.columns if column.id == wanted.id), None)
        fields = [column.name for column in schema.columns] if names is None else list(names)
        if stored is None or stored.name not in fields:
            return None
        return _times(_BinaryRows(rows, len(fields)), fields.index(stored.name), stored.type, wanted.type)


def _times(
    rows: _BinaryRows, field: int, stored: ColumnType, wanted: ColumnType
) -> tuple[Seconds, _Mask] | None:
    """The time field of each row in seconds and a mask of rows that have it; None for other types."""
    if stored.root in _INTEGERS and wanted.root in _INTEGERS:
        values, known = rows.integers(field, _INTEGERS[stored.root])
        return seconds_of_integers(values, wanted.root), known
    if stored.is_timestamp and wanted.is_timestamp:
        values, known = (
            rows.millis(field) if stored.precision > _INLINE_PRECISION else rows.integers(field, 8)
        )
        return seconds_of_millis(values), known
    return None


class _BinaryRows:
    """Rows in Paimon's binary format, decoded by field for all rows at once; see `binary_row`."""

    def __init__(self, rows: pa.Array, arity: int) -> None:
        bounds = np.frombuffer(rows.buffers()[1], dtype=np.int32)[rows.offset : rows.offset + len(rows) + 1]
        self._starts = bounds[:-1].astype(np.int64)
        self._sizes = np.diff(bounds).astype(np.int64)
        content = rows.buffers()[2]
        self._octets: _Octets = np.frombuffer(content if content is not None else b"", dtype=np.uint8)
        self._slots = _ARITY_BYTES + (arity + 63 + 8) // 64 * 8
        self._least = self._slots + _SLOT_BYTES * arity
        self._arity = arity

    def integers(self, field: int, width: int) -> tuple[Seconds, _Mask]:
        """The integers of a given width in a field, and a mask of rows that have one."""
        known = self._known(field)
        return self._read(known, self._starts + self._slot(field), width), known

    def millis(self, field: int) -> tuple[Seconds, _Mask]:
        """The milliseconds of timestamps stored behind a pointer, and a mask of rows that have one."""
        known = self._known(field)
        offsets = self._read(known, self._starts + self._slot(field), _SLOT_BYTES) >> 32
        beyond = known & ((offsets < 0) | (offsets + _ARITY_BYTES + _SLOT_BYTES > self._sizes))
        if beyond.any():
            raise ValueError("a value in statistics lies beyond their end")
        return self._read(known, self._starts + _ARITY_BYTES + offsets, _SLOT_BYTES), known

    def _slot(self, field: int) -> int:
        return self._slots + _SLOT_BYTES * field

    def _known(self, field: int) -> _Mask:
        """Mask of the rows that have the field: a row may have no fields at all, or a null in this one."""
        has_arity = self._sizes >= _ARITY_BYTES
        arity = np.zeros(len(self._starts), dtype=np.int64)
        for byte in range(_ARITY_BYTES):
            arity[has_arity] = arity[has_arity] << 8 | self._octets[self._starts[has_arity] + byte]
        has_fields: _Mask = has_arity & (arity >= self._arity)
        if (has_fields & (self._sizes < self._least)).any():
            raise ValueError("statistics are cut off")
        bit = field + 8
        nulls = self._octets[self._starts[has_fields] + _ARITY_BYTES + bit // 8] >> (bit % 8) & 1
        has_fields[has_fields] = nulls == 0
        return has_fields

    def _read(self, known: _Mask, places: Seconds, width: int) -> Seconds:
        """Reads little-endian signed integers at given offsets; 0 for rows outside the mask."""
        octets = self._octets[places[known][:, None] + np.arange(width)]
        result = np.zeros(len(known), dtype=np.int64)
        result[known] = np.ascontiguousarray(octets).view(f"<i{width}")[:, 0]
        return result
