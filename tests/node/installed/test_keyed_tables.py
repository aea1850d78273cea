"""A keyed table in a REST catalog on S3, on a real node, from `kubectl apply` to `Compacted`."""

from __future__ import annotations

from infrastructure.oracle.client import Table
from lithify.resources.compaction import Reason
from node.installed.lake import LakeCatalog
from node.installed.site import Site
from support.keyed_tables import KeyedStores
from support.operators.scene import status_of

DUE = {"triggers": {"changeStore": {"filesPerNode": 2}}}


def test_changes_of_a_keyed_table_are_merged(lake_catalog: LakeCatalog, site: Site) -> None:
    stores = KeyedStores(lake_catalog.clients.open(), "shop.keyed")
    stores.catalog.create_namespace("shop")
    stores.create().write_base(1, [(number, "old") for number in range(8)])
    stores.delete(2, [(1, "old"), (2, "old")])
    stores.insert(3, [(2, "new"), (9, "new")])

    care = site.care_for(Table("lake", stores.name), of=lake_catalog.spec_of("MixedIceberg"), under=DUE)
    run = site.first_run(care)
    done = site.ended(run)

    site.stands(run, Reason.COMPACTED)
    assert stores.merged() == [(0, "old"), (2, "new"), *((n, "old") for n in range(3, 8)), (9, "new")]
    assert done["status"]["committedSnapshotId"] == str(stores.base.current_snapshot().snapshot_id)
    assert status_of(done).attempts == 1
    seen = site.table_says(care, "CompactionNeeded", "False")
    assert seen["status"]["observation"]["changeStore"]["changeFiles"] == 0
    site.until_clean()
