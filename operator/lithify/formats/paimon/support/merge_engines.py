"""Why the records of a key cannot be merged as a table's options say. Called by `reasons`. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from pypaimon.schema.table_schema import TableSchema

from lithify.errors import InvalidOption
from lithify.formats.paimon.options.clustering_options import INCREMENTAL
from lithify.formats.paimon.options.merge_engine import MergeEngine, merge_engine
from lithify.formats.paimon.options.merging.merge_options import read_merge_options
from lithify.formats.paimon.options.record_expiry import TIME_FIELD
from lithify.formats.paimon.options.table_options import TableOptions
from lithify.formats.paimon.schema.schema import Schema


def partition_refusals(stored: TableSchema) -> Iterator[str]:
    """Why partition columns outside the primary key cannot be merged."""
    moving = [name for name in stored.partition_keys if name not in stored.primary_keys]
    if moving and merge_engine(stored.options) is MergeEngine.AGGREGATION:
        yield (
            f"option merge-engine = aggregation with partition column {moving[0]} outside the primary key: "
            "Paimon aggregates partition columns there, too, which this release does not follow"
        )


def order_refusals(schema: Schema, options: TableOptions) -> Iterator[str]:
    """Why records cannot be ordered by snapshots."""
    engine = merge_engine(schema.options)
    if options.snapshot_ordering and options.sequence_fields:
        yield "option sequence.snapshot-ordering = true with sequence.field: Paimon allows one of them only"
    if options.snapshot_ordering and engine not in (None, MergeEngine.DEDUPLICATE):
        yield (
            f"option sequence.snapshot-ordering = true with merge-engine = {engine}: how Paimon merges rows "
            "then is not known to this release"
        )


def merge_refusals(schema: Schema, options: TableOptions) -> Iterator[str]:
    """Why the options do not define a merge function; the first reason only."""
    try:
        read_merge_options(schema, ignore_deletes=options.ignore_deletes)
    except InvalidOption as error:
        yield f"option {error}"


def expiry_refusals(schema: Schema, options: TableOptions) -> Iterator[str]:
    """Why the table's rows cannot expire as its options say."""
    if options.expiry is not None:
        column = next((each for each in schema.columns if each.name == options.expiry.column), None)
        problem = options.expiry.problem(None if column is None else column.type)
        if problem is not None:
            yield f"option {TIME_FIELD} = {options.expiry.column}: {problem}"


def sorting_refusals(schema: Schema) -> Iterator[str]:
    """Paimon sorts only rows of tables without a primary key by other columns."""
    value = schema.options.get(INCREMENTAL, "false")
    if value.strip().lower() != "false":
        yield f"option {INCREMENTAL} = {value} with a primary key: Paimon allows one of them only"
