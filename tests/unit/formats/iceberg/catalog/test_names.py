"""Names of Iceberg tables."""

from __future__ import annotations

import pytest

from lithify.errors import InvalidOption
from lithify.formats.iceberg.catalog.names import TableName, parse_name
from support.cases import case


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        case("db.t", TableName(("db",), "t"), id="one level"),
        case("a.b.c.t", TableName(("a", "b", "c"), "t"), id="several levels"),
        case("db.t$branch_audit", TableName(("db",), "t", "audit"), id="branch"),
    ],
)
def test_names_are_parsed_and_shown_as_given(text: str, wanted: TableName) -> None:
    assert parse_name(text) == wanted
    assert str(wanted) == text


@pytest.mark.parametrize(
    "text", ["t", "", "db.", ".t", "a..t", "db/x.t", "../x.t", "db.t$branch_", "db.t$branch_main", "db.t$x"]
)
def test_other_names_are_refused(text: str) -> None:
    with pytest.raises(InvalidOption) as refused:
        parse_name(text)
    assert refused.value.option == "--table"
