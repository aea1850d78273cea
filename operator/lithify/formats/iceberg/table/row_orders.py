"""By what the rows of new files are sorted: an option of ours, else the table's sort order. Pure.

    lithify.sort-order      rows are sorted
    (not set)               by the table's default sort order, if it has one
    none                    not at all: they keep the order of their files
    a, b DESC NULLS LAST    by these columns; fields of structs are named with dots
    zorder(a, b)            along a z-order curve through these columns
    hilbert(a, b)           along a Hilbert curve through them

Read by planning, which asks how files are clustered, and by what makes tasks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from lithify.columns.orders import SortStrategy
from lithify.errors import InvalidOption
from lithify.formats.iceberg.table.metadata import TableMetadata
from lithify.formats.iceberg.table.schema_columns import schema_columns

SORT_ORDER = "lithify.sort-order"
"""The option, in a LakeTable or among the table's properties."""

_UNSORTED = "none"
_CURVE = re.compile(r"(zorder|hilbert)\s*\((.*)\)", re.IGNORECASE)
_COLUMN = re.compile(r"(\S+?)(?:\s+(asc|desc))?(?:\s+nulls\s+(first|last))?", re.IGNORECASE)
_KNOWN_TRANSFORM = re.compile(r"identity|year|month|day|hour|(?:bucket|truncate)\[\d+\]")


@dataclass(frozen=True, slots=True)
class OrderField:
    """A field of a sort order.

    Attributes:
        source: id of the field that it is made of.
        transform: its transform.
        ascending: whether small values come first.
        nulls_first: whether nulls do.
    """

    source: int
    transform: str = "identity"
    ascending: bool = True
    nulls_first: bool = True


@dataclass(frozen=True, slots=True)
class RowOrder:
    """The order of the rows in new files.

    Attributes:
        fields: by what they are sorted, most significant first; empty if they are not.
        strategy: how the fields are combined; a curve takes their sources only.
        id: id of the table's sort order that this is; None for an order of our option.
    """

    fields: tuple[OrderField, ...] = ()
    strategy: SortStrategy = SortStrategy.ORDER
    id: int | None = None


def row_order(metadata: TableMetadata, properties: Mapping[str, str]) -> RowOrder:
    """The order of the rows in new files.

    Args:
        metadata: the table's metadata.
        properties: the table's properties, with those of the run.

    Raises:
        InvalidOption: the option names what is no column that rows can be sorted by.
    """
    found = schema_columns(metadata.schemas[metadata.schema_id])
    columns = {column.name: column.id for column in found.values()}
    text = properties.get(SORT_ORDER, "").strip()
    if not text:
        return _stored(metadata, set(columns.values()))
    if text.lower() == _UNSORTED:
        return RowOrder()
    curve = _CURVE.fullmatch(text)
    parts = (curve[2] if curve else text).split(",")
    fields = tuple(_field(part.strip(), columns, is_plain=curve is not None) for part in parts)
    return RowOrder(fields, SortStrategy(curve[1].lower()) if curve else SortStrategy.ORDER)


def _stored(metadata: TableMetadata, columns: set[int]) -> RowOrder:
    """The table's sort order; none if rows cannot be sorted by it."""
    number = metadata.sort_order_id
    stored = metadata.sort_orders[number].get("fields") or ()
    fields = tuple(
        OrderField(
            int(each.get("source-id", -1)),
            str(each["transform"]),
            ascending=str(each["direction"]).lower() == "asc",
            nulls_first=str(each["null-order"]).lower() == "nulls-first",
        )
        for each in stored
    )
    is_usable = all(each.source in columns and _KNOWN_TRANSFORM.fullmatch(each.transform) for each in fields)
    return RowOrder(fields, id=number) if fields and is_usable else RowOrder()


def _field(text: str, columns: Mapping[str, int], *, is_plain: bool) -> OrderField:
    match = _COLUMN.fullmatch(text)
    if match is None or match[1] not in columns or (is_plain and match[1] != text):
        raise InvalidOption(SORT_ORDER, f"{text or 'nothing'} is no column that rows can be sorted by")
    ascending = (match[2] or "asc").lower() == "asc"
    nulls = (match[3] or ("first" if ascending else "last")).lower()
    return OrderField(columns[match[1]], ascending=ascending, nulls_first=nulls == "first")
