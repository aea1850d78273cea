"""Finds LakeTables that stand for the same table, so that only the oldest one starts runs by itself.

Used by `tables`. Locks already keep the runs of both apart; this avoids doing the work twice.
"""

from __future__ import annotations

from datetime import UTC, datetime

from lithify.controller.cluster.table_lock import address
from lithify.controller.reconciling.store import Store
from lithify.resources.catalog import CatalogSpec
from lithify.resources.table import LakeTable

_PARTS_OF_LOCATIONS = ("endpoint", "catalog-key", "prefix", "header.")
"""Words in the names of catalog options that distinguish two locations with the same address."""
_LAST = datetime.max.replace(tzinfo=UTC)

Place = tuple[object, ...]


def older_duplicate(store: Store, table: LakeTable) -> str | None:
    """The name of the oldest LakeTable of the same table; None if `table` is the oldest."""
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
    """Sort key of LakeTables: the oldest first."""
    return table.metadata.creation_timestamp or _LAST, table.metadata.name


def _place(catalog: CatalogSpec) -> Place:
    """A value that is equal for two Catalogs that hold the same tables.

    It compares more than a lock name does: two tables that share a lock only wait for each other, but a
    table wrongly called a duplicate is not compacted. So equal bucket names on two endpoints differ here.
    """
    options = sorted((name, value) for name, value in catalog.options.items() if _locates(name))
    secret = catalog.secret_ref
    hidden = (
        []
        if secret is None
        else [(name, secret.name, key) for name, key in secret.options.items() if _locates(name)]
    )
    return (*address(catalog), tuple(options), tuple(sorted(hidden)))


def _locates(option: str) -> bool:
    return any(word in option for word in _PARTS_OF_LOCATIONS)
