"""By which column files are clustered, as their bounds tell. Called by `plan`. Pure; loops over no files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import Flags, Numbers, flags, is_null
from lithify.columns.ranks import ranks
from lithify.engine.pack.overlaps import Overlaps, least_overlapping
from lithify.formats.iceberg.manifests.bounds import bound_values, is_comparable

_TRUNCATED = 16
"""Characters to which writers cut the bounds of texts by default."""


@dataclass(frozen=True, slots=True)
class ClusterColumn:
    """A column by which files may be clustered.

    Attributes:
        id: its field id; the data files of a view have its bounds.
        type: Iceberg's name of its type.
        is_sorted: whether it is the first column of the table's sort order.
    """

    id: int
    type: str
    is_sorted: bool = False


@dataclass(frozen=True, slots=True)
class Clustering(Overlaps):
    """The ranges of files in one column.

    Attributes:
        column: the column.
    """

    column: ClusterColumn


def clustering_of(data: pa.Table, groups: Numbers, columns: Sequence[ClusterColumn]) -> Clustering | None:
    """The column by which files are clustered: that of the sort order, else the one with the least overlap.

    Args:
        data: the data files of a view, with the bounds of these columns.
        groups: the group of each file.
        columns: the columns to consider.

    Returns:
        None if files are clustered by none of them.
    """
    usable = [each for each in columns if is_comparable(each.type) and _has_bounds(data, each)]
    found = [clustering_by(data, groups, each) for each in usable]
    ordered = [each for each in found if each.column.is_sorted and each.is_known.any()]
    if ordered or not found:
        return ordered[0] if ordered else None
    least = least_overlapping([each.overlap() for each in found])
    return None if least is None else found[least]


def _has_bounds(data: pa.Table, column: ClusterColumn) -> bool:
    return f"lower_bounds.{column.id}" in data.column_names


def clustering_by(data: pa.Table, groups: Numbers, column: ClusterColumn) -> Clustering:
    """The ranges of files in a column, of which the data files have bounds."""
    stored = [data[f"{side}_bounds.{column.id}"].combine_chunks() for side in ("lower", "upper")]
    lower, upper = ranks([bound_values(each, column.type) for each in stored])
    return Clustering(groups, lower, upper, (lower == upper) | _alike(*stored), column)


def _alike(lower: pa.ChunkedArray, upper: pa.ChunkedArray) -> Flags:
    """Whether bounds differ at most where writers cut them off."""
    start = slice(0, _TRUNCATED - 1)
    heads = [pc.binary_slice(each, start.start, start.stop) for each in (lower, upper)]
    is_cut = flags(pc.greater_equal(pc.binary_length(lower), _TRUNCATED))
    found: Flags = is_cut & ~is_null(lower) & flags(pc.equal(*heads))
    return found
