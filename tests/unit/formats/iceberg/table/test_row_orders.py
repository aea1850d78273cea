"""Rows are sorted by the option of the run or the table, else by the table's sort order."""

from __future__ import annotations

from typing import Any

import pytest

from lithify.columns.orders import SortStrategy
from lithify.errors import InvalidOption
from lithify.formats.iceberg.table.metadata import TableMetadata, parse_metadata
from lithify.formats.iceberg.table.row_orders import SORT_ORDER, OrderField, RowOrder, row_order
from support.cases import case

FIELDS = [
    {"id": 1, "name": "id", "required": True, "type": "long"},
    {"id": 2, "name": "kind", "required": False, "type": "string"},
    {
        "id": 3,
        "name": "place",
        "required": False,
        "type": {"type": "struct", "fields": [{"id": 4, "name": "x", "required": True, "type": "int"}]},
    },
    {
        "id": 5,
        "name": "tags",
        "required": False,
        "type": {"type": "list", "element-id": 6, "element": "string", "element-required": True},
    },
]
BY_KIND = {"source-id": 2, "transform": "identity", "direction": "desc", "null-order": "nulls-last"}
BY_BUCKET = {"source-id": 1, "transform": "bucket[8]", "direction": "asc", "null-order": "nulls-first"}
STORED = RowOrder((OrderField(2, ascending=False, nulls_first=False), OrderField(1, "bucket[8]")), id=1)


def metadata(*fields: dict[str, Any]) -> TableMetadata:
    found = {
        "format-version": 2,
        "location": "/t",
        "last-updated-ms": 1,
        "schemas": [{"schema-id": 0, "type": "struct", "fields": FIELDS}],
        "current-schema-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "sort-orders": [{"order-id": 0, "fields": []}, {"order-id": 1, "fields": list(fields)}],
        "default-sort-order-id": 1 if fields else 0,
    }
    return parse_metadata(found, "v1.metadata.json")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        case("", STORED, id="that of the table"),
        case("none", RowOrder(), id="as they are"),
        case("id", RowOrder((OrderField(1),)), id="one column"),
        case("place.x", RowOrder((OrderField(4),)), id="field of a struct"),
        case(
            "kind DESC, id asc nulls last",
            RowOrder((OrderField(2, ascending=False, nulls_first=False), OrderField(1, nulls_first=False))),
            id="directions, with nulls last where values descend",
        ),
        case(
            "zorder(id, place.x)",
            RowOrder((OrderField(1), OrderField(4)), SortStrategy.ZORDER),
            id="z-order",
        ),
        case(
            "Hilbert ( id , kind )",
            RowOrder((OrderField(1), OrderField(2)), SortStrategy.HILBERT),
            id="Hilbert",
        ),
    ],
)
def test_option_comes_before_the_order_of_the_table(text: str, wanted: RowOrder) -> None:
    assert row_order(metadata(BY_KIND, BY_BUCKET), {SORT_ORDER: text}) == wanted


@pytest.mark.parametrize(
    "stored",
    [
        case([], id="no fields"),
        case([BY_KIND, {**BY_KIND, "source-id": 9}], id="column is gone"),
        case([{**BY_KIND, "source-id": 5}], id="list"),
        case([{**BY_KIND, "transform": "geohash"}], id="unknown transform"),
    ],
)
def test_rows_stay_as_they_are_without_an_order_that_this_release_knows(stored: list[dict[str, Any]]) -> None:
    assert row_order(metadata(*stored), {}) == RowOrder()


@pytest.mark.parametrize(
    "text",
    ["ID", "id,", "tags", "place", "id sideways", "zorder(id desc)", "zorder()", "zorder(id", "id; kind"],
)
def test_option_that_names_no_column_is_refused(text: str) -> None:
    with pytest.raises(InvalidOption) as raised:
        row_order(metadata(BY_KIND), {SORT_ORDER: text})
    assert raised.value.option == SORT_ORDER
