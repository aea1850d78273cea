"""Which tables of a catalog have or had a LakeTable, so that one that somebody deleted stays away. Pure.

Used by `reconciling.catalogs` where a Catalog's discovery says `recreate: Never`. The memory stands in the
Catalog's status. It holds digests of names instead of names: it has to know all tables that were ever given a
LakeTable, since one may be deleted while no operator runs.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Iterable
from hashlib import sha256

from lithify.resources.catalog import DIGEST_LENGTH, DIGESTS_EACH, MOST_REMEMBERED, Catalog

_BYTES = DIGEST_LENGTH * 3 // 4


def digest_of(catalog: Catalog, identifier: str) -> str:
    """What is remembered of a table; the Catalog's uid keeps others from choosing names that collide."""
    text = f"{catalog.metadata.uid}/{identifier}"
    return urlsafe_b64encode(sha256(text.encode()).digest()[:_BYTES]).decode()


def remembered(catalog: Catalog) -> frozenset[str]:
    """The digests that a Catalog's status holds."""
    return frozenset(
        entry[start : start + DIGEST_LENGTH]
        for entry in catalog.status.remembered
        for start in range(0, len(entry), DIGEST_LENGTH)
    )


def remember(catalog: Catalog, having: Iterable[str], listed: Iterable[str] | None = None) -> tuple[str, ...]:
    """The memory as it is written to status.

    Args:
        catalog: the Catalog, with what it remembers already.
        having: tables that have a LakeTable now.
        listed: all tables that are there; the others are forgotten. None if that is not certain.
    """
    found = remembered(catalog) | {digest_of(catalog, identifier) for identifier in having}
    if listed is not None:
        found &= {digest_of(catalog, identifier) for identifier in listed}
    digests = sorted(found)[:MOST_REMEMBERED]
    return tuple(
        "".join(digests[start : start + DIGESTS_EACH]) for start in range(0, len(digests), DIGESTS_EACH)
    )
