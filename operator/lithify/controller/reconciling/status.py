"""Writing status: only what changed, and only if nobody changed the object meanwhile."""

from __future__ import annotations

from typing import TypeVar

from lithify.controller.api import Api, Object
from lithify.controller.cluster.merge_patch import difference
from lithify.errors import ClusterConflict
from lithify.resources.catalog import Catalog, CatalogStatus
from lithify.resources.compaction import Compaction, CompactionStatus
from lithify.resources.modelling import plain, read
from lithify.resources.names import Kind
from lithify.resources.policy import CompactionPolicy, CompactionPolicyStatus
from lithify.resources.table import LakeTable, LakeTableStatus

Resource = TypeVar("Resource", Catalog, LakeTable, CompactionPolicy, Compaction)
Status = CatalogStatus | LakeTableStatus | CompactionPolicyStatus | CompactionStatus


async def write_status(api: Api, kind: Kind, known: Resource, status: Status) -> Resource | None:
    """Makes an object's status what it should be; returns the object as it is then, None if it is gone.

    Raises:
        ClusterConflict: somebody else changed the object since `known` was read.
    """
    patch = difference(plain(known.status), plain(status))
    if not patch:
        return known
    body: Object = {"metadata": {"resourceVersion": known.metadata.resource_version}, "status": patch}
    written = await api.patch(kind, known.metadata.key, body, subresource="status")
    if written is None:
        return None
    found = read(type(known), written)
    if found.metadata.uid != known.metadata.uid:
        raise ClusterConflict(f"status of {kind.name} {known.metadata.key}", "it was created anew meanwhile")
    return found
