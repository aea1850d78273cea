"""Opens tables: catalog, schema, options, and refusal of tables that this release cannot compact.

Called by the command line and the job's driver. Everything that can be checked before any work is checked
here, with one error that names every problem.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from pypaimon.schema.table_schema import TableSchema
from pypaimon.table.file_store_table import FileStoreTable

from lithify.errors import InvalidOption, UnsupportedTable
from lithify.formats.paimon.access.file_access import storage_of
from lithify.formats.paimon.access.identity import is_main
from lithify.formats.paimon.append.clustering.refusals import clustering_refusals
from lithify.formats.paimon.catalog.connecting import load_table
from lithify.formats.paimon.catalog.schema_files import known_schema, read_schema, stored_options
from lithify.formats.paimon.file_indexes.checks import index_problems
from lithify.formats.paimon.options.changelog_options import PRODUCER, ChangelogProducer
from lithify.formats.paimon.options.clustering_options import INCREMENTAL
from lithify.formats.paimon.options.location_options import LocationOptions
from lithify.formats.paimon.options.merge_engine import MergeEngine, merge_engine
from lithify.formats.paimon.options.picking_options import PICKING_RULE, SMALL_FILE_AGE, VECTORS
from lithify.formats.paimon.options.record_expiry import TIME_FIELD
from lithify.formats.paimon.options.table_options import TableOptions, read_options
from lithify.formats.paimon.primary_key.changelogs import changelog_problems
from lithify.formats.paimon.primary_key.merge_functions.choosing import (
    merge_function,
    sequence_fields_of_groups,
)
from lithify.formats.paimon.primary_key.postponed_refusals import postponed_refusals
from lithify.formats.paimon.schema.schema import Schema
from lithify.formats.paimon.snapshots.committing_server import has_server
from lithify.formats.paimon.snapshots.snapshots import Snapshots
from lithify.formats.paimon.support.checks import (
    ColumnUse,
    check_layout,
    check_options,
    check_types,
)
from lithify.formats.paimon.support.loading import load
from lithify.formats.paimon.support.rules import Role
from lithify.formats.paimon.table import PaimonTable
from lithify.formats.protocol.address import TableAddress
from lithify.io.access_policy import AccessPolicy
from lithify.io.locations import local_path
from lithify.io.storage import Storage
from lithify.settings import table_option

_TUNING = (
    "compaction.",
    "num-sorted-run.",
    "num-levels",
    "target-file-size",
    "file.compression",
    "metadata.stats-",
    "manifest.",
    "commit.",
    "write-only",
    "parquet.",
    PICKING_RULE,
    SMALL_FILE_AGE,
)
"""Prefixes of options that may be overridden: other options determine the table's rows."""

_INDEX_PATH = "global-index.external-path"
_LOCK = "lock.enabled"
"""The catalog option for Java's lock around commits; by default a lock is used on S3 if the catalog has one.
"""
_NOT_IN_APPEND_TABLES = {
    "chain-table.enabled": "false",
    PRODUCER: "none",
    "data-evolution.enabled": "false",
    "force-lookup": "false",
    "row-tracking.enabled": "false",
}
"""Options that must have these defaults in append tables, whatever they mean in primary-key tables."""


def open_table(address: TableAddress) -> PaimonTable:
    """Opens a primary-key table; `PaimonTable.check_supported` then tells whether it can be compacted.

    Raises:
        NotFound: the warehouse, database or table does not exist.
        InvalidOption: an option or override cannot be used.
        OutOfReach: the process may not connect there, or not use its own rights there.
        NotAllowed: the catalog rejects the credentials.
        CorruptTable: its schema is invalid.
        UnsupportedTable: it is not a table of a kind that this release knows.
        StorageError: the file system refuses, or the catalog does not answer.
    """
    _check_overrides(address.overrides)
    loaded = load_table(
        address.warehouse, address.name, address.catalog_options, address.reach, address.catalog
    )
    schema = known_schema(loaded, loaded.table_schema, address.overrides)
    table = loaded.copy_without_time_travel(dict(address.overrides))
    _check_layout(address.name, table)
    options = read_options(schema.options, has_primary_key=bool(schema.primary_key))
    _check_locations(options.locations, address.reach)
    storage = _storage(table, options.locations)
    return PaimonTable(
        table=table,
        name=address.name,
        schema=schema,
        read_schema=partial(read_schema, table, address.overrides),
        options=options,
        storage=storage,
        refusals=(
            *_refusals(table, storage, address.catalog_options),
            *_location_refusals(table.table_path, schema, options.locations, storage),
            *index_problems(schema, options.indexes),
            *(
                _merging_refusals(loaded.table_schema, schema, options)
                if schema.primary_key
                else (*_append_refusals(schema.options, options), *clustering_refusals(schema, options))
            ),
        ),
        stored_options=stored_options(loaded.table_schema),
    )


def _storage(table: FileStoreTable, options: LocationOptions) -> Storage:
    """Access limited to the table's folder and its external paths."""
    anything = storage_of(table.file_io)
    external = [path for path in options.listed if _place_refusal(path, table.table_path, anything) is None]
    return storage_of(table.file_io, (table.table_path, *external))


def _place_refusal(path: str, root: str, storage: Storage) -> str | None:
    """Why files at an external path can be neither read nor written; None if they can."""
    if not storage.reaches(path):
        return "this release only reaches the kind of file system that the table itself is on"
    if storage.is_of_another_table(path, root):
        return (
            "other tables may lie there; people who may change this one must not have their files read or "
            "deleted, so choose a directory outside the folders of databases"
        )
    return None


def _check_overrides(overrides: Mapping[str, str]) -> None:
    for key in overrides:
        if not key.startswith(_TUNING):
            raise InvalidOption(
                table_option(key),
                "it cannot be overridden for a run, only options that tune compaction and file writing can",
            )
        if load().option(key) is None:
            raise InvalidOption(table_option(key), "Lithify knows no such option; check its name")


def _check_layout(name: str, table: FileStoreTable) -> None:
    schema: TableSchema = table.table_schema
    refusals = check_layout(schema.primary_keys, schema.partition_keys, table.options.bucket())
    if refusals:
        raise UnsupportedTable(name, tuple(str(refusal) for refusal in refusals))


def _refusals(table: FileStoreTable, storage: Storage, catalog_options: Mapping[str, str]) -> Iterator[str]:
    """All other reasons why the table cannot be compacted."""
    schema: TableSchema = table.table_schema
    for refusal in (*check_options(stored_options(schema)), *check_types(_uses(schema))):
        yield str(refusal)
    moving = [name for name in schema.partition_keys if name not in schema.primary_keys]
    if moving and merge_engine(schema.options) is MergeEngine.AGGREGATION:
        yield (
            f"option merge-engine = aggregation with partition column {moving[0]} outside the primary key: "
            "Paimon aggregates partition columns there, too, which this release does not follow"
        )
    if not has_server(table):
        yield from _commit_refusals(table, storage, catalog_options)
    elif not is_main(table):
        yield from _branch_refusals(table, storage)


def _branch_refusals(table: FileStoreTable, storage: Storage) -> Iterator[str]:
    """Refuses branches if the server may ignore the branch and commit to the main table."""
    snapshots = Snapshots(table, storage)
    newest = snapshots.latest()
    if newest is not None and not snapshots.has(newest):
        yield (
            f"branch {table.current_branch()}: the catalog's server says that its newest snapshot is "
            f"{newest.id}, which the branch's folder does not have; it would commit somewhere else"
        )


def _location_refusals(
    root: str, schema: Schema, options: LocationOptions, storage: Storage
) -> Iterator[str]:
    """Why new files could not be written where readers look for them."""
    for path in options.external:
        problem = _place_refusal(path, root, storage)
        if problem is not None:
            yield f"option data-file.external-paths = {path}: {problem}"
    if not options.legacy:
        for name, column in zip(schema.partition_keys, schema.partition_types, strict=True):
            if column.root == "TIMESTAMP_LTZ":
                yield (
                    f"column {name} as partition with option partition.legacy-name = false: its directories "
                    "are named in the time zone of whoever writes, which nothing tells"
                )


def _check_locations(options: LocationOptions, reach: AccessPolicy) -> None:
    """Checks own rights for local files outside the table's folder, too; S3 files are checked on access."""
    for path in options.external:
        if local_path(path) is not None:
            reach.check(path)


def _merging_refusals(stored: TableSchema, schema: Schema, options: TableOptions) -> Iterator[str]:
    """Why the rows of a primary-key table cannot be merged."""
    yield from _order_refusals(options, merge_engine(schema.options))
    yield from _merge_refusals(schema, options)
    yield from changelog_problems(schema, options.changelog)
    yield from _expiry_refusals(schema, options)
    yield from _vector_refusals(schema, options)
    yield from _clustering_of_keys(schema)
    yield from postponed_refusals(stored, schema, options)


def _append_refusals(options: Mapping[str, str], parsed: TableOptions) -> Iterator[str]:
    """Options that are supported or without effect in primary-key tables only, or not together."""
    buckets = options.get("bucket", "-1").strip()
    if not re.fullmatch("-1|0*[1-9][0-9]*", buckets):
        yield f"option bucket = {buckets} in an append table: only -1 and 1 or more have a meaning there"
    for name, plain in _NOT_IN_APPEND_TABLES.items():
        value = options.get(name, plain)
        if value.strip().lower() != plain:
            yield f"option {name} = {value} in an append table: this release supports it in no such table"
    if parsed.vectors is not None and parsed.packing is not None and parsed.packing.is_ordered:
        yield (
            f"option {VECTORS} = true with bucket = {buckets} in an append table: a DELETE of Paimon does "
            "not notice when a compaction replaces the files of its bucket, so its rows would come back"
        )
    yield from _index_file_refusals(options, parsed)


def _order_refusals(options: TableOptions, engine: MergeEngine | None) -> Iterator[str]:
    if options.snapshot_ordering and options.sequence_fields:
        yield "option sequence.snapshot-ordering = true with sequence.field: Paimon allows one of them only"
    if options.snapshot_ordering and engine not in (None, MergeEngine.DEDUPLICATE):
        yield (
            f"option sequence.snapshot-ordering = true with merge-engine = {engine}: how Paimon merges rows "
            "then is not known to this release"
        )


def _merge_refusals(schema: Schema, options: TableOptions) -> Iterator[str]:
    """Why the options do not define a merge function; the first reason only."""
    try:
        merge_function(schema, ignore_deletes=options.ignore_deletes)
    except InvalidOption as error:
        yield f"option {error}"


def _expiry_refusals(schema: Schema, options: TableOptions) -> Iterator[str]:
    """Why the table's rows cannot expire as its options say."""
    if options.expiry is not None:
        column = next((each for each in schema.columns if each.name == options.expiry.column), None)
        problem = options.expiry.problem(None if column is None else column.type)
        if problem is not None:
            yield f"option {TIME_FIELD} = {options.expiry.column}: {problem}"


def _vector_refusals(schema: Schema, options: TableOptions) -> Iterator[str]:
    """What deletion vectors cannot be combined with."""
    if options.vectors is None:
        return
    together = f"option {VECTORS} = true with"
    if merge_engine(schema.options) is MergeEngine.FIRST_ROW:
        yield f"{together} merge-engine = first-row: Paimon refuses it, because first-row replaces no rows"
    if options.changelog.producer is ChangelogProducer.FULL_COMPACTION:
        yield f"{together} {PRODUCER} = {options.changelog.producer}: Paimon refuses it"
    if options.expiry is not None:
        yield f"{together} {TIME_FIELD}: Paimon does not look up expired rows, so they stay besides new ones"
    if options.snapshot_ordering:
        yield f"{together} sequence.snapshot-ordering = true: this release does not look up rows by snapshots"
    yield from _index_file_refusals(schema.options, options)


def _index_file_refusals(options: Mapping[str, str], parsed: TableOptions) -> Iterator[str]:
    """Where index files of deletion vectors cannot be."""
    if parsed.vectors is None:
        return
    together = f"option {VECTORS} = true with"
    if parsed.vectors.in_data_directory and parsed.locations.external:
        yield f"{together} index-file-in-data-file-dir = true and data-file.external-paths: they go there"
    if options.get(_INDEX_PATH, "").strip():
        yield f"{together} {_INDEX_PATH}: index files of deletion vectors lie there, too"


def _clustering_of_keys(schema: Schema) -> Iterator[str]:
    """Paimon sorts only rows of tables without a primary key by other columns."""
    value = schema.options.get(INCREMENTAL, "false")
    if value.strip().lower() != "false":
        yield f"option {INCREMENTAL} = {value} with a primary key: Paimon allows one of them only"


def _commit_refusals(
    table: FileStoreTable, storage: Storage, catalog_options: Mapping[str, str]
) -> Iterator[str]:
    """Why snapshots cannot be committed safely if no server commits."""
    is_on_s3 = storage.s3 is not None
    if not (storage.is_local or is_on_s3):
        yield (
            f"table location = {table.table_path}: no atomic way to write snapshots there is known to this "
            "release (accepted: a local path, S3, or a REST catalog that commits)"
        )
    lock = catalog_options.get(_LOCK)
    if lock is not None and lock.strip().lower() != "false":
        yield (
            f"catalog option {_LOCK} = {lock}: this release cannot take a catalog's lock, and would commit "
            "without it while others hold it; commit through a REST catalog"
        )
    elif lock is None and is_on_s3 and catalog_options.get("metastore") == "jdbc":
        yield (
            f"catalog option metastore = jdbc on S3: Java writers take the catalog's lock there, which this "
            f"release cannot; commit through a REST catalog, or set {_LOCK} = false here and on every writer"
        )


def _uses(schema: TableSchema) -> Iterator[ColumnUse]:
    """Every column in every role that it has."""
    sequence = [name.strip() for name in schema.options.get("sequence.field", "").split(",")]
    sequence += sequence_fields_of_groups(schema.options)
    for column in schema.fields:
        roles = {
            Role.VALUE: True,
            Role.KEY: column.name in schema.primary_keys and column.name not in schema.partition_keys,
            Role.PARTITION: column.name in schema.partition_keys,
            Role.SEQUENCE: column.name in sequence,
        }
        for role in (role for role, plays in roles.items() if plays):
            yield ColumnUse(column.name, str(column.type), role)
        yield from (ColumnUse(column.name, text, Role.PART) for text in _parts(column.type.to_dict()))


def _parts(written: str | Mapping[str, Any]) -> Iterator[str]:
    """The primitive types of which a type consists."""
    if isinstance(written, str):
        return
    inner = [written[part] for part in ("element", "key", "value") if part in written]
    for part in [*inner, *(each["type"] for each in written.get("fields", ()))]:
        yield part if isinstance(part, str) else str(part["type"])
        yield from _parts(part)
