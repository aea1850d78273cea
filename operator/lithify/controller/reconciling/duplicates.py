"""Whether another LakeTable stands for the same table, so that only the oldest one starts runs by itself.

Used by `tables`. Locks keep the runs of both apart in any case; here it is about doing all work once.
"""

from __future__ import annotations

from datetime import UTC, datetime

from lithify.controller.cluster.table_lock import address
from lithify.controller.reconciling.store import Store
from lithify.resources.catalog import CatalogSpec
from lithify.resources.table import LakeTable

_PARTS_OF_PLACES = ("endpoint", "catalog-key", "prefix", "header.")
"""Words in the names of catalog options that tell places of one address apart."""
_LAST = datetime.max.replace(tzinfo=UTC)

Place = tuple[object, ...]


def older_duplicate(store: Store, table: LakeTable) -> str | None:
    """The name of the oldest LakeTable of the same table, None if that is this one."""
    catalog = store.catalog_of(table)
    if catalog is None:
        return None
    place, oldest = _place(catalog.spec), table
    for other in store.namesakes_of(table):
        catalog = store.catalog_of(other)
        if catalog is not None and age(other) < age(oldest) and _place(catalog.spec) == place:
            oldest = other
    return None if oldest is table else oldest.metadata.name


def age(table: LakeTable) -> tuple[datetime, str]:
    """Sorts LakeTables: the oldest one first."""
    return table.metadata.creation_timestamp or _LAST, table.metadata.name


def _place(catalog: CatalogSpec) -> Place:
    """What two Catalogs have in common if they mean the same tables.

    It is more than a lock goes by: two tables that share a lock only wait for each other, but one that is
    wrongly called a duplicate is not compacted. So two buckets of one name on two endpoints are two places.
    """
    options = sorted((name, value) for name, value in catalog.options.items() if _tells_places_apart(name))
    secret = catalog.secret_ref
    hidden = (
        []
        if secret is None
        else [(name, secret.name, key) for name, key in secret.options.items() if _tells_places_apart(name)]
    )
    return (*address(catalog), tuple(options), tuple(sorted(hidden)))


def _tells_places_apart(option: str) -> bool:
    return any(word in option for word in _PARTS_OF_PLACES)
