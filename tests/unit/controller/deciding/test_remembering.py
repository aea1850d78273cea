"""A LakeTable that somebody has deleted stays away if its Catalog says so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lithify.controller.deciding.discovery import discover
from lithify.controller.deciding.seen_tables import digest_of, remember, remembered
from lithify.resources.catalog import DIGESTS_EACH, MOST_REMEMBERED, Catalog, CatalogStatus
from lithify.resources.modelling import plain, read
from support.cases import case

NAMES = ("db.a", "db.b", "db.c")
names = st.frozensets(st.from_regex(r"[a-z]{1,5}\.[a-z]{1,5}", fullmatch=True), max_size=200)


def catalog(*known: str, **discovery: Any) -> Catalog:
    body = {
        "metadata": {"name": "warehouse", "namespace": "lake", "uid": "c-1"},
        "spec": {"warehouse": "s3://w", "discovery": {"include": ["*.*"], **discovery}},
    }
    made = read(Catalog, body)
    return replace(made, status=CatalogStatus(remembered=remember(made, known)))


@pytest.mark.parametrize(
    ("known", "recreate", "made", "declined"),
    [
        case((), "Never", NAMES, (), id="nothing known yet"),
        case(("db.b",), "Never", ("db.a", "db.c"), ("db.b",), id="one was deleted"),
        case(("db.b",), "Always", NAMES, (), id="all come back"),
        case(NAMES, "Never", (), NAMES, id="all were deleted"),
    ],
)
def test_who_gets_another_laketable(
    known: tuple[str, ...], recreate: str, made: tuple[str, ...], declined: tuple[str, ...]
) -> None:
    found = discover(NAMES, len(NAMES), 100, catalog(*known, recreate=recreate), [])
    assert tuple(body["spec"]["identifier"] for body in found.bodies) == made
    assert (found.declined, found.left_out) == (declined, 0)


@given(known=names, having=names, listed=st.none() | names)
def test_names_are_remembered_until_a_listing_lacks_them(
    known: frozenset[str], having: frozenset[str], listed: frozenset[str] | None
) -> None:
    of = catalog(*known)
    after = replace(of, status=CatalogStatus(remembered=remember(of, having, listed)))
    expected = known | having if listed is None else (known | having) & listed
    assert remembered(after) == {digest_of(of, name) for name in expected}
    assert read(Catalog, plain(after)) == after


def test_memory_has_bounds_and_keeps_discovery_within_them() -> None:
    many = [f"db.t{number}" for number in range(MOST_REMEMBERED + 10)]
    of = catalog(recreate="Never")
    entries = remember(of, many)
    assert len(entries) * DIGESTS_EACH == MOST_REMEMBERED
    assert read(Catalog, plain(replace(of, status=CatalogStatus(remembered=entries))))
    found = discover(many, len(many), 1_000_000, of, [])
    assert (len(found.bodies), found.left_out) == (MOST_REMEMBERED, 10)


def test_digests_of_two_catalogs_differ() -> None:
    one = catalog()
    other = replace(one, metadata=replace(one.metadata, uid="c-2"))
    assert digest_of(one, "db.a") != digest_of(other, "db.a")
