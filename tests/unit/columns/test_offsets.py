"""More bytes than 32-bit offsets can address, shown with a limit of some bytes instead of 2 GiB."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from lithify.columns import offsets
from lithify.columns.nulls import take_or_null

SCHEMA = pa.schema(
    [
        ("id", pa.int32()),
        ("text", pa.string()),
        ("blob", pa.binary()),
        ("code", pa.dictionary(pa.int32(), pa.string())),
        ("list", pa.list_(pa.field("element", pa.string()))),
        ("map", pa.map_(pa.string(), pa.list_(pa.binary()))),
        ("row", pa.struct([pa.field("a", pa.string(), nullable=False), pa.field("b", pa.list_(pa.int32()))])),
    ]
)


def batch(start: int, stop: int) -> pa.RecordBatch:
    rows = [
        {
            "id": number,
            "text": None if number % 5 == 0 else "x" * number,
            "blob": b"y" * number,
            "code": "ab"[number % 2],
            "list": None if number % 3 == 0 else ["z" * number, None],
            "map": [("k", [b"v" * number]), ("l", None)],
            "row": None if number % 4 == 0 else {"a": "w" * number, "b": [number]},
        }
        for number in range(start, stop)
    ]
    return pa.RecordBatch.from_pylist(rows, schema=SCHEMA)


BATCHES = [batch(0, 9), batch(9, 10).slice(0), batch(10, 30).slice(2, 11)]


@pytest.mark.parametrize("most", [1, 200, 2_000, 1 << 30])
def test_rows_come_out_as_they_went_in(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(offsets, "MOST_BYTES", most)
    together = offsets.concat(BATCHES)
    expected: list[dict[str, Any]] = [row for each in BATCHES for row in each.to_pylist()]
    assert together.to_pylist() == expected
    places = np.array([0, 3, 4, 9, 12, 20])
    gathered = list(offsets.take(together, places, SCHEMA))
    assert all(each.schema.equals(SCHEMA) for each in gathered)
    assert all(each.nbytes <= most or each.num_rows == 1 for each in gathered)
    assert [row for each in gathered for row in each.to_pylist()] == [expected[place] for place in places]
    assert (len(gathered) == 1) == (most >= 2_000)


def test_only_what_needs_it_gets_wide_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    assert offsets.concat(BATCHES).schema.equals(SCHEMA)
    monkeypatch.setattr(offsets, "MOST_BYTES", 1)
    wide = offsets.concat(BATCHES).schema
    assert [field.name for field in wide if field.type == SCHEMA.field(field.name).type] == ["id", "code"]


def test_a_null_struct_keeps_fields_that_must_not_be_null() -> None:
    kind = pa.struct([pa.field("a", pa.int64(), nullable=False), pa.field("b", pa.string())])
    column = pa.array([{"a": 1, "b": None}, None, {"a": 3, "b": "x"}], kind)
    taken = take_or_null(column, np.array([2, -1, 0, 1, -1]))
    assert taken.to_pylist() == [{"a": 3, "b": "x"}, None, {"a": 1, "b": None}, None, None]
    assert taken.type == kind
    sound = take_or_null(column.slice(0, 1), np.array([-1, 0]))
    assert sound.field(0).null_count == 0
