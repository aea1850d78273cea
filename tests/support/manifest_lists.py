"""Random manifest lists in the folder of a table, such as commits leave them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import pyarrow as pa
from pypaimon import CatalogFactory, Schema
from pypaimon.manifest.schema.manifest_file_meta import ManifestFileMeta
from pypaimon.table.file_store_table import FileStoreTable

from lithify.files.types import ColumnType
from lithify.formats.paimon.access.file_access import storage_of
from lithify.formats.paimon.manifests.entries import ADD, DELETE, ManifestEntry
from lithify.formats.paimon.manifests.manifest_files import ManifestFiles
from lithify.formats.paimon.manifests.manifest_merging import ManifestMerger
from lithify.formats.paimon.manifests.manifests import Manifests
from lithify.formats.paimon.options.snapshot_options import ManifestOptions
from lithify.formats.paimon.rows.binary_row import encode_row
from lithify.formats.paimon.schema.type_texts import parse_type
from support.manifests import file_meta

TYPES = (parse_type("STRING"), parse_type("INT"))
"""Of the partition columns `dt` and `n`; the table has no key, so they may be null."""


@dataclass(frozen=True)
class Folder:
    """A table that is nothing but a folder for manifests."""

    warehouse: Path
    partitioned: bool = True

    @property
    def name(self) -> str:
        return "db.t"

    @property
    def types(self) -> tuple[ColumnType, ...]:
        return TYPES if self.partitioned else ()

    def create(self) -> Folder:
        columns = pa.schema([("dt", pa.string()), ("n", pa.int32()), ("v", pa.string())])
        catalog = CatalogFactory.create({"warehouse": str(self.warehouse)})
        catalog.create_database("db", ignore_if_exists=True)
        schema = Schema.from_pyarrow_schema(columns, partition_keys=["dt", "n"] if self.partitioned else [])
        catalog.create_table(self.name, schema, ignore_if_exists=False)
        return self

    def manifests(self) -> Manifests:
        table = self._table()
        return Manifests(table, self.types, storage_of(table.file_io, (table.table_path,)))

    def files(self, options: ManifestOptions | None = None) -> ManifestFiles:
        table = self._table()
        storage = storage_of(table.file_io, (table.table_path,))
        return ManifestFiles(table, self.manifests(), storage, options or ManifestOptions())

    def merger(self, options: ManifestOptions) -> ManifestMerger:
        return ManifestMerger(self.manifests(), self.files(options), options)

    def _table(self) -> FileStoreTable:
        return CatalogFactory.create({"warehouse": str(self.warehouse)}).get_table(self.name)

    def write(self, name: str, history: Sequence[Sequence[ManifestEntry]]) -> list[ManifestFileMeta]:
        """A manifest for each commit of a history, and a list `manifest-list-<name>` of them."""
        files = self.files()
        metas = [
            meta
            for number, entries in enumerate(history)
            for meta in files.write(entries, f"{name}-{number}")
        ]
        files.write_list(metas, f"manifest-list-{name}")
        return metas


def random_partition(rng: Random, *, partitioned: bool = True) -> bytes:
    if not partitioned:
        return encode_row([], [])
    return encode_row([rng.choice((None, b"a", b"b", b"a longer day")), rng.choice((None, 1, 2))], TYPES)


def random_history(rng: Random, *, partitioned: bool = True, whole: bool = True) -> list[list[ManifestEntry]]:
    """What commits add and remove: appends, upgrades, deletions of some or all.

    Unless it is whole, it also removes files that were added before it begins.
    """
    live: list[ManifestEntry] = []
    history = []
    few = [random_partition(rng, partitioned=partitioned) for _ in range(rng.randint(1, 3))]
    for number in range(rng.randint(0, 12)):
        gone = rng.sample(live, rng.randint(0, len(live))) if rng.random() < 0.4 else []
        live = [entry for entry in live if entry not in gone]
        added = [
            replace(
                ManifestEntry(ADD, rng.choice(few), rng.randint(0, 3), 4, file_meta(f"f{number}-{each}")),
                file=file_meta(f"f{number}-{each}", rng.choice((0, 5)), schema_id=rng.randint(0, 2)),
            )
            for each in range(rng.randint(0, 4))
        ]
        added += [
            replace(entry, file=entry.file.upgraded(entry.file.level + 1))
            for entry in gone
            if rng.random() < 0.3
        ]
        if not whole and rng.random() < 0.3:
            gone.append(ManifestEntry(ADD, rng.choice(few), 0, 4, file_meta(f"older-{number}")))
        history.append([*(replace(entry, kind=DELETE) for entry in gone), *added])
        live += added
    return history


def random_options(rng: Random, metas: Sequence[ManifestFileMeta]) -> ManifestOptions:
    """Sizes at which something may be due, with some manifests above and some below the target."""
    sizes = sorted(meta.file_size for meta in metas) or [1]
    return ManifestOptions(
        target_size=rng.choice((1, rng.choice(sizes), rng.choice(sizes) + 1, 3 * sizes[-1], 8 << 20)),
        merge_min_count=rng.choice((0, 1, 2, 3, 5, 30)),
        full_threshold=rng.choice((1, rng.choice(sizes), sum(sizes), sum(sizes) + 1, 16 << 20)),
    )
