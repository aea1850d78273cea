"""Which changes of a column's type are followed, and what becomes of nested columns; values are held to
Java's in `differential/test_type_changes`."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from lithify.files.casting import cast_between, reads_as
from lithify.files.types import arrow_type
from lithify.formats.paimon.schema.type_texts import parse_type

A, B, C = ({"id": number, "name": name, "type": "INT"} for number, name in ((1, "a"), (2, "b"), (3, "c")))


def row(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "ROW", "fields": list(fields)}


def array(element: Any) -> dict[str, Any]:
    return {"type": "ARRAY", "element": element}


def mapping(key: Any, value: Any) -> dict[str, Any]:
    return {"type": "MAP", "key": key, "value": value}


REFUSED: dict[str, tuple[Any, Any]] = {
    "text is parsed": ("STRING", "INT"),
    "text is parsed, to a date": ("STRING", "DATE"),
    "Java spells floats in its own way": ("DOUBLE", "STRING"),
    "Java spells small decimals in its own way": ("DECIMAL(10, 7)", "STRING"),
    "floats to decimals": ("DOUBLE", "DECIMAL(10, 2)"),
    "long decimals to floats": ("DECIMAL(19, 2)", "DOUBLE"),
    "fewer digits of seconds": ("TIMESTAMP(6)", "TIMESTAMP(3)"),
    "between time zones": ("TIMESTAMP(3)", "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
    "a day in a time zone": ("DATE", "TIMESTAMP(3) WITH LOCAL TIME ZONE"),
    "nanoseconds to days": ("TIMESTAMP(9)", "DATE"),
    "numbers to times": ("BIGINT", "TIMESTAMP(3)"),
    "times to numbers": ("TIMESTAMP(3)", "BIGINT"),
    "dates to text": ("DATE", "STRING"),
    "bytes to text": ("BYTES", "STRING"),
    "nested to text": (row(A), "STRING"),
    "another kind of nesting": (row(A), array("INT")),
    "keys of maps": (mapping("INT", "INT"), mapping("BIGINT", "INT")),
    "elements of multisets": (
        {"type": "MULTISET", "element": "INT"},
        {"type": "MULTISET", "element": "BIGINT"},
    ),
    "nothing is left of what must not be null": (row(A), {**row(B), "type": "ROW NOT NULL"}),
    "nothing is left of a part that must not be null": (
        row(A, {**B, "type": row(A)}),
        row(A, {**B, "type": {**row(C), "type": "ROW NOT NULL"}}),
    ),
    "a part that is refused": (row({**A, "type": array("STRING")}), row({**A, "type": array("INT")})),
}


@pytest.mark.parametrize(("old", "newest"), REFUSED.values(), ids=REFUSED)
def test_changes_that_are_not_followed(old: Any, newest: Any) -> None:
    assert cast_between(parse_type(old), parse_type(newest)) is None


NESTED: dict[str, tuple[Any, Any, list[Any], list[Any]]] = {
    "a field added": (
        row(A),
        row(A, B),
        [{"a": 1}, None, {"a": None}],
        [{"a": 1, "b": None}, None, {"a": None, "b": None}],
    ),
    "a field dropped": (row(A, B), row(B), [{"a": 1, "b": 2}, None], [{"b": 2}, None]),
    "every field another": (row(A), row(B), [{"a": 1}, None], [None, None]),
    "every field of elements another": (array(row(A)), array(row(B)), [[{"a": 1}, None], []], [None, None]),
    "every field of values another": (
        mapping("STRING", row(A)),
        mapping("STRING", row(B)),
        [[("x", {"a": 1})], [], None],
        [None, None, None],
    ),
    "every field of a part another": (
        row(A, {**B, "type": row(A)}),
        row(A, {**B, "type": row(C)}),
        [{"a": 1, "b": {"a": 2}}, None],
        [{"a": 1, "b": None}, None],
    ),
    "every field of the only part another": (
        row({**B, "type": row(A)}),
        row({**B, "type": row(C)}),
        [{"b": {"a": 2}}],
        [None],
    ),
    "fields moved": (row(A, B), row(B, A), [{"a": 1, "b": 2}], [{"b": 2, "a": 1}]),
    "a field renamed to another's old name": (
        row(A, B),
        row({**A, "name": "b"}, {**B, "name": "a"}),
        [{"a": 1, "b": 2}],
        [{"b": 1, "a": 2}],
    ),
    "a field widened": (row(A), row({**A, "type": "STRING"}), [{"a": -1}], [{"a": "-1"}]),
    "elements": (
        array(row(A)),
        array(row(C, A)),
        [[], None, [{"a": 1}, None]],
        [[], None, [{"c": None, "a": 1}, None]],
    ),
    "values of maps": (
        mapping("STRING", "INT"),
        mapping("STRING", "BIGINT"),
        [[("x", 1), ("y", None)], [], None],
        [[("x", 1), ("y", None)], [], None],
    ),
    "deep down": (
        mapping("INT", array(row({**A, "type": array(row(B))}))),
        mapping("INT", array(row({**A, "type": array(row(C, B))}))),
        [None, [(1, [{"a": [{"b": 5}, None]}, None])]],
        [None, [(1, [{"a": [{"c": None, "b": 5}, None]}, None])]],
    ),
}


@pytest.mark.parametrize("cut", [0, 1], ids=["whole", "slice"])
@pytest.mark.parametrize(("old", "newest", "values", "expected"), NESTED.values(), ids=NESTED)
def test_parts_of_nested_columns(
    old: Any, newest: Any, values: list[Any], expected: list[Any], cut: int
) -> None:
    before, after = parse_type(old), parse_type(newest)
    change = cast_between(before, after)
    assert change is not None
    assert not reads_as(before, after)
    column = pa.array([*values[:cut], *values], arrow_type(before)).slice(cut)
    converted = change(column)
    converted.validate(full=True)
    assert converted.type == arrow_type(after)
    assert converted.to_pylist() == expected


def test_nullability_changes_nothing() -> None:
    old, newest = (
        parse_type(row({**A, "type": "INT NOT NULL"})),
        parse_type({**row(A), "type": "ROW NOT NULL"}),
    )
    change = cast_between(old, newest)
    assert reads_as(old, newest)
    assert change is not None
    assert change(pa.array([{"a": 1}], arrow_type(old))).type == arrow_type(newest)
