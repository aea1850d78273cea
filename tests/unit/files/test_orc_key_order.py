"""Which keys that are out of order ORC explains, and which ones a damaged file."""

from __future__ import annotations

import pytest

from lithify.columns.order import EPOCH_DAY
from lithify.engine.rewrite.records import KeyParts
from lithify.files.orc.key_order import OrcKeyOrder
from lithify.files.types import ColumnType

KINDS = {
    "text": ColumnType("VARCHAR", 3),
    "code": ColumnType("CHAR", 3),
    "millis": ColumnType("TIMESTAMP", 3),
    "micros": ColumnType("TIMESTAMP_LTZ", 6),
    "nanos": ColumnType("TIMESTAMP", 9),
    "number": ColumnType("INT"),
}
DAY_MILLIS = 86_400_000


def problem(column: str, before: KeyParts, after: KeyParts, origin: str = "f.orc") -> str | None:
    return OrcKeyOrder(KINDS).problem(origin, column, before, after)


@pytest.mark.parametrize(
    ("column", "before", "after"),
    [
        ("code", (b"a\x01",), (b"a",)),
        ("millis", (500,), (0,)),
        ("millis", (500,), (500,)),
        ("micros", (500_000,), (0,)),
        ("nanos", (EPOCH_DAY, 500_000_000), (EPOCH_DAY, 0)),
    ],
)
def test_known_disorder_of_orc_is_explained(column: str, before: KeyParts, after: KeyParts) -> None:
    assert "ORC" in (problem(column, before, after) or "")
    assert problem(column, before, after, "f.parquet") is None


@pytest.mark.parametrize(
    ("column", "before", "after"),
    [
        ("code", (b"b",), (b"a",)),
        ("text", (b"a\x01",), (b"a",)),
        ("number", (1,), (0,)),
        ("millis", (3 * DAY_MILLIS,), (0,)),
        ("micros", (0,), (-3_000 * DAY_MILLIS,)),
        ("nanos", (EPOCH_DAY + 2, 0), (EPOCH_DAY, 0)),
    ],
)
def test_other_disorder_is_not_explained(column: str, before: KeyParts, after: KeyParts) -> None:
    assert problem(column, before, after) is None
