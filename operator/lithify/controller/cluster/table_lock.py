"""One lock for each table in a namespace: a Lease whose holder is the Compaction that has a driver.

Used by `reconciling.locking`. The lock keeps runs of one table apart; the commit protocol ensures that two
writers cannot damage the table. The Lease has no expiry: it is taken over only when the caller finds that its
holder has ended. The holder of a Lease never changes: a takeover deletes the Lease and creates another one,
so a delete that names the Lease's uid never removes another holder's lock.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from posixpath import normpath

from lithify.controller.api import Api, Object
from lithify.errors import ClusterExists, ClusterRefused
from lithify.io.locations import object_path
from lithify.resources.catalog import CatalogSpec
from lithify.resources.names import LABEL_LOCK, LEASE, ObjectKey

_MAIN_BRANCH = "$branch_main"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Holder:
    """A Compaction that has a lock."""

    key: ObjectKey
    uid: str

    def __str__(self) -> str:
        return f"{self.key}/{self.uid}"


def lock_name(namespace: str, catalog: CatalogSpec, identifier: str) -> str:
    """The name of a table's lock: the same for all objects of a namespace that name this table.

    The namespace is a part of it because a Catalog may name any address: locking a table requires no proof of
    ownership, so no tenant may lock tables of another namespace. docs/design/0025-what-is-ours.md has the
    reasons.
    """
    text = "\n".join((namespace, *address(catalog), main_identifier(identifier)))
    return f"lithify-table-{sha256(text.encode()).hexdigest()[:24]}"


def address(catalog: CatalogSpec) -> tuple[str, str]:
    """The URI and the warehouse of a catalog, each normalized."""
    return (catalog.uri or "").rstrip("/"), location(catalog.warehouse)


def main_identifier(identifier: str) -> str:
    """A table's identifier, normalized: the main branch is the table itself."""
    return identifier.removesuffix(_MAIN_BRANCH)


def location(warehouse: str) -> str:
    """A warehouse's address, normalized; `s3a://lake//x/` becomes `s3://lake/x`."""
    there = object_path(warehouse)
    if there is not None:
        return str(there).rstrip("/")
    match = _SCHEME.fullmatch(warehouse)
    scheme, path = (match[1].lower(), match[2]) if match else ("file", warehouse)
    normal = normpath(f"/{path.strip('/')}") if path.startswith("/") else path.rstrip("/")
    if scheme == "file":
        return normal
    return f"{scheme}:/{normal}"


class TableLocks:
    """The locks whose Leases are in one namespace, the operator's own. Other Leases in it are left alone."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api = api
        self._namespace = namespace

    async def holder(self, name: str) -> Holder | None:
        """Returns the holder of a lock; None if the lock is free.

        Raises:
            ClusterRefused: a Lease of that name is not a lock.
        """
        lease = await self._lease(name)
        return None if lease is None else _holder(lease)

    async def take(self, name: str, mine: Holder, *, after: Holder | None) -> bool:
        """Takes a free lock, or that of a holder that has ended; False if the lock has changed since.

        Raises:
            ClusterRefused: a Lease of that name is not a lock.
        """
        lease = await self._lease(name)
        if lease is not None:
            holder = _holder(lease)
            if holder == mine:
                return True
            if holder not in {after, None}:
                return False
            await self._api.delete(LEASE, self._key(name), uid=lease["metadata"]["uid"])
        metadata = {"name": name, "labels": {LABEL_LOCK: "true"}}
        try:
            body = {"metadata": metadata, "spec": {"holderIdentity": str(mine)}}
            await self._api.create(LEASE, self._namespace, body)
        except ClusterExists:
            return False
        return True

    async def drop(self, name: str, mine: Holder) -> None:
        """Releases a lock if it is ours."""
        lease = await self._api.get(LEASE, self._key(name))
        if lease is not None and _is_lock(lease) and _holder(lease) == mine:
            await self._api.delete(LEASE, self._key(name), uid=lease["metadata"]["uid"])

    async def all(self) -> list[tuple[str, Holder]]:
        """Returns all locks that are held."""
        leases = await self._api.list(LEASE, self._namespace, f"{LABEL_LOCK}=true")
        found = [(lease["metadata"]["name"], _holder(lease)) for lease in leases if _is_lock(lease)]
        return [(name, holder) for name, holder in found if holder is not None]

    async def _lease(self, name: str) -> Object | None:
        lease = await self._api.get(LEASE, self._key(name))
        if lease is not None and not _is_lock(lease):
            problem = f"it is not a table's lock, because it lacks the label {LABEL_LOCK}; delete it"
            raise ClusterRefused(f"lock by Lease {self._key(name)}", problem)
        return lease

    def _key(self, name: str) -> ObjectKey:
        return ObjectKey(self._namespace, name)


def _is_lock(lease: Object) -> bool:
    return LABEL_LOCK in (lease["metadata"].get("labels") or {})


def _holder(lease: Object) -> Holder | None:
    parts = str((lease.get("spec") or {}).get("holderIdentity") or "").split("/")
    if len(parts) != 3 or not all(parts):  # namespace, name, uid
        return None
    return Holder(ObjectKey(parts[0], parts[1]), parts[2])
