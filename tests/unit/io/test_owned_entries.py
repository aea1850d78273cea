"""Kept credentials belong to one Catalog, and are bounded."""

from __future__ import annotations

from typing import Any

import pytest

from lithify.io.owned_entries import Latest, owner_of
from support.cases import case

OWNER: dict[str, Any] = {"catalog": "team/lake", "table": ["db.t"], "options": {"token": "a", "uri": "u"}}


def test_the_same_owner_has_the_same_digest_whatever_the_order_of_options() -> None:
    again = {**OWNER, "options": {"uri": "u", "token": "a"}}
    assert owner_of(**OWNER) == owner_of(**again)


@pytest.mark.parametrize(
    "other",
    [
        case({"catalog": "other/lake"}, id="a Catalog of another namespace"),
        case({"table": ["db.u"]}, id="another table"),
        case({"table": ["db.t", "s3://elsewhere"]}, id="another place"),
        case({"options": {"token": "b", "uri": "u"}}, id="another token"),
        case({"options": {"uri": "u"}}, id="no token"),
        case({"catalog": "", "table": ["team/lake", "db.t"]}, id="the same words in other places"),
    ],
)
def test_another_owner_has_another_digest(other: dict[str, Any]) -> None:
    assert owner_of(**{**OWNER, **other}) != owner_of(**OWNER)


def test_the_entries_that_were_stored_last_stay() -> None:
    kept: Latest[int] = Latest(2)
    for key in ("a", "b", "a", "c"):
        kept[key] = len(kept)
    assert [*kept] == ["a", "c"]
