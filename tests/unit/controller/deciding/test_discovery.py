"""Which tables get a LakeTable, and what it looks like."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from lithify.controller.deciding.discovery import discover
from lithify.controller.observing.listing import wanted_tables
from lithify.controller.observing.request import ALL_TABLES, TableFilter
from lithify.resources.catalog import Catalog
from lithify.resources.modelling import read
from lithify.resources.names import LABEL_CATALOG
from lithify.resources.objects import Reference
from lithify.resources.table import LakeTable
from support.cases import case
from support.deciding.situations import table

FOUND = ["sales.orders", "sales.tmp_1", "crm.users", "crm.users", "odd name.t", "sales.orders$files", "plain"]


NAMES = ("crm.users", "sales.orders", "sales.tmp_1")


def catalog(**discovery: Any) -> Catalog:
    body = {
        "metadata": {"name": "warehouse", "namespace": "lake"},
        "spec": {"warehouse": "s3://w", **({"discovery": discovery} if discovery else {})},
    }
    return read(Catalog, body)


class TestWanted:
    @pytest.mark.parametrize(
        ("include", "exclude", "expected"),
        [
            case(["*.*"], [], ["crm.users", "sales.orders", "sales.tmp_1"], id="all that can be named, once"),
            case(["sales.*"], [], ["sales.orders", "sales.tmp_1"], id="a database"),
            case(["*.orders", "crm.*"], [], ["crm.users", "sales.orders"], id="either of two"),
            case(["*.*"], ["*.tmp_?"], ["crm.users", "sales.orders"], id="but for some"),
            case(["sales.orders"], ["sales.*"], [], id="exclude wins"),
            case(["SALES.*"], [], [], id="case matters"),
            case(["sales.order"], [], [], id="the whole name has to match"),
        ],
    )
    def test_included_tables_are_wanted_unless_excluded(
        self, include: list[str], exclude: list[str], expected: list[str]
    ) -> None:
        found = wanted_tables(FOUND, TableFilter(tuple(include), tuple(exclude)), may_be_nested=False)
        assert (list(found.names), found.wanted, found.unusable) == (expected, len(expected), 3)

    @pytest.mark.parametrize(
        "name",
        [
            case("sales.or\x1b[31mders", id="an escape sequence"),
            case("sales.\u202esredro", id="a reversed name"),
            case("sales.orders\n", id="a line break at the end"),
            case("sales.\ud800", id="half of a surrogate pair"),
            case("sales.orders\u200b", id="an invisible character"),
            case(f"sales.{'x' * 512}", id="a long one"),
            case("sales.a.b", id="three parts"),
            case("../sales.orders", id="a path"),
            case("", id="nothing"),
        ],
    )
    def test_names_that_no_laketable_can_have_are_counted_and_left_out(self, name: str) -> None:
        found = wanted_tables([name, "sales.orders"], ALL_TABLES, may_be_nested=False)
        assert (found.names, found.wanted, found.unusable) == (("sales.orders",), 1, 1)

    def test_nested_names_can_be_used_where_the_format_has_them(self) -> None:
        found = wanted_tables(["sales.eu.orders", "crm.users"], TableFilter(("sales.*",)), may_be_nested=True)
        assert (found.names, found.wanted, found.unusable) == (("sales.eu.orders",), 1, 0)

    def test_no_more_leave_the_worker_than_are_asked_for(self) -> None:
        many = [f"db.t{number:06}" for number in range(100_000)]
        found = wanted_tables(many, TableFilter(most=10), may_be_nested=False)
        assert (found.names, found.wanted) == (tuple(many[:10]), 100_000)


def bodies_of(names: Sequence[str], of: Catalog, existing: Iterable[LakeTable]) -> tuple[dict[str, Any], ...]:
    return discover(names, len(names), 100, of, existing).bodies


class TestBodies:
    def test_bodies_are_laketables_of_their_catalog(self) -> None:
        (body,) = bodies_of(["sales.orders"], catalog(include=["*.*"], policyRef={"name": "nightly"}), [])
        made = read(LakeTable, body)
        assert made.metadata.key.namespace == "lake"
        assert made.metadata.name == "sales-orders"
        assert made.metadata.labels == {LABEL_CATALOG: "warehouse"}
        assert made.metadata.owner_references == ()
        assert made.spec.catalog_ref.name == "warehouse"
        assert made.spec.identifier == "sales.orders"
        assert made.spec.policy_ref.name == "nightly"

    def test_none_without_discovery(self) -> None:
        assert bodies_of(NAMES, catalog(), []) == ()

    def test_what_there_is_already_is_left_alone_whatever_its_name(self) -> None:
        assert bodies_of(["sales.orders"], catalog(include=["*.*"]), [table()]) == ()

    def test_the_same_table_of_another_catalog_is_another_table(self) -> None:
        other = replace(table(), metadata=replace(table().metadata, name="sales-orders"))
        other = replace(other, spec=replace(other.spec, catalog_ref=Reference(name="elsewhere")))
        (body,) = bodies_of(["sales.orders"], catalog(include=["*.*"]), [other])
        assert body["metadata"]["name"] != "sales-orders"

    def test_each_is_created_once(self) -> None:
        bodies = bodies_of(NAMES, catalog(include=["*.*"]), [])
        made = [read(LakeTable, body) for body in bodies]
        assert len({one.metadata.name for one in made}) == len(made) == 3
        assert bodies_of(NAMES, catalog(include=["*.*"]), made) == ()

    def test_a_catalog_has_no_more_than_it_may_whatever_it_lists_next(self) -> None:
        of = catalog(include=["*.*"])
        first = discover(["db.a", "db.b", "db.c"], 1_000_000, 2, of, [])
        assert (len(first.bodies), first.left_out) == (2, 999_998)
        made = [read(LakeTable, body) for body in first.bodies]
        again = discover(["db.x", "db.y"], 2, 2, of, made)
        assert (again.bodies, again.left_out) == ((), 2)
