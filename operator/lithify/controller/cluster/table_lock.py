"""One lock a table in a cluster: a Lease whose holder is the Compaction that has a driver.

Used by `reconciling.compactions`. It keeps runs of one table apart; that two writers cannot hurt each other
is the commit's business. The Lease has no time: it is taken over only when its holder is seen to be over,
which the caller finds out.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

from lithify.controller.api import Api, Object
from lithify.errors import ClusterConflict, ClusterExists
from lithify.resources.catalog import CatalogSpec
from lithify.resources.names import LABEL_LOCK, LEASE, ObjectKey


@dataclass(frozen=True, slots=True)
class Holder:
    """A Compaction that has a lock."""

    key: ObjectKey
    uid: str

    def __str__(self) -> str:
        return f"{self.key}/{self.uid}"


def lock_name(catalog: CatalogSpec, identifier: str) -> str:
    """The name of a table's lock: the same for all that mean this table, whatever they call its catalog."""
    text = "\n".join((catalog.uri or "", catalog.warehouse.rstrip("/"), identifier))
    return f"lithify-table-{sha256(text.encode()).hexdigest()[:24]}"


class TableLocks:
    """The locks in one namespace."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api = api
        self._namespace = namespace

    async def holder(self, name: str) -> Holder | None:
        """Who has a lock; None if nobody."""
        lease = await self._api.get(LEASE, self._key(name))
        return None if lease is None else _holder(lease)

    async def take(self, name: str, mine: Holder, *, after: Holder | None) -> bool:
        """Takes a lock that nobody has, or a holder that is over; False if that is not so any more."""
        labels = {LABEL_LOCK: "true"}
        body = {"metadata": {"name": name, "labels": labels}, "spec": {"holderIdentity": str(mine)}}
        lease = await self._api.get(LEASE, self._key(name))
        try:
            if lease is None:
                await self._api.create(LEASE, self._namespace, body)
                return True
            if _holder(lease) not in {after, mine, None}:
                return False
            version = {"resourceVersion": lease["metadata"]["resourceVersion"]}
            patch = {"metadata": version, "spec": body["spec"]}
            return await self._api.patch(LEASE, self._key(name), patch) is not None
        except (ClusterExists, ClusterConflict):
            return False

    async def drop(self, name: str, mine: Holder) -> None:
        """Gives a lock up if it is ours."""
        lease = await self._api.get(LEASE, self._key(name))
        if lease is not None and _holder(lease) == mine:
            await self._api.delete(LEASE, self._key(name), uid=lease["metadata"]["uid"])

    async def all(self) -> list[tuple[str, Holder]]:
        """All locks that somebody has."""
        leases = await self._api.list(LEASE, self._namespace, f"{LABEL_LOCK}=true")
        found = [(lease["metadata"]["name"], _holder(lease)) for lease in leases]
        return [(name, holder) for name, holder in found if holder is not None]

    def _key(self, name: str) -> ObjectKey:
        return ObjectKey(self._namespace, name)


def _holder(lease: Object) -> Holder | None:
    parts = str(lease["spec"].get("holderIdentity") or "").split("/")
    if len(parts) != 3:  # namespace, name, uid
        return None
    return Holder(ObjectKey(parts[0], parts[1]), parts[2])
