"""Statistics of the columns that equality deletes compare: where these certainly delete nothing.

Called by `delete_index`. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import Flags, Numbers, integers, is_null, whole
from lithify.columns.ranks import ranks
from lithify.formats.iceberg.manifests.bounds import bound_values, is_comparable
from lithify.formats.iceberg.model import Content

_UNBOUNDED = ("float", "double", "uuid")
"""Types whose bounds tell nothing: those of floats leave out NaN, and engines order UUIDs in two ways."""


@dataclass(frozen=True, slots=True)
class ComparedColumn:
    """A column that equality deletes may compare, to tell by statistics where they cannot apply.

    Attributes:
        type: Iceberg's name of its type.
        is_required: whether it has no nulls.
    """

    type: str
    is_required: bool = False


def may_apply(
    data: pa.Table,
    files: Numbers,
    marks: pa.Table,
    deletes: Numbers,
    columns: Mapping[int, ComparedColumn],
) -> Flags:
    """Which pairs of a data file and a delete the statistics do not rule out.

    Args:
        data: data files, with the statistics of compared columns.
        files: the row of the data file of each pair.
        marks: delete files, likewise.
        deletes: the row of the delete file of each pair.
        columns: the compared columns, by field id.
    """
    kept = np.ones(len(files), dtype=bool)
    is_equality = integers(marks["content"])[deletes] == Content.EQUALITY_DELETES
    pairs = np.flatnonzero(is_equality)
    if not len(pairs):
        return kept
    ids = whole(marks["equality_ids"]).take(pa.array(deletes[pairs]))
    owners, numbers = whole(pc.list_parent_indices(ids)).to_numpy(), ids.flatten().to_numpy()
    for number, column in columns.items():
        compared = pairs[owners[numbers == number]]
        if len(compared) and _has_statistics(data, number) and is_comparable(column.type):
            ruled_out = _ruled_out(
                _Side(data, files[compared], number, column),
                _Side(marks, deletes[compared], number, column),
                column,
            )
            kept[compared[ruled_out]] = False
    return kept


def _has_statistics(table: pa.Table, number: int) -> bool:
    return (
        f"lower_bounds.{number}" in table.column_names and f"null_value_counts.{number}" in table.column_names
    )


class _Side:
    """The statistics of one column in the data files, or the deletes, of some pairs."""

    def __init__(self, table: pa.Table, rows: Numbers, number: int, column: ComparedColumn) -> None:
        places = pa.array(rows)
        nulls, values, self._lower, self._upper = (
            whole(table[f"{name}.{number}"]).take(places)
            for name in ("null_value_counts", "value_counts", "lower_bounds", "upper_bounds")
        )
        is_known = ~is_null(nulls)
        if column.is_required:
            nulls = pa.array(np.zeros(len(rows), dtype=np.int64))
            is_known = np.ones(len(rows), dtype=bool)
        counted = integers(nulls)
        both = is_known & ~is_null(values) & (not column.is_required)
        self.may_have_nulls: Flags = ~is_known | (counted > 0)
        self.has_no_nulls: Flags = is_known & (counted <= 0)
        self.has_only_nulls: Flags = both & (counted == integers(values))

    def bounds(self, kind: str) -> Sequence[pa.Array]:
        return [bound_values(column, kind) for column in (self._lower, self._upper)]


def _ruled_out(data: _Side, deletes: _Side, column: ComparedColumn) -> Flags:
    """The pairs of which no row can be deleted, as Java's `canContainEqDeletesForFile` tells.

    Bounds of floats tell nothing, unlike there: a NaN equals a NaN. Those of UUIDs do not, either: Java
    compared their halves as signed numbers at first (apache/iceberg#14216), and as bytes since.
    """
    both_null = data.may_have_nulls & deletes.may_have_nulls
    no_common_null = (data.has_only_nulls & deletes.has_no_nulls) | (
        deletes.has_only_nulls & data.has_no_nulls
    )
    if column.type in _UNBOUNDED:
        return ~both_null & no_common_null
    low, high, delete_low, delete_high = ranks([*data.bounds(column.type), *deletes.bounds(column.type)])
    all_known = (low >= 0) & (high >= 0) & (delete_low >= 0) & (delete_high >= 0)
    apart = all_known & ((low > delete_high) | (delete_low > high))
    return ~both_null & (no_common_null | apart)
