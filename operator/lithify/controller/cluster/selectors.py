"""Label selectors as `kubectl get -l` takes them.

Called by `folder`, which plays an API server. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

Labels = Mapping[str, str]
Test = Callable[[Labels], bool]

_NAME = r"(?P<name>[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?)"
_VALUE = r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?"
_SET = re.compile(rf"{_NAME}\s+(?P<word>in|notin)\s*\((?P<values>[^()]*)\)")
_EQUAL = re.compile(rf"{_NAME}\s*(?P<sign>==|=|!=)\s*(?P<value>{_VALUE})")
_EXISTS = re.compile(rf"(?P<sign>!?)\s*{_NAME}")
_COMMA = re.compile(r",(?![^()]*\))")


def selector(text: str) -> Test:
    """What a label selector accepts; an empty one accepts everything.

    Raises:
        ValueError: it is not a selector; the message names the part.
    """
    tests = [_requirement(part.strip()) for part in _COMMA.split(text)] if text.strip() else []
    return lambda labels: all(test(labels) for test in tests)


def _requirement(part: str) -> Test:
    if found := _SET.fullmatch(part):
        name, is_in = found["name"], found["word"] == "in"
        values = frozenset(_value(value.strip(), part) for value in found["values"].split(","))
        return lambda labels: (labels.get(name) in values) is is_in
    if found := _EQUAL.fullmatch(part):
        name, value, is_equal = found["name"], found["value"], found["sign"] != "!="
        return lambda labels: (labels.get(name) == value) is is_equal
    if found := _EXISTS.fullmatch(part):
        name, is_there = found["name"], not found["sign"]
        return lambda labels: (name in labels) is is_there
    raise ValueError(f"{part!r} is not a label requirement such as a=b, a!=b, a in (b,c), a or !a")


def _value(text: str, part: str) -> str:
    if re.fullmatch(_VALUE, text) is None:
        raise ValueError(f"{text!r} in {part!r} is not a label value")
    return text
