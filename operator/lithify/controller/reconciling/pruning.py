"""Does what `deciding.pruning` has decided: orphans or deletes LakeTables that discovery made, never tables.

Called by `catalogs`. What somebody changes in the same moment stays: each request names the version that was
judged.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from lithify.controller.deciding.pruning import PruneReason, Pruning
from lithify.controller.reconciling.world import World
from lithify.errors import ClusterConflict, ClusterRefused
from lithify.resources.catalog import Catalog, Prune
from lithify.resources.names import ANNOTATION_DISCOVERED, CATALOG, LABEL_CATALOG, LAKE_TABLE
from lithify.resources.table import LakeTable

_log = logging.getLogger(__name__)


async def carry_out(world: World, catalog: Catalog, pruning: Pruning, most: int) -> Pruning:
    """Lets at most `most` LakeTables go; returns the pruning as it went, for the Catalog's status."""
    discovery = catalog.spec.discovery
    if discovery is None or discovery.prune is Prune.KEEP or not pruning.going:
        return pruning
    refusals: list[ClusterRefused] = []
    for table in pruning.going[:most]:
        try:
            await _let_go(world, table, discovery.prune)
        except ClusterConflict:
            continue  # it was changed since, so it is judged again
        except ClusterRefused as error:
            refusals.append(error)  # the others need not stay for that
            continue
        _log.info(
            "%s a LakeTable whose table is dropped or excluded",
            "deleted" if discovery.prune is Prune.DELETE else "orphaned",
            extra={"namespace": table.metadata.namespace, "table": table.metadata.name},
        )
    if refusals:
        message = f"{len(refusals)} LakeTables could not be pruned; the last: {refusals[-1]}"
        return replace(pruning, reason=PruneReason.REFUSED, message=message)
    await world.recorder.post(CATALOG, catalog.metadata, "Normal", pruning.reason, pruning.message)
    return pruning


async def _let_go(world: World, table: LakeTable, how: Prune) -> None:
    meta = table.metadata
    if how is Prune.DELETE:
        await world.api.delete(LAKE_TABLE, meta.key, uid=meta.uid, version=meta.resource_version)
        return
    marks = {"labels": {LABEL_CATALOG: None}, "annotations": {ANNOTATION_DISCOVERED: None}}
    version = {"uid": meta.uid, "resourceVersion": meta.resource_version}
    await world.api.patch(LAKE_TABLE, meta.key, {"metadata": {**version, **marks}})
