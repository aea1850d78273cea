"""Which tables get a LakeTable, and what it looks like."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lithify.controller.deciding.discovery import discover, wanted_tables
from lithify.resources.catalog import Catalog, Discovery
from lithify.resources.modelling import read
from lithify.resources.names import LABEL_CATALOG
from lithify.resources.objects import Reference
from lithify.resources.table import LakeTable
from support.cases import case
from unit.controller.deciding.situations import table

FOUND = ["sales.orders", "sales.tmp_1", "crm.users", "crm.users", "odd name.t", "sales.orders$files", "plain"]


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
    def test_patterns(self, include: list[str], exclude: list[str], expected: list[str]) -> None:
        patterns = Discovery(include=tuple(include), exclude=tuple(exclude))
        assert wanted_tables(FOUND, patterns) == expected


class TestBodies:
    def test_are_laketables(self) -> None:
        (body,) = discover(["sales.orders"], catalog(include=["*.*"], policyRef={"name": "nightly"}), [])
        made = read(LakeTable, body)
        assert made.metadata.key.namespace == "lake"
        assert made.metadata.name == "sales-orders"
        assert made.metadata.labels == {LABEL_CATALOG: "warehouse"}
        assert made.metadata.owner_references == ()
        assert made.spec.catalog_ref.name == "warehouse"
        assert made.spec.identifier == "sales.orders"
        assert made.spec.policy_ref.name == "nightly"

    def test_none_without_discovery(self) -> None:
        assert discover(FOUND, catalog(), []) == []

    def test_what_there_is_already_is_left_alone_whatever_its_name(self) -> None:
        assert discover(["sales.orders"], catalog(include=["*.*"]), [table()]) == []

    def test_the_same_table_of_another_catalog_is_another_table(self) -> None:
        other = replace(table(), metadata=replace(table().metadata, name="sales-orders"))
        other = replace(other, spec=replace(other.spec, catalog_ref=Reference(name="elsewhere")))
        (body,) = discover(["sales.orders"], catalog(include=["*.*"]), [other])
        assert body["metadata"]["name"] != "sales-orders"

    def test_each_is_created_once(self) -> None:
        bodies = discover(FOUND, catalog(include=["*.*"]), [])
        made = [read(LakeTable, body) for body in bodies]
        assert len({one.metadata.name for one in made}) == len(made) == 3
        assert discover(FOUND, catalog(include=["*.*"]), made) == []
