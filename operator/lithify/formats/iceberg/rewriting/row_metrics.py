"""Metrics of new ORC and Avro files, as manifests have them: from their rows.

Called by `writer`. The bounds are those of Java's writers of ORC: none for binaries, UUIDs and fixed bytes.
Memory is two values a column.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lithify.files.orc.footers import OrcFooter
from lithify.files.parquet.physical import leaves_of_rows
from lithify.formats.iceberg.model import FileMetrics
from lithify.formats.iceberg.rewriting.metrics import (
    FloatMetrics,
    LeafField,
    float_bounds,
    put,
    serialized_bounds,
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


@dataclass(slots=True)
class RowMetrics:
    """Gathers the metrics of one file.

    Attributes:
        leaves: its physical columns.
        modes: which metrics are kept.
        rows: number of rows so far.
        seen: what is known of a column that has one value a row, by its place among the leaves.
    """

    leaves: tuple[LeafField, ...]
    modes: MetricsModes
    rows: int = 0
    seen: dict[int, FloatMetrics | _Seen] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for place, leaf in enumerate(self.leaves):
            if leaf.is_single and self.modes.of(leaf.name, place) != "none":
                self.seen[place] = FloatMetrics() if leaf.field.type.is_float else _Seen()

    def add(self, rows: pa.Table) -> None:
        """Adds rows."""
        self.rows += rows.num_rows
        for place, leaf in enumerate(leaves_of_rows(rows)):
            match self.seen.get(place):
                case FloatMetrics() as floats:
                    floats.add(leaf.values)
                case _Seen() as seen:
                    seen.add(leaf.values, is_bounded=self._is_bounded(place))

    def finish(self, footer: OrcFooter | None) -> FileMetrics:
        """The metrics of the finished file, with sizes of columns if it is ORC."""
        made = FileMetrics({}, {}, {}, {}, {}, {})
        sizes = {} if footer is None else footer.sizes_by_id
        for place, seen in self.seen.items():
            leaf = self.leaves[place]
            if leaf.field.id in sizes:
                put(made.column_sizes, leaf, sizes[leaf.field.id])
            put(made.value_counts, leaf, self.rows)
            put(made.null_counts, leaf, seen.nulls)
            if isinstance(seen, FloatMetrics):
                put(made.nan_counts, leaf, seen.nans)
            bounds = float_bounds(seen) if isinstance(seen, FloatMetrics) else seen.bounds
            if bounds is not None and self._is_bounded(place):
                low, high = serialized_bounds(bounds, leaf.field.type, self.modes.of(leaf.name, place))
                put(made.lower_bounds, leaf, low)
                if high is not None:
                    put(made.upper_bounds, leaf, high)
        return made

    def _is_bounded(self, place: int) -> bool:
        leaf = self.leaves[place]
        return self.modes.of(leaf.name, place) != "counts" and leaf.field.type.root not in _UNBOUNDED


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
