"""Merge patches do what RFC 7386 says, and the patch between two objects makes one of the other."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.controller.cluster.merge_patch import difference, merge
from support.cases import case

LEAVES = st.none() | st.booleans() | st.integers(0, 3) | st.text("ab", max_size=2)
NAMES = st.sampled_from(["a", "b", "c"])
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=3)


def without_nulls(value: Any) -> Any:
    """What an object can be after a patch: nulls stand in lists only."""
    if not isinstance(value, dict):
        return value
    return {name: without_nulls(inner) for name, inner in value.items() if inner is not None}


@pytest.mark.parametrize(
    ("target", "patch", "merged"),
    [
        case({"a": "b"}, {"a": "c"}, {"a": "c"}, id="a value is replaced"),
        case({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}, id="a value is added"),
        case({"a": "b"}, {"a": None}, {}, id="a value is removed"),
        case({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}, id="one of two is removed"),
        case({"a": ["b"]}, {"a": "c"}, {"a": "c"}, id="a list becomes a value"),
        case({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}, id="a value becomes a list"),
        case({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}, id="inner fields"),
        case({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}, id="lists replace"),
        case(["a", "b"], ["c", "d"], ["c", "d"], id="a list by itself"),
        case({"a": "b"}, ["c"], ["c"], id="a list for an object"),
        case({"a": "foo"}, None, None, id="null for an object"),
        case({"a": "foo"}, "bar", "bar", id="text for an object"),
        case({"e": None}, {"a": 1}, {"e": None, "a": 1}, id="nulls of the target stay"),
        case([1, 2], {"a": "b", "c": None}, {"a": "b"}, id="an object for a list"),
        case({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}, id="nulls of new objects go"),
    ],
)
def test_examples_of_the_standard(target: Any, patch: Any, merged: Any) -> None:
    assert merge(target, patch) == merged


@given(OBJECTS, OBJECTS)
def test_neither_argument_is_changed(target: dict[str, Any], patch: dict[str, Any]) -> None:
    before = deepcopy((target, patch))
    once = merge(target, patch)
    assert (target, patch) == before
    assert merge(once, patch) == once, "merging again changes nothing"


@given(OBJECTS.map(without_nulls), OBJECTS.map(without_nulls))
def test_the_difference_makes_one_of_the_other(old: dict[str, Any], new: dict[str, Any]) -> None:
    patch = difference(old, new)
    assert merge(old, patch) == new
    assert difference(new, merge(old, patch)) == {}
