"""All reasons why this release cannot compact a table.

Called by `opening`. What each room of tables needs is known to the modules beside this one, which validate
options without making anything of them, so that looking at a table needs no code that merges or writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pypaimon.schema.table_schema import TableSchema
from pypaimon.table.file_store_table import FileStoreTable

from lithify.errors import UnsupportedTable
from lithify.formats.paimon.catalog.schema_files import stored_options
from lithify.formats.paimon.options.table_options import TableOptions
from lithify.formats.paimon.schema.schema import Schema
from lithify.formats.paimon.support.append_tables import append_refusals
from lithify.formats.paimon.support.changelogs import changelog_refusals
from lithify.formats.paimon.support.checks import check_layout, check_options, check_types
from lithify.formats.paimon.support.clustering import clustering_refusals
from lithify.formats.paimon.support.columns import column_uses
from lithify.formats.paimon.support.commits import commit_refusals
from lithify.formats.paimon.support.deletion_vectors import vector_refusals
from lithify.formats.paimon.support.file_indexes import index_refusals
from lithify.formats.paimon.support.instants import instant_refusals
from lithify.formats.paimon.support.locations import location_refusals
from lithify.formats.paimon.support.merge_engines import (
    expiry_refusals,
    merge_refusals,
    order_refusals,
    partition_refusals,
    sorting_refusals,
)
from lithify.formats.paimon.support.postponed import postponed_refusals
from lithify.io.storage import Storage


@dataclass(frozen=True, slots=True)
class LoadedTable:
    """A table as its catalog describes it.

    Attributes:
        table: pypaimon's table, with the options of this run.
        schema: its newest schema, with these options, too.
        options: the options that a compaction reads.
        storage: access to its files.
        catalog_options: the options of its catalog.
        time_zone: the declared time zone of its writers, None if nobody declared one.
    """

    table: FileStoreTable
    schema: Schema
    options: TableOptions
    storage: Storage
    catalog_options: Mapping[str, str]
    time_zone: str | None = None


def check_kind(name: str, table: FileStoreTable) -> None:
    """Checks that keys, partitions and buckets make a kind of table that this release knows.

    Raises:
        UnsupportedTable: they do not.
    """
    schema: TableSchema = table.table_schema
    refusals = check_layout(schema.primary_keys, schema.partition_keys, table.options.bucket())
    if refusals:
        raise UnsupportedTable(name, tuple(str(refusal) for refusal in refusals))


def refusals(loaded: LoadedTable) -> Iterator[str]:
    """Every reason why the table cannot be compacted, by what refuses it.

    Raises:
        CorruptTable, StorageError: a snapshot of a branch cannot be read.
    """
    stored: TableSchema = loaded.table.table_schema
    schema, options = loaded.schema, loaded.options
    for refusal in (*check_options(stored_options(stored)), *check_types(column_uses(stored))):
        yield str(refusal)
    yield from partition_refusals(stored)
    yield from commit_refusals(loaded.table, loaded.storage, loaded.catalog_options)
    yield from location_refusals(loaded.table.table_path, schema, options.locations, loaded.storage)
    yield from index_refusals(schema, options.indexes)
    yield from instant_refusals(schema, loaded.time_zone)
    if schema.primary_key:
        yield from _merging_refusals(stored, schema, options)
    else:
        yield from append_refusals(schema, options)
        yield from clustering_refusals(schema, options)


def _merging_refusals(stored: TableSchema, schema: Schema, options: TableOptions) -> Iterator[str]:
    """Why the rows of a primary-key table cannot be merged."""
    yield from order_refusals(schema, options)
    yield from merge_refusals(schema, options)
    yield from changelog_refusals(schema, options.changelog)
    yield from expiry_refusals(schema, options)
    yield from vector_refusals(schema, options)
    yield from sorting_refusals(schema)
    yield from postponed_refusals(stored, schema, options)
