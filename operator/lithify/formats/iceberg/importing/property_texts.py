"""Reads properties of a table, as people copy them: lines, SQL, printed tables, JSON. Pure.

Called by `importer`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lithify.errors import InvalidOption

_SKIPPED = re.compile(r"\s*(?:[#+].*|--.*|\)?\s*;?|key\s+value|\|\s*key\s*\|\s*value\s*\|)\s*", re.IGNORECASE)
"""Comments, borders and headings of printed tables, and empty lines."""
_QUOTED = re.compile(r"""\s*(['"])(?P<name>[^'"]+)\1\s*[=:]\s*(['"])(?P<value>.*)\3\s*,?\s*\)?\s*;?\s*""")
_CELLS = re.compile(r"\s*\|\s*(?P<name>[^\s|]+)\s*\|\s*(?P<value>.*?)\s*\|\s*")
_PLAIN = re.compile(
    r"\s*(?P<name>[A-Za-z][\w.\-]*)(?:\s*=\s*|\s*:\s+|:(?=\S)|\t+\s*|\s{2,})(?P<value>.*?)\s*"
)
_FORMS = (_QUOTED, _CELLS, _PLAIN)
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Property:
    """A property of a table."""

    name: str
    value: str


def parse_properties(text: str) -> tuple[Property, ...]:
    """The properties of a text.

    Raises:
        InvalidOption: a line is no property, or the JSON is none; the message has its place.
    """
    if text.lstrip().startswith(("{", "[")):
        return _from_json(text)
    return tuple(
        _from_line(number, line)
        for number, line in enumerate(text.splitlines(), start=1)
        if not _SKIPPED.fullmatch(line)
    )


def _from_line(number: int, line: str) -> Property:
    for form in _FORMS:
        found = form.fullmatch(line)
        if found:
            return Property(found["name"], _unquoted(found["value"]))
    raise InvalidOption(f"line {number}", f"it is no property such as key=value: {line.strip()[:_SHOWN]}")


def _unquoted(text: str) -> str:
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    return text[1:-1] if is_quoted else text


def _from_json(text: str) -> tuple[Property, ...]:
    """Reads an object of texts, one with it as `properties`, or a list of objects with key and value."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise InvalidOption("the JSON", str(error)) from error
    if isinstance(found, dict) and isinstance(found.get("properties"), dict):
        found = found["properties"]
    if isinstance(found, list):
        found = _from_rows(found)
    if not isinstance(found, dict) or any(isinstance(value, dict | list) for value in found.values()):
        raise InvalidOption("the JSON", "it has to be an object of names and values of properties")
    return tuple(Property(name, _json_text(value)) for name, value in found.items())


def _from_rows(rows: list[Any]) -> Mapping[str, Any]:
    if not all(isinstance(row, dict) and {"key", "value"} <= row.keys() for row in rows):
        raise InvalidOption("the JSON", "each entry of the list needs a key and a value")
    return {str(row["key"]): row["value"] for row in rows}


def _json_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
