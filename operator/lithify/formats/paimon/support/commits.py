"""Why snapshots cannot be committed safely where a table lies, or to the branch that was opened.

Called by `reasons`. For branches of catalogs whose server commits it reads the newest snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pypaimon.table.file_store_table import FileStoreTable

from lithify.formats.paimon.access.identity import is_main
from lithify.formats.paimon.catalog.locks import lock_refusals
from lithify.formats.paimon.snapshots.committing_server import has_server
from lithify.formats.paimon.snapshots.snapshots import Snapshots
from lithify.io.locations import STORES
from lithify.io.storage import Storage


def commit_refusals(
    table: FileStoreTable, storage: Storage, catalog_options: Mapping[str, str]
) -> Iterator[str]:
    """Every reason, none if snapshots can be committed safely."""
    if not has_server(table):
        yield from _refusals_without_server(table, storage, catalog_options)
    elif not is_main(table):
        yield from _branch_refusals(table, storage)


def _refusals_without_server(
    table: FileStoreTable, storage: Storage, catalog_options: Mapping[str, str]
) -> Iterator[str]:
    """Why snapshots cannot be committed safely if no server commits."""
    if not (storage.is_local or storage.objects is not None):
        yield (
            f"table location = {table.table_path}: no atomic way to write snapshots there is known to this "
            f"release (accepted: a local path, {STORES}, or a REST catalog that commits)"
        )
    yield from lock_refusals(catalog_options, on_objects=storage.is_object_store)


def _branch_refusals(table: FileStoreTable, storage: Storage) -> Iterator[str]:
    """Refuses branches if the server may ignore the branch and commit to the main table."""
    snapshots = Snapshots(table, storage)
    newest = snapshots.latest()
    if newest is not None and not snapshots.has(newest):
        yield (
            f"branch {table.current_branch()}: the catalog's server says that its newest snapshot is "
            f"{newest.id}, which the branch's folder does not have; it would commit somewhere else"
        )
