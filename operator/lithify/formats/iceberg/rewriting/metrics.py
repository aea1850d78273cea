"""Metrics of new files, as manifests have them: from the footer, and of floats from the rows.

Called by `writer`. Bounds are in Iceberg's single-value serialization. Lists and maps have neither counts nor
bounds.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lithify.columns.octets import number_bytes
from lithify.files.parquet.leaf_fields import LeafField
from lithify.files.parquet.physical import leaves_of_rows
from lithify.files.parquet.statistics import bounds_of, nulls_of
from lithify.files.statistics import FloatBounds, bytes_up, truncated_up
from lithify.files.types import ColumnType, Field
from lithify.formats.iceberg.model import FileMetrics
from lithify.formats.iceberg.rewriting.options import MetricsModes

_TRUNCATE = re.compile(r"truncate\((\d+)\)")
_FORMATS = {"BOOLEAN": "<?", "INT": "<i", "DATE": "<i", "FLOAT": "<f", "DOUBLE": "<d"}
_LONG = "<q"
_BYTES = ("VARBINARY", "FIXED")


class FloatMetrics(FloatBounds):
    """Bounds and NaNs of a column of floats; footers of new files do not tell them."""

    def add_chunk(self, chunk: pq.ColumnChunkMetaData) -> None:
        """Adds a column chunk that is copied, by its statistics, which leave out NaNs."""
        self.nans = None
        statistics = chunk.statistics
        has_nulls = statistics is not None and statistics.has_null_count
        self.nulls = self.nulls + statistics.null_count if has_nulls and self.nulls is not None else None
        has_bounds = statistics is not None and statistics.has_min_max
        bounds = (float(statistics.min), float(statistics.max)) if has_bounds else (np.nan, np.nan)
        if not any(map(np.isnan, bounds)):
            self.widen(*bounds)
        elif statistics is None or statistics.null_count != chunk.num_values:
            self.is_bounded = False


@dataclass(slots=True)
class MetricsBuilder:
    """Gathers the metrics of one file.

    Attributes:
        leaves: its physical columns.
        modes: which metrics are kept.
        floats: metrics of columns of floats, by their places among the leaves.
    """

    leaves: tuple[LeafField, ...]
    modes: MetricsModes
    floats: dict[int, FloatMetrics] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.floats = {
            place: FloatMetrics()
            for place, leaf in enumerate(self.leaves)
            if leaf.field.type.is_float and leaf.is_single
        }

    def add(self, rows: pa.Table) -> None:
        """Adds encoded rows."""
        if not self.floats:
            return
        for place, leaf in enumerate(leaves_of_rows(rows)):
            if place in self.floats:
                self.floats[place].add(leaf.values)

    def add_copied(self, footer: pq.FileMetaData, row_group: int) -> None:
        """Adds a row group that is copied; its columns are the first of the leaves."""
        group = footer.row_group(row_group)
        for place, found in self.floats.items():
            found.add_chunk(group.column(place))

    def finish(self, footer: pq.FileMetaData) -> FileMetrics:
        """The metrics of the finished file."""
        made = FileMetrics({}, {}, {}, {}, {}, {})
        for place, leaf in enumerate(self.leaves):
            mode = self.modes.of(leaf.name, place)
            chunks = [footer.row_group(at).column(place) for at in range(footer.num_row_groups)]
            put(made.column_sizes, leaf.field.id, sum(int(chunk.total_compressed_size) for chunk in chunks))
            if mode != "none" and leaf.is_single:
                self._add_leaf(made, place, leaf, chunks, mode)
        return made

    def _add_leaf(
        self,
        made: FileMetrics,
        place: int,
        leaf: LeafField,
        chunks: Sequence[pq.ColumnChunkMetaData],
        mode: str,
    ) -> None:
        floats = self.floats.get(place)
        put(made.value_counts, leaf.field.id, sum(int(chunk.num_values) for chunk in chunks))
        nulls = nulls_of(chunks) if floats is None else floats.nulls
        if nulls is not None:
            put(made.null_counts, leaf.field.id, nulls)
        if floats is not None and floats.nans is not None:
            put(made.nan_counts, leaf.field.id, floats.nans)
        if mode == "counts":
            return
        bounds = floats.bounds if floats is not None else bounds_of(chunks)
        if bounds is not None:
            put_bounds(made, leaf.field, bounds, mode)


def serialized_bounds(bounds: tuple[Any, Any], kind: ColumnType, mode: str) -> tuple[bytes, bytes | None]:
    """Bounds as manifests have them, cut as the mode says; there may be no short upper bound.

    Args:
        bounds: the smallest and the greatest value, as PyArrow's statistics have them in raw form.
        kind: the type of the column.
        mode: `full` or `truncate(n)`.
    """
    low, high = bounds
    match = _TRUNCATE.fullmatch(mode)
    length = int(match[1]) if match else 0
    if kind.is_string and length:
        text = low.decode(errors="replace")[:length].encode()
        upper = truncated_up(high.decode(errors="replace"), length)
        return text, None if upper is None else upper.encode()
    if kind.root in _BYTES and length:
        return bytes(low[:length]), bytes_up(bytes(high), length)
    return serialized(low, kind), serialized(high, kind)


def serialized(value: Any, kind: ColumnType) -> bytes:
    """A value in Iceberg's single-value serialization."""
    if kind.root == "DECIMAL":
        number = value if isinstance(value, int) else int.from_bytes(value, "big", signed=True)
        return number_bytes(number)
    if isinstance(value, bytes):
        return value
    return struct.pack(_FORMATS.get(kind.root, _LONG), value)


def put_bounds(made: FileMetrics, field: Field, bounds: tuple[Any, Any], mode: str) -> None:
    """Sets the bounds of a column; there may be no short upper one."""
    low, high = serialized_bounds(bounds, field.type, mode)
    put(made.lower_bounds, field.id, low)
    if high is not None:
        put(made.upper_bounds, field.id, high)


def put(values: Mapping[int, Any], number: int, value: Any) -> None:
    """Sets a figure of a column, by its field id."""
    values[number] = value  # type: ignore[index]  # a dict while it is made
