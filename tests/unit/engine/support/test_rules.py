"""Rules of options: which one is about a name, which values it accepts, and what is said of the others."""

from __future__ import annotations

import pytest

from lithify.engine.support.page import cells_of, option_tables
from lithify.engine.support.refusals import refused_options
from lithify.engine.support.rules import OptionRule, RuleTable, Support
from lithify.redaction import REDACTED
from support.cases import case


def rule(*names: str, support: Support = Support.SUPPORTED, why: str = "so", **more: object) -> OptionRule:
    return OptionRule(names, "g", support, why, **more)  # type: ignore[arg-type]


TABLE = RuleTable(
    [
        rule("a.*", why="short"),
        rule("a.*.c", why="long"),
        rule("a.b.c", why="exact"),
        rule("off", support=Support.REFUSED, values=("false",)),
        rule("harmless", support=Support.HARMLESS),
    ]
)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        case("a.b", "short", id="the only glob"),
        case("a.x.c", "long", id="the longest glob"),
        case("a.b.c", "exact", id="an exact name before globs"),
        case("a.*.c", "long", id="a name that looks like a glob is none"),
        case("a.\n.c", "long", id="any characters"),
        case("b", None, id="none"),
    ],
)
def test_the_longest_glob_wins_and_an_exact_name_before_it(name: str, why: str | None) -> None:
    found = TABLE.rule(name)
    assert (found and found.why) == why


@pytest.mark.parametrize(
    ("values", "value", "accepted"),
    [
        case((), "anything", True, id="no list of values"),
        case(("<n>",), "007", True, id="a number"),
        case(("<n>",), "0", False, id="numbers begin with 1"),
        case(("<n>",), "-1", False, id="no sign"),
        case(("<n>",), "1" * 19, False, id="a number that fits into no long"),
        case(("<n>",), "\u0661", False, id="a digit of another script"),
        case(("0", "<n>"), "0", True, id="one of several values"),
        case(("truncate(<n>)",), "TRUNCATE(16)", True, id="a number within a value"),
        case(("disk",), "di\u017fk", False, id="a letter that only looks alike in capitals"),
    ],
)
def test_values_are_compared_as_texts(values: tuple[str, ...], value: str, *, accepted: bool) -> None:
    assert rule("a", values=values).accepts(value) == accepted


def test_case_matters_where_the_rule_says_so() -> None:
    assert rule("a", values=("On",)).accepts("on")
    assert not rule("a", values=("On",), exact_case=True).accepts("on")


def test_a_name_is_classified_once() -> None:
    with pytest.raises(ValueError, match="twice: a"):
        RuleTable([rule("a"), rule("a", "b")])


def test_refusals_name_option_value_and_what_would_be_accepted() -> None:
    found = refused_options(
        "option", {"off": "", "write.x": "1", "note": "2", "a.b": "3"}, TABLE, "?", ("write.",)
    )
    assert [*map(str, found)] == ["option off = empty (accepted: false): so", "option write.x = 1: ?"]


def test_refusals_show_no_secrets_and_one_short_line() -> None:
    found = refused_options("option", {"password": "sesame", "long": "x \n" * 100}, TABLE, "?")
    long, password = found
    assert password.value == REDACTED
    assert len(long.value) <= 80
    assert "\n" not in long.value


def test_pages_join_rules_with_the_same_cells() -> None:
    table = RuleTable([rule("a", why="w"), rule("b", why="w"), rule("c", support=Support.REFUSED)])
    heads = dict.fromkeys(Support, ("Name", "Values", "Why"))
    page = "\n".join(option_tables(table, "options", heads, cells_of))
    assert "| `a`, `b` | any | W. |" in page
    assert "| `c` | never | So. |" in page
    assert [line for line in page.splitlines() if line.startswith("## ")] == [
        "## Supported options",
        "## Refused options",
        "## Harmless options",
    ]
