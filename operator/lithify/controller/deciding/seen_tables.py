"""Remembers the tables of a catalog that have or had a LakeTable, to re-create no deleted one. Pure.

Used by `reconciling.catalogs` where a Catalog's discovery says `recreate: Never`. The Catalog's status stores
digests of all tables that ever got a LakeTable, since one may be deleted while no operator runs. Digests take
less space than names.
"""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Iterable
from hashlib import sha256

from lithify.resources.catalog import DIGEST_LENGTH, DIGESTS_EACH, MOST_REMEMBERED, Catalog

_BYTES = DIGEST_LENGTH * 3 // 4


def digest_of(catalog: Catalog, identifier: str) -> str:
    """The digest of a table's name; the Catalog's uid keeps others from choosing names that collide."""
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
    """Returns the digests to be written to status.

    Args:
        catalog: the Catalog, with the digests of its present status.
        having: tables that have a LakeTable now.
        listed: all tables that exist; the others are dropped. None if that is not certain.
    """
    found = remembered(catalog) | {digest_of(catalog, identifier) for identifier in having}
    if listed is not None:
        found &= {digest_of(catalog, identifier) for identifier in listed}
    digests = sorted(found)[:MOST_REMEMBERED]
    return tuple(
        "".join(digests[start : start + DIGESTS_EACH]) for start in range(0, len(digests), DIGESTS_EACH)
    )
