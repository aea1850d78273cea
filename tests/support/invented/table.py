"""Puts invented files into a table that Java has made: manifests, their lists, and one snapshot more.

Called by tests and benchmarks that need the metadata of large tables and no data. What was in the table stays
in it, and Java's writers go on from the new snapshot. A million files take about a minute; what is held is
one manifest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID

import numpy as np
from pypaimon import CatalogFactory
from pypaimon.common.json_util import JSON
from pypaimon.manifest.manifest_list_manager import ManifestListManager
from pypaimon.manifest.schema.manifest_file_meta import ManifestFileMeta
from pypaimon.snapshot.snapshot import BATCH_COMMIT_IDENTIFIER, Snapshot

from infrastructure.oracle.client import Oracle, Table
from infrastructure.oracle.model import Row
from lithify.formats.paimon.manifests.manifest_writer import ManifestWriter
from lithify.formats.paimon.options.snapshot_options import ManifestOptions
from lithify.formats.paimon.schema.type_texts import parse_type
from support.invented.entries import COLUMNS, Entries
from support.invented.shape import Batch, Shape

_KEYS = {False: ["order_id"], True: ["shop_id", "order_id"]}


def make_invented(
    oracle: Oracle,
    warehouse: Path,
    shape: Shape,
    *,
    composite: bool = False,
    options: Mapping[str, str] | None = None,
) -> Table:
    """A table of orders with the files of a shape and no others.

    Args:
        oracle: makes the table.
        warehouse: where.
        shape: how many files of which kind.
        composite: whether the key has two columns besides the day instead of one.
        options: of the table.
    """
    table = create(oracle, warehouse, shape, composite=composite, options=options)
    invent(table, shape, composite=composite)
    return table


def create(
    oracle: Oracle,
    warehouse: Path,
    shape: Shape,
    *,
    composite: bool = False,
    options: Mapping[str, str] | None = None,
) -> Table:
    """The same table without any files, to have Java write some before others are invented."""
    table = Table(warehouse, "shop.invented")
    oracle.create_table(
        table,
        COLUMNS,
        primary_key=["dt", *_KEYS[composite]],
        partition_keys=["dt"],
        options={"bucket": str(shape.buckets_per_partition), "write-only": "true", **(options or {})},
    )
    return table


def invent(
    table: Table, shape: Shape, *, composite: bool = False, manifests: ManifestOptions | None = None
) -> int:
    """Adds the files of a shape as one snapshot; returns its id.

    Raises:
        FileExistsError: the table has files of that seed already.
    """
    entries = Entries(_KEYS[composite], shape.buckets_per_partition, shape.seed)
    return publish(table, shape, entries, manifests)


class Batches(Protocol):
    """Which files there are."""

    @property
    def seed(self) -> int:
        """The same seed gives the same files."""
        ...

    def old_batches(self) -> Iterable[Batch]:
        """All files but those of the newest commit."""
        ...

    def new_batches(self) -> Iterable[Batch]:
        """The files of the newest commit."""
        ...


def publish(
    table: Table,
    shape: Batches,
    entries: Entries,
    manifests: ManifestOptions | None = None,
    *,
    added: Callable[[bytes, str], None] | None = None,
    index: Callable[[], str] | None = None,
) -> int:
    """Adds files as one snapshot; returns its id.

    The base list has the manifests that were there and those of all older files, rolled as merges leave
    them; the delta has the files of the newest commit. A manifest has at least a thousand entries, however
    small it may be.

    Args:
        table: the table.
        shape: which files.
        entries: makes their entries.
        manifests: how these are written.
        added: is told the partition and the name of each file.
        index: writes the snapshot's index manifest when all files are written, and returns its name.

    Raises:
        FileExistsError: the table has files of that seed already.
    """
    catalog = CatalogFactory.create({"warehouse": str(table.warehouse)})
    lists = ManifestListManager(catalog.get_table(str(table.name)))
    newest = _newest(table.folder)
    how = manifests or ManifestOptions()
    old = _Manifests(table.folder, name_of(shape, "old"), entries, how, added)
    new = _Manifests(table.folder, name_of(shape, "new"), entries, how, added)
    base = [*lists.read_all(newest), *old.write(shape.old_batches())]
    delta = new.write(shape.new_batches())
    base_list, delta_list = (f"manifest-list-{name_of(shape, 'list')}-{number}" for number in (0, 1))
    snapshot = Snapshot(
        version=3,
        id=1 if newest is None else newest.id + 1,
        schema_id=0,
        base_manifest_list=base_list,
        base_manifest_list_size=lists.write(base_list, base),
        delta_manifest_list=delta_list,
        delta_manifest_list_size=lists.write(delta_list, delta),
        total_record_count=old.rows + new.rows + (0 if newest is None else newest.total_record_count),
        delta_record_count=new.rows,
        commit_user="invented",
        commit_identifier=BATCH_COMMIT_IDENTIFIER,
        commit_kind="APPEND",
        time_millis=int(time.time() * 1000),
        index_manifest=index and index(),
    )
    _publish(table.folder / "snapshot", snapshot)
    return int(snapshot.id)


def orders(day: str, keys: Iterable[int], comment: str = "") -> list[Row]:
    """Real rows for the table, for Java to write."""
    return [
        ["+I", day, 0, key, key, "SENT", "Aachen", "product", 1, "1.00", "2026-11-01T00:00:00", True, comment]
        for key in keys
    ]


@dataclass
class _Manifests:
    """Writes entries as manifests of a common prefix, and counts the rows of their files."""

    folder: Path
    prefix: str
    entries: Entries
    options: ManifestOptions
    added: Callable[[bytes, str], None] | None
    rows: int = field(default=0, init=False)

    def write(self, batches: Iterable[Batch]) -> list[ManifestFileMeta]:
        types = [parse_type(COLUMNS["dt"])]
        writer = ManifestWriter(self._flush, self.prefix, types, self.options)
        for batch in batches:
            for record in self.entries.records(batch):
                self.rows += record["_FILE"]["_ROW_COUNT"]
                if self.added is not None:
                    self.added(record["_PARTITION"], record["_FILE"]["_FILE_NAME"])
                writer.write(record)
        return writer.roll()

    def _flush(self, name: str, content: bytes) -> None:
        path = self.folder / "manifest" / name
        path.parent.mkdir(exist_ok=True)
        with path.open("xb") as file:
            file.write(content)


def name_of(shape: Batches, use: str) -> str:
    """A UUID that is the same for the same seed and use."""
    words = [shape.seed, *use.encode()]
    return str(UUID(bytes=np.random.default_rng(words).bytes(16), version=4))


def _newest(folder: Path) -> Snapshot | None:
    numbers = [int(path.name.removeprefix("snapshot-")) for path in (folder / "snapshot").glob("snapshot-*")]
    if not numbers:
        return None
    found: Any = JSON.from_json((folder / "snapshot" / f"snapshot-{max(numbers)}").read_text(), Snapshot)
    assert isinstance(found, Snapshot)
    return found


def _publish(folder: Path, snapshot: Snapshot) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"snapshot-{snapshot.id}").write_text(JSON.to_json(snapshot, indent=2))
    (folder / "LATEST").write_text(str(snapshot.id))
    if snapshot.id == 1:
        (folder / "EARLIEST").write_text("1")
