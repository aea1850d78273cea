"""Why snapshots cannot be committed safely where a table lies, or to the branch that was opened.

Called by `reasons`. For branches of catalogs whose server commits it reads the newest snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pypaimon.table.file_store_table import FileStoreTable

from lithify.formats.paimon.access.identity import is_main
from lithify.formats.paimon.snapshots.committing_server import has_server
from lithify.formats.paimon.snapshots.snapshots import Snapshots
from lithify.io.locations import STORES, Store
from lithify.io.storage import Storage

_LOCK = "lock.enabled"
"""The catalog option for Java's lock around commits; by default it is taken on object stores."""


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
    lock = catalog_options.get(_LOCK)
    if lock is not None and lock.strip().lower() != "false":
        yield (
            f"catalog option {_LOCK} = {lock}: this release cannot take a catalog's lock, and would commit "
            "without it while others hold it; commit through a REST catalog"
        )
    elif lock is None and _is_locked_by_default(storage) and catalog_options.get("metastore") == "jdbc":
        yield (
            "catalog option metastore = jdbc on an object store: Java writers take the catalog's lock there, "
            "which this release cannot; commit through a REST catalog, or set "
            f"{_LOCK} = false here and on every writer"
        )


def _is_locked_by_default(storage: Storage) -> bool:
    """Whether Java's writers take the catalog's lock: they do where files cannot be renamed."""
    return storage.objects is not None and storage.objects.store is not Store.HDFS


def _branch_refusals(table: FileStoreTable, storage: Storage) -> Iterator[str]:
    """Refuses branches if the server may ignore the branch and commit to the main table."""
    snapshots = Snapshots(table, storage)
    newest = snapshots.latest()
    if newest is not None and not snapshots.has(newest):
        yield (
            f"branch {table.current_branch()}: the catalog's server says that its newest snapshot is "
            f"{newest.id}, which the branch's folder does not have; it would commit somewhere else"
        )
