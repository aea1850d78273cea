"""What names of tables mean: to the command line and, by the same form, to a LakeTable's identifier."""

from __future__ import annotations

import re

import pytest

from lithify.errors import InvalidOption
from lithify.formats.paimon.catalog.connecting import parse_name
from lithify.resources.table import IDENTIFIER


@pytest.mark.parametrize(
    ("name", "database", "table", "branch"),
    [
        ("sales.orders", "sales", "orders", None),
        ("sales.orders$branch_b", "sales", "orders", "b"),
        ("sales.orders$branch_release-1.2", "sales", "orders", "release-1.2"),
        ("sales.orders$branch_mainline", "sales", "orders", "mainline"),
    ],
)
def test_a_name_is_a_table_or_a_branch_of_one(
    name: str, database: str, table: str, branch: str | None
) -> None:
    parsed = parse_name(name)
    assert (parsed.get_database_name(), parsed.get_table_name()) == (database, table)
    assert parsed.get_branch_name() == branch
    assert re.search(IDENTIFIER, name)


@pytest.mark.parametrize(
    "name",
    [
        "orders",
        "sales.",
        ".orders",
        "sales.orders$",
        "sales.orders$files",
        "sales.orders$branch_",
        "sales.orders$branch_b$files",
        "sales.orders$branch_a/b",
        "sales.or/ders",
    ],
)
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(InvalidOption) as refused:
        parse_name(name)
    assert refused.value.option == "--table"
    assert not re.search(IDENTIFIER, name)


@pytest.mark.parametrize("branch", ["main", "Main", "MAIN"])
def test_the_main_branch_has_no_name(branch: str) -> None:
    """Else one table would have two names, and two locks."""
    with pytest.raises(InvalidOption, match="leave out"):
        parse_name(f"sales.orders$branch_{branch}")


def test_nested_namespaces_are_refused_by_name() -> None:
    """Other formats have them, so a LakeTable may be written that way."""
    assert re.search(IDENTIFIER, "a.b.c")
    with pytest.raises(InvalidOption, match="nested") as refused:
        parse_name("a.b.c")
    assert refused.value.option == "--table"
