"""Ids of columns and of their parts in the schemas of files."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from lithify.files.field_ids import PartIds, field_with_ids, id_of, own_ids
from lithify.files.types import ColumnType, Field
from lithify.formats.paimon.schema.part_ids import part_id

INT = ColumnType("INT")
ROW = ColumnType("ROW", fields=(Field("a", INT, 8), Field("b", INT, 9)))
LIST_OF_ROWS = ColumnType("ARRAY", fields=(Field("element", ROW, 7),))
MAP_OF_LISTS = ColumnType(
    "MAP", fields=(Field("key", replace(INT, nullable=False), 5), Field("value", LIST_OF_ROWS, 6))
)


def ids(field: pa.Field) -> list[int]:
    """The ids of a field and of its parts, from outside to inside."""
    kind = field.type
    if pa.types.is_map(kind):
        parts = [kind.key_field, kind.item_field]
    elif pa.types.is_list(kind):
        parts = [kind.value_field]
    else:
        parts = list(kind) if pa.types.is_struct(kind) else []
    return [id_of(field), *(each for part in parts for each in ids(part))]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        pytest.param(own_ids, [4, 5, 6, 7, 8, 9], id="ids that a schema states for every part"),
        pytest.param(
            part_id,
            [4, 536870911 - 4097, 536870911 + 4097, 536870911 + 4098, 8, 9],
            id="ids that Paimon computes from column and depth",
        ),
    ],
)
def test_parts_get_the_ids_that_their_format_gives_them(rule: PartIds, expected: list[int]) -> None:
    assert ids(field_with_ids("m", MAP_OF_LISTS, 4, rule)) == expected
