"""What writing to a table needs besides reading it: its journal, its history, and checks of its place.

Called by the rest of this room and by `compaction`. Not methods of `PaimonTable`, because observers open
tables, too, and import nothing that writes.
"""

from __future__ import annotations

from collections.abc import Collection

from lithify.engine.attempts.journal import Journal
from lithify.formats.paimon.catalog.jdbc_lock import JdbcLock
from lithify.formats.paimon.model import BucketId
from lithify.formats.paimon.snapshots.attempt_scope import AttemptScopes, ExternalRoots, PaimonJournal
from lithify.formats.paimon.snapshots.lineage import Lineage
from lithify.formats.paimon.snapshots.live_buckets import LiveBuckets
from lithify.formats.paimon.snapshots.writable_snapshots import WritableSnapshots
from lithify.formats.paimon.table import PaimonTable
from lithify.io.objects.conditional_puts import check_heeded


def check_writable(table: PaimonTable) -> None:
    """Checks that snapshots can be written safely at a table's location; on S3 this sends requests.

    Raises:
        UnsupportedTable: the store would let commits overwrite each other.
        NotAllowed, StorageError: it refuses writes.
    """
    if table.storage.objects is not None and not table.snapshots.has_server:
        check_heeded(table.name, table.root, table.storage.objects)


def journal_of(table: PaimonTable) -> PaimonJournal:
    """The journal of the attempts at a table or branch."""
    return Journal(table.home, table.storage, AttemptScopes())


def writable_snapshots(table: PaimonTable) -> WritableSnapshots:
    """The snapshots of a table or branch, and the place of the next one."""
    lock = None if table.lock is None else JdbcLock(table.lock)
    return WritableSnapshots(table.native, table.storage, lock)


def lineage_of(table: PaimonTable) -> Lineage:
    """The history of a table or branch."""
    return Lineage(writable_snapshots(table), table.manifests)


def external_roots(table: PaimonTable) -> ExternalRoots | None:
    """Directories for new files outside a table's folder."""
    roots = table.options.locations.external
    return ExternalRoots(table.root, roots) if roots else None


def follow(
    table: PaimonTable, buckets: Collection[BucketId], names: Collection[str] | None = None
) -> LiveBuckets:
    """The live entries of some buckets, in consecutive snapshots; with `names` only of these files."""
    return LiveBuckets(table.manifests, table.snapshots, table.chosen(buckets, names))
