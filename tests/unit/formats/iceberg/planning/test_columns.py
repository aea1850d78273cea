"""The columns whose statistics a plan needs follow from schema, sort order, spec and equality deletes."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from lithify.columns.orders import SortStrategy
from lithify.formats.iceberg.manifests.compared_bounds import ComparedColumn
from lithify.formats.iceberg.manifests.view import Statistics
from lithify.formats.iceberg.planning.clustering import ClusterColumn
from lithify.formats.iceberg.planning.columns import (
    cluster_columns,
    compared_columns,
    needed_statistics,
)
from lithify.formats.iceberg.table.row_orders import OrderField, RowOrder
from lithify.formats.iceberg.table.schema_columns import schema_columns
from support.cases import case
from support.iceberg_schemas import SCHEMA as EVENTS

SCHEMA = {
    **EVENTS,
    "fields": [
        *EVENTS["fields"],
        *({"id": n, "name": f"c{n}", "required": False, "type": "int"} for n in range(10, 20)),
    ],
}
FOUND = schema_columns(SCHEMA)


def order(source: int, transform: str) -> RowOrder:
    return RowOrder((OrderField(source, transform),), id=1)


@pytest.mark.parametrize(
    ("transform", "is_sorted"), [("identity", True), ("day", False), ("truncate[4]", False)]
)
def test_first_column_of_the_sort_order_counts(transform: str, *, is_sorted: bool) -> None:
    """Files of a day overlap in times, although they are sorted by days: that is no reason to sort again."""
    found = cluster_columns(FOUND, order(6, transform), {})
    assert found == (ClusterColumn(6, "timestamptz", is_sorted),)


@pytest.mark.parametrize(
    "unknown",
    [
        case(order(6, "bucket[4]"), id="hashes"),
        case(order(99, "identity"), id="no column"),
        case(order(7, "identity"), id="no comparable column"),
        case(replace(order(6, "identity"), strategy=SortStrategy.ZORDER), id="curve"),
    ],
)
def test_orders_in_which_bounds_say_nothing_are_passed_over(unknown: RowOrder) -> None:
    assert cluster_columns(FOUND, unknown, {}) == ()


def test_first_columns_are_candidates_without_a_sort_order() -> None:
    spec = {"fields": [{"source-id": 2, "transform": "identity"}, {"source-id": 6, "transform": "day"}]}
    assert [each.id for each in cluster_columns(FOUND, RowOrder(), spec)] == [4, 6, 10, 11]


def test_columns_of_equality_deletes_are_compared_if_they_are_still_there() -> None:
    ids = pa.array([[6, 99], None, [2, 7]], pa.list_(pa.int32()))
    compared = compared_columns(pa.table({"equality_ids": ids}), FOUND)
    assert compared == {6: ComparedColumn("timestamptz", True), 2: ComparedColumn("decimal(9,2)", False)}
    statistics = needed_statistics([ClusterColumn(10, "int")], compared)
    assert statistics == Statistics(bounds=frozenset({2, 6, 10}), counts=frozenset({2, 6}))
