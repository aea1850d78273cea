"""Which columns' statistics a plan needs: those by which files are clustered, and those that deletes compare.

Called by the adapter before it reads manifests, with schemas as table metadata has them.
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.column_groups import listed, whole
from lithify.columns.orders import SortStrategy
from lithify.formats.iceberg.manifests.bounds import is_comparable
from lithify.formats.iceberg.manifests.compared_bounds import ComparedColumn
from lithify.formats.iceberg.manifests.view import Statistics
from lithify.formats.iceberg.planning.clustering import ClusterColumn
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.row_orders import RowOrder
from lithify.formats.iceberg.table.schema_columns import SchemaColumn, schema_columns

MOST_CANDIDATES = 4
"""Columns to consider in tables without a sort order: the bounds of each take time to read."""
_ORDERED = re.compile(r"identity|year|month|day|hour|truncate\[\d+\]")
"""The transforms that keep the order of values."""


def cluster_columns(
    columns: Mapping[int, SchemaColumn], order: RowOrder, spec: Mapping[str, Any]
) -> tuple[ClusterColumn, ...]:
    """The columns by which files may be clustered: that by which rows are sorted, else the first ones.

    Args:
        columns: the columns of the current schema.
        order: the order of the rows in new files; along a curve, files are clustered by no column alone.
        spec: the current partition spec as JSON; columns that are equal within a partition cluster nothing.
    """
    if order.fields:
        column = columns.get(order.fields[0].source)
        is_ordered = order.strategy is SortStrategy.ORDER and _ORDERED.fullmatch(order.fields[0].transform)
        if column is None or not is_ordered or not is_comparable(column.type):
            return ()
        # Rows sorted by the day of a time overlap within the day, however often they are sorted.
        is_sorted = order.fields[0].transform == "identity"
        return (ClusterColumn(column.id, column.type, is_sorted),)
    constant = {
        each.get("source-id") for each in spec.get("fields") or () if each.get("transform") == "identity"
    }
    usable = [each for each in columns.values() if is_comparable(each.type) and each.type != "boolean"]
    chosen = [each for each in usable if each.id not in constant][:MOST_CANDIDATES]
    return tuple(ClusterColumn(each.id, each.type) for each in chosen)


def clustered_columns(metadata: TableMetadata, order: RowOrder) -> tuple[ClusterColumn, ...]:
    """The columns by which the files of a table may be clustered whose new files have rows in this order."""
    return cluster_columns(
        schema_columns(metadata.schemas[metadata.schema_id]),
        order,
        metadata.specs[metadata.spec_id],
    )


def compared_columns(deletes: pa.Table, columns: Mapping[int, SchemaColumn]) -> dict[int, ComparedColumn]:
    """The columns that equality deletes compare, by field id.

    Args:
        deletes: the delete files of a view.
        columns: the columns of the current schema; those that are gone are not compared by statistics.
    """
    ids = listed(pc.unique(whole(deletes["equality_ids"]).flatten()).drop_null())
    known = (columns[number] for number in ids if number in columns)
    return {
        each.id: ComparedColumn(each.type, each.is_required) for each in known if is_comparable(each.type)
    }


def needed_statistics(
    clustered: Iterable[ClusterColumn], compared: Mapping[int, ComparedColumn]
) -> Statistics:
    """The statistics that a view needs for these columns."""
    bounds = frozenset(each.id for each in clustered)
    return Statistics(bounds=bounds | frozenset(compared), counts=frozenset(compared))
