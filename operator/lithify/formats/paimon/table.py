"""One opened Paimon table, on the driver: schema, options, snapshots, manifests, paths.

Created by `opening.open_table`; used by a run's driver, the command line and the rest of this
package.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import TypeVar

from pypaimon.snapshot.snapshot import Snapshot
from pypaimon.snapshot.snapshot_commit import PartitionStatistics
from pypaimon.table.file_store_table import FileStoreTable

from lithify.columns.order_key import OrderKey
from lithify.errors import MissingFile, NotFound, UnsupportedTable
from lithify.formats.paimon.access.identity import home, table_uuid
from lithify.formats.paimon.catalog.locks import LockSettings
from lithify.formats.paimon.deletion_vectors.index_files import DELETION_VECTORS
from lithify.formats.paimon.layout.file_locations import FileLocations
from lithify.formats.paimon.manifests.earliest_times import EarliestTimes
from lithify.formats.paimon.manifests.entries import (
    ADD,
    APPEND_SOURCE,
    FileMeta,
    ManifestEntry,
)
from lithify.formats.paimon.manifests.entry_columns import Earliest
from lithify.formats.paimon.manifests.entry_selection import ChosenBuckets, EntrySelection, Matching
from lithify.formats.paimon.manifests.index_manifests import Indexes
from lithify.formats.paimon.manifests.manifests import Manifests
from lithify.formats.paimon.manifests.partition_layouts import partition_layouts
from lithify.formats.paimon.manifests.vector_columns import marked_files, with_vectors
from lithify.formats.paimon.manifests.view import View, by_bucket
from lithify.formats.paimon.model import POSTPONED, BucketId
from lithify.formats.paimon.names.file_names import INDEX_FOLDER
from lithify.formats.paimon.options.table_options import TableOptions
from lithify.formats.paimon.rows.binary_row import order_key
from lithify.formats.paimon.rows.key_columns import order_keys
from lithify.formats.paimon.schema.schema import Schema
from lithify.formats.paimon.snapshots.snapshots import Snapshots
from lithify.formats.protocol.address import Selection
from lithify.formats.protocol.partition import PartitionFilter
from lithify.io.storage import Storage

Found = TypeVar("Found")

_LOOKS = 10
_HASH = "HASH"
"""The index type of dynamic buckets; it stays valid after a compaction, because rows keep their bucket."""


class PaimonTable:
    """A table, or a branch of one.

    Attributes:
        root: its folder, with the files that all branches share.
        home: the folder of the branch's own files; for the main branch the same as `root`.
        native: pypaimon's table, for those who write its metadata.
        lock: the lock of its catalog that committers take, None if they take none.

    Args:
        table: pypaimon's table.
        name: `database.table` or `database.table$branch_name`.
        schema: its newest schema.
        read_schema: loads a version of the schema; None for the newest.
        options: the options that a compaction reads.
        storage: access to its files.
        refusals: why this release cannot compact it.
        stored_options: its options without those of this run.
        lock: the lock of its catalog that committers take, None if they take none.
    """

    def __init__(
        self,
        table: FileStoreTable,
        name: str,
        schema: Schema,
        read_schema: Callable[[int | None], Schema],
        options: TableOptions,
        storage: Storage,
        refusals: tuple[str, ...] = (),
        stored_options: Mapping[str, str] | None = None,
        lock: LockSettings | None = None,
    ) -> None:
        self.native = table
        self.lock = lock
        self._read_schema = read_schema
        self._schemas = {schema.id: schema}
        self.name = name
        self.root: str = table.table_path.rstrip("/")
        self.home = home(table)
        self.schema = schema
        self.options = options
        self.storage = storage
        self.refusals = refusals
        self.stored_options = schema.options if stored_options is None else stored_options
        self.locations = FileLocations(self.root, name, schema, options.locations, storage)
        self.manifests = Manifests(table, schema.partition_types, storage, self._earliest_times())
        self.snapshots = Snapshots(table, storage)
        self.order_key: Callable[[bytes], OrderKey] = partial(
            order_key, types=schema.key_types, names=schema.primary_key
        )
        self.order_keys = partial(order_keys, types=schema.key_types, one=self.order_key)

    @property
    def uuid(self) -> str:
        """The table's identity; costs a request unless its catalog knows it.

        Raises:
            MissingFile: the first version of its schema is gone.
        """
        return table_uuid(self.native)

    def check_supported(self) -> None:
        """Checks that this release can compact the table.

        Raises:
            UnsupportedTable: it cannot; names every unsupported option and column.
        """
        if self.refusals:
            raise UnsupportedTable(self.name, self.refusals)

    def partition_filter(self, selection: Selection) -> PartitionFilter:
        """The selection of partitions.

        Raises:
            InvalidOption: a partition column does not exist, or a text is no value of it.
        """
        found = PartitionFilter(selection.partitions)
        found.check(self.name, (self.locations.partition_spec,))
        return found

    def view(self, selection: Selection) -> View | None:
        """Pins the newest snapshot and lists the live files of the selected buckets; None if there is none.

        Raises:
            InvalidOption: a partition column does not exist, or a text is no value of it.
            NotFound: no file lies in a selected partition or bucket.
            CorruptTable: a snapshot or manifest is missing or unreadable.
        """
        wanted = self.partition_filter(selection)

        def look(snapshot: Snapshot) -> View:
            view = self._view(snapshot, Matching(partial(self._is_selected, wanted, selection.buckets)))
            self._check_found(wanted, selection.buckets, view.spans)
            return view

        return self.on_newest(look)

    def view_of(self, buckets: Collection[BucketId]) -> View | None:
        """Pins the newest snapshot and lists the live files of exactly these buckets."""
        chosen = frozenset(buckets)
        return self.on_newest(lambda snapshot: self._view(snapshot, self.chosen(chosen), chosen))

    def on_newest(self, look: Callable[[Snapshot], Found]) -> Found | None:
        """Reads the newest snapshot; if it expires during the read, retries with the next newest one."""
        for looks_left in reversed(range(_LOOKS)):
            snapshot = self.snapshots.latest()
            if snapshot is None:
                return None
            try:
                return look(snapshot)
            except MissingFile:
                if not looks_left or self.snapshots.get(snapshot.id) is not None:
                    raise
        return None

    def has_newer_schema(self) -> bool:
        """Whether the table got a newer schema since it was opened."""
        return self.storage.exists(self._schema_path(self.schema.id + 1))

    def spec(self, bucket: BucketId) -> dict[str, str]:
        """The values of a bucket's partition columns, as in paths."""
        return self.locations.values(bucket.partition).by_name

    def sequence_of(self, file: FileMeta) -> int | None:
        """The sequence number assigned to all rows of a file; None if each has its own.

        With ordering by snapshot, commits set this number in the entries of files with new rows, and
        compactions write it into every row (`KeyValueFileReaderFactory`).
        """
        is_stamped = self.options.snapshot_ordering and file.source == APPEND_SOURCE
        return file.min_sequence if is_stamped else None

    def _earliest_times(self) -> Earliest | None:
        """Computes the earliest time of files; None if rows of the table do not or cannot expire."""
        expiry = self.options.expiry
        if expiry is None or all(column.name != expiry.column for column in self.schema.columns):
            return None
        return EarliestTimes(expiry.column, self.schema, self.schema_of).of

    def _schema_path(self, schema_id: int) -> str:
        return f"{self.home}/schema/schema-{schema_id}"

    def indexes(self, snapshot: Snapshot, buckets: Collection[BucketId]) -> Indexes:
        """The index files of a snapshot; deletion vectors of some buckets only."""
        return self.manifests.indexes(snapshot, self.chosen(buckets))

    def chosen(self, buckets: Collection[BucketId], names: Collection[str] | None = None) -> ChosenBuckets:
        """Selects buckets; with a postponed one also the real buckets of its partition."""
        places = {(bucket.partition, bucket.bucket) for bucket in buckets}
        postponed = {each.partition for each in buckets if each.bucket == POSTPONED}
        return self.manifests.chosen(places, postponed, names)

    def schema_of(self, schema_id: int) -> Schema:
        """A version of the schema."""
        if schema_id not in self._schemas:
            self._schemas[schema_id] = self._read_schema(schema_id)
        return self._schemas[schema_id]

    def newest_schema(self) -> Schema:
        """The newest schema, read again: the table may have changed since it was opened."""
        return self._read_schema(None)

    def index_problem(self, index_types: frozenset[str]) -> str | None:
        """Why a snapshot with such indexes cannot be compacted.

        Options may have been switched off since; existing indexes still count.
        """
        carried = [
            *([_HASH] if self.schema.primary_key else []),
            *([] if self.options.vectors is None else [DELETION_VECTORS]),
        ]
        unknown = sorted(index_types.difference(carried))
        return f"index files of kind {', '.join(unknown)}: this release cannot heed them" if unknown else None

    def folder(self, bucket: BucketId) -> str:
        """The directory of a bucket in the table's folder."""
        return self.locations.folder(bucket)

    def index_folder(self, bucket: BucketId) -> str:
        """The directory of a bucket's index files."""
        vectors = self.options.vectors
        is_with_data = vectors is not None and vectors.in_data_directory
        return self.folder(bucket) if is_with_data else f"{self.root}/{INDEX_FOLDER}"

    def path(self, entry: ManifestEntry) -> str:
        """The path of a data file."""
        return self.locations.path(entry)

    def bucket_id(self, partition: bytes, bucket: int) -> BucketId:
        """The identity of a bucket."""
        return self.locations.bucket_id(partition, bucket)

    def statistics_of(self, entries: Iterable[ManifestEntry]) -> list[PartitionStatistics]:
        """The changes of a commit to each partition's statistics, for catalogs that record them."""
        changes: dict[bytes, PartitionStatistics] = {}
        for entry in entries:
            sign, file = (1 if entry.kind == ADD else -1), entry.file
            spec = self.locations.values(entry.partition).by_name
            change = changes.setdefault(entry.partition, PartitionStatistics.create(spec))
            change.record_count += sign * file.rows
            change.file_count += sign
            change.file_size_in_bytes += sign * file.size
            change.total_buckets = entry.total_buckets
        return list(changes.values())

    def _view(
        self, snapshot: Snapshot, selection: EntrySelection, chosen: Collection[BucketId] | None = None
    ) -> View:
        """The selected files, without those of buckets that are not among the chosen ones."""
        indexes = self.manifests.indexes(snapshot, selection)
        live = self.manifests.live_columns(snapshot, selection)
        live = with_vectors(live, marked_files(indexes.vectors))
        layouts = partition_layouts(live)
        files, spans = by_bucket(live, self.bucket_id)
        if chosen is not None:
            spans = {bucket: span for bucket, span in spans.items() if bucket in chosen}
        return View(
            snapshot_number=snapshot.id,
            commit_millis=snapshot.time_millis,
            indexes=indexes,
            files=files,
            spans=spans,
            order_keys=self.order_keys,
            layouts=layouts,
        )

    def _is_selected(
        self, wanted: PartitionFilter, buckets: Collection[int], partition: bytes, bucket: int
    ) -> bool:
        if buckets and bucket not in buckets:
            return False
        return wanted.selects(self.locations.values(partition))

    def _check_found(
        self, wanted: PartitionFilter, buckets: Collection[int], live: Collection[BucketId]
    ) -> None:
        partitions = {bucket.partition for bucket in live}
        for texts in wanted.unmatched(map(self.locations.values, partitions)):
            name = "/".join(f"{column}={value}" for column, value in texts.items())
            raise NotFound("partition", f"{name} in {self.name}", "no live file lies there")
        for number in sorted({*buckets} - {bucket.bucket for bucket in live}):
            raise NotFound("bucket", f"{number} in {self.name}", "no live file lies there")
