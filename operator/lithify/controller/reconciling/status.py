"""Writes status: only changed fields, only if the object is unchanged since; plain text, redacted."""

from __future__ import annotations

from typing import Any, TypeVar

from lithify.controller.api import Api, Object
from lithify.controller.cluster.merge_patch import difference
from lithify.controller.telemetry.logs import shown
from lithify.errors import ClusterConflict
from lithify.plain_text import plain_line
from lithify.resources.catalog import Catalog, CatalogStatus
from lithify.resources.compaction import Compaction, CompactionStatus
from lithify.resources.modelling import MESSAGE_LENGTH, plain, read
from lithify.resources.names import ResourceKind
from lithify.resources.policy import CompactionPolicy, CompactionPolicyStatus
from lithify.resources.table import LakeTable, LakeTableStatus

_TEXTS = frozenset({"message", "due", "skippedSamples"})
"""What is written for people. The rest is names and numbers, which stay what they are, so that they can be
compared; but they lose what steers terminals, too."""

Resource = TypeVar("Resource", Catalog, LakeTable, CompactionPolicy, Compaction)
Status = CatalogStatus | LakeTableStatus | CompactionPolicyStatus | CompactionStatus


async def write_status(api: Api, kind: ResourceKind, known: Resource, status: Status) -> Resource | None:
    """Writes an object's status; returns the object after the write, None if it is gone.

    Raises:
        ClusterConflict: the object was changed since `known` was read.
    """
    if status == known.status:
        return known  # by far the most frequent case, and cheap to check
    patch = difference(plain(known.status), _shown(plain(status)))
    if not patch:
        return known
    body: Object = {"metadata": {"resourceVersion": known.metadata.resource_version}, "status": patch}
    written = await api.patch(kind, known.metadata.key, body, subresource="status")
    if written is None:
        return None
    found = read(type(known), written)
    if found.metadata.uid != known.metadata.uid:
        raise ClusterConflict(
            f"status of {kind.name} {known.metadata.key}", "it was deleted and created again"
        )
    return found


def _shown(value: Any, name: str = "") -> Any:
    """A status with redacted, plain texts: messages of catalogs and drivers may quote a credential."""
    if isinstance(value, dict):
        return {inner: _shown(entry, inner) for inner, entry in value.items()}
    if isinstance(value, list):
        return [_shown(entry, name) for entry in value]
    if not isinstance(value, str):
        return value
    return shown(value, MESSAGE_LENGTH) if name in _TEXTS else plain_line(value, MESSAGE_LENGTH)
