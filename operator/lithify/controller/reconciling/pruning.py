"""Carries out the decisions of `deciding.pruning`: orphans or deletes discovered LakeTables, never tables.

Called by `catalogs`. Each request names the resource version that the decision was based on, so a LakeTable
that was changed concurrently stays.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from lithify.amounts import count_of
from lithify.controller.api import Object
from lithify.controller.deciding.pruning import PruneReason, Pruning
from lithify.controller.deciding.sentences import names_text
from lithify.controller.reconciling.context import Context
from lithify.errors import ClusterConflict, ClusterRefused
from lithify.resources.catalog import Catalog, Prune
from lithify.resources.names import ANNOTATION_DISCOVERED, CATALOG, LABEL_CATALOG, LAKE_TABLE
from lithify.resources.table import LakeTable

_log = logging.getLogger(__name__)


async def carry_out(context: Context, catalog: Catalog, pruning: Pruning, most: int) -> Pruning:
    """Orphans or deletes at most `most` LakeTables; returns the actual pruning, for the Catalog's status.

    Raises:
        ClusterConflict: a LakeTable has changed since, so the decision must be made again.
    """
    discovery = catalog.spec.discovery
    if discovery is None or discovery.prune is Prune.KEEP or not pruning.going:
        return pruning
    refusals: list[ClusterRefused] = []
    claimed: list[str] = []
    conflict: ClusterConflict | None = None
    for table in pruning.going[:most]:
        try:
            if not await _let_go(context, table, discovery.prune):
                claimed.append(table.spec.identifier)
                continue
        except ClusterConflict as error:
            conflict = error
            continue
        except ClusterRefused as error:
            refusals.append(error)  # one refusal must not hold up the others
            continue
        _log.info(
            "%s a LakeTable whose table is dropped or excluded",
            "deleted" if discovery.prune is Prune.DELETE else "orphaned",
            extra={"namespace": table.metadata.namespace, "table": table.metadata.name},
        )
    if conflict is not None:
        raise conflict
    if refusals:
        message = f"{len(refusals)} LakeTables could not be pruned; the last: {refusals[-1]}"
        return replace(pruning, reason=PruneReason.REFUSED, message=message)
    if claimed:
        message = (
            f"{count_of(len(claimed), 'LakeTable')} were applied by others and stay: {names_text(claimed)}"
        )
        return replace(pruning, reason=PruneReason.CHANGED_BY_PEOPLE, message=message)
    await context.recorder.post(CATALOG, catalog.metadata, "Normal", pruning.reason, pruning.message)
    return pruning


async def _let_go(context: Context, table: LakeTable, how: Prune) -> bool:
    """Orphans or deletes a LakeTable unless another field manager has applied it, too."""
    meta = table.metadata
    live = await context.api.get(LAKE_TABLE, meta.key)
    if live is None:
        return True
    if _is_claimed(live):
        return False
    if live["metadata"]["resourceVersion"] != meta.resource_version:
        raise ClusterConflict(f"prune LakeTable {meta.key}", "it has changed since it was judged")
    if how is Prune.DELETE:
        await context.api.delete(LAKE_TABLE, meta.key, uid=meta.uid, version=meta.resource_version)
        return True
    marks = {"labels": {LABEL_CATALOG: None}, "annotations": {ANNOTATION_DISCOVERED: None}}
    version = {"uid": meta.uid, "resourceVersion": meta.resource_version}
    await context.api.patch(LAKE_TABLE, meta.key, {"metadata": {**version, **marks}})
    return True


def _is_claimed(live: Object) -> bool:
    """Whether more than one field manager has set something in the spec.

    A server-side apply that leaves the LakeTable as discovery created it has no other trace.
    """
    managed = live["metadata"].get("managedFields") or []
    return sum("f:spec" in (entry.get("fieldsV1") or {}) for entry in managed) > 1
