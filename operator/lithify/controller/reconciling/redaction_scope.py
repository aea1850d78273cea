"""The catalog that an object belongs to, and the texts in the object that its tenant has written.

Called by `loop` around each reconcile, so that status, Events and log lines redact that catalog's
credentials and no other's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from lithify.controller.reconciling.queue import Item
from lithify.controller.reconciling.store import Store
from lithify.controller.telemetry.credentials import concerning
from lithify.redaction import names_of
from lithify.resources.figures import groups_in
from lithify.resources.modelling import plain
from lithify.resources.names import CATALOG, COMPACTION, LAKE_TABLE, ObjectKey
from lithify.resources.table import LakeTable


def redaction_scope(store: Store, item: Item) -> AbstractContextManager[None]:
    """The redaction context in which to reconcile an object."""
    run = store.compactions.get(item.key) if item.kind == COMPACTION.name else None
    if item.kind == CATALOG.name:
        return concerning(item.key, lambda: _names_in(store.tables.using("catalog", item.key)))
    table = store.table_of(run) if run is not None else None
    if item.kind == LAKE_TABLE.name:
        table = store.tables.get(item.key)
    if table is None:
        return concerning(None)
    catalog = ObjectKey(item.key.namespace, table.spec.catalog_ref.name)
    return concerning(catalog, lambda: [*_names_in([table]), *(_texts(plain(run.spec)) if run else ())])


def _names_in(tables: list[LakeTable]) -> list[str]:
    """The texts that tenants have written into LakeTables, and the names of groups in their statuses."""
    found: list[str] = []
    for table in tables:
        seen, blocked = table.status.observation, table.status.blocked_buckets
        found += _texts(plain(table.spec))
        found += names_of(table.spec.identifier)
        found += groups_in(seen)
        found += [block.bucket for block in blocked]
    return found


def _texts(value: Any) -> Iterator[str]:
    """All names and texts in plain data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, entry in value.items():
            yield name
            yield from _texts(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _texts(entry)
