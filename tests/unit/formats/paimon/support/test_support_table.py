"""Mistakes in the support table are found when it is read; the page that is made from it is current."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lithify.formats.paimon.support.loading import load, parse
from lithify.formats.paimon.support.page import render
from support.cases import case

REPOSITORY = Path(__file__).parents[5]


def table(options: str = "", types: str = "", layouts: str = "") -> str:
    """A small support table of valid parts and those given."""
    options = options or "{keys: [a], class: harmless, why: w}"
    types = types or "{name: INT}"
    layouts = layouts or "{name: append, title: t, class: supported, why: w}"
    rows = f"options:\n- group: g\n  rows:\n  - {options}\n"
    return f"intro: i\nlayouts:\n- {layouts}\ntypes:\n- {types}\n{rows}"


def test_a_valid_table_is_read() -> None:
    assert parse(table()).options.rule("a") is not None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        case("{}", "missing", id="nothing at all"),
        case("[]", "missing", id="not a mapping"),
        case(table() + "more: 1\n", "more unknown", id="an unknown part"),
        case(table("{keys: [a], class: harmless, why: w, who: me}"), "who unknown", id="an unknown field"),
        case(table("{keys: [a], class: harmless}"), "why missing", id="a missing field"),
        case(
            table("{keys: [a], class: harmless, why: w, why: x}"),
            "field appears twice",
            id="a repeated field",
        ),
        case(table("{keys: [a, a], class: harmless, why: w}"), "classified twice: a", id="a repeated option"),
        case(table("{keys: a, class: harmless, why: w}"), "not a list", id="keys that are no list"),
        case(table("{keys: [], class: harmless, why: w}"), "not a list", id="no keys"),
        case(table("{keys: [a], class: fine, why: w}"), "'fine' is not a valid", id="an unknown class"),
        case(table("{keys: [a], class: refused, why: w}"), "`when`", id="refused without when"),
        case(table("{keys: [a], class: harmless, why: w, when: planned}"), "`when`", id="harmless with when"),
        case(
            table("{keys: [a], class: harmless, why: w, values: [x]}"), "any value", id="harmless with values"
        ),
        case(table("{keys: [a], class: supported, why: w, values: []}"), "not a list", id="no values"),
        case(table("{keys: [a], class: harmless, why: w, source: x}"), "a: x", id="an unknown source"),
        case(table(types="{name: INT, refused: {key: w}}"), "`when`", id="a refused use without when"),
        case(table(types="{name: INT, refused: {top: w}, when: planned}"), "'top'", id="an unknown use"),
        case(table(types="{name: INT, aliases: [INT]}"), "classified twice: INT", id="a repeated type"),
        case(table(types="{name: INT, precision: [1, 2]}"), "without a reason", id="bounds without a reason"),
        case(
            table(layouts="{name: n, title: t, class: refused, why: w}"), "`when`", id="layout without when"
        ),
    ],
)
def test_mistakes_in_the_table_are_found_when_it_is_read(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=re.escape(problem)):
        parse(text)


def test_the_page_is_up_to_date() -> None:
    page = (REPOSITORY / "docs" / "support.md").read_text(encoding="utf-8")
    assert page == render(), "run `make docs`"


def test_the_page_names_everything_that_is_classified() -> None:
    page = render()
    names = [name for rule in (*load().options, *load().types) for name in rule.names]
    assert [name for name in names if f"`{name}`" not in page] == []
