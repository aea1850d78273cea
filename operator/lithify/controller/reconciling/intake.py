"""Applies events to the store, and adds the objects that a change affects to the queue.

Called by the event stream, and by the resync that makes up for lost events. An invalid object affects no
other: an unreadable object is stored separately, and its last readable version stays in the store.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lithify.controller.api import Api, Object
from lithify.controller.launching.shared_pods import members_of
from lithify.controller.reconciling.duplicates import age
from lithify.controller.reconciling.queue import Item, Queue
from lithify.controller.reconciling.store import Shelf, Store, is_newer
from lithify.controller.reconciling.unreadable import unreadable
from lithify.errors import ClusterRefused, InvalidResource
from lithify.resources.names import (
    CATALOG,
    COMPACTION,
    LABEL_COMPACTION,
    LAKE_TABLE,
    OWN_KINDS,
    POD,
    POLICY,
    ObjectKey,
    ResourceKind,
)
from lithify.resources.objects import Metadata
from lithify.resources.reading import read_object
from lithify.resources.table import LakeTable

_log = logging.getLogger(__name__)
_AT_ONCE = 50
"""Number of objects applied before other tasks may run."""
_TOGETHER = 1.0
"""Seconds by which recounts of added or deleted tables are delayed: thousands may be applied together."""


@dataclass(frozen=True, slots=True)
class Intake:
    """Applies events.

    Attributes:
        store: the known version of each object.
        queue: keys of the objects to reconcile.
    """

    store: Store
    queue: Queue
    _gone: set[str] = field(default_factory=set)
    """The uids of objects deleted since the last resync began, whose list may still contain them."""

    def take(self, kind: ResourceKind, body: Object, gone: bool) -> None:  # the events' signature
        """Applies one event. Never raises: one object must not end the stream of all events."""
        try:
            self._take(kind, body, gone)
        except Exception:  # noqa: BLE001  # it concerns one object, and is logged
            _log.exception("%s %s cannot be taken in", kind.name, _metadata(body).get("name"))

    def _take(self, kind: ResourceKind, body: Object, gone: bool) -> None:
        if kind is POD:
            labels = body["metadata"].get("labels") or {}
            for member in members_of(body):
                self.queue.add(COMPACTION, member.key)
            if labels.get(LABEL_COMPACTION):
                self.queue.add(COMPACTION, ObjectKey(body["metadata"]["namespace"], labels[LABEL_COMPACTION]))
            return
        shelf = self._shelf(kind)
        uid = body["metadata"].get("uid")
        if gone:
            self._gone.add(uid)
            self._drop(kind, ObjectKey(body["metadata"]["namespace"], body["metadata"]["name"]), uid)
            return
        if uid in self._gone or _is_known(shelf, body):
            return
        try:
            found = read_object(kind, body)
        except InvalidResource as error:
            self._keep_apart(kind, body, error)
            return
        self._put(kind, found)

    def _put(self, kind: ResourceKind, found: Any) -> None:
        """Stores a readable object, which may have been unreadable before."""
        key = found.metadata.key
        apart = self.store.unreadable.get((kind.name, key))
        if apart is not None:
            if not is_newer(apart.metadata, found.metadata):
                return
            del self.store.unreadable[kind.name, key]
            self.queue.add(kind, key)
        shelf = self._shelf(kind)
        before = shelf.get(key)
        if shelf.put(found):
            self._changed(kind, before, found)

    def _drop(self, kind: ResourceKind, key: ObjectKey, uid: str) -> None:
        """Removes a deleted object from the store."""
        apart = self.store.unreadable.get((kind.name, key))
        if apart is not None and apart.metadata.uid == uid:
            del self.store.unreadable[kind.name, key]
            self.queue.add(kind, key)  # an unreadable run may have left a driver
        shelf = self._shelf(kind)
        known = shelf.get(key)
        if known is not None and shelf.drop(key, uid):
            self._changed(kind, known, None)

    def _keep_apart(self, kind: ResourceKind, body: Object, error: InvalidResource) -> None:
        """Stores an object as unreadable, and queues it so that its owner is informed."""
        found = unreadable(body, error)
        if found is None:
            _log.error("%s", error)
            return
        key = found.metadata.key
        readable, apart = self._shelf(kind).get(key), self.store.unreadable.get((kind.name, key))
        known = [one.metadata for one in (readable, apart) if one is not None]
        if all(is_newer(one, found.metadata) for one in known):
            self.store.unreadable[kind.name, key] = found
            self.queue.add(kind, key)

    async def resync(self, api: Api) -> None:
        """Lists all objects again, and queues those whose events were lost."""
        self._gone.clear()
        for kind in OWN_KINDS:
            listed = await api.list(kind)
            for number, body in enumerate(listed):
                self.take(kind, body, gone=False)
                if number % _AT_ONCE == 0:
                    await asyncio.sleep(0)  # lets other tasks run: there may be thousands
            uids = {_metadata(body).get("uid") for body in listed}
            for known in self._known(kind):
                if known.uid not in uids and await _is_gone(api, kind, known.key):
                    self._drop(kind, known.key, known.uid)

    def _known(self, kind: ResourceKind) -> list[Metadata]:
        """All objects of a kind, whether they can be read or not."""
        apart = [found.metadata for (name, _), found in self.store.unreadable.items() if name == kind.name]
        return [*(known.metadata for known in self._shelf(kind)), *apart]

    def _shelf(self, kind: ResourceKind) -> Shelf[Any]:
        shelves: dict[str, Shelf[Any]] = {
            CATALOG.name: self.store.catalogs,
            LAKE_TABLE.name: self.store.tables,
            POLICY.name: self.store.policies,
            COMPACTION.name: self.store.compactions,
        }
        return shelves[kind.name]

    def _changed(self, kind: ResourceKind, before: Any, after: Any) -> None:
        """Adds a changed object, and the objects that depend on the changed parts, to the queue."""
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
        if kind is LAKE_TABLE:
            for item in _counted_by(before) ^ _counted_by(after):
                self.queue.add_after(item, _TOGETHER)
            for run in self.store.runs_of(key):
                self.queue.add(COMPACTION, run.metadata.key)
            self._namesakes(found)
        else:
            self._users(kind, key)

    def _users(self, kind: ResourceKind, key: ObjectKey) -> None:
        """Queues the tables that use a policy or a catalog."""
        for table in self.store.tables.using("policy" if kind is POLICY else "catalog", key):
            self._table(table)
            if kind is CATALOG:
                self._namesakes(table)

    def _namesakes(self, table: LakeTable) -> None:
        """Queues the tables that may have become, or ceased to be, duplicates of a table."""
        for other in self.store.namesakes_of(table):
            if age(other) > age(table):
                self.queue.add_after(Item(LAKE_TABLE.name, other.metadata.key), _TOGETHER)

    def _table(self, table: LakeTable) -> None:
        self.queue.add(LAKE_TABLE, table.metadata.key)
        for run in self.store.runs_of(table.metadata.key):
            if not run.is_over:
                self.queue.add(COMPACTION, run.metadata.key)


def _counted_by(table: LakeTable | None) -> set[Item]:
    """The policy and the catalog whose statuses count a table."""
    if table is None:
        return set()
    namespace = table.metadata.namespace
    return {
        Item(POLICY.name, ObjectKey(namespace, table.spec.policy_ref.name)),
        Item(CATALOG.name, ObjectKey(namespace, table.spec.catalog_ref.name)),
    }


def _metadata(body: Object) -> Mapping[str, Any]:
    """The metadata of an object; empty if it has none."""
    metadata = body.get("metadata")
    return metadata if isinstance(metadata, Mapping) else {}


async def _is_gone(api: Api, kind: ResourceKind, key: ObjectKey) -> bool:
    """Whether an object no longer exists, or is in a namespace that the operator may no longer read."""
    try:
        return await api.get(kind, key) is None
    except ClusterRefused:
        return True


def _is_known(shelf: Shelf[Any], body: Object) -> bool:
    """Whether the store already holds this version; cheaper than parsing the object again."""
    meta = body["metadata"]
    known = shelf.get(ObjectKey(meta["namespace"], meta["name"]))
    if known is None:
        return False
    mark = known.metadata.uid, known.metadata.resource_version
    return bool(mark == (meta.get("uid"), meta.get("resourceVersion")))


def _is_own_write(before: Any, after: Any) -> bool:
    """Whether the event repeats what the store already holds, as after the operator's own status write."""
    return (
        before is not None
        and after is not None
        and before.metadata.uid == after.metadata.uid
        and before.spec == after.spec
        and before.status == after.status
        and before.metadata.annotations == after.metadata.annotations
        and before.metadata.deletion_timestamp == after.metadata.deletion_timestamp
    )
