"""Metrics of new ORC and Avro files, as manifests have them: from their rows.

Called by `writer`. They are those of Java's writers of ORC: structs, lists and maps have counts, too, what is
in lists and maps has none, and binaries, UUIDs and fixed bytes have no bounds. Memory is two values for each
column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lithify.files.orc.footers import OrcFooter
from lithify.files.parquet.leaf_fields import leaf_fields
from lithify.files.types import Field
from lithify.formats.iceberg.model import FileMetrics
from lithify.formats.iceberg.rewriting.metrics import (
    FloatMetrics,
    put,
    put_bounds,
)
from lithify.formats.iceberg.rewriting.options import MetricsModes

_UNBOUNDED = ("VARBINARY", "FIXED", "UUID")


@dataclass(slots=True)
class _Seen:
    """Nulls and raw bounds of a column that has no floats."""

    nulls: int = 0
    bounds: tuple[Any, Any] | None = None

    def add(self, values: pa.ChunkedArray, *, is_bounded: bool) -> None:
        self.nulls += values.null_count
        if not is_bounded or values.null_count == len(values):
            return
        low, high = _raw_bounds(values)
        if self.bounds is not None:
            low, high = min(low, self.bounds[0]), max(high, self.bounds[1])
        self.bounds = low, high


@dataclass(frozen=True, slots=True)
class _Tracked:
    """A column, or a part of one that has one value a row.

    Attributes:
        field: the field.
        mode: which metrics are kept of it.
        parts: its parts, if it is a struct.
    """

    field: Field
    mode: str
    parts: tuple[_Tracked, ...]

    @property
    def is_bounded(self) -> bool:
        """Whether manifests have its bounds."""
        kind = self.field.type
        return self.mode not in ("none", "counts") and not kind.fields and kind.root not in _UNBOUNDED


class RowMetrics:
    """Gathers the metrics of one file.

    Args:
        columns: its columns.
        modes: which metrics are kept.
    """

    def __init__(self, columns: Sequence[Field], modes: MetricsModes) -> None:
        places = {leaf.field.id: place for place, leaf in enumerate(leaf_fields(columns))}
        self._columns = tuple(_tracked(column, "", modes, places) for column in columns)
        self._rows = 0
        self._seen: dict[int, tuple[_Tracked, FloatMetrics | _Seen]] = {}
        for column in self._columns:
            self._start(column)

    def add(self, rows: pa.Table) -> None:
        """Adds rows."""
        self._rows += rows.num_rows
        for column, values in zip(self._columns, rows.columns, strict=True):
            self._add(column, values)

    def finish(self, footer: OrcFooter | None) -> FileMetrics:
        """The metrics of the finished file, with sizes of columns if it is ORC."""
        made = FileMetrics({}, {}, {}, {}, {}, {})
        sizes = {} if footer is None else footer.sizes_by_id
        for number, (column, seen) in self._seen.items():
            if number in sizes:
                put(made.column_sizes, number, sizes[number])
            put(made.value_counts, number, self._rows)
            put(made.null_counts, number, seen.nulls)
            if isinstance(seen, FloatMetrics):
                put(made.nan_counts, number, seen.nans)
            if seen.bounds is not None and column.is_bounded:
                put_bounds(made, column.field, seen.bounds, column.mode)
        return made

    def _start(self, column: _Tracked) -> None:
        if column.mode != "none":
            self._seen[column.field.id] = column, FloatMetrics() if column.field.type.is_float else _Seen()
        for part in column.parts:
            self._start(part)

    def _add(self, column: _Tracked, values: pa.ChunkedArray) -> None:
        _, seen = self._seen.get(column.field.id, (column, None))
        if isinstance(seen, FloatMetrics):
            seen.add(values)
        elif seen is not None:
            seen.add(values, is_bounded=column.is_bounded)
        if column.parts:  # the parts of a null are null
            flat = [chunk.flatten() for chunk in values.chunks]
            for place, part in enumerate(column.parts):
                kind = values.type.field(place).type
                self._add(part, pa.chunked_array([each[place] for each in flat], kind))


def _tracked(field: Field, above: str, modes: MetricsModes, places: Mapping[int, int]) -> _Tracked:
    """A column; a nested one has the place of its first leaf."""
    name, first = f"{above}{field.name}", field
    while first.type.fields:
        first = first.type.fields[0]
    inside = field.type.fields if field.type.root == "ROW" else ()
    parts = tuple(_tracked(part, f"{name}.", modes, places) for part in inside)
    return _Tracked(field, modes.of(name, places[first.id]), parts)


def _raw_bounds(values: pa.ChunkedArray) -> tuple[Any, Any]:
    """The least and the greatest value as integers, booleans, or UTF-8 bytes."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        values = values.cast(kind.value_type)
    if pa.types.is_string(values.type):
        values = values.cast(pa.binary())  # Arrow orders texts by their bytes, too
    found = pc.min_max(values)
    return _raw(found["min"]), _raw(found["max"])


def _raw(value: pa.Scalar) -> Any:
    kind = value.type
    if pa.types.is_decimal(kind):
        return int.from_bytes(pa.array([value], kind).buffers()[1].to_pybytes()[:16], "little", signed=True)
    if pa.types.is_temporal(kind):
        return value.cast(pa.int64() if kind.bit_width > 32 else pa.int32()).as_py()
    return value.as_py()
