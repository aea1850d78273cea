"""The line in a table property: it is found, and what is not of the line is kept."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.errors import CorruptTable
from lithify.formats.mixed.line_properties import PROPERTY, moved_property, parse_line
from lithify.formats.mixed.optimized_line import OptimizedLine
from support.cases import case
from unit.formats.mixed.lines import keys_of

KEYS = keys_of("string")
FACTS = st.dictionaries(
    st.sampled_from(["max-txId", "base-op-time", "base.table.max-transaction-id"]), st.integers(0, 9).map(str)
)


def properties_of(stored: Any) -> dict[str, str]:
    return {PROPERTY: json.dumps(stored), "owner": "me"}


def test_a_line_of_arctic_is_found() -> None:
    stored = {"p0=a": {"max-txId": "7", "base-op-time": "1700000000000"}, "p0=b": {"max-txId": "9"}}

    line = parse_line(properties_of(stored), KEYS)

    assert line == OptimizedLine({"p0=a": 7, "p0=b": 9}, {"p0=a": 1_700_000_000_000})


def test_tables_without_partitions_have_an_empty_name() -> None:
    assert parse_line(properties_of({"": {"max-txId": "7"}}), keys_of()).sequences == {"": 7}


def test_transactions_of_version_0_3_are_kept_apart() -> None:
    stored = {"p0=a": {"base.table.max-transaction-id": "5"}}

    assert parse_line(properties_of(stored), KEYS) == OptimizedLine(transactions={"p0=a": 5})


def test_tables_without_the_property_have_no_line() -> None:
    assert parse_line({}, KEYS) == OptimizedLine()


@pytest.mark.parametrize(
    "text",
    [
        case("", id="empty"),
        case("{", id="cut off"),
        case("[" * 100_000, id="nested"),
        case("[]", id="no object"),
        case('{"p0=a": 7}', id="no facts"),
        case('{"p0=a": {"max-txId": "x"}}', id="no number"),
        case('{"p0=a": {"max-txId": "9223372036854775808"}}', id="too large"),
        case('{"p0=a": {"max-txId": {}}}', id="an object for a number"),
        case('{"other=a": {"max-txId": "1"}}', id="another spec"),
    ],
)
def test_other_forms_are_corrupt(text: str) -> None:
    with pytest.raises(CorruptTable):
        parse_line({PROPERTY: text}, KEYS)


def test_what_is_not_of_the_line_is_kept() -> None:
    stored = {
        "p0=a": {"max-txId": "7", "transient-time": "5"},
        "p0=b%2Fc": {"max-txId": "9", "hive-location": "ü"},
    }

    moved = json.loads(moved_property(properties_of(stored), KEYS, {"p0=a": 8, "p0=new": 2}, 99))

    assert moved == {
        "p0=a": {"max-txId": "8", "base-op-time": "99", "transient-time": "5"},
        "p0=b%2Fc": stored["p0=b%2Fc"],
        "p0=new": {"max-txId": "2", "base-op-time": "99"},
    }


def test_entries_are_found_however_writers_spell_them() -> None:
    """Both are the partition `a b`; a second entry would leave open which of them counts."""
    stored = {"p0=a b": {"max-txId": "3"}, "p0=a%20b": {"max-txId": "4"}}

    moved = json.loads(moved_property(properties_of(stored), KEYS, {"p0=a+b": 5}, 99))

    assert {name: facts["max-txId"] for name, facts in moved.items()} == {"p0=a b": "5", "p0=a%20b": "5"}


@given(
    st.dictionaries(st.sampled_from(["p0=a", "p0=b", "p0=null"]), FACTS),
    st.dictionaries(st.sampled_from(["p0=b", "p0=c"]), st.integers(10, 20)),
)
def test_a_moved_property_is_read_as_the_moved_line(
    stored: dict[str, dict[str, str]], sequences: dict[str, int]
) -> None:
    before = parse_line(properties_of(stored), KEYS)

    after = moved_property(properties_of(stored), KEYS, sequences, 99)

    assert parse_line({PROPERTY: after}, KEYS) == before.moved(sequences, 99)
