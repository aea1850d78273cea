"""Catalogs whose server commits: the server's view of one table's snapshots.

Created by `snapshots`, which interprets its results. Uses pypaimon's REST client and accesses no files.
"""

from __future__ import annotations

import json

from pypaimon.common.json_util import JSON
from pypaimon.snapshot.snapshot import Snapshot
from pypaimon.snapshot.snapshot_commit import PartitionStatistics
from pypaimon.table.file_store_table import FileStoreTable

from lithify.errors import CorruptTable
from lithify.formats.paimon.catalog.connecting import answering
from lithify.formats.paimon.snapshots.snapshot_files import parse_snapshot


def has_server(table: FileStoreTable) -> bool:
    """Whether a server commits for the table. Not for external tables: their files are authoritative."""
    environment = table.catalog_environment
    response = environment.rest_table_response
    is_external = response is not None and bool(json.loads(response).get("isExternal"))
    return (
        environment.catalog_loader is not None and environment.supports_version_management and not is_external
    )


class CatalogServer:
    """The server's view of one table."""

    can_be_late = True
    """An unanswered request may still be carried out."""

    def __init__(self, table: FileStoreTable) -> None:
        environment = table.catalog_environment
        self._loader = environment.catalog_loader
        self._identifier = environment.identifier
        self._table_id = environment.uuid
        self._uri = str(environment.catalog_context().options.to_map().get("uri"))

    def latest(self) -> Snapshot | None:
        """The newest snapshot, None if the table has none.

        Raises:
            CorruptTable: the server's response is not a snapshot.
        """
        with answering(self._uri):
            found = self._loader.load().load_snapshot(self._identifier)
        try:
            return None if found is None else parse_snapshot(JSON.to_json(found.snapshot))
        except (ValueError, TypeError) as error:
            raise CorruptTable(self._uri, f"what it has as newest snapshot is none ({error})") from error

    def write(self, snapshot: Snapshot, base: Snapshot, statistics: list[PartitionStatistics]) -> bool:
        """Asks the server to commit a snapshot if `base` is still its newest; returns whether it did."""
        with answering(self._uri):
            catalog = self._loader.load()
            committed: bool = catalog.commit_snapshot(
                self._identifier, self._table_id, base.uuid, snapshot, statistics
            )
        return committed
