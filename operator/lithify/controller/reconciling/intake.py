"""Takes in what events say: updates the store, and adds to the queue whom a change concerns.

Called by the event stream, and by the resync that heals lost events. An object that cannot be read is left
out and logged: the API server has checked it, so it is of a newer release.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from lithify.controller.api import Api, Object
from lithify.controller.reconciling.queue import Item, Queue
from lithify.controller.reconciling.store import Shelf, Store
from lithify.errors import ClusterRefused
from lithify.resources.catalog import Catalog
from lithify.resources.compaction import Compaction
from lithify.resources.modelling import read
from lithify.resources.names import (
    CATALOG,
    COMPACTION,
    LABEL_COMPACTION,
    LAKE_TABLE,
    OWN_KINDS,
    POD,
    POLICY,
    Kind,
    ObjectKey,
)
from lithify.resources.policy import CompactionPolicy
from lithify.resources.table import LakeTable

_log = logging.getLogger(__name__)
_AT_ONCE = 50
"""Objects that are taken in before others may run."""
_TOGETHER = 1.0
"""Seconds after which tables that come or go are counted, once for all: thousands may be applied together."""


@dataclass(frozen=True, slots=True)
class Intake:
    """Takes in objects.

    Attributes:
        store: what is known.
        queue: what is to be looked at.
    """

    store: Store
    queue: Queue
    _gone: set[str] = field(default_factory=set)
    """The uids of what was deleted since the last resync began: its list may still have them."""

    def take(self, kind: Kind, body: Object, gone: bool) -> None:  # the events' signature
        """Takes one event in."""
        if kind is POD:
            labels = body["metadata"].get("labels") or {}
            if labels.get(LABEL_COMPACTION):
                self.queue.add(COMPACTION, ObjectKey(body["metadata"]["namespace"], labels[LABEL_COMPACTION]))
            return
        model, shelf = self._shelf(kind)
        uid = body["metadata"].get("uid")
        if gone:
            self._gone.add(uid)
            key = ObjectKey(body["metadata"]["namespace"], body["metadata"]["name"])
            known = shelf.get(key)
            if known is not None and shelf.drop(key, uid):
                self._changed(kind, known, None)
            return
        if uid in self._gone or _is_known(shelf, body):
            return
        try:
            found = read(model, body)
        except ValidationError as error:
            _log.error("%s %s cannot be read: %s", kind.name, body["metadata"].get("name"), error)
            return
        before = shelf.get(found.metadata.key)
        if shelf.put(found):
            self._changed(kind, before, found)

    async def resync(self, api: Api) -> None:
        """Lists everything anew: what events were lost for is found and looked at."""
        self._gone.clear()
        for kind in OWN_KINDS:
            listed = await api.list(kind)
            _, shelf = self._shelf(kind)
            for number, body in enumerate(listed):
                self.take(kind, body, gone=False)
                if number % _AT_ONCE == 0:
                    await asyncio.sleep(0)  # there may be thousands, and others have to run meanwhile
            uids = {body["metadata"]["uid"] for body in listed}
            for known in shelf:
                if known.metadata.uid not in uids and await _is_gone(api, kind, known.metadata.key):
                    shelf.drop(known.metadata.key, known.metadata.uid)
                    self._changed(kind, known, None)

    def _shelf(self, kind: Kind) -> tuple[type[Any], Shelf[Any]]:
        shelves: dict[str, tuple[type[Any], Shelf[Any]]] = {
            CATALOG.name: (Catalog, self.store.catalogs),
            LAKE_TABLE.name: (LakeTable, self.store.tables),
            POLICY.name: (CompactionPolicy, self.store.policies),
            COMPACTION.name: (Compaction, self.store.compactions),
        }
        return shelves[kind.name]

    def _changed(self, kind: Kind, before: Any, after: Any) -> None:
        """Adds an object that changed, and those that depend on what of it changed, to the queue."""
        found = after or before
        key: ObjectKey = found.metadata.key
        if not _is_own_write(before, after):
            self.queue.add(kind, key)
        if kind is COMPACTION:
            if before is None or after is None:
                self.queue.add(LAKE_TABLE, ObjectKey(key.namespace, found.spec.table_ref.name))
            return
        if before is not None and after is not None and before.spec == after.spec:
            return
        if kind in {POLICY, CATALOG}:
            for table in self.store.tables.using("policy" if kind is POLICY else "catalog", key):
                self._table(table)
        if kind is LAKE_TABLE:
            for item in _counted_by(before) ^ _counted_by(after):
                self.queue.add_after(item, _TOGETHER)
            for run in self.store.runs_of(key):
                self.queue.add(COMPACTION, run.metadata.key)

    def _table(self, table: LakeTable) -> None:
        self.queue.add(LAKE_TABLE, table.metadata.key)
        for run in self.store.runs_of(table.metadata.key):
            if not run.is_over:
                self.queue.add(COMPACTION, run.metadata.key)


def _counted_by(table: LakeTable | None) -> set[Item]:
    """The policy and the catalog that a table refers to, whose statuses say how many do."""
    if table is None:
        return set()
    namespace = table.metadata.namespace
    return {
        Item(POLICY.name, ObjectKey(namespace, table.spec.policy_ref.name)),
        Item(CATALOG.name, ObjectKey(namespace, table.spec.catalog_ref.name)),
    }


async def _is_gone(api: Api, kind: Kind, key: ObjectKey) -> bool:
    """Whether an object is not there any more, or in a namespace that we have no business in any more."""
    try:
        return await api.get(kind, key) is None
    except ClusterRefused:
        return True


def _is_known(shelf: Shelf[Any], body: Object) -> bool:
    """Whether just this version was taken in before, which is cheaper to see than to read it again."""
    meta = body["metadata"]
    known = shelf.get(ObjectKey(meta["namespace"], meta["name"]))
    if known is None:
        return False
    mark = known.metadata.uid, known.metadata.resource_version
    return bool(mark == (meta.get("uid"), meta.get("resourceVersion")))


def _is_own_write(before: Any, after: Any) -> bool:
    """Whether only status changed, which nobody but the operator writes."""
    return (
        before is not None
        and after is not None
        and before.metadata.uid == after.metadata.uid
        and before.spec == after.spec
        and before.status == after.status
        and before.metadata.annotations == after.metadata.annotations
        and before.metadata.deletion_timestamp == after.metadata.deletion_timestamp
    )
