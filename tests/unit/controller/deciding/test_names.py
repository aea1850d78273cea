"""Names are valid, the same for the same thing, and different for different ones."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.controller.deciding.names import (
    LABEL_LENGTH,
    MOST_LENGTH,
    label_value,
    run_name,
    table_object_name,
)
from lithify.resources.table import IDENTIFIER
from support.cases import case
from support.deciding.situations import BRIEFLY

DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")

object_names = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", fullmatch=True)
identifiers = st.from_regex(IDENTIFIER, fullmatch=True)


class TestRuns:
    @given(object_names, st.integers(1, 10**9), st.uuids().map(str))
    def test_are_valid_and_bear_their_number(self, table: str, number: int, uid: str) -> None:
        name = run_name(table, number, uid)
        assert DNS_LABEL.fullmatch(name)
        assert len(name) <= MOST_LENGTH
        assert f"-{number}-" in name

    def test_begin_with_the_table(self) -> None:
        assert run_name("sales.orders", 7, "u-1").startswith("sales-orders-7-")

    def test_the_same_run_has_the_same_name(self) -> None:
        assert run_name("orders", 7, "u-1") == run_name("orders", 7, "u-1")

    @pytest.mark.parametrize(
        "other",
        [
            case(("orders", 8, "u-1"), id="another run"),
            case(("orders", 7, "u-2"), id="another table of the same name"),
            case(("users", 7, "u-1"), id="another table"),
        ],
    )
    def test_other_runs_have_other_names(self, other: tuple[str, int, str]) -> None:
        assert run_name(*other) != run_name("orders", 7, "u-1")

    def test_long_tables_that_are_cut_to_the_same_differ(self) -> None:
        assert run_name("a" * 252 + "b", 7, "u-1") != run_name("a" * 252 + "c", 7, "u-2")


class TestTables:
    @pytest.mark.parametrize(
        ("identifier", "name"),
        [
            case("sales.orders", "sales-orders", id="as it is"),
            case("s3.2026", "s3-2026", id="with digits"),
        ],
    )
    def test_are_plain_where_that_is_enough(self, identifier: str, name: str) -> None:
        assert table_object_name("lake", identifier) == name

    @pytest.mark.parametrize(
        ("identifier", "begin"),
        [
            case("sales.daily_orders", "sales-daily-orders-", id="a character is replaced"),
            case("Sales.Orders", "sales-orders-", id="upper case"),
            case("a-b.c", "a-b-c-", id="a hyphen could be the dot"),
            case("a.b-c", "a-b-c-", id="a hyphen that could be the dot"),
            case("_._", "x-", id="nothing is left"),
            case("müller.größe", "m-ller-gr-e-", id="letters that names cannot have"),
            case("a" * 60 + ".b", "a" * 43, id="too long"),
        ],
    )
    def test_have_a_hash_where_it_is_not(self, identifier: str, begin: str) -> None:
        name = table_object_name("lake", identifier)
        assert name.startswith(begin)
        assert name != begin.strip("-")

    @given(identifiers)
    def test_names_of_tables_are_dns_labels(self, identifier: str) -> None:
        name = table_object_name("lake", identifier)
        assert DNS_LABEL.fullmatch(name)
        assert len(name) <= MOST_LENGTH

    @BRIEFLY
    @given(st.sets(identifiers | st.from_regex(r"[ab_-]{1,2}\.[ab_-]{1,2}", fullmatch=True), max_size=30))
    def test_different_tables_have_different_names(self, found: set[str]) -> None:
        assert len({table_object_name("lake", identifier) for identifier in found}) == len(found)

    def test_a_name_that_is_taken_is_not_taken_again(self) -> None:
        first = table_object_name("lake", "sales.orders", {"sales-orders"})
        second = table_object_name("swamp", "sales.orders", {"sales-orders", first})
        assert len({"sales-orders", first, second}) == 3


class TestLabels:
    @given(object_names)
    def test_are_valid_and_keep_what_fits(self, name: str) -> None:
        value = label_value(name)
        assert LABEL_VALUE.fullmatch(value)
        assert len(value) <= LABEL_LENGTH
        assert value == name or len(name) > LABEL_LENGTH

    def test_long_names_that_are_cut_differ(self) -> None:
        assert label_value("a" * 100 + "b") != label_value("a" * 100 + "c")
