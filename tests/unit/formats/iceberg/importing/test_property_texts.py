"""Properties in every form in which people have them at hand."""

from __future__ import annotations

import pytest

from lithify.errors import InvalidOption
from lithify.formats.iceberg.importing.property_texts import parse_properties
from support.cases import case


@pytest.mark.parametrize(
    "text",
    [
        case("a.b=1\nc-d = x y\n", id="lines with ="),
        case("a.b: 1\r\nc-d: x y", id="lines with a colon"),
        case("a.b\t1\nc-d\tx y\n", id="output of spark-sql"),
        case("| key | value |\n+-----+\n| a.b | 1 |\n| c-d | x y |\n+-----+\n", id="output of beeline"),
        case("key    value\na.b    1\nc-d    x y", id="columns"),
        case("  'a.b'='1',\n  'c-d' = 'x y')\n;", id="SQL"),
        case('# mine\na.b="1"\n\n-- too\nc-d=x y', id="comments and quotes"),
        case('{"a.b": 1, "c-d": "x y"}', id="object"),
        case('{"format-version": 2, "properties": {"a.b": "1", "c-d": "x y"}}', id="metadata"),
        case('[{"key": "a.b", "value": "1"}, {"key": "c-d", "value": "x y"}]', id="rows as JSON"),
    ],
)
def test_properties_are_read(text: str) -> None:
    assert [(each.name, each.value) for each in parse_properties(text)] == [("a.b", "1"), ("c-d", "x y")]


@pytest.mark.parametrize(
    ("text", "name", "value"),
    [
        case("a=", "a", "", id="empty"),
        case("a=b=c: d", "a", "b=c: d", id="marks in the value"),
        case("'f'='dt > ''x'''", "f", "dt > ''x''", id="quotes in the value"),
        case('{"a": true}', "a", "true", id="boolean of JSON"),
    ],
)
def test_value_is_read(text: str, name: str, value: str) -> None:
    (found,) = parse_properties(text)
    assert (found.name, found.value) == (name, value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        case("a=1\nhm", "line 2: it is no property such as key=value: hm", id="a word"),
        case("{", "the JSON: Expecting", id="broken JSON"),
        case("[1]", "the JSON: each entry of the list needs a key and a value", id="list of numbers"),
        case('{"a": {"b": 1}}', "the JSON: it has to be an object of names", id="nested"),
    ],
)
def test_what_is_no_property_is_shown_with_its_place(text: str, message: str) -> None:
    with pytest.raises(InvalidOption) as raised:
        parse_properties(text)
    assert str(raised.value).startswith(message)
