"""Label selectors select what `kubectl` would."""

from __future__ import annotations

import pytest

from lithify.controller.cluster.selectors import selector
from support.cases import case


@pytest.mark.parametrize(
    ("text", "labels", "selected"),
    [
        case("", {}, True, id="empty"),
        case("a=b", {"a": "b"}, True, id="equal"),
        case("a==b", {"a": "b"}, True, id="equal twice"),
        case("a = b", {"a": "b"}, True, id="blanks"),
        case("a=b", {"a": "c"}, False, id="another value"),
        case("a=b", {}, False, id="no label"),
        case("a=", {"a": ""}, True, id="the empty value"),
        case("a!=b", {"a": "c"}, True, id="unequal"),
        case("a!=b", {}, True, id="unequal without the label"),
        case("a!=b", {"a": "b"}, False, id="unequal but equal"),
        case("a=b,c=d", {"a": "b", "c": "d"}, True, id="both"),
        case("a=b,c=d", {"a": "b"}, False, id="one of both"),
        case("a in (b, c)", {"a": "c"}, True, id="in"),
        case("a in (b,c),d", {"a": "c"}, False, id="in and exists"),
        case("a notin (b,c)", {"a": "d"}, True, id="not in"),
        case("a notin (b,c)", {}, True, id="not in without the label"),
        case("a notin (b)", {"a": "b"}, False, id="not in but in"),
        case("a", {"a": ""}, True, id="exists"),
        case("!a", {"a": ""}, False, id="does not exist but does"),
        case("!a", {}, True, id="does not exist"),
        case("lithify.dev/table=orders", {"lithify.dev/table": "orders"}, True, id="a prefix"),
    ],
)
def test_selected(text: str, labels: dict[str, str], selected: bool) -> None:
    assert selector(text)(labels) is selected


@pytest.mark.parametrize(
    "text", ["a=b,,c", "=b", "a in b", "a=b c", "a>1", "a in (b", "!", "a=*", "a in (b;c)"]
)
def test_refused(text: str) -> None:
    with pytest.raises(ValueError):
        selector(text)
